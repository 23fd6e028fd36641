//! Several processes that are asked at the same time: some order says what they were answered, whatever was
//! killed meanwhile.

use super::*;
use crate::together::Call;
use pretty_assertions::assert_eq;

fn taken(number: usize) -> Option<Answer> {
    let outcome = CheckpointOutcome::Created { id: id(number) };
    Some(Answer::Taken { outcome, skipped: Vec::new() })
}

fn unchanged() -> Option<Answer> {
    Some(Answer::Taken { outcome: CheckpointOutcome::Unchanged, skipped: Vec::new() })
}

/// A request that another process was asked and had answered at these times.
fn other(begin: u64, end: u64, asked: &str, answer: Option<Answer>) -> Call {
    Call { request: request(asked), answer, begin, end, is_alone: false }
}

/// The list of a project when nobody else runs, as it is right in that scene.
fn listed(scene: &Scene, project: &str) -> Call {
    let asked = format!("list {project}");
    let answer = Some(scene.right(&asked).answer);
    Call { is_alone: true, ..other(90, 91, &asked, answer) }
}

/// What is wrong with these calls and the list of `alpha` that is right in `then`.
fn wrong(scene: &Scene, calls: &[Call], then: &Scene) -> String {
    let all = [calls, &[listed(then, "alpha")]].concat();
    let (checks, world) = scene.world.compare_together(&all, &scene.world.files);
    assert_eq!(world.is_some(), checks.violations.is_empty());
    let listed = |world: &World| {
        let all = world.listed(b"work/alpha").iter();
        all.map(|one| one.id.clone()).collect::<Vec<_>>()
    };
    assert!(world.is_none_or(|world| listed(&world) == listed(&then.world)));
    broken(checks)
}

/// `alpha` before and after its newest files were captured as the second checkpoint.
fn before_and_after() -> (Scene, Scene) {
    let both = || Scene::changed("a=1", "a=2");
    let (before, mut after) = (both(), both());
    after.ask("take alpha");
    (before, after)
}

#[test]
fn one_of_several_was_first_whichever() {
    let (before, after) = before_and_after();
    let three = |answers: [Option<Answer>; 3]| {
        let calls = answers.map(|answer| other(1, 9, "take alpha", answer));
        wrong(&before, &calls, &after)
    };
    assert_eq!(three([unchanged(), taken(2), unchanged()]), "");
    assert_eq!(three([taken(2), taken(3), unchanged()]), "capture/unchanged");
    assert_eq!(three([unchanged(), unchanged(), unchanged()]), "capture/created");
}

#[test]
fn what_was_answered_before_another_was_asked_comes_first() {
    let (before, after) = before_and_after();
    let asked = |list: (u64, u64), then: &Scene| {
        let seen = Call { begin: list.0, end: list.1, is_alone: false, ..listed(then, "alpha") };
        wrong(&before, &[other(3, 6, "take alpha", taken(2)), seen], &after)
    };
    // Beside it, it is there or not; after it, it is.
    assert_eq!(asked((4, 5), &before), "");
    assert_eq!(asked((4, 5), &after), "");
    assert_eq!(asked((1, 2), &after), "list/complete");
    assert_eq!(asked((7, 8), &after), "");
    assert_eq!(asked((7, 8), &before), "list/complete");
}

#[test]
fn what_was_killed_took_effect_or_not_and_another_is_not_forgotten() {
    let (before, after) = before_and_after();
    let killed = [other(1, 2, "take alpha", None)];
    assert_eq!(wrong(&before, &killed, &after), "");
    assert_eq!(wrong(&before, &killed, &before), "");
    assert_eq!(wrong(&before, &[other(1, 2, "take beta", None)], &after), "list/complete");
    let reported = [other(1, 2, "take alpha", taken(2))];
    assert_eq!(wrong(&before, &reported, &before), "list/complete");
}

#[test]
fn who_waits_in_vain_did_nothing_unless_nobody_else_is_at_work() {
    let (before, after) = before_and_after();
    let busy = || other(1, 9, "take alpha", Some(refused(Code::Busy)));
    assert_eq!(wrong(&before, &[busy()], &before), "");
    assert_eq!(wrong(&before, &[busy(), other(1, 9, "take alpha", taken(2))], &after), "");
    let alone = Call { is_alone: true, ..busy() };
    assert!(!wrong(&before, &[alone], &before).is_empty());
}

#[test]
fn two_projects_may_have_the_same_ids() {
    let (before, after) = before_and_after();
    let mut beside = after;
    beside.put("/work/beta/b=1");
    let mut start = before;
    start.put("/work/beta/b=1");
    let calls = [other(1, 9, "take beta", taken(2)), other(1, 9, "take alpha", taken(2))];
    assert_eq!(wrong(&start, &calls, &beside), "");
}
