//! Files that are too large to be in memory as a whole: what holds of others holds of them.

use crate::maintenance::world::{World, before, created, failing, noise};
use herma_core::disk::{Disk, SystemDisk};
use herma_core::{Config, Manager, Outcome, RestoreOptions};
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// More than is in memory of a file.
const BYTES: usize = 17 * 1024 * 1024;

/// No file is too large for these.
fn boundless() -> Config {
    Config { max_file_bytes: 0, ..Config::default() }
}

fn manager(world: &World, disk: impl Disk + 'static) -> Manager {
    world.on(disk, boundless())
}

/// A project with a large file and a small one.
fn large() -> (World, PathBuf, String) {
    let (world, content) = (World::new(), noise(1, BYTES));
    world.write("large", &content);
    let project = world.project("large");
    fs::write(project.join("small"), "small").unwrap();
    (world, project, content)
}

fn object(world: &World, content: &[u8]) -> PathBuf {
    let id = git2::Oid::hash_object(git2::ObjectType::Blob, content).unwrap().to_string();
    world.store().join("objects").join(&id[..2]).join(&id[2..])
}

fn leftovers(world: &World) -> Vec<String> {
    let names = fs::read_dir(world.store().join("objects")).unwrap();
    let names = names.map(|name| name.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("tmp_obj")).collect()
}

#[test]
fn a_large_file_is_stored_once_compared_as_a_whole_and_comes_back() {
    let (world, project, content) = large();
    let (manager, file) = (manager(&world, SystemDisk), project.join("a.txt"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    created(&manager, &project, "first");
    let stored = fs::metadata(object(&world, content.as_bytes())).unwrap();
    assert_eq!(manager.checkpoint(&project, "again").unwrap().outcome, Outcome::Unchanged);
    fs::write(&file, noise(2, BYTES)).unwrap();
    let diff = manager.diff(&project, b"1").unwrap();
    assert_eq!(diff.entries.iter().map(|one| one.lines).collect::<Vec<_>>(), [None]);
    assert!(String::from_utf8(diff.patch).unwrap().contains("Binary files a/a.txt and b/a.txt"));
    created(&manager, &project, "second");
    let restored = manager.restore(&project, b"2", RestoreOptions::default()).unwrap();
    assert_eq!((restored.restored, restored.failed), (vec![b"a.txt".to_vec()], vec![]));
    assert!(fs::read_to_string(&file).unwrap() == content);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    fs::remove_file(&file).unwrap();
    manager.restore(&project, b"2", RestoreOptions::default()).unwrap();
    assert!(fs::read_to_string(&file).unwrap() == content);
    let again = fs::metadata(object(&world, content.as_bytes())).unwrap();
    assert_eq!(again.modified().unwrap(), stored.modified().unwrap());
    world.git_finds_nothing_broken();
    assert_eq!(leftovers(&world), [""; 0]);
}

#[test]
fn a_large_file_that_changes_between_two_looks_is_captured_as_one_of_its_versions() {
    let (world, project, _) = large();
    let (file, looks) = (project.join("a.txt"), Mutex::new(0));
    let (seen, written) = (file.clone(), noise(2, BYTES));
    let last = written.clone();
    let is_file = move |path: &Path| *path == *seen;
    // Before it is read for the third time: to be stored.
    let disk = before(Call::Read, is_file, move |path| {
        let mut looks = looks.lock().unwrap();
        *looks += 1;
        if *looks == 3 { fs::write(path, &written) } else { Ok(()) }
    });
    created(&manager(&world, disk), &project, "first");
    fs::write(&file, "").unwrap();
    manager(&world, SystemDisk).restore(&project, b"1", RestoreOptions::default()).unwrap();
    assert!(fs::read_to_string(&file).unwrap() == last);
    assert_eq!(leftovers(&world), [""; 0]);
}

#[test]
fn a_large_file_that_keeps_changing_is_left_out_and_named() {
    let (world, project, _) = large();
    let (file, count) = (project.join("a.txt"), Mutex::new(1));
    let disk = before(
        Call::Read,
        move |path| *path == *file,
        move |path| {
            let mut count = count.lock().unwrap();
            *count += 1;
            // Every second look meets another file than the one before.
            if *count % 2 == 0 { fs::write(path, noise(*count, BYTES)) } else { Ok(()) }
        },
    );
    let taken = manager(&world, disk).checkpoint(&project, "first").unwrap();
    let named: Vec<_> = taken.skipped.iter().map(|one| one.path.as_slice()).collect();
    assert_eq!(named, [b"a.txt"]);
    assert!(matches!(taken.outcome, Outcome::Created { .. }));
    assert_eq!(leftovers(&world), [""; 0]);
}

#[test]
fn a_large_object_that_is_damaged_is_found_and_stored_again() {
    let (world, project, content) = large();
    let (manager, file) = (manager(&world, SystemDisk), project.join("a.txt"));
    created(&manager, &project, "first");
    let object = object(&world, content.as_bytes());
    fs::set_permissions(&object, fs::Permissions::from_mode(0o600)).unwrap();
    let mut bytes = fs::read(&object).unwrap();
    let whole = bytes.clone();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    fs::write(&object, &bytes).unwrap();
    fs::write(&file, "mine").unwrap();
    let verified = manager.verify(&mut |_, _| {}).unwrap();
    assert!(!verified.damaged.is_empty());
    let restored = manager.restore(&project, b"1", RestoreOptions::default()).unwrap();
    assert_eq!(restored.failed.len(), 1);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    fs::write(&file, &content).unwrap();
    created(&manager, &project, "second");
    assert!(fs::read(&object).unwrap() == whole);
}

#[test]
fn a_large_file_is_stored_although_git_removes_the_empty_folder_that_it_was_to_be_put_in() {
    let (world, project, content) = large();
    let (object, once) = (object(&world, content.as_bytes()), Mutex::new(true));
    let is_object = |path: &Path| path.to_string_lossy().contains("tmp_obj");
    let folder = object.parent().unwrap().to_owned();
    let disk = before(Call::Rename, is_object, move |_| {
        if std::mem::take(&mut *once.lock().unwrap()) { fs::remove_dir(&folder) } else { Ok(()) }
    });
    created(&manager(&world, disk), &project, "first");
    assert!(object.is_file());
    assert_eq!(leftovers(&world), [""; 0]);
}

#[test]
fn a_disk_that_gets_full_under_a_large_file_costs_the_checkpoint_and_leaves_nothing() {
    let (world, project, _) = large();
    let is_object = |path: &Path| path.to_string_lossy().contains("tmp_obj");
    let disk: HookedDisk = failing(Call::WriteNew, ErrorKind::StorageFull, is_object);
    manager(&world, disk).checkpoint(&project, "first").unwrap_err();
    assert_eq!(leftovers(&world), [""; 0]);
    created(&manager(&world, SystemDisk), &project, "second");
}
