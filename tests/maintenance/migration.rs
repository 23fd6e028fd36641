//! Migration: v1 repositories are moved intact into an archive, and nothing else is moved.

use crate::maintenance::world::{NOON, StoreFixture, fail_calls, git, run_checked};
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

fn assert_intact(archived: &Path) {
    let mut log = git(archived);
    log.args(["log", "--format=%s"]);
    assert_eq!(run_checked(log).stdout, b"v1\n");
    let mut fsck = git(archived);
    fsck.args(["fsck", "--full", "--strict"]);
    run_checked(fsck);
}

// rule: migration/archives
#[test]
fn migration_moves_only_v1_repositories() {
    let fixture = StoreFixture::new();
    let base = fixture.base();
    fixture.v1_repository(ONE, NOON);
    fixture.archive("legacy-20260101-000000", 0);
    fs::create_dir_all(base.join("notes/objects")).unwrap();
    fs::create_dir_all(base.join("HEAD/objects")).unwrap();
    fs::write(base.join("todo.txt"), "mine").unwrap();
    let elsewhere = fixture.root.join("elsewhere");
    fs::rename(fixture.v1_repository(OTHER, NOON), &elsewhere).unwrap();
    symlink(&elsewhere, base.join(OTHER)).unwrap();
    fixture.take("project", "one");
    let left = fixture.names_in_base();
    let archives = ["legacy-20260101-000000", "legacy-20260316-120000"];
    assert_eq!(left, ["HEAD", OTHER, archives[0], archives[1], "notes", "store", "todo.txt"]);
    let moved = fs::read_dir(base.join("legacy-20260316-120000")).unwrap();
    assert_eq!(moved.count(), 1);
}

#[test]
fn migration_does_not_add_to_an_archive_of_the_same_second() {
    let fixture = StoreFixture::new();
    fixture.v1_repository(ONE, NOON);
    let existing = fixture.base().join("legacy-20260316-120000");
    fs::create_dir(&existing).unwrap();
    fs::write(fixture.base().join("legacy-20260316-120000-1"), "a file").unwrap();
    fixture.take("project", "one");
    assert_eq!(fs::read_dir(existing).unwrap().count(), 0);
    assert_intact(&fixture.base().join("legacy-20260316-120000-2").join(ONE));
    // A v1 repository that appears after the store exists is left to the sweep.
    fixture.v1_repository(OTHER, NOON);
    fixture.take("project", "two");
    assert_intact(&fixture.base().join(OTHER));
}

#[test]
fn migration_is_completed_by_the_next_process_after_a_kill() {
    for killed_at in 1..3 {
        let fixture = StoreFixture::new();
        fixture.v1_repository(ONE, NOON);
        fixture.v1_repository(OTHER, NOON);
        let renames = AtomicUsize::new(0);
        let disk = HookedDisk::new(move |call, _| {
            let increment = usize::from(call == Call::Rename);
            // After the kill every call fails.
            let is_alive = renames.fetch_add(increment, Ordering::SeqCst) + increment < killed_at;
            if is_alive { Ok(()) } else { Err(ErrorKind::Other.into()) }
        });
        fixture.write("project", "one");
        let refused = fixture
            .manager_on(disk, Config::default())
            .checkpoint(&fixture.project("project"), "r");
        refused.unwrap_err();
        fixture.set_clock(NOON + 1);
        fixture.take("project", "one");
        let base = fixture.base();
        let archives = [base.join("legacy-20260316-120000"), base.join("legacy-20260316-120001")];
        for name in [ONE, OTHER] {
            let found = archives.iter().find(|archive| archive.join(name).is_dir());
            assert_intact(&found.unwrap().join(name));
        }
    }
}

#[test]
fn a_v1_repository_that_cannot_be_moved_stays_and_refuses_no_checkpoint() {
    let fixture = StoreFixture::new();
    fixture.v1_repository(ONE, NOON);
    let disk =
        fail_calls(Call::Rename, ErrorKind::PermissionDenied, move |path| path.ends_with(ONE));
    fixture.write("project", "one");
    let manager = fixture.manager_on(disk, Config::default());
    manager.checkpoint(&fixture.project("project"), "one").unwrap();
    assert_eq!(fixture.names_in_base(), [ONE, "store"]);
    assert_intact(&fixture.base().join(ONE));
    assert_eq!(fixture.manager().status().unwrap().legacy, []);
}

#[test]
fn concurrent_migrations_by_two_processes_lose_nothing() {
    let fixture = StoreFixture::new();
    for number in 0..8 {
        fixture.v1_repository(&format!("{number:016x}"), NOON);
    }
    std::thread::scope(|scope| {
        for name in ["one", "other"] {
            fixture.write(name, name);
            let manager = fixture.manager_on(SystemDisk, Config::default());
            let project = fixture.project(name);
            scope.spawn(move || manager.checkpoint(&project, name).unwrap());
        }
    });
    let archives = fixture.names_in_base().into_iter().filter(|name| name.starts_with("legacy-"));
    let moved = archives.map(|name| fs::read_dir(fixture.base().join(name)).unwrap().count());
    assert_eq!(moved.sum::<usize>(), 8);
}
