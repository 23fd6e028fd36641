//! What must hold after a restore: the files, and the report on them.

use super::*;
use crate::tree::Tree;
use pretty_assertions::assert_eq;
use std::sync::Arc;

/// The tree of a checkpoint of `alpha` with these files.
fn tree(files: &str) -> Tree {
    Scene::with(files).world.capture(b"work/alpha").tree.clone()
}

/// The observation of a restore that leaves these files in `alpha`.
pub(super) fn left(scene: &Scene, request: &str, after: &str) -> Observation {
    let mut restored = scene.clone();
    restored.replace_files(after);
    Observation { files: restored.world.files, ..scene.correct_observation(request) }
}

/// A scene of an implementation that reports no paths of a restore.
pub(super) fn without_report(taken: &str, now: &str) -> Scene {
    let mut scene = Scene::without("restore.report", taken);
    scene.perform("take alpha");
    scene.replace_files(now);
    scene
}

/// A restore: the files of the checkpoint, the files before and after, and the broken rules without
/// the `restore/` prefix of their ids.
type Row = (&'static str, &'static str, &'static str, &'static str);

fn compare(request: &str, rows: &[Row]) {
    for (taken, now, after, rules) in rows {
        let scene = without_report(taken, now);
        let found = scene.broken_rules(&left(&scene, request, after));
        assert_eq!(found.replace("restore/", ""), *rules, "{taken} | {now} | {after}");
    }
}

#[test]
fn restore_reinstates_bytes_mode_and_type_of_every_recorded_path() {
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
fn restore_replaces_captured_obstacles_and_keeps_uncaptured_ones() {
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
            // The checkpoint ignores a file of that name, but not a directory.
            (".gitignore=x;!x/ x/a=1", ".gitignore= x=2", ".gitignore=x;!x/ x=2", ""),
            (".gitignore=x;!x/ x/a=1", ".gitignore= x=2", ".gitignore=x;!x/ x/a=1", "protects"),
        ],
    );
}

#[test]
fn restore_leaves_new_files_unchanged() {
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
    // If repositories are captured, their files are ordinary files.
    let mut scene =
        Scene::without("capture.no_repositories capture.default_excludes restore.report", "a=1");
    scene.perform("take alpha");
    scene.replace_files("a=2 .git/HEAD=1 .git/e/");
    for (after, rules) in [("a=1 .git/HEAD=1", ""), ("a=1", "restore/leaves-new")] {
        assert_eq!(scene.broken_rules(&left(&scene, "restore alpha 1", after)), rules);
    }
}

#[test]
fn exact_restore_removes_new_files_that_are_captured() {
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
fn restore_removes_nothing_that_the_store_does_not_hold() {
    for (request, (taken, now, after, rules), stored) in [
        ("restore alpha 1 exact", ("a=1", "a=2 b=1", "a=1 b=1", ""), "a=2"),
        ("restore alpha 1 exact", ("a=1", "a=2 b=1", "a=1 b=1", ""), "a=2 b=2"),
        ("restore alpha 1 exact", ("a=1", "a=2 b=1", "a=1", "protects"), "a=2"),
        ("restore alpha 1 exact", ("a=1", "a=2 b=1", "a=1 b=1", "exact"), "b=1"),
        ("restore alpha 1", ("a=1", "a=2 b=1", "a=1 b=2", "protects"), "a=2"),
        ("restore alpha 1", ("a=1", "a=2", "a=1", ""), ""),
        ("restore alpha 1", ("d/a=1", "d=2", "d=2", ""), ""),
        ("restore alpha 1", ("d/a=1", "d=2", "d/a=1", "protects"), ""),
    ] {
        let scene = without_report(taken, now);
        let observation =
            Observation { held: Some(Arc::new(tree(stored))), ..left(&scene, request, after) };
        let found = scene.broken_rules(&observation).replace("restore/", "");
        assert_eq!(found, rules, "{now} | {after} | {stored}");
    }
}

#[test]
fn forced_restore_needs_no_checkpoint_and_removes_no_new_files() {
    for (taken, now, after, rules) in [
        ("a=1", "a=2 b=1", "a=1 b=1", ""),
        ("a=1", "a=2 b=1", "a=1", "leaves-new"),
        ("d/a=1", "d=2", "d/a=1", ""),
        ("d/a=1", "d=2", "d=2", "type"),
    ] {
        let mut scene = without_report(taken, now);
        scene.world.settings.max_files = 0;
        let observation = left(&scene, "restore alpha 1 exact force", after);
        let observation = Observation { held: Some(Arc::default()), ..observation };
        assert_eq!(
            scene.broken_rules(&observation).replace("restore/", ""),
            rules,
            "{now} | {after}"
        );
    }
}

#[test]
fn restore_file_restores_one_file_and_changes_no_other() {
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
        let request = format!("file alpha 1 d/../{path}");
        let mut scene = Scene::without("restore.report", "b=1");
        let write = |content: &str| Edit::Write {
            path: (&*format!("work/alpha/{path}")).into(),
            content: content.into(),
            executable: false,
        };
        scene.world.edit(&write("1"));
        scene.perform("take alpha");
        scene.world.edit(&write("2"));
        scene.edit("b=2");
        assert_eq!(scene.broken_rules(&scene.correct_observation(&request)), "", "{path}");
        scene.edit("b=1");
        let files = scene.correct_observation(&request).files;
        scene.edit("b=2");
        let observation = Observation { files, ..scene.correct_observation(&request) };
        assert_eq!(scene.broken_rules(&observation), "restore/file-literal", "{path}");
    }
}

