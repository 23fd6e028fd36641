//! The stored checkpoints: their refs, content and number, and the layout of the store.

use super::*;
use crate::observation::{Commit, Metadata, StoreLayout};
use crate::store::{End, HISTORIES};
use pretty_assertions::assert_eq;
use std::sync::Arc;

/// The final store of a correct subject.
fn end(world: &World) -> End {
    let mut stored = Histories::default();
    let mut layout = StoreLayout::default();
    for (project, history) in world.histories() {
        let hash = world.hash(project);
        let workdir = world.absolute(project).to_string();
        let listed = world.listed(project);
        let mut parent = String::new();
        for checkpoint in listed {
            let tree = checkpoint.captured.as_ref().map(|captured| captured.tree.clone());
            let commit = Commit {
                tree: Arc::new(tree.unwrap_or_default()),
                canonical: true,
                parent: parent.clone(),
                author: "herma".into(),
                seconds: checkpoint.time.to_string(),
                signed: false,
            };
            stored.commits.insert(checkpoint.id.clone(), commit);
            parent.clone_from(&checkpoint.id);
        }
        stored.refs.insert(format!("{HISTORIES}{hash}"), history.last().unwrap().id.clone());
        let newest_first = listed.iter().rev().map(|checkpoint| checkpoint.id.clone()).collect();
        stored.visible.insert(hash.clone(), newest_first);
        stored.workdirs.insert(hash.clone(), workdir.clone());
        let metadata = Metadata { text: "{}".into(), workdir: Some(workdir), has_times: true };
        layout.metadata.insert(hash, metadata);
        layout.commits += listed.len();
    }
    End { histories: Some(stored), layout: Some(layout), ..End::default() }
}

/// A scene with a checkpoint of `alpha` for each of these files, ten seconds apart, and then one of
/// `beta`; the ids start at 1.
fn scene_of(checkpoints: &[&str]) -> Scene {
    let mut scene = Scene::with("/work/beta/b=b");
    for files in checkpoints {
        scene.replace_files(files);
        scene.perform("take alpha");
        scene.wait(10);
    }
    scene.perform("take beta");
    scene
}

fn scene() -> Scene {
    scene_of(&["a=1", "a=2", "a=3"])
}

/// The hash of the project with this name in `work`.
fn hash(name: &str) -> String {
    crate::world::hash_of(format!("/world/work/{name}").as_bytes())
}

fn reference(name: &str) -> String {
    format!("{HISTORIES}{}", hash(name))
}

/// The rules broken by the final store once it is corrupted.
fn broken_at_end(scene: &Scene, corrupt: impl FnOnce(&mut Histories, &mut StoreLayout)) -> String {
    let mut end = end(&scene.world);
    corrupt(end.histories.as_mut().unwrap(), end.layout.as_mut().unwrap());
    broken_rules(scene.world.compare_end(&end))
}

/// Makes a correct store wrong.
type StoreFault<'a> = &'a dyn Fn(&mut Histories, &mut StoreLayout);

fn compare(scene: &Scene, rows: &[(StoreFault, &str)]) {
    for (index, (corrupt, rules)) in rows.iter().enumerate() {
        assert_eq!(broken_at_end(scene, corrupt), *rules, "{index}");
    }
}

fn commit(stored: &mut Histories, number: usize) -> &mut Commit {
    stored.commits.get_mut(&checkpoint_id(number)).unwrap()
}

fn holds(stored: &mut Histories, number: usize, files: &str) {
    let captured = Scene::with(files).world.capture(b"work/alpha");
    commit(stored, number).tree = Arc::new(captured.tree.clone());
}

#[test]
fn max_snapshots_never_removes_a_pinned_checkpoint_from_the_store() {
    let capabilities = CAPABILITIES.into_iter().chain(["label", "pin"]).collect();
    let mut scene = Scene::with_capabilities(capabilities, "a=1");
    scene.perform("label alpha base");
    scene.world.settings.max_snapshots = 1;
    for files in ["a=2", "a=3"] {
        scene.replace_files(files);
        scene.perform("take alpha");
    }
    let dropping = |numbers: &'static [usize]| {
        broken_at_end(&scene, |stored, _| {
            let visible = stored.visible.get_mut(&hash("alpha")).unwrap();
            visible
                .retain(|listed| !numbers.iter().any(|number| checkpoint_id(*number) == *listed));
        })
    };
    assert_eq!(dropping(&[]), "");
    assert_eq!(dropping(&[1]), "agent/pinned");
}

