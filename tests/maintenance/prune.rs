//! What a prune removes, on what evidence, and what it counts, where no written case can say so.

use crate::maintenance::world::{DAY, NOON, World, failing};
use herma_core::disk::{Disk, Sharing, SystemDisk};
use herma_core::{Config, PruneOptions, PruneStep, Pruned};
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicI64, Ordering};

const V1: &str = "0123456789abcdef";

/// Without the bytes, which no test knows.
fn counts(pruned: Pruned) -> [usize; 5] {
    let Pruned { scanned, orphans, stale, archives, dropped, errors, .. } = pruned;
    assert_eq!(dropped, 0);
    [scanned, orphans, stale, archives, errors]
}

const KEEP_ORPHANS: PruneOptions =
    PruneOptions { retention_seconds: 0, max_total_bytes: 0, delete_orphans: false };
const ORPHANS_ONLY: PruneOptions = PruneOptions { delete_orphans: true, ..KEEP_ORPHANS };

#[test]
fn a_mount_point_without_its_disk_is_no_evidence() {
    let world = World::new();
    world.take("project", "one");
    let text = fs::read_to_string(world.metadata("project")).unwrap();
    let device = SystemDisk.stat(&world.project("project")).unwrap().device;
    let recorded = format!("\"device\":{device}");
    assert!(text.contains(&recorded), "{text}");
    let on_another = text.replace(&recorded, &format!("\"device\":{}", device + 1));
    fs::write(world.metadata("project"), on_another).unwrap();
    fs::remove_dir_all(world.project("project")).unwrap();
    assert_eq!(counts(world.prune_with(&ORPHANS_ONLY)), [1, 0, 0, 0, 0]);
    // Another tool drops what it does not know.
    let without = text.replace(&format!(",{recorded}"), "");
    fs::write(world.metadata("project"), without).unwrap();
    assert_eq!(counts(world.prune_with(&ORPHANS_ONLY)), [1, 1, 0, 0, 0]);
}

#[test]
fn a_directory_that_cannot_be_looked_at_is_no_orphan() {
    let world = World::new();
    world.take("project", "one");
    let project = world.project("project");
    fs::remove_dir_all(&project).unwrap();
    let disk = failing(Call::Stat, ErrorKind::PermissionDenied, move |path| path == project);
    let manager = world.on(disk, Config::default());
    assert_eq!(counts(manager.prune(&ORPHANS_ONLY, &mut |_| {}).unwrap()), [1, 0, 0, 0, 0]);
}

#[test]
fn a_checkpoint_that_found_nothing_to_save_is_a_use_and_so_is_a_newer_checkpoint() {
    let world = World::new();
    world.take("project", "one");
    world.set_clock(NOON + 6 * DAY);
    world.manager().checkpoint(&world.project("project"), "again").unwrap();
    world.set_clock(NOON + 12 * DAY);
    assert_eq!(counts(world.prune()), [1, 0, 0, 0, 0]);
    // The metadata says less than the history does.
    let text = fs::read_to_string(world.metadata("project")).unwrap();
    let older = text.replace(&format!("{:?}", (NOON + 6 * DAY) as f64), "5.0");
    assert_ne!(older, text);
    fs::write(world.metadata("project"), older).unwrap();
    world.set_clock(NOON + 7 * DAY);
    assert_eq!(counts(world.prune()), [1, 0, 0, 0, 0]);
    world.set_clock(NOON + 8 * DAY);
    assert_eq!(counts(world.prune()), [1, 0, 1, 0, 0]);
}

#[test]
fn what_only_has_metadata_or_an_index_is_a_project_too() {
    let world = World::new();
    world.take("project", "one");
    let noted = format!(
        r#"{{"workdir":{:?},"created_at":1.5,"last_touch":2.5,"more":[]}}"#,
        world.project("never")
    );
    let metadata = world.store().join("projects/aaaaaaaaaaaaaaaa.json");
    fs::write(&metadata, noted).unwrap();
    let index = world.store().join("indexes/bbbbbbbbbbbbbbbb");
    fs::write(&index, "").unwrap();
    fs::write(world.store().join("projects/README"), "").unwrap();
    assert_eq!(counts(world.prune()), [3, 1, 0, 0, 0]);
    assert!(!metadata.exists());
    assert!(index.exists(), "nothing is known of it");
}

