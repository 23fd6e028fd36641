//! Many files are read and written by several threads; what comes of it is the same as with one.

use super::machine::Machine;
use herma_core::{RestoreOptions, Restored};
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Enough for several groups of files.
const FILES: usize = 700;

fn disk(hook: impl Fn(Call, &Path) -> io::Result<()> + Send + Sync + 'static) -> HookedDisk {
    HookedDisk::new(hook).for_many_threads()
}

fn name(number: usize) -> String {
    format!("folder-{}/file-{number:04}", number % 11)
}

/// A project of many files, of which every third has the content of another one.
fn machine() -> Machine {
    let machine = Machine::new();
    for number in 0..FILES {
        let path = machine.project().join(name(number));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("content {}", number / 3)).unwrap();
    }
    machine
}

/// Changes most files, removes a folder, and puts files and folders in the way of others.
fn change(machine: &Machine) {
    let project = machine.project();
    (0..FILES).for_each(|number| machine.write(&name(number), &format!("changed {number}")));
    for folder in ["folder-3", "folder-4"] {
        fs::remove_dir_all(project.join(folder)).unwrap();
    }
    machine.write("folder-4", "in the way");
    for number in [5, 6] {
        fs::remove_file(project.join(name(number))).unwrap();
        fs::create_dir(project.join(name(number))).unwrap();
    }
    machine.write(&format!("{}/in-the-way", name(5)), "");
    let linked = project.join(name(7));
    fs::remove_file(&linked).unwrap();
    std::os::unix::fs::symlink("nowhere", linked).unwrap();
}

/// The content of all files of the project.
fn files(machine: &Machine) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![machine.project()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => pending.push(path),
                false => drop(found.insert(path.clone(), fs::read_to_string(&path).unwrap())),
            }
        }
    }
    found
        .into_iter()
        .map(|(path, content)| (path.strip_prefix(machine.project()).unwrap().into(), content))
        .collect()
}

/// Takes a checkpoint, changes the project and restores it.
fn taken_and_restored(
    disk: impl Fn() -> HookedDisk,
) -> (Restored, BTreeMap<PathBuf, String>, BTreeMap<PathBuf, String>) {
    let machine = machine();
    machine.manager_on(disk()).checkpoint(&machine.project(), "taken").unwrap();
    let before = files(&machine);
    change(&machine);
    let report = machine.restore_on(disk());
    assert!(machine.git_finds_nothing_broken());
    (report, before, files(&machine))
}

// rule: restore/bytes
// rule: restore/honest
#[test]
fn many_threads_take_and_restore_what_one_does() {
    let (one, before, after_one) = taken_and_restored(|| HookedDisk::new(|_, _| Ok(())));
    let (many, _, after_many) = taken_and_restored(|| disk(|_, _| Ok(())));
    assert_eq!(after_one, before);
    assert_eq!(after_many, before);
    assert_eq!((one.failed, one.kept), Default::default());
    assert_eq!((many.failed, many.kept), Default::default());
    assert_eq!(many.restored, one.restored);
    assert_eq!(many.removed, one.removed);
}

// rule: restore/keeps-saves
#[test]
fn many_threads_keep_files_that_are_saved_meanwhile() {
    let machine = machine();
    machine.take();
    change(&machine);
    let saved = [300, 699, 8].map(name);
    let files_saved = saved.clone().map(|path| machine.project().join(path));
    let report = machine.restore_on(disk(move |call, _| {
        if call == Call::SyncFile {
            files_saved.iter().for_each(|path| fs::write(path, "saved").unwrap());
        }
        Ok(())
    }));
    let kept: Vec<String> =
        report.kept.iter().map(|remark| String::from_utf8(remark.path.clone()).unwrap()).collect();
    assert_eq!(kept, saved);
    let found = files(&machine);
    let is_saved =
        |(path, content): (&PathBuf, &String)| (content == "saved").then(|| path.clone());
    assert!(found.iter().filter_map(is_saved).eq(saved.map(PathBuf::from)));
    assert_eq!(report.failed, []);
}

// rule: restore/happens
#[test]
fn many_threads_go_on_where_a_disk_was_full_for_a_while() {
    let machine = machine();
    let before = files(&machine);
    machine.take();
    change(&machine);
    let refused = AtomicUsize::new(0);
    let report = machine.restore_on(disk(move |call, path| {
        let is_draft = path.to_string_lossy().contains(".herma-restore-");
        match call == Call::WriteNew && is_draft && refused.fetch_add(1, Ordering::Relaxed) < 90 {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }));
    assert_eq!((report.failed, report.kept), Default::default());
    assert_eq!(files(&machine), before);
}

// rule: capture/honest
#[test]
fn many_threads_never_take_a_mix_of_two_contents() {
    let machine = machine();
    let path = machine.project().join(name(9));
    let read = path.clone();
    let changes = AtomicUsize::new(0);
    let manager = machine.manager_on(disk(move |call, called| {
        if call == Call::Stat && called == read && changes.fetch_add(1, Ordering::Relaxed) == 0 {
            fs::write(&read, "after").unwrap();
        }
        Ok(())
    }));
    manager.checkpoint(&machine.project(), "taken").unwrap();
    fs::write(&path, "later").unwrap();
    let options = RestoreOptions::default();
    machine.manager().restore(&machine.project(), b"1", options).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "after");
}
