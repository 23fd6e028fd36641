//! What is listed and previewed, and which checkpoint a target names.

use super::*;
use crate::allowed::{AllowedDiff, AllowedList};
use crate::answer::Change;
use pretty_assertions::assert_eq;

fn list(scene: &Scene, dir: &str) -> AllowedList {
    match scene.allows(&format!("list {dir}")) {
        Allowed::List(list) => list,
        other => panic!("{other:?}"),
    }
}

fn diff(scene: &Scene, target: &str) -> AllowedDiff {
    match scene.allows(&format!("diff alpha {target}")) {
        Allowed::Diff(diff) => diff,
        other => panic!("{other:?}"),
    }
}

/// A scene with three checkpoints of `alpha`, whose only file has one line more each time, and
/// then one of `beta`; and without these capabilities.
fn scene_without(capabilities: &str) -> Scene {
    let mut scene = Scene::without(capabilities, "/work/beta/b=b");
    for content in ["1;", "1;2;", "1;2;3;"] {
        scene.put(&format!("a={content}"));
        scene.ask("take alpha");
        scene.wait(10);
    }
    scene.ask("take beta");
    scene
}

fn scene() -> Scene {
    scene_without("")
}

#[test]
fn a_project_lists_its_own_checkpoints_newest_first() {
    let mut scene = scene();
    let listed = list(&scene, "alpha");
    let entries = listed.entries.iter();
    let found: Vec<_> = entries.map(|one| (one.id.clone(), one.time, one.stats)).collect();
    let second =
        LineBounds { files: 1, balance: 1, added_min: 1, added_max: 2, ..LineBounds::default() };
    let third = LineBounds { added_max: 3, ..second };
    assert_eq!(
        found,
        [
            (id(3), START + 20, AllowedStats::Within(third)),
            (id(2), START + 10, AllowedStats::Within(second)),
            (id(1), START, AllowedStats::None),
        ]
    );
    assert!(listed.entries.iter().all(|one| one.reason.as_deref() == Some("take alpha")));
    assert!(listed.foreign.iter().eq(&[id(4)]));
    assert!(!listed.deleted && !listed.limited);
    for (limit, count, limited) in [(4, 3, false), (3, 3, false), (2, 2, true), (1, 1, true)] {
        scene.world.settings.max_snapshots = limit;
        let listed = list(&scene, "alpha");
        assert_eq!((listed.entries.len(), listed.limited), (count, limited), "{limit}");
        assert_eq!(listed.entries.last().unwrap().stats, AllowedStats::None);
    }
}

#[test]
fn a_place_without_checkpoints_has_an_empty_list() {
    let mut scene = scene();
    scene.ask("take /world");
    for dir in ["/", "/elsewhere", "none", "~"] {
        let listed = list(&scene, dir);
        assert!(listed.entries.is_empty() && !listed.limited, "{dir}");
        assert_eq!(listed.deleted, dir != "~", "{dir}");
    }
    scene.put("-/work/alpha");
    let listed = list(&scene, "alpha");
    assert_eq!((listed.entries.len(), listed.deleted), (3, true));
}

#[test]
fn only_a_deleted_project_with_checkpoints_must_be_listed() {
    let mut scene = scene();
    let gone = || refused(Code::MissingDirectory);
    assert_eq!(scene.answered("list none", gone()), "");
    assert_eq!(scene.answered("list none", refused(Code::Io)), "scope/no-directory");
    scene.put("/work/empty/");
    assert_eq!(scene.answered("list empty", gone()), "list/complete");
    scene.put("-/work/empty -/work/alpha");
    assert_eq!(scene.answered("list empty", gone()), "");
    assert_eq!(scene.answered("list alpha", gone()), "restore/deleted-project");
}

/// The rules broken by the right list of `alpha` once something is wrong with it, and how.
fn listed(scene: &Scene, spoil: Spoil<Vec<Listed>>) -> String {
    let mut seen = scene.right("list alpha");
    let Answer::Listed(all) = &mut seen.answer else { panic!("no list") };
    spoil(all);
    let checks = scene.checks(&seen);
    let symptoms = symptoms(&checks).join(", ");
    let ids = broken(checks);
    if ids.is_empty() { ids } else { format!("{ids}: {symptoms}") }
}

