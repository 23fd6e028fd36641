//! `herma hook`, as agents call it before each of their tools, and what undoes a turn.

use crate::command::world::{CommandFixture, CommandOutput, binary};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Starts the hook of an agent with this input.
fn start(world: &CommandFixture, mut command: Command, input: &str) -> Child {
    world.prepare(&mut command);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // One with invalid arguments ends without reading.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child
}

/// Calls the hook.
pub fn hook(world: &CommandFixture, agent: &str, call: &Value) -> CommandOutput {
    let mut command = Command::new(binary());
    command.args(["hook", agent]);
    let ended = start(world, command, &call.to_string()).wait_with_output().unwrap();
    CommandOutput::new(format!("herma hook {agent}"), ended)
}

/// Calls the hook, which must say nothing.
#[track_caller]
pub fn call(world: &CommandFixture, agent: &str, call: &Value) {
    assert_eq!(hook(world, agent, call).done().text(), "{}\n");
}

pub fn write_in(world: &CommandFixture, turn: &str) -> Value {
    let file = world.path("a.txt");
    json!({ "session_id": "s", "prompt_id": turn, "cwd": world.project(), "hook_event_name": "PreToolUse",
            "tool_name": "Write", "tool_input": { "file_path": file } })
}

fn reasons(world: &CommandFixture) -> Vec<String> {
    let listed = world.herma(&["rollback", "--json"]).done().json();
    let listed = listed["checkpoints"].as_array().unwrap().clone();
    listed.iter().map(|listed| listed["reason"].as_str().unwrap().to_owned()).collect()
}

// rule: turn/once
// rule: turn/reset
#[test]
fn hook_keeps_the_state_before_the_first_change_of_every_turn() {
    let world = CommandFixture::new();
    for turn in 0..20 {
        world.write("a.txt", format!("before {turn}\n"));
        for edit in 0..3 {
            call(&world, "claude", &write_in(&world, &format!("t{turn}")));
            world.write("a.txt", format!("edit {edit}\n"));
        }
    }
    let file = world.path("a.txt");
    assert_eq!(reasons(&world), vec![format!("before Write: {}", file.display()); 20]);
    for number in 1..=20 {
        let shown = world.herma(&["rollback", "diff", &number.to_string()]).done().text();
        assert!(shown.contains(&format!("-before {}\n", 20 - number)), "{shown}");
    }
}

// rule: turn/once
#[test]
fn hook_of_an_agent_without_turns_begins_one_when_the_user_says_something() {
    let world = CommandFixture::new();
    let write = json!({ "session_id": "s", "cwd": world.project(), "hook_event_name": "BeforeTool",
                        "tool_name": "write_file", "tool_input": { "file_path": "a.txt" } });
    let prompt = json!({ "session_id": "s", "cwd": world.project(), "hook_event_name": "BeforeAgent",
                         "prompt": "do it" });
    let mut version = 0;
    let mut edit = || {
        call(&world, "gemini", &write);
        version += 1;
        world.write("a.txt", format!("{version}\n"));
    };
    // As long as no turn is known, every tool has one.
    edit();
    edit();
    edit();
    assert_eq!(reasons(&world).len(), 2, "an empty project and one that changed");
    for turns in 1..4 {
        call(&world, "gemini", &prompt);
        edit();
        edit();
        assert_eq!(reasons(&world).len(), 2 + turns);
    }
    // The turn of another session is not that of this one.
    call(&world, "gemini", &json!({ "session_id": "other", "prompt": "do it" }));
    edit();
    edit();
    assert_eq!(reasons(&world).len(), 5);
}

// rule: turn/once
#[test]
fn hook_of_sessions_that_alternate_in_a_project_takes_one_checkpoint_for_each_turn() {
    let world = CommandFixture::new();
    let change = |session: &str, turn: &str, content: &str| {
        world.write("a.txt", content);
        let mut tool = write_in(&world, turn);
        tool["session_id"] = session.into();
        call(&world, "claude", &tool);
    };
    for round in 0..3 {
        for session in ["left", "right"] {
            change(session, "t1", &format!("{session} {round}\n"));
        }
    }
    assert_eq!(reasons(&world).len(), 2);
    change("left", "t2", "next\n");
    assert_eq!(reasons(&world).len(), 3);
    // A session that begins to count anew.
    change("left", "t1", "again\n");
    assert_eq!(reasons(&world).len(), 4);
}

