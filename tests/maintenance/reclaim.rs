//! What space is freed of, and what is never touched on the way.

use crate::maintenance::world::{World, before, created, failing, git, noise, succeeds};
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

fn is_stored(world: &World, id: &str) -> bool {
    let mut git = git(&world.store());
    git.args(["cat-file", "-e", id]).output().unwrap().status.success()
}

#[track_caller]
fn blob(world: &World, commit: &str) -> String {
    world.git(&["rev-parse", &format!("{commit}:a.txt")])
}

/// Bytes that are reason enough to reclaim, and are no others' of another `seed`.
fn large(seed: u64) -> String {
    noise(seed, 2 * 1024 * 1024)
}

fn packs(world: &World) -> Vec<PathBuf> {
    let entries = fs::read_dir(world.store().join("objects/pack")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "pack")).collect()
}

#[test]
fn what_two_projects_have_in_common_is_stored_once() {
    let world = World::new();
    ["one", "other"].iter().for_each(|project| drop(world.take(project, "the same")));
    let all = world.git(&["cat-file", "--batch-all-objects", "--batch-check=%(objecttype)"]);
    let count = |kind| all.lines().filter(|one| *one == kind).count();
    assert_eq!(["commit", "tree", "blob"].map(count), [2, 1, 1]);
}

#[test]
fn who_answers_first_frees_space_when_nobody_waits_for_it() {
    let world = World::new();
    let config = Config { max_snapshots: 1, ..Config::default() };
    let manager = world.on(SystemDisk, config).answering_first();
    let project = world.project("project");
    let take = |seed: u64| {
        world.write("project", &large(seed));
        created(&manager, &project, "r")
    };
    let first = take(1);
    manager.keep_up();
    assert!(is_stored(&world, &first), "nothing was pushed out yet");
    let second = take(2);
    let listed: Vec<String> =
        manager.list(&project).unwrap().into_iter().map(|one| one.id).collect();
    assert!(listed.iter().eq([&second]), "{listed:?}");
    assert!(is_stored(&world, &first), "whoever asked for the second did not wait");
    manager.keep_up();
    assert!(!is_stored(&world, &first) && is_stored(&world, &second));
}

