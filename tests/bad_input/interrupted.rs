//! Interrupted restores: they are reported, and their drafts are never captured as content, whatever happened
//! to the record of the restore.

use super::machine::{Machine, at_each_call};
use herma_core::disk::SystemDisk;
use herma_core::{INTERRUPTED, Interrupted, PruneOptions, RestoreOptions};
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const EXACTLY: RestoreOptions = RestoreOptions { exact: true, force: false };
const FILES: usize = 40;

fn name(number: usize) -> String {
    format!("{number}.txt")
}

/// Creates files that change after a checkpoint; returns the id of the checkpoint.
fn changed(machine: &Machine) -> String {
    (0..FILES).for_each(|number| machine.write(&name(number), "old\n"));
    let id = machine.take();
    (0..FILES).for_each(|number| machine.write(&name(number), "new\n"));
    id
}

/// Whether the call exchanges a draft with the file at its path.
fn is_exchange(call: Call, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_str().unwrap();
    let numbers = name.strip_prefix(".herma-restore-").and_then(|suffix| suffix.get(17..));
    call == Call::Rename && numbers.is_some_and(|numbers| !numbers.contains('-'))
}

fn count(machine: &Machine, content: &str) -> usize {
    let has_content = |number: &usize| {
        fs::read_to_string(machine.project().join(name(*number))).unwrap() == content
    };
    (0..FILES).filter(has_content).count()
}

fn drafts(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.to_str().unwrap().contains(".herma-restore-")).collect()
}

/// Kills a restore in the middle, so that drafts are left; returns their number.
fn kill_restore(machine: &Machine, id: &str) -> usize {
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
    let _ = machine.manager_on(disk).restore(&machine.project(), id.as_bytes(), EXACTLY);
    let left = drafts(&machine.project()).len();
    assert!(left > 1, "{left} drafts");
    left
}

fn interrupted(machine: &Machine) -> Option<Interrupted> {
    machine.manager().interrupted(&machine.project()).unwrap()
}

#[test]
fn interrupted_by_ends_a_restore_which_reports_its_progress_and_how_to_continue() {
    for exchange in [0, 1, FILES / 2, FILES - 1] {
        let machine = Machine::new();
        let id = changed(&machine);
        let flag = Arc::new(AtomicBool::new(false));
        let exchanges = AtomicUsize::new(0);
        let set = flag.clone();
        let disk = HookedDisk::new(move |call, path| {
            if is_exchange(call, path) && exchanges.fetch_add(1, Ordering::SeqCst) == exchange {
                set.store(true, Ordering::SeqCst);
            }
            Ok(())
        });
        let manager = machine.manager_on(disk).interrupted_by(flag);
        let restored = manager.restore(&machine.project(), id.as_bytes(), EXACTLY).unwrap();
        assert_eq!(
            (restored.restored.len(), restored.failed.len()),
            (exchange + 1, FILES - exchange - 1)
        );
        assert!(restored.failed.iter().all(|failed| failed.why == INTERRUPTED), "{restored:?}");
        assert_eq!(count(&machine, "old\n"), exchange + 1);
        assert_eq!(drafts(&machine.project()), Vec::<PathBuf>::new());
        let is_complete = exchange == FILES - 1;
        assert_eq!((restored.interrupted, restored.undoes_turn), (!is_complete, is_complete));
        let before = restored.safety.unwrap();
        let saved = Some(before.clone());
        let restore = Interrupted { target: id.clone(), before: saved, ..Interrupted::default() };
        let named = Interrupted { exact: true, ..restore };
        assert_eq!(interrupted(&machine), (!is_complete).then(|| named.clone()));
        // Either command completes the interrupted restore.
        let (command, content) = if exchange == 1 { (&before, "new\n") } else { (&id, "old\n") };
        let manager = machine.manager_on(SystemDisk);
        let done = manager.restore(&machine.project(), command.as_bytes(), EXACTLY).unwrap();
        assert!(done.failed.is_empty() && done.kept.is_empty(), "{done:?}");
        assert_eq!((count(&machine, content), interrupted(&machine)), (FILES, None));
    }
}

