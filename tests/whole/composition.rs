//! A parent and its sub-agents: what the parent's checkpoint restores does not depend on what the others
//! took or did meanwhile.

use super::agent::{Agent, created};
use herma_core::{Config, Occasion, RestoreOptions, Trigger};
use herma_harness::subject::HookedDisk;
use pretty_assertions::assert_eq;

// rule: agent/composes
#[test]
fn a_parents_checkpoint_restores_past_a_sub_agent_that_took_its_own_and_was_retried() {
    let agent = Agent::new();
    let mut parent = agent.manager();
    parent.state_mut().set_turn(Some("turn-7".into()));
    let hand_off = Occasion::new(Trigger::CardDone, "before the hand-off");
    let id = created(&parent.checkpoint_for(&agent.project(), &hand_off).unwrap());
    let before = agent.everything();
    for attempt in ["one", "two"] {
        let config = Config { enabled: true, ..Config::default() };
        let mut sub = agent.with(HookedDisk::of_an_ordinary_user, config);
        sub.state_mut().set_turn(Some(format!("sub-{attempt}")));
        agent.set("kanban", &format!(r#"{{"cards": [], "by": "{attempt}"}}"#));
        created(&sub.ensure_checkpoint(&agent.project(), "before write_file").unwrap());
        agent.machine.write(&format!("by-{attempt}.txt"), "wrong\n");
        created(&sub.checkpoint(&agent.project(), "done").unwrap());
    }
    let options = RestoreOptions { exact: true, force: false };
    let restored = parent.restore(&agent.project(), id.as_bytes(), options).unwrap();
    assert_eq!(agent.everything(), before);
    assert_eq!(restored.agent.unwrap().turn.as_deref(), Some("turn-7"));
}

// rule: agent/external-listed
// rule: agent/compensation
#[test]
fn what_was_done_outside_is_listed_and_compensated_only_when_it_is_asked_for() {
    let agent = Agent::new();
    let manager = agent.manager();
    let external = manager.state().external().unwrap();
    external.record("github.pr.opened", Some("1"), None).unwrap();
    agent.take("good");
    external.record("github.pr.opened", Some("1234"), None).unwrap();
    external.record("slack.message.sent", None, Some("#eng")).unwrap();
    agent.machine.write("a.txt", "bad\n");
    let options = RestoreOptions::default();
    let left = |target: &[u8]| {
        let restored = manager.restore(&agent.project(), target, options).unwrap();
        let listed = restored.agent.unwrap().external_actions.into_iter();
        listed.map(|one| format!("{} ({})", one.note, one.state)).collect::<Vec<_>>()
    };
    let expected =
        ["github.pr.opened #1234 (still open)", "slack.message.sent to #eng (cannot retract)"];
    assert_eq!(left(b"1"), expected);
    assert!(agent.closed().is_empty(), "nothing is undone unasked");
    external.compensate("a person", false).unwrap();
    assert_eq!(agent.closed(), ["github.pr.opened #1234"]);
    external.accept("a person").unwrap();
    // Back and forth: what was decided is not asked again.
    left(b"1");
    assert!(left(b"2").is_empty());
    external.compensate("a person", true).unwrap();
    assert_eq!(agent.closed(), ["github.pr.opened #1234"]);
}
