//! Recovery of a killed restore of agent state with a damaged journal or target: other projects are unaffected,
//! the parts are restored, and nothing that the recovery needs is evicted.

use super::agent::{Agent, created_id};
use super::crashes::{Round, killed_restore};
use herma_core::disk::Sharing;
use herma_core::{Config, PruneOptions, RestoreOptions};
use herma_harness::subject::{Call, HookedDisk};
use herma_tests::hold;
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Another project of the same agent.
fn other_project(round: &Round) -> PathBuf {
    let project = round.agent.project().with_file_name("other");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("a.txt"), "other\n").unwrap();
    project
}

fn journal(round: &Round) -> PathBuf {
    fs::read_dir(round.journals()).unwrap().next().unwrap().unwrap().path()
}

/// Damages the commit in that field of the journal.
fn damage(round: &Round, field: &str) {
    let journal: Value = serde_json::from_slice(&fs::read(journal(round)).unwrap()).unwrap();
    let id = journal[field].as_str().unwrap();
    let object = format!("store/objects/{}/{}", &id[..2], &id[2..]);
    let object = round.agent.machine.base().join(object);
    fs::remove_file(&object).unwrap();
    fs::write(object, "damaged").unwrap();
}

/// The current state of the agent without the project files.
fn parts(round: &Round) -> Vec<(String, Vec<u8>)> {
    let entries = round.agent.disk_state().into_iter();
    entries.filter(|(name, _)| !name.starts_with("project/")).collect()
}

fn parts_before(round: &Round) -> Vec<(String, Vec<u8>)> {
    let entries = round.before.clone().into_iter();
    entries.filter(|(name, _)| !name.starts_with("project/")).collect()
}

/// Asserts that the damage is reported once, and that checkpoints, lists and restores of another project work.
#[track_caller]
fn assert_reported_once_without_harm_to_another_project(round: &Round, expected: &str) {
    let project = other_project(round);
    let manager = round.agent.manager();
    let taken = manager.checkpoint(&project, "other").unwrap();
    created_id(&taken);
    assert!(taken.notices.iter().any(|notice| notice.contains(expected)), "{taken:?}");
    assert_eq!(parts(round), parts_before(round));
    fs::write(project.join("a.txt"), "changed\n").unwrap();
    assert_eq!(manager.list(&project).unwrap().len(), 1);
    manager.restore(&project, b"1", RestoreOptions::default()).unwrap();
    assert_eq!(fs::read_to_string(project.join("a.txt")).unwrap(), "other\n");
    assert_eq!(manager.recover().unwrap(), Vec::<String>::new());
}

// rule: maintenance/damage
#[test]
fn a_damaged_target_keeps_the_restored_files_and_harms_no_other_project() {
    let round = killed_restore(|_| ());
    damage(&round, "target");
    assert_reported_once_without_harm_to_another_project(&round, "the files that it restored stay");
    let restored = round.agent.project().join("src/b.txt");
    assert!(restored.exists(), "nobody knows whether somebody saved it since");
}

// rule: maintenance/damage
#[test]
fn a_damaged_pre_restore_checkpoint_still_restores_parts_and_harms_no_other_project() {
    let round = killed_restore(|_| ());
    damage(&round, "before");
    assert_reported_once_without_harm_to_another_project(&round, "the files stay as they are");
}

// rule: maintenance/damage
#[test]
fn a_file_in_place_of_the_project_harms_no_other_project() {
    let round = killed_restore(|_| ());
    let project = round.agent.project();
    fs::rename(&project, project.with_file_name("moved")).unwrap();
    fs::write(&project, "a file").unwrap();
    let other_folder = other_project(&round);
    let taken = round.agent.manager().checkpoint(&other_folder, "other").unwrap();
    assert!(taken.notices[0].contains("undone except for this"), "{taken:?}");
    assert_eq!(fs::read_dir(round.journals()).unwrap().count(), 0);
    fs::remove_file(&project).unwrap();
    fs::create_dir(&project).unwrap();
    assert_eq!(parts(&round), parts_before(&round));
}

// rule: maintenance/damage
#[test]
fn an_unreadable_and_unremovable_journal_harms_no_other_project() {
    let round = killed_restore(|_| ());
    let journal = journal(&round);
    let text = fs::read(&journal).unwrap();
    fs::remove_file(&journal).unwrap();
    fs::create_dir(&journal).unwrap();
    let project = other_project(&round);
    for content in ["one\n", "two\n"] {
        fs::write(project.join("a.txt"), content).unwrap();
        let taken = round.agent.manager().checkpoint(&project, "other").unwrap();
        created_id(&taken);
        assert!(taken.notices[0].contains("could not be undone yet"), "{taken:?}");
    }
    fs::remove_dir(&journal).unwrap();
    fs::write(&journal, text).unwrap();
    round.agent.manager().recover().unwrap();
    assert_eq!(round.agent.disk_state(), round.before);
}