/// Its completion would have been refused, and only the exact restore of the checkpoint was offered.
#[test]
fn an_undo_that_was_interrupted_is_continued_by_the_same_undo() {
    for is_dead in [false, true] {
        let machine = Machine::new();
        let id = changed(&machine);
        fs::remove_file(machine.project().join(name(0))).unwrap();
        let manager = machine.manager();
        manager.restore(&machine.project(), id.as_bytes(), RestoreOptions::default()).unwrap();
        machine.write("mine.txt", "mine\n");
        if is_dead {
            kill_restore(&machine, "undo");
        } else {
            let flag = Arc::new(AtomicBool::new(false));
            let set = flag.clone();
            let disk = HookedDisk::new(move |call, path| {
                set.fetch_or(is_exchange(call, path), Ordering::SeqCst);
                Ok(())
            });
            let manager = machine.manager_on(disk).interrupted_by(flag);
            assert!(manager.restore(&machine.project(), b"undo", EXACTLY).unwrap().interrupted);
        }
        let told = interrupted(&machine).unwrap().told(None);
        assert!(
            told.starts_with("undo was interrupted: `herma rollback undo` continues it"),
            "{told}"
        );
        let undo =
            || machine.manager().restore(&machine.project(), b"undo", RestoreOptions::default());
        undo().unwrap();
        assert_eq!(interrupted(&machine), None);
        let read = |name: &str| fs::read_to_string(machine.project().join(name)).unwrap();
        assert!((1..FILES).all(|number| read(&name(number)) == "new\n"));
        assert!(!machine.project().join(name(0)).exists());
        assert!(machine.project().join("mine.txt").exists());
        assert_eq!(undo().unwrap_err().code(), "nothing_to_undo");
    }
}

#[test]
fn interrupted_by_a_flag_set_before_a_restore_changes_nothing() {
    let machine = Machine::new();
    let id = changed(&machine);
    let flag = Arc::new(AtomicBool::new(true));
    let manager = machine.manager_on(SystemDisk).interrupted_by(flag);
    let error = manager.restore(&machine.project(), id.as_bytes(), EXACTLY).unwrap_err();
    assert_eq!((error.code(), count(&machine, "new\n")), ("interrupted", FILES));
    assert_eq!(interrupted(&machine), None);
}

#[test]
fn a_killed_restore_is_reported_until_the_next_checkpoint() {
    let machine = Machine::new();
    let id = changed(&machine);
    kill_restore(&machine, &id);
    let named = interrupted(&machine).unwrap();
    assert_eq!(named.target, id);
    let status = machine.manager().status().unwrap();
    assert_eq!(status.projects[0].interrupted.as_ref(), Some(&named));
    let options = PruneOptions::from(machine.manager().config());
    machine.manager().prune(&options, &mut |_| {}).unwrap();
    assert_eq!(drafts(&machine.project()), Vec::<PathBuf>::new());
    assert_eq!(interrupted(&machine), Some(named.clone()));
    let taken = machine.manager().checkpoint(&machine.project(), "next").unwrap();
    assert!(taken.notices.contains(&named.told(None)), "{taken:?}");
    assert_eq!(interrupted(&machine), None);
    let before = named.before.unwrap();
    machine.manager().restore(&machine.project(), before.as_bytes(), EXACTLY).unwrap();
    assert_eq!(count(&machine, "new\n"), FILES);
}

