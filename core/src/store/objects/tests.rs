//! Tests of storing objects.

use super::*;
use crate::disk::SystemDisk;
use crate::disk::folder;
use std::fs;
use std::sync::atomic::Ordering;

#[test]
fn add_stores_an_object_although_folders_are_at_its_path_and_at_that_of_its_pack() {
    let folder = tempfile::tempdir().unwrap();
    let packs = folder.path().join("pack");
    fs::create_dir(&packs).unwrap();
    let id = id_of(Kind::Blob, b"one");
    fs::create_dir_all(loose::path_of(folder.path(), id)).unwrap();
    for stored in 1..=2 {
        let mut objects = Objects::new(&SystemDisk, folder.path().to_owned());
        objects.add(Kind::Blob, b"one").unwrap();
        objects.flush().unwrap();
        let names = folder::text_names(&SystemDisk, &packs).unwrap();
        let indexes: Vec<_> = names.iter().filter(|name| name.ends_with(".idx")).collect();
        assert_eq!(indexes.len(), stored);
        let objects = Objects::new(&SystemDisk, folder.path().to_owned());
        assert_eq!(objects.read(Kind::Blob, id).unwrap(), b"one");
        let pack = packs.join(indexes[0]).with_extension("pack");
        let _ = fs::remove_file(&pack);
        let _ = fs::create_dir(&pack);
    }
}

#[test]
fn add_flushes_as_soon_as_pending_objects_take_too_much_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut objects = Objects::new(&SystemDisk, folder.path().to_owned());
    objects.add(Kind::Blob, &vec![0; PENDING_BYTES_MAX]).unwrap();
    assert_eq!(objects.written(), 0);
    objects.add(Kind::Blob, b"x").unwrap();
    assert!(objects.written() > 0);
}

#[test]
fn flush_stores_loose_objects_while_another_process_removes_empty_folders() {
    let folder = tempfile::tempdir().unwrap();
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !has_ended.load(Ordering::Relaxed) {
                for byte in 0..=u8::MAX {
                    let _ = fs::remove_dir(folder.path().join(format!("{byte:02x}")));
                }
            }
        });
        let mut objects = Objects::new(&SystemDisk, folder.path().to_owned());
        let stored = (0..20).try_for_each(|number| {
            objects.add(Kind::Blob, format!("{number}").as_bytes())?;
            objects.flush()
        });
        has_ended.store(true, Ordering::Relaxed);
        stored.unwrap();
    });
}

#[test]
fn written_is_the_size_of_the_new_files_on_disk() {
    for count in [1, PACK_OBJECTS_MIN - 1, PACK_OBJECTS_MIN] {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("pack")).unwrap();
        let mut objects = Objects::new(&SystemDisk, folder.path().to_owned());
        for number in 0..count {
            objects.add(Kind::Blob, format!("{number}").as_bytes()).unwrap();
        }
        assert_eq!(objects.written(), 0);
        objects.flush().unwrap();
        let once = folder::bytes(&SystemDisk, folder.path()).unwrap();
        assert_eq!(objects.written(), once, "{count}");
        let packs = fs::read_dir(folder.path().join("pack")).unwrap().count();
        assert_eq!(packs, if count < PACK_OBJECTS_MIN { 0 } else { 2 });
        (0..count).for_each(|number| {
            objects.add(Kind::Blob, format!("another {number}").as_bytes()).unwrap();
        });
        objects.flush().unwrap();
        let twice = folder::bytes(&SystemDisk, folder.path()).unwrap();
        assert_eq!(objects.written(), twice, "{count}");
    }
}