#[test]
fn large_files_that_stay_do_not_make_a_small_change_due() {
    let world = World::new();
    let write = |path: &str, content: &str| {
        let path = world.project("project").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    // Beside the large file of each folder something changes.
    ["d/large", "e/large"].iter().zip(1..).for_each(|(path, seed)| write(path, &large(seed)));
    let taken = |step: usize| {
        ["d/small", "e/small"].iter().for_each(|path| write(path, &format!("{path} {step}")));
        world.take_keeping(4, "project", &format!("{step}"))
    };
    let ids: Vec<String> = (0..6).map(taken).collect();
    assert!(is_stored(&world, &ids[0]), "what little it takes can wait");
    assert_eq!(world.prune().errors, 0);
    assert!(!is_stored(&world, &ids[0]));
    world.git_finds_nothing_broken();
}

#[test]
fn a_pack_is_written_anew_once_no_checkpoint_holds_a_large_file_of_it() {
    let world = World::new();
    let dir = world.project("project");
    fs::create_dir_all(&dir).unwrap();
    // As many as there are, the index is longer than a page.
    for number in 0..200 {
        fs::write(dir.join(format!("{number}.txt")), format!("{number}")).unwrap();
    }
    let first = world.take_keeping(2, "project", &large(3));
    let held = blob(&world, &first);
    let before = packs(&world);
    assert_eq!(before.len(), 1);
    world.take_keeping(2, "project", "small");
    assert!(is_stored(&world, &held));
    world.take_keeping(2, "project", "smaller");
    assert!(!is_stored(&world, &held) && !is_stored(&world, &first));
    assert!(!fs::read_to_string(world.store().join("shallow")).unwrap().contains(&first));
    assert_ne!(packs(&world), before);
    assert_eq!(packs(&world).len(), 1, "what stayed is a pack again");
    world.git_finds_nothing_broken();
    fs::remove_dir_all(&dir).unwrap();
    fs::create_dir(&dir).unwrap();
    let manager = world.manager();
    manager.restore(&dir, b"1", RestoreOptions::default()).unwrap();
    for number in 0..200 {
        let text = fs::read_to_string(dir.join(format!("{number}.txt"))).unwrap();
        assert_eq!(text, format!("{number}"));
    }
}

#[test]
fn what_git_packed_and_summed_up_is_reclaimed_too_unless_it_is_kept() {
    let world = World::new();
    let kept = world.take_keeping(20, "kept", "kept");
    world.git(&["gc", "--quiet", "--prune=now"]);
    let keep = packs(&world)[0].with_extension("keep");
    fs::write(&keep, "").unwrap();
    fs::remove_dir_all(world.project("kept")).unwrap();
    let gone = world.take_keeping(20, "gone", "gone");
    world.take_keeping(20, "live", "live");
    world.git(&["repack", "--quiet", "-d"]);
    world.git(&["commit-graph", "write", "--reachable"]);
    world.git(&["multi-pack-index", "write"]);
    fs::remove_dir_all(world.project("gone")).unwrap();
    assert_eq!(world.prune().errors, 0);
    assert!(is_stored(&world, &kept));
    assert!(!is_stored(&world, &gone));
    fs::remove_file(keep).unwrap();
    assert_eq!(world.prune().errors, 0);
    assert!(!is_stored(&world, &kept));
    world.git_finds_nothing_broken();
    world.restores("live");
}

#[test]
fn a_folder_in_the_place_of_a_pack_goes_with_what_is_left_of_it() {
    let world = World::new();
    world.take_keeping(20, "project", "one");
    world.git(&["gc", "--quiet"]);
    let pack = packs(&world).remove(0);
    fs::remove_file(&pack).unwrap();
    fs::create_dir(&pack).unwrap();
    // It is taken again as the same, and then something else.
    world.take_keeping(20, "project", "one");
    world.take_keeping(1, "project", "other");
    assert_eq!(world.prune().errors, 0);
    assert!(packs(&world).is_empty());
    world.git_finds_nothing_broken();
    world.restores("project");
}

#[test]
fn a_pack_without_an_index_goes_once_nothing_is_missing_unless_it_is_kept() {
    let world = World::new();
    for project in ["one", "other"] {
        world.take_keeping(20, project, project);
        world.git(&["repack", "--quiet", "-d"]);
    }
    let whole = packs(&world);
    for pack in &whole {
        // Another tool's, of which only half came: its objects are stored elsewhere too.
        let stray = |stem: &str| pack.with_file_name(format!("pack-{stem}.pack"));
        fs::copy(pack, stray(&"0".repeat(40))).unwrap();
        fs::copy(pack, stray(&"1".repeat(40))).unwrap();
        fs::write(stray(&"1".repeat(40)).with_extension("keep"), "").unwrap();
    }
    assert_eq!(packs(&world).len(), 4);
    fs::remove_dir_all(world.project("other")).unwrap();
    assert_eq!(world.prune().errors, 0);
    let left: Vec<String> =
        packs(&world).iter().map(|pack| pack.file_stem().unwrap().display().to_string()).collect();
    assert!(!left.contains(&format!("pack-{}", "0".repeat(40))), "{left:?}");
    assert!(left.contains(&format!("pack-{}", "1".repeat(40))), "{left:?}");
    world.git_finds_nothing_broken();
    world.restores("one");
}

#[test]
fn a_pack_without_an_index_stays_while_anything_is_missing() {
    let world = World::new();
    let taken = world.take_keeping(20, "one", "one");
    let blob = blob(&world, &taken);
    let wanted = world.root.join("wanted");
    fs::write(&wanted, format!("{blob}\n")).unwrap();
    let objects = world.store().join("objects");
    let mut packing = git(&world.store());
    packing.args(["pack-objects", "--quiet"]).arg(objects.join("pack/pack"));
    packing.stdin(fs::File::open(wanted).unwrap());
    succeeds(packing);
    fs::remove_file(objects.join(&blob[..2]).join(&blob[2..])).unwrap();
    // Half of a pack is all that is left of the content.
    let half = packs(&world).remove(0);
    let [index, aside] = [half.with_extension("idx"), world.root.join("aside")];
    fs::rename(&index, &aside).unwrap();
    world.prune();
    assert!(half.exists());
    fs::rename(aside, index).unwrap();
    world.git_finds_nothing_broken();
    world.restores("one");
}

#[test]
fn nothing_goes_where_other_refs_cannot_be_looked_at() {
    let world = World::new();
    let kept = world.take_keeping(20, "kept", "kept");
    world.take_keeping(20, "gone", "gone");
    world.git(&["branch", "theirs", &kept]);
    ["kept", "gone"].iter().for_each(|name| fs::remove_dir_all(world.project(name)).unwrap());
    let branch = world.store().join("refs/heads/theirs");
    let disk = failing(Call::Stat, ErrorKind::StorageFull, move |path| path == branch);
    assert!(world.prune_on(disk).errors > 0);
    assert!(is_stored(&world, &kept));
}

#[test]
fn what_is_only_called_like_an_object_stays() {
    let world = World::new();
    let gone = world.take_keeping(20, "gone", "gone");
    world.take_keeping(20, "live", "live");
    fs::remove_dir_all(world.project("gone")).unwrap();
    let digits = "0123456789abcdef".repeat(3);
    let strays = ["ab/cd".to_owned(), format!("a/{}", &digits[..38]), "notes/ab".to_owned()];
    for stray in &strays {
        let path = world.store().join("objects").join(stray);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "no object").unwrap();
    }
    assert_eq!(world.prune().errors, 0);
    assert!(!is_stored(&world, &gone));
    for stray in strays {
        assert!(world.store().join("objects").join(&stray).exists(), "{stray}");
    }
}

