//! The skeletons that `adapter new` prints: they pass `adapter check`, and are judged alike in every language.

use super::plan;
use herma_harness::bundled::{in_node, in_python};
use herma_harness::divergence::{Divergence, Fingerprint};
use herma_harness::protocol::check::{Probed, check};
use herma_harness::protocol::probes::PROBES;
use herma_harness::protocol::process::Limits;
use herma_harness::runner::Until;
use herma_harness::sandbox::Scratch;
use herma_harness::subject::AdapterCommand;
use herma_harness::suite::{Findings, Plan, Verdict, introduce, run_suite};
use herma_harness::trial::{Trial, trial};
use herma_model::rules;
use pretty_assertions::assert_eq;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// The kinds of store for which `adapter new` prints a skeleton.
const STORES: [&str; 4] = ["copies", "git", "archive", "log"];

/// The skeleton that `adapter new` prints for a language and a kind of store.
fn skeleton(language: &str, store: &str) -> String {
    let output = Command::new(herma_tests::built_binary("herma-conform"))
        .args(["adapter", "new", "--lang", language, "--for", store])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The commands that start the skeletons of these stores, in the languages that this machine has.
fn skeletons(folder: &Path, stores: &[&str]) -> Vec<Vec<OsString>> {
    let mut commands = Vec::new();
    let languages = [("python", "py", in_python as fn(&Path) -> _), ("node", "mjs", in_node)];
    for (language, extension, command_for) in languages {
        for store in stores {
            let file = folder.join(format!("{store}.{extension}"));
            std::fs::write(&file, skeleton(language, store)).unwrap();
            match command_for(&file) {
                Ok(command) => commands.push(command),
                Err(error) => {
                    eprintln!("not run: {language} ({error})");
                    break;
                }
            }
        }
    }
    commands
}

/// The command that starts the Rust skeleton.
fn rust_skeleton() -> Vec<OsString> {
    vec![herma_tests::built_binary("examples/adapter-template").into_os_string()]
}

#[test]
fn every_adapter_skeleton_passes_adapter_check() {
    let limits = Limits::default();
    let folder = tempfile::tempdir().unwrap();
    let mut commands = skeletons(folder.path(), &STORES);
    commands.push(rust_skeleton());
    for command in commands {
        let probes =
            check(&command, Path::new("/"), &Scratch::in_default_directory(), limits).unwrap();
        assert_eq!(probes.len(), PROBES.len() + 2, "{command:?}");
        let passes = |probed: &Probed| probed.wrong.is_none() && probed.hints.is_empty();
        assert!(probes.iter().all(passes), "{command:?}: {probes:#?}");
    }
}

#[test]
fn adapter_check_names_each_mistake_of_an_author_and_its_fix() {
    const CLAIMS: &str = "\"capabilities\": {\"checkpoint\": True}";
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("not run: no python3 on this machine");
        return;
    }
    let template = skeleton("python", "copies");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("adapter.py");
    let command = ["python3".into(), file.clone().into_os_string()];
    for (from, to, expected) in [
        (CLAIMS, "\"capabilities\": {}", "it claims neither `checkpoint` nor `ensure_checkpoint`"),
        (CLAIMS, "\"capabilities\": {\"chekpoint\": True}", "`checkpoint`"),
        (
            CLAIMS,
            "\"capabilities\": {\"checkpoint\": True, \"prune\": True}",
            "it claims `prune` and answers `prune` with `unsupported`: serve it, or do not claim it",
        ),
        (
            "    \"close\": lambda",
            "    \"status\": lambda _: {\"projects\": []},\n    \"close\": lambda",
            "it answers `status` and does not claim `status`: claim it, so that its rules are judged",
        ),
        (
            "    STORE.restore(path(request[\"dir\"]), path(request[\"target\"]))",
            "    pass",
            "a.txt holds `two and more\\n` and not `one\\n`: write the files of the checkpoint",
        ),
        ("reverse=True", "reverse=False", "the list is oldest first: turn it round"),
        ("\"outcome\": \"created\", ", "", "a changed project gave {\"id\":\"c0000001\"}: answer"),
        (
            "{\"checkpoints\": [{",
            "{\"entries\": [{",
            "it needs `checkpoints`, a list, newest first",
        ),
    ] {
        assert_eq!(template.matches(from).count(), 1, "{from}");
        std::fs::write(&file, template.replace(from, to)).unwrap();
        let probes =
            check(&command, Path::new("/"), &Scratch::in_default_directory(), Limits::default());
        let probes = probes.unwrap();
        let messages: Vec<&String> =
            probes.iter().flat_map(|probed| probed.wrong.iter().chain(&probed.hints)).collect();
        assert!(messages.len() == 1 && messages[0].contains(expected), "{expected}: {probes:#?}");
    }
}

