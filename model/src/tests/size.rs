//! The store size limit: the size of all checkpoints, and what is evicted to respect the limit.

use super::*;
use crate::store_edit::StoreFile;
use pretty_assertions::assert_eq;

/// A scene with four checkpoints of `alpha` and two of `beta`. Each needs an object of its own and
/// an object that all share.
fn scene() -> Scene {
    let mut scene = Scene::with("");
    for (project, count) in [("alpha", 4), ("beta", 2)] {
        for content in 0..count {
            scene.edit(&format!("/work/{project}/a={content}"));
            scene.perform(&format!("take {project}"));
        }
    }
    scene
}

/// The size of an object in bytes, now and at most so far.
#[derive(Clone, Copy, Debug)]
struct ObjectSizes {
    now: u64,
    max: u64,
}

const TEN_BYTES: ObjectSizes = ObjectSizes { now: 10, max: 10 };
const EIGHT_BYTES: ObjectSizes = ObjectSizes { now: 8, max: 8 };
/// Stored in ten bytes once, and in eight now.
const SHRUNK: ObjectSizes = ObjectSizes { now: 8, max: 10 };

/// The contents of a store with this many of the newest checkpoints of `alpha` and `beta`. Each has
/// an object of these sizes; the shared object takes five bytes.
fn left(scene: &Scene, alpha: usize, beta: usize, object: ObjectSizes) -> Contents {
    let mut contents = scene.contents();
    for (project, count) in [("work/alpha", alpha), ("work/beta", beta)] {
        let hash = scene.world.hash(project.as_bytes());
        contents.visible.get_mut(&hash).unwrap().truncate(count);
    }
    fn object_of(number: usize) -> String {
        format!("object {number}")
    }
    contents.visible.retain(|_, ids| !ids.is_empty());
    let sizes =
        |each: u64| (1..=6).map(move |number| (object_of(number), each)).chain([("all".into(), 5)]);
    contents.sizes = sizes(object.now).collect();
    contents.sizes_max = sizes(object.max).collect();
    let needs =
        |number| (checkpoint_id(number), BTreeSet::from([object_of(number), "all".to_owned()]));
    contents.needs = (1..=6).map(needs).collect();
    contents
}

/// The rules broken by a checkpoint of unchanged files that leaves these contents.
fn bounded(bytes: u64, contents: Contents) -> String {
    let mut scene = scene();
    scene.world.settings.max_total_bytes = bytes;
    let observation = scene.correct_observation("take alpha");
    scene.broken_rules(&Observation { contents: Some(contents), ..observation })
}

#[test]
fn max_total_bytes_is_not_judged_if_the_head_file_is_damaged() {
    let mut scene = scene();
    scene.world.settings.max_total_bytes = 64;
    let observation = scene.correct_observation("take alpha");
    let observation = Observation { contents: Some(left(&scene, 4, 2, TEN_BYTES)), ..observation };
    assert_eq!(scene.broken_rules(&observation), TOTAL);
    let head = StoreEdit::File { file: StoreFile::Head, damage: Damage::Emptied };
    scene.world.edit_store(&head, true);
    assert_eq!(scene.broken_rules(&observation), "");
}

const TOTAL: &str = "limit/total-size";
const TOO_MANY: &str = "limit/no-more-than-needed";

#[test]
fn max_total_bytes_evicts_the_oldest_checkpoints_in_turn_and_no_more_than_needed() {
    for (bytes, alpha, beta, rules) in [
        (65, 4, 2, ""),
        (64, 4, 2, TOTAL),
        (64, 3, 2, ""),
        (64, 4, 1, ""),
        (65, 3, 2, TOO_MANY),
        (64, 3, 1, TOO_MANY),
        (54, 3, 1, ""),
        (55, 3, 1, TOO_MANY),
        (54, 2, 2, TOTAL),
        (54, 4, 1, TOTAL),
        (34, 1, 1, ""),
        (34, 2, 1, TOTAL),
        (25, 1, 1, ""),
        // If the newest checkpoints alone exceed the limit, no eviction would help.
        (24, 4, 2, ""),
        (24, 4, 0, "limit/newest-stays"),
        (0, 4, 0, ""),
    ] {
        assert_eq!(
            bounded(bytes, left(&scene(), alpha, beta, TEN_BYTES)),
            rules,
            "{bytes} {alpha} {beta}"
        );
    }
}

