//! What a restore says that could not do everything: the true reason, and the command that completes it.

use crate::command::world::{CommandFixture, CommandOutput};
use pretty_assertions::assert_eq;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

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

// rule: restore/reports-failures
#[test]
fn a_rollback_that_restored_nothing_does_not_claim_a_part() {
    let world = CommandFixture::new();
    let copy = world.copy_for_everybody();
    world.write("locked/a.txt", "one\n");
    fs::create_dir(world.root.join("hermes")).unwrap();
    let herma = |words: &[&str]| world.run(world.ordinary(&copy), words);
    world.give_home();
    world.give(&world.root.join("hermes"));
    herma(&["checkpoint"]).done();
    world.write("locked/a.txt", "two\n");
    let permit = |bits| {
        fs::set_permissions(world.path("locked"), Permissions::from_mode(bits)).unwrap();
    };
    permit(0o555);
    let said = herma(&["rollback", "1"]);
    permit(0o755);
    assert_eq!(said.exit, Some(4), "{}", said.stderr);
    assert!(said.text().starts_with("Restored nothing of checkpoint"), "{}", said.text());
}

/// Enough files that a rollback is not done before the signal comes.
const FILES: usize = 1_000;

#[test]
fn rollback_exits_with_130_at_ctrl_c_and_the_command_that_it_prints_completes_it() {
    let world = CommandFixture::new();
    let name = |number: usize| format!("{number:04}");
    let write = |content| (0..FILES).for_each(|number| world.write(name(number), content));
    let count = || (0..FILES).filter(|number| world.read(name(*number)) == "old\n").count();
    write("old\n");
    world.herma(&["checkpoint"]).done();
    write("new\n");
    let mut rollback = world.command();
    rollback.args(["rollback", "1"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut rollback = rollback.spawn().unwrap();
    // This process has started before it is needed.
    let mut kill = Command::new("sh");
    kill.args(["-c", "read line; kill -INT $0", &rollback.id().to_string()]);
    let mut kill = kill.stdin(Stdio::piped()).spawn().unwrap();
    while world.read(name(0)) != "old\n" {
        assert!(rollback.try_wait().unwrap().is_none(), "nothing was restored");
    }
    kill.stdin.take().unwrap().write_all(b"now\n").unwrap();
    let ended = CommandOutput::new("rollback".to_owned(), rollback.wait_with_output().unwrap());
    kill.wait().unwrap();
    assert_eq!(ended.exit, Some(130), "{}", ended.stderr);
    let restored = count();
    assert!(restored < FILES, "{restored}");
    let text = ended.text();
    let not_done = format!("not done  {} paths", FILES - restored);
    assert!(text.contains(&not_done), "{text}");
    let command = text.split("To continue: herma ").nth(1).expect(&text).lines().next().unwrap();
    world.herma(&command.split(' ').collect::<Vec<_>>()).done();
    assert_eq!(count(), FILES);
}

#[test]
fn a_rollback_names_what_is_in_the_way_whether_or_not_it_did_something_else() {
    let world = CommandFixture::new();
    world.write("data", "good\n");
    world.herma(&["checkpoint"]).done();
    world.write("data", vec![0; 10 * 1024 * 1024 + 1]);
    for other in ["data", "new"] {
        if other == "new" {
            world.write(other, "1");
        }
        let said = world.herma(&["rollback", "1"]).stderr;
        let start = "herma: 1 path was not restored, because the present content is in no checkpoint: move that";
        assert!(said.starts_with(start), "{said}");
    }
}
