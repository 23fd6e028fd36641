//! Two concurrent requests of two processes: some order of the two must explain the answers.

use super::*;
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;

fn created(number: usize) -> Answer {
    let outcome = CheckpointOutcome::Created { id: checkpoint_id(number) };
    Answer::Taken { outcome, skipped: Vec::new() }
}

fn unchanged() -> Answer {
    Answer::Taken { outcome: CheckpointOutcome::Unchanged, skipped: Vec::new() }
}

/// A request and its answer.
struct AnsweredRequest(&'static str, Answer);

/// The rules broken by two concurrent requests, and the listed ids of `alpha` afterwards.
fn judged(
    scene: &Scene,
    observed: AnsweredRequest,
    concurrent: AnsweredRequest,
) -> (String, Vec<String>) {
    let observation = scene.observation(observed.0, observed.1);
    let (checks, world) =
        scene.world.compare_overlapped(&observation, &parse_request(concurrent.0), &concurrent.1);
    assert_eq!(world.is_some(), checks.violations.is_empty());
    let listed = world.iter().flat_map(|world| world.listed(b"work/alpha"));
    let ids: Vec<String> = listed.map(|checkpoint| checkpoint.id.clone()).collect();
    (broken_rules(checks), ids)
}

#[test]
fn compare_overlapped_accepts_either_order_of_two_requests() {
    let scene = Scene::changed("a=1", "a=2");
    let both = |first: Answer, second: Answer| {
        judged(&scene, AnsweredRequest("take alpha", first), AnsweredRequest("take alpha", second))
    };
    assert_eq!(
        both(created(2), unchanged()),
        (String::new(), vec![checkpoint_id(1), checkpoint_id(2)])
    );
    assert_eq!(
        both(unchanged(), created(2)),
        (String::new(), vec![checkpoint_id(1), checkpoint_id(2)])
    );
    // The second request, whichever it was, had nothing to capture.
    assert_eq!(both(created(2), created(3)).0, "capture/unchanged");
    assert_eq!(both(unchanged(), unchanged()).0, "capture/created capture/created");
}

#[test]
fn ensure_checkpoint_of_another_process_belongs_to_its_own_turn() {
    let mut scene = Scene::with("a=1");
    scene.perform("ensure alpha");
    scene.edit("a=2");
    let (wrong, listed) = judged(
        &scene,
        AnsweredRequest("list alpha", listed(&scene)),
        AnsweredRequest("ensure alpha", created(2)),
    );
    assert_eq!((wrong.as_str(), listed), ("", vec![checkpoint_id(1), checkpoint_id(2)]));
}

/// The right list of `alpha` now.
fn listed(scene: &Scene) -> Answer {
    scene.correct_observation("list alpha").answer
}

#[test]
fn compare_overlapped_lets_a_busy_request_do_nothing_and_a_prune_skip_locked_projects() {
    let scene = Scene::changed("a=1", "a=2");
    let busy = || refused(Code::Busy);
    let (wrong, listed) = judged(
        &scene,
        AnsweredRequest("take alpha", created(2)),
        AnsweredRequest("prune 0 0", busy()),
    );
    assert_eq!((wrong.as_str(), listed), ("", vec![checkpoint_id(1), checkpoint_id(2)]));
    let counts = Counts { scanned: 1, errors: 1, ..Counts::default() };
    let swept = swept(SweepOutcome::Done, counts);
    assert_eq!(
        judged(
            &scene,
            AnsweredRequest("take alpha", created(2)),
            AnsweredRequest("prune 0 0", swept)
        )
        .0,
        ""
    );
}

#[test]
fn compare_overlapped_accepts_a_checkpoint_after_a_sweep_that_removed_a_v1_repository() {
    let mut scene = Scene::with("a=1");
    scene.add_repository("old", "work/alpha", false);
    scene.wait(8 * DAY);
    let stale = |stale| Counts { scanned: 1, stale, ..Counts::default() };
    for (stale, rules) in [(stale(1), ""), (stale(0), "sweep/counts")] {
        let base = Base { repositories: BTreeMap::new(), ..scene.base() };
        let observation = scene.observation("sweep", swept(SweepOutcome::Done, stale));
        let mut contents = scene.contents();
        contents.visible.insert(scene.world.hash(b"work/alpha"), vec![checkpoint_id(1)]);
        let observation = Observation { base: Some(base), contents: Some(contents), ..observation };
        let take = parse_request("take alpha");
        let (checks, _) = scene.world.compare_overlapped(&observation, &take, &created(1));
        assert_eq!(broken_rules(checks), rules);
    }
}

#[test]
fn has_order_is_false_for_a_checkpoint_and_a_restore_of_the_same_project() {
    let scene = Scene::changed("a=1", "a=2");
    for (first, second, has_order) in [
        ("restore alpha 1", "take alpha", false),
        ("restore alpha 1", "take alpha/in", false),
        ("restore alpha 1", "take beta", true),
        ("restore alpha 1", "prune 0 0", true),
        ("take alpha", "take alpha", true),
    ] {
        assert_eq!(
            scene.world.has_order(&parse_request(first), &parse_request(second)),
            has_order,
            "{first} {second}"
        );
    }
}
