//! A store whose checkpoints carry agent state, used by hermes-agent, which does not know about that state.

use super::world::{InteropFixture, MANY, files_at, write};
use super::{Checkpoint, ids, reasons};
use herma_core::disk::{Disk, SystemDisk};
use herma_core::state::State;
use herma_core::{Config, Manager, Occasion, RestoreOptions, SystemClock, Trigger};
use pretty_assertions::assert_eq;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// The core for an agent with state.
fn agent(fixture: &InteropFixture, max_snapshots: usize) -> Manager {
    let folder = fixture.store().join("../../../agent");
    fs::create_dir_all(&folder).unwrap();
    let folder = fs::canonicalize(folder).unwrap();
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    let state = State::in_files(&disk, Arc::new(SystemClock), &folder, Default::default());
    fixture.core(max_snapshots).with_state(state)
}

fn set_goal(fixture: &InteropFixture, goal: &str) {
    let path = fixture.store().join("../../../agent/goal.json");
    fs::write(path, format!("{{\"active\": \"{goal}\"}}\n")).unwrap();
}

/// The goal that each checkpoint carries, newest first.
fn goals(manager: &Manager, dir: &Path) -> Vec<Option<String>> {
    let listed = manager.list(dir).unwrap();
    let goal = |id: &str| {
        let envelope = manager.envelope(dir, id.as_bytes()).unwrap().1?;
        let goal = envelope.parts.into_iter().find(|part| part.name == "goal")?;
        Some(goal.about[0].1.as_str()?.to_owned())
    };
    listed.iter().map(|entry| goal(&entry.id)).collect()
}

/// Takes checkpoints with the goals 0, 1 and so on; the second has a label.
fn history(fixture: &mut InteropFixture, dir: &Path, steps: u8) -> Vec<Checkpoint> {
    for step in 0..steps {
        write(dir, &files_at(step));
        let manager = agent(fixture, MANY);
        set_goal(fixture, &step.to_string());
        let reason = format!("step {step}\n\nand more of it");
        let label = (step == 1).then_some("second");
        let occasion = Occasion { label, ..Occasion::new(Trigger::Manual, &reason) };
        manager.checkpoint_for(dir, &occasion).unwrap();
    }
    fixture.list(MANY, dir)
}

fn goals_of(numbers: impl IntoIterator<Item = u8>) -> Vec<Option<String>> {
    numbers.into_iter().map(|number| Some(number.to_string())).collect()
}

// rule: agent/parts
#[test]
fn hermes_agent_lists_and_restores_a_store_with_envelopes_and_keeps_them_intact() {
    let Some(mut fixture) = InteropFixture::new() else { return };
    let dir = fixture.project("alpha");
    let gone = fixture.project("gone");
    let list = history(&mut fixture, &dir, 4);
    history(&mut fixture, &gone, 1);
    assert_eq!(list.len(), 4);
    for (checkpoint, step) in list.iter().zip((0..4).rev()) {
        fixture.assert_hermes_restores(&dir, &checkpoint.id, &files_at(step));
    }
    let listed = fixture.list(MANY, &dir);
    assert!(ids(&listed).ends_with(&ids(&list)), "{listed:?}");
    // Checkpoints by hermes-agent carry no goal.
    let carried = |manager: &Manager| {
        goals(manager, &dir).into_iter().filter(Option::is_some).collect::<Vec<_>>()
    };
    let manager = agent(&fixture, MANY);
    assert_eq!(carried(&manager), goals_of((0..4).rev()));
    fs::remove_dir_all(&gone).unwrap();
    let pruned = fixture.hermes.prune();
    assert_eq!((&pruned["deleted_orphan"], &pruned["errors"]), (&1.into(), &0.into()), "{pruned}");
    fixture.git(&["gc", "--prune=now", "--quiet"]);
    assert_eq!(carried(&manager), goals_of((0..4).rev()));
    fixture.assert_sound();
    let options = RestoreOptions { exact: true, force: false };
    set_goal(&fixture, "something else");
    manager.restore(&dir, list[3].id.as_bytes(), options).unwrap();
    let goal = fs::read_to_string(fixture.store().join("../../../agent/goal.json")).unwrap();
    assert_eq!(goal, "{\"active\": \"0\"}\n");
}

// rule: agent/parts
// rule: agent/pinned
#[test]
fn commits_that_hermes_agent_rewrites_keep_their_envelopes_and_pins() {
    let Some(mut fixture) = InteropFixture::new() else { return };
    let dir = fixture.project("alpha");
    let list = history(&mut fixture, &dir, 4);
    write(&dir, &files_at(9));
    fixture.hermes.take(3, &dir, "beyond the limit");
    let listed = fixture.hermes.list(MANY, &dir);
    assert_eq!(listed.len(), 3);
    assert!(ids(&listed).iter().all(|id| !ids(&list).contains(id)), "they have other ids");
    let manager = agent(&fixture, MANY);
    // The newest is by hermes-agent; the oldest is pinned.
    let expected = [vec![None], goals_of([3, 2, 1])].concat();
    assert_eq!(goals(&manager, &dir), expected);
    let options = RestoreOptions { exact: true, force: false };
    manager.restore(&dir, b"second", options).unwrap();
    assert_eq!(super::world::read(&dir), files_at(1));
    manager.prune(&herma_core::PruneOptions::from(&Config::default()), &mut |_| {}).unwrap();
    let kept = goals(&manager, &dir);
    assert!(kept.ends_with(&goals_of([3, 2, 1])), "{kept:?}");
    assert!(reasons(&listed).contains(&"beyond the limit"));
    fixture.assert_sound();
}
