//! Labelled checkpoints: no limit evicts them until they are unpinned, and a label can name the target of a
//! restore.

use super::agent::{Agent, created_id};
use herma_core::{Config, Manager, Occasion, PruneOptions, RestoreOptions};
use herma_harness::subject::HookedDisk;
use pretty_assertions::assert_eq;
use std::fs;

fn manager_with_limit(agent: &Agent, max_snapshots: usize) -> Manager {
    let config = Config { max_snapshots, ..Config::default() };
    agent.manager_with(HookedDisk::of_an_ordinary_user, config)
}

fn step(agent: &Agent, manager: &Manager, name: &str) -> String {
    agent.machine.write("a.txt", name);
    created_id(&manager.checkpoint(&agent.project(), name).unwrap())
}

fn label(agent: &Agent, manager: &Manager, name: &str) -> String {
    agent.machine.write("a.txt", name);
    created_id(&manager.checkpoint_for(&agent.project(), &Occasion::labelled(name)).unwrap())
}

fn reasons(agent: &Agent, manager: &Manager) -> Vec<String> {
    manager.list(&agent.project()).unwrap().into_iter().map(|entry| entry.reason).collect()
}

fn assert_restores(agent: &Agent, manager: &Manager, target: &str, content: &str) {
    manager.restore(&agent.project(), target.as_bytes(), RestoreOptions::default()).unwrap();
    assert_eq!(fs::read_to_string(agent.project().join("a.txt")).unwrap(), content);
}

// rule: agent/pinned
#[test]
fn a_labelled_checkpoint_is_not_evicted_by_max_snapshots_until_unpin() {
    let agent = Agent::new();
    let manager = manager_with_limit(&agent, 2);
    step(&agent, &manager, "one");
    label(&agent, &manager, "first");
    step(&agent, &manager, "two");
    label(&agent, &manager, "second");
    for name in ["three", "four", "five"] {
        step(&agent, &manager, name);
    }
    assert_eq!(reasons(&agent, &manager), ["five", "four", "second", "first"]);
    manager.prune(&PruneOptions::from(manager.config()), &mut |_| {}).unwrap();
    agent.machine.git().args(["gc", "--prune=now", "--quiet"]).status().unwrap();
    assert_eq!(reasons(&agent, &manager), ["five", "four", "second", "first"]);
    assert_restores(&agent, &manager, "first", "first");
    assert_restores(&agent, &manager, "second", "second");
    manager.unpin(&agent.project(), b"first").unwrap();
    assert!(!reasons(&agent, &manager).contains(&"first".to_owned()));
    step(&agent, &manager, "six");
    assert_eq!(reasons(&agent, &manager)[..1], ["six"]);
    assert!(reasons(&agent, &manager).contains(&"second".to_owned()));
    assert!(agent.machine.git_finds_nothing_broken());
}

// rule: agent/pinned
#[test]
fn checkpoint_reports_pins_that_alone_exceed_max_snapshots() {
    let agent = Agent::new();
    let manager = manager_with_limit(&agent, 2);
    label(&agent, &manager, "first");
    label(&agent, &manager, "second");
    agent.machine.write("a.txt", "more");
    let taken = manager.checkpoint(&agent.project(), "more").unwrap();
    assert!(taken.notices[0].contains("2 checkpoints are pinned"), "{:?}", taken.notices);
    assert_eq!(reasons(&agent, &manager), ["more", "second", "first"]);
}

// rule: agent/pinned
#[test]
fn neither_max_total_bytes_nor_prune_evicts_a_pinned_checkpoint() {
    let agent = Agent::new();
    let config = Config { max_total_bytes: 300_000, ..Config::default() };
    let manager = agent.manager_with(HookedDisk::of_an_ordinary_user, config);
    let noise = |seed: u64| -> String {
        let mut state = seed;
        let mut digit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'a' + (state >> 60) as u8)
        };
        (0..200_000).map(|_| digit()).collect()
    };
    agent.machine.write("large", &noise(1));
    created_id(&manager.checkpoint_for(&agent.project(), &Occasion::labelled("base")).unwrap());
    for seed in 2..6 {
        agent.machine.write("large", &noise(seed));
        created_id(&manager.checkpoint(&agent.project(), &seed.to_string()).unwrap());
    }
    let left = reasons(&agent, &manager);
    assert!(left.contains(&"base".to_owned()) && left.len() < 5, "{left:?}");
    assert_eq!(left[0], "5");
    fs::remove_dir_all(agent.project()).unwrap();
    let pruned = manager.prune(&PruneOptions::from(manager.config()), &mut |_| {}).unwrap();
    assert_eq!((pruned.orphans, pruned.errors), (0, 0));
    assert_eq!(pruned.over_bytes, 0, "one that is pinned and the newest fit");
    let tight = PruneOptions { max_total_bytes: 1_000, ..PruneOptions::from(manager.config()) };
    let pruned = manager.prune(&tight, &mut |_| {}).unwrap();
    assert!(pruned.over_bytes > 100_000, "what limits cannot drop is said: {pruned:?}");
    assert_restores_large(&agent, &manager, &noise(1));
}

fn assert_restores_large(agent: &Agent, manager: &Manager, content: &str) {
    manager.restore(&agent.project(), b"base", RestoreOptions::default()).unwrap();
    assert_eq!(fs::read_to_string(agent.project().join("large")).unwrap(), content);
}

// rule: agent/all-or-none
#[test]
fn an_ambiguous_label_is_refused_with_both_ids_and_an_invalid_label_is_refused() {
    let agent = Agent::new();
    let manager = manager_with_limit(&agent, 10);
    let ids = [label(&agent, &manager, "twice"), label(&agent, &manager, "twice")];
    let refused = manager.restore(&agent.project(), b"twice", RestoreOptions::default());
    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), "ambiguous_checkpoint");
    assert!(ids.iter().all(|id| refused.to_string().contains(&id[..10])), "{refused}");
    let invalid = manager.checkpoint_for(&agent.project(), &Occasion::labelled("12")).unwrap_err();
    assert_eq!(invalid.code(), "bad_label");
    // A target that could be a label or an id is the label.
    label(&agent, &manager, "facade");
    step(&agent, &manager, "later");
    assert_restores(&agent, &manager, "facade", "facade");
}
