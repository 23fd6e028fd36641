//! What is stored as checkpoints: under which name, with which content, how much of it, and how the
//! store is laid out.

use super::*;
use crate::observation::{Commit, Metadata, StoreLayout};
use crate::store::{End, HISTORIES};
use pretty_assertions::assert_eq;
use std::sync::Arc;

/// What is left of a subject that did everything right.
fn end(world: &World) -> End {
    let (mut stored, mut layout) = (Histories::default(), StoreLayout::default());
    for (project, all) in world.histories() {
        let (hash, workdir) = (world.hash(project), world.absolute(project).to_string());
        let listed = world.listed(project);
        let mut parent = String::new();
        for one in listed {
            let held = one.captured.as_ref().map(|held| held.tree.clone()).unwrap_or_default();
            let commit = Commit {
                tree: Arc::new(held),
                canonical: true,
                parent: parent.clone(),
                author: "herma".into(),
                seconds: one.time.to_string(),
                signed: false,
            };
            stored.commits.insert(one.id.clone(), commit);
            parent.clone_from(&one.id);
        }
        stored.refs.insert(format!("{HISTORIES}{hash}"), all.last().unwrap().id.clone());
        let newest_first = listed.iter().rev().map(|one| one.id.clone()).collect();
        stored.visible.insert(hash.clone(), newest_first);
        stored.workdirs.insert(hash.clone(), workdir.clone());
        let noted = Metadata { text: "{}".into(), workdir: Some(workdir), has_times: true };
        layout.metadata.insert(hash, noted);
        layout.commits += listed.len();
    }
    End { histories: Some(stored), layout: Some(layout), ..End::default() }
}

/// A scene with a checkpoint of `alpha` for each of these, ten seconds apart, and then one of
/// `beta`; those have the ids from 1.
fn scene_of(all: &[&str]) -> Scene {
    let mut scene = Scene::with("/work/beta/b=b");
    for files in all {
        scene.set(files);
        scene.ask("take alpha");
        scene.wait(10);
    }
    scene.ask("take beta");
    scene
}

fn scene() -> Scene {
    scene_of(&["a=1", "a=2", "a=3"])
}

/// The hash of the project of that name in `work`.
fn hash(name: &str) -> String {
    crate::world::hash_of(format!("/world/work/{name}").as_bytes())
}

fn reference(name: &str) -> String {
    format!("{HISTORIES}{}", hash(name))
}

/// The rules that are broken by what is left, once this is wrong with it.
fn ended(scene: &Scene, spoil: impl FnOnce(&mut Histories, &mut StoreLayout)) -> String {
    let mut end = end(&scene.world);
    spoil(end.histories.as_mut().unwrap(), end.layout.as_mut().unwrap());
    broken(scene.world.compare_end(&end))
}

type Spoil<'a> = &'a dyn Fn(&mut Histories, &mut StoreLayout);

fn compare(scene: &Scene, rows: &[(Spoil, &str)]) {
    for (at, (spoil, rules)) in rows.iter().enumerate() {
        assert_eq!(ended(scene, spoil), *rules, "{at}");
    }
}

fn commit(stored: &mut Histories, number: usize) -> &mut Commit {
    stored.commits.get_mut(&id(number)).unwrap()
}

fn holds(stored: &mut Histories, number: usize, files: &str) {
    commit(stored, number).tree = Arc::new(Scene::with(files).world.capture(b"work/alpha").tree);
}

#[test]
fn a_pinned_checkpoint_is_stored_whatever_the_limit() {
    let has = CAPABILITIES.into_iter().chain(["label", "pin"]).collect();
    let mut scene = Scene::able(has, "a=1");
    scene.ask("label alpha base");
    scene.world.settings.max_snapshots = 1;
    for files in ["a=2", "a=3"] {
        scene.set(files);
        scene.ask("take alpha");
    }
    let dropping = |numbers: &'static [usize]| {
        ended(&scene, |stored, _| {
            let visible = stored.visible.get_mut(&hash("alpha")).unwrap();
            visible.retain(|known| !numbers.iter().any(|number| id(*number) == *known));
        })
    };
    assert_eq!(dropping(&[]), "");
    assert_eq!(dropping(&[1]), "agent/pinned");
}

