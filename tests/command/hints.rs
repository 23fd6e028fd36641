//! What a refusal or a list says to do: what was probably meant, and nothing that is refused.

use crate::command::world::{CommandFixture, assert_text};
use pretty_assertions::assert_eq;
use std::fs;

#[test]
fn a_word_that_is_no_checkpoint_is_told_what_was_probably_meant() {
    let world = CommandFixture::new();
    world.write("src/a.txt", "one\n");
    world.checkpoint("first");
    let mut said = [
        &["rollback", "latest"][..],
        &["rollback", "help"],
        &["restore", "notes.txt", "1"],
        &["restore", "notes.txt"],
        &["diff", "1", "src"],
        &["pin", "latest"],
    ]
    .map(|words| world.herma(words))
    .into_iter()
    .collect::<Vec<_>>();
    said.iter().for_each(|said| assert_eq!(said.refusal(), "bad_target"));
    let missing = world.herma(&["checkpoint", "before the change"]);
    assert_eq!(missing.refusal(), "missing_directory");
    said.push(missing);
    let usage = [
        &["undo", "1"][..],
        &["checkpoint", "--dir", "."],
        &["classify", "rm", "x"],
        &["list", "-n", "3"],
    ]
    .map(|words| world.herma(words));
    assert!(usage.iter().all(|said| said.exit == Some(2)));
    said.extend(usage);
    assert_text("refused-with-hints", &world.transcript(&said));
}

#[test]
fn a_refusal_of_a_command_that_only_reads_does_not_say_that_nothing_was_changed() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    world.checkpoint("first");
    for words in [
        &["cat", "99", "x"][..],
        &["rollback", "diff", "99"],
        &["diff", "99"],
        &["show", "99"],
        &["log", ".."],
    ] {
        let refused = world.herma(words);
        refused.refusal();
        assert!(!refused.stderr.contains("nothing was changed"), "{}", refused.stderr);
    }
    assert!(world.herma(&["rollback", "99"]).stderr.contains("nothing was changed"));
}

#[test]
fn a_directory_that_is_never_checkpointed_is_not_advised_to_be() {
    let world = CommandFixture::new();
    for dir in ["~", "/", "nothing"] {
        let list = world.herma(&["list", "--dir", dir]).done().text();
        assert!(!list.contains("herma checkpoint"), "{dir}: {list}");
    }
    assert!(world.herma(&["list"]).done().text().contains("herma checkpoint"));
}

#[test]
fn the_help_of_a_command_that_cannot_answer_in_json_does_not_offer_it() {
    let world = CommandFixture::new();
    for command in ["run", "session"] {
        let help = world.herma(&[command, "--help"]).done().text();
        assert!(!help.contains("--json"), "{help}");
    }
    for words in [&["run", "--json", "--", "true"][..], &["--json", "session"]] {
        let refused = world.herma(words);
        assert_eq!(
            (refused.exit, refused.json()["error"]["code"].as_str()),
            (Some(2), Some("usage"))
        );
    }
}

#[test]
fn run_names_the_directory_that_was_typed_and_no_other_in_the_command_that_lists_all() {
    let world = CommandFixture::new();
    world.write("a.txt", "1\n");
    let many = "for name in $(seq 100); do touch $PLACE/$name; done";
    let told = |dir: &[&str], place: &str| {
        let script = many.replace("$PLACE", place);
        let words = [&["run"], dir, &["--", "sh", "-c", &script]].concat();
        world.herma(&words).stderr
    };
    let here = told(&[], ".");
    assert!(here.contains("(`herma diff --stat` lists all)"), "{here}");
    fs::create_dir(world.home().join("other")).unwrap();
    fs::write(world.home().join("other/b.txt"), "1\n").unwrap();
    let there = told(&["--dir", "../other"], "../other");
    assert!(there.contains("(`herma diff --stat --dir ../other` lists all)"), "{there}");
}
