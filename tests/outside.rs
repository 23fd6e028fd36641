//! Injections from outside: what happens at a call of another process is judged as what happens in this one.

use herma_harness::divergence::Divergence;
use herma_harness::history::file::from_yaml;
use herma_harness::sandbox::Scratch;
use herma_harness::subject::AdapterCommand;
use herma_harness::trial::trial;
use herma_tests::built_binary;
use pretty_assertions::assert_eq;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

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
    let start = AdapterCommand { command, directory, ..AdapterCommand::default() };
    (start, [program, "supervised".into()])
}

/// The core behind an adapter, or a planted bug, whose process is supervised.
fn supervised(bug: &[&str]) -> AdapterCommand {
    let (start, supervisor) = started(bug);
    AdapterCommand { supervisor: Some(supervisor.to_vec()), ..start }
}

/// What is wrong with a checkpoint of a change at one of whose calls that happens, and with what follows;
/// and how often it happened.
fn met(injection: &str, start: &AdapterCommand) -> (Vec<&'static str>, u64) {
    let text = format!(
        "operations:
- write: {{path: work/alpha/a, content: '1'}}
- checkpoint: {{dir: work/alpha, reason: r}}
- write: {{path: work/alpha/a, content: '2'}}
- inject: {{{injection}}}
- checkpoint: {{dir: work/alpha, reason: r}}
- write: {{path: work/alpha/a, content: '3'}}
- restore: {{dir: work/alpha, target: {{number: 1}}, exact: false}}"
    );
    let history = from_yaml(&text, Path::new("here")).unwrap();
    let run = trial(&history, &start.opener(), &Scratch::default_place()).unwrap().run;
    let rule = |one: &Divergence| one.rule.id;
    (run.divergences.iter().map(rule).collect(), run.injections)
}

#[test]
fn whatever_happens_at_any_call_of_the_core_in_another_process_costs_nothing() {
    if !can_supervise() {
        return;
    }
    let core = supervised(&[]);
    let saved = "meanwhile: [{write: {path: work/alpha/a, content: saved}}]";
    let other = "meanwhile: [{checkpoint: {dir: work/alpha, reason: other}}]";
    for (what, least) in [
        ("call: every, what: error".to_owned(), 30),
        (format!("call: every, what: hold, {saved}"), 10),
        (format!("call: {{spread: 6}}, what: overlap, {other}"), 4),
    ] {
        let (broken, injections) = met(&what, &core);
        assert_eq!(broken, Vec::<&str>::new(), "{what}");
        assert!(injections >= least, "{what}: {injections}");
    }
    for injection in
        ["call: 20, what: kill", "call: end, what: kill", "call: end, what: {power_loss: names}"]
    {
        assert_eq!(met(injection, &core), (Vec::new(), 1), "{injection}");
    }
    // A call that waits while nobody edits anything is as any other.
    assert_eq!(met("call: 20, what: hold", &core), (Vec::new(), 0));
}

#[test]
fn what_is_not_synced_is_lost_in_another_process_too() {
    if !can_supervise() {
        return;
    }
    let bug = supervised(&["--bug", "nothing-is-synced"]);
    let (broken, _) = met("call: end, what: {power_loss: nothing}", &bug);
    assert_eq!(broken, ["crash/power-loss"]);
    // It does not go at a call that nobody makes.
    assert_eq!(met("call: 1000, what: {power_loss: nothing}", &bug), (Vec::new(), 0));
}

#[test]
fn a_process_that_leaves_another_behind_is_found_out_before_anything_happens() {
    if !can_supervise() {
        return;
    }
    let core = supervised(&[]);
    let leaves = ["sh", "-c", "sleep 9 & exec \"$@\"", "sh"].map(OsString::from);
    let command = [&leaves[..], &core.command[..]].concat();
    let (broken, injections) = met("call: 1, what: kill", &AdapterCommand { command, ..core });
    assert_eq!((broken, injections), (vec!["capture/created"], 0));
}

/// A folder that has `below` in it.
fn a_folder_below() -> (TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let below = root.join("below");
    fs::create_dir(&below).unwrap();
    (folder, root, below)
}

