//! What a restore says that could not do everything: the true reason, and the command that completes it.

use crate::command::world::{CommandFixture, CommandOutput};
use pretty_assertions::assert_eq;
use std::fs;

/// The command between backticks in the complaint of an incomplete restore, as words.
#[track_caller]
fn advised(output: &CommandOutput) -> Vec<String> {
    assert_eq!(output.exit, Some(4), "{}", output.stderr);
    let command = output.stderr.split('`').nth(1).expect(&output.stderr);
    let words = command.strip_prefix("herma ").expect(command);
    words.split(' ').map(str::to_owned).collect()
}

// rule: restore/undo-redo
#[test]
fn the_command_that_an_incomplete_undo_prints_completes_it() {
    let world = CommandFixture::new();
    world.write("a", "good\n");
    world.write("data", "good\n");
    world.herma(&["checkpoint"]).done();
    world.write("a", "bad\n");
    world.write("data", vec![0; 10 * 1024 * 1024 + 1]);
    world.write("new", "bad\n");
    let again = advised(&world.herma(&["undo"]));
    fs::rename(world.path("data"), world.home().join("elsewhere")).unwrap();
    world.herma(&again).done();
    for path in ["a", "data"] {
        assert_eq!(world.read(path), "good\n", "{again:?}");
    }
    assert!(!world.has("new"));
}

// rule: restore/exact
#[test]
fn undo_is_complete_where_a_file_stays_that_the_checkpoint_excluded() {
    let world = CommandFixture::new();
    world.write(".gitignore", "ignored\n");
    world.write("ignored", "1\n");
    world.herma(&["checkpoint"]).done();
    world.write(".gitignore", "");
    let undone = world.herma(&["undo"]).done().text();
    assert!(undone.contains("kept      ignored  (in the checkpoint it is"), "{undone}");
    assert_eq!(world.read(".gitignore"), "ignored\n");
}
