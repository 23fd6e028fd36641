//! An agent with state in addition to its files, in a session and on the command line: the example of the
//! document, compensations, and unusable or damaged state.

use crate::command::world::{CommandFixture, CommandOutput, assert_text};
use pretty_assertions::assert_eq;
use std::fs;
use std::path::{Path, PathBuf};

fn enabled() -> CommandFixture {
    let world = CommandFixture::new();
    world.configure("checkpoints:\n  enabled: true\n");
    world
}

fn run_session(world: &CommandFixture, lines: &str) -> CommandOutput {
    let script = world.root.join("script");
    fs::write(&script, lines).unwrap();
    world.herma(&["session".as_ref(), "--script".as_ref(), script.as_os_str()])
}

/// The text without the ids of turns, which differ between processes, and the time of an envelope.
fn without_turns(text: &str) -> String {
    let line = |line: &str| match line.trim_start().split_once(": ") {
        Some((name @ ("turn" | "taken_at"), _)) => format!("  {name}: [{name}]"),
        _ => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn example() -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/whole-agent.session");
    fs::read_to_string(script).unwrap()
}

/// Every path below a folder.
fn paths_below(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            paths.extend(paths_below(&entry));
        }
        paths.push(entry);
    }
    paths.sort();
    paths
}

#[test]
fn the_example_leaves_nothing_behind_because_it_begins_with_scratch() {
    let world = CommandFixture::new();
    let temporary = world.root.join("temporary");
    fs::create_dir(&temporary).unwrap();
    fs::write(world.root.join("script"), "").unwrap();
    let before = paths_below(&world.root);
    let script = world.root.join("script");
    fs::write(&script, example()).unwrap();
    let mut command = world.command();
    command.env("TMPDIR", &temporary).args(["session", "--script"]).arg(&script);
    let ended = command.output().unwrap();
    let said = CommandOutput::new("session".to_owned(), ended).done().text();
    assert!(said.contains("took checkpoint") && said.contains("Compensated"), "{said}");
    assert_eq!(paths_below(&world.root), before);
}

#[test]
fn scratch_ends_a_session_that_it_cannot_move_into_a_temporary_project() {
    let world = CommandFixture::new();
    let said = run_session(&world, "say x\nscratch\nwrite_file a 1\n");
    assert_eq!(said.exit, Some(4));
    assert!(said.text().contains("the session ends here"), "{}", said.text());
    fs::write(world.root.join("script"), "scratch\nwrite_file a 1\n").unwrap();
    let mut command = world.command();
    command.env("TMPDIR", world.root.join("missing")).args(["session", "--script"]);
    let ended = command.arg(world.root.join("script")).output().unwrap();
    assert_eq!(ended.status.code(), Some(4));
    assert_eq!(paths_below(&world.project()), Vec::<PathBuf>::new());
}

// rule: agent/parts
#[test]
fn checkpoint_and_rollback_of_another_project_have_nothing_of_the_state_of_an_agent() {
    let world = enabled();
    run_session(&world, "say x\ngoal G\nwrite_file a 1\n").done();
    let elsewhere = world.home().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let elsewhere = |words: &[&str]| {
        let dir = ["--dir", elsewhere.to_str().unwrap()];
        world.herma(&[words, &dir].concat()).done().text()
    };
    let file = world.home().join("elsewhere/a");
    let goal = world.root.join("hermes/agent/goal.json");
    fs::write(&file, "1").unwrap();
    let taken = world.herma(&["checkpoint", file.parent().unwrap().to_str().unwrap()]);
    taken.done();
    let changed = fs::read_to_string(&goal).unwrap().replace("G", "H");
    fs::write(&goal, &changed).unwrap();
    fs::write(&file, "2").unwrap();
    assert!(elsewhere(&["rollback", "show", "1"]).contains("only files, no agent state"));
    assert!(!elsewhere(&["rollback", "1", "--dry-run"]).contains("goal"));
    assert!(!elsewhere(&["rollback", "1"]).contains("goal"));
    assert_eq!(fs::read_to_string(&goal).unwrap(), changed);
    // The project of the session still has it.
    world.herma(&["checkpoint"]).done();
    fs::write(&goal, changed.replace("H", "I")).unwrap();
    world.herma(&["rollback", "1"]).done();
    assert_eq!(fs::read_to_string(&goal).unwrap(), changed);
    // A session there that changes the state shares it from then on.
    let script = world.root.join("script");
    fs::write(&script, "goal J\n").unwrap();
    elsewhere(&["session", "--script", script.to_str().unwrap()]);
    fs::write(&file, "3").unwrap();
    world.herma(&["checkpoint", file.parent().unwrap().to_str().unwrap()]).done();
    assert!(elsewhere(&["rollback", "show", "1"]).contains("active"));
}

