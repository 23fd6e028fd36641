//! What must hold once something was restored: the files, and what is said of them.

use super::*;
use crate::tree::Tree;
use pretty_assertions::assert_eq;
use std::sync::Arc;

/// What a checkpoint of `alpha` as these files holds.
fn tree(files: &str) -> Tree {
    Scene::with(files).world.capture(b"work/alpha").tree
}

/// What is seen where a restore leaves these files in `alpha`.
pub(super) fn left(scene: &Scene, asked: &str, after: &str) -> Observation {
    let mut then = scene.clone();
    then.set(after);
    Observation { files: then.world.files, ..scene.right(asked) }
}

/// A scene where nobody asks for a report.
pub(super) fn silent(taken: &str, now: &str) -> Scene {
    let mut scene = Scene::without("restore.report", taken);
    scene.ask("take alpha");
    scene.set(now);
    scene
}

/// A restore: the files that the checkpoint holds, those before, those after, and the rules that are
/// broken, less the `restore/` that their ids open with.
type Row = (&'static str, &'static str, &'static str, &'static str);

fn compare(asked: &str, rows: &[Row]) {
    for (taken, now, after, rules) in rows {
        let scene = silent(taken, now);
        let found = scene.broken(&left(&scene, asked, after));
        assert_eq!(found.replace("restore/", ""), *rules, "{taken} | {now} | {after}");
    }
}

#[test]
fn what_a_checkpoint_records_comes_back_in_bytes_mode_and_type() {
    compare(
        "restore alpha 1",
        &[
            ("a=1 d/b=1 c>a", "a=2 c=", "a=1 d/b=1 c>a", ""),
            ("a=1", "a=2", "a=2", "bytes"),
            ("a=1", "a=2", "a=3", "bytes"),
            ("a=1", "a=2", "", "bytes"),
            ("d/a=1", "", "", "bytes"),
            ("d/a=1", "", "d/", "bytes"),
            ("a*=1", "a=1", "a=1", "executable"),
            ("a*=1", "a=2", "a=1", "executable"),
            ("a*=1", "a=2", "a*=2", "bytes"),
            ("a=1", "a=2", "a?=1", "executable"),
            ("a=1", "a>b", "a>b", "type"),
            ("a=1", "", "a/", "type"),
            ("a=1", "", "a!", "type"),
            ("a>b", "a=b", "a=b", "type"),
            ("a>b", "a>c", "a>c", "type"),
            ("a>b", "", "", "type"),
            ("d/a=1", "d=2", "d=2", "type"),
        ],
    );
}

#[test]
fn what_is_captured_gives_way_and_what_is_not_is_kept() {
    compare(
        "restore alpha 1",
        &[
            ("d/e/a=1", "d=2", "d/e/a=1", ""),
            ("d/e/a=1", "d/e>x", "d/e/a=1", ""),
            ("d/a=1", "d=2", "", "bytes leaves-new"),
            ("d=1", "d/a=2 d/e/b=2", "d=1", ""),
            ("d=1", "d/a=2 d/.env=2", "d/a=2 d/.env=2", ""),
            ("d=1", "d/a=2 d/.env=2", "d=1", "protects"),
            ("d=1", "d/a=2 d/.env=2", "d/.env=2", "leaves-new"),
            ("d=1 e=1", "d/ e=2", "d=1 e=1", ""),
            ("d=1", "d/", "d=2", "bytes"),
            ("d/a=1", "d!", "d!", ""),
            ("d/a=1", "d!", "d/a=1", "protects"),
            ("a=1", "a!", "a!", ""),
            ("a=1", "a!", "a=1", "protects"),
            ("a=1", ".gitignore=a a=2", ".gitignore=a a=2", ""),
            ("a=1", ".gitignore=a a=2", ".gitignore=a a=1", "protects"),
            ("a=1 b=1", ".gitignore=a a=1 b=2", ".gitignore=a a=1 b=1", ""),
            // A file of that name is ignored by the checkpoint, a directory is not.
            (".gitignore=x;!x/ x/a=1", ".gitignore= x=2", ".gitignore=x;!x/ x=2", ""),
            (".gitignore=x;!x/ x/a=1", ".gitignore= x=2", ".gitignore=x;!x/ x/a=1", "protects"),
        ],
    );
}

