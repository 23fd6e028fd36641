//! What all checkpoints together take, and what is dropped to keep that within a bound.

use super::*;
use crate::store_edit::StoreFile;
use pretty_assertions::assert_eq;

/// A scene with four checkpoints of `alpha` and two of `beta`. Each needs an object of its own and
/// one that all share.
fn scene() -> Scene {
    let mut scene = Scene::with("");
    for (project, content) in [("alpha", 4), ("beta", 2)] {
        for content in 0..content {
            scene.put(&format!("/work/{project}/a={content}"));
            scene.ask(&format!("take {project}"));
        }
    }
    scene
}

/// What is left where so many checkpoints of `alpha` and `beta` are, the newest; an object takes so
/// many bytes, and took so many at most, and the one that all share takes five.
fn left(scene: &Scene, alpha: usize, beta: usize, (now, most): (u64, u64)) -> Contents {
    let mut contents = scene.contents();
    for (project, count) in [("work/alpha", alpha), ("work/beta", beta)] {
        let hash = scene.world.hash(project.as_bytes());
        contents.visible.get_mut(&hash).unwrap().truncate(count);
    }
    fn own(number: usize) -> String {
        format!("object {number}")
    }
    contents.visible.retain(|_, ids| !ids.is_empty());
    let sizes =
        |each: u64| (1..=6).map(move |number| (own(number), each)).chain([("all".into(), 5)]);
    contents.sizes = sizes(now).collect();
    contents.sizes_max = sizes(most).collect();
    let needs = |number| (id(number), BTreeSet::from([own(number), "all".to_owned()]));
    contents.needs = (1..=6).map(needs).collect();
    contents
}

/// The rules that are broken where that is left by a request for a checkpoint of what is there.
fn bounded(bytes: u64, contents: Contents) -> String {
    let mut scene = scene();
    scene.world.settings.max_total_bytes = bytes;
    let seen = scene.right("take alpha");
    scene.broken(&Observation { contents: Some(contents), ..seen })
}

#[test]
fn where_a_pack_is_not_found_nobody_need_keep_the_bound() {
    let mut scene = scene();
    scene.world.settings.max_total_bytes = 64;
    let seen = scene.right("take alpha");
    let seen = Observation { contents: Some(left(&scene, 4, 2, (10, 10))), ..seen };
    assert_eq!(scene.broken(&seen), TOTAL);
    let head = StoreEdit::File { file: StoreFile::Head, damage: Damage::Emptied };
    scene.world.edit_store(&head, true);
    assert_eq!(scene.broken(&seen), "");
}

const TOTAL: &str = "limit/total-size";
const TOO_MANY: &str = "limit/no-more-than-needed";

#[test]
fn the_oldest_go_in_turn_until_the_rest_fits_and_no_more() {
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
        // Where the newest alone take more, nothing that could be dropped would help.
        (24, 4, 2, ""),
        (24, 4, 0, "limit/newest-stays"),
        (0, 4, 0, ""),
    ] {
        assert_eq!(
            bounded(bytes, left(&scene(), alpha, beta, (10, 10))),
            rules,
            "{bytes} {alpha} {beta}"
        );
    }
}

#[test]
fn what_was_stored_in_another_form_is_judged_by_either() {
    for (bytes, alpha, beta, sizes, rules) in [
        (53, 4, 2, (8, 10), ""),
        (52, 4, 2, (8, 10), TOTAL),
        (60, 3, 2, (8, 10), ""),
        (60, 3, 2, (8, 8), TOO_MANY),
        (24, 4, 2, (8, 10), ""),
        (25, 4, 2, (8, 10), TOTAL),
    ] {
        assert_eq!(bounded(bytes, left(&scene(), alpha, beta, sizes)), rules, "{bytes} {sizes:?}");
    }
}

#[test]
fn what_is_wrong_with_the_list_is_not_for_the_size_to_say() {
    let mut reversed = left(&scene(), 4, 2, (10, 10));
    reversed.visible.get_mut(&scene().world.hash(b"work/alpha")).unwrap().reverse();
    assert_eq!(bounded(30, reversed), "");
    let mut longer = left(&scene(), 4, 2, (10, 10));
    longer.visible.get_mut(&scene().world.hash(b"work/beta")).unwrap().push("ab".into());
    assert_eq!(bounded(30, longer), "");
}

#[test]
fn who_writes_anew_what_stays_is_judged_by_how_much_that_is() {
    for (bytes, alpha, beta, rules) in
        [(64, 3, 2, ""), (64, 3, 1, TOO_MANY), (54, 2, 2, TOTAL), (24, 4, 0, "limit/newest-stays")]
    {
        let mut renamed = left(&scene(), alpha, beta, (10, 10));
        for ids in renamed.visible.values_mut() {
            ids.iter_mut().skip(1).for_each(|id| *id = id.replace('f', "e"));
        }
        assert_eq!(bounded(bytes, renamed), rules, "{bytes} {alpha} {beta}");
    }
}

#[test]
fn only_what_keeps_or_sweeps_is_judged() {
    let done = || swept(SweepOutcome::Done, Counts { scanned: 2, ..Counts::default() });
    for (asked, answer, judged) in [
        ("prune 0 30", done(), true),
        ("prune 0 0", done(), false),
        ("prune 0 30", swept(SweepOutcome::Off, Counts::default()), false),
        ("prune 0 30", refused(Code::Io), false),
        ("file alpha 1 a", Answer::Done, false),
        ("restore alpha 1", scene().right("restore alpha 1").answer, true),
        ("list alpha", scene().right("list alpha").answer, false),
    ] {
        let mut scene = scene();
        scene.world.settings.max_total_bytes = 30;
        let contents = Some(left(&scene, 4, 2, (10, 10)));
        let base = Some(scene.base());
        let seen = Observation { contents, base, ..scene.seen(asked, answer) };
        assert_eq!(scene.broken(&seen).contains(TOTAL), judged, "{asked} {:?}", seen.answer);
    }
    // Whether a sweep may remove a whole project is not for its bound to say.
    let mut scene = scene();
    scene.put("-/work/beta");
    let contents = Some(left(&scene, 2, 0, (10, 10)));
    let counts = Counts { scanned: 2, orphans: 1, bytes_freed: 9, ..Counts::default() };
    let seen = scene.seen("prune 0 34 orphans", swept(SweepOutcome::Done, counts));
    let seen = Observation { contents, base: Some(scene.base()), ..seen };
    assert_eq!(scene.broken(&seen), "");
}
