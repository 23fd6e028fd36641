//! `compare`: two subjects on the same histories; and `export`: a history as a shell script.

use herma_harness::compare::Comparison;
use herma_harness::export;
use herma_harness::generate::Options;
use herma_harness::history::Target;
use herma_harness::planted::{self, hunt::hunt};
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::runner::Until;
use herma_harness::sandbox::Scratch;
use herma_harness::subject::{AdapterCommand, CoreSubject, NewSubject};
use herma_harness::trial::trial;
use herma_harness::{History, Operation};
use herma_model::files::SpecialKind;
use herma_model::{Edit, Request};
use std::fs;
use std::process::Command;
use std::time::Duration;

fn compared_with_core(
    subject: &NewSubject<'_>,
    histories: u64,
) -> Vec<herma_harness::compare::Differing> {
    let scratch = Scratch::in_default_directory();
    let core: &NewSubject<'_> = &CoreSubject::boxed;
    let comparison = Comparison {
        one: core,
        other: subject,
        capabilities: Capabilities::default(),
        scratch: &scratch,
    };
    comparison.run(&Options::default(), 1, histories, 2, &|| {}).unwrap()
}

#[test]
fn comparison_finds_no_difference_between_a_subject_and_itself() {
    let differences = compared_with_core(&CoreSubject::boxed, 24);
    assert!(differences.is_empty(), "{differences:#?}");
}

#[test]
fn comparison_finds_a_broken_subject_with_a_short_history() {
    // A comparison covers answers and files, but not the store.
    for name in ["no-dedup-in-a-turn", "restore-leaves-one-file", "orphans-are-kept"] {
        let bug = planted::find(name).unwrap();
        let differences = compared_with_core(&bug.opener(), 16);
        // No verdict marks the failing operation, so one operation too many may remain.
        let most = bug.operations_min + 1;
        let differing =
            differences.iter().find(|difference| difference.history.operations.len() <= most);
        assert!(differing.is_some(), "{}: {differences:#?}", bug.name);
    }
}

#[test]
fn export_script_drives_the_adapter_without_the_suite() {
    if Command::new("bash").arg("--version").output().is_err() {
        eprintln!("not run: the exported script (no bash on this machine)");
        return;
    }
    let write = |path: &[u8], content: &[u8]| {
        let path = path.into();
        let content = content.into();
        Operation::Edit(Edit::Write { path, content, executable: true })
    };
    let take = || {
        Operation::Ask(Request::Checkpoint { dir: "work/alpha".into(), reason: "it's\nso".into() })
    };
    let target = Target::Id { of: "work/alpha".into(), back: 0, digits: 8 };
    let operations = vec![
        write(b"work/alpha/n\xff\n'q\\", b"zero\0 %s \\n one\n"),
        take(),
        Operation::Ask(Request::Reopen),
        Operation::Edit(Edit::Rewrite {
            path: b"work/alpha/n\xff\n'q\\"[..].into(),
            content: "in its place\n".into(),
        }),
        write(b"work/alpha/n\xff\n'q\\", b"other"),
        Operation::Ask(Request::Restore {
            dir: "work/alpha".into(),
            target,
            exact: true,
            force: false,
        }),
        Operation::Ask(Request::List { dir: "work/alpha".into() }),
    ];
    // A directory name that is not valid UTF-8 is encoded in a request, and still names the script's directory.
    let nowhere = Operation::Ask(Request::List { dir: b"work/n\xff"[..].into() });
    let operations = [vec![nowhere], operations].concat();
    let history = History { operations, ..History::default() };
    let binary = herma_tests::built_binary("herma-conform").into_os_string();
    let command = vec![binary, "adapter".into(), "serve".into()];
    let start = AdapterCommand { command, directory: "/".into(), ..AdapterCommand::default() };
    // Nothing fails, so the script exits with 2.
    let (code, text) = exported(&history, &start, |script| {
        assert!(script.contains("/work/n\\xff' | base64 -w 0)"), "{script}");
        script
    });
    assert_eq!(code, 2, "{text}");
    let replies: Vec<serde_json::Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("< "))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(replies.iter().all(|reply| reply["err"].is_null()), "{text}");
    let restored = replies.iter().find(|reply| reply["ok"]["restored"].is_array()).unwrap();
    assert_eq!(restored["ok"]["restored"].as_array().unwrap().len(), 1, "{text}");
    assert_eq!(replies.last().unwrap()["ok"]["checkpoints"].as_array().unwrap().len(), 2);
}

