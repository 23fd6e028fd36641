//! Projects of more files than a checkpoint may have.

use crate::maintenance::world::{World, before};
use herma_core::{Config, Error};
use herma_harness::subject::Call;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const LIMIT: usize = 5;

/// A project with so many files beside ten folders with one file each.
fn folders_beside(files: usize) -> World {
    let world = World::new();
    let project = world.project("it");
    (0..10).for_each(|number| {
        let folder = project.join(format!("folder-{number}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("file"), "").unwrap();
    });
    (0..files).for_each(|number| fs::write(project.join(number.to_string()), "").unwrap());
    world
}

/// How many folders below the project are looked into until it is refused.
fn looked_into(world: &World) -> usize {
    let (listed, is_folder) =
        (Arc::new(AtomicUsize::new(0)), |path: &Path| path.to_string_lossy().contains("folder-"));
    let count = listed.clone();
    let disk = before(Call::List, is_folder, move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    let manager = world.on(disk, Config { max_files: LIMIT, ..Config::default() });
    let refused = manager.checkpoint(&world.project("it"), "too many").unwrap_err();
    assert!(matches!(refused, Error::TooManyFiles { limit: LIMIT, .. }), "{refused}");
    listed.load(Ordering::Relaxed)
}

#[test]
fn a_walk_ends_with_the_first_file_that_is_one_too_many() {
    assert_eq!(looked_into(&folders_beside(LIMIT + 1)), 0);
    assert_eq!(looked_into(&folders_beside(LIMIT - 2)), 3);
}

#[test]
fn what_cannot_be_read_does_not_end_it() {
    let world = folders_beside(LIMIT + 1);
    let closed = world.project("it").join("0");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o0)).unwrap();
    // To root every file is readable.
    let is_closed = fs::read(&closed).is_err();
    assert_eq!(looked_into(&world), usize::from(is_closed));
}