/// As long as its journal exists, the next request would undo the restore.
// rule: agent/all-or-none
#[test]
fn a_restore_whose_journal_cannot_be_removed_is_undone_at_once() {
    let round = killed_restore(|_| ());
    round.agent.manager().recover().unwrap();
    let journals = round.journals();
    let disk = move || {
        let journals = journals.clone();
        HookedDisk::new(move |call, path| match (call, path.starts_with(&journals)) {
            (Call::RemoveFile, true) => Err(ErrorKind::Other.into()),
            _ => Ok(()),
        })
    };
    let manager = round.agent.manager_with(disk, Config::default());
    let options = RestoreOptions { exact: true, force: false };
    let error = manager.restore(&round.agent.project(), b"1", options).unwrap_err();
    assert_eq!(error.code().to_string(), "rolled_back_nothing", "{error}");
    assert_eq!(round.agent.disk_state(), round.before);
    round.agent.manager().recover().unwrap();
    assert_eq!(round.agent.disk_state(), round.before);
    assert_eq!(fs::read_dir(round.journals()).unwrap().count(), 0);
}

// rule: agent/all-or-none
#[test]
fn recover_restores_parts_only_once_if_the_files_have_to_wait() {
    let round = killed_restore(|_| ());
    let project = round.agent.project();
    let times_out = move |call: Call, path: &Path| match path.starts_with(&project) {
        true if matches!(call, Call::Stat | Call::List) => Err(ErrorKind::TimedOut.into()),
        _ => Ok(()),
    };
    let manager =
        round.agent.manager_with(|| HookedDisk::new(times_out.clone()), Config::default());
    let notices = manager.recover().unwrap();
    assert!(notices[0].contains("could not be undone yet"), "{notices:?}");
    assert_eq!(parts(&round), parts_before(&round));
    // A part changes meanwhile, as by a restore of another project.
    round.agent.set("goal", r#"{"active": "Set since", "progress": 0.75}"#);
    round.agent.manager().recover().unwrap();
    let mut expected = round.before.clone();
    expected.insert("goal".into(), br#"{"active": "Set since", "progress": 0.75}"#.to_vec());
    assert_eq!(round.agent.disk_state(), expected);
}

// rule: agent/all-or-none
#[test]
fn a_running_restore_blocks_another_restore_but_no_checkpoint() {
    let round = killed_restore(|_| ());
    let lock = round.agent.machine.base().join("store/locks").join(round.agent.machine.hash());
    let project = other_project(&round);
    {
        let _running = hold(&lock, Sharing::Exclusive);
        let manager = round.agent.manager();
        let taken = manager.checkpoint(&project, "other").unwrap();
        created_id(&taken);
        assert_eq!(taken.notices, Vec::<String>::new());
        assert_eq!(manager.recover().unwrap(), Vec::<String>::new());
        let refused = manager.restore(&project, b"1", RestoreOptions::default()).unwrap_err();
        assert_eq!(refused.code(), "busy");
    }
    round.agent.manager().recover().unwrap();
    assert_eq!(round.agent.disk_state(), round.before);
}

// rule: agent/all-or-none
#[test]
fn prune_evicts_nothing_that_the_recovery_of_a_restore_needs() {
    let round = killed_restore(|_| ());
    let options = PruneOptions { retention_seconds: 0, max_total_bytes: 1, delete_orphans: true };
    let pruned = round.agent.machine.manager().prune(&options, &mut |_| ()).unwrap();
    assert_eq!((pruned.dropped, pruned.errors), (0, 0));
    let moved = round.agent.project().with_file_name("moved");
    fs::rename(round.agent.project(), &moved).unwrap();
    let pruned = round.agent.machine.manager().prune(&options, &mut |_| ()).unwrap();
    assert_eq!((pruned.orphans, pruned.errors), (0, 0));
    fs::rename(moved, round.agent.project()).unwrap();
    let notices = round.agent.manager().recover().unwrap();
    assert!(notices[0].ends_with("was interrupted, and was undone"), "{notices:?}");
    assert_eq!(round.agent.disk_state(), round.before);
    let pruned = round.agent.machine.manager().prune(&options, &mut |_| ()).unwrap();
    assert!(pruned.dropped > 0, "{pruned:?}");
}

// rule: agent/all-or-none
#[test]
fn restore_without_parts_reports_the_parts_in_the_checkpoint() {
    let agent = Agent::new();
    agent.take("with parts");
    agent.machine.write("a.txt", "changed\n");
    let manager = agent.machine.manager();
    let restored = manager.restore(&agent.project(), b"1", RestoreOptions::default()).unwrap();
    let notices = restored.agent.unwrap().notices;
    assert!(notices[0].contains("contains kanban, goal, memory, history"), "{notices:?}");
}
