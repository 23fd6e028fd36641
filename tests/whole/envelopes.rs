//! Envelopes: the agent state in a checkpoint is restored with its files and deleted with them, and damage to
//! an envelope loses no file.

use super::agent::{Agent, created_id};
use herma_core::disk::{Disk, SystemDisk};
use herma_core::state::{FilePart, Part, PartKind, State};
use herma_core::{Config, Occasion, Outcome, RestoreOptions, Scope, Trigger};
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

fn exactly() -> RestoreOptions {
    RestoreOptions { exact: true, force: false }
}

/// The path of the only envelope ref.
fn envelope_ref(agent: &Agent) -> PathBuf {
    let folder = agent.machine.base().join("store/refs/envelopes").join(agent.machine.hash());
    let entries: Vec<_> = fs::read_dir(folder).unwrap().collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries[0].as_ref().unwrap().path()
}

fn envelope_count(agent: &Agent) -> usize {
    let folder = agent.machine.base().join("store/refs/envelopes").join(agent.machine.hash());
    fs::read_dir(folder).map_or(0, Iterator::count)
}

// rule: agent/parts
#[test]
fn restore_restores_every_part_with_the_files_and_can_be_undone() {
    let agent = Agent::new();
    agent.set("history", r#"{"calls": ["write_file"]}"#);
    agent.take("good");
    let good = agent.disk_state();
    agent.machine.write("a.txt", "bad\n");
    agent.set("goal", r#"{"active": "Something else"}"#);
    agent.set("memory", r#"{"head": "mem_2"}"#);
    agent.unset("kanban");
    let bad = agent.disk_state();
    let restored = agent.manager().restore(&agent.project(), b"1", exactly()).unwrap();
    assert_eq!(agent.disk_state(), good);
    let parts: Vec<String> =
        restored.agent.unwrap().parts.into_iter().map(|part| part.name).collect();
    assert_eq!(parts, ["kanban", "goal", "memory", "history"]);
    agent.manager().restore(&agent.project(), b"undo", RestoreOptions::default()).unwrap();
    assert_eq!(agent.disk_state(), bad);
}

// rule: agent/parts
#[test]
fn an_envelope_records_reason_trigger_parts_and_external_actions() {
    let agent = Agent::new();
    let manager = agent.manager();
    let external = manager.state().external().unwrap();
    external.record("github.pr.opened", Some("1"), None).unwrap();
    agent.take("first");
    external.record("slack.message.sent", None, Some("#eng")).unwrap();
    agent.machine.write("a.txt", "two\n");
    let reason = "About to run migration 042";
    let occasion = Occasion::new(Trigger::PreDestructiveAction, reason);
    let id = created_id(&manager.checkpoint_for(&agent.project(), &occasion).unwrap());
    let (found, envelope) = manager.envelope(&agent.project(), b"1").unwrap();
    let envelope = envelope.unwrap();
    assert_eq!((found, &envelope.reason[..]), (id, reason));
    assert_eq!(envelope.trigger, Trigger::PreDestructiveAction);
    let about: Vec<String> =
        envelope.parts.iter().map(|part| part.about[0].1.to_string()).collect();
    assert_eq!(about, ["1", "\"Ship it\"", "null", "0"]);
    let actions: Vec<String> = envelope.external_actions.iter().map(ToString::to_string).collect();
    assert_eq!(actions, ["slack.message.sent to #eng"]);
    assert!(agent.machine.git_finds_nothing_broken());
}

// rule: agent/parts
#[test]
fn a_change_of_only_a_part_creates_a_checkpoint() {
    let agent = Agent::new();
    agent.take("good");
    let again = || agent.manager().checkpoint(&agent.project(), "again").unwrap().outcome;
    assert!(matches!(again(), Outcome::Unchanged { .. }));
    agent.set("goal", r#"{"active": "Ship it", "progress": 0.5}"#);
    assert!(matches!(again(), Outcome::Created { .. }));
    // A manager without parts sees no change.
    let plain = agent.machine.manager().checkpoint(&agent.project(), "plain").unwrap();
    assert!(matches!(plain.outcome, Outcome::Unchanged { .. }));
}

// rule: agent/parts
#[test]
fn a_damaged_envelope_loses_no_file_and_is_removed_by_prune() {
    let damages: [fn(&Agent, &PathBuf); 4] = [
        |_, path| fs::write(path, "").unwrap(),
        |_, path| fs::write(path, "1111111111111111111111111111111111111111\n").unwrap(),
        |_, path| fs::remove_file(path).unwrap(),
        |agent, path| {
            let tree = fs::read_to_string(path).unwrap();
            let (folder, name) = tree.trim().split_at(2);
            let object = agent.machine.base().join("store/objects").join(folder).join(name);
            fs::remove_file(&object).unwrap();
            fs::write(object, br#"{"version": 99}"#).unwrap();
        },
    ];
    for (number, damage) in damages.iter().enumerate() {
        let agent = Agent::new();
        agent.take("good");
        let file = fs::read(agent.project().join("a.txt")).unwrap();
        agent.machine.write("a.txt", "bad\n");
        agent.set("goal", "{}");
        damage(&agent, &envelope_ref(&agent));
        let manager = agent.manager();
        let verified = manager.verify(&mut |_, _| {}).unwrap();
        // Without its ref, the envelope is unknown.
        assert_eq!(verified.envelopes.len(), usize::from(number != 2), "{number}: {verified:?}");
        assert!(verified.damaged.is_empty(), "{number}");
        assert_eq!(manager.list(&agent.project()).unwrap().len(), 1, "{number}");
        let preview = manager.preview(&agent.project(), b"1", Scope::All(exactly())).unwrap();
        assert_eq!(preview.would.agent.unwrap().notices.len(), 1, "{number}");
        let restored = manager.restore(&agent.project(), b"1", exactly()).unwrap();
        let restored_agent = restored.agent.unwrap();
        assert!(
            restored_agent.parts.is_empty() && restored_agent.notices[0].contains("is unchanged"),
            "{restored_agent:?}"
        );
        assert_eq!(fs::read(agent.project().join("a.txt")).unwrap(), file, "{number}");
        assert_eq!(fs::read_to_string(agent.folder().join("goal.json")).unwrap(), "{}");
        let pruned = manager.prune(&herma_core::PruneOptions::from(manager.config()), &mut |_| {});
        assert_eq!(pruned.unwrap().errors, 0, "{number}");
        assert!(agent.machine.git_finds_nothing_broken(), "{number}");
    }
}

// rule: agent/parts
#[test]
fn an_envelope_is_deleted_with_its_checkpoint() {
    let agent = Agent::new();
    let config = Config { max_snapshots: 2, ..Config::default() };
    let manager = agent.manager_with(HookedDisk::of_an_ordinary_user, config);
    for step in 0..5 {
        agent.machine.write("a.txt", &format!("{step}\n"));
        manager.checkpoint(&agent.project(), "step").unwrap();
    }
    assert_eq!(envelope_count(&agent), 2);
    fs::remove_dir_all(agent.project()).unwrap();
    manager.prune(&herma_core::PruneOptions::from(manager.config()), &mut |_| {}).unwrap();
    assert!(manager.list(&agent.project()).unwrap().is_empty());
    let refs = agent.machine.git().args(["for-each-ref"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&refs.stdout), "");
}

// rule: agent/all-or-none
#[test]
fn restore_refuses_everything_if_a_part_cannot_be_restored() {
    let agent = Agent::new();
    agent.take("good");
    agent.machine.write("a.txt", "bad\n");
    agent.unset("goal");
    fs::create_dir(agent.folder().join("goal.json")).unwrap();
    let before = fs::read(agent.project().join("a.txt")).unwrap();
    let refused = agent.manager().restore(&agent.project(), b"1", exactly()).unwrap_err();
    assert_eq!(refused.code(), "bad_state");
    let message = refused.to_string();
    assert!(message.contains("`herma doctor` names the file"), "{message}");
    assert_eq!(fs::read(agent.project().join("a.txt")).unwrap(), before);
    assert_eq!(agent.manager().list(&agent.project()).unwrap().len(), 1);
    // As the message says, the file alone can be restored.
    let file = agent.manager().restore_file(&agent.project(), b"1", b"a.txt").unwrap();
    assert_eq!(file.restored, [b"a.txt"]);
}

// rule: agent/parts
// rule: agent/all-or-none
#[test]
fn a_damaged_part_is_found_by_verify_and_loses_all_parts_but_no_file() {
    let agent = Agent::new();
    agent.take("good");
    let manager = agent.manager();
    let envelope = manager.envelope(&agent.project(), b"1").unwrap().1.unwrap();
    let goal = envelope.parts.iter().find(|part| part.name == "goal").unwrap();
    let (folder, name) = goal.hash.split_at(2);
    fs::remove_file(agent.machine.base().join("store/objects").join(folder).join(name)).unwrap();
    let verified = manager.verify(&mut |_, _| {}).unwrap();
    assert!(verified.envelopes[0].why.contains("its goal is damaged"), "{verified:?}");
    assert!(!verified.is_intact());
    let file = fs::read(agent.project().join("a.txt")).unwrap();
    agent.machine.write("a.txt", "bad\n");
    agent.set("kanban", "{}");
    agent.set("goal", "{}");
    let restored = manager.restore(&agent.project(), b"1", exactly()).unwrap().agent.unwrap();
    assert!(restored.parts.is_empty(), "{restored:?}");
    assert!(restored.notices[0].contains("the checkpoint's goal is damaged"), "{restored:?}");
    assert_eq!(fs::read(agent.project().join("a.txt")).unwrap(), file);
    assert_eq!(fs::read_to_string(agent.folder().join("kanban.json")).unwrap(), "{}");
}

// rule: agent/parts
#[test]
fn restore_restores_the_parts_that_the_agent_has_and_reports_the_others() {
    let agent = Agent::new();
    agent.take("good");
    let goal = fs::read(agent.folder().join("goal.json")).unwrap();
    agent.set("goal", "{}");
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    let part: Arc<dyn Part> = Arc::new(FilePart::new(disk, PartKind::Goal, &agent.folder()));
    let manager = agent.machine.manager().with_state(State::of([part]));
    let restored = manager.restore(&agent.project(), b"1", exactly()).unwrap().agent.unwrap();
    assert_eq!(restored.changed, ["goal"]);
    assert!(
        restored
            .notices
            .contains(&"this agent has no kanban, which the checkpoint contains".to_owned()),
        "{restored:?}"
    );
    assert_eq!(fs::read(agent.folder().join("goal.json")).unwrap(), goal);
}

// rule: agent/all-or-none
#[test]
fn restore_restores_the_largest_part_that_can_be_captured() {
    let agent = Agent::new();
    let large = format!("\"{}\"", "x".repeat(17 * 1024 * 1024));
    agent.set("kanban", &large);
    agent.take("large");
    agent.set("kanban", "{}");
    let restored = agent.manager().restore(&agent.project(), b"1", RestoreOptions::default());
    assert_eq!(restored.unwrap().agent.unwrap().notices, Vec::<String>::new());
    let found = fs::read_to_string(agent.folder().join("kanban.json")).unwrap();
    assert!(found == large, "{} bytes", found.len());
}

// rule: agent/all-or-none
#[test]
fn restore_syncs_the_removal_of_a_part_before_it_removes_its_journal() {
    let agent = Agent::new();
    agent.take("without memories");
    agent.set("memory", "{}");
    let calls = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&calls);
    let disk = move || {
        let recorded = Arc::clone(&recorded);
        HookedDisk::new(move |call, path| {
            recorded.lock().unwrap().push((call, path.to_owned()));
            Ok(())
        })
    };
    agent.manager_with(disk, Config::default()).restore(&agent.project(), b"1", exactly()).unwrap();
    let calls = calls.lock().unwrap();
    let position = |call: Call, path: PathBuf| {
        calls.iter().rposition(|recorded| *recorded == (call, path.clone()))
    };
    let removed = position(Call::RemoveFile, agent.folder().join("memory.json")).unwrap();
    let journal = format!("store/undo/{}.json", agent.machine.hash());
    let ended = position(Call::RemoveFile, agent.machine.base().join(journal)).unwrap();
    let synced = (Call::SyncDirectory, agent.folder());
    assert!(calls[removed..ended].contains(&synced), "{calls:?}");
}
