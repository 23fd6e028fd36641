//! Somebody saves a file while a restore runs: at each of its calls to the disk, in each way in which
//! editors save. What was saved is there afterwards, or a checkpoint holds it.

use super::machine::{Machine, at_each_call};
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

impl Machine {
    /// Whether what was saved is anywhere: in the file, or in a checkpoint.
    fn has_saved(&self, path: &Path) -> bool {
        let stored = || {
            let objects = self.git().args(["rev-list", "--objects", "--all"]).output().unwrap();
            let name = path.file_name().unwrap().to_str().unwrap();
            let text = String::from_utf8(objects.stdout).unwrap();
            let of_file = text.lines().filter_map(|line| line.strip_suffix(name));
            let blobs: Vec<String> = of_file.map(|id| id.trim().to_owned()).collect();
            blobs.iter().any(|id| {
                let blob = self.git().args(["cat-file", "blob", id]).output().unwrap();
                blob.stdout == SAVED.as_bytes()
            })
        };
        fs::read_to_string(path).is_ok_and(|text| text == SAVED) || stored()
    }
}

/// Saves `name` at each call of a restore of a project that was changed so, in each way; answers
/// how often.
fn saved_at_each_call(name: &str, exact: bool, change: fn(&Machine)) -> usize {
    let mut rounds = 0;
    for (how, save) in SAVES {
        rounds += at_each_call(|step| {
            let machine = Machine::new();
            let id = machine.take();
            change(&machine);
            let path = machine.project().join(name);
            let place = path.clone();
            let disk = step.disk(move || save(&place));
            let options = RestoreOptions { exact, force: false };
            let restored = machine.on(disk).restore(&machine.project(), id.as_bytes(), options);
            let came = restored
                .as_ref()
                .is_ok_and(|restored| restored.restored.iter().any(|one| one == name.as_bytes()));
            let number = step.number;
            assert!(
                !step.came() || machine.has_saved(&path),
                "{how}, at call {number}: lost, {restored:?}"
            );
            if came && step.came() {
                let text = fs::read_to_string(&path).unwrap();
                assert!(text == "one\n" || text == SAVED, "{how}: {text:?}");
            }
            let left = fs::read_dir(machine.project()).unwrap();
            let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let odd: Vec<String> = left.filter(|name| name.starts_with(".herma")).collect();
            assert_eq!(odd, Vec::<String>::new(), "{how}, at call {number}");
        });
    }
    rounds
}

#[test]
fn a_file_that_is_replaced() {
    let rounds = saved_at_each_call("a.txt", false, |machine| machine.write("a.txt", "two\n"));
    assert!(rounds > 100, "{rounds}");
}

#[test]
fn a_file_that_comes_back() {
    saved_at_each_call("a.txt", false, |machine| {
        fs::remove_file(machine.project().join("a.txt")).unwrap();
    });
}

#[test]
fn a_file_that_is_removed() {
    saved_at_each_call("new.txt", true, |machine| machine.write("new.txt", "new\n"));
}

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