// rule: turn/reset
#[test]
fn hook_of_an_agent_that_counts_its_turns_anew_begins_one_when_the_user_says_something() {
    let world = CommandFixture::new();
    for turn in 0..3 {
        call(&world, "qwen", &json!({ "session_id": "s", "prompt_id": "0", "prompt": "go on" }));
        world.write("a.txt", format!("before {turn}\n"));
        call(&world, "qwen", &write_in(&world, "0"));
        call(&world, "qwen", &json!({ "session_id": "s", "prompt_id": "0", "prompt": "" }));
        world.write("a.txt", "within\n");
        call(&world, "qwen", &write_in(&world, "0"));
    }
    assert_eq!(reasons(&world).len(), 3);
}

// rule: turn/triggers
// rule: turn/per-project
#[test]
fn hook_takes_the_projects_of_the_files_and_none_for_a_tool_that_only_reads() {
    let world = CommandFixture::new();
    world.write("a.txt", "1\n");
    let elsewhere = world.home().join("elsewhere");
    fs::create_dir_all(elsewhere.join(".git")).unwrap();
    fs::write(elsewhere.join("b.txt"), "1\n").unwrap();
    let tool = |name: &str, input: Value| json!({ "session_id": "s", "cwd": world.project(), "tool_name": name, "tool_input": input });
    call(&world, "claude", &tool("Read", json!({ "file_path": "a.txt" })));
    call(&world, "claude", &tool("Bash", json!({ "command": "grep -r x ." })));
    let none = world.herma(&["rollback", "--json"]).done().json();
    assert_eq!(none["checkpoints"].as_array().unwrap().len(), 0);
    call(&world, "claude", &tool("Edit", json!({ "file_path": elsewhere.join("b.txt") })));
    let there = world.herma_in(&elsewhere, &["rollback", "--json"]).done().json();
    assert_eq!(there["checkpoints"].as_array().unwrap().len(), 1);
    // What a tool calls a path may be none, so that the project of its directory has a checkpoint, too.
    assert_eq!(world.checkpoints(), 1);
    world.write("a.txt", "2\n");
    call(&world, "claude", &tool("Bash", json!({ "command": "rm a.txt" })));
    assert_eq!(reasons(&world)[0], "before Bash: rm a.txt");
    fs::write(elsewhere.join("b.txt"), "2\n").unwrap();
    call(&world, "claude", &tool("Bash", json!({ "command": "rm b.txt", "workdir": elsewhere })));
    let there = world.herma_in(&elsewhere, &["rollback", "--json"]).done().json();
    assert_eq!(there["checkpoints"].as_array().unwrap().len(), 2);
    // In the home directory there is no project, which doctor tells.
    let at_home = json!({ "cwd": world.home(), "tool_name": "Bash", "command": "rm x" });
    assert!(hook(&world, "claude", &at_home).stderr.contains("notice"));
    assert!(world.herma(&["doctor"]).text().contains("took no checkpoint"));
}

