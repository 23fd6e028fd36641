//! Real agents through their front door: the judge passes a careful agent and finds each bug of a broken one.

use herma_harness::front_door::{Bench, DOOR_RULES, DoorCommand, DoorPlan, DoorResults, run};
use herma_tests::built_binary;
use pretty_assertions::assert_eq;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

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

/// Judges the stand-in.
fn judge(stories: usize, broken: Option<&str>) -> DoorResults {
    let scratch = tempfile::tempdir().unwrap();
    let adapter = root().join("harness/agents/stand_in.py");
    let herma = unmeasured(scratch.path());
    let mut command: Vec<OsString> =
        vec!["python3".into(), "-B".into(), adapter.into(), "--herma".into(), herma.into()];
    command.extend(broken.into_iter().flat_map(|bug| ["--broken".into(), bug.into()]));
    let scratch_path = scratch.path().to_owned();
    let start =
        DoorCommand { command, door: None, cache: scratch_path.clone(), scratch: scratch_path };
    let plan = DoorPlan { seed: 1, stories, turns: None, time_budget: None, jobs: 2 };
    run(Bench::new(start), &plan, None, &|_, _| {}).unwrap()
}

fn has_python() -> bool {
    let is_there = std::process::Command::new("python3").arg("--version").output().is_ok();
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
    let results = judge(40, None);
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
        ("after-write", "agent-door/state-before-change-held"),
        ("writes-again", "agent-door/nothing-written-unasked"),
        ("conversation-kept", "agent-door/conversation-matches-files-after-resume"),
    ];
    for (bug, rule) in bugs {
        let results = judge(16, Some(bug));
        let finding = results.findings.iter().find(|finding| finding.rule == rule);
        let finding = finding.unwrap_or_else(|| panic!("{bug}: {}", results.text()));
        assert!(finding.is_stable() && finding.story.turns() <= 2, "{bug}: {}", results.text());
    }
}

#[test]
fn run_gives_no_verdict_on_an_agent_that_cannot_be_had() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().to_owned();
    let command = vec![Path::new("/nowhere/adapter").into()];
    let start = DoorCommand { command, door: None, cache: path.clone(), scratch: path };
    let plan = DoorPlan { seed: 1, stories: 1, turns: None, time_budget: None, jobs: 1 };
    let error = run(Bench::new(start), &plan, None, &|_, _| {}).unwrap_err();
    assert!(error.to_string().contains("cannot be started"), "{error}");
}
