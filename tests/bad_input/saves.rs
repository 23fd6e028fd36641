//! A user saves a file while a restore runs on a file system that cannot exchange two names: the saved content
//! is kept. [`crate::every_call`] tests other file systems, at every call.

use super::machine::Machine;
use herma_core::RestoreOptions;
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// The saved content, which no other file holds.
const SAVED: &str = "saved while it ran\n";

/// A way to save a file.
type Save = (&'static str, fn(&Path) -> io::Result<()>);

const SAVES: &[Save] = &[
    ("in place", |path| fs::write(path, SAVED)),
    ("by a rename", |path| {
        let temporary = path.with_file_name("editor.tmp");
        fs::write(&temporary, SAVED)?;
        fs::rename(temporary, path)
    }),
    ("anew", |path| {
        let _ = fs::remove_file(path);
        fs::write(path, SAVED)
    }),
];

/// The file is saved while the restore syncs its drafts, on a file system whose renames always replace.
// rule: restore/keeps-saves
#[test]
fn restore_without_exchange_keeps_a_file_that_is_saved_meanwhile() {
    let removed = |machine: &Machine| fs::remove_file(machine.project().join("a.txt")).unwrap();
    let changed = |machine: &Machine| machine.write("a.txt", "two\n");
    for change in [&changed as &dyn Fn(&Machine), &removed] {
        for (way, save) in SAVES {
            let machine = Machine::new();
            let id = machine.take();
            change(&machine);
            let path = machine.project().join("a.txt");
            let saved_path = path.clone();
            let done = AtomicBool::new(false);
            let disk = HookedDisk::new(move |call, called_path| {
                let is_draft = called_path
                    .file_name()
                    .is_some_and(|name| name.to_string_lossy().starts_with(".herma-restore-"));
                if call == Call::SyncFile && is_draft && !done.swap(true, Ordering::SeqCst) {
                    save(&saved_path)?;
                }
                Ok(())
            });
            let manager = machine.manager_on(disk.without_exchange());
            let restored =
                manager.restore(&machine.project(), id.as_bytes(), RestoreOptions::default());
            assert_eq!(fs::read_to_string(&path).unwrap(), SAVED, "{way}: {restored:?}");
            assert_eq!(restored.unwrap().restored, Vec::<Vec<u8>>::new(), "{way}");
        }
    }
}

/// Without a concurrent save, a restore works on such a file system as well.
#[test]
fn restore_without_exchange_restores_and_removes_files() {
    let machine = Machine::new();
    let id = machine.take();
    machine.write("a.txt", "two\n");
    machine.write("new.txt", "new\n");
    fs::remove_file(machine.project().join("src/b.txt")).unwrap();
    let options = RestoreOptions { exact: true, force: false };
    let disk = HookedDisk::new(|_, _| Ok(())).without_exchange();
    let restored =
        machine.manager_on(disk).restore(&machine.project(), id.as_bytes(), options).unwrap();
    assert_eq!((restored.restored.len(), restored.removed.len()), (2, 1), "{restored:?}");
    assert_eq!(fs::read_to_string(machine.project().join("a.txt")).unwrap(), "one\n");
}
