//! Files that are processed in parts because they are too large for memory: they behave like other files.

use crate::maintenance::world::{StoreFixture, before_call, fail_calls, noise, take_checkpoint};
use herma_core::disk::{Disk, SystemDisk};
use herma_core::{Config, Manager, Outcome, RestoreOptions};
use herma_harness::git_objects::blob_id;
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// More bytes than the core holds in memory for one file.
const BYTES: usize = 17 * 1024 * 1024;

/// A configuration without a file size limit.
fn without_file_size_limit() -> Config {
    Config { max_file_bytes: 0, ..Config::default() }
}

fn manager(fixture: &StoreFixture, disk: impl Disk + 'static) -> Manager {
    fixture.manager_on(disk, without_file_size_limit())
}

/// A project with a large file and a small one.
fn large() -> (StoreFixture, PathBuf, String) {
    let fixture = StoreFixture::new();
    let content = noise(1, BYTES);
    fixture.write("large", &content);
    let project = fixture.project("large");
    fs::write(project.join("small"), "small").unwrap();
    (fixture, project, content)
}

fn object(fixture: &StoreFixture, content: &[u8]) -> PathBuf {
    let id = blob_id(content).to_string();
    fixture.store().join("objects").join(&id[..2]).join(&id[2..])
}

fn leftovers(fixture: &StoreFixture) -> Vec<String> {
    let names = fs::read_dir(fixture.store().join("objects")).unwrap();
    let names = names.map(|name| name.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("tmp_obj")).collect()
}

#[test]
fn a_large_file_is_stored_once_compared_in_full_and_restored() {
    let (fixture, project, content) = large();
    let manager = manager(&fixture, SystemDisk);
    let file = project.join("a.txt");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    take_checkpoint(&manager, &project, "first");
    let stored = fs::metadata(object(&fixture, content.as_bytes())).unwrap();
    let again = manager.checkpoint(&project, "again").unwrap();
    assert!(matches!(again.outcome, Outcome::Unchanged { .. }));
    fs::write(&file, noise(2, BYTES)).unwrap();
    let diff = manager.diff(&project, b"1").unwrap();
    assert_eq!(diff.entries.iter().map(|entry| entry.lines).collect::<Vec<_>>(), [None]);
    assert!(String::from_utf8(diff.patch).unwrap().contains("Binary files a/a.txt and b/a.txt"));
    take_checkpoint(&manager, &project, "second");
    let restored = manager.restore(&project, b"2", RestoreOptions::default()).unwrap();
    assert_eq!((restored.restored, restored.failed), (vec![b"a.txt".to_vec()], vec![]));
    assert!(fs::read_to_string(&file).unwrap() == content);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    fs::remove_file(&file).unwrap();
    manager.restore(&project, b"2", RestoreOptions::default()).unwrap();
    assert!(fs::read_to_string(&file).unwrap() == content);
    let again = fs::metadata(object(&fixture, content.as_bytes())).unwrap();
    assert_eq!(again.modified().unwrap(), stored.modified().unwrap());
    fixture.assert_fsck_clean();
    assert_eq!(leftovers(&fixture), [""; 0]);
}

#[test]
fn checkpoint_captures_one_version_of_a_large_file_that_changes_between_two_reads() {
    let (fixture, project, _) = large();
    let file = project.join("a.txt");
    let reads = Mutex::new(0);
    let changed = file.clone();
    let written = noise(2, BYTES);
    let last = written.clone();
    let is_file = move |path: &Path| *path == *changed;
    // The third read is the one that stores the file.
    let disk = before_call(Call::Read, is_file, move |path| {
        let mut reads = reads.lock().unwrap();
        *reads += 1;
        if *reads == 3 { fs::write(path, &written) } else { Ok(()) }
    });
    take_checkpoint(&manager(&fixture, disk), &project, "first");
    fs::write(&file, "").unwrap();
    manager(&fixture, SystemDisk).restore(&project, b"1", RestoreOptions::default()).unwrap();
    assert!(fs::read_to_string(&file).unwrap() == last);
    assert_eq!(leftovers(&fixture), [""; 0]);
}

