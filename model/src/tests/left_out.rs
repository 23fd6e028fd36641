//! A path that a checkpoint left out is not absent: a restore keeps it, and reports it if changed.

use super::restored::left;
use super::said::set_report;
use super::*;
use pretty_assertions::assert_eq;

/// A restore: the request, the files before and after it, its report (see [`set_report`]), and the
/// broken rules. The checkpoint holds `a=1` and left out `big`.
type LeftOutRow = (&'static str, &'static str, &'static str, &'static str, &'static str);

fn compare(scene: impl Fn() -> Scene, rows: &[LeftOutRow]) {
    for (request, now, after, report, rules) in rows {
        let mut scene = scene();
        scene.perform("take alpha");
        scene.replace_files(now);
        let mut observation = left(&scene, request, after);
        let Answer::Restored(restored) = &mut observation.answer else { panic!("{request}") };
        set_report(report, restored);
        assert_eq!(
            scene.broken_rules(&observation),
            *rules,
            "{request} | {now} | {after} | {report}"
        );
    }
}

#[test]
fn restore_keeps_a_left_out_path_and_reports_it_as_kept_if_it_differs() {
    let full = "restore alpha 1";
    let exact = "restore alpha 1 exact";
    compare(
        || Scene::with("a=1 big?=1"),
        &[
            (full, "a=2 big=2", "a=1 big=2", "+a ~big", ""),
            (full, "a=2 big=2", "a=1 big=2", "+a", "restore/left-out"),
            (full, "a=2 big=2", "a=1 big=2", "+a =big", "restore/left-out"),
            (full, "a=2 big=2", "a=1 big=2", "+a ~big =big", "restore/left-out"),
            (full, "a=2 big=2 n=1", "a=1 big=2 n=1", "+a ~big =n", ""),
            (full, "a=2 big=2", "a=1", "+a ~big -big", "restore/left-out"),
            (full, "a=2 big=2", "a=1 big=3", "+a ~big", "restore/left-out"),
            (full, "a=2", "a=1", "+a ~big", ""),
            (full, "a=2", "a=1", "+a", "restore/left-out"),
            (full, "a=2 big!", "a=1 big!", "+a ~big", ""),
            // Its size and time may or may not show that it is unchanged.
            (full, "a=2 big=1", "a=1 big=1", "+a", ""),
            (full, "a=2 big=1", "a=1 big=1", "+a ~big", ""),
            (full, "a=2 big?=1", "a=1 big?=1", "+a", ""),
            (exact, "a=2 big=2", "a=1 big=2", "+a ~big", ""),
            (exact, "a=2 big=2", "a=1", "+a ~big -big", "restore/left-out"),
            (exact, "a=2 big=1", "a=1", "+a -big", "restore/left-out"),
            (exact, "a=2 big=2 n=1", "a=1 big=2", "+a ~big -n", ""),
            ("file alpha 1 a", "a=2 big=2", "a=1 big=2", "+a", ""),
        ],
    );
    compare(|| Scene::with("a=1 big!"), &[(full, "a=2 big=2", "a=1 big=2", "+a ~big", "")]);
}

#[test]
fn restore_keeps_what_is_in_a_left_out_folder() {
    let full = "restore alpha 1";
    let exact = "restore alpha 1 exact";
    compare(
        || Scene::with("a=1 d/f=1 d?/"),
        &[
            (full, "a=2 d/f=1", "a=1 d/f=1", "+a", ""),
            (full, "a=2 d/f=2 d/n=1", "a=1 d/f=2 d/n=1", "+a ~d", ""),
            (full, "a=2 d/f=1", "a=1 d/f=1", "+a ~d =d/f", "restore/left-out"),
            (exact, "a=2 d/f=2 n=1", "a=1 d/f=2", "+a ~d -n", ""),
            (exact, "a=2 d/f=1", "a=1 d/", "+a ~d -d/f", "restore/left-out"),
            (full, "a=2", "a=1", "+a ~d", ""),
            (full, "a=2", "a=1", "+a", "restore/left-out"),
        ],
    );
}

#[test]
fn restore_may_keep_or_remove_a_left_out_path_without_checkpoint_left_out() {
    let full = "restore alpha 1";
    let exact = "restore alpha 1 exact";
    compare(
        || Scene::without("checkpoint.left_out", "a=1 big?=1"),
        &[
            (full, "a=2 big=2", "a=1 big=2", "+a", ""),
            (full, "a=2 big=2", "a=1 big=2", "+a =big", ""),
            (full, "a=2 big=2", "a=1 big=2", "+a ~big", ""),
            (full, "a=2 big=2", "a=1", "+a -big", "restore/leaves-new"),
            (full, "a=2 big?=2", "a=1", "+a -big", "restore/protects"),
            (exact, "a=2 big=2", "a=1 big=2", "+a ~big", ""),
            (exact, "a=2 big=2", "a=1 big=2", "+a", ""),
            (exact, "a=2 big=2", "a=1", "+a -big", ""),
            (exact, "a=2 big?=2", "a=1", "+a -big", "restore/protects"),
        ],
    );
}

#[test]
fn diff_does_not_show_a_left_out_path_as_added() {
    let mut scene = Scene::with("a=1 big?=1");
    scene.perform("take alpha");
    scene.replace_files("a=1 big=2 n=1");
    let Allowed::Diff(diff) = scene.allows("diff alpha 1") else { panic!("no diff") };
    assert_eq!(diff.entries.keys().collect::<Vec<_>>(), [&ByteString::from("n")]);
}
