//! What the limit on checkpoints of a project drops, and what it leaves.

use crate::maintenance::world::{World, git, succeeds};
use herma_core::disk::SystemDisk;
use herma_core::{Config, Listed, Manager, Outcome, RestoreOptions};
use pretty_assertions::assert_eq;
use std::fs;

/// A manager that keeps so many checkpoints of a project.
fn keeping(world: &World, max_snapshots: usize) -> Manager {
    world.on(SystemDisk, Config { max_snapshots, ..Config::default() })
}

/// Takes a checkpoint that leaves so many, and answers its id.
#[track_caller]
fn take(world: &World, most: usize, project: &str, content: &str) -> String {
    world.write(project, content);
    let taken = keeping(world, most).checkpoint(&world.project(project), content).unwrap();
    match taken.outcome {
        Outcome::Created { id } => id,
        outcome => panic!("{outcome:?}"),
    }
}

/// What git says to this about the store.
#[track_caller]
fn asked(world: &World, words: &[&str]) -> String {
    let mut git = git(&world.store());
    git.args(words);
    String::from_utf8(succeeds(git).stdout).unwrap().trim_end().to_owned()
}

fn seen(listed: &[Listed]) -> Vec<(String, i64, String)> {
    listed.iter().map(|one| (one.id.clone(), one.time, one.reason.clone())).collect()
}

#[test]
fn the_newest_remain_as_they_were() {
    let world = World::new();
    let mut before = Vec::new();
    for step in 0..6 {
        take(&world, 3, "project", &format!("{step}"));
        let listed = world.manager().list(&world.project("project")).unwrap();
        before.insert(0, seen(&listed).remove(0));
    }
    // Whoever keeps more of them later does not see the dropped ones again.
    let listed = keeping(&world, 100).list(&world.project("project")).unwrap();
    assert_eq!(seen(&listed), before[..3]);
    assert_eq!(listed[2].stats, None, "the oldest is compared with a dropped one");
    world.git_finds_nothing_broken();
    let reference = format!("refs/hermes/{}", world.hash("project"));
    assert_eq!(asked(&world, &["rev-list", "--count", &reference]), "3");
    asked(&world, &["gc", "--quiet", "--prune=now"]);
    world.git_finds_nothing_broken();
    for (id, _, content) in &before[..3] {
        let options = RestoreOptions::default();
        let manager = keeping(&world, 100);
        manager.restore(&world.project("project"), id.as_bytes(), options).unwrap();
        let found = fs::read_to_string(world.project("project").join("a.txt")).unwrap();
        assert_eq!(found, *content);
    }
}

#[test]
fn a_lower_limit_holds_from_the_next_checkpoint_on() {
    let world = World::new();
    (0..6).for_each(|step| drop(take(&world, 20, "project", &format!("{step}"))));
    assert_eq!(world.list("project").len(), 6);
    take(&world, 1, "project", "6");
    assert_eq!(world.list("project"), ["6"]);
    take(&world, 2, "project", "7");
    assert_eq!(world.list("project"), ["7", "6"]);
}

#[test]
fn a_restore_drops_nothing_before_its_target_is_back() {
    let world = World::new();
    (0..3).for_each(|step| drop(take(&world, 3, "project", &format!("{step}"))));
    world.write("project", "unsaved");
    let options = RestoreOptions::default();
    let restored = keeping(&world, 3).restore(&world.project("project"), b"3", options).unwrap();
    assert!(restored.safety.is_some());
    let found = fs::read_to_string(world.project("project").join("a.txt")).unwrap();
    assert_eq!(found, "0");
    assert_eq!(world.list("project").len(), 3);
    assert_eq!(world.list("project")[1..], ["2", "1"]);
    world.git_finds_nothing_broken();
}

#[test]
fn equal_checkpoints_of_two_projects_are_dropped_one_by_one() {
    let world = World::new();
    for step in 0..3 {
        let ids = ["one", "other"].map(|name| take(&world, 20, name, &format!("{step}")));
        assert_ne!(ids[0], ids[1]);
    }
    take(&world, 2, "one", "3");
    assert_eq!(world.list("one"), ["3", "2"]);
    assert_eq!(world.list("other"), ["2", "1", "0"]);
    world.git_finds_nothing_broken();
}

#[test]
fn a_commit_that_another_tool_wrote_for_two_projects_is_no_end_of_either() {
    let world = World::new();
    (0..3).for_each(|step| drop(take(&world, 20, "one", &format!("{step}"))));
    take(&world, 20, "other", "its own");
    let tip = asked(&world, &["rev-parse", &format!("refs/hermes/{}", world.hash("one"))]);
    let tree = asked(&world, &["rev-parse", &format!("{tip}^{{tree}}")]);
    let words = ["commit-tree", &tree, "-p", &tip, "-m", "theirs"];
    let shared = asked(&world, &words);
    for name in ["one", "other"] {
        asked(&world, &["update-ref", &format!("refs/hermes/{}", world.hash(name)), &shared]);
    }
    take(&world, 2, "one", "4");
    assert_eq!(keeping(&world, 2).list(&world.project("one")).unwrap().len(), 2);
    assert_eq!(world.list("other"), ["theirs", "2", "1", "0"]);
    take(&world, 2, "one", "5");
    assert_eq!(world.list("one"), ["5", "4"]);
    assert_eq!(world.list("other"), ["theirs", "2", "1", "0"]);
    world.git_finds_nothing_broken();
}

#[test]
fn a_history_that_two_projects_share_is_not_cut_for_one_of_them() {
    for is_shared in [true, false] {
        let world = World::new();
        ["one", "other"].iter().for_each(|project| drop(take(&world, 20, project, "first")));
        let reference = |project| format!("refs/hermes/{}", world.hash(project));
        // Only another tool writes commits that say nothing of their project.
        let tree = asked(&world, &["rev-parse", &format!("{}^{{tree}}", reference("one"))]);
        let chain = |reasons: &[&str]| {
            let mut tip = asked(&world, &["commit-tree", &tree, "-m", reasons[0]]);
            for reason in &reasons[1..] {
                tip = asked(&world, &["commit-tree", &tree, "-p", &tip, "-m", reason]);
            }
            tip
        };
        let shared = chain(&["0", "1", "2"]);
        let own = chain(&["a", "b", "c"]);
        asked(&world, &["update-ref", &reference("one"), &shared]);
        let others = if is_shared { &shared } else { &own };
        asked(&world, &["update-ref", &reference("other"), others]);
        take(&world, 2, "one", "second");
        let listed = world.list("one");
        if is_shared {
            assert_eq!(listed, ["second", "2", "1", "0"]);
            assert_eq!(world.list("other"), ["2", "1", "0"]);
        } else {
            assert_eq!(listed, ["second", "2"]);
            assert_eq!(world.list("other"), ["c", "b", "a"]);
        }
        world.git_finds_nothing_broken();
    }
}