#[test]
fn an_object_that_cannot_be_removed_is_an_error_and_the_rest_goes() {
    let world = World::new();
    let gone = world.take_keeping(20, "gone", "gone");
    fs::remove_dir_all(world.project("gone")).unwrap();
    let commit = world.store().join("objects").join(&gone[..2]).join(&gone[2..]);
    let tree = world.git(&["rev-parse", &format!("{gone}^{{tree}}")]);
    let disk = failing(Call::RemoveFile, ErrorKind::PermissionDenied, move |path| path == commit);
    let manager = world.on(disk, Config { max_snapshots: 7, ..Config::default() });
    assert_eq!(manager.config().max_snapshots, 7);
    let pruned = manager.prune(&PruneOptions::from(manager.config()), &mut |_| {}).unwrap();
    assert_eq!((pruned.errors, is_stored(&world, &gone)), (1, true));
    assert!(!is_stored(&world, &tree));
    assert_eq!(world.prune().errors, 0);
    assert!(!is_stored(&world, &gone));
}

#[test]
fn no_object_goes_before_it_is_durable_that_nothing_points_at_it() {
    let world = World::new();
    let gone = world.take_keeping(20, "gone", "gone");
    world.take_keeping(20, "live", "live");
    // Another tool has removed the ref, and its machine may stop before the disk knows of it.
    let (reference, metadata) = (world.reference("gone"), world.metadata("gone"));
    fs::remove_file(reference).unwrap();
    fs::remove_file(metadata).unwrap();
    let (objects, refs) = (world.store().join("objects"), world.store().join("refs/hermes"));
    let is_durable = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_durable);
    let disk = HookedDisk::new(move |call, path| {
        match call {
            Call::SyncDirectory if path == refs => seen.store(true, Ordering::Relaxed),
            Call::RemoveFile if path.starts_with(&objects) => {
                assert!(seen.load(Ordering::Relaxed), "{path:?} goes too early");
            }
            _ => {}
        }
        Ok(())
    });
    assert_eq!(world.prune_on(disk).errors, 0);
    assert!(!is_stored(&world, &gone));
}

