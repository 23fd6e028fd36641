//! How the configuration file affects the command, and how the command reports errors in the file.

use crate::command::world::{CommandFixture, assert_text};

#[test]
fn max_snapshots_limits_how_many_checkpoints_rollback_lists() {
    let world = CommandFixture::new();
    world.configure("checkpoints:\n  max_snapshots: 2\n");
    for number in 0..3 {
        world.write("a.txt", format!("{number}\n"));
        world.checkpoint(&format!("change {number}"));
    }
    assert_eq!(world.checkpoints(), 2);
    assert_eq!(world.herma(&["rollback", "3"]).refusal(), "unknown_checkpoint");
}

#[test]
fn the_configuration_file_is_below_home_if_hermes_home_is_not_set() {
    let world = CommandFixture::new();
    world.write("../.hermes/config.yaml", "checkpoints: nonsense\n");
    let mut command = world.command();
    command.env_remove("HERMES_HOME");
    assert_eq!(world.run(command, &["rollback"]).refusal(), "bad_config");
    world.herma(&["rollback"]).done();
}

#[test]
fn a_file_that_cannot_be_meant_refuses_everything_and_changes_nothing() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    world.checkpoint("before");
    let bad = [
        "checkpoints:\n  max_snapshots: 0\n",
        "checkpoints:\n  enabled: yes\n",
        "checkpoints:\n  enabled: true\n  enabled: true\n",
        "model: [a\n",
        "checkpoints:\n  enabled: \"\\e[2J\\u202e\"\n",
    ];
    let mut said = Vec::new();
    for content in bad {
        world.configure(content);
        let before = world.everything();
        for words in [&["checkpoint"][..], &["rollback"], &["rollback", "1"], &["checkpoints"]] {
            assert_eq!(world.herma(words).refusal(), "bad_config", "{content}");
            let json = world.run(world.command(), &[&["--json"], words].concat());
            assert_eq!((json.exit, json.stderr.as_str()), (Some(2), ""), "{content}");
            assert_eq!(json.json()["error"]["code"], "bad_config", "{content}");
        }
        assert_eq!(world.everything(), before, "{content}");
        said.push(world.herma(&["rollback"]));
    }
    assert_text("refused-configuration", &world.transcript(&said));
    // Users may need the help to fix the file.
    world.herma(&["--help"]).done();
}

#[test]
fn a_key_that_nobody_knows_is_warned_of_on_standard_error() {
    let world = CommandFixture::new();
    world.configure("checkpoints:\n  max_snapshot: 1\n  \"a\\nherma: b\\e\": 2\n");
    world.write("a.txt", "one\n");
    let taken = world.herma(&["checkpoint"]);
    assert_eq!(taken.exit, Some(0));
    assert_eq!(taken.stderr.lines().count(), 2);
    let json = world.herma(&["rollback", "--json"]);
    assert_eq!((json.exit, &json.stderr), (Some(0), &taken.stderr));
    assert_eq!(json.json()["checkpoints"].as_array().unwrap().len(), 1);
    assert_text("warned-of-keys", &world.transcript(&[taken]));
}
