//! `prune`: what it removes, on what evidence, and what it counts, as far as written cases cannot express it.

use crate::maintenance::world::{DAY, NOON, StoreFixture, fail_calls};
use herma_core::disk::{Disk, Sharing, SystemDisk};
use herma_core::{Config, PruneOptions, PruneStep, Pruned};
use herma_harness::subject::{Call, HookedDisk};
use herma_tests::hold;
use pretty_assertions::assert_eq;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicI64, Ordering};

const V1: &str = "0123456789abcdef";

/// The counts of an answer, without the number of bytes, which is not predictable.
fn counts(pruned: Pruned) -> [usize; 5] {
    let Pruned { scanned, orphans, stale, archives, dropped, errors, .. } = pruned;
    assert_eq!(dropped, 0);
    [scanned, orphans, stale, archives, errors]
}

const KEEP_ORPHANS: PruneOptions =
    PruneOptions { retention_seconds: 0, max_total_bytes: 0, delete_orphans: false };
const ORPHANS_ONLY: PruneOptions = PruneOptions { delete_orphans: true, ..KEEP_ORPHANS };

#[test]
fn prune_keeps_a_project_whose_directory_was_on_another_device() {
    let fixture = StoreFixture::new();
    fixture.take("project", "one");
    let text = fs::read_to_string(fixture.metadata("project")).unwrap();
    let device = SystemDisk.stat(&fixture.project("project")).unwrap().device;
    let recorded = format!("\"device\":{device}");
    assert!(text.contains(&recorded), "{text}");
    let on_another = text.replace(&recorded, &format!("\"device\":{}", device + 1));
    fs::write(fixture.metadata("project"), on_another).unwrap();
    fs::remove_dir_all(fixture.project("project")).unwrap();
    assert_eq!(counts(fixture.prune_with(&ORPHANS_ONLY)), [1, 0, 0, 0, 0]);
    // Another tool drops fields that it does not know.
    let without = text.replace(&format!(",{recorded}"), "");
    fs::write(fixture.metadata("project"), without).unwrap();
    assert_eq!(counts(fixture.prune_with(&ORPHANS_ONLY)), [1, 1, 0, 0, 0]);
}

#[test]
fn prune_keeps_a_project_whose_directory_cannot_be_inspected() {
    let fixture = StoreFixture::new();
    fixture.take("project", "one");
    let project = fixture.project("project");
    fs::remove_dir_all(&project).unwrap();
    let disk = fail_calls(Call::Stat, ErrorKind::PermissionDenied, move |path| path == project);
    let manager = fixture.manager_on(disk, Config::default());
    assert_eq!(counts(manager.prune(&ORPHANS_ONLY, &mut |_| {}).unwrap()), [1, 0, 0, 0, 0]);
}

#[test]
fn prune_counts_an_unchanged_checkpoint_and_the_newest_commit_as_use_of_a_project() {
    let fixture = StoreFixture::new();
    fixture.take("project", "one");
    fixture.set_clock(NOON + 6 * DAY);
    fixture.manager().checkpoint(&fixture.project("project"), "again").unwrap();
    fixture.set_clock(NOON + 12 * DAY);
    assert_eq!(counts(fixture.prune()), [1, 0, 0, 0, 0]);
    // The metadata has an older time than the history.
    let text = fs::read_to_string(fixture.metadata("project")).unwrap();
    let older = text.replace(&format!("{:?}", (NOON + 6 * DAY) as f64), "5.0");
    assert_ne!(older, text);
    fs::write(fixture.metadata("project"), older).unwrap();
    fixture.set_clock(NOON + 7 * DAY);
    assert_eq!(counts(fixture.prune()), [1, 0, 0, 0, 0]);
    fixture.set_clock(NOON + 8 * DAY);
    assert_eq!(counts(fixture.prune()), [1, 0, 1, 0, 0]);
}

#[test]
fn prune_scans_projects_with_only_metadata_or_only_an_index() {
    let fixture = StoreFixture::new();
    fixture.take("project", "one");
    let text = format!(
        r#"{{"workdir":{:?},"created_at":1.5,"last_touch":2.5,"more":[]}}"#,
        fixture.project("never")
    );
    let metadata = fixture.store().join("projects/aaaaaaaaaaaaaaaa.json");
    fs::write(&metadata, text).unwrap();
    let index = fixture.store().join("indexes/bbbbbbbbbbbbbbbb");
    fs::write(&index, "").unwrap();
    fs::write(fixture.store().join("projects/README"), "").unwrap();
    assert_eq!(counts(fixture.prune()), [3, 1, 0, 0, 0]);
    assert!(!metadata.exists());
    assert!(index.exists(), "nothing is known of it");
}

