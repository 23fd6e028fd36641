//! Sessions from a file or typed: tools that write, checkpoints before them, and rollbacks together with
//! the conversation.

use crate::command::world::{CommandFixture, CommandOutput, assert_text};
use pretty_assertions::assert_eq;
use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Runs a session with these lines from a file.
fn run_session(world: &CommandFixture, lines: &str) -> CommandOutput {
    let script = world.root.join("script");
    fs::write(&script, lines).unwrap();
    world.herma(&["session".as_ref(), "--script".as_ref(), script.as_os_str()])
}

fn enabled() -> CommandFixture {
    let world = CommandFixture::new();
    world.configure("checkpoints:\n  enabled: true\n");
    world
}

const WORK: &str = "\
say write a program
write_file main.py <<END
print('hello')
END
write_file README 'a program'
say improve it
patch <<END
*** Begin Patch
*** Update File: main.py
@@
-print('hello')
+print('hello, world')
*** Add File: src/more.py
+x = 1
*** End Patch
END
terminal ls; cat main.py
terminal rm README
/rollback
/rollback diff 1
/rollback 1 --dry-run
/rollback 1
log
/rollback 1 --exact
/rollback 2 'no such file'
/rollback 1 my file
frobnicate
exit
never reached
";

#[test]
fn a_session_takes_checkpoints_before_its_tools_and_rolls_back_with_the_conversation() {
    let world = enabled();
    let said = run_session(&world, WORK);
    assert_eq!(said.exit, Some(4), "two lines could not be done");
    assert_text("session", &world.transcript(&[said]));
    assert!(!world.has("README.orig") && world.has("main.py"));
}

#[test]
fn rollback_of_a_single_file_in_a_session_keeps_the_turn() {
    let world = enabled();
    let lines = "say one\nwrite_file a.txt one\nsay two\nwrite_file a.txt two\nwrite_file b.txt two\n\
        /rollback 1 a.txt\nlog\n/rollback 1 --exact\nlog\n";
    let said = run_session(&world, lines).done();
    let text = said.text();
    let logs: Vec<&str> = text.split("> log\n").collect();
    assert!(logs[1].contains("2. two"), "a single file undoes no turn: {text}");
    assert!(logs[2].contains("1. one") && !logs[2].contains("2. two"), "{text}");
    assert!(logs[1].contains("A turn of the conversation was undone: two"), "{text}");
}

/// A log of the session with this many turns is next in the text.
fn turns(log: &str) -> usize {
    let lines = log.lines().take_while(|line| !line.starts_with('>'));
    lines.filter(|line| line.starts_with("  ") && !line.starts_with("   ")).count()
}

// Reported F10 and F11.
#[test]
fn the_conversation_goes_back_with_the_files_and_returns_with_them() {
    let world = enabled();
    let three = "say one\nwrite_file a 1\nsay two\nwrite_file a 2\nsay three\nwrite_file a 3\n";
    let steps = ["1", "1", "2", "undo", "undo", "redo", "redo"];
    let steps: String =
        steps.map(|step| format!("/rollback {step}\nterminal cat a\nlog\n")).concat();
    let text = run_session(&world, &(three.to_owned() + &steps)).done().text();
    let contents = text.split("> terminal cat a\n").skip(1).map(|answer| &answer[4..5]);
    assert_eq!(contents.collect::<Vec<_>>(), ["2", "2", "1", "2", "3", "2", "1"], "{text}");
    let logged: Vec<usize> = text.split("> log\n").skip(1).map(turns).collect();
    assert_eq!(logged, [2, 2, 1, 2, 3, 2, 1], "{text}");
    let compacted = enabled();
    let text =
        run_session(&compacted, &(three.to_owned() + "compact\n/rollback 1\nlog\n")).done().text();
    assert!(text.contains("the conversation was compacted since, and stays as it is"), "{text}");
    assert_eq!(turns(text.split("> log\n").nth(1).unwrap()), 1, "{text}");
}

#[test]
fn a_session_without_enabled_checkpoints_works_and_creates_no_store() {
    let world = CommandFixture::new();
    let said =
        run_session(&world, "say one\nwrite_file a.txt one\nterminal rm a.txt\n/rollback\n").done();
    assert!(said.text().starts_with("notice: automatic checkpoints are off"), "{}", said.text());
    assert!(said.text().contains("No checkpoints for"), "{}", said.text());
    assert!(!world.base().exists() && !world.has("a.txt"));
}

#[test]
fn a_session_without_a_usable_store_goes_on_and_reports_that_once() {
    let world = enabled();
    fs::write(world.base(), "a file in the place of the store\n").unwrap();
    let said =
        run_session(&world, "say one\nwrite_file a.txt one\nsay two\nwrite_file a.txt two\n")
            .done();
    assert_eq!(said.text().matches("notice:").count(), 1, "{}", said.text());
    assert_eq!(world.read("a.txt"), "two\n");
    world.configure("checkpoints:\n  enabled: perhaps\n");
    let said = run_session(&world, "say one\nwrite_file a.txt three\n/rollback 1\n");
    assert!(said.text().contains("notice:") && said.text().contains("perhaps"), "{}", said.text());
    assert_eq!((world.read("a.txt").as_str(), said.exit), ("three\n", Some(4)));
}

