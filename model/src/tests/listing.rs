//! Lists, previews, and which checkpoint a target names.

use super::*;
use crate::allowed::{AllowedDiff, AllowedList};
use crate::answer::Change;
use pretty_assertions::assert_eq;

fn list(scene: &Scene, dir: &str) -> AllowedList {
    match scene.allows(&format!("list {dir}")) {
        Allowed::List(list) => list,
        unexpected => panic!("{unexpected:?}"),
    }
}

fn diff(scene: &Scene, target: &str) -> AllowedDiff {
    match scene.allows(&format!("diff alpha {target}")) {
        Allowed::Diff(diff) => diff,
        unexpected => panic!("{unexpected:?}"),
    }
}

/// A scene without these capabilities, with three checkpoints of `alpha`, whose only file has one
/// line more each time, and then a checkpoint of `beta`.
fn scene_without(capabilities: &str) -> Scene {
    let mut scene = Scene::without(capabilities, "/work/beta/b=b");
    for content in ["1;", "1;2;", "1;2;3;"] {
        scene.edit(&format!("a={content}"));
        scene.perform("take alpha");
        scene.wait(10);
    }
    scene.perform("take beta");
    scene
}

fn scene() -> Scene {
    scene_without("")
}

#[test]
fn list_shows_the_checkpoints_of_one_project_newest_first() {
    let mut scene = scene();
    let listed = list(&scene, "alpha");
    let entries = listed.entries.iter();
    let found: Vec<_> = entries.map(|entry| (entry.id.clone(), entry.time, entry.stats)).collect();
    let second =
        LineBounds { files: 1, balance: 1, added_min: 1, added_max: 2, ..LineBounds::default() };
    let third = LineBounds { added_max: 3, ..second };
    assert_eq!(
        found,
        [
            (checkpoint_id(3), START + 20, AllowedStats::Within(third)),
            (checkpoint_id(2), START + 10, AllowedStats::Within(second)),
            (checkpoint_id(1), START, AllowedStats::None),
        ]
    );
    assert!(listed.entries.iter().all(|entry| entry.reason.as_deref() == Some("take alpha")));
    assert!(listed.foreign.iter().eq(&[checkpoint_id(4)]));
    assert!(!listed.deleted && !listed.limited);
    for (limit, count, limited) in [(4, 3, false), (3, 3, false), (2, 2, true), (1, 1, true)] {
        scene.world.settings.max_snapshots = limit;
        let listed = list(&scene, "alpha");
        assert_eq!((listed.entries.len(), listed.limited), (count, limited), "{limit}");
        assert_eq!(listed.entries.last().unwrap().stats, AllowedStats::None);
    }
}

#[test]
fn list_is_empty_for_a_directory_without_checkpoints() {
    let mut scene = scene();
    scene.perform("take /world");
    for dir in ["/", "/elsewhere", "none", "~"] {
        let listed = list(&scene, dir);
        assert!(listed.entries.is_empty() && !listed.limited, "{dir}");
        assert_eq!(listed.deleted, dir != "~", "{dir}");
    }
    scene.edit("-/work/alpha");
    let listed = list(&scene, "alpha");
    assert_eq!((listed.entries.len(), listed.deleted), (3, true));
}

#[test]
fn list_may_be_refused_for_a_missing_directory_unless_it_has_checkpoints() {
    let mut scene = scene();
    let gone = || refused(Code::MissingDirectory);
    assert_eq!(scene.broken_by("list none", gone()), "");
    assert_eq!(scene.broken_by("list none", refused(Code::Io)), "scope/no-directory");
    scene.edit("/work/empty/");
    assert_eq!(scene.broken_by("list empty", gone()), "list/complete");
    scene.edit("-/work/empty -/work/alpha");
    assert_eq!(scene.broken_by("list empty", gone()), "");
    assert_eq!(scene.broken_by("list alpha", gone()), "restore/deleted-project");
}

/// The rules broken by the right list of `alpha` once it is corrupted, and the symptoms.
fn listed(scene: &Scene, corrupt: Corruption<Vec<Listed>>) -> String {
    let mut observation = scene.correct_observation("list alpha");
    let Answer::Listed(entries) = &mut observation.answer else { panic!("no list") };
    corrupt(entries);
    let checks = scene.checks(&observation);
    let symptoms = symptoms(&checks).join(", ");
    let ids = broken_rules(checks);
    if ids.is_empty() { ids } else { format!("{ids}: {symptoms}") }
}

fn additional_entry(id: &str) -> Listed {
    let id = id.to_owned();
    let reason = String::new();
    Listed { number: 4, id, time: 0, reason, stats: None }
}

