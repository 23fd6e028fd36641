//! A restore that ended early says so, and its drafts are never content, wherever its record went.

use super::machine::{Machine, at_each_call};
use herma_core::disk::SystemDisk;
use herma_core::{INTERRUPTED, Interrupted, PruneOptions, RestoreOptions};
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const EXACTLY: RestoreOptions = RestoreOptions { exact: true, force: false };
const FILES: usize = 40;

fn name(number: usize) -> String {
    format!("{number}.txt")
}

/// A project of files that changed since a checkpoint; returns the id of that.
fn changed(machine: &Machine) -> String {
    (0..FILES).for_each(|number| machine.write(&name(number), "old\n"));
    let id = machine.take();
    (0..FILES).for_each(|number| machine.write(&name(number), "new\n"));
    id
}

/// Whether a draft is about to change places with the file of a path.
fn is_exchange(call: Call, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_str().unwrap();
    let numbers = name.strip_prefix(".herma-restore-").and_then(|rest| rest.get(17..));
    call == Call::Rename && numbers.is_some_and(|numbers| !numbers.contains('-'))
}

fn count(machine: &Machine, content: &str) -> usize {
    let is_it = |number: &usize| {
        fs::read_to_string(machine.project().join(name(*number))).unwrap() == content
    };
    (0..FILES).filter(is_it).count()
}

fn drafts(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.to_str().unwrap().contains(".herma-restore-")).collect()
}

/// Kills a restore of the checkpoint in the middle, so that drafts are left.
fn killed(machine: &Machine, id: &str) -> usize {
    let exchanges = AtomicUsize::new(0);
    let is_dead = AtomicBool::new(false);
    let disk = HookedDisk::new(move |call, path| {
        let is_middle =
            is_exchange(call, path) && exchanges.fetch_add(1, Ordering::SeqCst) == FILES / 2;
        match is_dead.fetch_or(is_middle, Ordering::SeqCst) || is_middle {
            true => Err(ErrorKind::Other.into()),
            false => Ok(()),
        }
    });
    let _ = machine.on(disk).restore(&machine.project(), id.as_bytes(), EXACTLY);
    let left = drafts(&machine.project()).len();
    assert!(left > 1, "{left} drafts");
    left
}

fn interrupted(machine: &Machine) -> Option<Interrupted> {
    machine.manager().interrupted(&machine.project()).unwrap()
}

#[test]
fn interrupted_by_ends_a_restore_and_it_says_what_is_done_and_how_to_go_on() {
    for at in [0, 1, FILES / 2, FILES - 1] {
        let machine = Machine::new();
        let id = changed(&machine);
        let flag = Arc::new(AtomicBool::new(false));
        let (exchanges, set) = (AtomicUsize::new(0), flag.clone());
        let disk = HookedDisk::new(move |call, path| {
            if is_exchange(call, path) && exchanges.fetch_add(1, Ordering::SeqCst) == at {
                set.store(true, Ordering::SeqCst);
            }
            Ok(())
        });
        let manager = machine.on(disk).interrupted_by(flag);
        let restored = manager.restore(&machine.project(), id.as_bytes(), EXACTLY).unwrap();
        assert_eq!((restored.restored.len(), restored.failed.len()), (at + 1, FILES - at - 1));
        assert!(restored.failed.iter().all(|one| one.why == INTERRUPTED), "{restored:?}");
        assert_eq!(count(&machine, "old\n"), at + 1);
        assert_eq!(drafts(&machine.project()), Vec::<PathBuf>::new());
        let is_whole = at == FILES - 1;
        assert_eq!((restored.interrupted, restored.undoes_turn), (!is_whole, is_whole));
        let before = restored.safety.unwrap();
        let named = Interrupted { target: id.clone(), before: Some(before.clone()) };
        assert_eq!(interrupted(&machine), (!is_whole).then(|| named.clone()));
        // Either command ends it.
        let (command, content) = if at == 1 { (&before, "new\n") } else { (&id, "old\n") };
        let manager = machine.on(SystemDisk);
        let done = manager.restore(&machine.project(), command.as_bytes(), EXACTLY).unwrap();
        assert!(done.failed.is_empty() && done.kept.is_empty(), "{done:?}");
        assert_eq!((count(&machine, content), interrupted(&machine)), (FILES, None));
    }
}

#[test]
fn interrupted_by_what_is_set_before_a_restore_begins_changes_nothing() {
    let machine = Machine::new();
    let id = changed(&machine);
    let flag = Arc::new(AtomicBool::new(true));
    let manager = machine.on(SystemDisk).interrupted_by(flag);
    let error = manager.restore(&machine.project(), id.as_bytes(), EXACTLY).unwrap_err();
    assert_eq!((error.code(), count(&machine, "new\n")), ("interrupted", FILES));
    assert_eq!(interrupted(&machine), None);
}

