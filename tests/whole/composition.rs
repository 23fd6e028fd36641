//! A parent and its sub-agents: a restore of the parent's checkpoint does not depend on what sub-agents did or
//! captured meanwhile.

use super::agent::{Agent, created_id};
use herma_core::{Config, Occasion, RestoreOptions, Trigger};
use herma_harness::subject::HookedDisk;
use pretty_assertions::assert_eq;

// rule: agent/composes
#[test]
fn a_parent_checkpoint_is_restored_past_the_checkpoints_of_a_retried_sub_agent() {
    let agent = Agent::new();
    let mut parent = agent.manager();
    parent.state_mut().set_turn(Some("turn-7".into()));
    let hand_off = Occasion::new(Trigger::CardDone, "before the hand-off");
    let id = created_id(&parent.checkpoint_for(&agent.project(), &hand_off).unwrap());
    let before = agent.disk_state();
    for attempt in ["one", "two"] {
        let config = Config { enabled: true, ..Config::default() };
        let mut sub = agent.manager_with(HookedDisk::of_an_ordinary_user, config);
        sub.state_mut().set_turn(Some(format!("sub-{attempt}")));
        agent.set("kanban", &format!(r#"{{"cards": [], "by": "{attempt}"}}"#));
        created_id(&sub.ensure_checkpoint(&agent.project(), "before write_file").unwrap());
        agent.machine.write(&format!("by-{attempt}.txt"), "wrong\n");
        created_id(&sub.checkpoint(&agent.project(), "done").unwrap());
    }
    let options = RestoreOptions { exact: true, force: false };
    let restored = parent.restore(&agent.project(), id.as_bytes(), options).unwrap();
    assert_eq!(agent.disk_state(), before);
    assert_eq!(restored.agent.unwrap().turn.as_deref(), Some("turn-7"));
}

// rule: agent/external-listed
// rule: agent/compensation
#[test]
fn restore_lists_external_actions_and_compensate_undoes_them_only_on_request() {
    let agent = Agent::new();
    let manager = agent.manager();
    let external = manager.state().external().unwrap();
    external.record("github.pr.opened", Some("1"), None).unwrap();
    agent.take("good");
    external.record("github.pr.opened", Some("1234"), None).unwrap();
    external.record("slack.message.sent", None, Some("#eng")).unwrap();
    agent.machine.write("a.txt", "bad\n");
    let options = RestoreOptions::default();
    let open_actions = |target: &[u8]| {
        let restored = manager.restore(&agent.project(), target, options).unwrap();
        let listed = restored.agent.unwrap().external_actions.into_iter();
        listed.map(|action| format!("{} ({})", action.note, action.state)).collect::<Vec<_>>()
    };
    let expected =
        ["github.pr.opened #1234 (still open)", "slack.message.sent to #eng (cannot retract)"];
    assert_eq!(open_actions(b"1"), expected);
    assert!(agent.closed().is_empty(), "nothing is undone unasked");
    external.compensate("a person", false).unwrap();
    assert_eq!(agent.closed(), ["github.pr.opened #1234"]);
    external.accept("a person").unwrap();
    // Further restores do not list actions again on which a decision was made.
    open_actions(b"1");
    assert!(open_actions(b"u1").is_empty());
    external.compensate("a person", true).unwrap();
    assert_eq!(agent.closed(), ["github.pr.opened #1234"]);
}