#[test]
fn store_layout_is_private_self_contained_and_has_metadata_for_each_project() {
    let metadata = |layout: &mut StoreLayout, corrupt: fn(&mut Metadata)| {
        corrupt(layout.metadata.get_mut(&hash("alpha")).unwrap());
    };
    let phantom = |layout: &mut StoreLayout, name: &str| {
        layout.metadata.insert(hash(name), Metadata::default());
    };
    let mut scene = scene();
    scene.edit("/work/other/ /work/unknown/");
    scene.perform("list other");
    compare(
        &scene,
        &[
            (&|_, _| {}, ""),
            (&|_, layout| layout.alternates = true, "isolation/self-contained"),
            (&|_, layout| layout.link = Some("x".into()), "isolation/self-contained"),
            (&|_, layout| layout.open = Some("x".into()), "isolation/private"),
            (&|_, layout| layout.fsck = Some("x".into()), "layout/fsck"),
            (&|_, layout| metadata(layout, |metadata| metadata.workdir = None), "layout/metadata"),
            (
                &|_, layout| metadata(layout, |metadata| metadata.has_times = false),
                "layout/metadata",
            ),
            (
                &|_, layout| metadata(layout, |metadata| metadata.workdir = Some("/x".into())),
                "layout/metadata",
            ),
            (&|_, layout| drop(layout.metadata.remove(&hash("alpha"))), "layout/metadata"),
            (&|_, layout| phantom(layout, "other"), ""),
            (&|_, layout| phantom(layout, "unknown"), "scope/no-directory"),
            (&|_, layout| layout.commits = 99, ""),
        ],
    );
    scene.damage_metadata("work/alpha");
    compare(&scene, &[(&|_, layout| metadata(layout, |metadata| metadata.workdir = None), "")]);
    scene.replace_files("a=3");
    scene.perform("take alpha");
    let healed: StoreFault = &|_, layout| metadata(layout, |metadata| metadata.workdir = None);
    compare(&scene, &[(&|_, _| {}, ""), (healed, "maintenance/heals")]);
}

#[test]
fn max_snapshots_bounds_the_visible_checkpoints_and_the_stored_commits() {
    let more = |stored: &mut Histories, count: usize| {
        let ids = stored.visible.get_mut(&hash("alpha")).unwrap();
        ids.extend((0..count).map(|number| format!("{number}")));
    };
    let mut scene = scene();
    scene.edit("/work/other/");
    scene.perform("list other");
    scene.world.settings.max_snapshots = 2;
    let remain = "limit/newest-remain";
    // Three are visible, and for each of three directories up to the limit may await collection.
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
    careless.perform("take alpha");
    careless.edit("a=2");
    careless.perform("take alpha");
    careless.world.settings.max_snapshots = 1;
    compare(&careless, &[(&|_, layout| layout.commits = 99, "")]);
}

#[test]
fn compare_end_expects_one_ref_per_project_at_its_newest_checkpoint() {
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
        stored.refs.insert(reference(name), checkpoint_id(9));
        stored.workdirs.insert(hash(name), workdir.into());
    };
    let mut scene = scene();
    scene.edit("/work/link>alpha /work/gamma/");
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
            (
                &|stored, _| drop(stored.refs.insert(reference("alpha"), checkpoint_id(2))),
                "layout/store",
            ),
            (
                &|stored, _| drop(stored.refs.insert("x".into(), checkpoint_id(2))),
                "scope/no-directory",
            ),
            (
                &|stored, _| alias(stored, "link", "/world/work/link"),
                "scope/identity scope/no-directory",
            ),
            (&|stored, _| alias(stored, "gamma", "/world/work/gamma"), "scope/no-directory"),
            (&|stored, _| alias(stored, "gamma", "/world/work/./gamma"), "scope/no-directory"),
            (&|stored, _| alias(stored, "x", "/world/work/gamma"), "scope/no-directory"),
            // If there is no ref at all, only that is reported.
            (&|stored, _| empty(stored), "layout/store layout/store"),
            (&|stored, _| unreadable(stored), "layout/store"),
        ],
    );
    assert_eq!(count(&scene.world.compare_end(&end(&scene.world)), "scope/hash"), 2);
    // A former project may have become a link to another project since.
    scene.edit("/work/gamma/c=");
    scene.perform("take gamma");
    scene.edit("/work/gamma>alpha");
    compare(&scene, &[(&|_, _| {}, "")]);
}