#[test]
fn adapter_skeletons_get_the_same_verdicts_in_every_language() {
    let folder = tempfile::tempdir().unwrap();
    let mut commands = skeletons(folder.path(), &["copies"]);
    commands.push(rust_skeleton());
    let plan = Plan { shrink_budget: 0, ..plan(5, 6) };
    let scratch = Scratch::in_default_directory();
    // Python's copy keeps the modification time, so that a rewrite of a file cannot be detected.
    let is_comparable = |rule: &rules::RuleRef| **rule != rules::RESTORE_UNTOUCHED;
    let verdicts = commands.into_iter().map(|command| {
        let start = AdapterCommand { command, directory: "/".into(), ..AdapterCommand::default() };
        let open = start.opener();
        let (_, capabilities) = introduce(&open, &scratch).unwrap();
        let findings = run_suite(&plan.within(&capabilities), &open, &scratch, &|_| {}).unwrap();
        let rule_verdicts: Vec<_> = rules::catalogue()
            .filter(is_comparable)
            .map(|rule| (rule.id, findings.verdict(rule)))
            .collect();
        (findings.operations, rule_verdicts)
    });
    let verdicts: Vec<_> = verdicts.collect();
    assert!(verdicts.windows(2).all(|pair| pair[0] == pair[1]), "{verdicts:#?}");
    assert!(verdicts[0].1.contains(&("list/newest-first", Verdict::Held)), "{verdicts:#?}");
}

#[test]
fn every_unchanged_adapter_skeleton_restores_bytes_and_that_of_git_declares_git() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = Scratch::in_default_directory();
    for command in skeletons(folder.path(), &STORES) {
        let limits = Limits::default();
        let start = AdapterCommand {
            command: command.clone(),
            directory: "/".into(),
            limits,
            ..AdapterCommand::default()
        };
        let open = start.opener();
        let (_, capabilities) = introduce(&open, &scratch).unwrap();
        let is_git = command.iter().any(|word| Path::new(word).file_stem() == Some("git".as_ref()));
        assert_eq!(capabilities.uses_git(), is_git, "{command:?}");
        // Without a suite, which would examine the failures that the skeletons are known to have.
        let (_, history) = plan(1, 1).within(&capabilities).history(0);
        let Trial { run, plain } = trial(&history, &open, &scratch, Until::End).unwrap();
        let is_bytes = |divergence: &Divergence| *divergence.rule == rules::RESTORE_BYTES;
        let divergences = [run.divergences, plain].concat();
        assert!(!divergences.iter().any(is_bytes), "{command:?}: {divergences:#?}");
        let checks = run.checks.get(rules::RESTORE_BYTES.id);
        assert!(checks.is_some_and(|checks| *checks > 0), "{command:?}");
    }
}

#[test]
fn adapter_new_refuses_a_skeleton_that_does_not_exist_and_lists_the_others() {
    let refused = Command::new(herma_tests::built_binary("herma-conform"))
        .args(["adapter", "new", "--lang", "rust", "--for", "git"])
        .output()
        .unwrap();
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0));
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert!(stderr.contains("Python and Node support every store"), "{stderr}");
}

/// Runs the Python skeleton for git with another line for the isolation of git, and returns the broken
/// rules and the findings; known failures are not examined again.
fn broken_by_git(
    isolation: &str,
    known: &BTreeSet<Fingerprint>,
) -> (BTreeSet<&'static str>, Findings) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("adapter.py");
    let line = "\"GIT_CONFIG_GLOBAL\": os.devnull,";
    let template = skeleton("python", "git");
    assert_eq!(template.matches(line).count(), 1);
    std::fs::write(&file, template.replace(line, isolation)).unwrap();
    let command = in_python(&file).unwrap();
    let start = AdapterCommand { command, directory: "/".into(), ..AdapterCommand::default() };
    let open = start.opener();
    let scratch = Scratch::in_default_directory();
    let (_, capabilities) = introduce(&open, &scratch).unwrap();
    let known = known.clone();
    let plan = Plan { shrink_budget: 0, known, ..plan(1, 8) }.within(&capabilities);
    let findings = run_suite(&plan, &open, &scratch, &|_| {}).unwrap();
    let is_broken = |rule: &rules::RuleRef| findings.verdict(rule) == Verdict::Broken;
    (rules::catalogue().filter(is_broken).map(|rule| rule.id).collect(), findings)
}

#[test]
fn a_store_that_runs_the_users_git_hooks_still_gets_every_other_verdict() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("not run: no python3 on this machine");
        return;
    }
    let (mut expected, findings) =
        broken_by_git("\"GIT_CONFIG_GLOBAL\": os.devnull,", &BTreeSet::new());
    let known: BTreeSet<Fingerprint> = findings.failures.into_keys().collect();
    assert!(expected.len() > 2, "{expected:?}");
    expected.insert("isolation/user-config");
    let home = "\"HOME\": os.environ[\"HOME\"],";
    // With isolation only in `git init`, a hook aborts the first checkpoint; without any, it already aborts
    // the creation of the store.
    let in_init = format!(
        "{home} **({{\"GIT_CONFIG_GLOBAL\": os.devnull}} if \"init\" in arguments else {{}}),"
    );
    for isolation in [&in_init[..], home] {
        let (broken, findings) = broken_by_git(isolation, &known);
        assert_eq!(broken, expected, "{isolation}: {:#?}", findings.failures);
        assert!(!findings.is_unstable(), "{isolation}: {:#?}", findings.failures);
    }
}
