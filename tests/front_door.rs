//! Real agents through their front door: the judge passes a careful agent and finds each bug of a broken one.

use herma_harness::front_door::{
    Bench, DOOR_RULES, DoorCommand, DoorPlan, DoorResults, Story, run,
};
use herma_harness::parallel;
use herma_tests::built_binary;
use pretty_assertions::assert_eq;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::docs::root;

/// The command, which does not record its lines: it runs hundreds of times.
fn unmeasured(folder: &Path) -> PathBuf {
    let herma = built_binary("herma");
    if herma_tests::coverage().is_none() {
        return herma;
    }
    let script = folder.join("herma");
    let line = format!("LLVM_PROFILE_FILE=/dev/null exec '{}' \"$@\"", herma.display());
    fs::write(&script, format!("#!/bin/sh\n{line}\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
    script
}

/// Judges the stand-in by these stories, or by those of a seed.
fn judge(stories: usize, chosen: Option<Story>, broken: Option<&str>) -> DoorResults {
    let scratch = tempfile::tempdir().unwrap();
    let adapter = root().join("harness/agents/stand_in.py");
    let herma = unmeasured(scratch.path());
    let mut command: Vec<OsString> =
        vec!["python3".into(), "-B".into(), adapter.into(), "--herma".into(), herma.into()];
    command.extend(broken.into_iter().flat_map(|bug| ["--broken".into(), bug.into()]));
    let scratch_path = scratch.path().to_owned();
    let start =
        DoorCommand { command, door: None, cache: scratch_path.clone(), scratch: scratch_path };
    let plan = DoorPlan { seed: 1, stories, turns: None, time_budget: None, jobs: 4 };
    let chosen = chosen.map(|story| vec![story]);
    run(&Bench::new(start), &plan, chosen, &|_, _| {}).unwrap()
}

/// A story that the bugs of the stand-in's restores and sessions fail.
const RESTORES: &str = "
files: {a.txt: 'first', b.txt: 'first'}
operations:
- say: [[{write: {path: b.txt, content: 'second'}}]]
- say: [[{write: {path: a.txt, content: 'third'}}, {write: {path: new.txt, content: 'third'}}]]
- restore: {to: {turn: 2}}
- resume
- say: []
- fork
- say: []
- compact
";

/// A story that its other bugs fail.
const TURNS: &str = "
files: {a.txt: 'first', b.txt: 'first'}
operations:
- say: [[{write: {path: b.txt, content: 'second'}}]]
- refuse: [[{delete: {path: a.txt}}]]
- say: [[{delegate: {write: {path: a.txt, content: 'third'}}}]]
- second_process
- say: []
- restore: {to: {turn: 3}}
";

fn story(text: &str) -> Story {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("story.yaml");
    fs::write(&file, text).unwrap();
    Story::read(&file).unwrap()
}

fn has_python() -> bool {
    let is_there = Command::new("python3").arg("--version").output().is_ok();
    if !is_there {
        eprintln!("not run: no python3 on this machine");
    }
    is_there
}

#[test]
fn run_passes_a_careful_agent_and_checks_every_rule() {
    if !has_python() {
        return;
    }
    let results = judge(60, None, None);
    let found: Vec<&str> = results.findings.iter().map(|finding| &*finding.rule).collect();
    assert_eq!(found, [""; 0], "{}", results.text());
    assert!(results.unjudged.is_empty() && results.left_running == 0, "{}", results.text());
    let untested = DOOR_RULES.iter().filter(|rule| !results.checks.contains_key(rule.id));
    let untested: Vec<&str> = untested.map(|rule| rule.id).collect();
    assert_eq!(untested, ["agent-door/redo-asks-first"], "the stand-in proposes nothing again");
}

#[test]
fn run_finds_the_bug_of_a_broken_agent_with_a_story_of_at_most_two_turns() {
    if !has_python() {
        return;
    }
    let bugs = [
        ("after-write", RESTORES, "agent-door/state-before-change-held"),
        ("writes-again", RESTORES, "agent-door/nothing-written-unasked"),
        ("conversation-kept", RESTORES, "agent-door/conversation-matches-files-after-resume"),
        ("compact-clears", RESTORES, "agent-door/compact-costs-nothing"),
        ("fork-of-all", RESTORES, "agent-door/fork-has-the-turns"),
        ("refused-runs", TURNS, "agent-door/refused-call-changes-nothing"),
        ("start-clears", TURNS, "agent-door/second-process-costs-nothing"),
        ("sub-agent-uncovered", TURNS, "agent-door/sub-agent-changes-held"),
    ];
    parallel::map(bugs.into_iter(), bugs.len(), |(bug, text, rule)| {
        let results = judge(1, Some(story(text)), Some(bug));
        let finding = results.finding(rule);
        let finding = finding.unwrap_or_else(|| panic!("{bug}: {}", results.text()));
        assert!(finding.is_stable() && finding.story.turns() <= 2, "{bug}: {}", results.text());
    });
    for text in [RESTORES, TURNS] {
        let results = judge(1, Some(story(text)), None);
        assert!(results.findings.is_empty(), "{}", results.text());
    }
}

#[test]
fn run_gives_no_verdict_on_an_agent_that_cannot_be_had() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().to_owned();
    let command = vec![Path::new("/nowhere/adapter").into()];
    let start = DoorCommand { command, door: None, cache: path.clone(), scratch: path };
    let plan = DoorPlan { seed: 1, stories: 1, turns: None, time_budget: None, jobs: 1 };
    let error = run(&Bench::new(start), &plan, None, &|_, _| {}).unwrap_err();
    assert!(error.to_string().contains("cannot be started"), "{error}");
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// The processes that have this folder in their environment, and the entries of the folder.
fn left_behind(folder: &Path) -> Vec<String> {
    let folder_bytes = folder.as_os_str().as_encoded_bytes();
    let is_left = |process: &PathBuf| {
        let variables = fs::read(process.join("environ")).unwrap_or_default();
        variables.windows(folder_bytes.len()).any(|part| part == folder_bytes)
    };
    let processes = entries(Path::new("/proc")).into_iter().filter(is_left);
    let left = processes.chain(entries(folder));
    left.map(|path| path.display().to_string()).collect()
}

#[test]
fn agent_leaves_nothing_behind_when_a_signal_ends_it_and_keeps_its_results() {
    if !has_python() || !Path::new("/proc/self/environ").exists() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().join("tmp");
    let kept = folder.path().join("kept");
    fs::create_dir(&temporary).unwrap();
    let mut command = Command::new(built_binary("herma-conform"));
    command.args(["agent", "stand-in", "--seed", "1", "--save"]).arg(&kept);
    command.args(["--", "--herma"]).arg(built_binary("herma"));
    command.env("TMPDIR", &temporary).env("HOME", folder.path());
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("seed 1"));
    // The agent starts, and is told its first story.
    let is_told = || {
        let runs = entries(&temporary).into_iter().map(|folder| folder.join("run"));
        let mut paths = runs.flat_map(|run| entries(&run));
        paths.any(|path| path.display().to_string().contains("agent-project-"))
    };
    let limit = Instant::now() + Duration::from_secs(60);
    while !is_told() && Instant::now() < limit {
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(4));
    assert_eq!(left_behind(&temporary), [""; 0]);
    assert!(kept.join("results-1.json").is_file());
}
