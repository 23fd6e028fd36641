//! Verified objects: an object counts as intact only in the file in which it was verified, and only while that
//! file is untouched. An object that is damaged later is stored again by the next checkpoint.

use crate::maintenance::world::{StoreFixture, before_call, replace_file, take_checkpoint};
use herma_core::{Config, Outcome};
use herma_harness::subject::{Call, HookedDisk};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

/// Longer than a tick of the file system's clock; changes within one tick are always checked again.
const TICK: Duration = Duration::from_millis(30);

fn truncate(path: &Path) {
    let bytes = fs::read(path).unwrap();
    replace_file(path, &bytes[..5]);
}

/// Takes a checkpoint of the unchanged project.
#[track_caller]
fn take_again(fixture: &StoreFixture) {
    let taken = fixture.manager().checkpoint(&fixture.project("project"), "again").unwrap();
    assert!(matches!(taken.outcome, Outcome::Unchanged { .. }));
}

/// A disk on which `action` runs once, before the first write of a file whose name matches.
fn before_first_write(
    matches: fn(&str) -> bool,
    action: impl Fn() + Send + Sync + 'static,
) -> HookedDisk {
    let is_pending = AtomicBool::new(true);
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    before_call(
        Call::WriteNew,
        move |path| matches(&name(path)),
        move |_| {
            if is_pending.swap(false, Ordering::SeqCst) {
                sleep(TICK);
                action();
                sleep(TICK);
            }
            Ok(())
        },
    )
}

#[test]
fn a_checkpoint_does_not_trust_a_damaged_pack_after_the_intact_copy_is_removed() {
    let fixture = StoreFixture::new();
    (0..70).for_each(|number| fixture.write_file(&format!("{number}"), &format!("{number} text")));
    let first = fixture.take("project", "one");
    let pack = fixture.packs().remove(0);
    let id = fixture.blob_id(&first, "5");
    fixture.corrupt_packed_object(&pack, &id);
    sleep(TICK);
    fixture.take("project", "two");
    assert!(fixture.loose_object(&id).exists(), "it was stored again");
    sleep(TICK);
    fixture.take("project", "three");
    // As `git gc` does, since a pack lists the object.
    fixture.git(&["prune-packed"]);
    assert!(!fixture.loose_object(&id).exists());
    take_again(&fixture);
    fixture.assert_nothing_is_lost();
}

#[test]
fn an_index_with_a_future_time_hides_no_damage() {
    let fixture = StoreFixture::new();
    let first = fixture.take("project", "one");
    sleep(TICK);
    take_again(&fixture);
    let index = fixture.store().join("indexes").join(fixture.hash("project"));
    let later = SystemTime::now() + Duration::from_secs(3600);
    fs::File::options().write(true).open(index).unwrap().set_modified(later).unwrap();
    sleep(TICK);
    truncate(&fixture.loose_object(&fixture.blob_id(&first, "a.txt")));
    take_again(&fixture);
    fixture.assert_nothing_is_lost();
}

#[test]
fn the_next_checkpoint_stores_an_object_again_that_was_damaged_after_its_check() {
    let fixture = StoreFixture::new();
    fixture.write_file("kept", "kept");
    let first = fixture.take("project", "one");
    sleep(TICK);
    let kept = fixture.loose_object(&fixture.blob_id(&first, "kept"));
    let is_object: fn(&str) -> bool = |name| name.starts_with("tmp_obj_");
    let disk = before_first_write(is_object, move || truncate(&kept));
    fixture.write("project", "two");
    take_checkpoint(
        &fixture.manager_on(disk, Config::default()),
        &fixture.project("project"),
        "two",
    );
    sleep(TICK);
    take_again(&fixture);
    fixture.assert_nothing_is_lost();
}

#[test]
fn the_next_checkpoint_stores_an_object_again_that_was_damaged_after_its_write() {
    let fixture = StoreFixture::new();
    fixture.take("project", "one");
    sleep(TICK);
    fixture.write("project", "two");
    let file = fixture.project("project").join("a.txt");
    let new = fixture.loose_object(&fixture.git(&["hash-object", file.to_str().unwrap()]));
    let is_index: fn(&str) -> bool = |name| name.starts_with("index-");
    let disk = before_first_write(is_index, move || truncate(&new));
    take_checkpoint(
        &fixture.manager_on(disk, Config::default()),
        &fixture.project("project"),
        "two",
    );
    sleep(TICK);
    take_again(&fixture);
    fixture.assert_nothing_is_lost();
}

#[test]
fn an_unchanged_checkpoint_reads_no_object_of_a_file_again() {
    for files in [30, 300] {
        let fixture = StoreFixture::new();
        for number in 0..files {
            fixture.write_file(&format!("{number}"), &format!("{number} text"));
        }
        fixture.take("project", "one");
        sleep(TICK);
        // Objects stored in the same tick as the index are checked once more.
        take_again(&fixture);
        let reads = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&reads);
        let objects = fixture.store().join("objects");
        let is_object = move |path: &Path| path.starts_with(&objects);
        let disk = before_call(Call::Read, is_object, move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        let manager = fixture.manager_on(disk, Config::default());
        let taken = manager.checkpoint(&fixture.project("project"), "again").unwrap();
        assert!(matches!(taken.outcome, Outcome::Unchanged { .. }));
        let reads = reads.load(Ordering::Relaxed);
        assert!(reads < 10, "{files} files, {reads} times something was read");
    }
}