// rule: agent/parts
// rule: agent/external-listed
// rule: agent/compensation
// rule: agent/composes
#[test]
fn the_example_of_the_document_is_played_as_it_stands_in_docs() {
    let world = enabled();
    // In the project of the test, in which its files can be read afterwards.
    let said = run_session(&world, &example().replace("\nscratch\n", "\n")).done();
    assert_text("whole-agent", &without_turns(&world.transcript(&[said])));
    assert_eq!(world.read("src/auth.py"), "provider = \"legacy\"\n");
    assert_eq!(world.read("outside.log"), "closed pull request 1234\n");
    let agent = world.root.join("hermes/agent");
    let board: serde_json::Value =
        serde_json::from_slice(&fs::read(agent.join("kanban.json")).unwrap()).unwrap();
    assert_eq!(board["cards"][0]["state"], "doing");
    assert_eq!(board["cards"][1]["state"], "todo");
}

const OPENED: &str = "say open it\nwrite_file a.txt one\n/checkpoint base\n\
    outside pr 1\noutside pr 2\nwrite_file a.txt two\n/rollback base\n";

// rule: agent/compensation
#[test]
fn compensate_runs_an_interrupted_compensation_again_only_with_again() {
    let world = enabled();
    let kills = "register pr echo $HERMA_ID >> ran.log; kill -9 $PPID\n";
    let killed = run_session(&world, &format!("{kills}{OPENED}/rollback-actions\n"));
    assert_eq!(killed.exit, None, "it was killed");
    assert_eq!(world.read("ran.log"), "2\n");
    // The first compensation is recorded as interrupted; the second never began.
    let listed = world.herma(&["actions"]).done().text();
    assert!(listed.contains("pr #2 (its compensation was interrupted"), "{listed}");
    let project = format!(" in {})", world.project().display());
    assert_eq!(listed.matches(&project).count(), 2, "{listed}");
    fs::write(
        world.root.join("hermes/agent/compensations.json"),
        "{\"pr\": \"echo $HERMA_ID >> ran.log\"}",
    )
    .unwrap();
    world.herma(&["actions", "compensate"]).done();
    assert_eq!(world.read("ran.log"), "2\n1\n");
    world.herma(&["actions", "compensate", "--again"]).done();
    world.herma(&["actions", "compensate", "--again"]).done();
    assert_eq!(world.read("ran.log"), "2\n1\n2\n");
}

// rule: agent/compensation
#[test]
fn compensate_reports_a_failed_compensation_which_stays_failed_until_again_or_accept() {
    let world = enabled();
    let fails = "register pr echo the service is down >&2; exit 3\n";
    let said =
        run_session(&world, &format!("{fails}{OPENED}/rollback-actions\n/rollback-actions\n"));
    assert_eq!(said.exit, Some(4));
    let text = said.text();
    assert!(text.contains("the service is down") && text.contains("--again"), "{text}");
    assert!(text.contains("There is nothing to compensate\n2 compensations failed"), "{text}");
    assert_eq!(world.herma(&["actions", "compensate", "--again"]).exit, Some(4));
    let stays = world.herma(&["actions", "accept", "--json"]).done().json();
    assert_eq!(stays["actions"].as_array().unwrap().len(), 2);
    world.herma(&["actions", "compensate", "--again"]).done();
    let audit = world.herma(&["actions", "audit"]).done().text();
    assert_eq!(audit.matches("failed: ").count(), 4, "{audit}");
    assert_eq!(audit.matches("accepted (herma actions)").count(), 2, "{audit}");
}

// rule: agent/pinned
#[test]
fn checkpoint_with_a_label_is_pinned_until_unpin() {
    let world = CommandFixture::new();
    world.configure("checkpoints:\n  max_snapshots: 1\n");
    world.write("a.txt", "one\n");
    world.herma(&["checkpoint", "--label", "base"]).done();
    let take = |content: &str| {
        world.write("a.txt", content);
        world.herma(&["checkpoint"]).done().text()
    };
    assert!(take("two\n").contains("1 checkpoint is pinned"));
    take("three\n");
    let list = world.herma(&["rollback"]).done().text();
    assert!(list.contains("label: base (pinned)"), "{list}");
    let shown = world.herma(&["rollback", "show", "base"]).done().text();
    assert!(shown.contains("  label: \"base\"\n  pinned: true\n"), "{shown}");
    world.herma(&["pin", "base"]).done();
    world.herma(&["rollback", "base"]).done();
    assert_eq!(world.read("a.txt"), "one\n");
    let unpinned = world.herma(&["unpin", "base"]).done().text();
    assert!(unpinned.contains("so it is gone: only the pin kept it"), "{unpinned}");
    take("four\n");
    let gone = world.herma(&["rollback", "base"]);
    assert_eq!((gone.exit, gone.refusal()), (Some(3), "bad_target"));
    let shown = world.herma(&["rollback", "show", "1"]).done().text();
    assert!(shown.contains("# only files, no agent state"), "{shown}");
}

