//! Somebody saves a file while a restore runs on a file system that lets no two names change places. What
//! was saved is there afterwards. Of any other, [`crate::every_call`] shows it at each call.

use super::machine::Machine;
use herma_core::RestoreOptions;
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is saved, and what no other file holds.
const SAVED: &str = "saved while it ran\n";

/// A way to save a file.
type Save = (&'static str, fn(&Path) -> io::Result<()>);

const SAVES: &[Save] = &[
    ("in place", |path| fs::write(path, SAVED)),
    ("by a rename", |path| {
        let beside = path.with_file_name("editor.tmp");
        fs::write(&beside, SAVED)?;
        fs::rename(beside, path)
    }),
    ("anew", |path| {
        let _ = fs::remove_file(path);
        fs::write(path, SAVED)
    }),
];

/// What is saved while the drafts of a restore are waited for, on a file system whose renames replace
/// whatever there is.
#[test]
fn a_file_that_is_saved_where_no_two_names_change_places() {
    let removed = |machine: &Machine| fs::remove_file(machine.project().join("a.txt")).unwrap();
    let changed = |machine: &Machine| machine.write("a.txt", "two\n");
    for change in [&changed as &dyn Fn(&Machine), &removed] {
        for (how, save) in SAVES {
            let machine = Machine::new();
            let id = machine.take();
            change(&machine);
            let path = machine.project().join("a.txt");
            let (place, done) = (path.clone(), AtomicBool::new(false));
            let disk = HookedDisk::new(move |call, at| {
                let is_draft = at
                    .file_name()
                    .is_some_and(|name| name.to_string_lossy().starts_with(".herma-restore-"));
                if call == Call::SyncFile && is_draft && !done.swap(true, Ordering::SeqCst) {
                    save(&place)?;
                }
                Ok(())
            });
            let manager = machine.on(disk.without_exchange());
            let restored =
                manager.restore(&machine.project(), id.as_bytes(), RestoreOptions::default());
            assert_eq!(fs::read_to_string(&path).unwrap(), SAVED, "{how}: {restored:?}");
            assert_eq!(restored.unwrap().restored, Vec::<Vec<u8>>::new(), "{how}");
        }
    }
}

/// Without a save such a file system is restored on as well.
#[test]
fn a_project_where_no_two_names_change_places() {
    let machine = Machine::new();
    let id = machine.take();
    machine.write("a.txt", "two\n");
    machine.write("new.txt", "new\n");
    fs::remove_file(machine.project().join("src/b.txt")).unwrap();
    let options = RestoreOptions { exact: true, force: false };
    let disk = HookedDisk::new(|_, _| Ok(())).without_exchange();
    let restored = machine.on(disk).restore(&machine.project(), id.as_bytes(), options).unwrap();
    assert_eq!((restored.restored.len(), restored.removed.len()), (2, 1), "{restored:?}");
    assert_eq!(fs::read_to_string(machine.project().join("a.txt")).unwrap(), "one\n");
}