// rule: turn/once
#[test]
fn hooks_that_overlap_take_one_checkpoint_of_the_turn() {
    let world = CommandFixture::new();
    for file in 0..3_000 {
        world.write(format!("{file}.txt"), format!("{file}\n"));
    }
    let spawn = || {
        let mut command = Command::new(binary());
        command.args(["hook", "claude"]);
        start(&world, command, &write_in(&world, "t").to_string())
    };
    let started: Vec<Child> = (0..4)
        .map(|number| {
            let child = spawn();
            std::thread::sleep(std::time::Duration::from_millis(30));
            // A tool that went on while the others wait.
            world.write(format!("new-{number}"), "1");
            child
        })
        .collect();
    for child in started {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert_eq!(world.checkpoints(), 1);
}

// rule: turn/no-backend
#[test]
fn hook_never_blocks_a_tool() {
    let world = CommandFixture::new();
    world.write("a.txt", "1\n");
    let run = |command: Command, input: &str| {
        let ended = start(&world, command, input).wait_with_output().unwrap();
        CommandOutput::new("herma hook".to_owned(), ended)
    };
    let of = |words: &[&str]| {
        let mut command = Command::new(binary());
        command.args(words);
        command
    };
    // What cannot be read is a tool that may change anything.
    assert_eq!(run(of(&["hook", "any-agent"]), "nonsense").done().text(), "{}\n");
    assert_eq!(reasons(&world), ["before a tool"]);
    for words in [&["hook"][..], &["hook", "../x"], &["hook", "claude", "more"], &["hook", "--no"]]
    {
        let said = run(of(words), "{}");
        assert_eq!((said.exit, said.text().as_str()), (Some(1), ""), "{words:?}");
    }
    world.configure("checkpoints: [");
    world.write("a.txt", "2\n");
    call(&world, "claude", &write_in(&world, "t"));
    world.configure("");
    assert_eq!(world.checkpoints(), 2);
    // A store that cannot be used: the agent goes on, and `doctor` tells why there is no checkpoint.
    fs::remove_dir_all(world.base()).unwrap();
    fs::write(world.base(), "").unwrap();
    let said = hook(&world, "claude", &write_in(&world, "t2"));
    assert_eq!((said.exit, said.text().as_str()), (Some(0), "{}\n"));
    assert!(said.stderr.contains("notice"), "{}", said.stderr);
    let doctor = world.herma(&["doctor"]);
    assert!(doctor.text().contains("the hook of claude, called just now, took no checkpoint"));
    // It still tells so after a call that went well.
    fs::remove_file(world.base()).unwrap();
    call(&world, "claude", &write_in(&world, "t3"));
    call(&world, "claude", &write_in(&world, "t4"));
    let doctor = world.herma(&["doctor"]).done().text();
    assert!(doctor.contains("the hook of claude was called just now, before Write"), "{doctor}");
    assert!(doctor.contains("the hook of claude took no checkpoint just now"), "{doctor}");
}

// rule: turn/no-backend
#[test]
fn hook_waits_for_no_end_of_its_input() {
    let world = CommandFixture::new();
    world.write("a.txt", "1\n");
    let mut command = Command::new(binary());
    command.args(["hook", "claude"]);
    world.prepare(&mut command);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(write_in(&world, "t").to_string().as_bytes()).unwrap();
    let has_ended = (0..200).any(|_| {
        sleep(Duration::from_millis(50));
        child.try_wait().unwrap().is_some()
    });
    drop(input);
    child.wait().unwrap();
    assert!(has_ended, "the hook waits for the end of its input");
    assert_eq!(world.checkpoints(), 1);
}

// rule: turn/triggers
#[test]
fn hook_takes_the_current_directory_for_one_that_cannot_be_named_in_json() {
    let world = CommandFixture::new();
    let project = world.home().join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&project).unwrap();
    fs::write(project.join("a.txt"), "1\n").unwrap();
    let mut command = Command::new("sh");
    let line = "cd \"$1\" && exec \"$0\" hook claude";
    command.args(["-c", line]).arg(binary()).arg(&project);
    let cwd = project.to_string_lossy();
    let input = json!({ "cwd": cwd, "tool_name": "Bash", "tool_input": { "command": "rm b" } });
    let child = start(&world, command, &input.to_string());
    assert!(child.wait_with_output().unwrap().stderr.is_empty());
    let listed = world.herma_in(&project, &["list"]).done().text();
    assert!(listed.contains("before Bash: rm b"), "{listed}");
}

// rule: turn/once
#[test]
fn hooks_of_parallel_tools_keep_the_state_before_all_of_them() {
    let world = CommandFixture::new();
    for turn in 0..5 {
        world.write("a.txt", format!("before {turn}\n"));
        let input = write_in(&world, &format!("t{turn}")).to_string();
        let started: Vec<Child> = (0..6)
            .map(|_| {
                let mut command = Command::new(binary());
                command.args(["hook", "claude"]);
                start(&world, command, &input)
            })
            .collect();
        for child in started {
            let ended = child.wait_with_output().unwrap();
            assert_eq!((ended.status.code(), &*ended.stdout), (Some(0), &b"{}\n"[..]));
        }
        world.write("a.txt", "after\n");
        let shown = world.herma(&["rollback", "diff", "1"]).done().text();
        assert!(shown.contains(&format!("-before {turn}\n")), "{shown}");
    }
    assert_eq!(world.checkpoints(), 5);
}