#[test]
fn what_is_new_is_left_as_it_is() {
    compare(
        "restore alpha 1",
        &[
            ("a=1", "a=2 b=1", "a=1 b=1", ""),
            ("a=1", "a=2 b=1", "a=1", "leaves-new"),
            ("a=1", "a=2 b=1", "a=1 b=2", "leaves-new"),
            ("a=1", "a=2 b=1", "a=1 b*=1", "leaves-new"),
            ("a=1", "a=2 .env=1", "a=1", "protects"),
            ("a=1", "a=2 .env=1", "a=1 .env=2", "protects"),
            ("a=1", "a=2", "a=1 b=1", "bytes"),
            ("a=1", "-a", "b=1", "bytes"),
            ("a=1", "a=2 e/", "a=1", ""),
            ("a=1", "a=2", "a=1 e/f/", ""),
            ("a=1", "a=2 .git/HEAD=1", "a=1 .git/HEAD=1", ""),
            ("a=1", "a=2 .git/HEAD=1", "a=1", "isolation/user-repository"),
            ("a=1", "a=2 .git/HEAD=1 .git/e/", "a=1 .git/HEAD=1", "isolation/user-repository"),
            ("a=1", "a=2", "a=1 .git/", "isolation/user-repository"),
        ],
    );
    // Where repositories are captured, they are files like all others.
    let mut scene =
        Scene::without("capture.no_repositories capture.default_excludes restore.report", "a=1");
    scene.ask("take alpha");
    scene.set("a=2 .git/HEAD=1 .git/e/");
    for (after, rules) in [("a=1 .git/HEAD=1", ""), ("a=1", "restore/leaves-new")] {
        assert_eq!(scene.broken(&left(&scene, "restore alpha 1", after)), rules);
    }
}

#[test]
fn an_exact_restore_removes_what_is_new_and_can_be_brought_back() {
    compare(
        "restore alpha 1 exact",
        &[
            ("a=1", "a=2 b=1 d/c=1", "a=1", ""),
            ("a=1", "a=2 b=1", "a=1 b=1", "exact"),
            ("a=1", "a=2 b=1", "a=1 b=2", "leaves-new"),
            ("a=1", "a=2 .env=1", "a=1 .env=1", ""),
            ("a=1", "a=2 .env=1", "a=1", "protects"),
            ("a=1", "a=2 .git/HEAD=1", "a=1", "isolation/user-repository"),
            (".gitignore=x", ".gitignore= x=1", ".gitignore=x x=1", ""),
            (".gitignore=x", ".gitignore= x=1", ".gitignore=x", "protects"),
        ],
    );
}

#[test]
fn what_the_store_does_not_hold_cannot_be_brought_back_and_stays() {
    for (asked, (taken, now, after, rules), held) in [
        ("restore alpha 1 exact", ("a=1", "a=2 b=1", "a=1 b=1", ""), "a=2"),
        ("restore alpha 1 exact", ("a=1", "a=2 b=1", "a=1 b=1", ""), "a=2 b=2"),
        ("restore alpha 1 exact", ("a=1", "a=2 b=1", "a=1", "protects"), "a=2"),
        ("restore alpha 1 exact", ("a=1", "a=2 b=1", "a=1 b=1", "exact"), "b=1"),
        ("restore alpha 1", ("a=1", "a=2 b=1", "a=1 b=2", "protects"), "a=2"),
        ("restore alpha 1", ("a=1", "a=2", "a=1", ""), ""),
        ("restore alpha 1", ("d/a=1", "d=2", "d=2", ""), ""),
        ("restore alpha 1", ("d/a=1", "d=2", "d/a=1", "protects"), ""),
    ] {
        let scene = silent(taken, now);
        let seen = Observation { held: Some(Arc::new(tree(held))), ..left(&scene, asked, after) };
        let found = scene.broken(&seen).replace("restore/", "");
        assert_eq!(found, rules, "{now} | {after} | {held}");
    }
}

