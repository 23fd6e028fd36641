//! The core against the model, over generated and written histories.

use herma_harness::cases;
use herma_harness::check;
use herma_harness::generate::{self, Options};
use herma_harness::history::{History, Operation, file};
use herma_harness::protocol::units::Units;
use herma_harness::sandbox::{Scratch, git_alone};
use herma_harness::subject::CoreSubject;
use herma_harness::suite::{Plan, run_suite};
use herma_model::{Edit, Request};
use herma_tests::run_on_core;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 50,
        // The harness has its own shrinker, and keeps counterexamples as readable files.
        max_shrink_iters: 0,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_core_does_what_the_model_allows(history in generate::history()) {
        if let Err(counterexample) =
            check(&history, &CoreSubject::boxed, &Scratch::in_default_directory())
        {
            prop_assert!(false, "{counterexample}");
        }
    }

    #[test]
    fn a_history_reads_back_as_it_was_written(history in generate::history()) {
        let text = file::to_yaml(&history);
        prop_assert_eq!(file::from_yaml(&text, Path::new("memory")).unwrap(), history);
    }
}

#[test]
fn every_written_case_holds() {
    let cases = cases::bundled().unwrap();
    for case in &cases {
        let outcome = run_on_core(&case.history());
        assert!(outcome.divergences.is_empty(), "{}: {:?}", case.id, outcome.divergences);
    }
    assert!(cases.len() >= 15, "only {} cases were found", cases.len());
}

/// Each file records whether the core, the model or the harness was at fault.
#[test]
fn no_history_in_tests_found_fails_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("found");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let replayed = files.map(|path| {
        let history = file::from_yaml(&file::read(&path).unwrap(), &path).unwrap();
        let outcome = run_on_core(&history);
        assert!(outcome.divergences.is_empty(), "{path:?}: {:?}", outcome.divergences);
    });
    assert!(replayed.count() >= 15);
}

/// No rule says what becomes of a file that git tracks although a default exclude names it.
#[test]
fn a_workspace_with_tracked_files_in_an_excluded_folder_holds_every_rule() {
    let workspace = tempfile::tempdir().unwrap();
    std::fs::create_dir(workspace.path().join("build")).unwrap();
    std::fs::write(workspace.path().join("build/webpack.config.js"), "source\n").unwrap();
    for arguments in [&["init", "--quiet"][..], &["add", "--force", "."]] {
        let status = git_alone().current_dir(workspace.path()).args(arguments).status();
        assert!(status.unwrap().success());
    }
    let text = "operations:\n- checkpoint: {dir: work/alpha, reason: r}\n\
                - write: {path: work/alpha/a, content: x}\n- restore: {dir: work/alpha, target: {number: 1}}\n";
    let mut history = file::from_yaml(text, Path::new("memory")).unwrap();
    history.workspace = Some(workspace.path().to_owned());
    let outcome = run_on_core(&history);
    assert!(outcome.divergences.is_empty(), "{:?}", outcome.divergences);
}

#[test]
fn a_project_that_became_a_link_holds_every_rule() {
    let text = "operations:\n- write: {path: work/alpha/b/c, content: x}\n\
                - checkpoint: {dir: work/alpha/b, reason: r}\n- link: {path: work/alpha/b, target: x}\n";
    let history = file::from_yaml(text, Path::new("memory")).unwrap();
    let outcome = run_on_core(&history);
    assert!(outcome.divergences.is_empty(), "{:?}", outcome.divergences);
}

#[test]
fn run_suite_is_deterministic_for_a_seed() {
    let run = |jobs| {
        let plan = Plan { jobs, ..crate::adapters::plan(11, 15) };
        let findings =
            run_suite(&plan, &CoreSubject::boxed, &Scratch::in_default_directory(), &|_| {})
                .unwrap();
        (findings.operations, herma_tests::without_sizes(findings.checks), findings.failures.len())
    };
    assert_eq!(run(1), run(2));
    let history_text =
        |number| file::to_yaml(&generate::generate_history(&Options::default(), 11, number));
    assert_eq!(history_text(3), history_text(3));
    assert_ne!(history_text(3), history_text(4));
}

#[test]
fn from_yaml_refuses_an_invalid_history_with_file_and_line() {
    let text = "operations:\n- new_turn\n- restore: {dir: work/alpha, target: {numbr: 1}}\n";
    let error = file::from_yaml(text, Path::new("bad.yaml")).unwrap_err().to_string();
    assert!(error.contains("bad.yaml"), "{error}");
    assert!(error.contains('3') || error.contains("line"), "{error}");
}

#[test]
fn draw_with_units_of_a_megabyte_generates_whole_megabyte_limits_and_sizes_near_them() {
    const MEGABYTE: u64 = 1 << 20;
    let options =
        Options { units: Units { file: MEGABYTE, total: MEGABYTE }, ..Options::default() };
    let histories: Vec<History> =
        (0..60).map(|number| generate::generate_history(&options, 1, number)).collect();
    let mut sizes = BTreeSet::new();
    let mut limits = BTreeSet::new();
    for history in &histories {
        limits.insert(history.settings.max_file_bytes);
        limits.insert(history.settings.max_total_bytes);
        for operation in &history.operations {
            match operation {
                // What is large in itself has sizes of its own.
                Operation::Edit(Edit::Write { path, content, .. })
                    if !path.ends_with(b"/large") =>
                {
                    sizes.insert(content.len() as u64);
                }
                Operation::Ask(Request::Prune { max_total_bytes, .. }) => {
                    limits.insert(*max_total_bytes);
                }
                _ => {}
            }
        }
        let text = file::to_yaml(history);
        assert!(text.len() < 60_000, "a person must be able to read it");
        assert_eq!(file::from_yaml(&text, Path::new("memory")).unwrap(), *history);
    }
    assert!(limits.iter().all(|limit| limit % MEGABYTE == 0), "{limits:?}");
    assert!(limits.contains(&MEGABYTE) && limits.contains(&(2 * MEGABYTE)), "{limits:?}");
    for size in [MEGABYTE - 1, MEGABYTE, MEGABYTE + 1] {
        assert!(sizes.contains(&size), "{size}");
    }
    assert!(sizes.iter().any(|size| (200_000..MEGABYTE / 2).contains(size)));
    assert!(sizes.iter().all(|size| *size <= MEGABYTE + 1));
}

#[test]
fn to_yaml_writes_a_large_file_as_its_generator() {
    let text = "operations:\n- write:\n    path: work/alpha/a\n    content:\n      noise: 700000\n      \
                seed: 3\n- write:\n    path: work/alpha/b\n    content:\n      repeat: x\n      times: \
                1048577\n";
    let history = file::from_yaml(text, Path::new("memory")).unwrap();
    assert_eq!(file::to_yaml(&history), text);
}
