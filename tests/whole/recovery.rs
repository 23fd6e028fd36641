//! A rollback of a whole agent died, and something is wrong with what undoes it: other projects are as
//! ever, the parts come back, and what it needs is not dropped before.

use super::agent::{Agent, created};
use super::crashes::{Round, died};
use herma_core::disk::{Disk, Sharing, SystemDisk};
use herma_core::{Config, PruneOptions, RestoreOptions};
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Another project of the same agent.
fn other(round: &Round) -> PathBuf {
    let other = round.agent.project().with_file_name("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("a.txt"), "other\n").unwrap();
    other
}

fn note(round: &Round) -> PathBuf {
    fs::read_dir(round.notes()).unwrap().next().unwrap().unwrap().path()
}

/// Cuts the commit short that the note calls that.
fn damage(round: &Round, name: &str) {
    let note: Value = serde_json::from_slice(&fs::read(note(round)).unwrap()).unwrap();
    let id = note[name].as_str().unwrap();
    let object = format!("store/objects/{}/{}", &id[..2], &id[2..]);
    let object = round.agent.machine.base().join(object);
    fs::remove_file(&object).unwrap();
    fs::write(object, "damaged").unwrap();
}

/// What there is of a round but its files.
fn parts(round: &Round) -> Vec<(String, Vec<u8>)> {
    let all = round.agent.everything().into_iter();
    all.filter(|(name, _)| !name.starts_with("project/")).collect()
}

fn parts_before(round: &Round) -> Vec<(String, Vec<u8>)> {
    let all = round.before.clone().into_iter();
    all.filter(|(name, _)| !name.starts_with("project/")).collect()
}

/// What is wrong with it is said once, and other projects are taken, listed and rolled back.
#[track_caller]
fn is_said_once_and_costs_no_other_project(round: &Round, expected: &str) {
    let other = other(round);
    let manager = round.agent.manager();
    let taken = manager.checkpoint(&other, "other").unwrap();
    created(&taken);
    assert!(taken.notices.iter().any(|one| one.contains(expected)), "{taken:?}");
    assert_eq!(parts(round), parts_before(round));
    fs::write(other.join("a.txt"), "changed\n").unwrap();
    assert_eq!(manager.list(&other).unwrap().len(), 1);
    manager.restore(&other, b"1", RestoreOptions::default()).unwrap();
    assert_eq!(fs::read_to_string(other.join("a.txt")).unwrap(), "other\n");
    assert_eq!(manager.recover().unwrap(), Vec::<String>::new());
}

// rule: maintenance/damage
#[test]
fn a_damaged_target_leaves_what_the_rollback_brought_and_costs_no_other_project() {
    let round = died(|_| ());
    damage(&round, "target");
    is_said_once_and_costs_no_other_project(&round, "what it changed or brought is lost");
    let brought = round.agent.project().join("src/b.txt");
    assert!(brought.exists(), "nobody knows whether somebody saved it since");
}

// rule: maintenance/damage
#[test]
fn where_what_was_there_is_damaged_the_parts_come_back_and_no_other_project_waits() {
    let round = died(|_| ());
    damage(&round, "before");
    is_said_once_and_costs_no_other_project(&round, "how its files were is lost");
}

// rule: maintenance/damage
#[test]
fn a_file_in_the_place_of_the_project_costs_no_other_project() {
    let round = died(|_| ());
    let project = round.agent.project();
    fs::rename(&project, project.with_file_name("moved")).unwrap();
    fs::write(&project, "a file").unwrap();
    let other = other(&round);
    let taken = round.agent.manager().checkpoint(&other, "other").unwrap();
    assert!(taken.notices[0].contains("undone but for this"), "{taken:?}");
    assert_eq!(fs::read_dir(round.notes()).unwrap().count(), 0);
    fs::remove_file(&project).unwrap();
    fs::create_dir(&project).unwrap();
    assert_eq!(parts(&round), parts_before(&round));
}

// rule: maintenance/damage
#[test]
fn a_note_that_cannot_be_read_or_removed_costs_no_other_project() {
    let round = died(|_| ());
    let note = note(&round);
    let text = fs::read(&note).unwrap();
    fs::remove_file(&note).unwrap();
    fs::create_dir(&note).unwrap();
    let other = other(&round);
    for content in ["one\n", "two\n"] {
        fs::write(other.join("a.txt"), content).unwrap();
        let taken = round.agent.manager().checkpoint(&other, "other").unwrap();
        created(&taken);
        assert!(taken.notices[0].contains("is not undone yet"), "{taken:?}");
    }
    fs::remove_dir(&note).unwrap();
    fs::write(&note, text).unwrap();
    round.agent.manager().recover().unwrap();
    assert_eq!(round.agent.everything(), round.before);
}

/// While its note stands, what was done is undone by whatever comes next.
// rule: agent/all-or-none
#[test]
fn a_rollback_whose_note_cannot_be_removed_is_taken_back_at_once() {
    let round = died(|_| ());
    round.agent.manager().recover().unwrap();
    let notes = round.notes();
    let disk = move || {
        let notes = notes.clone();
        HookedDisk::new(move |call, path| match (call, path.starts_with(&notes)) {
            (Call::RemoveFile, true) => Err(ErrorKind::Other.into()),
            _ => Ok(()),
        })
    };
    let manager = round.agent.with(disk, Config::default());
    let options = RestoreOptions { exact: true, force: false };
    let error = manager.restore(&round.agent.project(), b"1", options).unwrap_err();
    assert_eq!(error.code().to_string(), "rolled_back_nothing", "{error}");
    assert_eq!(round.agent.everything(), round.before);
    round.agent.manager().recover().unwrap();
    assert_eq!(round.agent.everything(), round.before);
    assert_eq!(fs::read_dir(round.notes()).unwrap().count(), 0);
}

// rule: agent/all-or-none
#[test]
fn parts_come_back_once_where_the_files_have_to_wait() {
    let round = died(|_| ());
    let project = round.agent.project();
    let is_full = move |call: Call, path: &Path| match path.starts_with(&project) {
        true if matches!(call, Call::Stat | Call::List) => Err(ErrorKind::TimedOut.into()),
        _ => Ok(()),
    };
    let waits = round.agent.with(|| HookedDisk::new(is_full.clone()), Config::default());
    let said = waits.recover().unwrap();
    assert!(said[0].contains("is not undone yet"), "{said:?}");
    assert_eq!(parts(&round), parts_before(&round));
    // Another project brings other parts meanwhile.
    round.agent.set("goal", r#"{"active": "Set since", "progress": 0.75}"#);
    round.agent.manager().recover().unwrap();
    let mut expected = round.before.clone();
    expected.insert("goal".into(), br#"{"active": "Set since", "progress": 0.75}"#.to_vec());
    assert_eq!(round.agent.everything(), expected);
}

// rule: agent/all-or-none
#[test]
fn a_rollback_that_goes_on_holds_up_another_one_and_no_checkpoint() {
    let round = died(|_| ());
    let lock = round.agent.machine.base().join("store/locks").join(round.agent.machine.hash());
    let other = other(&round);
    {
        let _goes_on = SystemDisk.try_lock(&lock, Sharing::Exclusive).unwrap().unwrap();
        let manager = round.agent.manager();
        let taken = manager.checkpoint(&other, "other").unwrap();
        created(&taken);
        assert_eq!(taken.notices, Vec::<String>::new());
        assert_eq!(manager.recover().unwrap(), Vec::<String>::new());
        let refused = manager.restore(&other, b"1", RestoreOptions::default()).unwrap_err();
        assert_eq!(refused.code(), "busy");
    }
    round.agent.manager().recover().unwrap();
    assert_eq!(round.agent.everything(), round.before);
}

// rule: agent/all-or-none
#[test]
fn what_undoes_a_rollback_is_dropped_by_no_prune() {
    let round = died(|_| ());
    let options = PruneOptions { retention_seconds: 0, max_total_bytes: 1, delete_orphans: true };
    let pruned = round.agent.machine.manager().prune(&options, &mut |_| ()).unwrap();
    assert_eq!((pruned.dropped, pruned.errors), (0, 0));
    let moved = round.agent.project().with_file_name("moved");
    fs::rename(round.agent.project(), &moved).unwrap();
    let pruned = round.agent.machine.manager().prune(&options, &mut |_| ()).unwrap();
    assert_eq!((pruned.orphans, pruned.errors), (0, 0));
    fs::rename(moved, round.agent.project()).unwrap();
    let said = round.agent.manager().recover().unwrap();
    assert!(said[0].ends_with("was interrupted, and is undone"), "{said:?}");
    assert_eq!(round.agent.everything(), round.before);
    let pruned = round.agent.machine.manager().prune(&options, &mut |_| ()).unwrap();
    assert!(pruned.dropped > 0, "{pruned:?}");
}

// rule: agent/all-or-none
#[test]
fn who_has_no_parts_is_told_that_the_checkpoint_carries_some() {
    let agent = Agent::new();
    agent.take("with parts");
    agent.machine.write("a.txt", "changed\n");
    let without = agent.machine.manager();
    let restored = without.restore(&agent.project(), b"1", RestoreOptions::default()).unwrap();
    let said = restored.agent.unwrap().notices;
    assert!(said[0].contains("carries kanban, goal, memory, history"), "{said:?}");
}