/// Runs a script under supervision in a folder that has `below` in it: how it ends, and the calls
/// below that folder.
fn run_supervised(root: &Path, what: &[&str], script: &str) -> (Option<i32>, Vec<String>) {
    let (below, noted) = (root.join("below"), root.join("noted"));
    let _ = fs::remove_file(&noted);
    let status = Command::new(built_binary("herma-conform"))
        .args(["supervised", "--below"])
        .arg(&below)
        .arg("--points")
        .arg(&noted)
        .args(what)
        .args(["--", "sh", "-c", script])
        .current_dir(root)
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    let text = fs::read_to_string(&noted).unwrap();
    let short = |line: &str| line.replace(&format!("{}/", below.display()), "");
    (status.code(), text.lines().map(short).collect())
}

#[test]
fn every_changing_call_of_a_command_is_noted_and_one_of_them_fails() {
    if !can_supervise() {
        return;
    }
    let (_folder, root, below) = a_folder_below();
    let script = "cd below; echo x > a; echo x > ../elsewhere; mkdir d && mv a d/b && rm -r d";
    let (code, calls) = run_supervised(&root, &[], script);
    assert_eq!(code, Some(0));
    let due = ["open\ta", "write\ta", "mkdir\td", "rename\td/b", "remove\td/b", "remove\td"];
    assert_eq!(calls, due);
    let (code, calls) = run_supervised(&root, &["--at", "3", "--what", "no_space"], script);
    assert_eq!((code, calls.len()), (Some(1), 3));
    assert_eq!(fs::read_dir(&below).unwrap().count(), 1);
    let (code, calls) = run_supervised(&root, &["--at", "3", "--what", "kill"], script);
    assert_eq!((code, calls.len()), (Some(137), 3));
}

#[test]
fn a_write_is_cut_short_a_read_fails_and_what_was_not_synced_is_gone_with_the_power() {
    if !can_supervise() {
        return;
    }
    let (_folder, root, below) = a_folder_below();
    let all = |what: &[&str], script: &str| {
        fs::remove_dir_all(&below).unwrap();
        fs::create_dir(&below).unwrap();
        fs::write(below.join("old"), "old\n").unwrap();
        let (code, calls) = run_supervised(&root, what, script);
        let read = |name: &str| fs::read_to_string(below.join(name)).ok();
        (code, calls, ["old", "new", "after"].map(read))
    };
    let script =
        "cd below; dd if=old of=new bs=8 count=1 conv=fsync; echo more >> old; cat new > after";
    let (code, calls, held) = all(&[], script);
    assert_eq!(code, Some(0));
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(held, [text("old\nmore\n"), text("old\n"), text("old\n")]);
    let place = |of: &str| 1 + calls.iter().position(|call| call == of).unwrap();
    let with = |what: &str, at: usize| all(&["--at", &at.to_string(), "--what", what], script).2;
    // Who does not look at what it is told loses the rest; `dd` writes on.
    assert_eq!(with("short_write", place("write\tnew")), held);
    assert_eq!(with("{power_loss: names}", place("sync\tnew")), [text("old\n"), text(""), None]);
    assert_eq!(
        with("{power_loss: names}", place("open\tafter")),
        [text("old\n"), text("old\n"), None]
    );
    let at_the_end = |what: &str| all(&["--what", what], script).2;
    assert_eq!(at_the_end("{power_loss: names}"), [text("old\n"), text("old\n"), text("")]);
    assert_eq!(
        at_the_end("{power_loss: blocks}"),
        [text("old\n\0\0\0\0\0"), text("old\n"), text("\0\0\0\0")]
    );
    assert_eq!(at_the_end("{power_loss: nothing}"), [text("old\n"), text("old\n"), None]);
    let (_, calls, _) = all(&["--calls", "reading"], script);
    let at = 1 + calls.iter().position(|call| call == "read\tnew").unwrap();
    let (code, _, held) =
        all(&["--calls", "reading", "--at", &at.to_string(), "--what", "read_error"], script);
    assert_eq!((code, &held[2]), (Some(1), &text("")));
}
