//! What v1 left moves out of the way, whole, and nothing else does.

use crate::maintenance::world::{NOON, World, failing, git, succeeds};
use herma_core::Config;
use herma_core::disk::SystemDisk;
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

const ONE: &str = "0123456789abcdef";
const OTHER: &str = "fedcba9876543210";

fn is_whole(archived: &Path) {
    let mut log = git(archived);
    log.args(["log", "--format=%s"]);
    assert_eq!(succeeds(log).stdout, b"v1\n");
    let mut fsck = git(archived);
    fsck.args(["fsck", "--full", "--strict"]);
    succeeds(fsck);
}

#[test]
fn what_is_no_repository_stays_where_it_is() {
    let world = World::new();
    let base = world.base();
    world.v1_repository(ONE, NOON);
    world.archive("legacy-20260101-000000", 0);
    fs::create_dir_all(base.join("notes/objects")).unwrap();
    fs::create_dir_all(base.join("HEAD/objects")).unwrap();
    fs::write(base.join("todo.txt"), "mine").unwrap();
    let elsewhere = world.root.join("elsewhere");
    fs::rename(world.v1_repository(OTHER, NOON), &elsewhere).unwrap();
    symlink(&elsewhere, base.join(OTHER)).unwrap();
    world.take("project", "one");
    let left = world.in_base();
    let archives = ["legacy-20260101-000000", "legacy-20260316-120000"];
    assert_eq!(left, ["HEAD", OTHER, archives[0], archives[1], "notes", "store", "todo.txt"]);
    let moved = fs::read_dir(base.join("legacy-20260316-120000")).unwrap();
    assert_eq!(moved.count(), 1);
}

#[test]
fn an_archive_of_the_same_second_is_not_added_to() {
    let world = World::new();
    world.v1_repository(ONE, NOON);
    let taken = world.base().join("legacy-20260316-120000");
    fs::create_dir(&taken).unwrap();
    fs::write(world.base().join("legacy-20260316-120000-1"), "a file").unwrap();
    world.take("project", "one");
    assert_eq!(fs::read_dir(taken).unwrap().count(), 0);
    is_whole(&world.base().join("legacy-20260316-120000-2").join(ONE));
    // What comes once there is a store is a leftover, for the sweep to judge.
    world.v1_repository(OTHER, NOON);
    world.take("project", "two");
    is_whole(&world.base().join(OTHER));
}

#[test]
fn what_a_killed_process_left_is_moved_by_the_next() {
    for killed_at in 1..3 {
        let world = World::new();
        world.v1_repository(ONE, NOON);
        world.v1_repository(OTHER, NOON);
        let renames = AtomicUsize::new(0);
        let disk = HookedDisk::new(move |call, _| {
            let is_one = usize::from(call == Call::Rename);
            // Nothing is done any more once it died.
            let is_alive = renames.fetch_add(is_one, Ordering::SeqCst) + is_one < killed_at;
            if is_alive { Ok(()) } else { Err(ErrorKind::Other.into()) }
        });
        world.write("project", "one");
        let refused = world.on(disk, Config::default()).checkpoint(&world.project("project"), "r");
        refused.unwrap_err();
        world.set_clock(NOON + 1);
        world.take("project", "one");
        let base = world.base();
        let archives = [base.join("legacy-20260316-120000"), base.join("legacy-20260316-120001")];
        for name in [ONE, OTHER] {
            let found = archives.iter().find(|archive| archive.join(name).is_dir());
            is_whole(&found.unwrap().join(name));
        }
    }
}

#[test]
fn a_repository_that_cannot_be_moved_stays_and_refuses_no_checkpoint() {
    let world = World::new();
    world.v1_repository(ONE, NOON);
    let disk = failing(Call::Rename, ErrorKind::PermissionDenied, move |path| path.ends_with(ONE));
    world.write("project", "one");
    let manager = world.on(disk, Config::default());
    manager.checkpoint(&world.project("project"), "one").unwrap();
    assert_eq!(world.in_base(), [ONE, "store"]);
    is_whole(&world.base().join(ONE));
    assert_eq!(world.manager().status().unwrap().legacy, []);
}

#[test]
fn two_processes_at_once_lose_nothing() {
    let world = World::new();
    for number in 0..8 {
        world.v1_repository(&format!("{number:016x}"), NOON);
    }
    std::thread::scope(|scope| {
        for name in ["one", "other"] {
            world.write(name, name);
            let manager = world.on(SystemDisk, Config::default());
            let project = world.project(name);
            scope.spawn(move || manager.checkpoint(&project, name).unwrap());
        }
    });
    let archives = world.in_base().into_iter().filter(|name| name.starts_with("legacy-"));
    let moved = archives.map(|name| fs::read_dir(world.base().join(name)).unwrap().count());
    assert_eq!(moved.sum::<usize>(), 8);
}
