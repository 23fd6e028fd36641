//! Clearing removes everything of ours from the base and nothing else.

use crate::maintenance::world::{NOON, World, before, failing};
use herma_core::disk::{Disk, Sharing, SystemDisk};
use herma_core::{Cleared, Config, Holdings};
use herma_harness::subject::Call;
use pretty_assertions::assert_eq;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::Path;

const V1: &str = "0123456789abcdef";

/// A base with one of everything.
fn full() -> World {
    let world = World::new();
    world.take("project", "one");
    world.manager().sweep();
    world.v1_repository(V1, NOON);
    world.archive("legacy-20260315-000000", 5);
    fs::create_dir_all(world.base().join(".removing-legacy-20260101-000000")).unwrap();
    fs::write(world.base().join(".last_prune-0"), "").unwrap();
    world
}

#[test]
fn everything_of_ours_goes_and_nothing_else() {
    let world = full();
    fs::write(world.base().join("todo.txt"), "mine").unwrap();
    fs::create_dir_all(world.base().join("notes/objects")).unwrap();
    symlink(world.project("project"), world.base().join("legacy-20260101-000000")).unwrap();
    let holdings = world.manager().holdings().unwrap();
    let expected = Holdings {
        entries: 6,
        projects: Some(1),
        archives: 1,
        repositories: 1,
        archive_bytes: 5,
        ..holdings
    };
    assert_eq!(holdings, expected);
    assert_eq!(world.manager().clear().unwrap(), Cleared { bytes_freed: holdings.bytes });
    assert_eq!(world.in_base(), ["legacy-20260101-000000", "notes", "todo.txt"]);
    assert!(world.project("project").join("a.txt").is_file());
    let nothing = Holdings { projects: Some(0), ..Holdings::default() };
    assert_eq!(world.manager().holdings().unwrap(), nothing);
    assert_eq!(world.manager().clear().unwrap(), Cleared::default());
}

#[test]
fn what_another_process_removes_first_is_removed() {
    let world = full();
    let base = world.base();
    let is_ours = move |path: &Path| path.starts_with(&base) && path.is_dir();
    let disk = before(Call::Rename, is_ours, |path| fs::remove_dir_all(path));
    world.on(disk, Config::default()).clear().unwrap();
    assert!(!world.base().exists());
}

#[test]
fn a_store_in_use_is_not_cleared() {
    let world = full();
    let before = world.in_base();
    let lock = world.store().join("locks/store");
    let held = SystemDisk.try_lock(&lock, Sharing::Shared).unwrap().unwrap();
    assert_eq!(world.manager().clear().unwrap_err().code(), "busy");
    assert_eq!(world.in_base(), before);
    drop(held);
    world.manager().clear().unwrap();
}

#[test]
fn a_store_that_is_damaged_or_of_another_tool_can_be_cleared() {
    let world = full();
    fs::remove_dir_all(world.store().join("locks")).unwrap();
    fs::remove_dir_all(world.store().join("objects")).unwrap();
    world.manager().clear().unwrap();
    assert!(!world.base().exists());
}

#[test]
fn what_cannot_be_removed_is_said_and_goes_the_next_time() {
    let world = full();
    let disk = failing(Call::Rename, ErrorKind::PermissionDenied, move |path| path.ends_with(V1));
    let error = world.on(disk, Config::default()).clear().unwrap_err();
    assert_eq!(error.code(), "partly_cleared");
    assert!(!error.to_string().contains("nothing was changed"), "{error}");
    assert_eq!(world.in_base(), [V1]);
    world.manager().clear().unwrap();
    assert!(!world.base().exists());
}

#[test]
fn a_process_that_waited_for_a_clear_does_not_work_on_what_is_gone() {
    for _ in 0..5 {
        let world = World::new();
        world.take("one", "one");
        world.take("other", "one");
        std::thread::scope(|scope| {
            let taking = scope.spawn(|| {
                world.write("other", "two");
                world.manager().checkpoint(&world.project("other"), "two")
            });
            world.manager().clear().unwrap();
            match taking.join().unwrap() {
                // Either it was cleared with the rest or it came after.
                Ok(_) => assert!(["", "two"].contains(&world.list("other").join(",").as_str())),
                Err(error) => assert_eq!(error.code(), "io", "{error}"),
            }
        });
        world.take("one", "three");
        world.restores("one");
        world.git_finds_nothing_broken();
    }
}