// rule: restore/undo-redo
#[test]
fn undo_goes_back_before_the_last_turn_and_then_before_that_rollback() {
    let world = CommandFixture::new();
    let turn = |turn: &str, content: &str| {
        call(&world, "claude", &write_in(&world, turn));
        for name in ["a.txt", "b.txt", turn] {
            world.write(name, content);
        }
    };
    let state =
        || ["a.txt", "b.txt", "t1", "t2"].map(|name| world.has(name).then(|| world.read(name)));
    let text = |text: &str| Some(text.to_owned());
    world.write("a.txt", "mine");
    world.write("b.txt", "mine");
    turn("t1", "broken");
    assert_eq!(world.herma(&["rollback", "undo"]).refusal(), "nothing_to_undo");
    world.herma(&["undo"]).done();
    assert_eq!(state(), [text("mine"), text("mine"), None, None]);
    world.herma(&["undo"]).done();
    assert_eq!(state(), [text("broken"), text("broken"), text("broken"), None]);
    world.herma(&["redo"]).done();
    assert_eq!(state(), [text("mine"), text("mine"), None, None]);
    turn("t2", "worse");
    world.herma(&["undo", "--dry-run"]).done();
    assert_eq!(state()[0], text("worse"));
    world.herma(&["undo"]).done();
    assert_eq!(state(), [text("mine"), text("mine"), None, None]);
}

#[test]
fn run_tells_what_a_command_changed_and_ends_with_its_code() {
    let world = CommandFixture::new();
    world.write("a.txt", "1\n");
    let said = world.herma(&["run", "--", "sh", "-c", "echo 2 > a.txt; echo said; exit 3"]);
    assert_eq!((said.exit, said.text().as_str()), (Some(3), "said\n"));
    assert!(
        said.stderr.contains("1 file changed, 1 insertion(+), 1 deletion(-)"),
        "{}",
        said.stderr
    );
    assert_eq!(reasons(&world), ["before run: sh -c 'echo 2 > a.txt; echo said; exit 3'"]);
    world.herma(&["undo"]).done();
    assert_eq!(world.read("a.txt"), "1\n");
    let many =
        world.herma(&["run", "--", "sh", "-c", "for i in $(seq 99); do echo > $i.new; done"]);
    assert!(many.stderr.contains("\n … and 49 more (`herma diff --stat`"), "{}", many.stderr);
    assert_eq!(many.stderr.lines().count(), 52);
    world.herma(&["undo"]).done();
    let same = world.herma(&["run", "--", "true"]);
    assert!(same.stderr.starts_with("Nothing changed in"), "{}", same.stderr);
    assert_eq!(same.exit, Some(0));
    let empty = world.home().join("empty");
    fs::create_dir(&empty).unwrap();
    let said = world.herma_in(&empty, &["run", "--", "touch", "new"]);
    assert!(said.stderr.contains("no files before") && said.exit == Some(0), "{}", said.stderr);
    let missing = world.herma(&["run", "--", "./missing"]);
    assert!(
        missing.exit == Some(127)
            && missing.stderr.contains("\"./missing\" cannot be run: No such"),
        "{}",
        missing.stderr
    );
    let in_home = world.herma_in(&world.home(), &["run", "--", "touch", "ran"]);
    assert_eq!(in_home.refusal(), "scope_home");
    assert!(!world.home().join("ran").exists(), "no checkpoint, no command");
}

// rule: restore/left-out
#[test]
fn run_tells_what_no_checkpoint_takes() {
    let world = CommandFixture::new();
    world.write("a.txt", "1\n");
    world.write("b.txt", "1\n");
    let script = "mkfifo pipe; echo a.txt > .gitignore; rm b.txt";
    let said = world.herma(&["run", "--", "sh", "-c", script]);
    assert!(said.stderr.contains("(there, but not captured any more)"), "{}", said.stderr);
    assert!(said.stderr.contains("(deleted)"), "{}", said.stderr);
    let next = world.herma(&["run", "--", "true"]);
    assert!(next.stderr.contains("Left out:\n  pipe"), "{}", next.stderr);
}

#[test]
fn run_passes_sigterm_on_to_the_command() {
    let world = CommandFixture::new();
    world.write("a.txt", "1\n");
    let mut run = world.command();
    let mut run = run.args(["run", "--", "sleep", "60"]).spawn().unwrap();
    // It is passed on once the command runs.
    while reasons(&world).is_empty() {}
    let id = run.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(run.wait().unwrap().code(), Some(128 + 15));
}

// rule: restore/undo-redo
#[test]
fn undo_goes_back_before_the_last_change_where_the_newest_checkpoint_is_the_present() {
    let world = CommandFixture::new();
    world.write("a.txt", "mine\n");
    call(&world, "claude", &write_in(&world, "t1"));
    world.write("a.txt", "broken\n");
    // The next turn took a checkpoint and changed nothing.
    call(&world, "claude", &write_in(&world, "t2"));
    world.herma(&["undo"]).done();
    assert_eq!(world.read("a.txt"), "mine\n");
    world.herma(&["undo"]).done();
    assert_eq!(world.read("a.txt"), "broken\n");
}