#[test]
fn export_script_ends_when_the_subject_hangs_at_a_fifo_and_creates_real_sockets() {
    for tool in ["bash", "python3"] {
        if Command::new(tool).arg("--version").output().is_err() {
            eprintln!("not run: the exported script (no {tool} on this machine)");
            return;
        }
    }
    let binary = herma_tests::built_binary("herma-conform");
    let mut start = AdapterCommand::bundled_core(&binary, Some("a-fifo-is-waited-for")).unwrap();
    start.limits.reply = Duration::from_secs(1);
    let history = |kind| {
        let path = "work/alpha/special".into();
        let take = Request::Checkpoint { dir: "work/alpha".into(), reason: "r".into() };
        let operations =
            vec![Operation::Edit(Edit::MakeSpecial { path, kind }), Operation::Ask(take)];
        History { operations, plain_home: true, ..History::default() }
    };
    let found = trial(
        &history(SpecialKind::Fifo),
        &start.opener(),
        &Scratch::in_default_directory(),
        Until::Disagreement,
    )
    .unwrap();
    let fingerprints: Vec<String> = found
        .run
        .divergences
        .iter()
        .map(|divergence| divergence.fingerprint().to_string())
        .collect();
    assert_eq!(fingerprints, ["capture/special (timeout: silent)"]);
    let (code, text) = exported(&history(SpecialKind::Fifo), &start, |script| script);
    assert_eq!((code, text.contains("no reply within 1 s")), (1, true), "{text}");
    let (code, text) = exported(&history(SpecialKind::Socket), &start, |script| script);
    // Nothing fails, and the listing at the end marks the socket with an `s`.
    assert_eq!((code, text.contains("\nsrw")), (2, true), "{text}");
}

/// Runs the exported script of a history after `change`, and returns its exit code and output.
fn exported(
    history: &History,
    start: &AdapterCommand,
    change: impl Fn(String) -> String,
) -> (i32, String) {
    let script = change(export::script(history, start, &Scratch::in_default_directory()).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script.sh");
    fs::write(&file, &script).unwrap();
    let output = Command::new("bash").arg(&file).env("TMPDIR", folder.path()).output().unwrap();
    assert!(output.stderr.is_empty(), "{}\n{script}", String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn export_script_exits_with_1_only_if_the_failure_occurs() {
    if Command::new("bash").arg("--version").output().is_err() {
        eprintln!("not run: the exported script (no bash on this machine)");
        return;
    }
    // Failures that show in an answer, in the files, or in that nothing was refused.
    for name in ["list-in-wrong-order", "restore-leaves-one-file", "a-bad-target-is-the-newest"] {
        let Some(bug) = planted::find(name) else { panic!("no planted bug {name}") };
        let scratch = Scratch::in_default_directory();
        let Some((_, shrunk)) = hunt(bug, 1, &scratch).unwrap().found else { panic!("{name}") };
        let binary = herma_tests::built_binary("herma-conform").into_os_string();
        let serve = |words: &[&str]| {
            let words = ["adapter", "serve"].iter().chain(words).map(|word| (*word).into());
            let command = std::iter::once(binary.clone()).chain(words).collect();
            AdapterCommand { command, directory: "/".into(), ..AdapterCommand::default() }
        };
        let (code, text) = exported(&shrunk.history, &serve(&["--bug", name]), |script| script);
        assert_eq!(code, 1, "{name}: {text}");
        // With the bug fixed.
        let fix = |script: String| script.replace(&format!(" $'--bug' $'{name}'"), "");
        let (code, text) = exported(&shrunk.history, &serve(&["--bug", name]), fix);
        assert_eq!(code, 0, "{name}: {text}");
    }
}
