//! What an agent did outside is listed by a rollback whatever became of what tells since when: the
//! envelope of the checkpoint, or the log.

use super::agent::Agent;
use herma_core::state::External;
use herma_core::{AgentRestored, Manager, Occasion, RestoreOptions, Trigger};
use pretty_assertions::assert_eq;
use std::fs;

fn external(manager: &Manager) -> &External {
    manager.state().external().unwrap()
}

/// A rollback to the checkpoint before one more.
#[track_caller]
fn rolled_back(agent: &Agent, target: &str) -> AgentRestored {
    agent.machine.write("a.txt", "changed\n");
    let options = RestoreOptions::default();
    let manager = agent.manager();
    manager.restore(&agent.project(), target.as_bytes(), options).unwrap().agent.unwrap()
}

/// What is listed, and what a compensation undoes then.
#[track_caller]
fn lists(agent: &Agent, restored: &AgentRestored, expected: &str) {
    let listed = restored.external_actions.iter().map(|one| one.note.to_string());
    assert_eq!(listed.collect::<Vec<_>>(), [expected], "{restored:?}");
    external(&agent.manager()).compensate("test", false).unwrap();
    assert_eq!(agent.closed(), [expected]);
}

const KIND: &str = "github.pr.opened";

// rule: agent/external-listed
#[test]
fn a_checkpoint_from_before_the_agent_had_a_state_tells_by_its_time() {
    let agent = Agent::new();
    let occasion = Occasion::new(Trigger::Manual, "before");
    let without = agent.machine.manager().checkpoint_for(&agent.project(), &occasion).unwrap();
    let target = super::agent::created(&without);
    let restored = rolled_back(&agent, &target);
    assert!(!restored.notices.iter().any(|one| one.contains("by its time")), "{restored:?}");
    external(&agent.manager()).record(KIND, Some("1"), None).unwrap();
    let restored = rolled_back(&agent, &target);
    assert!(restored.notices.iter().any(|one| one.contains("by its time")), "{restored:?}");
    lists(&agent, &restored, "github.pr.opened #1");
}

// rule: agent/external-listed
// rule: maintenance/damage
#[test]
fn a_checkpoint_whose_envelope_is_lost_tells_by_its_time() {
    let agent = Agent::new();
    let target = agent.take("good");
    external(&agent.manager()).record(KIND, Some("1"), None).unwrap();
    let place = format!("store/refs/envelopes/{}/{target}", agent.machine.hash());
    fs::write(agent.machine.base().join(place), "").unwrap();
    let restored = rolled_back(&agent, &target);
    assert!(restored.notices.iter().any(|one| one.contains("by its time")), "{restored:?}");
    lists(&agent, &restored, "github.pr.opened #1");
}

// rule: agent/external-listed
#[test]
fn a_log_that_was_lost_goes_on_above_what_checkpoints_know() {
    let agent = Agent::new();
    for id in ["1", "2"] {
        external(&agent.manager()).record("mail.sent", Some(id), None).unwrap();
    }
    let target = agent.take("good");
    fs::remove_file(agent.folder().join("external.json")).unwrap();
    let number = external(&agent.manager()).record(KIND, Some("3"), None).unwrap();
    assert_eq!(number, 3);
    let restored = rolled_back(&agent, &target);
    assert_eq!(restored.notices, Vec::<String>::new());
    lists(&agent, &restored, "github.pr.opened #3");
}

// rule: agent/external-listed
#[test]
fn a_log_that_began_anew_tells_by_its_times() {
    let agent = Agent::new();
    for id in ["1", "2"] {
        external(&agent.manager()).record("mail.sent", Some(id), None).unwrap();
    }
    let target = agent.take("good");
    let log = agent.folder().join("external.json");
    let anew = r#"{"version": 1, "actions": [{"number": 1, "kind": "github.pr.opened", "id": "3",
        "at": 9999999999, "standing": "open"}]}"#;
    fs::write(log, anew).unwrap();
    let restored = rolled_back(&agent, &target);
    assert!(restored.notices[0].contains("noted nowhere any more"), "{restored:?}");
    lists(&agent, &restored, "github.pr.opened #3");
}

// rule: agent/external-listed
#[test]
fn the_number_of_what_did_not_happen_is_not_given_again() {
    let agent = Agent::new();
    let begun = external(&agent.manager()).begin(KIND, Some("1"), None).unwrap();
    let target = agent.take("good");
    external(&agent.manager()).end(begun, false).unwrap();
    external(&agent.manager()).record(KIND, Some("2"), None).unwrap();
    let restored = rolled_back(&agent, &target);
    assert_eq!(restored.notices, Vec::<String>::new());
    lists(&agent, &restored, "github.pr.opened #2");
}