#[test]
fn a_store_is_laid_out_for_its_owner_alone_and_says_what_it_keeps() {
    let metadata = |layout: &mut StoreLayout, spoil: fn(&mut Metadata)| {
        spoil(layout.metadata.get_mut(&hash("alpha")).unwrap());
    };
    let phantom = |layout: &mut StoreLayout, name: &str| {
        layout.metadata.insert(hash(name), Metadata::default());
    };
    let mut scene = scene();
    scene.put("/work/other/ /work/unknown/");
    scene.ask("list other");
    compare(
        &scene,
        &[
            (&|_, _| {}, ""),
            (&|_, layout| layout.alternates = true, "isolation/self-contained"),
            (&|_, layout| layout.link = Some("x".into()), "isolation/self-contained"),
            (&|_, layout| layout.open = Some("x".into()), "isolation/private"),
            (&|_, layout| layout.fsck = Some("x".into()), "layout/fsck"),
            (&|_, layout| metadata(layout, |one| one.workdir = None), "layout/metadata"),
            (&|_, layout| metadata(layout, |one| one.has_times = false), "layout/metadata"),
            (
                &|_, layout| metadata(layout, |one| one.workdir = Some("/x".into())),
                "layout/metadata",
            ),
            (&|_, layout| drop(layout.metadata.remove(&hash("alpha"))), "layout/metadata"),
            (&|_, layout| phantom(layout, "other"), ""),
            (&|_, layout| phantom(layout, "unknown"), "scope/no-directory"),
            (&|_, layout| layout.commits = 99, ""),
        ],
    );
    scene.damage("work/alpha");
    compare(&scene, &[(&|_, layout| metadata(layout, |one| one.workdir = None), "")]);
    scene.set("a=3");
    scene.ask("take alpha");
    let healed: Spoil = &|_, layout| metadata(layout, |one| one.workdir = None);
    compare(&scene, &[(&|_, _| {}, ""), (healed, "maintenance/heals")]);
}

#[test]
fn what_the_limit_drops_is_out_of_sight_and_most_of_it_out_of_the_store() {
    let more = |stored: &mut Histories, count: usize| {
        let ids = stored.visible.get_mut(&hash("alpha")).unwrap();
        ids.extend((0..count).map(|number| format!("{number}")));
    };
    let mut scene = scene();
    scene.put("/work/other/");
    scene.ask("list other");
    scene.world.settings.max_snapshots = 2;
    let remain = "limit/newest-remain";
    // Three are seen, and for each of three directories as many as the limit may wait.
    compare(
        &scene,
        &[
            (&|_, layout| layout.commits = 9, ""),
            (&|_, layout| layout.commits = 10, remain),
            (&|_, layout| layout.commits = 0, ""),
            (&|stored, _| more(stored, 1), remain),
        ],
    );
    scene.world.settings.max_snapshots = 3;
    compare(&scene, &[(&|stored, _| more(stored, 1), "")]);
    let mut careless = Scene::without("settings.max_snapshots", "a=1");
    careless.ask("take alpha");
    careless.put("a=2");
    careless.ask("take alpha");
    careless.world.settings.max_snapshots = 1;
    compare(&careless, &[(&|_, layout| layout.commits = 99, "")]);
}

