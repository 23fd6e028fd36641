//! What the limit on checkpoints of a project drops and leaves where it changes, or where another
//! tool works on the store too.

use crate::maintenance::world::World;
use herma_core::Config;
use herma_core::disk::SystemDisk;
use pretty_assertions::assert_eq;

#[test]
fn a_lower_limit_holds_from_the_next_checkpoint_on() {
    let world = World::new();
    (0..6).for_each(|step| drop(world.take_keeping(20, "project", &format!("{step}"))));
    assert_eq!(world.list("project").len(), 6);
    world.take_keeping(1, "project", "6");
    assert_eq!(world.list("project"), ["6"]);
    world.take_keeping(2, "project", "7");
    assert_eq!(world.list("project"), ["7", "6"]);
    // Git, too, takes what was dropped for gone and nothing else.
    world.git(&["gc", "--quiet", "--prune=now"]);
    world.git_finds_nothing_broken();
    assert_eq!(world.git(&["rev-list", "--all"]).lines().count(), 2);
    world.restores("project");
}

#[test]
fn a_commit_that_another_tool_wrote_for_two_projects_is_no_end_of_either() {
    let world = World::new();
    (0..3).for_each(|step| drop(world.take_keeping(20, "one", &format!("{step}"))));
    world.take_keeping(20, "other", "its own");
    let tip = world.git(&["rev-parse", &format!("refs/hermes/{}", world.hash("one"))]);
    let tree = world.git(&["rev-parse", &format!("{tip}^{{tree}}")]);
    let words = ["commit-tree", &tree, "-p", &tip, "-m", "theirs"];
    let shared = world.git(&words);
    for name in ["one", "other"] {
        world.git(&["update-ref", &format!("refs/hermes/{}", world.hash(name)), &shared]);
    }
    world.take_keeping(2, "one", "4");
    let two = world.on(SystemDisk, Config { max_snapshots: 2, ..Config::default() });
    assert_eq!(two.list(&world.project("one")).unwrap().len(), 2);
    assert_eq!(world.list("other"), ["theirs", "2", "1", "0"]);
    world.take_keeping(2, "one", "5");
    assert_eq!(world.list("one"), ["5", "4"]);
    assert_eq!(world.list("other"), ["theirs", "2", "1", "0"]);
    world.git_finds_nothing_broken();
}

#[test]
fn a_history_that_two_projects_share_is_not_cut_for_one_of_them() {
    for is_shared in [true, false] {
        let world = World::new();
        ["one", "other"].iter().for_each(|project| drop(world.take_keeping(20, project, "first")));
        let reference = |project| format!("refs/hermes/{}", world.hash(project));
        // Only another tool writes commits that say nothing of their project.
        let tree = world.git(&["rev-parse", &format!("{}^{{tree}}", reference("one"))]);
        let chain = |reasons: &[&str]| {
            let mut tip = world.git(&["commit-tree", &tree, "-m", reasons[0]]);
            for reason in &reasons[1..] {
                tip = world.git(&["commit-tree", &tree, "-p", &tip, "-m", reason]);
            }
            tip
        };
        let shared = chain(&["0", "1", "2"]);
        let own = chain(&["a", "b", "c"]);
        world.git(&["update-ref", &reference("one"), &shared]);
        let others = if is_shared { &shared } else { &own };
        world.git(&["update-ref", &reference("other"), others]);
        world.take_keeping(2, "one", "second");
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