#[test]
fn compare_reports_the_rule_for_each_wrong_part_of_a_list() {
    let corruptions: &[(Corruption<Vec<Listed>>, &str)] = &[
        (&|_| {}, ""),
        (
            &|entries| entries[0].id = checkpoint_id(4),
            "list/own-project list/stable: a checkpoint of another project, other ids",
        ),
        (&|entries| drop(entries.remove(2)), "list/complete: too few"),
        (&|entries| entries.push(additional_entry("ab")), "list/complete: too many"),
        (&|entries| entries[1].id = "ab".into(), "list/stable: other ids"),
        (&|entries| entries.swap(0, 1), "list/newest-first: another order"),
        (&|entries| entries[1].number = 7, "list/newest-first: another order"),
        (&|entries| entries[0].time += 1, "list/time: time"),
        (&|entries| entries[0].reason.clear(), "capture/reason: reason"),
        (&|entries| entries[0].stats = None, "list/stats: no figures"),
        (&|entries| entries[0].stats.as_mut().unwrap().files = 2, "list/stats: other figures"),
        (&|entries| entries[0].stats.as_mut().unwrap().added = 2, "list/stats: other figures"),
        (
            &|entries| entries[2].stats = Some(Stats::default()),
            "list/oldest-no-stats: figures for the oldest",
        ),
    ];
    for (index, (corrupt, expected)) in corruptions.iter().enumerate() {
        assert_eq!(listed(&scene(), corrupt), *expected, "{index}");
    }
    let mut limited = scene();
    limited.world.settings.max_snapshots = 2;
    let extend = |entries: &mut Vec<Listed>| {
        entries.push(Listed { number: 3, ..additional_entry(&checkpoint_id(1)) })
    };
    assert_eq!(listed(&limited, &extend), "list/at-most list/complete: too many, too many");
    assert_eq!(listed(&limited, &|entries| drop(entries.pop())), "list/complete: too few");
    let mut deleted = scene();
    deleted.edit("-/work/alpha");
    assert_eq!(
        listed(&deleted, &Vec::clear),
        "restore/deleted-project list/complete: too few, too few"
    );
}

#[test]
fn compare_does_not_judge_parts_of_a_list_without_their_capabilities() {
    let limited = scene_without("test.clock list.reason list.stats");
    let corrupt = |entries: &mut Vec<Listed>| {
        entries[0] = Listed { number: 1, id: entries[0].id.clone(), ..additional_entry("") };
    };
    assert_eq!(listed(&limited, &corrupt), "");
    // Of a checkpoint whose creation was not observed, only the existence is known.
    let mut scene = scene();
    scene.learn_answer(
        "list alpha",
        Answer::Listed(vec![Listed { number: 1, ..additional_entry("ab") }]),
    );
    scene.edit("a=new");
    scene.perform("take alpha");
    assert_eq!(listed(&scene, &|entries| entries[0].stats = None), "");
    assert_eq!(listed(&scene, &|entries| entries[1].time = 1), "list/time: time");
}

#[test]
fn diff_shows_every_path_that_differs_and_its_change() {
    let mut scene = Scene::changed("gone=1; other=1; same=1;", "new=1; other=2; same=1;");
    let found = diff(&scene, "1");
    let expected = [("gone", Change::Deleted), ("new", Change::Added), ("other", Change::Modified)];
    assert!(found.entries.into_iter().eq(expected.map(|(path, change)| (path.into(), change))));
    let figures = LineBounds { files: 3, balance: 0, added_min: 2, added_max: 2, moved_max: 1 };
    assert_eq!(found.stats, figures);
    for (limit, may_refuse) in [(3, 0), (2, 1)] {
        scene.world.settings.max_files = limit;
        assert_eq!(diff(&scene, "1").may_refuse.len(), may_refuse, "{limit}");
    }
    // The limit concerns checkpoints; a preview may apply it as well.
    assert_eq!(scene.broken_by("diff alpha 1", refused(Code::TooManyFiles)), "");
    assert_eq!(scene.broken_by("diff alpha 1", refused(Code::Io)), "scope/too-many-files");
    scene.replace_files("gone=1; other=1; same=1;");
    assert!(diff(&scene, "1").entries.is_empty());
    scene.edit("-/work/alpha");
    assert_eq!(diff(&scene, "1").stats.balance, -3);
    scene.edit("/work/alpha=");
    let refused = refusals(&scene.allows("diff alpha 1"));
    assert_eq!(refused, [(&[Code::NotADirectory][..], "scope/no-directory")]);
}

