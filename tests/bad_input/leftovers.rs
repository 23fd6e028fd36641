//! What a restore that died left beside its places: no checkpoint holds it as the user's, no diff
//! shows it, and the next restore removes it. What is stored nowhere stays.

use super::machine::{Machine, at_each_call};
use herma_core::RestoreOptions;
use herma_harness::subject::HookedDisk;
use pretty_assertions::assert_eq;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const EXACTLY: RestoreOptions = RestoreOptions { exact: true, force: false };

impl Machine {
    /// What in the project has the name of a temporary file.
    fn left(&self) -> Vec<PathBuf> {
        let folders = [self.project(), self.project().join("src")];
        let entries = folders.into_iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
        entries.map(|entry| entry.unwrap().path()).filter(|path| is_temporary(path)).collect()
    }
}

fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_bytes().starts_with(b".herma-restore-"))
}

#[test]
fn a_restore_that_died_at_any_call_leaves_nothing_for_good() {
    let mut seen = 0;
    at_each_call(|step| {
        let machine = Machine::new();
        let first = machine.take();
        machine.write("a.txt", "changed\n");
        machine.write("src/new.txt", "new\n");
        fs::remove_file(machine.project().join("src/b.txt")).unwrap();
        let number = step.number;
        let dies = step.counting_disk(move |call| match call < number {
            true => Ok(()),
            false => Err(io::ErrorKind::StorageFull.into()),
        });
        let _ = machine.on(dies).restore(&machine.project(), first.as_bytes(), EXACTLY);
        let left = machine.left();
        seen += left.len();
        machine.manager().checkpoint(&machine.project(), "again").unwrap();
        let held =
            machine.git().args(["log", "--all", "--name-only", "--format="]).output().unwrap();
        let held = String::from_utf8(held.stdout).unwrap();
        assert!(!held.contains(".herma"), "call {number}: {held}");
        let diff = machine.manager().diff(&machine.project(), b"1").unwrap();
        assert_eq!(diff.entries.len(), 0, "call {number}: {diff:?}");
        machine.manager().restore(&machine.project(), first.as_bytes(), EXACTLY).unwrap();
        assert_eq!(machine.left(), Vec::<PathBuf>::new(), "call {number}");
    });
    assert!(seen > 5, "only {seen} stayed");
}

#[test]
fn what_one_failing_call_leaves_is_named_and_the_next_restore_removes_it() {
    let mut seen = 0;
    at_each_call(|step| {
        let machine = Machine::new();
        let first = machine.take();
        machine.write("a.txt", "changed\n");
        let fails = step.failing_among(is_temporary, io::ErrorKind::StorageFull);
        let project = machine.project();
        let restored = machine.on(fails).restore_file(&project, first.as_bytes(), b"a.txt");
        let (left, number) = (machine.left(), step.number);
        for path in &left {
            seen += 1;
            let name = path.strip_prefix(&project).unwrap().as_os_str().as_bytes();
            let failed = &restored.as_ref().unwrap().failed;
            assert!(failed.iter().any(|one| one.path == name), "{number}: {restored:?}");
        }
        machine.manager().restore(&project, first.as_bytes(), EXACTLY).unwrap();
        assert_eq!(machine.left(), Vec::<PathBuf>::new(), "call {number}");
    });
    assert!(seen > 0, "nothing stayed at any call");
}

#[test]
fn a_draft_that_was_cut_short_is_nobodys_content() {
    let machine = Machine::new();
    let first = machine.take();
    machine.write("a.txt", "changed\n");
    // What a process leaves that is killed while it writes, and its note.
    let part = machine.project().join(format!(".herma-restore-{}-0-0", machine.hash()));
    fs::write(&part, "on").unwrap();
    let notes = machine.base().join("store/restoring");
    fs::create_dir_all(&notes).unwrap();
    fs::write(notes.join(machine.hash()), "").unwrap();
    let diff = machine.manager().diff(&machine.project(), first.as_bytes()).unwrap();
    assert_eq!(diff.entries.len(), 1, "{diff:?}");
    let restored = machine.restore_on(HookedDisk::of_an_ordinary_user());
    assert!(restored.left.is_empty(), "{restored:?}");
    assert!(!part.exists());
}

#[test]
fn what_a_restore_of_the_project_around_left_is_no_content_of_one_in_it() {
    let machine = Machine::new();
    let inner = machine.project().join("src");
    machine.take();
    let part = inner.join(format!(".herma-restore-{}-0-0", machine.hash()));
    fs::write(&part, "tw").unwrap();
    let notes = machine.base().join("store/restoring");
    fs::create_dir_all(&notes).unwrap();
    fs::write(notes.join(machine.hash()), "").unwrap();
    machine.manager().checkpoint(&inner, "inner").unwrap();
    let held = machine.git().args(["log", "--all", "--name-only", "--format="]).output().unwrap();
    let held = String::from_utf8(held.stdout).unwrap();
    assert!(!held.contains(".herma"), "{held}");
    machine.manager().restore(&inner, b"1", EXACTLY).unwrap();
    assert!(part.exists(), "it is for the restore of its own project");
}

#[test]
fn what_a_draft_changed_places_with_is_named_and_never_removed_where_nothing_holds_it() {
    let machine = Machine::new();
    machine.take();
    let name = format!(".herma-restore-{}-0", machine.hash());
    machine.write(&name, "the only copy\n");
    machine.write("a.txt", "changed\n");
    let notes = machine.base().join("store/restoring");
    fs::create_dir_all(&notes).unwrap();
    fs::write(notes.join(machine.hash()), "").unwrap();
    let taken = machine.manager().checkpoint(&machine.project(), "again").unwrap();
    assert!(taken.skipped.iter().any(|one| one.path == name.as_bytes()), "{taken:?}");
    machine.manager().restore(&machine.project(), b"2", EXACTLY).unwrap();
    assert_eq!(fs::read_to_string(machine.project().join(&name)).unwrap(), "the only copy\n");
}
