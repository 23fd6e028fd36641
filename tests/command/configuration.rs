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
    assert_eq!(world.run(command, &["checkpoint"]).refusal(), "bad_config");
    world.herma(&["rollback"]).done();
}

#[test]
fn a_file_that_cannot_be_meant_refuses_what_it_configures_and_changes_nothing() {
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
        for words in [&["checkpoint"][..], &["checkpoints", "prune"], &["pin", "1"]] {
            assert_eq!(world.herma(words).refusal(), "bad_config", "{content}");
            let json = world.run(world.command(), &[&["--json"], words].concat());
            let exit = if words.contains(&"prune") { 2 } else { 3 };
            assert_eq!((json.exit, json.stderr.as_str()), (Some(exit), ""), "{content}");
            assert_eq!(json.json()["error"]["code"], "bad_config", "{content}");
        }
        assert_eq!(world.everything(), before, "{content}");
        said.push(world.herma(&["checkpoint"]));
    }
    assert_text("refused-configuration", &world.transcript(&said));
    // Users may need the help to fix the file.
    world.herma(&["--help"]).done();
}

/// What rescues files works whatever the configuration says, and no default limit removes anything.
#[test]
fn a_file_that_cannot_be_meant_keeps_nobody_from_a_rollback() {
    let world = CommandFixture::new();
    world.configure("checkpoints:\n  max_snapshots: 40\n");
    for number in 0..22 {
        world.write("a.txt", format!("{number}\n"));
        world.checkpoint(&format!("change {number}"));
    }
    world.configure("checkpoints:\n\tmax_snapshots: 40\n");
    world.write("a.txt", "unsaved\n");
    let listed = world.herma(&["rollback"]);
    assert_eq!(listed.exit, Some(0));
    let restored = world.herma(&["rollback", "22"]);
    assert_eq!(restored.exit, Some(0));
    assert_eq!(world.read("a.txt"), "0\n");
    let verified = world.herma(&["checkpoints", "verify"]);
    assert_eq!(verified.exit, Some(0));
    let notice = &listed.stderr;
    assert!(notice.starts_with("herma: notice: ") && notice.contains("line 2"), "{notice}");
    assert_eq!([&restored.stderr, &verified.stderr], [notice; 2]);
    world.configure("checkpoints:\n  max_snapshots: 40\n");
    assert_eq!(world.checkpoints(), 23);
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
