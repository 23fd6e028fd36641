//! Injections from outside: an injection at a call of another process is judged like one in this process.

use herma_harness::divergence::Divergence;
use herma_harness::history::file::from_yaml;
use herma_harness::runner::Until;
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

/// Whether this system lets a process observe the calls of another. If not, the check reports that it did not
/// run, and so do these tests.
fn can_supervise() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let points = folder.path().join("points");
    let points = points.to_str().unwrap();
    let below = folder.path().to_str().unwrap();
    let output = conform(&["supervised", "--below", below, "--points", points, "--", "true"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    if stderr.contains("cannot be supervised") {
        eprintln!("not run: {stderr}");
        return false;
    }
    assert!(output.status.success(), "{stderr}");
    true
}

/// The command that serves the core or a planted bug, and the command that supervises it.
fn adapter_and_supervisor(bug: &[&str]) -> (AdapterCommand, [OsString; 2]) {
    let program: OsString = built_binary("herma-conform").into();
    let words = [&["adapter", "serve"], bug].concat().into_iter().map(OsString::from);
    let command = [program.clone()].into_iter().chain(words).collect();
    let directory = std::env::current_dir().unwrap();
    let start = AdapterCommand { command, directory, ..AdapterCommand::default() };
    (start, [program, "supervised".into()])
}

/// The core behind an adapter, or a planted bug, whose process is supervised.
fn supervised(bug: &[&str]) -> AdapterCommand {
    let (start, supervisor) = adapter_and_supervisor(bug);
    AdapterCommand { supervisor: Some(supervisor.to_vec()), ..start }
}

/// Runs a checkpoint of a change with this injection and the operations after it, and returns the broken rules
/// and the number of injections.
fn run_with_injection(injection: &str, start: &AdapterCommand) -> (Vec<&'static str>, u64) {
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
    let run =
        trial(&history, &start.opener(), &Scratch::in_default_directory(), Until::Disagreement)
            .unwrap()
            .run;
    let rule = |divergence: &Divergence| divergence.rule.id;
    (run.divergences.iter().map(rule).collect(), run.injections)
}

#[test]
fn an_injection_at_any_call_of_a_supervised_core_breaks_no_rule() {
    if !can_supervise() {
        return;
    }
    let core = supervised(&[]);
    let saved = "meanwhile: [{write: {path: work/alpha/a, content: saved}}]";
    let checkpoint = "meanwhile: [{checkpoint: {dir: work/alpha, reason: other}}]";
    for (injection, least) in [
        ("call: every, what: error".to_owned(), 30),
        (format!("call: every, what: hold, {saved}"), 10),
        (format!("call: {{spread: 6}}, what: overlap, {checkpoint}"), 4),
    ] {
        let (broken, injections) = run_with_injection(&injection, &core);
        assert_eq!(broken, Vec::<&str>::new(), "{injection}");
        assert!(injections >= least, "{injection}: {injections}");
    }
    for injection in
        ["call: 20, what: kill", "call: end, what: kill", "call: end, what: {power_loss: names}"]
    {
        assert_eq!(run_with_injection(injection, &core), (Vec::new(), 1), "{injection}");
    }
    // Holding a call has no effect unless something is edited meanwhile.
    assert_eq!(run_with_injection("call: 20, what: hold", &core), (Vec::new(), 0));
}

#[test]
fn power_loss_in_a_supervised_process_loses_unsynced_writes() {
    if !can_supervise() {
        return;
    }
    let bug = supervised(&["--bug", "nothing-is-synced"]);
    let (broken, _) = run_with_injection("call: end, what: {power_loss: nothing}", &bug);
    assert_eq!(broken, ["crash/power-loss"]);
    // There is no power loss at a call that is never made.
    assert_eq!(
        run_with_injection("call: 1000, what: {power_loss: nothing}", &bug),
        (Vec::new(), 0)
    );
}

#[test]
fn a_supervised_process_that_leaves_a_child_behind_fails_before_any_injection() {
    if !can_supervise() {
        return;
    }
    let core = supervised(&[]);
    let leaving_a_child = ["sh", "-c", "sleep 9 & exec \"$@\"", "sh"].map(OsString::from);
    let command = [&leaving_a_child[..], &core.command[..]].concat();
    let (broken, injections) =
        run_with_injection("call: 1, what: kill", &AdapterCommand { command, ..core });
    assert_eq!((broken, injections), (vec!["capture/created"], 0));
}

/// A temporary folder, its canonical path, and a folder `below` in it.
fn folder_with_below() -> (TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let below = root.join("below");
    fs::create_dir(&below).unwrap();
    (folder, root, below)
}

/// Runs a script under supervision in a folder with a folder `below`, and returns the exit code and the calls
/// in `below`.
fn run_supervised(root: &Path, options: &[&str], script: &str) -> (Option<i32>, Vec<String>) {
    let below = root.join("below");
    let points = root.join("noted");
    let _ = fs::remove_file(&points);
    let status = Command::new(built_binary("herma-conform"))
        .args(["supervised", "--below"])
        .arg(&below)
        .arg("--points")
        .arg(&points)
        .args(options)
        .args(["--", "sh", "-c", script])
        .current_dir(root)
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    let text = fs::read_to_string(&points).unwrap();
    let relative = |line: &str| line.replace(&format!("{}/", below.display()), "");
    (status.code(), text.lines().map(relative).collect())
}

#[test]
fn supervised_records_every_changing_call_and_fails_the_chosen_one() {
    if !can_supervise() {
        return;
    }
    let (_folder, root, below) = folder_with_below();
    let script = "cd below; echo x > a; echo x > ../elsewhere; mkdir d && mv a d/b && rm -r d";
    let (code, calls) = run_supervised(&root, &[], script);
    assert_eq!(code, Some(0));
    let expected = ["open\ta", "write\ta", "mkdir\td", "rename\td/b", "remove\td/b", "remove\td"];
    assert_eq!(calls, expected);
    let (code, calls) = run_supervised(&root, &["--at", "3", "--what", "no_space"], script);
    assert_eq!((code, calls.len()), (Some(1), 3));
    assert_eq!(fs::read_dir(&below).unwrap().count(), 1);
    let (code, calls) = run_supervised(&root, &["--at", "3", "--what", "kill"], script);
    assert_eq!((code, calls.len()), (Some(137), 3));
}

#[test]
fn supervised_injects_short_writes_read_errors_and_power_loss() {
    if !can_supervise() {
        return;
    }
    let (_folder, root, below) = folder_with_below();
    let run = |options: &[&str], script: &str| {
        fs::remove_dir_all(&below).unwrap();
        fs::create_dir(&below).unwrap();
        fs::write(below.join("old"), "old\n").unwrap();
        let (code, calls) = run_supervised(&root, options, script);
        let read = |name: &str| fs::read_to_string(below.join(name)).ok();
        (code, calls, ["old", "new", "after"].map(read))
    };
    let script =
        "cd below; dd if=old of=new bs=8 count=1 conv=fsync; echo more >> old; cat new > after";
    let (code, calls, files) = run(&[], script);
    assert_eq!(code, Some(0));
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(files, [text("old\nmore\n"), text("old\n"), text("old\n")]);
    let number = |name: &str| 1 + calls.iter().position(|call| call == name).unwrap();
    let files_after = |injection: &str, number: usize| {
        run(&["--at", &number.to_string(), "--what", injection], script).2
    };
    // A program that ignores a short write loses the rest; `dd` continues the write.
    assert_eq!(files_after("short_write", number("write\tnew")), files);
    assert_eq!(
        files_after("{power_loss: names}", number("sync\tnew")),
        [text("old\n"), text(""), None]
    );
    assert_eq!(
        files_after("{power_loss: names}", number("open\tafter")),
        [text("old\n"), text("old\n"), None]
    );
    let at_the_end = |injection: &str| run(&["--what", injection], script).2;
    assert_eq!(at_the_end("{power_loss: names}"), [text("old\n"), text("old\n"), text("")]);
    assert_eq!(
        at_the_end("{power_loss: blocks}"),
        [text("old\n\0\0\0\0\0"), text("old\n"), text("\0\0\0\0")]
    );
    assert_eq!(at_the_end("{power_loss: nothing}"), [text("old\n"), text("old\n"), None]);
    let (_, calls, _) = run(&["--calls", "reading"], script);
    let number = 1 + calls.iter().position(|call| call == "read\tnew").unwrap();
    let (code, _, files) =
        run(&["--calls", "reading", "--at", &number.to_string(), "--what", "read_error"], script);
    assert_eq!((code, &files[2]), (Some(1), &text("")));
}
