//! Collection: which objects are deleted to free space, and which are never touched.

use crate::maintenance::world::{
    StoreFixture, before_call, fail_calls, git, noise, run_checked, take_checkpoint,
};
use herma_core::disk::SystemDisk;
use herma_core::{Config, PruneOptions, RestoreOptions};
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn is_stored(fixture: &StoreFixture, id: &str) -> bool {
    let mut git = git(&fixture.store());
    git.args(["cat-file", "-e", id]).output().unwrap().status.success()
}

#[track_caller]
fn blob(fixture: &StoreFixture, commit: &str) -> String {
    fixture.git(&["rev-parse", &format!("{commit}:a.txt")])
}

/// Enough bytes to trigger a collection, different for each `seed`.
fn large(seed: u64) -> String {
    noise(seed, 2 * 1024 * 1024)
}

fn packs(fixture: &StoreFixture) -> Vec<PathBuf> {
    let entries = fs::read_dir(fixture.store().join("objects/pack")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "pack")).collect()
}

#[test]
fn content_shared_by_two_projects_is_stored_once() {
    let fixture = StoreFixture::new();
    ["one", "other"].iter().for_each(|project| drop(fixture.take(project, "the same")));
    let types = fixture.git(&["cat-file", "--batch-all-objects", "--batch-check=%(objecttype)"]);
    let count = |kind| types.lines().filter(|line| *line == kind).count();
    assert_eq!(["commit", "tree", "blob"].map(count), [2, 1, 1]);
}

#[test]
fn answering_first_leaves_the_collection_to_keep_up() {
    let fixture = StoreFixture::new();
    let config = Config { max_snapshots: 1, ..Config::default() };
    let manager = fixture.manager_on(SystemDisk, config).deferring_collection();
    let project = fixture.project("project");
    let take = |seed: u64| {
        fixture.write("project", &large(seed));
        take_checkpoint(&manager, &project, "r")
    };
    let first = take(1);
    manager.collect_deferred();
    assert!(is_stored(&fixture, &first), "nothing was pushed out yet");
    let second = take(2);
    let listed: Vec<String> =
        manager.list(&project).unwrap().into_iter().map(|entry| entry.id).collect();
    assert!(listed.iter().eq([&second]), "{listed:?}");
    assert!(is_stored(&fixture, &first), "whoever asked for the second did not wait");
    manager.collect_deferred();
    assert!(!is_stored(&fixture, &first) && is_stored(&fixture, &second));
}

