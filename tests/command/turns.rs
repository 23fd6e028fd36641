//! `herma checkpoint --turn`, as a hook calls it before each edit: one checkpoint for each turn.

use crate::command::world::CommandFixture;
use pretty_assertions::assert_eq;

fn take(world: &CommandFixture, turn: &str) -> String {
    world.herma(&["checkpoint", "--turn", turn]).done().text()
}

fn list(world: &CommandFixture) -> Vec<serde_json::Value> {
    let listed = world.herma(&["rollback", "--json"]).done().json();
    listed["checkpoints"].as_array().unwrap().clone()
}

// rule: turn/once
// rule: turn/reset
#[test]
fn checkpoint_with_turn_keeps_the_state_before_thirty_edits_of_the_turn() {
    let world = CommandFixture::new();
    world.configure("checkpoints:\n  max_snapshots: 3\n");
    world.write("a", "before\n");
    for edit in 0..30 {
        let said = take(&world, "t1");
        let begins = if edit == 0 { "Took checkpoint" } else { "No checkpoint taken" };
        assert!(said.starts_with(begins), "{said}");
        world.write("a", format!("{edit}\n"));
    }
    assert_eq!(list(&world).len(), 1);
    world.herma(&["rollback", "1"]).done();
    assert_eq!(world.read("a"), "before\n");
    // The next turn has its own, and so has a manual request.
    world.write("a", "second turn\n");
    assert!(take(&world, "t2").starts_with("Took checkpoint"));
    world.write("a", "manual\n");
    assert!(world.herma(&["checkpoint"]).done().text().starts_with("Took checkpoint"));
    world.write("a", "after\n");
    assert!(take(&world, "t2").starts_with("No checkpoint taken"));
}

// rule: turn/nothing-uses-slot
// rule: turn/failure-keeps-slot
#[test]
fn checkpoint_with_turn_is_used_up_by_an_unchanged_project_and_not_by_a_failure() {
    let world = CommandFixture::new();
    world.write("a", "1\n");
    world.herma(&["checkpoint"]).done();
    take(&world, "t1");
    world.write("a", "2\n");
    assert!(take(&world, "t1").starts_with("No checkpoint taken"));
    let home = world.home();
    let refused = world.herma(&["checkpoint", "--turn", "t2", home.to_str().unwrap()]);
    assert_eq!(refused.refusal(), "scope_home");
    assert!(take(&world, "t2").starts_with("Took checkpoint"));
    // A hook whose variable is not set has no turn, and must not switch checkpoints off.
    for content in ["3\n", "4\n"] {
        world.write("a", content);
        assert!(take(&world, "").starts_with("Took checkpoint"));
    }
}

// rule: turn/per-project
#[test]
fn checkpoint_with_turn_counts_for_each_project_alone() {
    let world = CommandFixture::new();
    let elsewhere = world.home().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("a"), "1").unwrap();
    world.write("a", "1\n");
    take(&world, "t1");
    let words = ["checkpoint", "--turn", "t1", elsewhere.to_str().unwrap()];
    assert!(world.herma(&words).done().text().starts_with("Took checkpoint"));
    assert!(world.herma(&words).done().text().starts_with("No checkpoint taken"));
}
