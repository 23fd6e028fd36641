//! The fault lane as a person uses it: what is killed, or fails, at a call of a process that nobody
//! here wrote; who loses something is found, and who does not is not.

use herma_harness::damage::Opened;
use herma_harness::damage::judge::Rule;
use herma_harness::faults::fault::Fault;
use herma_harness::faults::report::{Extent, Report};
use herma_harness::faults::{Chosen, Lane, NAIVE, Operation, Outcome, naive};
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::protocol::process::Limits;
use herma_harness::sandbox::Scratch;
use herma_harness::subject::{AdapterCommand, Identity};
use herma_tests::built_binary;
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::process::{Command, Output};

fn conform(arguments: &[&str]) -> Output {
    Command::new(built_binary("herma-conform")).args(arguments).output().unwrap()
}

/// Whether this system lets a process tell of another's calls; where it does not, the lane says that
/// it was not run, and so do these tests.
fn can_supervise() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let points = folder.path().join("points");
    let (points, folder) = (points.to_str().unwrap(), folder.path().to_str().unwrap());
    let output = conform(&["supervised", "--below", folder, "--points", points, "--", "true"]);
    let said = String::from_utf8(output.stderr).unwrap();
    if said.contains("cannot be supervised") {
        eprintln!("not run: {said}");
        let lane = conform(&["faults", "--operation", "take"]);
        assert_eq!(lane.status.code(), Some(4), "{lane:?}");
        return false;
    }
    assert!(output.status.success(), "{said}");
    true
}

/// How this program's own subjects are started, and the command that supervises them.
fn started(bug: &[&str]) -> (AdapterCommand, [OsString; 2]) {
    let program: OsString = built_binary("herma-conform").into();
    let words = [&["adapter", "serve"], bug].concat().into_iter().map(OsString::from);
    let command = [program.clone()].into_iter().chain(words).collect();
    let directory = std::env::current_dir().unwrap();
    let start = AdapterCommand { command, directory, limits: Limits::default() };
    (start, [program, "supervised".into()])
}

/// What comes of every fault at some calls of an operation.
fn outcomes(lane: &Lane<'_>, operation: Operation, faults: &[Fault], most: usize) -> Vec<Outcome> {
    let scratch = Scratch::default_place();
    let points = lane.points(operation, &scratch).unwrap().len();
    let anyway = lane.anyway(operation, &scratch).unwrap();
    let at = (0..most.min(points)).map(|one| 1 + one * points / most.min(points));
    let all = at.flat_map(|at| faults.iter().map(move |fault| (at, *fault)));
    all.map(|(at, fault)| lane.run(Chosen { operation, fault, at }, &anyway, &scratch).unwrap())
        .collect()
}

#[test]
fn nothing_is_held_against_the_core_whatever_happens_at_some_calls() {
    if !can_supervise() {
        return;
    }
    let (start, supervised) = started(&[]);
    let (subject, capabilities) = (Identity::default(), Capabilities::complete());
    let opened = Opened { open: &start.opener(), subject, capabilities };
    let lane = Lane { opened: &opened, start: &start, supervised: &supervised, seed: 1 };
    // Who holds the lock of a project is waited for for seconds, so that comes once only.
    let short: Vec<Fault> =
        Fault::ALL.into_iter().filter(|fault| *fault != Fault::HoldTake).collect();
    for operation in Operation::ALL {
        let held = outcomes(&lane, operation, &[Fault::HoldTake], 1);
        for one in held.into_iter().chain(outcomes(&lane, operation, &short, 2)) {
            assert_eq!(one.failures.len(), 0, "{one:?}");
            // What was killed was killed at the call that was meant.
            assert!(one.chosen.fault != Fault::Kill || one.point.is_some(), "{one:?}");
            assert!(one.checked > 20, "{one:?}");
        }
    }
}

