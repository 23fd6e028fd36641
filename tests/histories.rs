//! The core against the model, over generated and written histories.

use herma_harness::cases;
use herma_harness::generate::{self, Options};
use herma_harness::history::file;
use herma_harness::sandbox::Scratch;
use herma_harness::shrink::BUDGET_DEFAULT;
use herma_harness::subject::CoreSubject;
use herma_harness::suite::{Plan, run_suite};
use herma_harness::{check, run};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 150,
        // The harness has a shrinker of its own, and keeps what it finds as readable files.
        max_shrink_iters: 0,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_core_does_what_the_model_allows(history in generate::history()) {
        if let Err(counterexample) =
            check(&history, &CoreSubject::boxed, &Scratch::default_place())
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
        let outcome = run(&case.history(), &CoreSubject::boxed, &Scratch::default_place()).unwrap();
        assert!(outcome.divergences.is_empty(), "{}: {:?}", case.id, outcome.divergences);
    }
    assert!(cases.len() >= 15, "only {} cases were found", cases.len());
}

#[test]
fn a_project_that_became_a_link_is_still_the_project_it_was() {
    let text = "operations:\n- write: {path: work/alpha/b/c, content: x}\n\
                - checkpoint: {dir: work/alpha/b, reason: r}\n- link: {path: work/alpha/b, target: x}\n";
    let history = file::from_yaml(text, Path::new("memory")).unwrap();
    let outcome = run(&history, &CoreSubject::boxed, &Scratch::default_place()).unwrap();
    assert!(outcome.divergences.is_empty(), "{:?}", outcome.divergences);
}

#[test]
fn one_seed_gives_one_set_of_histories_and_verdicts() {
    let run = |jobs| {
        let plan = Plan {
            seed: 11,
            histories: 40,
            options: Options::default(),
            kept: Vec::new(),
            cases: Vec::new(),
            jobs,
            shrink_budget: BUDGET_DEFAULT,
            known: BTreeSet::new(),
        };
        let findings =
            run_suite(&plan, &CoreSubject::boxed, &Scratch::default_place(), &|_| {}).unwrap();
        (findings.operations, findings.checks, findings.failures.len())
    };
    assert_eq!(run(1), run(2));
    let draw = |number| file::to_yaml(&generate::draw(&Options::default(), 11, number));
    assert_eq!(draw(3), draw(3));
    assert_ne!(draw(3), draw(4));
}

#[test]
fn a_history_that_is_none_is_refused_with_the_line() {
    let text = "operations:\n- new_turn\n- restore: {dir: work/alpha, target: {numbr: 1}}\n";
    let error = file::from_yaml(text, Path::new("bad.yaml")).unwrap_err().to_string();
    assert!(error.contains("bad.yaml"), "{error}");
    assert!(error.contains('3') || error.contains("line"), "{error}");
}
