//! Leftover temporary files of a killed restore: no checkpoint captures them, no diff shows them, and the next
//! restore removes them, except a file that holds the only copy of its content.

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
    /// The paths in the project with the name of a temporary file.
    fn temporary_files(&self) -> Vec<PathBuf> {
        let folders = [self.project(), self.project().join("src")];
        let entries = folders.into_iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
        entries.map(|entry| entry.unwrap().path()).filter(|path| is_temporary(path)).collect()
    }
}

fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_bytes().starts_with(b".herma-restore-"))
}

#[test]
fn a_restore_killed_at_any_call_leaves_no_permanent_temporary_file() {
    let mut count = 0;
    at_each_call(|step| {
        let machine = Machine::new();
        let first = machine.take();
        machine.write("a.txt", "changed\n");
        machine.write("src/new.txt", "new\n");
        fs::remove_file(machine.project().join("src/b.txt")).unwrap();
        let number = step.number;
        let dead_disk = step.counting_disk(move |call| match call < number {
            true => Ok(()),
            false => Err(io::ErrorKind::StorageFull.into()),
        });
        let _ =
            machine.manager_on(dead_disk).restore(&machine.project(), first.as_bytes(), EXACTLY);
        let left = machine.temporary_files();
        count += left.len();
        machine.manager().checkpoint(&machine.project(), "again").unwrap();
        let held =
            machine.git().args(["log", "--all", "--name-only", "--format="]).output().unwrap();
        let held = String::from_utf8(held.stdout).unwrap();
        assert!(!held.contains(".herma"), "call {number}: {held}");
        let newest = machine.manager().list(&machine.project()).unwrap().remove(0).id;
        let diff = machine.manager().diff(&machine.project(), newest.as_bytes()).unwrap();
        assert_eq!(diff.entries.len(), 0, "call {number}: {diff:?}");
        machine.manager().restore(&machine.project(), first.as_bytes(), EXACTLY).unwrap();
        assert_eq!(machine.temporary_files(), Vec::<PathBuf>::new(), "call {number}");
    });
    assert!(count > 5, "only {count} stayed");
}

#[test]
fn a_restore_names_its_leftovers_after_one_failing_call_and_the_next_removes_them() {
    let mut count = 0;
    at_each_call(|step| {
        let machine = Machine::new();
        let first = machine.take();
        machine.write("a.txt", "changed\n");
        let failing_disk = step.failing_disk_among(is_temporary, io::ErrorKind::StorageFull);
        let project = machine.project();
        let restored =
            machine.manager_on(failing_disk).restore_file(&project, first.as_bytes(), b"a.txt");
        let left = machine.temporary_files();
        let number = step.number;
        for path in &left {
            count += 1;
            let name = path.strip_prefix(&project).unwrap().as_os_str().as_bytes();
            let failed = &restored.as_ref().unwrap().failed;
            assert!(failed.iter().any(|failed| failed.path == name), "{number}: {restored:?}");
        }
        machine.manager().restore(&project, first.as_bytes(), EXACTLY).unwrap();
        assert_eq!(machine.temporary_files(), Vec::<PathBuf>::new(), "call {number}");
    });
    assert!(count > 0, "nothing stayed at any call");
}

#[test]
fn a_truncated_draft_is_never_content_and_the_next_restore_removes_it() {
    let machine = Machine::new();
    let first = machine.take();
    machine.write("a.txt", "changed\n");
    // The draft of a process that was killed while writing, and its record.
    let draft = machine.project().join(format!(".herma-restore-{}-0-0", machine.hash()));
    fs::write(&draft, "on").unwrap();
    let records = machine.base().join("store/restoring");
    fs::create_dir_all(&records).unwrap();
    fs::write(records.join(machine.hash()), "").unwrap();
    let diff = machine.manager().diff(&machine.project(), first.as_bytes()).unwrap();
    assert_eq!(diff.entries.len(), 1, "{diff:?}");
    let restored = machine.restore_on(HookedDisk::of_an_ordinary_user());
    assert!(restored.left.is_empty(), "{restored:?}");
    assert!(!draft.exists());
}

#[test]
fn a_draft_of_the_outer_project_is_not_content_of_an_inner_project() {
    let machine = Machine::new();
    let inner = machine.project().join("src");
    machine.take();
    let draft = inner.join(format!(".herma-restore-{}-0-0", machine.hash()));
    fs::write(&draft, "tw").unwrap();
    let records = machine.base().join("store/restoring");
    fs::create_dir_all(&records).unwrap();
    fs::write(records.join(machine.hash()), "").unwrap();
    machine.manager().checkpoint(&inner, "inner").unwrap();
    let held = machine.git().args(["log", "--all", "--name-only", "--format="]).output().unwrap();
    let held = String::from_utf8(held.stdout).unwrap();
    assert!(!held.contains(".herma"), "{held}");
    machine.manager().restore(&inner, b"1", EXACTLY).unwrap();
    assert!(draft.exists(), "it is for the restore of its own project");
}

#[test]
fn an_exchanged_file_that_is_stored_nowhere_is_named_and_never_removed() {
    let machine = Machine::new();
    machine.take();
    let name = format!(".herma-restore-{}-0", machine.hash());
    machine.write(&name, "the only copy\n");
    machine.write("a.txt", "changed\n");
    let records = machine.base().join("store/restoring");
    fs::create_dir_all(&records).unwrap();
    fs::write(records.join(machine.hash()), "").unwrap();
    let taken = machine.manager().checkpoint(&machine.project(), "again").unwrap();
    assert!(taken.skipped.iter().any(|skipped| skipped.path == name.as_bytes()), "{taken:?}");
    machine.manager().restore(&machine.project(), b"2", EXACTLY).unwrap();
    assert_eq!(fs::read_to_string(machine.project().join(&name)).unwrap(), "the only copy\n");
}