#[test]
fn rollback_restores_files_and_reports_what_is_wrong_with_the_state_of_the_agent() {
    let world = enabled();
    let none = world.herma(&["actions"]);
    assert_eq!((none.exit, none.refusal()), (Some(3), "no_agent"));
    let lines = "progress 2\nback\n/checkpoint 12\n/unpin nothing\ncompact\nslow 31 true\n\
        hand_off sub\nback\nexplain rm a\nprogress 0.5\ngoal g\nremember m\nlog\n/rollback-actions\n";
    let said = run_session(&world, lines);
    let text = said.text();
    for expected in [
        "2 is not a number from 0 to 1",
        "no sub-agent is running",
        "[bad_label]",
        "would take a checkpoint: About to run rm a: it deletes files",
        "There is nothing to compensate",
    ] {
        assert!(text.contains(expected) || expected.starts_with('['), "{expected}: {text}");
    }
    let agent = world.root.join("hermes/agent");
    fs::write(agent.join("compensations.json"), "{").unwrap();
    let list = world.herma(&["rollback"]);
    assert_eq!(list.exit, Some(0));
    assert!(list.stderr.contains("compensations.json\" cannot be read"), "{}", list.stderr);
    fs::remove_file(agent.join("compensations.json")).unwrap();
    fs::write(agent.join("goal.json"), "{").unwrap();
    let examined = world.herma(&["doctor"]).done().text();
    assert!(examined.contains("notice   agent") && examined.contains("goal.json"), "{examined}");
    world.write("a.txt", "one\n");
    let taken = world.herma(&["checkpoint"]).done().text();
    assert!(taken.contains("⚠ the agent's goal is not in this checkpoint"), "{taken}");
    fs::write(agent.join("goal.json"), "{}").unwrap();
    fs::write(agent.join("external.json"), "{").unwrap();
    world.write("a.txt", "two\n");
    let back = world.herma(&["rollback", "1"]).done().text();
    assert!(back.contains("may still have effects"), "{back}");
    assert_eq!(world.read("a.txt"), "one\n");
    // An error repeats no more than the beginning of what was read.
    fs::write(agent.join("external.json"), format!("\"{}\"", "a".repeat(1 << 20))).unwrap();
    world.write("a.txt", "three\n");
    for command in ["actions", "checkpoint"] {
        let answer = world.herma(&[command]);
        let said = format!("{}{}", answer.text(), answer.stderr);
        assert!(
            said.contains("log of external actions") || said.contains("external actions"),
            "{said}"
        );
        assert!(said.len() < 2_000, "{command}: {} bytes", said.len());
    }
}

#[test]
fn a_session_reports_unusable_files_of_the_agent_where_it_needs_them() {
    let world = enabled();
    let agent = world.root.join("hermes/agent");
    fs::create_dir_all(&agent).unwrap();
    for name in ["compensations.json", "external.json"] {
        fs::write(agent.join(name), "{").unwrap();
    }
    let lines = "goal g\nregister pr true\noutside pr 1\nactions\n/checkpoint base\n\
        progress 0.6\nslow 31 true\ncard c doing Write\ncard c done\n";
    let said = run_session(&world, lines);
    assert_eq!(said.exit, Some(4));
    for expected in [
        "compensations.json\" cannot be read",
        "failed: the agent's log of external actions cannot be used",
        "the external actions since the last checkpoint are not in this one",
        "  took checkpoint",
    ] {
        assert!(said.text().contains(expected), "{expected}: {}", said.text());
    }
    // Where nothing can be stored, the agent still has its goal, and the session reports what it cannot do.
    world.configure("checkpoints:\n  enabled: yes\n");
    let more = "outside pr 1\nexplain rm a\nactions\n/pin base\nremember m\nslow 31 true\n";
    let said = run_session(&world, &format!("{lines}{more}"));
    assert_eq!(said.exit, Some(4));
    assert!(said.text().contains("the goal is: g"), "{}", said.text());
    let refused = said.text().matches("failed: \"").count();
    assert!(refused >= 5, "{refused}: {}", said.text());
    assert!(said.text().contains("would not take a checkpoint"), "{}", said.text());
}