#[test]
fn a_store_that_stays_locked_after_a_kill_is_found_at_that_call() {
    if !can_supervise() {
        return;
    }
    let (start, supervised) = started(&["--bug", NAIVE]);
    let capabilities = ["checkpoint", "layout", "test.clock", "test.store"];
    let capabilities = capabilities.into_iter().fold(Capabilities::none(), Capabilities::with);
    let opened = Opened { open: &start.opener(), subject: Identity::default(), capabilities };
    let lane = Lane { opened: &opened, start: &start, supervised: &supervised, seed: 1 };
    let all = outcomes(&lane, Operation::Take, &[Fault::Kill], usize::MAX);
    let locked = |one: &&Outcome| {
        let point = one.point.as_ref();
        point.is_some_and(|point| point.path.ends_with(".lock") && point.call != "open")
    };
    assert!(all.iter().any(|one| locked(&one)));
    for one in all.iter().filter(locked) {
        assert!(one.failures.iter().any(|one| one.rule == Rule::NotAsBefore), "{one:?}");
    }
    let extent = Extent { points: all.len(), exhaustive: true, not_run: None };
    let report = Report {
        subject: Identity::new("it", "1"),
        seed: 1,
        operations: BTreeMap::from([(Operation::Take, extent)]),
        faults: all,
        not_judged: Vec::new(),
        replay: "herma-conform faults --seed 1".into(),
        spelled: " it@1".into(),
    };
    assert!(report.is_broken());
    let text = report.text(false);
    for part in [
        "not-as-before: a fault costs nothing",
        "  fault:    a checkpoint after an edit: ",
        ": killed before it",
        "  replay:   herma-conform faults --seed 1 --only take:kill:",
        "take: each of its ",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(report.text(true).matches("replay:").count() > text.matches("replay:").count());
    let value: Value = serde_json::from_str(&report.json()).unwrap();
    assert_eq!(value["faults"][0]["fault"], "kill");
}

#[test]
fn the_canary_fails() {
    if !can_supervise() {
        return;
    }
    let (start, supervised) = started(&[]);
    assert!(naive(&start.command[0], &supervised, &Scratch::default_place()).unwrap());
}

#[test]
fn one_fault_is_repeated_by_the_line_that_is_printed() {
    if !can_supervise() {
        return;
    }
    let binary = built_binary("herma-conform").display().to_string();
    let naive = ["--", &binary, "adapter", "serve", "--bug", "naive"];
    let arguments = ["faults", "--seed", "1", "--operation", "take", "--fault", "kill"];
    let output = conform(&[&arguments[..], &["--points", "6"], &naive].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.split_once("replay:   herma-conform ")).unwrap().1;
    let words: Vec<&str> = line.split_whitespace().collect();
    let again = conform(&words);
    assert_eq!(again.status.code(), Some(1), "{line}: {again:?}");
    assert!(String::from_utf8(again.stdout).unwrap().contains("not-as-before"), "{line}");
}

#[test]
fn every_changing_call_of_a_command_is_noted_and_one_of_them_fails() {
    if !can_supervise() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (below, noted) = (root.join("below"), root.join("noted"));
    fs::create_dir(&below).unwrap();
    let supervised = |fault: &[&str]| {
        let _ = fs::remove_file(&noted);
        let script = "cd below; echo x > a; echo x > ../elsewhere; mkdir d && mv a d/b && rm -r d";
        let status = Command::new(built_binary("herma-conform"))
            .args(["supervised", "--below"])
            .arg(&below)
            .arg("--points")
            .arg(&noted)
            .args(fault)
            .args(["--", "sh", "-c", script])
            .current_dir(&root)
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        let text = fs::read_to_string(&noted).unwrap();
        let short = |line: &str| line.replace(&format!("{}/", below.display()), "");
        (status.code(), text.lines().map(short).collect::<Vec<String>>())
    };
    let (code, calls) = supervised(&[]);
    assert_eq!(code, Some(0));
    let due = ["open\ta", "write\ta", "mkdir\td", "rename\td/b", "remove\td/b", "remove\td"];
    assert_eq!(calls, due);
    let (code, calls) = supervised(&["--at", "3", "--fault", "no-space"]);
    assert_eq!((code, calls.len()), (Some(1), 3));
    assert_eq!(fs::read_dir(&below).unwrap().count(), 1);
    let (code, calls) = supervised(&["--at", "3", "--fault", "kill"]);
    assert_eq!((code, calls.len()), (Some(137), 3));
}