#[test]
fn each_project_has_one_ref_of_its_own_name_at_its_newest_checkpoint() {
    let rename = |stored: &mut Histories, to: String| {
        let tip = stored.refs.remove(&reference("alpha")).unwrap();
        stored.refs.insert(to, tip);
    };
    let unreadable = |stored: &mut Histories| {
        stored.unreadable = Some("x".into());
        holds(stored, 3, "a=9");
    };
    let empty = |stored: &mut Histories| {
        stored.refs.clear();
        holds(stored, 3, "a=9");
    };
    let alias = |stored: &mut Histories, name: &str, workdir: &str| {
        stored.refs.insert(reference(name), id(9));
        stored.workdirs.insert(hash(name), workdir.into());
    };
    let mut scene = scene();
    scene.put("/work/link>alpha /work/gamma/");
    compare(
        &scene,
        &[
            (
                &|stored, _| rename(stored, format!("{HISTORIES}x")),
                "scope/hash layout/store scope/no-directory",
            ),
            (
                &|stored, _| rename(stored, "refs/heads/x".into()),
                "layout/store layout/store scope/no-directory",
            ),
            (&|stored, _| drop(stored.refs.remove(&reference("alpha"))), "layout/store"),
            (&|stored, _| drop(stored.refs.insert(reference("alpha"), id(2))), "layout/store"),
            (&|stored, _| drop(stored.refs.insert("x".into(), id(2))), "scope/no-directory"),
            (
                &|stored, _| alias(stored, "link", "/world/work/link"),
                "scope/identity scope/no-directory",
            ),
            (&|stored, _| alias(stored, "gamma", "/world/work/gamma"), "scope/no-directory"),
            (&|stored, _| alias(stored, "gamma", "/world/work/./gamma"), "scope/no-directory"),
            (&|stored, _| alias(stored, "x", "/world/work/gamma"), "scope/no-directory"),
            // Where there is nothing at all, only that is said.
            (&|stored, _| empty(stored), "layout/store layout/store"),
            (&|stored, _| unreadable(stored), "layout/store"),
        ],
    );
    assert_eq!(count(&scene.world.compare_end(&end(&scene.world)), "scope/hash"), 2);
    // What was a project of its own may have become a link to another one since.
    scene.put("/work/gamma/c=");
    scene.ask("take gamma");
    scene.put("/work/gamma>alpha");
    compare(&scene, &[(&|_, _| {}, "")]);
}

#[test]
fn a_checkpoint_holds_what_was_captured_or_a_rule_says_why_not() {
    let compare_all = |all: &[&str], rows: &[(usize, &str, &str)]| {
        for (number, files, rules) in rows {
            let found = ended(&scene_of(all), |stored, _| holds(stored, *number, files));
            assert_eq!(found, *rules, "{number}: {files}");
        }
    };
    compare_all(
        &["a=1", "a=2", "a=3"],
        &[
            (3, "a=3", ""),
            (3, "a=9", "capture/bytes"),
            (3, "a*=3", "capture/executable"),
            (3, "a=3 b=", "capture/gitignore"),
            // What it held before, at any time before, or nothing.
            (3, "a=2", "capture/honest"),
            (3, "a=1", "capture/honest"),
            (3, "", "capture/honest"),
            (1, "", "capture/honest"),
            (1, "a=2", "capture/bytes"),
        ],
    );
    // What explains it by itself is no other time, but of the one before.
    compare_all(&["a=1", "a=2", "a*=1"], &[(3, "a=1", "capture/executable")]);
    compare_all(&["a=1", "a*=1"], &[(2, "a=1", "capture/honest")]);
    compare_all(&["a=1", "a>b"], &[(2, "", "capture/symlink")]);
    // Before a restore there is no doubt about what was read.
    let mut scene = scene_of(&["a=2", "a*=1"]);
    scene.set("a*=2");
    scene.ask("restore alpha 1");
    for (files, rules) in [("a=2", "restore/undo"), ("a=9", "capture/bytes"), ("a*=2", "")] {
        assert_eq!(ended(&scene, |stored, _| holds(stored, 4, files)), rules, "{files}");
    }
    assert_eq!(count(&scene.world.compare_end(&end(&scene.world)), "restore/undo"), 1);
}

