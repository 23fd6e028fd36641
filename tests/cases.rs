//! Self-checks of the suite: written cases find their bugs, and null subjects and the canary fail.

use herma_harness::canary::canary;
use herma_harness::cases::{self, Case, check};
use herma_harness::coverage::Behaviour;
use herma_harness::history::file;
use herma_harness::sandbox::Scratch;
use herma_harness::subject::CoreSubject;
use herma_harness::{null, planted};
use herma_model::rules;
use herma_tests::run_on_core;
use pretty_assertions::assert_eq;
use std::fs;
use std::path::Path;

const TAKE_AND_LIST: &str = "\
operations:
- write: {path: work/alpha/a, content: one}
- checkpoint: {dir: work/alpha, reason: first}
- write: {path: work/alpha/a, content: two}
- checkpoint: {dir: work/alpha, reason: second}
- list: {dir: work/alpha}
";

fn case(text: &str) -> Case {
    Case::from_yaml(text, Path::new("case.yaml")).unwrap()
}

fn list_in_order(kills: &str, operations: &str) -> Case {
    case(&format!(
        "id: it-lists\nrules: [list/newest-first]\ntier: \"1\"\nneeds: [checkpoint]\n\
         origin: this test\nkills: [{kills}]\n{operations}"
    ))
}

fn faults(case: &Case) -> Vec<String> {
    check::faults(case, &Scratch::in_default_directory()).unwrap()
}

#[test]
fn check_faults_accepts_a_case_that_finds_its_bug_and_describes_itself_correctly() {
    assert_eq!(faults(&list_in_order("list-in-wrong-order", TAKE_AND_LIST)), Vec::<String>::new());
}

#[test]
fn check_faults_reports_a_case_that_a_null_subject_passes() {
    let empty = "operations:\n- list: {dir: work/alpha}\n";
    let faults = faults(&list_in_order("list-in-wrong-order", empty));
    let is_reported = |text: &str| faults.iter().any(|fault| fault.contains(text));
    assert!(is_reported("null-stands-still passes it"), "{faults:?}");
    assert!(is_reported("null-forgets passes it"), "{faults:?}");
    assert!(is_reported("list-in-wrong-order passes it"), "{faults:?}");
}

#[test]
fn check_faults_reports_every_wrong_statement_of_a_case_about_itself() {
    let mut case = list_in_order("no-dedup-in-a-turn, no-such-bug", TAKE_AND_LIST);
    case.rules.extend(["restore/bytes".into(), "list/nothing".into()]);
    case.origin.clear();
    let faults = faults(&case);
    for expected in [
        "there is no rule `list/nothing`",
        "its rules are of tier 2, and it says 1",
        "it does not say what it comes from",
        "it makes no comparison for restore/bytes",
        "no-dedup-in-a-turn passes it",
        "there is no planted bug `no-such-bug`",
    ] {
        assert!(faults.iter().any(|fault| fault == expected), "{expected}: {faults:#?}");
    }
}

#[test]
fn check_faults_reports_needs_that_differ_from_what_finds_the_bugs() {
    for (needs, shown) in [
        (&[][..], "nothing"),
        (&["checkpoint", "layout"], "checkpoint, layout"),
        (&["layout"], "layout"),
        (&["a-moon"], "a-moon"),
    ] {
        let mut case = list_in_order("list-in-wrong-order", TAKE_AND_LIST);
        case.needs = needs.iter().map(|need| (*need).to_owned()).collect();
        let fault = format!("it needs checkpoint, and says {shown}");
        assert_eq!(faults(&case), [fault]);
    }
}

#[test]
fn check_kills_omits_a_planted_bug_that_fails_the_case_by_another_rule() {
    let mut case = list_in_order("no-dedup-in-a-turn", TAKE_AND_LIST);
    case.operations.insert(0, case.operations[1].clone());
    let kills =
        check::kills(&case.history(), planted::catalogue(), &Scratch::in_default_directory())
            .unwrap();
    assert!(kills.iter().any(|name| name == "list-in-wrong-order"), "{kills:?}");
    assert!(!kills.iter().any(|name| name == "no-dedup-in-a-turn"), "{kills:?}");
}