#[test]
fn a_project_in_use_is_left_alone_and_counted() {
    let world = World::new();
    world.take("gone", "one");
    let hash = world.hash("gone");
    fs::remove_dir_all(world.project("gone")).unwrap();
    let lock = world.store().join("locks").join(&hash);
    // A child of another test may hold what this process held, until it runs a program of its own.
    let held = (0..500).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        SystemDisk.try_lock(&lock, Sharing::Exclusive).unwrap()
    });
    let held = held.unwrap();
    let mut said = Vec::new();
    let mut progress = |step: PruneStep<'_>| {
        if let PruneStep::Failed(what, error) = step {
            said.push((what.to_owned(), error.code()));
        }
    };
    let manager = world.manager();
    let pruned = manager.prune(&ORPHANS_ONLY, &mut progress).unwrap();
    assert_eq!(counts(pruned), [1, 0, 0, 0, 1]);
    assert_eq!(said, [(world.project("gone").to_str().unwrap().to_owned(), "busy")]);
    assert_eq!(world.list("gone"), ["one"]);
    drop(held);
    assert_eq!(counts(world.prune_with(&ORPHANS_ONLY)), [1, 1, 0, 0, 0]);
}

#[test]
fn a_failure_stops_nothing_else_and_the_next_prune_does_the_rest() {
    let world = World::new();
    for name in ["one", "two", "three"] {
        world.take(name, name);
    }
    let hash = world.hash("two");
    fs::remove_dir_all(world.root.join("code")).unwrap();
    fs::create_dir(world.root.join("code")).unwrap();
    for step in ["refs/hermes", "indexes", "projects"] {
        let (folder, stem) = (world.store().join(step), hash.clone());
        let disk = failing(Call::RemoveFile, ErrorKind::Other, move |path| {
            let named = path.file_stem().is_some_and(|name| name == stem.as_str());
            named && path.parent() == Some(&folder)
        });
        let pruned = world.on(disk, Config::default()).prune(&ORPHANS_ONLY, &mut |_| {}).unwrap();
        assert_eq!(pruned.errors, 1, "{step}");
        assert!(world.metadata("two").exists());
    }
    assert_eq!(counts(world.prune_with(&ORPHANS_ONLY)), [1, 1, 0, 0, 0]);
    assert!(world.manager().status().unwrap().projects.is_empty());
}

#[test]
fn a_prune_on_a_full_disk_makes_room_for_what_it_must_write_first() {
    let world = World::new();
    for name in ["one", "two"] {
        world.take(name, name);
    }
    // To remove one ref of several that are packed, the others are written again.
    world.git(&["pack-refs", "--all"]);
    fs::remove_dir_all(world.project("two")).unwrap();
    let room = AtomicI64::new(0);
    let disk = HookedDisk::new(move |call, path| {
        // An empty file takes no room.
        let is_lock = path.extension().is_some_and(|end| end == "lock");
        let wanted = match call {
            _ if is_lock => 0,
            Call::WriteNew | Call::Append | Call::MakeDirectory => 1,
            Call::RemoveFile if path.exists() => -1,
            _ => 0,
        };
        let has_room = room.fetch_sub(wanted, Ordering::SeqCst) >= wanted;
        room.fetch_add(if has_room { 0 } else { wanted }, Ordering::SeqCst);
        if has_room { Ok(()) } else { Err(ErrorKind::StorageFull.into()) }
    });
    let pruned = world.on(disk, Config::default()).prune(&ORPHANS_ONLY, &mut |_| {}).unwrap();
    assert!(pruned.bytes_freed > 0);
    assert_eq!(counts(pruned), [2, 1, 0, 0, 0]);
    assert_eq!(world.manager().status().unwrap().projects.len(), 1);
    world.git(&["fsck", "--full", "--strict"]);
}

#[test]
fn archives_go_by_the_time_in_their_name() {
    let world = World::new();
    world.take("project", "one");
    let base = world.base();
    for name in [
        "legacy-20260101-000000",
        "legacy-20260101-000000-2",
        "legacy-20260315-000000",
        "legacy-20990101-000000",
    ] {
        world.archive(name, 10);
    }
    fs::write(base.join("legacy-20260101-000000.txt"), "a file").unwrap();
    fs::create_dir(world.root.join("elsewhere")).unwrap();
    fs::write(world.root.join("elsewhere/file"), "").unwrap();
    symlink(world.root.join("elsewhere"), base.join("legacy-20250101-000000")).unwrap();
    symlink(world.root.join("elsewhere"), base.join("legacy-20260101-000000/link")).unwrap();
    assert_eq!(counts(world.prune_with(&ORPHANS_ONLY)), [1, 0, 0, 0, 0]);
    assert_eq!(counts(world.prune()), [1, 0, 0, 2, 0]);
    assert!(world.root.join("elsewhere/file").is_file(), "a link was followed");
    // A link beside the repositories of an archive stays, and the archive with it.
    let strays = ["legacy-20250101-000000", "legacy-20260101-000000", "legacy-20260101-000000.txt"];
    let kept = ["legacy-20260315-000000", "legacy-20990101-000000", "store"];
    assert_eq!(world.in_base(), [strays, kept].concat());
    assert_eq!(world.manager().status().unwrap().others, strays.len());
}

