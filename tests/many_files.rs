//! Projects with more files than `max_files` allows.

use crate::maintenance::world::{StoreFixture, before_call};
use herma_core::{Config, Error};
use herma_harness::subject::Call;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const LIMIT: usize = 5;

/// A project with that many files next to ten folders with one file each.
fn with_ten_folders(files: usize) -> StoreFixture {
    let fixture = StoreFixture::new();
    let project = fixture.project("it");
    (0..10).for_each(|number| {
        let folder = project.join(format!("folder-{number}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("file"), "").unwrap();
    });
    (0..files).for_each(|number| fs::write(project.join(number.to_string()), "").unwrap());
    fixture
}

/// The number of folders that a checkpoint lists before it is refused.
fn listed_folders(fixture: &StoreFixture) -> usize {
    let listed = Arc::new(AtomicUsize::new(0));
    let is_folder = |path: &Path| path.to_string_lossy().contains("folder-");
    let count = listed.clone();
    let disk = before_call(Call::List, is_folder, move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    let manager = fixture.manager_on(disk, Config { max_files: LIMIT, ..Config::default() });
    let refused = manager.checkpoint(&fixture.project("it"), "too many").unwrap_err();
    assert!(matches!(refused, Error::TooManyFiles { limit: LIMIT, .. }), "{refused}");
    listed.load(Ordering::Relaxed)
}

#[test]
fn checkpoint_stops_listing_at_the_first_file_above_max_files() {
    assert_eq!(listed_folders(&with_ten_folders(LIMIT + 1)), 0);
    assert_eq!(listed_folders(&with_ten_folders(LIMIT - 2)), 3);
}

#[test]
fn an_unreadable_file_does_not_count_towards_max_files() {
    let fixture = with_ten_folders(LIMIT + 1);
    let closed = fixture.project("it").join("0");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o0)).unwrap();
    // Root can read every file.
    let is_closed = fs::read(&closed).is_err();
    assert_eq!(listed_folders(&fixture), usize::from(is_closed));
}