#[test]
fn check_gaps_finds_no_rule_or_planted_bug_without_a_bundled_case() {
    let cases = cases::bundled().unwrap();
    assert_eq!(check::gaps(&cases), Vec::<String>::new());
    // A gap is reported if there is one.
    let gaps = check::gaps(&cases[1..]);
    let all_gaps = check::gaps(&[]);
    assert!(all_gaps.iter().any(|gap| gap == "no case is there for turn/once"), "{all_gaps:?}");
    assert!(
        all_gaps.iter().any(|gap| gap == "no case must find no-dedup-in-a-turn"),
        "{all_gaps:?}"
    );
    let with_duplicate: Vec<Case> = cases.iter().chain(&cases[..1]).cloned().collect();
    assert!(check::gaps(&with_duplicate).len() > gaps.len(), "a case that is there twice");
}

#[test]
fn load_history_reads_a_case_like_any_history() {
    let case = list_in_order("list-in-wrong-order", TAKE_AND_LIST);
    let folder = tempfile::tempdir().unwrap();
    for (text, history) in
        [(case.to_yaml(), case.history()), (file::to_yaml(&case.history()), case.history())]
    {
        let path = folder.path().join("case.yaml");
        fs::write(&path, text).unwrap();
        assert_eq!(cases::load_history(&path).unwrap(), history);
    }
    let error = Case::from_yaml("id: x\nrules: []\nkill: []\n", Path::new("bad.yaml")).unwrap_err();
    assert!(error.to_string().contains("kill"), "{error}");
}

#[test]
fn from_yaml_refuses_a_case_with_a_path_outside_the_sandbox() {
    let inside = cases::bundled().unwrap().remove(0).to_yaml();
    let outside = inside.replace("path: work/alpha", "path: /tmp/alpha");
    assert_ne!(inside, outside);
    let refused = Case::from_yaml(&outside, Path::new("here")).unwrap_err().to_string();
    assert!(refused.contains("is not one below the sandbox"), "{refused}");
}

#[test]
fn suits_accepts_a_case_only_if_its_needs_are_claimed() {
    let capabilities = herma_harness::protocol::capabilities::Capabilities::default();
    let case = list_in_order("list-in-wrong-order", TAKE_AND_LIST);
    assert!(case.is_applicable(&capabilities));
    // An automatic checkpoint in its own turn replaces a manual checkpoint.
    let automatic = capabilities.without("checkpoint");
    assert!(case.is_applicable(&automatic));
    assert!(!case.is_applicable(&automatic.without("ensure_checkpoint")));
}

#[test]
fn the_canary_fails_on_every_subject() {
    let scratch = Scratch::in_default_directory();
    let divergence = canary(&CoreSubject::boxed, &scratch).unwrap().unwrap();
    assert_eq!(*divergence.rule, rules::LIST_COMPLETE);
    for null in null::ALL {
        assert!(canary(&null.open, &scratch).unwrap().is_some(), "{}", null.name);
    }
    let bug = planted::find("list-in-wrong-order").unwrap();
    assert!(canary(&bug.opener(), &scratch).unwrap().is_some());
}

#[test]
fn coverage_counts_each_operation_with_its_state_and_outcome() {
    let case = list_in_order("list-in-wrong-order", TAKE_AND_LIST);
    let run = run_on_core(&case.history());
    let behaviour = |state: &str, operation: &str, outcome: &str| Behaviour {
        state: state.into(),
        operation: operation.into(),
        outcome: outcome.into(),
    };
    let counted: Vec<(&Behaviour, u64)> =
        run.coverage.0.iter().map(|(behaviour, times)| (behaviour, *times)).collect();
    let expected = [
        behaviour("there, no checkpoint", "checkpoint", "created"),
        behaviour("there, one checkpoint", "checkpoint", "created"),
        behaviour("there, several checkpoints", "list", "listed"),
    ];
    assert_eq!(counted, expected.iter().map(|behaviour| (behaviour, 1)).collect::<Vec<_>>());
}
