//! Concurrent requests of several processes: some order must explain the answers, even if processes
//! are killed meanwhile.

use super::*;
use crate::together::ConcurrentCall;
use pretty_assertions::assert_eq;

fn taken(number: usize) -> Option<Answer> {
    let outcome = CheckpointOutcome::Created { id: checkpoint_id(number) };
    Some(Answer::Taken { outcome, skipped: Vec::new() })
}

fn unchanged() -> Option<Answer> {
    Some(Answer::Taken { outcome: CheckpointOutcome::Unchanged, skipped: Vec::new() })
}

/// A call of a process with its request, answer and times.
fn call(begin: u64, end: u64, request: &str, answer: Option<Answer>) -> ConcurrentCall {
    ConcurrentCall { request: parse_request(request), answer, begin, end, is_alone: false }
}

/// The list of a project while no other process runs, as it is right in that scene.
fn listed(scene: &Scene, project: &str) -> ConcurrentCall {
    let request = format!("list {project}");
    let answer = Some(scene.correct_observation(&request).answer);
    ConcurrentCall { is_alone: true, ..call(90, 91, &request, answer) }
}

/// The rules broken by these calls and a final list of `alpha` that is right in `after`.
fn broken_together(scene: &Scene, calls: &[ConcurrentCall], after: &Scene) -> String {
    let calls = [calls, &[listed(after, "alpha")]].concat();
    let (checks, world) = scene.world.compare_together(&calls, &scene.world.files);
    assert_eq!(world.is_some(), checks.violations.is_empty());
    let ids = |world: &World| {
        let listed = world.listed(b"work/alpha").iter();
        listed.map(|checkpoint| checkpoint.id.clone()).collect::<Vec<_>>()
    };
    assert!(world.is_none_or(|world| ids(&world) == ids(&after.world)));
    broken_rules(checks)
}

/// `alpha` before and after its current files were captured as the second checkpoint.
fn before_and_after() -> (Scene, Scene) {
    let changed = || Scene::changed("a=1", "a=2");
    let before = changed();
    let mut after = changed();
    after.perform("take alpha");
    (before, after)
}

#[test]
fn compare_together_accepts_any_order_of_several_requests() {
    let (before, after) = before_and_after();
    let three = |answers: [Option<Answer>; 3]| {
        let calls = answers.map(|answer| call(1, 9, "take alpha", answer));
        broken_together(&before, &calls, &after)
    };
    assert_eq!(three([unchanged(), taken(2), unchanged()]), "");
    assert_eq!(three([taken(2), taken(3), unchanged()]), "capture/unchanged");
    assert_eq!(three([unchanged(), unchanged(), unchanged()]), "capture/created");
}

#[test]
fn compare_together_keeps_the_order_of_calls_that_do_not_overlap() {
    let (before, after) = before_and_after();
    let with_list = |begin: u64, end: u64, scene: &Scene| {
        let list = ConcurrentCall { begin, end, is_alone: false, ..listed(scene, "alpha") };
        broken_together(&before, &[call(3, 6, "take alpha", taken(2)), list], &after)
    };
    // A list during the call shows the checkpoint or not; a list after it must show it.
    assert_eq!(with_list(4, 5, &before), "");
    assert_eq!(with_list(4, 5, &after), "");
    assert_eq!(with_list(1, 2, &after), "list/complete");
    assert_eq!(with_list(7, 8, &after), "");
    assert_eq!(with_list(7, 8, &before), "list/complete");
}

#[test]
fn compare_together_lets_a_killed_call_take_effect_or_not_but_not_an_answered_call() {
    let (before, after) = before_and_after();
    let killed = [call(1, 2, "take alpha", None)];
    assert_eq!(broken_together(&before, &killed, &after), "");
    assert_eq!(broken_together(&before, &killed, &before), "");
    assert_eq!(broken_together(&before, &[call(1, 2, "take beta", None)], &after), "list/complete");
    let reported = [call(1, 2, "take alpha", taken(2))];
    assert_eq!(broken_together(&before, &reported, &before), "list/complete");
}

#[test]
fn compare_together_accepts_busy_only_while_other_calls_run() {
    let (before, after) = before_and_after();
    let busy = || call(1, 9, "take alpha", Some(refused(Code::Busy)));
    assert_eq!(broken_together(&before, &[busy()], &before), "");
    assert_eq!(broken_together(&before, &[busy(), call(1, 9, "take alpha", taken(2))], &after), "");
    let alone = ConcurrentCall { is_alone: true, ..busy() };
    assert!(!broken_together(&before, &[alone], &before).is_empty());
}

#[test]
fn compare_together_accepts_equal_ids_in_two_projects() {
    let (before, after) = before_and_after();
    let mut with_beta = after;
    with_beta.edit("/work/beta/b=1");
    let mut start = before;
    start.edit("/work/beta/b=1");
    let calls = [call(1, 9, "take beta", taken(2)), call(1, 9, "take alpha", taken(2))];
    assert_eq!(broken_together(&start, &calls, &with_beta), "");
}

#[test]
fn compare_together_names_an_id_that_a_list_has_twice() {
    let (before, after) = before_and_after();
    let list = listed(&after, "alpha");
    let Some(Answer::Listed(mut entries)) = list.answer.clone() else { panic!("{list:?}") };
    entries[1].id = entries[0].id.clone();
    let twice = ConcurrentCall { answer: Some(Answer::Listed(entries)), ..list };
    let calls = [call(1, 9, "take alpha", taken(2)), twice];
    let (checks, _) = before.world.compare_together(&calls, &before.world.files);
    let [violation] = &checks.violations[..] else { panic!("{:?}", checks.violations) };
    let found = (violation.rule.id, violation.mismatch.symptom.as_str());
    assert_eq!(found, ("concurrent/serial", "two checkpoints have one id"));
}