#[test]
fn diff_breaks_diff_preview_by_its_paths_and_diff_stats_by_its_lines() {
    let corruptions: &[(Corruption<Vec<DiffEntry>>, _, _)] = &[
        (&|entries| entries.reverse(), [3, 2, 2], ""),
        (&|entries| drop(entries.pop()), [3, 2, 2], "diff/preview"),
        (&|entries| entries[0].change = Change::Added, [3, 2, 2], "diff/preview"),
        (&|entries| entries[1].path = "x".into(), [3, 2, 2], "diff/preview"),
        // One of the entries may count as moved.
        (&|_| {}, [2, 2, 2], ""),
        (&|_| {}, [1, 2, 2], "diff/stats"),
        (&|_| {}, [3, 3, 3], "diff/stats"),
        (&|_| {}, [3, 2, 1], "diff/stats"),
    ];
    for (index, (corrupt, [files, added, removed], expected)) in corruptions.iter().enumerate() {
        for lacks in ["", "diff.stats"] {
            let mut scene = Scene::without(lacks, "a=1; b=1;");
            scene.perform("take alpha");
            scene.replace_files("b=2; c=1;");
            let mut observation = scene.correct_observation("diff alpha 1");
            let Answer::Diffed { entries, stats } = &mut observation.answer else {
                panic!("no diff")
            };
            corrupt(entries);
            *stats = Stats { files: *files, added: *added, removed: *removed };
            let expected =
                if *expected == "diff/stats" && !lacks.is_empty() { "" } else { expected };
            assert_eq!(scene.broken_rules(&observation), expected, "{index} {lacks}");
        }
    }
}

#[test]
fn a_refused_diff_breaks_the_rule_for_its_error_code() {
    for (files, code, rules) in [
        ("a=1", Code::BadTarget, "restore/target"),
        ("a=1", Code::AmbiguousCheckpoint, "restore/target"),
        ("a=1", Code::Busy, "diff/preview"),
        ("a=1", Code::Io, "diff/preview"),
        ("a=1 b?=", Code::Io, "capture/unreadable diff/preview"),
        ("a=1 b?=", Code::Busy, "diff/preview"),
        ("a=1 b!", Code::Internal, "capture/special diff/preview"),
    ] {
        let mut scene = Scene::with(files);
        scene.perform("take alpha");
        assert_eq!(scene.broken_by("diff alpha 1", refused(code)), rules, "{files} {code}");
    }
}

#[test]
fn target_is_a_number_of_the_list_or_a_prefix_of_one_listed_id() {
    let mut scene = scene();
    // The number of missing lines identifies the checkpoint.
    for (target, lacks) in
        [("1", 0), ("2", 1), ("3", 2), ("1f1f", 2), ("2F2f", 1), (&checkpoint_id(3), 0)]
    {
        assert_eq!(diff(&scene, target).stats.balance, lacks, "{target}");
    }
    let malformed: &[Code] = &[Code::UnknownCheckpoint, Code::BadTarget];
    let unknown: &[Code] = &[Code::UnknownCheckpoint];
    let bad = "restore/bad-target";
    let not_own = "restore/own-checkpoint";
    for (request, refused) in [
        ("diff alpha 0", (malformed, bad)),
        ("diff alpha 4", (malformed, bad)),
        ("diff alpha -1", (malformed, bad)),
        ("diff alpha 9f9f", (unknown, not_own)),
        ("diff alpha 4f4f", (unknown, not_own)),
        ("restore alpha 4", (malformed, bad)),
        ("restore beta 1f1f", (unknown, not_own)),
    ] {
        assert_eq!(refusals(&scene.allows(request)), [refused], "{request}");
    }
    scene.world.settings.max_snapshots = 2;
    assert_eq!(refusals(&scene.allows("diff alpha 3")), [(malformed, bad)]);
    assert_eq!(refusals(&scene.allows("diff alpha 1f1f")), [(unknown, not_own)]);
}