#[test]
fn who_forces_a_restore_goes_without_what_is_held_and_removes_nothing() {
    for (taken, now, after, rules) in [
        ("a=1", "a=2 b=1", "a=1 b=1", ""),
        ("a=1", "a=2 b=1", "a=1", "leaves-new"),
        ("d/a=1", "d=2", "d/a=1", ""),
        ("d/a=1", "d=2", "d=2", "type"),
    ] {
        let mut scene = silent(taken, now);
        scene.world.settings.max_files = 0;
        let seen = left(&scene, "restore alpha 1 exact force", after);
        let seen = Observation { held: Some(Arc::default()), ..seen };
        assert_eq!(scene.broken(&seen).replace("restore/", ""), rules, "{now} | {after}");
    }
}

#[test]
fn one_file_comes_back_and_no_other_is_touched() {
    compare(
        "file alpha 1 a",
        &[
            ("a=1 b=1", "a=2 b=2 c=2", "a=1 b=2 c=2", ""),
            ("a=1 b=1", "a=2 b=2", "a=2 b=2", "bytes"),
            ("a=1 b=1", "a=2 b=2", "a=1 b=1", "file-only"),
            ("a=1 b=1", "a=2 c=2", "a=1", "file-only"),
            ("a=1", "a/e/", "a=1", ""),
        ],
    );
    for path in [":a", "*a", "a?", "[a]"] {
        let asked = format!("file alpha 1 d/../{path}");
        let mut scene = Scene::without("restore.report", "b=1");
        let write = |content: &str| Edit::Write {
            path: (&*format!("work/alpha/{path}")).into(),
            content: content.into(),
            executable: false,
        };
        scene.world.edit(&write("1"));
        scene.ask("take alpha");
        scene.world.edit(&write("2"));
        scene.put("b=2");
        assert_eq!(scene.broken(&scene.right(&asked)), "", "{path}");
        scene.put("b=1");
        let files = scene.right(&asked).files;
        scene.put("b=2");
        let seen = Observation { files, ..scene.right(&asked) };
        assert_eq!(scene.broken(&seen), "restore/file-literal", "{path}");
    }
}

#[test]
fn what_is_as_another_checkpoint_has_it_is_of_another_target() {
    let compare_with = |other: &str, limit: usize, says: &str, rows: &[Row]| {
        for (taken, now, after, rules) in rows {
            let mut scene = silent(taken, other);
            scene.ask("take alpha");
            scene.set(now);
            scene.world.settings.max_snapshots = limit;
            let mut seen = left(&scene, "restore alpha 2", after);
            if let Answer::Restored(said) = &mut seen.answer {
                said.restored = says.split_whitespace().map(ByteString::from).collect();
            }
            let found = scene.broken(&seen).replace("restore/", "");
            assert_eq!(found, *rules, "{taken} | {now} | {after} | {says}");
        }
    };
    let compare = |limit, says, rows| compare_with("a=2", limit, says, rows);
    compare_with("a/b=2", 9, "a", &[("a=1", "a=3", "a/b=2", "target type bytes")]);
    compare_with("a/b=2", 9, "a", &[("a=1", "a=3", "a/b=4", "type bytes")]);
    compare(
        9,
        "a b",
        &[
            ("a=1", "a=3", "a=2", "target bytes"),
            ("a=1", "a=3", "a=4", "bytes"),
            ("a=1", "a=3", "a=3", "bytes"),
            // What is said to be back and is as it was, was merely missed.
            ("a=1", "a=2", "a=2", "bytes"),
            ("a=1 b=1", "a=3 b=3", "a=2", "target bytes"),
            ("a=1 b=1", "a=3 b=3", "a=2 b=3", "target bytes"),
            ("a=1 b=1", "a=3 b=3", "a=2 b=4", "bytes"),
            // Nothing that cannot be brought back tells of a target.
            ("a=1", "a!", "a=2", "protects"),
            ("a=1", "a=3 b=3", "a=1", "leaves-new"),
        ],
    );
    compare(9, "", &[("a=1", "a=2", "a=2", "bytes")]);
    compare(2, "a", &[("a=1", "a=3", "a=2", "safety-keeps-target bytes")]);
}