#[test]
fn verify_reports_a_damaged_envelope_and_prune_reports_pins_over_the_size_limit() {
    let world = enabled();
    world.write("a.txt", "one\n");
    let said =
        run_session(&world, "goal g\n/checkpoint base\nactions\naudit\n/accept-external\n").done();
    for nothing in
        ["There are no external actions", "There are no decisions", "There is nothing to accept"]
    {
        assert!(said.text().contains(nothing), "{nothing}: {}", said.text());
    }
    let store = world.base().join("store");
    let folder =
        fs::read_dir(store.join("refs/envelopes")).unwrap().next().unwrap().unwrap().path();
    let envelope = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    fs::write(envelope, "no id").unwrap();
    let verified = world.herma(&["checkpoints", "verify"]);
    assert_eq!(verified.exit, Some(5));
    assert!(verified.text().contains("its files are intact"), "{}", verified.text());
    // Bytes that cannot be compressed.
    let mut state = 1u64;
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let noise: Vec<u8> = (0..2_000_000).map(|_| byte()).collect();
    world.write("large", noise);
    world.herma(&["checkpoint", "--label", "large"]).done();
    let pruned = world.herma(&["checkpoints", "prune", "--max-size-mb", "1"]).done().text();
    assert!(pruned.contains("over its size limit: the pinned checkpoints"), "{pruned}");
}

// rule: scope/base-not-captured
// rule: agent/external-listed
// rule: agent/compensation
#[test]
fn rollback_in_the_folder_of_the_agents_own_state_keeps_the_log_of_external_actions() {
    let world = enabled();
    let home = world.root.join("hermes");
    let play = |lines: &str| {
        let script = world.root.join("script");
        fs::write(&script, lines).unwrap();
        let words = ["session".as_ref(), "--script".as_ref(), script.as_os_str()];
        let mut command = world.command();
        command.current_dir(&home);
        world.run(command, &words).done()
    };
    let herma = |words: &[&str]| {
        let mut command = world.command();
        command.current_dir(&home);
        world.run(command, words)
    };
    let log = world.root.join("outside.log");
    play(&format!(
        "say one\ngoal G\nregister pr echo $HERMA_ID >> {}\nwrite_file skill.md one\n\
         /checkpoint base\noutside pr 2\nwrite_file skill.md two\n/checkpoint later\n",
        log.display()
    ));
    let listed = herma(&["rollback", "base", "--exact"]).done().text();
    assert!(listed.contains("pr #2 (still open)"), "{listed}");
    assert_eq!(fs::read_to_string(home.join("skill.md")).unwrap(), "one\n");
    herma(&["actions", "compensate"]).done();
    herma(&["rollback", "later"]).done();
    herma(&["rollback", "base"]).done();
    herma(&["actions", "compensate"]).done();
    assert_eq!(fs::read_to_string(&log).unwrap(), "2\n");
    let inside = herma(&["checkpoint", home.join("agent").to_str().unwrap()]);
    assert_eq!((inside.exit, inside.refusal()), (Some(3), "scope_base"));
}

// rule: agent/all-or-none
#[test]
fn rollback_restores_files_and_state_after_the_folder_of_the_agent_was_removed() {
    let world = enabled();
    run_session(&world, "say x\ngoal G\nwrite_file a 1\n/checkpoint one\nwrite_file a 2\n").done();
    let agent = world.root.join("hermes/agent");
    let goal = fs::read(agent.join("goal.json")).unwrap();
    let remove = || fs::remove_dir_all(&agent).unwrap();
    remove();
    let would = world.herma(&["rollback", "one", "--dry-run"]).done().text();
    assert!(would.contains("restore  the agent's goal"), "{would}");
    let with_other_token = ["rollback", "one", "--as-previewed", "0000000000000000"];
    assert_eq!(world.herma(&with_other_token).refusal(), "changed_since_preview");
    // Restoring a single file does not restore the state of the agent.
    world.herma(&["rollback", "one", "a"]).done();
    assert!(!agent.exists());
    world.write("a", "2\n");
    let done = world.herma(&["rollback", "one"]).done().text();
    assert!(done.contains("restored  the agent's goal"), "{done}");
    assert_eq!((world.read("a"), fs::read(agent.join("goal.json")).unwrap()), ("1\n".into(), goal));
    remove();
    let said = run_session(&world, "say y\n/rollback one\nprogress 0.5\n").done().text();
    assert!(said.contains("restored  the agent's goal") && said.contains("G: 50%"), "{said}");
}