#[test]
fn what_other_refs_point_at_stays() {
    let world = World::new();
    let ids = ["branch", "tagged", "packed", "detached", "gone"].map(|name| {
        let id = world.take_keeping(20, name, name);
        fs::remove_dir_all(world.project(name)).unwrap();
        id
    });
    world.git(&["tag", "--annotate", "--message", "m", "tagged", &ids[1]]);
    world.git(&["branch", "packed", &ids[2]]);
    world.git(&["pack-refs", "--all"]);
    world.git(&["branch", "theirs/branch", &ids[0]]);
    world.git(&["update-ref", "--no-deref", "HEAD", &ids[3]]);
    world.take_keeping(20, "live", "live");
    assert_eq!(world.prune().errors, 0);
    let stored = ids.map(|id| is_stored(&world, &id));
    assert_eq!(stored, [true, true, true, true, false]);
    world.git_finds_nothing_broken();
}

#[test]
fn git_packs_nothing_while_space_is_freed_and_no_space_is_freed_while_git_packs() {
    let world = World::new();
    for step in ["one", "two", "three"] {
        world.take_keeping(20, "project", step);
        world.take_keeping(20, "gone", step);
    }
    fs::remove_dir_all(world.project("gone")).unwrap();
    let store = world.store();
    let own = store.clone();
    let (packs, objects) = (store.join("objects/pack"), store.join("objects"));
    let packs_now = move || fs::read_dir(&packs).unwrap().count();
    let asked = AtomicBool::new(true);
    let is_object = move |path: &Path| path.starts_with(&objects);
    let disk = before(Call::RemoveFile, is_object, move |_| {
        if asked.swap(false, Ordering::SeqCst) {
            let said = git(&own).args(["gc", "--prune=now"]).output().unwrap();
            assert_eq!(packs_now(), 0, "{}", String::from_utf8_lossy(&said.stderr));
        }
        Ok(())
    });
    assert_eq!(world.prune_on(disk).errors, 0);
    world.git_finds_nothing_broken();
    assert!(!store.join("gc.pid").exists());
    // While git packs nothing is removed, and that is said.
    let mut other = Command::new("sleep").arg("60").spawn().unwrap();
    let machine = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    fs::write(store.join("gc.pid"), format!("{} {machine}", other.id())).unwrap();
    fs::write(store.join("objects/tmp_obj_x-0"), "x").unwrap();
    assert_eq!(world.prune().errors, 1);
    assert!(store.join("objects/tmp_obj_x-0").exists());
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(world.prune().errors, 0);
    assert!(!store.join("objects/tmp_obj_x-0").exists());
}

#[test]
fn leftovers_go_and_nothing_goes_where_a_history_is_damaged() {
    let world = World::new();
    let damaged = world.take_keeping(20, "damaged", "one");
    world.take_keeping(20, "damaged", "two");
    let gone = world.take_keeping(20, "gone", "gone");
    let lock = format!("locks/{}", world.hash("gone"));
    fs::remove_dir_all(world.project("gone")).unwrap();
    let loose = world.store().join("objects").join(&damaged[..2]).join(&damaged[2..]);
    let away = world.root.join("away");
    fs::rename(&loose, &away).unwrap();
    // What came before a commit that is lost, if anything did, nobody knows.
    assert_eq!(world.prune().errors, 1, "for the space");
    assert!(is_stored(&world, &gone));
    fs::rename(&away, &loose).unwrap();
    let leftovers = [
        "objects/tmp_obj_x-0",
        "objects/pack/tmp_pack_x",
        "fresh/usage-0",
        "packed-refs.new-0",
        // Of a project of which nothing is left.
        &lock,
    ];
    leftovers.iter().for_each(|path| fs::write(world.store().join(path), "x").unwrap());
    assert_eq!(world.prune().errors, 0);
    assert!(!is_stored(&world, &gone));
    assert!(leftovers.iter().all(|path| !world.store().join(path).exists()));
    assert!(world.store().join("locks").join(world.hash("damaged")).exists());
    world.git_finds_nothing_broken();
}