#[test]
fn what_is_wrong_with_a_checkpoint_is_told_by_its_first_path() {
    for (captured, stored, symptom) in [
        ("a=1", "a=1 b=", "captured, not left out"),
        ("a=1 b=1", "a=1", "left out, not captured"),
        ("a=1 b=1", "a=1 0=", "left out, not captured"),
        ("a=1", "a*=1", "another mode"),
        ("a=1", "a=2", "other bytes"),
        ("a=1", "a>1", "another mode"),
        ("a>1", "a>2", "other bytes"),
    ] {
        let scene = scene_of(&[captured]);
        let mut end = end(&scene.world);
        holds(end.histories.as_mut().unwrap(), 1, stored);
        assert_eq!(symptoms(&scene.world.compare_end(&end))[..1], [symptom], "{stored}");
    }
}

#[test]
fn a_checkpoint_that_nobody_saw_taken_may_hold_anything() {
    let mut scene = scene_of(&["a=1"]);
    let (id, reason) = (id(1), String::new());
    let unseen = |id: String| Listed { number: 1, id, time: 0, reason, stats: None };
    scene.told("list alpha", Answer::Listed(vec![unseen("ab".into())]));
    let spoil: Spoil = &|stored, _| stored.commits.get_mut("ab").unwrap().canonical = false;
    compare(
        &scene,
        &[(spoil, ""), (&|stored, _| drop(stored.commits.remove("ab")), "layout/store")],
    );
    assert!(scene.world.history(b"work/alpha").iter().all(|one| one.id != id));
}

/// Stores a checkpoint under another id.
fn rename(stored: &mut Histories, number: usize, spoil: fn(&mut Commit)) {
    let mut commit = stored.commits.remove(&id(number)).unwrap();
    spoil(&mut commit);
    stored.commits.insert("ab".into(), commit);
}

#[test]
fn a_checkpoint_keeps_its_id_and_what_is_noted_with_it() {
    let (stable, store) = ("list/stable", "layout/store");
    compare(
        &scene(),
        &[
            (&|stored, _| rename(stored, 2, |_| {}), "list/stable list/stable"),
            (&|stored, _| rename(stored, 2, |one| one.seconds.push('0')), store),
            (&|stored, _| rename(stored, 2, |one| one.tree = Arc::default()), store),
            (&|stored, _| drop(stored.commits.remove(&id(2))), store),
            // Only where all content is right may another id be what is wrong.
            (
                &|stored, _| (rename(stored, 2, |_| {}), holds(stored, 3, "a=9")).0,
                "capture/bytes list/stable",
            ),
            (&|stored, _| commit(stored, 2).canonical = false, "layout/fsck"),
            (
                &|stored, _| (commit(stored, 2).canonical = false, holds(stored, 2, "a=9")).0,
                "capture/bytes",
            ),
            (&|stored, _| commit(stored, 2).parent.clear(), stable),
            (&|stored, _| commit(stored, 1).parent.push('x'), ""),
            (&|stored, _| commit(stored, 2).seconds.clear(), "list/time"),
            (
                &|stored, _| commit(stored, 2).author = "Hostile User".into(),
                "isolation/user-config",
            ),
            (&|stored, _| commit(stored, 2).signed = true, "isolation/no-signing"),
        ],
    );
    // One that stands under the id of another that was told is no other name.
    let mut scene = Scene::with("a=1 /work/beta/a=1");
    scene.ask("take alpha");
    scene.ask("take beta");
    compare(&scene, &[(&|stored, _| drop(stored.commits.remove(&id(1))), store)]);
    let mut timeless = Scene::without("test.clock", "a=1");
    timeless.ask("take alpha");
    compare(&timeless, &[(&|stored, _| commit(stored, 1).seconds.clear(), "")]);
    let checks = timeless.world.compare_end(&end(&timeless.world));
    assert_eq!(["capture/bytes", "capture/honest"].map(|rule| count(&checks, rule)), [1, 1]);
}

