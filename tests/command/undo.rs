//! `herma undo` and `redo`: which rollback they undo, and that they name it.

use crate::command::world::CommandFixture;
use pretty_assertions::assert_eq;

/// A file that a rollback to the only checkpoint changed.
fn rolled_back() -> CommandFixture {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    world.checkpoint("first");
    world.write("a.txt", "two\n");
    world.herma(&["rollback", "1"]).done();
    world
}

// rule: restore/undo-redo
#[test]
fn undo_after_a_rollback_that_changed_nothing_names_the_rollback_that_it_undoes() {
    let world = rolled_back();
    let id = world.herma(&["list", "--json"]).done().json()["checkpoints"][1]["id"].clone();
    let none = world.herma(&["rollback", "1"]).done().text();
    assert!(none.starts_with("Nothing to restore"), "{none}");
    let named = |said: String| said.lines().next().unwrap().to_owned();
    let short = &id.as_str().unwrap()[..7];
    for words in [&["undo", "--dry-run"][..], &["undo"]] {
        let heading = named(world.herma(words).done().text());
        assert!(heading.starts_with("Undo of the rollback of 2"), "{heading}");
        assert!(heading.ends_with(&format!(" to checkpoint {short}")), "{heading}");
    }
    assert_eq!(world.read("a.txt"), "two\n");
    let redo = named(world.herma(&["redo"]).done().text());
    assert!(redo.starts_with("Redo of the rollback, after the undo of 2"), "{redo}");
    assert_eq!(world.read("a.txt"), "one\n");
}

#[test]
fn undo_names_the_rollback_in_json_and_another_restore_does_not() {
    let world = rolled_back();
    let plain = world.herma(&["rollback", "1", "--json"]).done().json();
    assert!(plain["undone"].is_null(), "{plain}");
    for words in [&["undo", "--dry-run", "--json"][..], &["undo", "--json"]] {
        let undone = world.herma(words).done().json()["undone"].clone();
        assert_eq!(undone["target"], plain["id"]);
        assert!(undone["time"].is_i64(), "{undone}");
    }
}

/// The files of a turn that was undone: one that it changed, and one that it created.
fn turn_undone() -> CommandFixture {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    world.checkpoint("before the turn");
    world.write("a.txt", "two\n");
    world.write("created.txt", "new\n");
    world.herma(&["undo"]).done();
    assert_eq!((world.read("a.txt").as_str(), world.has("created.txt")), ("one\n", false));
    world
}

// rule: restore/undo-redo
#[test]
fn redo_after_the_undo_of_a_turn_brings_its_files_back() {
    let world = turn_undone();
    assert_eq!(world.herma(&["rollback", "redo"]).refusal(), "nothing_to_undo");
    world.herma(&["redo", "--dry-run"]).done();
    assert!(!world.has("created.txt"));
    world.herma(&["redo"]).done();
    assert_eq!((world.read("a.txt").as_str(), world.has("created.txt")), ("two\n", true));
    // What is printed as the way back.
    world.herma(&["redo"]).done();
    assert_eq!((world.read("a.txt").as_str(), world.has("created.txt")), ("one\n", false));
    world.herma(&["undo"]).done();
    assert_eq!(world.read("a.txt"), "two\n");
}

// rule: restore/undo-redo
#[test]
fn undo_after_a_redo_undoes_the_turn_again_and_no_older_rollback() {
    let world = rolled_back();
    world.write("b.txt", "b\n");
    let id = world.checkpoint("before the turn");
    world.write("a.txt", "three\n");
    world.write("created.txt", "new\n");
    let named = format!("Undo of what changed since checkpoint {} (before the turn, ", &id[..7]);
    for _ in 0..2 {
        let undone = world.herma(&["undo"]).done().text();
        assert!(undone.starts_with(&named), "{undone}");
        assert_eq!((world.read("a.txt").as_str(), world.has("created.txt")), ("one\n", false));
        world.herma(&["redo"]).done();
        assert_eq!((world.read("a.txt").as_str(), world.has("created.txt")), ("three\n", true));
    }
}

#[test]
fn redo_brings_back_no_turn_after_another_checkpoint() {
    let world = turn_undone();
    world.write("a.txt", "three\n");
    world.checkpoint("second");
    let refused = world.herma(&["redo"]);
    assert_eq!(refused.refusal(), "nothing_to_undo");
    assert_eq!(world.read("a.txt"), "three\n");
}

#[test]
fn undo_and_redo_that_find_nothing_name_each_other_where_that_helps() {
    let world = rolled_back();
    let refused = world.herma(&["redo"]);
    assert_eq!(refused.refusal(), "nothing_to_undo");
    assert!(refused.stderr.contains("but `herma undo` undoes"), "{}", refused.stderr);
    world.herma(&["undo"]).done();
    let refused = world.herma(&["undo"]);
    assert_eq!(refused.refusal(), "nothing_to_undo");
    assert!(refused.stderr.contains("but `herma redo` redoes"), "{}", refused.stderr);
}

#[test]
fn undo_and_redo_of_a_turn_name_the_checkpoint_since_which_it_changed() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    let id = world.checkpoint("before Bash: make");
    world.write("a.txt", "two\n");
    let named = format!(" of what changed since checkpoint {} (before Bash: make, ", &id[..7]);
    for words in [&["undo", "--dry-run"][..], &["undo"], &["redo", "--dry-run"], &["redo"]] {
        let said = world.herma(words).done().text();
        let step = if words[0] == "undo" { "Undo" } else { "Redo" };
        assert!(said.starts_with(&format!("{step}{named}")), "{said}");
    }
    assert_eq!(world.read("a.txt"), "two\n");
}

#[test]
fn undo_after_an_undo_goes_back_to_what_that_left_if_files_changed_since() {
    let world = rolled_back();
    world.herma(&["undo"]).done();
    assert_eq!(world.herma(&["undo"]).refusal(), "nothing_to_undo");
    world.write("a.txt", "three\n");
    world.write("created.txt", "new\n");
    let undone = world.herma(&["undo"]).done().text();
    assert!(undone.starts_with("Undo of what changed since checkpoint "), "{undone}");
    assert_eq!((world.read("a.txt").as_str(), world.has("created.txt")), ("two\n", false));
    world.herma(&["undo"]).done();
    assert_eq!((world.read("a.txt").as_str(), world.has("created.txt")), ("three\n", true));
}

#[test]
fn undo_tells_that_it_goes_further_back_where_only_excluded_files_changed() {
    let world = CommandFixture::new();
    for turn in ["one", "two"] {
        world.write("a.txt", format!("{turn}\n"));
        world.checkpoint(&format!("before {turn}"));
    }
    world.write(".env", "secret\n");
    for words in [&["undo", "--dry-run"][..], &["undo"]] {
        let told = world.herma(words).done().text();
        let lines: Vec<&str> = told.lines().collect();
        assert!(lines[0].contains("(before one"), "{told}");
        assert!(lines[1].starts_with("Nothing changed since checkpoint "), "{told}");
        assert!(lines[1].ends_with("`herma checkpoints excluded` lists that"), "{told}");
    }
    assert_eq!(world.read("a.txt"), "one\n");
}
