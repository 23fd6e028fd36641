//! What a checkpoint left out is not absent: it stays, and is named where it is not what it was.

use super::restored::left;
use super::said::say;
use super::*;
use pretty_assertions::assert_eq;

/// A restore: what is asked, the files now and after it, what is said (see [`say`]), and the rules
/// that are broken. The checkpoint holds `a=1` and left out `big`.
type Row = (&'static str, &'static str, &'static str, &'static str, &'static str);

fn compare(scene: impl Fn() -> Scene, rows: &[Row]) {
    for (asked, now, after, said, rules) in rows {
        let mut scene = scene();
        scene.ask("take alpha");
        scene.set(now);
        let mut seen = left(&scene, asked, after);
        let Answer::Restored(restored) = &mut seen.answer else { panic!("{asked}") };
        say(said, restored);
        assert_eq!(scene.broken(&seen), *rules, "{asked} | {now} | {after} | {said}");
    }
}

#[test]
fn what_was_left_out_is_kept_and_named_where_it_differs() {
    let (whole, exact) = ("restore alpha 1", "restore alpha 1 exact");
    compare(
        || Scene::with("a=1 big?=1"),
        &[
            (whole, "a=2 big=2", "a=1 big=2", "+a ~big", ""),
            (whole, "a=2 big=2", "a=1 big=2", "+a", "restore/left-out"),
            (whole, "a=2 big=2", "a=1 big=2", "+a =big", "restore/left-out"),
            (whole, "a=2 big=2", "a=1 big=2", "+a ~big =big", "restore/left-out"),
            (whole, "a=2 big=2 n=1", "a=1 big=2 n=1", "+a ~big =n", ""),
            (whole, "a=2 big=2", "a=1", "+a ~big -big", "restore/left-out"),
            (whole, "a=2 big=2", "a=1 big=3", "+a ~big", "restore/left-out"),
            (whole, "a=2", "a=1", "+a ~big", ""),
            (whole, "a=2", "a=1", "+a", "restore/left-out"),
            (whole, "a=2 big!", "a=1 big!", "+a ~big", ""),
            // Whether it is what it was its size and time may tell, or not.
            (whole, "a=2 big=1", "a=1 big=1", "+a", ""),
            (whole, "a=2 big=1", "a=1 big=1", "+a ~big", ""),
            (whole, "a=2 big?=1", "a=1 big?=1", "+a", ""),
            (exact, "a=2 big=2", "a=1 big=2", "+a ~big", ""),
            (exact, "a=2 big=2", "a=1", "+a ~big -big", "restore/left-out"),
            (exact, "a=2 big=1", "a=1", "+a -big", "restore/left-out"),
            (exact, "a=2 big=2 n=1", "a=1 big=2", "+a ~big -n", ""),
            ("file alpha 1 a", "a=2 big=2", "a=1 big=2", "+a", ""),
        ],
    );
    compare(|| Scene::with("a=1 big!"), &[(whole, "a=2 big=2", "a=1 big=2", "+a ~big", "")]);
}

#[test]
fn who_forgets_what_was_left_out_may_keep_it_or_remove_what_it_holds() {
    let (whole, exact) = ("restore alpha 1", "restore alpha 1 exact");
    compare(
        || Scene::without("checkpoint.left_out", "a=1 big?=1"),
        &[
            (whole, "a=2 big=2", "a=1 big=2", "+a", ""),
            (whole, "a=2 big=2", "a=1 big=2", "+a =big", ""),
            (whole, "a=2 big=2", "a=1 big=2", "+a ~big", ""),
            (whole, "a=2 big=2", "a=1", "+a -big", "restore/leaves-new"),
            (whole, "a=2 big?=2", "a=1", "+a -big", "restore/protects"),
            (exact, "a=2 big=2", "a=1 big=2", "+a ~big", ""),
            (exact, "a=2 big=2", "a=1 big=2", "+a", ""),
            (exact, "a=2 big=2", "a=1", "+a -big", ""),
            (exact, "a=2 big?=2", "a=1", "+a -big", "restore/protects"),
        ],
    );
}

#[test]
fn what_was_left_out_is_not_shown_as_added() {
    let mut scene = Scene::with("a=1 big?=1");
    scene.ask("take alpha");
    scene.set("a=1 big=2 n=1");
    let Allowed::Diff(due) = scene.allows("diff alpha 1") else { panic!("no diff") };
    assert_eq!(due.entries.keys().collect::<Vec<_>>(), [&ByteString::from("n")]);
}
