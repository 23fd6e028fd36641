//! A directory becomes a link to somewhere outside while a take or a restore runs: at each of their
//! calls to the disk, for one call, and for good. Nothing outside is captured, changed or
//! removed.

use super::machine::{Machine, at_each_call};
use herma_core::RestoreOptions;
use herma_harness::subject::HookedDisk;
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// For how many calls the link stands there.
const CALLS: &[usize] = &[1, usize::MAX];
const SECRET: &str = "not of the project\n";
/// As `git hash-object` names it.
const SECRET_BLOB: &str = "ffd39ce4394fc579fe16a07194bd7c5bb10639c4";

/// What is outside has the names of what is inside, or it would not be found.
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

/// All that is below a folder: its permissions, and what files hold.
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

/// Where a directory of the project is while a link stands in its place.
fn swap(place: &Path, outside: &Path) -> io::Result<()> {
    fs::rename(place, place.with_extension("away"))?;
    symlink(outside, place)
}

fn swap_back(place: &Path) -> io::Result<()> {
    fs::remove_file(place)?;
    fs::rename(place.with_extension("away"), place)
}

impl Machine {
    /// Whether a checkpoint of the project holds the bytes that stand outside: where the project
    /// itself is a link when it is looked for, what is outside is a project of its own.
    fn has_secret(&self, name: &str) -> bool {
        let objects = self.git().args(["rev-list", "--objects", name]).output().unwrap();
        assert!(objects.status.success(), "{objects:?}");
        String::from_utf8(objects.stdout).unwrap().contains(SECRET_BLOB)
    }
}

/// Swaps the directory `name` of the project, itself for the empty name, at each call of `work`;
/// answers how often.
fn swapped_at_each_call(name: &str, change: fn(&Machine), work: fn(&Machine, HookedDisk)) -> usize {
    let mut rounds = 0;
    for length in CALLS {
        rounds += at_each_call(|step| {
            let machine = Machine::new();
            fs::create_dir_all(machine.project().join("src/deep")).unwrap();
            machine.write("src/deep/c.txt", "three\n");
            machine.take();
            let of_project = format!("refs/hermes/{}", machine.hash());
            change(&machine);
            let outside = outside(&machine);
            let place = match name {
                "" => machine.project(),
                name => machine.project().join(name),
            };
            let before = all_below(&outside);
            let (number, end) = (step.number, step.number.saturating_add(*length));
            let (at, to) = (place.clone(), outside.clone());
            let disk = step.counting_disk(move |call| {
                // What is not there at that moment cannot become a link.
                match call {
                    call if call == number => drop(swap(&at, &to)),
                    call if call == end => drop(swap_back(&at)),
                    _ => {}
                }
                Ok(())
            });
            work(&machine, disk);
            let number = step.number;
            assert_eq!(all_below(&outside), before, "swapped at call {number} for {length}");
            assert!(
                !machine.has_secret(&of_project),
                "captured: swapped at call {number} for {length}"
            );
        });
    }
    rounds
}

fn nothing(_: &Machine) {}

/// Something to bring back, something to replace and something to remove, in each directory.
fn changed(machine: &Machine) {
    machine.write("a.txt", "changed\n");
    machine.write("src/b.txt", "changed\n");
    machine.write("src/new.txt", "new\n");
    fs::remove_file(machine.project().join("src/deep/c.txt")).unwrap();
}

fn taken(machine: &Machine, disk: HookedDisk) {
    machine.write("src/deep/d.txt", "four\n");
    let _ = machine.on(disk).checkpoint(&machine.project(), "again");
}

fn restored(machine: &Machine, disk: HookedDisk) {
    let options = RestoreOptions { exact: true, force: false };
    let _ = machine.on(disk).restore(&machine.project(), b"1", options);
}

fn restored_one(machine: &Machine, disk: HookedDisk) {
    let _ = machine.on(disk).restore_file(&machine.project(), b"1", b"src/deep/c.txt");
}

#[test]
fn a_directory_of_a_project_that_is_taken() {
    assert!(swapped_at_each_call("src", nothing, taken) > 200);
}

#[test]
fn a_project_that_is_taken() {
    swapped_at_each_call("", nothing, taken);
}

#[test]
fn a_directory_of_a_project_that_is_restored() {
    assert!(swapped_at_each_call("src", changed, restored) > 300);
}

#[test]
fn a_project_that_is_restored() {
    swapped_at_each_call("", changed, restored);
}

#[test]
fn a_directory_above_a_file_that_is_restored() {
    swapped_at_each_call("src/deep", changed, restored_one);
}
