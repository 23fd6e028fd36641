//! Two requests of two processes at the same time: some order of the two says what was answered.

use super::*;
use pretty_assertions::assert_eq;

fn created(number: usize) -> Answer {
    let outcome = CheckpointOutcome::Created { id: id(number) };
    Answer::Taken { outcome, skipped: Vec::new() }
}

fn unchanged() -> Answer {
    Answer::Taken { outcome: CheckpointOutcome::Unchanged, skipped: Vec::new() }
}

/// What is wrong where `asked` was answered so while another process was answered that; and what is
/// listed of `alpha` afterwards, newest first.
fn judged(scene: &Scene, asked: (&str, Answer), other: (&str, Answer)) -> (String, Vec<String>) {
    let seen = scene.seen(asked.0, asked.1);
    let (checks, then) = scene.world.compare_overlapped(&seen, (&request(other.0), &other.1));
    assert_eq!(then.is_some(), checks.violations.is_empty());
    let listed = then.iter().flat_map(|then| then.listed(b"work/alpha"));
    let ids: Vec<String> = listed.map(|one| one.id.clone()).collect();
    (broken(checks), ids)
}

#[test]
fn one_of_two_was_first_whichever() {
    let scene = Scene::changed("a=1", "a=2");
    let both =
        |one: Answer, other: Answer| judged(&scene, ("take alpha", one), ("take alpha", other));
    assert_eq!(both(created(2), unchanged()), (String::new(), vec![id(1), id(2)]));
    assert_eq!(both(unchanged(), created(2)), (String::new(), vec![id(1), id(2)]));
    // Who came second had nothing to capture, whichever that was.
    assert_eq!(both(created(2), created(3)).0, "capture/unchanged");
    assert_eq!(both(unchanged(), unchanged()).0, "capture/created capture/created");
}

#[test]
fn an_automatic_checkpoint_of_another_process_is_of_a_turn_of_its_own() {
    let mut scene = Scene::with("a=1");
    scene.ask("ensure alpha");
    scene.put("a=2");
    let (wrong, listed) =
        judged(&scene, ("list alpha", listed(&scene)), ("ensure alpha", created(2)));
    assert_eq!((wrong.as_str(), listed), ("", vec![id(1), id(2)]));
}

/// The right list of `alpha` now.
fn listed(scene: &Scene) -> Answer {
    scene.right("list alpha").answer
}

#[test]
fn who_waits_in_vain_did_nothing_and_a_sweep_need_not_reach_what_another_holds() {
    let scene = Scene::changed("a=1", "a=2");
    let busy = || refused(Code::Busy);
    let (wrong, listed) = judged(&scene, ("take alpha", created(2)), ("prune 0 0", busy()));
    assert_eq!((wrong.as_str(), listed), ("", vec![id(1), id(2)]));
    let counts = Counts { scanned: 1, errors: 1, ..Counts::default() };
    let swept = swept(SweepOutcome::Done, counts);
    assert_eq!(judged(&scene, ("take alpha", created(2)), ("prune 0 0", swept)).0, "");
}

#[test]
fn what_another_captures_of_a_project_that_is_restored_says_nothing() {
    let scene = Scene::changed("a=1", "a=2");
    for (one, other, has_order) in [
        ("restore alpha 1", "take alpha", false),
        ("restore alpha 1", "take alpha/in", false),
        ("restore alpha 1", "take beta", true),
        ("restore alpha 1", "prune 0 0", true),
        ("take alpha", "take alpha", true),
    ] {
        assert_eq!(
            scene.world.has_order(&request(one), &request(other)),
            has_order,
            "{one} {other}"
        );
    }
}