#[test]
fn kept_large_files_do_not_trigger_a_collection_after_a_small_change() {
    let fixture = StoreFixture::new();
    let write = |path: &str, content: &str| {
        let path = fixture.project("project").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    // A small file changes next to the large file of each folder.
    ["d/large", "e/large"].iter().zip(1..).for_each(|(path, seed)| write(path, &large(seed)));
    let take_step = |step: usize| {
        ["d/small", "e/small"].iter().for_each(|path| write(path, &format!("{path} {step}")));
        fixture.take_with_limit(4, "project", &format!("{step}"))
    };
    let ids: Vec<String> = (0..6).map(take_step).collect();
    assert!(is_stored(&fixture, &ids[0]), "what little it takes can wait");
    assert_eq!(fixture.prune().errors, 0);
    assert!(!is_stored(&fixture, &ids[0]));
    fixture.assert_fsck_clean();
}

#[test]
fn a_pack_is_rewritten_once_no_checkpoint_holds_a_large_file_of_it() {
    let fixture = StoreFixture::new();
    let dir = fixture.project("project");
    fs::create_dir_all(&dir).unwrap();
    // With this many files, the index is longer than a page.
    for number in 0..200 {
        fs::write(dir.join(format!("{number}.txt")), format!("{number}")).unwrap();
    }
    let first = fixture.take_with_limit(2, "project", &large(3));
    let large_blob = blob(&fixture, &first);
    let before = packs(&fixture);
    assert_eq!(before.len(), 1);
    fixture.take_with_limit(2, "project", "small");
    assert!(is_stored(&fixture, &large_blob));
    fixture.take_with_limit(2, "project", "smaller");
    assert!(!is_stored(&fixture, &large_blob) && !is_stored(&fixture, &first));
    assert!(!fs::read_to_string(fixture.store().join("shallow")).unwrap().contains(&first));
    assert_ne!(packs(&fixture), before);
    assert_eq!(packs(&fixture).len(), 1, "what stayed is a pack again");
    fixture.assert_fsck_clean();
    fs::remove_dir_all(&dir).unwrap();
    fs::create_dir(&dir).unwrap();
    let manager = fixture.manager();
    manager.restore(&dir, b"1", RestoreOptions::default()).unwrap();
    for number in 0..200 {
        let text = fs::read_to_string(dir.join(format!("{number}.txt"))).unwrap();
        assert_eq!(text, format!("{number}"));
    }
}

#[test]
fn prune_collects_objects_in_git_packs_unless_a_keep_file_exists() {
    let fixture = StoreFixture::new();
    let kept = fixture.take_with_limit(20, "kept", "kept");
    fixture.git(&["gc", "--quiet", "--prune=now"]);
    let keep = packs(&fixture)[0].with_extension("keep");
    fs::write(&keep, "").unwrap();
    fs::remove_dir_all(fixture.project("kept")).unwrap();
    let gone = fixture.take_with_limit(20, "gone", "gone");
    fixture.take_with_limit(20, "live", "live");
    fixture.git(&["repack", "--quiet", "-d"]);
    fixture.git(&["commit-graph", "write", "--reachable"]);
    fixture.git(&["multi-pack-index", "write"]);
    fs::remove_dir_all(fixture.project("gone")).unwrap();
    assert_eq!(fixture.prune().errors, 0);
    assert!(is_stored(&fixture, &kept));
    assert!(!is_stored(&fixture, &gone));
    fs::remove_file(keep).unwrap();
    assert_eq!(fixture.prune().errors, 0);
    assert!(!is_stored(&fixture, &kept));
    fixture.assert_fsck_clean();
    fixture.assert_newest_is_restored("live");
}

#[test]
fn prune_removes_a_folder_at_the_path_of_a_pack_with_the_remains_of_the_pack() {
    let fixture = StoreFixture::new();
    fixture.take_with_limit(20, "project", "one");
    fixture.git(&["gc", "--quiet"]);
    let pack = packs(&fixture).remove(0);
    fs::remove_file(&pack).unwrap();
    fs::create_dir(&pack).unwrap();
    // First the same content is taken again, then other content.
    fixture.take_with_limit(20, "project", "one");
    fixture.take_with_limit(1, "project", "other");
    assert_eq!(fixture.prune().errors, 0);
    assert!(packs(&fixture).is_empty());
    fixture.assert_fsck_clean();
    fixture.assert_newest_is_restored("project");
}

#[test]
fn prune_removes_a_pack_without_an_index_if_nothing_is_missing_and_no_keep_file_exists() {
    let fixture = StoreFixture::new();
    for project in ["one", "other"] {
        fixture.take_with_limit(20, project, project);
        fixture.git(&["repack", "--quiet", "-d"]);
    }
    let complete = packs(&fixture);
    for pack in &complete {
        // A pack that another tool copied without its index; its objects are also stored elsewhere.
        let stray = |stem: &str| pack.with_file_name(format!("pack-{stem}.pack"));
        fs::copy(pack, stray(&"0".repeat(40))).unwrap();
        fs::copy(pack, stray(&"1".repeat(40))).unwrap();
        fs::write(stray(&"1".repeat(40)).with_extension("keep"), "").unwrap();
    }
    assert_eq!(packs(&fixture).len(), 4);
    fs::remove_dir_all(fixture.project("other")).unwrap();
    assert_eq!(fixture.prune().errors, 0);
    let left: Vec<String> = packs(&fixture)
        .iter()
        .map(|pack| pack.file_stem().unwrap().display().to_string())
        .collect();
    assert!(!left.contains(&format!("pack-{}", "0".repeat(40))), "{left:?}");
    assert!(left.contains(&format!("pack-{}", "1".repeat(40))), "{left:?}");
    fixture.assert_fsck_clean();
    fixture.assert_newest_is_restored("one");
}

#[test]
fn prune_keeps_a_pack_without_an_index_while_an_object_is_missing() {
    let fixture = StoreFixture::new();
    let taken = fixture.take_with_limit(20, "one", "one");
    let blob = blob(&fixture, &taken);
    let wanted = fixture.root.join("wanted");
    fs::write(&wanted, format!("{blob}\n")).unwrap();
    let objects = fixture.store().join("objects");
    let mut packing = git(&fixture.store());
    packing.args(["pack-objects", "--quiet"]).arg(objects.join("pack/pack"));
    packing.stdin(fs::File::open(wanted).unwrap());
    run_checked(packing);
    fs::remove_file(objects.join(&blob[..2]).join(&blob[2..])).unwrap();
    // Only a pack without its index still holds the content.
    let pack = packs(&fixture).remove(0);
    let index = pack.with_extension("idx");
    let aside = fixture.root.join("aside");
    fs::rename(&index, &aside).unwrap();
    fixture.prune();
    assert!(pack.exists());
    fs::rename(aside, index).unwrap();
    fixture.assert_fsck_clean();
    fixture.assert_newest_is_restored("one");
}

#[test]
fn prune_deletes_nothing_if_a_third_party_ref_cannot_be_read() {
    let fixture = StoreFixture::new();
    let kept = fixture.take_with_limit(20, "kept", "kept");
    fixture.take_with_limit(20, "gone", "gone");
    fixture.git(&["branch", "theirs", &kept]);
    ["kept", "gone"].iter().for_each(|name| fs::remove_dir_all(fixture.project(name)).unwrap());
    let branch = fixture.store().join("refs/heads/theirs");
    let disk = fail_calls(Call::Stat, ErrorKind::StorageFull, move |path| path == branch);
    assert!(fixture.prune_on(disk).errors > 0);
    assert!(is_stored(&fixture, &kept));
}

#[test]
fn prune_keeps_files_that_only_resemble_objects_by_name() {
    let fixture = StoreFixture::new();
    let gone = fixture.take_with_limit(20, "gone", "gone");
    fixture.take_with_limit(20, "live", "live");
    fs::remove_dir_all(fixture.project("gone")).unwrap();
    let digits = "0123456789abcdef".repeat(3);
    let strays = ["ab/cd".to_owned(), format!("a/{}", &digits[..38]), "notes/ab".to_owned()];
    for stray in &strays {
        let path = fixture.store().join("objects").join(stray);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "no object").unwrap();
    }
    assert_eq!(fixture.prune().errors, 0);
    assert!(!is_stored(&fixture, &gone));
    for stray in strays {
        assert!(fixture.store().join("objects").join(&stray).exists(), "{stray}");
    }
}