#[test]
fn compare_reports_restore_target_if_the_files_match_another_checkpoint() {
    let compare_with = |second: &str, limit: usize, reported: &str, rows: &[Row]| {
        for (taken, now, after, rules) in rows {
            let mut scene = without_report(taken, second);
            scene.perform("take alpha");
            scene.replace_files(now);
            scene.world.settings.max_snapshots = limit;
            let mut observation = left(&scene, "restore alpha 2", after);
            if let Answer::Restored(report) = &mut observation.answer {
                report.restored = reported.split_whitespace().map(ByteString::from).collect();
            }
            let found = scene.broken_rules(&observation).replace("restore/", "");
            assert_eq!(found, *rules, "{taken} | {now} | {after} | {reported}");
        }
    };
    let compare = |limit, reported, rows| compare_with("a=2", limit, reported, rows);
    compare_with("a/b=2", 9, "a", &[("a=1", "a=3", "a/b=2", "target type bytes")]);
    compare_with("a/b=2", 9, "a", &[("a=1", "a=3", "a/b=4", "type bytes")]);
    compare(
        9,
        "a b",
        &[
            ("a=1", "a=3", "a=2", "target bytes"),
            ("a=1", "a=3", "a=4", "bytes"),
            ("a=1", "a=3", "a=3", "bytes"),
            // An unchanged path that is reported as restored was merely missed.
            ("a=1", "a=2", "a=2", "bytes"),
            ("a=1 b=1", "a=3 b=3", "a=2", "target bytes"),
            ("a=1 b=1", "a=3 b=3", "a=2 b=3", "target bytes"),
            ("a=1 b=1", "a=3 b=3", "a=2 b=4", "bytes"),
            // A path that cannot be restored is no evidence of a target.
            ("a=1", "a!", "a=2", "protects"),
            ("a=1", "a=3 b=3", "a=1", "leaves-new"),
        ],
    );
    compare(9, "", &[("a=1", "a=2", "a=2", "bytes")]);
    compare(2, "a", &[("a=1", "a=3", "a=2", "safety-keeps-target bytes")]);
}

#[test]
fn compare_reports_restore_target_if_an_unrestored_file_is_reported_as_unchanged() {
    let mut scene = Scene::with("a=1");
    scene.perform("take alpha");
    scene.replace_files("a=2");
    scene.perform("take alpha");
    let mut observation = left(&scene, "restore alpha 2", "a=2");
    observation.answer = Answer::Restored(Restored::default());
    assert!(
        scene.broken_rules(&observation).starts_with("restore/target"),
        "{}",
        scene.broken_rules(&observation)
    );
}