#[test]
fn a_history_is_whole_and_its_ids_are_the_same() {
    let see = |stored: &mut Histories, ids: &[usize]| {
        let ids = ids.iter().map(|number| id(*number)).collect();
        stored.visible.insert(hash("alpha"), ids);
    };
    let cut = |stored: &mut Histories, ids: &[usize], from: usize| {
        see(stored, ids);
        stored.continued.insert(id(from));
    };
    let (remain, stable) = ("limit/newest-remain", "list/stable");
    compare(
        &scene(),
        &[
            (&|stored, _| cut(stored, &[3, 2, 1], 1), ""),
            (&|stored, _| cut(stored, &[3, 2], 2), remain),
            (&|stored, _| see(stored, &[3, 2]), ""),
            (&|stored, _| cut(stored, &[3, 9], 9), ""),
            (&|stored, _| see(stored, &[3, 9, 1]), stable),
            (&|stored, _| see(stored, &[9, 2, 1]), ""),
            (&|stored, _| see(stored, &[3, 9]), ""),
            (&|stored, _| see(stored, &[]), ""),
            // What was dropped is not missed.
            (&|stored, _| (cut(stored, &[3], 3), drop(stored.commits.remove(&id(1)))).0, remain),
        ],
    );
}

#[test]
fn no_program_is_run_and_a_hostile_configuration_is_a_test() {
    let scene = Scene::with("");
    let compared = |hostile, ran| scene.world.compare_end(&End { hostile, ran, ..End::default() });
    assert_eq!(broken(compared(false, true)), "isolation/no-signing");
    let hooked = scene.world.compare_end(&End { hostile: true, hooked: true, ..End::default() });
    assert_eq!(broken(hooked), "isolation/user-config");
    let rule = "isolation/user-config";
    assert_eq!([true, false].map(|hostile| count(&compared(hostile, false), rule)), [1, 0]);
}

#[test]
fn what_is_stored_is_held_against_what_is_known_once_the_answer_is() {
    let mut scene = scene();
    scene.put("a=4");
    let mut then = scene.clone();
    then.ask("take alpha");
    let stored = end(&then.world).histories;
    let seen = Observation { histories: stored.clone(), ..scene.right("take alpha") };
    assert_eq!(scene.broken(&seen), "");
    let with = |spoil: &dyn Fn(&mut Histories)| {
        let mut stored = stored.clone();
        spoil(stored.as_mut().unwrap());
        Observation { histories: stored, ..seen.clone() }
    };
    let wrong = with(&|stored| holds(stored, 5, "a=9"));
    assert_eq!(scene.broken(&wrong), "capture/bytes");
    assert_eq!(scene.broken(&with(&|stored| rename(stored, 2, |_| {}))), "list/stable");
    let both = with(&|stored| {
        holds(stored, 5, "a=9");
        rename(stored, 2, |_| {});
    });
    assert_eq!(scene.broken(&both), "capture/bytes");
    // Where a bound on the size may have dropped some, the limit of each project says nothing.
    let short = with(&|stored| {
        stored.visible.insert(hash("alpha"), vec![id(5)]);
        stored.continued.insert(id(5));
    });
    assert_eq!(scene.broken(&short), "limit/newest-remain");
    let short = Observation { contents: Some(Contents::default()), ..short };
    scene.world.settings.max_total_bytes = 0;
    assert_eq!(scene.broken(&short), "");
    // What was restored although that must be refused says nothing of what was captured.
    let said = Restored { safety: Some(id(5)), ..Restored::default() };
    let seen = scene.seen("restore alpha 9", Answer::Restored(said));
    let seen = Observation { histories: wrong.histories.clone(), ..seen };
    assert_eq!(scene.broken(&seen), "restore/bad-target");
}