#[test]
fn prune_counts_an_object_that_it_cannot_remove_and_removes_the_others() {
    let fixture = StoreFixture::new();
    let gone = fixture.take_with_limit(20, "gone", "gone");
    fs::remove_dir_all(fixture.project("gone")).unwrap();
    let commit = fixture.store().join("objects").join(&gone[..2]).join(&gone[2..]);
    let tree = fixture.git(&["rev-parse", &format!("{gone}^{{tree}}")]);
    let disk =
        fail_calls(Call::RemoveFile, ErrorKind::PermissionDenied, move |path| path == commit);
    let manager = fixture.manager_on(disk, Config { max_snapshots: 7, ..Config::default() });
    assert_eq!(manager.config().max_snapshots, 7);
    let pruned = manager.prune(&PruneOptions::from(manager.config()), &mut |_| {}).unwrap();
    assert_eq!((pruned.errors, is_stored(&fixture, &gone)), (1, true));
    assert!(!is_stored(&fixture, &tree));
    assert_eq!(fixture.prune().errors, 0);
    assert!(!is_stored(&fixture, &gone));
}

#[test]
fn prune_removes_no_object_before_the_removal_of_its_refs_is_synced() {
    let fixture = StoreFixture::new();
    let gone = fixture.take_with_limit(20, "gone", "gone");
    fixture.take_with_limit(20, "live", "live");
    // Another tool removed the ref, and the removal may not have been synced.
    let reference = fixture.reference("gone");
    let metadata = fixture.metadata("gone");
    fs::remove_file(reference).unwrap();
    fs::remove_file(metadata).unwrap();
    let objects = fixture.store().join("objects");
    let refs = fixture.store().join("refs/hermes");
    let is_synced = Arc::new(AtomicBool::new(false));
    let recorded = Arc::clone(&is_synced);
    let disk = HookedDisk::new(move |call, path| {
        match call {
            Call::SyncDirectory if path == refs => recorded.store(true, Ordering::Relaxed),
            Call::RemoveFile if path.starts_with(&objects) => {
                assert!(recorded.load(Ordering::Relaxed), "{path:?} goes too early");
            }
            _ => {}
        }
        Ok(())
    });
    assert_eq!(fixture.prune_on(disk).errors, 0);
    assert!(!is_stored(&fixture, &gone));
}

#[test]
fn prune_keeps_objects_that_third_party_refs_reach() {
    let fixture = StoreFixture::new();
    let ids = ["branch", "tagged", "packed", "detached", "gone"].map(|name| {
        let id = fixture.take_with_limit(20, name, name);
        fs::remove_dir_all(fixture.project(name)).unwrap();
        id
    });
    fixture.git(&["tag", "--annotate", "--message", "m", "tagged", &ids[1]]);
    fixture.git(&["branch", "packed", &ids[2]]);
    fixture.git(&["pack-refs", "--all"]);
    fixture.git(&["branch", "theirs/branch", &ids[0]]);
    fixture.git(&["update-ref", "--no-deref", "HEAD", &ids[3]]);
    fixture.take_with_limit(20, "live", "live");
    assert_eq!(fixture.prune().errors, 0);
    let stored = ids.map(|id| is_stored(&fixture, &id));
    assert_eq!(stored, [true, true, true, true, false]);
    fixture.assert_fsck_clean();
}