#[test]
fn what_is_reported_as_unchanged_tells_of_another_target() {
    let mut scene = Scene::with("a=1");
    scene.ask("take alpha");
    scene.set("a=2");
    scene.ask("take alpha");
    let mut seen = left(&scene, "restore alpha 2", "a=2");
    seen.answer = Answer::Restored(Restored::default());
    assert!(scene.broken(&seen).starts_with("restore/target"), "{}", scene.broken(&seen));
}

#[test]
fn nothing_outside_of_the_project_changes() {
    compare(
        "restore alpha 1",
        &[
            ("a=1", "a=2", "a=1 /work/beta/x=2", "contained"),
            ("a=1", "a=2", "a=1 /work/beta/e/", "contained"),
            ("a=1", "a=2", "a=1 /home/x=2", "isolation/home"),
            ("a=1", "a=2", "a=1 /home/x=1", "contained"),
            ("a=1", "a=2", "a=1 /work/.git/x=2", "isolation/user-repository"),
            ("a=1", "a=2", "a=1 /hostile/mark-left=", "isolation/no-signing contained"),
            ("a=1", "-/work", "a=1", ""),
            ("a=1", "-/work", "a=1 /work/beta/", "contained"),
            ("a=1", "-/work", "-/work /work=", "contained bytes"),
            ("a=1", "-/work/alpha", "-/work/alpha /work/alpha=", "contained bytes"),
        ],
    );
    let scene = silent("a=1", "a=2");
    let checks = scene.checks(&left(&scene, "restore alpha 1", "a=3 /work/beta/x=2"));
    let found = checks.violations.iter().map(|one| one.mismatch.tree.concat());
    let expected = [
        "- work/alpha/a: a file of 1 bytes \"1\"+ work/alpha/a: a file of 1 bytes \"3\"",
        "+ work/beta/x: a file of 1 bytes \"2\"",
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    let scene = silent("a=1", "a=2 b=1 .env=");
    let told = |asked, after| {
        let checks = scene.checks(&left(&scene, asked, after));
        checks.violations[0].mismatch.expected.clone()
    };
    assert_eq!(told("restore alpha 1 exact", "a=1 b=1 .env="), "work/alpha/b: nothing");
    let one_byte = "work/alpha/b: a file of 1 bytes \"1\"";
    assert_eq!(told("restore alpha 1", "a=1 .env="), one_byte);
    let empty = "work/alpha/.env: a file of 0 bytes \"\"";
    assert_eq!(told("restore alpha 1 exact", "a=1"), empty);
}

#[test]
fn a_restore_counts_what_it_has_put_to_the_test() {
    let rules = [
        "restore/bytes",
        "restore/executable",
        "restore/type",
        "restore/protects",
        "restore/leaves-new",
        "restore/exact",
        "restore/contained",
        "restore/file-only",
        "restore/undo",
        "restore/deleted-project",
        "restore/safety-keeps-target",
    ];
    for (asked, taken, now, limit, expected) in [
        ("restore alpha 1", "a=1 b*=1 c*=1", "a=2 b=1 c*=2", 9, [3, 1, 0, 1, 1, 0, 1, 0, 0, 0, 0]),
        ("restore alpha 1", "l>a a=1 d=1", "l=1 a>l d/ n=", 9, [3, 0, 3, 1, 2, 0, 1, 0, 0, 0, 0]),
        ("restore alpha 1 exact", "a=1", "a=1 m= n=", 9, [0, 0, 0, 1, 1, 2, 1, 0, 0, 0, 0]),
        ("file alpha 1 a", "a=1", "a=2 n=", 9, [1, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0]),
        ("restore alpha 1", "a=1", "-/work/alpha", 9, [1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0]),
        ("restore alpha 1", "a=1", "a=2", 1, [1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1]),
    ] {
        let mut scene = Scene::changed(taken, now);
        scene.world.settings.max_snapshots = limit;
        let checks = scene.checks(&scene.right(asked));
        assert_eq!(rules.map(|rule| count(&checks, rule)), expected, "{asked} {taken} {now}");
    }
    let mut scene = Scene::changed("a=1", "a=2");
    scene.ask("restore alpha 1");
    let checks = scene.checks(&scene.right("restore alpha 1"));
    let found = ["restore/undo", "capture/bytes"].map(|rule| count(&checks, rule));
    assert_eq!(found, [1, 1]);
}

#[test]
fn who_takes_nothing_before_a_restore_may_leave_what_is_new_in_the_way() {
    for (taken, now, after) in [("d=1", "d/a=2", "d/a=2"), ("d/a=1", "d=2", "d=2")] {
        for (lacks, broken) in [("restore.safety", ""), ("list.reason", "restore/type")] {
            let mut scene = Scene::without(&format!("{lacks} restore.report"), taken);
            scene.ask("take alpha");
            scene.set(now);
            let seen = left(&scene, "restore alpha 1", after);
            assert_eq!(scene.broken(&seen), broken, "{now} without {lacks}");
        }
    }
}

#[test]
fn what_should_have_stayed_is_told_as_it_was() {
    let scene = silent("a=1", ".gitignore=a a=2");
    let checks = scene.checks(&left(&scene, "restore alpha 1", ".gitignore=a a=1"));
    let [one] = &checks.violations[..] else { panic!("{:?}", checks.violations) };
    assert_eq!((one.rule.id, &*one.mismatch.symptom), ("restore/protects", "other bytes"));
    assert!(one.mismatch.expected.ends_with("\"2\""), "{}", one.mismatch.expected);
    assert!(one.mismatch.found.ends_with("\"1\""), "{}", one.mismatch.found);
}

#[test]
fn what_failed_and_is_said_to_have_is_no_other_checkpoint() {
    let scene = |now: &str| {
        let mut scene = Scene::with("a=1");
        scene.ask("take alpha");
        scene.set(now);
        scene.ask("take alpha");
        scene
    };
    let broken = |scene: &Scene, failed: &[&str]| {
        let failed = failed.iter().map(|path| remark((*path).into())).collect();
        let said = Restored { failed, undoes_turn: true, ..Restored::default() };
        scene.answered("restore alpha 2", Answer::Restored(said))
    };
    assert_eq!(broken(&scene("a=2"), &["a"]), "restore/happens restore/bytes");
    assert_eq!(broken(&scene("a=2"), &[]), "restore/target restore/bytes");
    // Something of another type that was not replaced says nothing of targets either.
    assert_eq!(broken(&scene("a>x"), &[]), "restore/type");
}

#[test]
fn a_link_that_did_not_come_back_is_no_other_checkpoint() {
    let mut scene = silent("b=1", "a>x b=1");
    scene.ask("take alpha");
    let seen = left(&scene, "restore alpha 1 exact", "b=1");
    assert_eq!(scene.broken(&seen), "restore/type");
}

#[test]
fn a_change_that_was_missed_since_the_time_was_kept_is_no_other_checkpoint() {
    for (edit, broken) in [("a=2", "restore/target restore/bytes"), ("a~2", "restore/bytes")] {
        let mut scene = Scene::with("a=1");
        scene.ask("take alpha");
        scene.put(edit);
        scene.ask("take alpha");
        assert_eq!(scene.broken(&left(&scene, "restore alpha 1", "a=1")), broken, "{edit}");
    }
}
