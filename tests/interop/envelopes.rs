//! A store whose checkpoints carry the state of an agent, and hermes-agent, which knows nothing of that.

use super::world::{MANY, World, files_at, write};
use super::{Checkpoint, ids, reasons};
use herma_core::disk::{Disk, SystemDisk};
use herma_core::state::State;
use herma_core::{Config, Manager, Occasion, RestoreOptions, SystemClock, Trigger};
use pretty_assertions::assert_eq;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// The core for an agent with state.
fn agent(world: &World, most: usize) -> Manager {
    let folder = world.store().join("../../../agent");
    fs::create_dir_all(&folder).unwrap();
    let folder = fs::canonicalize(folder).unwrap();
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    let state = State::in_files(&disk, Arc::new(SystemClock), &folder, Default::default());
    world.core(most).with_state(state)
}

fn set_goal(world: &World, goal: &str) {
    let path = world.store().join("../../../agent/goal.json");
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
    listed.iter().map(|one| goal(&one.id)).collect()
}

/// Checkpoints that carry the goals 0, 1 and on; the second has a label.
fn history(world: &mut World, dir: &Path, steps: u8) -> Vec<Checkpoint> {
    for step in 0..steps {
        write(dir, &files_at(step));
        let manager = agent(world, MANY);
        set_goal(world, &step.to_string());
        let reason = format!("step {step}\n\nand more of it");
        let label = (step == 1).then_some("second");
        let occasion = Occasion { label, ..Occasion::new(Trigger::Manual, &reason) };
        manager.checkpoint_for(dir, &occasion).unwrap();
    }
    world.list(MANY, dir)
}

fn known(numbers: impl IntoIterator<Item = u8>) -> Vec<Option<String>> {
    numbers.into_iter().map(|number| Some(number.to_string())).collect()
}

// rule: agent/parts
#[test]
fn hermes_agent_lists_and_restores_a_store_with_envelopes_and_leaves_them_whole() {
    let Some(mut world) = World::new() else { return };
    let (dir, gone) = (world.project("alpha"), world.project("gone"));
    let list = history(&mut world, &dir, 4);
    history(&mut world, &gone, 1);
    assert_eq!(list.len(), 4);
    for (one, step) in list.iter().zip((0..4).rev()) {
        world.hermes_restores(&dir, &one.id, &files_at(step));
    }
    let listed = world.list(MANY, &dir);
    assert!(ids(&listed).ends_with(&ids(&list)), "{listed:?}");
    // Of those that hermes-agent took the goal is not known.
    let carried = |manager: &Manager| {
        goals(manager, &dir).into_iter().filter(Option::is_some).collect::<Vec<_>>()
    };
    let manager = agent(&world, MANY);
    assert_eq!(carried(&manager), known((0..4).rev()));
    fs::remove_dir_all(&gone).unwrap();
    let pruned = world.hermes.prune();
    assert_eq!((&pruned["deleted_orphan"], &pruned["errors"]), (&1.into(), &0.into()), "{pruned}");
    world.git(&["gc", "--prune=now", "--quiet"]);
    assert_eq!(carried(&manager), known((0..4).rev()));
    world.is_sound();
    let options = RestoreOptions { exact: true, force: false };
    set_goal(&world, "something else");
    manager.restore(&dir, list[3].id.as_bytes(), options).unwrap();
    let goal = fs::read_to_string(world.store().join("../../../agent/goal.json")).unwrap();
    assert_eq!(goal, "{\"active\": \"0\"}\n");
}

// rule: agent/parts
// rule: agent/pinned
#[test]
fn commits_that_hermes_agent_makes_anew_keep_their_envelopes_and_pins_what_it_drops() {
    let Some(mut world) = World::new() else { return };
    let dir = world.project("alpha");
    let list = history(&mut world, &dir, 4);
    write(&dir, &files_at(9));
    world.hermes.take(3, &dir, "beyond the limit");
    let now = world.hermes.list(MANY, &dir);
    assert_eq!(now.len(), 3);
    assert!(ids(&now).iter().all(|id| !ids(&list).contains(id)), "they have other ids");
    let manager = agent(&world, MANY);
    // The newest is hermes-agent's; the last one is pinned.
    let expected = [vec![None], known([3, 2, 1])].concat();
    assert_eq!(goals(&manager, &dir), expected);
    let options = RestoreOptions { exact: true, force: false };
    manager.restore(&dir, b"second", options).unwrap();
    assert_eq!(super::world::read(&dir), files_at(1));
    manager.prune(&herma_core::PruneOptions::from(&Config::default()), &mut |_| {}).unwrap();
    let kept = goals(&manager, &dir);
    assert!(kept.ends_with(&known([3, 2, 1])), "{kept:?}");
    assert!(reasons(&now).contains(&"beyond the limit"));
    world.is_sound();
}
