//! The fault lane as a person uses it: what is killed, or fails, at a call of a process that nobody
//! here wrote; who loses something is found, and who does not is not.

use herma_tests::built_binary;
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::fs;
use std::process::{Command, Output};

fn conform(arguments: &[&str]) -> Output {
    Command::new(built_binary("herma-conform")).args(arguments).output().unwrap()
}

/// What was found in a subject, with the exit code; the core where none is named.
fn found(arguments: &[&str], subject: &[&str]) -> (i32, Value) {
    let output = conform(&[&["faults", "--json", "--seed", "1"], arguments, subject].concat());
    let code = output.status.code().unwrap();
    (code, serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}")))
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

#[test]
fn nothing_is_held_against_the_core_whatever_happens_at_some_calls() {
    if !can_supervise() {
        return;
    }
    for operation in ["take", "restore", "prune"] {
        let (code, found) = found(&["--operation", operation, "--points", "4"], &[]);
        assert_eq!(code, 0, "{found:#}");
        let faults = found["faults"].as_array().unwrap();
        assert_eq!(faults.len(), 16);
        assert!(faults.iter().all(|one| one["failures"].as_array().unwrap().is_empty()));
        // What was killed was killed at the call that was meant.
        let killed = faults.iter().filter(|one| one["fault"] == "kill");
        assert!(
            killed.clone().count() == 4 && killed.into_iter().all(|one| one["point"].is_object())
        );
    }
}

#[test]
fn a_store_that_stays_locked_after_a_kill_is_found_at_that_call() {
    if !can_supervise() {
        return;
    }
    let binary = built_binary("herma-conform").display().to_string();
    let naive = ["--", &binary, "adapter", "serve", "--bug", "naive"];
    let (code, all) = found(&["--operation", "take", "--fault", "kill"], &naive);
    assert_eq!(code, 1, "{all:#}");
    let locked = |one: &&Value| {
        let path = one["point"]["path"].as_str().unwrap_or_default();
        path.ends_with(".lock") && one["point"]["call"] != "open"
    };
    let locked: Vec<&Value> = all["faults"].as_array().unwrap().iter().filter(locked).collect();
    assert!(!locked.is_empty());
    for one in locked {
        let rules = one["failures"].as_array().unwrap().iter().map(|failure| &failure["rule"]);
        assert!(rules.clone().any(|rule| rule == "not-as-before"), "{one:#}");
    }
}

#[test]
fn one_fault_is_repeated_by_the_line_that_is_printed() {
    if !can_supervise() {
        return;
    }
    let binary = built_binary("herma-conform").display().to_string();
    let naive = ["--", &binary, "adapter", "serve", "--bug", "naive"];
    let arguments = ["faults", "--seed", "1", "--operation", "take", "--fault", "kill"];
    let output = conform(&[&arguments[..], &["--points", "12"], &naive].concat());
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
