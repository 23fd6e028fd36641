//! What is listed and previewed, and which checkpoint a target names.

use super::*;
use crate::answer::Change as Difference;
use crate::expected::{ExpectedDiff, ExpectedList};
use crate::lines::LineBounds;
use pretty_assertions::assert_eq;

fn list(scene: &mut Scene, dir: &str) -> ExpectedList {
    match scene.world.step(&Request::List { dir: dir.into() }) {
        Expected::List(list) => list,
        other => panic!("{other:?}"),
    }
}

fn diff(scene: &mut Scene, dir: &str, target: &str) -> Expected {
    scene.world.step(&Request::Diff { dir: dir.into(), target: target.into() })
}

fn differs(scene: &mut Scene, dir: &str, target: &str) -> ExpectedDiff {
    match diff(scene, dir, target) {
        Expected::Diff(diff) => diff,
        other => panic!("{other:?}"),
    }
}

/// A scene with three checkpoints of `alpha`, whose only file has one line more each time, and
/// then one of `beta`.
fn scene() -> Scene {
    let mut scene = Scene::new();
    for number in 1..=3 {
        scene.write("work/alpha/a", &"line\n".repeat(number));
        scene.take("alpha");
        scene.wait(10);
    }
    scene.write("work/beta/b", "b");
    scene.take("beta");
    scene
}

#[test]
fn a_project_lists_its_own_checkpoints_newest_first() {
    let mut scene = scene();
    let listed = list(&mut scene, "alpha");
    let ids: Vec<_> = listed.entries.iter().map(|one| one.id.clone().unwrap()).collect();
    assert_eq!(ids, [id(3), id(2), id(1)]);
    let times: Vec<_> = listed.entries.iter().map(|one| one.time).collect();
    assert_eq!(times, [START + 20, START + 10, START]);
    let one_line = LineBounds { files: 1, balance: 1, added_min: 1, added_max: 3 };
    let stats: Vec<_> = listed.entries.iter().map(|one| one.stats).collect();
    assert_eq!(stats, [Some(one_line), Some(LineBounds { added_max: 2, ..one_line }), None]);
    assert!(listed.entries.iter().all(|one| one.reason.as_deref() == Some("of alpha")));
    assert!(listed.foreign.iter().eq(&[id(4)]));
    assert!(!listed.deleted && !listed.limited);
}

#[test]
fn no_more_is_listed_than_the_limit_says() {
    let mut scene = scene();
    for (limit, count, limited) in [(4, 3, false), (3, 3, false), (2, 2, true), (1, 1, true)] {
        scene.world.settings.max_snapshots = limit;
        let listed = list(&mut scene, "alpha");
        assert_eq!((listed.entries.len(), listed.limited), (count, limited), "{limit}");
        assert_eq!(listed.entries.last().unwrap().stats, None);
    }
}

#[test]
fn a_place_without_checkpoints_has_an_empty_list() {
    let mut scene = scene();
    scene.take("/world");
    for dir in ["/", "/elsewhere", "none", "~"] {
        let listed = list(&mut scene, dir);
        assert!(listed.entries.is_empty() && !listed.limited, "{dir}");
        assert_eq!(listed.deleted, dir != "~", "{dir}");
    }
    scene.remove("work/alpha");
    let listed = list(&mut scene, "alpha");
    assert_eq!((listed.entries.len(), listed.deleted), (3, true));
}

#[test]
fn a_preview_shows_every_path_that_differs_and_how() {
    let mut scene = Scene::new();
    for name in ["gone", "new-content", "same"] {
        scene.write(&format!("work/alpha/{name}"), "1\n");
    }
    scene.take("alpha");
    assert!(differs(&mut scene, "alpha", "1").entries.is_empty());
    scene.remove("work/alpha/gone");
    scene.write("work/alpha/new", "1\n");
    scene.write("work/alpha/new-content", "2\n");
    let found = differs(&mut scene, "alpha", "1");
    let expected = [
        ("gone", Difference::Deleted),
        ("new", Difference::Added),
        ("new-content", Difference::Modified),
    ];
    assert!(found.entries.into_iter().eq(expected.map(|(path, how)| (path.into(), how))));
    assert_eq!(found.stats, LineBounds { files: 3, balance: 0, added_min: 2, added_max: 2 });
    for (limit, may_refuse) in [(3, 0), (2, 1)] {
        scene.world.settings.max_files = limit;
        assert_eq!(differs(&mut scene, "alpha", "1").may_refuse.len(), may_refuse, "{limit}");
    }
    scene.remove("work/alpha");
    assert_eq!(differs(&mut scene, "alpha", "1").stats.balance, -3);
    scene.write("work/alpha", "no directory");
    let refused = refusals(&diff(&mut scene, "alpha", "1"));
    assert_eq!(refused, [(&[Code::NotADirectory][..], "scope/no-directory")]);
}

#[test]
fn a_target_is_a_number_of_the_list_or_the_beginning_of_one_id_in_it() {
    let mut scene = scene();
    // How many lines a checkpoint lacks says which it is.
    for (target, lacks) in [("1", 0), ("2", 1), ("3", 2), ("1f1f", 2), ("2F2f", 1), (&id(3), 0)] {
        assert_eq!(differs(&mut scene, "alpha", target).stats.balance, lacks, "{target}");
    }
    let malformed: &[Code] = &[Code::UnknownCheckpoint, Code::BadTarget];
    let unknown: &[Code] = &[Code::UnknownCheckpoint];
    let (bad, other) = ("restore/bad-target", "restore/own-checkpoint");
    for (dir, target, refused) in [
        ("alpha", "0", (malformed, bad)),
        ("alpha", "4", (malformed, bad)),
        ("alpha", "-1", (malformed, bad)),
        ("alpha", "9f9f", (unknown, other)),
        ("alpha", "4f4f", (unknown, other)),
        ("/elsewhere", "1f1f", (unknown, other)),
        ("/", "1", (malformed, bad)),
    ] {
        assert_eq!(refusals(&diff(&mut scene, dir, target)), [refused], "{dir} {target}");
    }
    scene.world.settings.max_snapshots = 2;
    assert_eq!(refusals(&diff(&mut scene, "alpha", "3")), [(malformed, bad)]);
    assert_eq!(refusals(&diff(&mut scene, "alpha", "1f1f")), [(unknown, other)]);
}

#[test]
fn a_beginning_that_two_ids_share_names_neither() {
    let mut scene = Scene::new();
    for (content, id) in [("1", "abcd1"), ("2", "abcd2")] {
        scene.write("work/alpha/a", content);
        scene.take("alpha");
        scene.world.learn_id(&"work/alpha".into(), id);
    }
    let refused = refusals(&diff(&mut scene, "alpha", "abcd"));
    assert_eq!(refused, [(&[Code::AmbiguousCheckpoint][..], "restore/target")]);
    assert_eq!(differs(&mut scene, "alpha", "abcd2").entries.len(), 0);
    assert_eq!(differs(&mut scene, "alpha", "abcd1").entries.len(), 1);
}