#[test]
fn prune_skips_a_project_in_use_and_counts_an_error() {
    let fixture = StoreFixture::new();
    fixture.take("gone", "one");
    let hash = fixture.hash("gone");
    fs::remove_dir_all(fixture.project("gone")).unwrap();
    let lock = fixture.store().join("locks").join(&hash);
    let held = hold(&lock, Sharing::Exclusive);
    let mut failures = Vec::new();
    let mut progress = |step: PruneStep<'_>| {
        if let PruneStep::Failed(path, error) = step {
            failures.push((path.to_owned(), error.code()));
        }
    };
    let manager = fixture.manager();
    let pruned = manager.prune(&ORPHANS_ONLY, &mut progress).unwrap();
    assert_eq!(counts(pruned), [1, 0, 0, 0, 1]);
    assert_eq!(failures, [(fixture.project("gone").to_str().unwrap().to_owned(), "busy")]);
    assert_eq!(fixture.list("gone"), ["one"]);
    drop(held);
    assert_eq!(counts(fixture.prune_with(&ORPHANS_ONLY)), [1, 1, 0, 0, 0]);
}

#[test]
fn prune_continues_after_a_failure_and_the_next_prune_completes_it() {
    let fixture = StoreFixture::new();
    for name in ["one", "two", "three"] {
        fixture.take(name, name);
    }
    let hash = fixture.hash("two");
    fs::remove_dir_all(fixture.root.join("code")).unwrap();
    fs::create_dir(fixture.root.join("code")).unwrap();
    for step in ["refs/hermes", "indexes", "projects"] {
        let folder = fixture.store().join(step);
        let stem = hash.clone();
        let disk = fail_calls(Call::RemoveFile, ErrorKind::Other, move |path| {
            let has_stem = path.file_stem().is_some_and(|name| name == stem.as_str());
            has_stem && path.parent() == Some(&folder)
        });
        let pruned =
            fixture.manager_on(disk, Config::default()).prune(&ORPHANS_ONLY, &mut |_| {}).unwrap();
        assert_eq!(pruned.errors, 1, "{step}");
        assert!(fixture.metadata("two").exists());
    }
    assert_eq!(counts(fixture.prune_with(&ORPHANS_ONLY)), [1, 1, 0, 0, 0]);
    assert!(fixture.manager().status().unwrap().projects.is_empty());
}

#[test]
fn prune_on_a_full_disk_frees_space_before_it_writes() {
    let fixture = StoreFixture::new();
    for name in ["one", "two"] {
        fixture.take(name, name);
    }
    // The removal of one packed ref rewrites the other packed refs.
    fixture.git(&["pack-refs", "--all"]);
    fs::remove_dir_all(fixture.project("two")).unwrap();
    let free = AtomicI64::new(0);
    let disk = HookedDisk::new(move |call, path| {
        // An empty file takes no space.
        let is_lock = path.extension().is_some_and(|end| end == "lock");
        let wanted = match call {
            _ if is_lock => 0,
            Call::WriteNew | Call::Append | Call::MakeDirectory => 1,
            Call::RemoveFile if path.exists() => -1,
            _ => 0,
        };
        let fits = free.fetch_sub(wanted, Ordering::SeqCst) >= wanted;
        free.fetch_add(if fits { 0 } else { wanted }, Ordering::SeqCst);
        if fits { Ok(()) } else { Err(ErrorKind::StorageFull.into()) }
    });
    let pruned =
        fixture.manager_on(disk, Config::default()).prune(&ORPHANS_ONLY, &mut |_| {}).unwrap();
    assert!(pruned.bytes_freed > 0);
    assert_eq!(counts(pruned), [2, 1, 0, 0, 0]);
    assert_eq!(fixture.manager().status().unwrap().projects.len(), 1);
    fixture.git(&["fsck", "--full", "--strict"]);
}

#[test]
fn prune_removes_v1_archives_by_the_time_in_their_name() {
    let fixture = StoreFixture::new();
    fixture.take("project", "one");
    let base = fixture.base();
    for name in [
        "legacy-20260101-000000",
        "legacy-20260101-000000-2",
        "legacy-20260315-000000",
        "legacy-20990101-000000",
    ] {
        fixture.archive(name, 10);
    }
    fs::write(base.join("legacy-20260101-000000.txt"), "a file").unwrap();
    fs::create_dir(fixture.root.join("elsewhere")).unwrap();
    fs::write(fixture.root.join("elsewhere/file"), "").unwrap();
    symlink(fixture.root.join("elsewhere"), base.join("legacy-20250101-000000")).unwrap();
    symlink(fixture.root.join("elsewhere"), base.join("legacy-20260101-000000/link")).unwrap();
    assert_eq!(counts(fixture.prune_with(&ORPHANS_ONLY)), [1, 0, 0, 0, 0]);
    assert_eq!(counts(fixture.prune()), [1, 0, 0, 2, 0]);
    assert!(fixture.root.join("elsewhere/file").is_file(), "a link was followed");
    // A link next to the repositories of an archive stays, and the archive stays with it.
    let strays = ["legacy-20250101-000000", "legacy-20260101-000000", "legacy-20260101-000000.txt"];
    let kept = ["legacy-20260315-000000", "legacy-20990101-000000", "store"];
    assert_eq!(fixture.names_in_base(), [strays, kept].concat());
    assert_eq!(fixture.manager().status().unwrap().others, strays.len());
}