#[test]
fn what_only_looks_like_ours_stays_and_is_counted() {
    let world = World::new();
    let base = world.base();
    // By the name alone, by the name with another thing in it, and without the mark of v1.
    let [by_name, dated, bare] = ["legacy-photos", "legacy-20250101-000000", "mirror"];
    for folder in [by_name, dated] {
        fs::create_dir_all(base.join(folder).join("2019")).unwrap();
        fs::write(base.join(folder).join("2019/beach.jpg"), "mine").unwrap();
    }
    fs::remove_file(world.v1_repository(bare, NOON - 90 * DAY).join("HERMES_WORKDIR")).unwrap();
    let ours = world.archive("legacy-20250102-000000", 1);
    fs::write(ours.parent().unwrap().join("todo.txt"), "mine").unwrap();
    world.take("project", "one");
    assert_eq!(counts(world.prune()), [1, 0, 0, 1, 0]);
    assert!(!ours.exists());
    assert_eq!(world.manager().clear_legacy().unwrap().archives, 0);
    assert_eq!(world.manager().status().unwrap().others, 4);
    world.manager().clear().unwrap();
    assert_eq!(world.in_base(), [dated, "legacy-20250102-000000", by_name, bare]);
    assert!(base.join(by_name).join("2019/beach.jpg").is_file());
}

#[test]
fn a_repository_of_v1_that_names_no_directory_goes_by_its_age_alone() {
    let world = World::new();
    world.v1_repository(V1, NOON);
    world.v1_repository("fedcba9876543210", NOON - 8 * DAY);
    fs::create_dir(world.base().join("notes")).unwrap();
    assert_eq!(counts(world.prune()), [2, 0, 1, 0, 0]);
    assert_eq!(world.in_base(), [V1, "notes"]);
}

#[test]
fn what_a_killed_prune_left_is_removed_and_looks_like_nothing_else() {
    let world = World::new();
    world.v1_repository(V1, NOON - 8 * DAY);
    let died = HookedDisk::new(|call, _| match call {
        Call::RemoveFile | Call::RemoveDirectory => Err(ErrorKind::Other.into()),
        _ => Ok(()),
    });
    assert_eq!(counts(world.prune_on(died)), [1, 0, 0, 0, 1]);
    assert_eq!(world.in_base(), [format!(".removing-{V1}")]);
    world.take("project", "one");
    assert_eq!(world.in_base(), [&format!(".removing-{V1}"), "store"], "it was archived");
    assert_eq!(counts(world.prune()), [1, 0, 0, 0, 0]);
    assert_eq!(world.in_base(), ["store"]);
}

#[test]
fn an_archive_of_which_nobody_may_read_a_part_goes_all_the_same() {
    let world = World::new();
    world.take("project", "one");
    let closed = world.archive("legacy-20260101-000000", 0).join("closed");
    fs::create_dir_all(closed.join("deeper")).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    assert_eq!(counts(world.prune_on(HookedDisk::of_an_ordinary_user())), [1, 0, 0, 1, 0]);
    assert_eq!(world.in_base(), ["store"]);
}

#[test]
fn other_projects_go_on_while_one_is_pruned() {
    let world = World::new();
    for number in 0..20 {
        world.take(&format!("gone/{number}"), "one");
    }
    fs::remove_dir_all(world.project("gone")).unwrap();
    fs::create_dir(world.project("gone")).unwrap();
    std::thread::scope(|scope| {
        let pruning: Vec<_> =
            (0..2).map(|_| scope.spawn(|| world.prune_with(&ORPHANS_ONLY))).collect();
        for number in 0..10 {
            world.take("live", &format!("{number}"));
        }
        let removed = pruning.into_iter().map(|one| one.join().unwrap().orphans).sum::<usize>();
        assert_eq!(removed, 20);
    });
    assert_eq!(world.list("live").len(), 10);
    world.git_finds_nothing_broken();
}

#[test]
fn a_prune_says_which_project_it_looks_at_of_how_many() {
    let world = World::new();
    ["one", "other"].iter().for_each(|project| drop(world.take(project, "first")));
    let mut said = Vec::new();
    let options = PruneOptions::from(&Config::default());
    let told = &mut |step: PruneStep<'_>| {
        if let PruneStep::Project(number, of) = step {
            said.push((number, of));
        }
    };
    world.manager().prune(&options, told).unwrap();
    assert_eq!(said, [(1, 2), (2, 2)]);
}