/// The ways in which the record got lost in attack D2, each of which left drafts that became content forever.
#[test]
fn drafts_are_never_content_even_if_the_record_of_the_restore_is_lost() {
    for way in ["removed", "another base", "cleared", "moved"] {
        let machine = Machine::new();
        let id = changed(&machine);
        let left = kill_restore(&machine, &id);
        let mut project = machine.project();
        let mut base = machine.base();
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
        // To another store, a draft that was about to be exchanged may be a user's file.
        let is_displaced = |path: &[u8]| path.starts_with(b".herma-restore-");
        assert!(
            taken.skipped.iter().all(|skipped| is_displaced(&skipped.path)),
            "{way}: {taken:?}"
        );
        assert!(taken.skipped.len() <= 1, "{way}: {taken:?}");
        let restored = manager.restore(&project, b"1", EXACTLY).unwrap();
        let mut kept = restored.kept.iter();
        assert!(kept.all(|kept| is_displaced(&kept.path)), "{way}: {restored:?}");
        assert!(restored.left.is_empty(), "{way}: {restored:?}");
        assert_eq!(drafts(&project).len(), left, "{way}: they are too young to go");
    }
}

/// Otherwise a power loss could bring drafts back that nothing records.
#[test]
fn restore_syncs_the_removal_of_its_drafts_before_that_of_its_record() {
    let machine = Machine::new();
    let id = changed(&machine);
    let records = machine.base().join("store/restoring");
    let record = records.join(machine.hash());
    let calls = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&calls);
    let disk = HookedDisk::new(move |call, path| {
        recorded.lock().unwrap().push((call, path.to_owned()));
        Ok(())
    });
    machine.manager_on(disk).restore(&machine.project(), id.as_bytes(), EXACTLY).unwrap();
    let calls = calls.lock().unwrap();
    let is_removal = |call| matches!(call, Call::Rename | Call::RemoveFile);
    let is_draft = |path: &Path| path.to_str().unwrap().contains(".herma-restore-");
    let draft = calls.iter().rposition(|(call, path)| is_removal(*call) && is_draft(path)).unwrap();
    let ended = calls.iter().position(|call| *call == (Call::RemoveFile, record.clone())).unwrap();
    assert!(calls[draft..ended].contains(&(Call::SyncDirectory, machine.project())), "{calls:?}");
    assert!(calls[ended..].contains(&(Call::SyncDirectory, records)), "{calls:?}");
}

/// A retry once kept the folder because of the drafts of the first restore (attack D5).
#[test]
fn a_restore_that_replaces_a_folder_is_completed_despite_its_own_drafts() {
    at_each_call(|step| {
        let machine = Machine::new();
        machine.write("type", "a file\n");
        let id = machine.take();
        fs::remove_file(machine.project().join("type")).unwrap();
        fs::create_dir(machine.project().join("type")).unwrap();
        machine.write("type/in", "a folder\n");
        let number = step.number;
        let dead_disk = step.counting_disk(move |call| match call < number {
            true => Ok(()),
            false => Err(ErrorKind::Other.into()),
        });
        let _ = machine.manager_on(dead_disk).restore(&machine.project(), id.as_bytes(), EXACTLY);
        let again = machine.manager().restore(&machine.project(), id.as_bytes(), EXACTLY);
        let again = again.unwrap();
        assert!(again.kept.is_empty() && again.failed.is_empty(), "call {number}: {again:?}");
        let found = fs::read_to_string(machine.project().join("type")).unwrap();
        assert_eq!(found, "a file\n", "call {number}");
    });
}

/// The file was once reported as changed while the restore ran (F20).
#[test]
fn a_forced_restore_replaces_a_large_file_that_could_not_be_stored() {
    let machine = Machine::new();
    let text = |from: u32| -> String { (from..from + 400_000).map(|n| format!("{n}\n")).collect() };
    machine.write("large.txt", &text(0));
    let id = machine.take();
    machine.write("large.txt", &text(1));
    let store = machine.base().join("store");
    let full_disk = HookedDisk::new(move |call, path| match path.starts_with(&store) {
        true if call == Call::WriteNew => Err(ErrorKind::StorageFull.into()),
        _ => Ok(()),
    });
    let options = RestoreOptions { exact: false, force: true };
    let restored =
        machine.manager_on(full_disk).restore(&machine.project(), id.as_bytes(), options).unwrap();
    assert!(restored.forced_past.is_some() && restored.kept.is_empty(), "{restored:?}");
    let found = fs::read_to_string(machine.project().join("large.txt")).unwrap();
    assert!(found == text(0));
}