#[test]
fn time_limit_stops_a_terminal_command_with_the_processes_that_it_started() {
    let world = enabled();
    let started = Instant::now();
    let script = world.root.join("script");
    fs::write(&script, "terminal sleep 60 & echo started; sleep 60; echo late\n").unwrap();
    let words = [
        "session".as_ref(),
        "--time-limit".as_ref(),
        "1".as_ref(),
        "--script".as_ref(),
        script.as_os_str(),
    ];
    let said = world.herma(&words);
    assert!(started.elapsed() < Duration::from_secs(20));
    assert!(
        said.text().contains("  | started") && said.text().contains("stopped after 1 s"),
        "{}",
        said.text()
    );
    assert!(!said.text().contains("| late") && said.exit == Some(4));
}

#[test]
fn a_session_reads_typed_lines_and_prints_no_escape_sequences() {
    let world = enabled();
    let mut command = world.command();
    command.args(["session"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = b"say \x1b[2J\nterminal printf '\\033[2J'\nwrite_file 'a\x1bb' x\n\x1bfrob\n";
    child.stdin.take().unwrap().write_all(lines).unwrap();
    let said = CommandOutput::new("session".to_owned(), child.wait_with_output().unwrap());
    assert!(!said.output.contains(&0x1b), "{}", said.text());
    assert!(said.text().contains("wrote 2 bytes"), "{}", said.text());
}

#[test]
fn patch_changes_nothing_if_a_hunk_does_not_fit() {
    let world = enabled();
    world.write("a.txt", "one\n");
    let lines = "say go\npatch <<END\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x\n\
        --- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-two\n+three\nEND\n";
    let said = run_session(&world, lines);
    assert!(
        said.text()
            .contains("failed: the patch was not applied: it does not match the content of a.txt"),
        "{}",
        said.text()
    );
    assert!(said.exit == Some(4) && !world.has("new.txt") && world.read("a.txt") == "one\n");
}

#[test]
fn a_session_reports_failed_tools_and_goes_on() {
    let world = enabled();
    world.write("a.txt", "one\n");
    world.write("gone.txt", "gone\n");
    world.write("big.bin", "x".repeat(11 << 20));
    let lines = "say go\nwrite_file a.txt/below x\npatch <<END\nno patch\nEND\n\
        patch <<END\n*** Begin Patch\n*** Delete File: absent\n*** End Patch\nEND\n\
        patch <<END\n*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-one\n+two\n\
        *** Delete File: gone.txt\n*** End Patch\nEND\n\
        terminal kill -9 $$\nhelp\n/rollback --help\n/rollback 9\nlog\n";
    let said = run_session(&world, lines);
    let text = said.text();
    for part in [
        "failed: a.txt/below was not written",
        "failed: the patch was not applied: it contains no file",
        "failed: the patch was not applied: absent: ",
        "moved a.txt to b.txt",
        "removed gone.txt",
        "killed by signal 9",
        "left out: big.bin",
        "write_file PATH TEXT",
        "rollback N [PATH...] [--exact]",
        "failed: ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!((world.read("b.txt").as_str(), said.exit), ("two\n", Some(4)));
    assert!(!world.has("a.txt") && !world.has("gone.txt"));
}

#[test]
fn session_refuses_a_missing_directory_an_unreadable_script_and_json() {
    let world = enabled();
    let nowhere = ["session", "--dir", "not there"];
    assert_eq!(world.herma(&nowhere).refusal(), "not_a_directory");
    let unreadable = ["session", "--script", "not there"];
    assert_eq!(world.herma(&unreadable).refusal(), "unreadable");
    let said = world.herma(&["session", "--json"]);
    assert_eq!(said.exit, Some(2));
    assert!(said.text().contains("--json cannot be used"), "{}", said.text());
}

#[test]
fn what_somebody_else_wrote_is_told_from_the_work_of_the_agent() {
    let world = enabled();
    world.write("shared.txt", "one\n");
    world.write("agent.txt", "one\n");
    let lines = "say go\nwrite_file agent.txt two\nterminal printf 'two\\n' > by-command.txt\n/rollback 1 --dry-run\n";
    let said = run_session(&world, lines).done();
    assert!(!said.text().contains("outside the agent"), "{}", said.text());
    world.write("shared.txt", "by a person\n");
    let preview = world.herma(&["rollback", "1", "--dry-run"]).done();
    let json = world.herma(&["rollback", "1", "--dry-run", "--json"]).done().json();
    assert_eq!(json["others"], serde_json::json!(["shared.txt"]));
    let done = world.herma(&["rollback", "1"]).done();
    let list = world.herma(&["rollback"]).done();
    assert_text("another-hand", &world.transcript(&[preview, done, list]));
}