#[test]
fn restore_and_diff_may_be_refused_for_a_directory_that_cannot_be_a_project() {
    let mut scene = scene();
    scene.edit("/work/file=");
    for (dir, code) in [
        ("/", Code::ScopeRoot),
        ("~", Code::ScopeHome),
        ("~/.hermes/checkpoints", Code::ScopeBase),
        ("/elsewhere", Code::MissingDirectory),
        ("none", Code::MissingDirectory),
        ("file", Code::NotADirectory),
    ] {
        for request in [format!("restore {dir} 1f1f"), format!("diff {dir} 1f1f")] {
            assert_eq!(scene.broken_by(&request, refused(code)), "", "{request}");
            assert_eq!(
                scene.broken_by(&request, refused(Code::UnknownCheckpoint)),
                "",
                "{request}"
            );
            assert_eq!(scene.broken_by(&request, refused(Code::Io)), "restore/own-checkpoint");
        }
    }
    for code in [Code::ScopeHome, Code::MissingDirectory, Code::NotADirectory] {
        let found = scene.broken_by("restore alpha 9f9f", refused(code));
        assert_eq!(found, "restore/own-checkpoint", "{code}");
    }
    // A deleted project can be restored, so a missing directory is not a reason.
    scene.edit("-/work/alpha");
    let gone = scene.broken_by("restore alpha 9f9f", refused(Code::MissingDirectory));
    assert_eq!(gone, "restore/own-checkpoint");
}

#[test]
fn target_accepts_a_listed_id_of_any_characters() {
    let mut scene = Scene::with("a=1");
    scene.learn_answer("take alpha", taken(CheckpointOutcome::Created { id: "cp001".into() }));
    assert_eq!(diff(&scene, "cp001").entries.len(), 0);
    let malformed: &[Code] = &[Code::UnknownCheckpoint, Code::BadTarget];
    assert_eq!(refusals(&scene.allows("diff alpha cp002")), [(malformed, "restore/bad-target")]);
}

#[test]
fn target_that_is_a_prefix_of_two_ids_is_ambiguous() {
    let mut scene = Scene::with("a=1");
    for (content, id) in [("1", "abcd1"), ("2", "abcd2")] {
        scene.edit(&format!("a={content}"));
        scene.learn_answer("take alpha", taken(CheckpointOutcome::Created { id: id.into() }));
    }
    let refused = refusals(&scene.allows("diff alpha abcd"));
    assert_eq!(refused, [(&[Code::AmbiguousCheckpoint][..], "restore/target")]);
    assert_eq!(diff(&scene, "abcd2").entries.len(), 0);
    assert_eq!(diff(&scene, "abcd1").entries.len(), 1);
}

#[test]
fn compare_judges_a_refusal_by_its_error_code_if_refusal_reasons_is_supported() {
    for (request, answer, rules) in [
        ("diff alpha 9", refused(Code::UnknownCheckpoint), ""),
        ("diff alpha 9", refused(Code::BadTarget), ""),
        ("diff alpha 9", refused(Code::Internal), "restore/bad-target"),
        ("diff alpha 9", refused(Code::Io), "restore/bad-target"),
        ("diff alpha 9f9f", refused(Code::BadTarget), "restore/target"),
        ("diff alpha 9f9f", Answer::Done, "restore/own-checkpoint"),
        ("take none", refused(Code::BadTarget), "restore/target"),
        ("take none", refused(Code::AmbiguousCheckpoint), "restore/target"),
        ("take none", refused(Code::NotADirectory), "scope/no-directory"),
        ("file alpha 9 ..", refused(Code::BadPath), ""),
        ("file alpha 9 ..", refused(Code::Io), "restore/bad-target"),
    ] {
        assert_eq!(scene().broken_by(request, answer.clone()), rules, "{request} {answer:?}");
    }
    let mut silent = scene_without("refusal.reasons");
    // It is refused with or without a fifo.
    silent.edit("special!");
    for (code, rules) in
        [(Code::Io, ""), (Code::Internal, "capture/special restore/own-checkpoint")]
    {
        assert_eq!(silent.broken_by("diff alpha 9f9f", refused(code)), rules);
    }
    let observation = silent.observation("diff alpha 9f9f", Answer::Done);
    assert_eq!(symptoms(&silent.checks(&observation)), ["done, not unknown_checkpoint"]);
}

#[test]
fn list_stable_accepts_an_id_that_was_reported_before() {
    let mut scene = Scene::with("a=1");
    for content in 2..=4 {
        scene.perform("take alpha");
        scene.edit(&format!("a={content}"));
    }
    scene.world.settings.max_snapshots = 2;
    let listed = |ids: [usize; 2]| {
        let entries = [1, 2].map(|number| Listed {
            number,
            id: checkpoint_id(ids[number - 1]),
            time: START,
            reason: "take alpha".into(),
            stats: None,
        });
        scene.broken_by("list alpha", Answer::Listed(entries.to_vec()))
    };
    assert!(listed([2, 1]).starts_with("list/complete"), "{}", listed([2, 1]));
    assert!(!listed([2, 1]).contains("list/stable"));
    assert!(listed([3, 9]).starts_with("list/stable"), "{}", listed([3, 9]));
    assert!(!listed([3, 9]).contains("list/complete"));
}
