//! External actions of an agent: a restore lists those after the checkpoint even if the envelope of the
//! checkpoint or the log, which record the order, is lost.

use super::agent::Agent;
use herma_core::state::External;
use herma_core::{AgentRestored, Manager, Occasion, RestoreOptions, Trigger};
use pretty_assertions::assert_eq;
use std::fs;

fn external(manager: &Manager) -> &External {
    manager.state().external().unwrap()
}

/// Changes a file and restores the target.
#[track_caller]
fn change_and_restore(agent: &Agent, target: &str) -> AgentRestored {
    agent.machine.write("a.txt", "changed\n");
    let options = RestoreOptions::default();
    let manager = agent.manager();
    manager.restore(&agent.project(), target.as_bytes(), options).unwrap().agent.unwrap()
}

/// Asserts that the restore lists exactly this action, and that a compensation undoes it.
#[track_caller]
fn assert_lists(agent: &Agent, restored: &AgentRestored, expected: &str) {
    let listed = restored.external_actions.iter().map(|action| action.note.to_string());
    assert_eq!(listed.collect::<Vec<_>>(), [expected], "{restored:?}");
    external(&agent.manager()).compensate("test", false).unwrap();
    assert_eq!(agent.closed(), [expected]);
}

const KIND: &str = "github.pr.opened";

// rule: agent/external-listed
#[test]
fn restore_lists_external_actions_by_time_for_a_checkpoint_without_agent_state() {
    let agent = Agent::new();
    let occasion = Occasion::new(Trigger::Manual, "before");
    let without = agent.machine.manager().checkpoint_for(&agent.project(), &occasion).unwrap();
    let target = super::agent::created_id(&without);
    let restored = change_and_restore(&agent, &target);
    assert!(
        !restored.notices.iter().any(|notice| notice.contains("by their times")),
        "{restored:?}"
    );
    external(&agent.manager()).record(KIND, Some("1"), None).unwrap();
    let restored = change_and_restore(&agent, &target);
    assert!(
        restored.notices.iter().any(|notice| notice.contains("by their times")),
        "{restored:?}"
    );
    assert_lists(&agent, &restored, "github.pr.opened #1");
}

// rule: agent/external-listed
// rule: maintenance/damage
#[test]
fn restore_lists_external_actions_by_time_if_the_envelope_is_lost() {
    let agent = Agent::new();
    let target = agent.take("good");
    external(&agent.manager()).record(KIND, Some("1"), None).unwrap();
    let path = format!("store/refs/envelopes/{}/{target}", agent.machine.hash());
    fs::write(agent.machine.base().join(path), "").unwrap();
    let restored = change_and_restore(&agent, &target);
    assert!(
        restored.notices.iter().any(|notice| notice.contains("by their times")),
        "{restored:?}"
    );
    assert_lists(&agent, &restored, "github.pr.opened #1");
}

// rule: agent/external-listed
#[test]
fn a_lost_log_of_external_actions_continues_above_the_numbers_in_checkpoints() {
    let agent = Agent::new();
    for id in ["1", "2"] {
        external(&agent.manager()).record("mail.sent", Some(id), None).unwrap();
    }
    let target = agent.take("good");
    fs::remove_file(agent.folder().join("external.json")).unwrap();
    let number = external(&agent.manager()).record(KIND, Some("3"), None).unwrap();
    assert_eq!(number, 3);
    let restored = change_and_restore(&agent, &target);
    assert_eq!(restored.notices, Vec::<String>::new());
    assert_lists(&agent, &restored, "github.pr.opened #3");
}

// rule: agent/external-listed
#[test]
fn restore_lists_external_actions_by_time_after_the_log_was_replaced() {
    let agent = Agent::new();
    for id in ["1", "2"] {
        external(&agent.manager()).record("mail.sent", Some(id), None).unwrap();
    }
    let target = agent.take("good");
    let log = agent.folder().join("external.json");
    let replacement = r#"{"version": 1, "actions": [{"number": 1, "kind": "github.pr.opened", "id": "3",
        "at": 9999999999, "standing": "open"}]}"#;
    fs::write(log, replacement).unwrap();
    let restored = change_and_restore(&agent, &target);
    assert!(restored.notices[0].contains("log of external actions is incomplete"), "{restored:?}");
    assert_lists(&agent, &restored, "github.pr.opened #3");
}

// rule: agent/external-listed
#[test]
fn the_number_of_an_external_action_that_did_not_happen_is_not_reused() {
    let agent = Agent::new();
    let number = external(&agent.manager()).begin(KIND, Some("1"), None).unwrap();
    let target = agent.take("good");
    external(&agent.manager()).end(number, false).unwrap();
    external(&agent.manager()).record(KIND, Some("2"), None).unwrap();
    let restored = change_and_restore(&agent, &target);
    assert_eq!(restored.notices, Vec::<String>::new());
    assert_lists(&agent, &restored, "github.pr.opened #2");
}
