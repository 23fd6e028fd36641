//! Correct stores with habits that are not ours: nothing may be held against any of them.
#![allow(clippy::unwrap_used)]

use herma_harness::careful;
use herma_harness::cases;
use herma_harness::generate::Options;
use herma_harness::sandbox::Scratch;
use herma_harness::suite::{Plan, Verdict, introduce, run_suite};
use herma_model::rules;
use std::collections::BTreeSet;

#[test]
fn no_careful_subject_is_accused() {
    for one in careful::ALL {
        let (open, scratch) = (one.opener(), Scratch::default_place());
        let (_, capabilities) = introduce(&open, &scratch).unwrap();
        let plan = Plan {
            seeds: vec![1],
            histories: 40,
            options: Options::default(),
            kept: Vec::new(),
            cases: cases::bundled().unwrap(),
            jobs: 2,
            shrink_budget: 300,
            known: BTreeSet::new(),
        };
        let found = run_suite(&plan.within(&capabilities), &open, &scratch, &|_| {}).unwrap();
        let accused: Vec<String> = found.failures.keys().map(ToString::to_string).collect();
        assert!(accused.is_empty(), "{}: {accused:#?}", one.name);
        let held = rules::catalogue().filter(|rule| found.verdict(rule) == Verdict::Held).count();
        assert!(held >= 12, "{}: only {held} rules held", one.name);
        assert!(found.operations > 800, "{}: {} operations", one.name, found.operations);
    }
}