#[test]
fn a_killed_restore_is_named_until_the_next_checkpoint_which_removes_its_drafts() {
    let machine = Machine::new();
    let id = changed(&machine);
    killed(&machine, &id);
    let named = interrupted(&machine).unwrap();
    assert_eq!(named.target, id);
    let status = machine.manager().status().unwrap();
    assert_eq!(status.projects[0].interrupted.as_ref(), Some(&named));
    let options = PruneOptions::from(machine.manager().config());
    machine.manager().prune(&options, &mut |_| {}).unwrap();
    assert_eq!(drafts(&machine.project()), Vec::<PathBuf>::new());
    assert_eq!(interrupted(&machine), Some(named.clone()));
    let taken = machine.manager().checkpoint(&machine.project(), "next").unwrap();
    assert!(taken.notices.contains(&named.to_string()), "{taken:?}");
    assert_eq!(interrupted(&machine), None);
    let before = named.before.unwrap();
    machine.manager().restore(&machine.project(), before.as_bytes(), EXACTLY).unwrap();
    assert_eq!(count(&machine, "new\n"), FILES);
}

/// The ways in which the record of attack D2 got lost: each left drafts that were content for ever.
#[test]
fn drafts_are_no_content_wherever_the_record_went() {
    for way in ["removed", "another base", "cleared", "moved"] {
        let machine = Machine::new();
        let id = changed(&machine);
        let left = killed(&machine, &id);
        let (mut project, mut base) = (machine.project(), machine.base());
        match way {
            "removed" => fs::remove_dir_all(base.join("store/restoring")).unwrap(),
            "another base" => fs::rename(&base, base.with_extension("away")).unwrap(),
            "cleared" => drop(machine.manager().clear().unwrap()),
            _ => {
                let moved = project.with_file_name("moved");
                fs::rename(&project, &moved).unwrap();
                project = moved;
            }
        }
        let manager = machine.manager();
        let Ok(taken) = manager.checkpoint(&project, "next") else { panic!("{way}") };
        base.push("store");
        let held = machine.git().args(["log", "--all", "--name-only", "--format="]).output();
        let held = String::from_utf8(held.unwrap().stdout).unwrap();
        assert!(held.contains("0.txt") && !held.contains(".herma"), "{way}: {held}");
        // A draft that was about to change places may be the user's, as far as another store can tell.
        let is_displaced = |path: &[u8]| path.starts_with(b".herma-restore-");
        assert!(taken.skipped.iter().all(|one| is_displaced(&one.path)), "{way}: {taken:?}");
        assert!(taken.skipped.len() <= 1, "{way}: {taken:?}");
        let restored = manager.restore(&project, b"1", EXACTLY).unwrap();
        let mut kept = restored.kept.iter();
        assert!(kept.all(|one| is_displaced(&one.path)), "{way}: {restored:?}");
        assert!(restored.left.is_empty(), "{way}: {restored:?}");
        assert_eq!(drafts(&project).len(), left, "{way}: they are too young to go");
    }
}

/// The retry kept the folder for what the first one had left in it (attack D5).
#[test]
fn a_restore_goes_on_over_its_own_drafts_where_a_folder_goes() {
    at_each_call(|step| {
        let machine = Machine::new();
        machine.write("type", "a file\n");
        let id = machine.take();
        fs::remove_file(machine.project().join("type")).unwrap();
        fs::create_dir(machine.project().join("type")).unwrap();
        machine.write("type/in", "a folder\n");
        let number = step.number;
        let dies = step.counting_disk(move |call| match call < number {
            true => Ok(()),
            false => Err(ErrorKind::Other.into()),
        });
        let _ = machine.on(dies).restore(&machine.project(), id.as_bytes(), EXACTLY);
        let again = machine.manager().restore(&machine.project(), id.as_bytes(), EXACTLY);
        let again = again.unwrap();
        assert!(again.kept.is_empty() && again.failed.is_empty(), "call {number}: {again:?}");
        let found = fs::read_to_string(machine.project().join("type")).unwrap();
        assert_eq!(found, "a file\n", "call {number}");
    });
}

/// It was said to have changed while the restore ran (F20).
#[test]
fn a_forced_restore_replaces_a_large_file_that_could_not_be_stored() {
    let machine = Machine::new();
    let text = |from: u32| -> String { (from..from + 400_000).map(|n| format!("{n}\n")).collect() };
    machine.write("large.txt", &text(0));
    let id = machine.take();
    machine.write("large.txt", &text(1));
    let store = machine.base().join("store");
    let full = HookedDisk::new(move |call, path| match path.starts_with(&store) {
        true if call == Call::WriteNew => Err(ErrorKind::StorageFull.into()),
        _ => Ok(()),
    });
    let options = RestoreOptions { exact: false, force: true };
    let restored = machine.on(full).restore(&machine.project(), id.as_bytes(), options).unwrap();
    assert!(restored.forced_past.is_some() && restored.kept.is_empty(), "{restored:?}");
    let found = fs::read_to_string(machine.project().join("large.txt")).unwrap();
    assert!(found == text(0));
}