#[test]
fn prune_keeps_and_counts_unrelated_directories_with_look_alike_names() {
    let fixture = StoreFixture::new();
    let base = fixture.base();
    // A look-alike name, an archive name with other content, and a repository without the v1 marker file.
    let [by_name, dated, bare] = ["legacy-photos", "legacy-20250101-000000", "mirror"];
    for folder in [by_name, dated] {
        fs::create_dir_all(base.join(folder).join("2019")).unwrap();
        fs::write(base.join(folder).join("2019/beach.jpg"), "mine").unwrap();
    }
    fs::remove_file(fixture.v1_repository(bare, NOON - 90 * DAY).join("HERMES_WORKDIR")).unwrap();
    let repository = fixture.archive("legacy-20250102-000000", 1);
    fs::write(repository.parent().unwrap().join("todo.txt"), "mine").unwrap();
    fixture.take("project", "one");
    assert_eq!(counts(fixture.prune()), [1, 0, 0, 1, 0]);
    assert!(!repository.exists());
    assert_eq!(fixture.manager().clear_legacy().unwrap().archives, 0);
    assert_eq!(fixture.manager().status().unwrap().others, 4);
    fixture.manager().clear().unwrap();
    assert_eq!(fixture.names_in_base(), [dated, "legacy-20250102-000000", by_name, bare]);
    assert!(base.join(by_name).join("2019/beach.jpg").is_file());
}

#[test]
fn prune_removes_a_v1_repository_without_a_directory_by_age_alone() {
    let fixture = StoreFixture::new();
    fixture.v1_repository(V1, NOON);
    fixture.v1_repository("fedcba9876543210", NOON - 8 * DAY);
    fs::create_dir(fixture.base().join("notes")).unwrap();
    assert_eq!(counts(fixture.prune()), [2, 0, 1, 0, 0]);
    assert_eq!(fixture.names_in_base(), [V1, "notes"]);
}

#[test]
fn prune_removes_the_staged_removals_of_a_killed_prune() {
    let fixture = StoreFixture::new();
    fixture.v1_repository(V1, NOON - 8 * DAY);
    let dead_disk = HookedDisk::new(|call, _| match call {
        Call::RemoveFile | Call::RemoveDirectory => Err(ErrorKind::Other.into()),
        _ => Ok(()),
    });
    assert_eq!(counts(fixture.prune_on(dead_disk)), [1, 0, 0, 0, 1]);
    assert_eq!(fixture.names_in_base(), [format!(".removing-{V1}")]);
    fixture.take("project", "one");
    assert_eq!(fixture.names_in_base(), [&format!(".removing-{V1}"), "store"], "it was archived");
    assert_eq!(counts(fixture.prune()), [1, 0, 0, 0, 0]);
    assert_eq!(fixture.names_in_base(), ["store"]);
}

#[test]
fn prune_removes_an_archive_with_an_unreadable_part() {
    let fixture = StoreFixture::new();
    fixture.take("project", "one");
    let closed = fixture.archive("legacy-20260101-000000", 0).join("closed");
    fs::create_dir_all(closed.join("deeper")).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    assert_eq!(counts(fixture.prune_on(HookedDisk::of_an_ordinary_user())), [1, 0, 0, 1, 0]);
    assert_eq!(fixture.names_in_base(), ["store"]);
}

#[test]
fn checkpoints_of_other_projects_succeed_during_a_prune() {
    let fixture = StoreFixture::new();
    for number in 0..20 {
        fixture.take(&format!("gone/{number}"), "one");
    }
    fs::remove_dir_all(fixture.project("gone")).unwrap();
    fs::create_dir(fixture.project("gone")).unwrap();
    std::thread::scope(|scope| {
        let pruning: Vec<_> =
            (0..2).map(|_| scope.spawn(|| fixture.prune_with(&ORPHANS_ONLY))).collect();
        for number in 0..10 {
            fixture.take("live", &format!("{number}"));
        }
        let removed =
            pruning.into_iter().map(|thread| thread.join().unwrap().orphans).sum::<usize>();
        assert_eq!(removed, 20);
    });
    assert_eq!(fixture.list("live").len(), 10);
    fixture.assert_fsck_clean();
}

#[test]
fn prune_reports_the_number_of_the_project_and_the_total() {
    let fixture = StoreFixture::new();
    ["one", "other"].iter().for_each(|project| drop(fixture.take(project, "first")));
    let mut reported = Vec::new();
    let options = PruneOptions::from(&Config::default());
    let progress = &mut |step: PruneStep<'_>| {
        if let PruneStep::Project(number, total) = step {
            reported.push((number, total));
        }
    };
    fixture.manager().prune(&options, progress).unwrap();
    assert_eq!(reported, [(1, 2), (2, 2)]);
}