#[test]
fn max_total_bytes_accepts_the_current_or_the_largest_size_of_an_object() {
    for (bytes, alpha, beta, sizes, rules) in [
        (53, 4, 2, SHRUNK, ""),
        (52, 4, 2, SHRUNK, TOTAL),
        (60, 3, 2, SHRUNK, ""),
        (60, 3, 2, EIGHT_BYTES, TOO_MANY),
        (24, 4, 2, SHRUNK, ""),
        (25, 4, 2, SHRUNK, TOTAL),
    ] {
        assert_eq!(bounded(bytes, left(&scene(), alpha, beta, sizes)), rules, "{bytes} {sizes:?}");
    }
}

#[test]
fn max_total_bytes_does_not_judge_contents_with_a_wrong_list() {
    let mut reversed = left(&scene(), 4, 2, TEN_BYTES);
    reversed.visible.get_mut(&scene().world.hash(b"work/alpha")).unwrap().reverse();
    assert_eq!(bounded(30, reversed), "");
    let mut longer = left(&scene(), 4, 2, TEN_BYTES);
    longer.visible.get_mut(&scene().world.hash(b"work/beta")).unwrap().push("ab".into());
    assert_eq!(bounded(30, longer), "");
}

#[test]
fn max_total_bytes_is_judged_by_the_count_if_kept_checkpoints_have_new_ids() {
    for (bytes, alpha, beta, rules) in
        [(64, 3, 2, ""), (64, 3, 1, TOO_MANY), (54, 2, 2, TOTAL), (24, 4, 0, "limit/newest-stays")]
    {
        let mut renamed = left(&scene(), alpha, beta, TEN_BYTES);
        for ids in renamed.visible.values_mut() {
            ids.iter_mut().skip(1).for_each(|id| *id = id.replace('f', "e"));
        }
        assert_eq!(bounded(bytes, renamed), rules, "{bytes} {alpha} {beta}");
    }
}

#[test]
fn max_total_bytes_is_judged_after_checkpoints_and_prunes_only() {
    let done = || swept(SweepOutcome::Done, Counts { scanned: 2, ..Counts::default() });
    for (request, answer, is_judged) in [
        ("prune 0 30", done(), true),
        ("prune 0 0", done(), false),
        ("prune 0 30", swept(SweepOutcome::Off, Counts::default()), false),
        ("prune 0 30", refused(Code::Io), false),
        ("file alpha 1 a", Answer::Done, false),
        // It may leave that to the next checkpoint.
        ("restore alpha 1", scene().correct_observation("restore alpha 1").answer, false),
        ("list alpha", scene().correct_observation("list alpha").answer, false),
    ] {
        let mut scene = scene();
        scene.world.settings.max_total_bytes = 30;
        let contents = Some(left(&scene, 4, 2, TEN_BYTES));
        let base = Some(scene.base());
        let observation = Observation { contents, base, ..scene.observation(request, answer) };
        assert_eq!(
            scene.broken_rules(&observation).contains(TOTAL),
            is_judged,
            "{request} {:?}",
            observation.answer
        );
    }
    // A restore that evicts must not evict too much.
    let mut restored = scene();
    restored.world.settings.max_total_bytes = 64;
    let observation = restored.correct_observation("restore alpha 1");
    let contents = Some(left(&restored, 3, 1, TEN_BYTES));
    assert_eq!(restored.broken_rules(&Observation { contents, ..observation }), TOO_MANY);
    // The limit does not decide whether a sweep may remove a whole project.
    let mut scene = scene();
    scene.edit("-/work/beta");
    let contents = Some(left(&scene, 2, 0, TEN_BYTES));
    let counts = Counts { scanned: 2, orphans: 1, bytes_freed: 9, ..Counts::default() };
    let observation = scene.observation("prune 0 34 orphans", swept(SweepOutcome::Done, counts));
    let observation = Observation { contents, base: Some(scene.base()), ..observation };
    assert_eq!(scene.broken_rules(&observation), "");
}
