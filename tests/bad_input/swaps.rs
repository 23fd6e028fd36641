//! A directory becomes a link to the outside while a checkpoint or a restore runs: at each of its calls to the
//! disk, for one call or permanently. Nothing outside is captured, changed or removed.

use super::machine::{Machine, at_each_call};
use herma_core::RestoreOptions;
use herma_harness::subject::HookedDisk;
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// For how many calls the link exists.
const CALLS: &[usize] = &[1, usize::MAX];
const SECRET: &str = "not of the project\n";
/// The id of the secret, as printed by `git hash-object`.
const SECRET_BLOB: &str = "ffd39ce4394fc579fe16a07194bd7c5bb10639c4";

/// Creates a folder outside the project. Its files have the names of files in the project, or they would not be
/// found through the link.
fn outside(machine: &Machine) -> PathBuf {
    let outside = machine.root().join("outside");
    fs::create_dir_all(outside.join("src/deep")).unwrap();
    for name in
        ["a.txt", "b.txt", "new.txt", "src/a.txt", "src/b.txt", "deep/c.txt", "src/deep/c.txt"]
    {
        let path = outside.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, SECRET).unwrap();
    }
    outside
}

/// Everything below a folder, with permissions and file contents.
fn all_below(folder: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            found.extend(all_below(&path));
        }
        found.insert(
            path.clone(),
            (metadata.permissions().mode(), fs::read(&path).unwrap_or_default()),
        );
    }
    found
}

/// Moves a directory of the project away and puts a link in its place.
fn swap(directory: &Path, outside: &Path) -> io::Result<()> {
    fs::rename(directory, directory.with_extension("away"))?;
    symlink(outside, directory)
}

fn swap_back(directory: &Path) -> io::Result<()> {
    fs::remove_file(directory)?;
    fs::rename(directory.with_extension("away"), directory)
}

impl Machine {
    /// Whether a checkpoint behind the ref of the project holds the outside content. If the project itself is a
    /// link when it is resolved, the outside folder is a project of its own.
    fn has_secret(&self, reference: &str) -> bool {
        let objects = self.git().args(["rev-list", "--objects", reference]).output().unwrap();
        assert!(objects.status.success(), "{objects:?}");
        String::from_utf8(objects.stdout).unwrap().contains(SECRET_BLOB)
    }
}

/// Swaps the directory `name` of the project (the project itself for an empty name) at each call of `work` to a path
/// of the project, since no other call meets the link; returns the number of rounds.
fn swapped_at_each_call(name: &str, change: fn(&Machine), work: fn(&Machine, HookedDisk)) -> usize {
    let mut rounds = 0;
    for length in CALLS {
        rounds += at_each_call(|step| {
            let machine = Machine::new();
            fs::create_dir_all(machine.project().join("src/deep")).unwrap();
            machine.write("src/deep/c.txt", "three\n");
            machine.take();
            let reference = format!("refs/hermes/{}", machine.hash());
            change(&machine);
            let outside = outside(&machine);
            let directory = match name {
                "" => machine.project(),
                name => machine.project().join(name),
            };
            let before = all_below(&outside);
            let number = step.number;
            let end = step.number.saturating_add(*length);
            let swapped = directory.clone();
            let target = outside.clone();
            let project = machine.project();
            let is_of_project = move |path: &Path| path.starts_with(&project);
            let disk = step.counting_disk_among(is_of_project, move |call| {
                // A directory that does not exist at that moment cannot be swapped.
                match call {
                    call if call == number => drop(swap(&swapped, &target)),
                    call if call == end => drop(swap_back(&swapped)),
                    _ => {}
                }
                Ok(())
            });
            work(&machine, disk);
            let number = step.number;
            assert_eq!(all_below(&outside), before, "swapped at call {number} for {length}");
            assert!(
                !machine.has_secret(&reference),
                "captured: swapped at call {number} for {length}"
            );
        });
    }
    rounds
}

fn no_change(_: &Machine) {}

/// Changes, adds and removes files, so that a restore has something to do in each directory.
fn change(machine: &Machine) {
    machine.write("a.txt", "changed\n");
    machine.write("src/b.txt", "changed\n");
    machine.write("src/new.txt", "new\n");
    fs::remove_file(machine.project().join("src/deep/c.txt")).unwrap();
}

fn take(machine: &Machine, disk: HookedDisk) {
    machine.write("src/deep/d.txt", "four\n");
    let _ = machine.manager_on(disk).checkpoint(&machine.project(), "again");
}

fn restore(machine: &Machine, disk: HookedDisk) {
    let options = RestoreOptions { exact: true, force: false };
    let _ = machine.manager_on(disk).restore(&machine.project(), b"1", options);
}

fn restore_file(machine: &Machine, disk: HookedDisk) {
    let _ = machine.manager_on(disk).restore_file(&machine.project(), b"1", b"src/deep/c.txt");
}

// rule: capture/contained
#[test]
fn checkpoint_with_a_swapped_directory_captures_nothing_outside() {
    let rounds = swapped_at_each_call("src", no_change, take);
    assert!(rounds > 30, "{rounds}");
}

#[test]
fn checkpoint_with_a_swapped_project_captures_nothing_outside() {
    swapped_at_each_call("", no_change, take);
}

// rule: restore/contained
#[test]
fn restore_with_a_swapped_directory_changes_nothing_outside() {
    let rounds = swapped_at_each_call("src", change, restore);
    assert!(rounds > 160, "{rounds}");
}

#[test]
fn restore_with_a_swapped_project_changes_nothing_outside() {
    swapped_at_each_call("", change, restore);
}

#[test]
fn restore_file_with_a_swapped_parent_changes_nothing_outside() {
    swapped_at_each_call("src/deep", change, restore_file);
}