#[test]
fn checkpoint_leaves_out_and_names_a_large_file_that_keeps_changing() {
    let (fixture, project, _) = large();
    let file = project.join("a.txt");
    let count = Mutex::new(1_u64);
    let disk = before_call(
        Call::Read,
        move |path| *path == *file,
        move |path| {
            let mut count = count.lock().unwrap();
            *count += 1;
            // The content differs at every second read.
            if count.is_multiple_of(2) { fs::write(path, noise(*count, BYTES)) } else { Ok(()) }
        },
    );
    let taken = manager(&fixture, disk).checkpoint(&project, "first").unwrap();
    let named: Vec<_> = taken.skipped.iter().map(|skipped| skipped.path.as_slice()).collect();
    assert_eq!(named, [b"a.txt"]);
    assert!(matches!(taken.outcome, Outcome::Created { .. }));
    assert_eq!(leftovers(&fixture), [""; 0]);
}

#[test]
fn verify_finds_a_damaged_large_object_and_a_checkpoint_stores_it_again() {
    let (fixture, project, content) = large();
    let manager = manager(&fixture, SystemDisk);
    let file = project.join("a.txt");
    take_checkpoint(&manager, &project, "first");
    let object = object(&fixture, content.as_bytes());
    fs::set_permissions(&object, fs::Permissions::from_mode(0o600)).unwrap();
    let mut bytes = fs::read(&object).unwrap();
    let intact = bytes.clone();
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
    take_checkpoint(&manager, &project, "second");
    assert!(fs::read(&object).unwrap() == intact);
}

#[test]
fn checkpoint_stores_a_large_file_although_git_removes_its_empty_object_folder() {
    let (fixture, project, content) = large();
    let object = object(&fixture, content.as_bytes());
    let once = Mutex::new(true);
    let is_object = |path: &Path| path.to_string_lossy().contains("tmp_obj");
    let folder = object.parent().unwrap().to_owned();
    let disk = before_call(Call::Rename, is_object, move |_| {
        if std::mem::take(&mut *once.lock().unwrap()) { fs::remove_dir(&folder) } else { Ok(()) }
    });
    take_checkpoint(&manager(&fixture, disk), &project, "first");
    assert!(object.is_file());
    assert_eq!(leftovers(&fixture), [""; 0]);
}

#[test]
fn checkpoint_of_a_large_file_on_a_full_disk_fails_and_leaves_nothing() {
    let (fixture, project, _) = large();
    let is_object = |path: &Path| path.to_string_lossy().contains("tmp_obj");
    let disk: HookedDisk = fail_calls(Call::WriteNew, ErrorKind::StorageFull, is_object);
    manager(&fixture, disk).checkpoint(&project, "first").unwrap_err();
    assert_eq!(leftovers(&fixture), [""; 0]);
    take_checkpoint(&manager(&fixture, SystemDisk), &project, "second");
}

#[test]
fn list_keeps_what_it_counted_of_a_large_file_and_counts_small_ones_again() {
    for (bytes, is_kept) in [(1024 * 1024, true), (1024, false)] {
        let fixture = StoreFixture::new();
        let manager = manager(&fixture, SystemDisk);
        let project = fixture.project("it");
        for number in 1..=2 {
            fixture.write("it", &noise(number, bytes));
            take_checkpoint(&manager, &project, "change");
        }
        let listed = manager.list(&project).unwrap();
        assert!(listed[0].stats.is_some_and(|stats| stats.files == 1), "{listed:?}");
        let kept = fs::read_dir(fixture.store().join("figures")).unwrap().count();
        assert_eq!(kept, usize::from(is_kept), "{bytes} bytes");
        assert_eq!(manager.list(&project).unwrap(), listed);
    }
}