fn one_more(id: &str) -> Listed {
    let (id, reason) = (id.to_owned(), String::new());
    Listed { number: 4, id, time: 0, reason, stats: None }
}

#[test]
fn a_list_is_wrong_by_the_rule_about_what_is_wrong_with_it() {
    let spoilt: &[(Spoil<Vec<Listed>>, &str)] = &[
        (&|_| {}, ""),
        (&|all| all[0].id = id(4), "list/own-project list/stable: another's checkpoint, other ids"),
        (&|all| drop(all.remove(2)), "list/complete: too few"),
        (&|all| all.push(one_more("ab")), "list/complete: too many"),
        (&|all| all[1].id = "ab".into(), "list/stable: other ids"),
        (&|all| all.swap(0, 1), "list/newest-first: another order"),
        (&|all| all[1].number = 7, "list/newest-first: another order"),
        (&|all| all[0].time += 1, "list/time: time"),
        (&|all| all[0].reason.clear(), "capture/reason: reason"),
        (&|all| all[0].stats = None, "list/stats: no figures"),
        (&|all| all[0].stats.as_mut().unwrap().files = 2, "list/stats: other figures"),
        (&|all| all[0].stats.as_mut().unwrap().added = 2, "list/stats: other figures"),
        (
            &|all| all[2].stats = Some(Stats::default()),
            "list/oldest-no-stats: figures for the oldest",
        ),
    ];
    for (at, (spoil, expected)) in spoilt.iter().enumerate() {
        assert_eq!(listed(&scene(), spoil), *expected, "{at}");
    }
    let mut limited = scene();
    limited.world.settings.max_snapshots = 2;
    let more = |all: &mut Vec<Listed>| all.push(Listed { number: 3, ..one_more(&id(1)) });
    assert_eq!(listed(&limited, &more), "list/at-most list/complete: too many, too many");
    assert_eq!(listed(&limited, &|all| drop(all.pop())), "list/complete: too few");
    let mut deleted = scene();
    deleted.put("-/work/alpha");
    assert_eq!(
        listed(&deleted, &Vec::clear),
        "restore/deleted-project list/complete: too few, too few"
    );
}

#[test]
fn what_cannot_be_said_is_not_asked_for() {
    let lacks = scene_without("test.clock list.reason list.stats");
    let spoil = |all: &mut Vec<Listed>| {
        all[0] = Listed { number: 1, id: all[0].id.clone(), ..one_more("") };
    };
    assert_eq!(listed(&lacks, &spoil), "");
    // Of what nobody saw taken only that it is there is known.
    let mut scene = scene();
    scene.told("list alpha", Answer::Listed(vec![Listed { number: 1, ..one_more("ab") }]));
    scene.put("a=new");
    scene.ask("take alpha");
    assert_eq!(listed(&scene, &|all| all[0].stats = None), "");
    assert_eq!(listed(&scene, &|all| all[1].time = 1), "list/time: time");
}

#[test]
fn a_preview_shows_every_path_that_differs_and_how() {
    let mut scene = Scene::changed("gone=1; other=1; same=1;", "new=1; other=2; same=1;");
    let found = diff(&scene, "1");
    let expected = [("gone", Change::Deleted), ("new", Change::Added), ("other", Change::Modified)];
    assert!(found.entries.into_iter().eq(expected.map(|(path, how)| (path.into(), how))));
    let figures = LineBounds { files: 3, balance: 0, added_min: 2, added_max: 2, moved_max: 1 };
    assert_eq!(found.stats, figures);
    for (limit, may_refuse) in [(3, 0), (2, 1)] {
        scene.world.settings.max_files = limit;
        assert_eq!(diff(&scene, "1").may_refuse.len(), may_refuse, "{limit}");
    }
    // The limit is about checkpoints; a preview may mind it as well.
    assert_eq!(scene.answered("diff alpha 1", refused(Code::TooManyFiles)), "");
    assert_eq!(scene.answered("diff alpha 1", refused(Code::Io)), "scope/too-many-files");
    scene.set("gone=1; other=1; same=1;");
    assert!(diff(&scene, "1").entries.is_empty());
    scene.put("-/work/alpha");
    assert_eq!(diff(&scene, "1").stats.balance, -3);
    scene.put("/work/alpha=");
    let refused = refusals(&scene.allows("diff alpha 1"));
    assert_eq!(refused, [(&[Code::NotADirectory][..], "scope/no-directory")]);
}

