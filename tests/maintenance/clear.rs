//! `clear`: removes everything that belongs to the store from the base, and nothing else.

use crate::maintenance::world::{NOON, StoreFixture, before_call, fail_calls};
use herma_core::disk::Sharing;
use herma_core::{Cleared, Config, Holdings};
use herma_harness::subject::Call;
use herma_tests::hold;
use pretty_assertions::assert_eq;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::Path;

const V1: &str = "0123456789abcdef";

/// A base with one entry of every kind.
fn full() -> StoreFixture {
    let fixture = StoreFixture::new();
    fixture.take("project", "one");
    fixture.manager().sweep();
    fixture.v1_repository(V1, NOON);
    fixture.archive("legacy-20260315-000000", 5);
    fs::create_dir_all(fixture.base().join(".removing-legacy-20260101-000000")).unwrap();
    fs::write(fixture.base().join(".last_prune-0"), "").unwrap();
    fixture
}

#[test]
fn clear_removes_every_entry_of_the_store_and_nothing_else() {
    let fixture = full();
    fs::write(fixture.base().join("todo.txt"), "mine").unwrap();
    fs::create_dir_all(fixture.base().join("notes/objects")).unwrap();
    symlink(fixture.project("project"), fixture.base().join("legacy-20260101-000000")).unwrap();
    let holdings = fixture.manager().holdings().unwrap();
    let expected = Holdings {
        entries: 6,
        projects: Some(1),
        archives: 1,
        repositories: 1,
        archive_bytes: 5,
        ..holdings
    };
    assert_eq!(holdings, expected);
    assert_eq!(fixture.manager().clear().unwrap(), Cleared { bytes_freed: holdings.bytes });
    assert_eq!(fixture.names_in_base(), ["legacy-20260101-000000", "notes", "todo.txt"]);
    assert!(fixture.project("project").join("a.txt").is_file());
    let empty = Holdings { projects: Some(0), ..Holdings::default() };
    assert_eq!(fixture.manager().holdings().unwrap(), empty);
    assert_eq!(fixture.manager().clear().unwrap(), Cleared::default());
}

#[test]
fn clear_succeeds_if_another_process_removes_an_entry_first() {
    let fixture = full();
    let base = fixture.base();
    let is_folder_in_base = move |path: &Path| path.starts_with(&base) && path.is_dir();
    let disk = before_call(Call::Rename, is_folder_in_base, |path| fs::remove_dir_all(path));
    fixture.manager_on(disk, Config::default()).clear().unwrap();
    assert!(!fixture.base().exists());
}

#[test]
fn clear_refuses_a_store_in_use_as_busy() {
    let fixture = full();
    let before = fixture.names_in_base();
    let lock = fixture.store().join("locks/store");
    let held = hold(&lock, Sharing::Shared);
    assert_eq!(fixture.manager().clear().unwrap_err().code(), "busy");
    assert_eq!(fixture.names_in_base(), before);
    drop(held);
    fixture.manager().clear().unwrap();
}

#[test]
fn clear_removes_a_damaged_store_and_one_of_another_tool() {
    let fixture = full();
    fs::remove_dir_all(fixture.store().join("locks")).unwrap();
    fs::remove_dir_all(fixture.store().join("objects")).unwrap();
    fixture.manager().clear().unwrap();
    assert!(!fixture.base().exists());
}

#[test]
fn clear_reports_what_it_cannot_remove_and_the_next_clear_removes_it() {
    let fixture = full();
    let disk =
        fail_calls(Call::Rename, ErrorKind::PermissionDenied, move |path| path.ends_with(V1));
    let error = fixture.manager_on(disk, Config::default()).clear().unwrap_err();
    assert_eq!(error.code(), "partly_cleared");
    assert!(!error.to_string().contains("nothing was changed"), "{error}");
    assert_eq!(fixture.names_in_base(), [V1]);
    fixture.manager().clear().unwrap();
    assert!(!fixture.base().exists());
}

#[test]
fn clear_legacy_reports_an_archive_as_removed_only_once_nothing_of_it_is_left() {
    let fixture = StoreFixture::new();
    let first = fixture.archive("legacy-20260315-000000", 5);
    let second = first.with_file_name("y");
    fs::create_dir_all(second.join("objects")).unwrap();
    for name in ["HEAD", "HERMES_WORKDIR"] {
        fs::copy(first.join(name), second.join(name)).unwrap();
    }
    let legacy = || {
        let disk = fail_calls(Call::RemoveFile, ErrorKind::PermissionDenied, |path| {
            path.ends_with(".removing-legacy-20260315-000000-x/HEAD")
        });
        fixture.manager_on(disk, Config::default()).clear_legacy()
    };
    for attempt in ["first", "second"] {
        let error = legacy().unwrap_err();
        assert_eq!(error.code(), "partly_cleared", "{attempt}");
        assert!(error.to_string().contains("/HEAD"), "{attempt}: {error}");
        assert_eq!(fixture.manager().holdings().unwrap().archives, 1, "{attempt}");
    }
    assert!(!first.exists() && !second.exists());
    let staged = fixture.base().join(".removing-legacy-20260315-000000-x");
    assert_eq!(fs::read_dir(staged).unwrap().count(), 1, "one file cannot be removed");
    assert_eq!(fixture.manager().clear_legacy().unwrap().archives, 1);
    assert_eq!(fixture.names_in_base(), [""; 0]);
}

#[test]
fn clear_removes_a_store_of_a_layer_below_which_cannot_be_renamed() {
    let fixture = full();
    let disk = fail_calls(Call::Rename, ErrorKind::CrossesDevices, |_| true);
    fixture.manager_on(disk, Config::default()).clear().unwrap();
    assert!(!fixture.base().exists());
}

#[test]
fn a_checkpoint_that_waited_for_a_clear_does_not_use_the_removed_store() {
    for _ in 0..5 {
        let fixture = StoreFixture::new();
        fixture.take("one", "one");
        fixture.take("other", "one");
        std::thread::scope(|scope| {
            let taking = scope.spawn(|| {
                fixture.write("other", "two");
                fixture.manager().checkpoint(&fixture.project("other"), "two")
            });
            fixture.manager().clear().unwrap();
            match taking.join().unwrap() {
                // The checkpoint was either cleared or taken after the clear.
                Ok(_) => assert!(["", "two"].contains(&fixture.list("other").join(",").as_str())),
                Err(error) => assert_eq!(error.code(), "io", "{error}"),
            }
        });
        fixture.take("one", "three");
        fixture.assert_newest_is_restored("one");
        fixture.assert_fsck_clean();
    }
}