#[test]
fn restore_changes_nothing_outside_the_project() {
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
    let scene = without_report("a=1", "a=2");
    let checks = scene.checks(&left(&scene, "restore alpha 1", "a=3 /work/beta/x=2"));
    let found = checks.violations.iter().map(|violation| violation.mismatch.tree.concat());
    let expected = [
        "- work/alpha/a: a file of 1 bytes \"1\"+ work/alpha/a: a file of 1 bytes \"3\"",
        "+ work/beta/x: a file of 1 bytes \"2\"",
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    let scene = without_report("a=1", "a=2 b=1 .env=");
    let expected_by = |request, after| {
        let checks = scene.checks(&left(&scene, request, after));
        checks.violations[0].mismatch.expected.clone()
    };
    assert_eq!(expected_by("restore alpha 1 exact", "a=1 b=1 .env="), "work/alpha/b: nothing");
    let one_byte = "work/alpha/b: a file of 1 bytes \"1\"";
    assert_eq!(expected_by("restore alpha 1", "a=1 .env="), one_byte);
    let empty = "work/alpha/.env: a file of 0 bytes \"\"";
    assert_eq!(expected_by("restore alpha 1 exact", "a=1"), empty);
}

#[test]
fn compare_counts_the_rules_that_a_restore_tests() {
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
    for (request, taken, now, limit, expected) in [
        ("restore alpha 1", "a=1 b*=1 c*=1", "a=2 b=1 c*=2", 9, [3, 1, 0, 1, 1, 0, 1, 0, 0, 0, 0]),
        ("restore alpha 1", "l>a a=1 d=1", "l=1 a>l d/ n=", 9, [3, 0, 3, 1, 2, 0, 1, 0, 0, 0, 0]),
        ("restore alpha 1 exact", "a=1", "a=1 m= n=", 9, [0, 0, 0, 1, 1, 2, 1, 0, 0, 0, 0]),
        ("file alpha 1 a", "a=1", "a=2 n=", 9, [1, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0]),
        ("restore alpha 1", "a=1", "-/work/alpha", 9, [1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0]),
        ("restore alpha 1", "a=1", "a=2", 1, [1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1]),
    ] {
        let mut scene = Scene::changed(taken, now);
        scene.world.settings.max_snapshots = limit;
        let checks = scene.checks(&scene.correct_observation(request));
        assert_eq!(rules.map(|rule| count(&checks, rule)), expected, "{request} {taken} {now}");
    }
    let mut scene = Scene::changed("a=1", "a=2");
    scene.perform("restore alpha 1");
    let checks = scene.checks(&scene.correct_observation("restore alpha 1"));
    let found = ["restore/undo", "capture/bytes"].map(|rule| count(&checks, rule));
    assert_eq!(found, [1, 1]);
}

#[test]
fn restore_without_restore_safety_may_leave_new_files_in_the_way() {
    for (taken, now, after) in [("d=1", "d/a=2", "d/a=2"), ("d/a=1", "d=2", "d=2")] {
        for (lacks, broken) in [("restore.safety", ""), ("list.reason", "restore/type")] {
            let mut scene = Scene::without(&format!("{lacks} restore.report"), taken);
            scene.perform("take alpha");
            scene.replace_files(now);
            let observation = left(&scene, "restore alpha 1", after);
            assert_eq!(scene.broken_rules(&observation), broken, "{now} without {lacks}");
        }
    }
}

#[test]
fn compare_reports_the_original_content_of_a_file_that_restore_must_keep() {
    let scene = without_report("a=1", ".gitignore=a a=2");
    let checks = scene.checks(&left(&scene, "restore alpha 1", ".gitignore=a a=1"));
    let [violation] = &checks.violations[..] else { panic!("{:?}", checks.violations) };
    assert_eq!(
        (violation.rule.id, &*violation.mismatch.symptom),
        ("restore/protects", "other bytes")
    );
    assert!(violation.mismatch.expected.ends_with("\"2\""), "{}", violation.mismatch.expected);
    assert!(violation.mismatch.found.ends_with("\"1\""), "{}", violation.mismatch.found);
}

#[test]
fn compare_does_not_take_a_reported_failure_for_another_checkpoint() {
    let scene = |now: &str| {
        let mut scene = Scene::with("a=1");
        scene.perform("take alpha");
        scene.replace_files(now);
        scene.perform("take alpha");
        scene
    };
    let broken_with = |scene: &Scene, failed: &[&str]| {
        let failed = failed.iter().map(|path| remark((*path).into())).collect();
        let report = Restored { failed, undoes_turn: true, ..Restored::default() };
        scene.broken_by("restore alpha 2", Answer::Restored(report))
    };
    assert_eq!(broken_with(&scene("a=2"), &["a"]), "restore/happens restore/bytes");
    assert_eq!(broken_with(&scene("a=2"), &[]), "restore/target restore/bytes");
    // An entry of another type that was not replaced is no evidence of a target either.
    assert_eq!(broken_with(&scene("a>x"), &[]), "restore/type");
}

#[test]
fn compare_does_not_take_a_missing_link_for_another_checkpoint() {
    let mut scene = without_report("b=1", "a>x b=1");
    scene.perform("take alpha");
    let observation = left(&scene, "restore alpha 1 exact", "b=1");
    assert_eq!(scene.broken_rules(&observation), "restore/type");
}

#[test]
fn compare_does_not_take_a_missed_change_with_kept_time_for_another_checkpoint() {
    for (edit, broken) in [("a=2", "restore/target restore/bytes"), ("a~2", "restore/bytes")] {
        let mut scene = Scene::with("a=1");
        scene.perform("take alpha");
        scene.edit(edit);
        scene.perform("take alpha");
        assert_eq!(scene.broken_rules(&left(&scene, "restore alpha 1", "a=1")), broken, "{edit}");
    }
}