#[test]
fn a_preview_is_wrong_by_its_paths_or_its_lines() {
    let spoilt: &[(Spoil<Vec<DiffEntry>>, _, _)] = &[
        (&|entries| entries.reverse(), [3, 2, 2], ""),
        (&|entries| drop(entries.pop()), [3, 2, 2], "diff/preview"),
        (&|entries| entries[0].change = Change::Added, [3, 2, 2], "diff/preview"),
        (&|entries| entries[1].path = "x".into(), [3, 2, 2], "diff/preview"),
        // One of them may count as moved.
        (&|_| {}, [2, 2, 2], ""),
        (&|_| {}, [1, 2, 2], "diff/stats"),
        (&|_| {}, [3, 3, 3], "diff/stats"),
        (&|_| {}, [3, 2, 1], "diff/stats"),
    ];
    for (at, (spoil, [files, added, removed], expected)) in spoilt.iter().enumerate() {
        for lacks in ["", "diff.stats"] {
            let mut scene = Scene::without(lacks, "a=1; b=1;");
            scene.ask("take alpha");
            scene.set("b=2; c=1;");
            let mut seen = scene.right("diff alpha 1");
            let Answer::Diffed { entries, stats } = &mut seen.answer else { panic!("no diff") };
            spoil(entries);
            *stats = Stats { files: *files, added: *added, removed: *removed };
            let expected =
                if *expected == "diff/stats" && !lacks.is_empty() { "" } else { expected };
            assert_eq!(scene.broken(&seen), expected, "{at} {lacks}");
        }
    }
}

#[test]
fn a_preview_that_is_refused_breaks_what_the_reason_is_about() {
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
        scene.ask("take alpha");
        assert_eq!(scene.answered("diff alpha 1", refused(code)), rules, "{files} {code}");
    }
}

#[test]
fn a_target_is_a_number_of_the_list_or_the_beginning_of_one_id_in_it() {
    let mut scene = scene();
    // How many lines a checkpoint lacks says which it is.
    for (target, lacks) in [("1", 0), ("2", 1), ("3", 2), ("1f1f", 2), ("2F2f", 1), (&id(3), 0)] {
        assert_eq!(diff(&scene, target).stats.balance, lacks, "{target}");
    }
    let malformed: &[Code] = &[Code::UnknownCheckpoint, Code::BadTarget];
    let unknown: &[Code] = &[Code::UnknownCheckpoint];
    let (bad, other) = ("restore/bad-target", "restore/own-checkpoint");
    for (asked, refused) in [
        ("diff alpha 0", (malformed, bad)),
        ("diff alpha 4", (malformed, bad)),
        ("diff alpha -1", (malformed, bad)),
        ("diff alpha 9f9f", (unknown, other)),
        ("diff alpha 4f4f", (unknown, other)),
        ("restore alpha 4", (malformed, bad)),
        ("restore beta 1f1f", (unknown, other)),
    ] {
        assert_eq!(refusals(&scene.allows(asked)), [refused], "{asked}");
    }
    scene.world.settings.max_snapshots = 2;
    assert_eq!(refusals(&scene.allows("diff alpha 3")), [(malformed, bad)]);
    assert_eq!(refusals(&scene.allows("diff alpha 1f1f")), [(unknown, other)]);
}