#[test]
fn a_collection_and_git_gc_exclude_each_other() {
    let fixture = StoreFixture::new();
    for step in ["one", "two", "three"] {
        fixture.take_with_limit(20, "project", step);
        fixture.take_with_limit(20, "gone", step);
    }
    fs::remove_dir_all(fixture.project("gone")).unwrap();
    let store = fixture.store();
    let collected_store = store.clone();
    let packs = store.join("objects/pack");
    let objects = store.join("objects");
    let pack_count = move || fs::read_dir(&packs).unwrap().count();
    let is_pending = AtomicBool::new(true);
    let is_object = move |path: &Path| path.starts_with(&objects);
    let disk = before_call(Call::RemoveFile, is_object, move |_| {
        if is_pending.swap(false, Ordering::SeqCst) {
            let output = git(&collected_store).args(["gc", "--prune=now"]).output().unwrap();
            assert_eq!(pack_count(), 0, "{}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    });
    assert_eq!(fixture.prune_on(disk).errors, 0);
    fixture.assert_fsck_clean();
    assert!(!store.join("gc.pid").exists());
    // While git runs a gc nothing is removed, and an error is counted.
    let mut git_process = Command::new("sleep").arg("60").spawn().unwrap();
    let machine = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    fs::write(store.join("gc.pid"), format!("{} {machine}", git_process.id())).unwrap();
    fs::write(store.join("objects/tmp_obj_x-0"), "x").unwrap();
    assert_eq!(fixture.prune().errors, 1);
    assert!(store.join("objects/tmp_obj_x-0").exists());
    git_process.kill().unwrap();
    git_process.wait().unwrap();
    assert_eq!(fixture.prune().errors, 0);
    assert!(!store.join("objects/tmp_obj_x-0").exists());
}

// rule: maintenance/damage
#[test]
fn prune_frees_the_space_of_other_projects_if_the_first_checkpoint_of_one_is_lost() {
    for more in [0, 1] {
        let fixture = StoreFixture::new();
        let first = fixture.take_with_limit(20, "damaged", "one");
        let newest = (more > 0).then(|| fixture.take_with_limit(20, "damaged", "two"));
        let gone = fixture.take_with_limit(20, "gone", "gone");
        fs::remove_dir_all(fixture.project("gone")).unwrap();
        let lost = fixture.store().join("objects").join(&first[..2]).join(&first[2..]);
        fs::remove_file(lost).unwrap();
        assert_eq!(fixture.prune().errors, 0);
        assert!(!is_stored(&fixture, &gone));
        assert!(newest.is_none_or(|newest| is_stored(&fixture, &newest)));
        assert_eq!(fixture.list("damaged").len(), 1 + more);
    }
}

#[test]
fn prune_removes_leftovers_but_collects_nothing_while_a_history_is_damaged() {
    let fixture = StoreFixture::new();
    let damaged = fixture.take_with_limit(20, "damaged", "one");
    fixture.take_with_limit(20, "damaged", "two");
    let gone = fixture.take_with_limit(20, "gone", "gone");
    let lock = format!("locks/{}", fixture.hash("gone"));
    fs::remove_dir_all(fixture.project("gone")).unwrap();
    let loose = fixture.store().join("objects").join(&damaged[..2]).join(&damaged[2..]);
    let away = fixture.root.join("away");
    fs::rename(&loose, &away).unwrap();
    // The ancestors of a lost commit are unknown without the list of the project's checkpoints.
    let metadata = fixture.store().join(format!("projects/{}.json", fixture.hash("damaged")));
    let metadata_away = fixture.root.join("metadata");
    fs::rename(&metadata, &metadata_away).unwrap();
    assert_eq!(fixture.prune().errors, 1, "for the space");
    assert!(is_stored(&fixture, &gone));
    fs::rename(&away, &loose).unwrap();
    fs::rename(&metadata_away, &metadata).unwrap();
    let leftovers = [
        "objects/tmp_obj_x-0",
        "objects/pack/tmp_pack_x",
        "fresh/usage-0",
        "packed-refs.new-0",
        // The lock of a removed project.
        &lock,
    ];
    leftovers.iter().for_each(|path| fs::write(fixture.store().join(path), "x").unwrap());
    assert_eq!(fixture.prune().errors, 0);
    assert!(!is_stored(&fixture, &gone));
    assert!(leftovers.iter().all(|path| !fixture.store().join(path).exists()));
    assert!(fixture.store().join("locks").join(fixture.hash("damaged")).exists());
    fixture.assert_fsck_clean();
}
