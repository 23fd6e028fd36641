//! Written cases, null subjects and the canary: what of the suite can fail does fail.

use herma_harness::canary::canary;
use herma_harness::cases::{self, Case, check};
use herma_harness::coverage::Behaviour;
use herma_harness::history::file;
use herma_harness::sandbox::Scratch;
use herma_harness::subject::CoreSubject;
use herma_harness::{null, planted, run};
use herma_model::rules;
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
    check::faults(case, &Scratch::default_place()).unwrap()
}

#[test]
fn a_case_that_finds_its_bug_and_says_what_is_so_is_one() {
    assert_eq!(faults(&list_in_order("list-in-wrong-order", TAKE_AND_LIST)), Vec::<String>::new());
}

#[test]
fn a_case_that_a_null_subject_passes_says_nothing() {
    let empty = "operations:\n- list: {dir: work/alpha}\n";
    let faults = faults(&list_in_order("list-in-wrong-order", empty));
    let vacuous = |name: &str| faults.iter().any(|one| one.contains(name));
    assert!(vacuous("null-stands-still passes it"), "{faults:?}");
    assert!(vacuous("null-forgets passes it"), "{faults:?}");
    assert!(vacuous("list-in-wrong-order passes it"), "{faults:?}");
}

#[test]
fn what_a_case_says_wrong_of_itself_is_found() {
    let mut wrong = list_in_order("no-dedup-in-a-turn, no-such-bug", TAKE_AND_LIST);
    wrong.rules.extend(["restore/bytes".into(), "list/nothing".into()]);
    wrong.origin.clear();
    let faults = faults(&wrong);
    for fault in [
        "there is no rule `list/nothing`",
        "its rules are of tier 2, and it says 1",
        "it does not say what it comes from",
        "it makes no comparison for restore/bytes",
        "no-dedup-in-a-turn passes it",
        "there is no planted bug `no-such-bug`",
    ] {
        assert!(faults.iter().any(|one| one == fault), "{fault}: {faults:#?}");
    }
}

#[test]
fn a_case_needs_no_more_than_it_takes_to_find_its_bugs() {
    for (needs, said) in [
        (&[][..], "nothing"),
        (&["checkpoint", "layout"], "checkpoint, layout"),
        (&["layout"], "layout"),
        (&["a-moon"], "a-moon"),
    ] {
        let mut case = list_in_order("list-in-wrong-order", TAKE_AND_LIST);
        case.needs = needs.iter().map(|need| (*need).to_owned()).collect();
        let fault = format!("it needs checkpoint, and says {said}");
        assert_eq!(faults(&case), [fault]);
    }
}

#[test]
fn a_planted_bug_that_fails_a_case_by_another_rule_is_no_kill() {
    let mut other = list_in_order("no-dedup-in-a-turn", TAKE_AND_LIST);
    other.operations.insert(0, other.operations[1].clone());
    let kills =
        check::kills(&other.history(), planted::catalogue(), &Scratch::default_place()).unwrap();
    assert!(kills.iter().any(|name| name == "list-in-wrong-order"), "{kills:?}");
    assert!(!kills.iter().any(|name| name == "no-dedup-in-a-turn"), "{kills:?}");
}

#[test]
fn together_the_cases_leave_out_no_rule_and_no_planted_bug() {
    let cases = cases::bundled().unwrap();
    assert_eq!(check::gaps(&cases), Vec::<String>::new());
    // And that would be seen.
    let gaps = check::gaps(&cases[1..]);
    let none = check::gaps(&[]);
    assert!(none.iter().any(|gap| gap == "no case is there for turn/once"), "{none:?}");
    assert!(none.iter().any(|gap| gap == "no case must find no-dedup-in-a-turn"), "{none:?}");
    let twice: Vec<Case> = cases.iter().chain(&cases[..1]).cloned().collect();
    assert!(check::gaps(&twice).len() > gaps.len(), "a case that is there twice");
}

#[test]
fn a_case_is_replayed_like_any_history() {
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
fn a_case_from_a_stranger_names_no_file_outside_the_sandbox() {
    let inside = cases::bundled().unwrap().remove(0).to_yaml();
    let outside = inside.replace("path: work/alpha", "path: /tmp/alpha");
    assert_ne!(inside, outside);
    let refused = Case::from_yaml(&outside, Path::new("here")).unwrap_err().to_string();
    assert!(refused.contains("is not one below the sandbox"), "{refused}");
}

#[test]
fn a_case_is_only_for_who_claims_what_it_needs() {
    let capabilities = herma_harness::protocol::capabilities::Capabilities::default();
    let case = list_in_order("list-in-wrong-order", TAKE_AND_LIST);
    assert!(case.suits(&capabilities));
    // An automatic checkpoint in a turn of its own stands for one that a person asks for.
    let automatic = capabilities.without("checkpoint");
    assert!(case.suits(&automatic));
    assert!(!case.suits(&automatic.without("ensure_checkpoint")));
}

#[test]
fn the_canary_fails_on_whoever_is_judged() {
    let scratch = Scratch::default_place();
    let died = canary(&CoreSubject::boxed, &scratch).unwrap().unwrap();
    assert_eq!(*died.rule, rules::LIST_COMPLETE);
    for null in null::ALL {
        assert!(canary(&null.open, &scratch).unwrap().is_some(), "{}", null.name);
    }
    let bug = planted::find("list-in-wrong-order").unwrap();
    assert!(canary(&bug.opener(), &scratch).unwrap().is_some());
}

#[test]
fn every_operation_is_counted_with_its_state_and_its_outcome() {
    let case = list_in_order("list-in-wrong-order", TAKE_AND_LIST);
    let run = run(&case.history(), &CoreSubject::boxed, &Scratch::default_place()).unwrap();
    let behaviour = |state: &str, operation: &str, outcome: &str| Behaviour {
        state: state.into(),
        operation: operation.into(),
        outcome: outcome.into(),
    };
    let met: Vec<(&Behaviour, u64)> =
        run.coverage.0.iter().map(|(one, times)| (one, *times)).collect();
    let expected = [
        behaviour("there, no checkpoint", "checkpoint", "created"),
        behaviour("there, one checkpoint", "checkpoint", "created"),
        behaviour("there, several checkpoints", "list", "listed"),
    ];
    assert_eq!(met, expected.iter().map(|one| (one, 1)).collect::<Vec<_>>());
}