#[test]
fn a_target_may_be_refused_for_its_place_if_no_checkpoint_can_be_taken_there() {
    let mut scene = scene();
    scene.put("/work/file=");
    for (place, code) in [
        ("/", Code::ScopeRoot),
        ("~", Code::ScopeHome),
        ("~/.hermes/checkpoints", Code::ScopeBase),
        ("/elsewhere", Code::MissingDirectory),
        ("none", Code::MissingDirectory),
        ("file", Code::NotADirectory),
    ] {
        for asked in [format!("restore {place} 1f1f"), format!("diff {place} 1f1f")] {
            assert_eq!(scene.answered(&asked, refused(code)), "", "{asked}");
            assert_eq!(scene.answered(&asked, refused(Code::UnknownCheckpoint)), "", "{asked}");
            assert_eq!(scene.answered(&asked, refused(Code::Io)), "restore/own-checkpoint");
        }
    }
    for code in [Code::ScopeHome, Code::MissingDirectory, Code::NotADirectory] {
        let found = scene.answered("restore alpha 9f9f", refused(code));
        assert_eq!(found, "restore/own-checkpoint", "{code}");
    }
    // What was taken of a directory is restored where that is gone, so that it is no reason.
    scene.put("-/work/alpha");
    let gone = scene.answered("restore alpha 9f9f", refused(Code::MissingDirectory));
    assert_eq!(gone, "restore/own-checkpoint");
}

#[test]
fn an_id_that_is_listed_names_its_checkpoint_whatever_its_letters() {
    let mut scene = Scene::with("a=1");
    scene.told("take alpha", taken(CheckpointOutcome::Created { id: "cp001".into() }));
    assert_eq!(diff(&scene, "cp001").entries.len(), 0);
    let malformed: &[Code] = &[Code::UnknownCheckpoint, Code::BadTarget];
    assert_eq!(refusals(&scene.allows("diff alpha cp002")), [(malformed, "restore/bad-target")]);
}

#[test]
fn a_beginning_that_two_ids_share_names_neither() {
    let mut scene = Scene::with("a=1");
    for (content, id) in [("1", "abcd1"), ("2", "abcd2")] {
        scene.put(&format!("a={content}"));
        scene.told("take alpha", taken(CheckpointOutcome::Created { id: id.into() }));
    }
    let refused = refusals(&scene.allows("diff alpha abcd"));
    assert_eq!(refused, [(&[Code::AmbiguousCheckpoint][..], "restore/target")]);
    assert_eq!(diff(&scene, "abcd2").entries.len(), 0);
    assert_eq!(diff(&scene, "abcd1").entries.len(), 1);
}

#[test]
fn a_refusal_is_judged_by_its_reason_where_reasons_are_given() {
    for (asked, answer, rules) in [
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
        assert_eq!(scene().answered(asked, answer.clone()), rules, "{asked} {answer:?}");
    }
    let silent = scene_without("refusal.reasons");
    for (code, rules) in [(Code::Io, ""), (Code::Internal, "restore/own-checkpoint")] {
        assert_eq!(silent.answered("diff alpha 9f9f", refused(code)), rules);
    }
    let seen = silent.seen("diff alpha 9f9f", Answer::Done);
    assert_eq!(symptoms(&silent.checks(&seen)), ["done, not unknown_checkpoint"]);
}

#[test]
fn an_id_that_was_handed_out_before_is_no_other_id() {
    let mut scene = Scene::with("a=1");
    for content in 2..=4 {
        scene.ask("take alpha");
        scene.put(&format!("a={content}"));
    }
    scene.world.settings.max_snapshots = 2;
    let listed = |ids: [usize; 2]| {
        let entries = [1, 2].map(|number| Listed {
            number,
            id: id(ids[number - 1]),
            time: START,
            reason: "take alpha".into(),
            stats: None,
        });
        scene.answered("list alpha", Answer::Listed(entries.to_vec()))
    };
    assert!(listed([2, 1]).starts_with("list/complete"), "{}", listed([2, 1]));
    assert!(!listed([2, 1]).contains("list/stable"));
    assert!(listed([3, 9]).starts_with("list/stable"), "{}", listed([3, 9]));
    assert!(!listed([3, 9]).contains("list/complete"));
}