#[test]
fn compare_end_reports_the_rule_that_explains_wrong_content() {
    let compare_all = |checkpoints: &[&str], rows: &[(usize, &str, &str)]| {
        for (number, files, rules) in rows {
            let found =
                broken_at_end(&scene_of(checkpoints), |stored, _| holds(stored, *number, files));
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
            // The content of any earlier checkpoint, or no content.
            (3, "a=2", "capture/honest"),
            (3, "a=1", "capture/honest"),
            (3, "", "capture/honest"),
            (1, "", "capture/honest"),
            (1, "a=2", "capture/bytes"),
        ],
    );
    // A rule that explains the content by itself comes before any but the previous checkpoint.
    compare_all(&["a=1", "a=2", "a*=1"], &[(3, "a=1", "capture/executable")]);
    compare_all(&["a=1", "a*=1"], &[(2, "a=1", "capture/honest")]);
    compare_all(&["a=1", "a>b"], &[(2, "", "capture/symlink")]);
    // For a pre-restore checkpoint, the captured content is certain.
    let mut scene = scene_of(&["a=2", "a*=1"]);
    scene.replace_files("a*=2");
    scene.perform("restore alpha 1");
    for (files, rules) in [("a=2", "restore/undo"), ("a=9", "capture/bytes"), ("a*=2", "")] {
        assert_eq!(broken_at_end(&scene, |stored, _| holds(stored, 4, files)), rules, "{files}");
    }
    assert_eq!(count(&scene.world.compare_end(&end(&scene.world)), "restore/undo"), 1);
}

#[test]
fn compare_end_takes_the_symptom_from_the_first_wrong_path() {
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
fn compare_end_accepts_any_content_of_a_checkpoint_that_was_only_listed() {
    let mut scene = scene_of(&["a=1"]);
    let first = checkpoint_id(1);
    let reason = String::new();
    let unseen = |id: String| Listed { number: 1, id, time: 0, reason, stats: None };
    scene.learn_answer("list alpha", Answer::Listed(vec![unseen("ab".into())]));
    let corrupt: StoreFault = &|stored, _| stored.commits.get_mut("ab").unwrap().canonical = false;
    compare(
        &scene,
        &[(corrupt, ""), (&|stored, _| drop(stored.commits.remove("ab")), "layout/store")],
    );
    assert!(scene.world.history(b"work/alpha").iter().all(|checkpoint| checkpoint.id != first));
}

/// Stores a checkpoint under a different id.
fn rename(stored: &mut Histories, number: usize, corrupt: fn(&mut Commit)) {
    let mut commit = stored.commits.remove(&checkpoint_id(number)).unwrap();
    corrupt(&mut commit);
    stored.commits.insert("ab".into(), commit);
}

#[test]
fn compare_end_reports_a_changed_id_or_changed_commit_metadata() {
    let stable = "list/stable";
    let store = "layout/store";
    compare(
        &scene(),
        &[
            (&|stored, _| rename(stored, 2, |_| {}), "list/stable list/stable"),
            (&|stored, _| rename(stored, 2, |commit| commit.seconds.push('0')), store),
            (&|stored, _| rename(stored, 2, |commit| commit.tree = Arc::default()), store),
            (&|stored, _| drop(stored.commits.remove(&checkpoint_id(2))), store),
            // A different id is reported only if all content is right.
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
    // A commit under the reported id of another checkpoint is not a renamed checkpoint.
    let mut scene = Scene::with("a=1 /work/beta/a=1");
    scene.perform("take alpha");
    scene.perform("take beta");
    compare(&scene, &[(&|stored, _| drop(stored.commits.remove(&checkpoint_id(1))), store)]);
    let mut timeless = Scene::without("test.clock", "a=1");
    timeless.perform("take alpha");
    compare(&timeless, &[(&|stored, _| commit(stored, 1).seconds.clear(), "")]);
    let checks = timeless.world.compare_end(&end(&timeless.world));
    assert_eq!(["capture/bytes", "capture/honest"].map(|rule| count(&checks, rule)), [1, 1]);
}

#[test]
fn compare_end_reports_a_cut_history_or_changed_ids() {
    let see = |stored: &mut Histories, ids: &[usize]| {
        let ids = ids.iter().map(|number| checkpoint_id(*number)).collect();
        stored.visible.insert(hash("alpha"), ids);
    };
    let cut = |stored: &mut Histories, ids: &[usize], from: usize| {
        see(stored, ids);
        stored.continued.insert(checkpoint_id(from));
    };
    let remain = "limit/newest-remain";
    let stable = "list/stable";
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
            // An evicted checkpoint is not missing.
            (
                &|stored, _| {
                    (cut(stored, &[3], 3), drop(stored.commits.remove(&checkpoint_id(1)))).0
                },
                remain,
            ),
        ],
    );
}

#[test]
fn compare_end_reports_a_run_program_and_counts_a_hostile_configuration() {
    let scene = Scene::with("");
    let compared = |hostile, ran| scene.world.compare_end(&End { hostile, ran, ..End::default() });
    assert_eq!(broken_rules(compared(false, true)), "isolation/no-signing");
    let hooked = scene.world.compare_end(&End { hostile: true, hooked: true, ..End::default() });
    assert_eq!(broken_rules(hooked), "isolation/user-config");
    let rule = "isolation/user-config";
    assert_eq!([true, false].map(|hostile| count(&compared(hostile, false), rule)), [1, 0]);
}

#[test]
fn compare_judges_the_stored_histories_against_the_world_after_the_answer() {
    let mut scene = scene();
    scene.edit("a=4");
    let mut after = scene.clone();
    after.perform("take alpha");
    let stored = end(&after.world).histories;
    let observation =
        Observation { histories: stored.clone(), ..scene.correct_observation("take alpha") };
    assert_eq!(scene.broken_rules(&observation), "");
    let with = |corrupt: &dyn Fn(&mut Histories)| {
        let mut stored = stored.clone();
        corrupt(stored.as_mut().unwrap());
        Observation { histories: stored, ..observation.clone() }
    };
    let wrong = with(&|stored| holds(stored, 5, "a=9"));
    assert_eq!(scene.broken_rules(&wrong), "capture/bytes");
    assert_eq!(scene.broken_rules(&with(&|stored| rename(stored, 2, |_| {}))), "list/stable");
    let both = with(&|stored| {
        holds(stored, 5, "a=9");
        rename(stored, 2, |_| {});
    });
    assert_eq!(scene.broken_rules(&both), "capture/bytes");
    // If a store size limit may have evicted some, the limit of each project does not apply.
    let short = with(&|stored| {
        stored.visible.insert(hash("alpha"), vec![checkpoint_id(5)]);
        stored.continued.insert(checkpoint_id(5));
    });
    assert_eq!(scene.broken_rules(&short), "limit/newest-remain");
    let short = Observation { contents: Some(Contents::default()), ..short };
    scene.world.settings.max_total_bytes = 0;
    assert_eq!(scene.broken_rules(&short), "");
    // A restore that should have been refused is no evidence of what was captured.
    let report = Restored { safety: Some(checkpoint_id(5)), ..Restored::default() };
    let observation = scene.observation("restore alpha 9", Answer::Restored(report));
    let observation = Observation { histories: wrong.histories.clone(), ..observation };
    assert_eq!(scene.broken_rules(&observation), "restore/bad-target");
}
