//! What the world learns of what was seen, allowed or not.

use super::*;
use pretty_assertions::assert_eq;

/// The ids of a project's checkpoints, oldest first.
fn ids(scene: &Scene, project: &str) -> Vec<String> {
    let all = scene.world.history(format!("work/{project}").as_bytes()).iter();
    all.map(|one| one.id[..2].to_owned()).collect()
}

/// A scene with three checkpoints of `alpha` and one of `beta`.
fn scene() -> Scene {
    let mut scene = Scene::with("/work/beta/b=");
    for content in 1..=3 {
        scene.put(&format!("a={content}"));
        scene.ask("take alpha");
    }
    scene.ask("take beta");
    scene
}

/// A list of the checkpoints with these ids, newest first.
fn listed(ids: &[&str]) -> Answer {
    let one = |id: &&str| {
        let id = if id.ends_with('f') { id.repeat(20) } else { (*id).to_owned() };
        Listed { number: 1, id, time: 7, reason: "seen".into(), stats: None }
    };
    Answer::Listed(ids.iter().map(one).collect())
}

#[test]
fn the_checkpoints_of_a_project_are_those_that_are_listed() {
    for (limit, seen, expected) in [
        (9, &["3f", "2f", "1f"][..], &["1f", "2f", "3f"][..]),
        (9, &["3f", "1f"], &["1f", "3f"]),
        (9, &["3f", "1f", "2f"], &["2f", "1f", "3f"]),
        (9, &["xy", "3f"], &["3f", "xy"]),
        (9, &["3f", "3f"], &["3f", "3f"]),
        (9, &[], &[]),
        // What the limit hides stays there.
        (2, &["3f", "2f"], &["1f", "2f", "3f"]),
        (2, &["3f"], &["1f", "3f"]),
        (2, &["3f", "1f"], &["1f", "3f"]),
        (2, &[], &["1f"]),
    ] {
        let mut scene = scene();
        scene.world.settings.max_snapshots = limit;
        scene.told("list alpha", listed(seen));
        assert_eq!(ids(&scene, "alpha"), expected, "{limit} {seen:?}");
        assert_eq!(ids(&scene, "beta"), ["4f"]);
        assert!(scene.world.histories().all(|(_, all)| !all.is_empty()));
    }
    let mut scene = scene();
    scene.told("list alpha", listed(&["xy", "3f"]));
    let [known, unseen] = scene.world.history(b"work/alpha") else { panic!("two") };
    assert_eq!(known.reason.as_deref(), Some("take alpha"));
    assert_eq!((unseen.reason.as_deref(), unseen.time, unseen.safety), (Some("seen"), 7, false));
    assert!(known.captured.is_some() && unseen.captured.is_none());
    // A list of no place is nobody's.
    scene.told("list /elsewhere", listed(&["ab"]));
    assert_eq!(scene.world.histories().count(), 2);
}

#[test]
fn a_checkpoint_is_learned_wherever_one_is_created() {
    let mut scene = scene();
    scene.ask("ensure beta");
    scene.told("ensure beta", created(5));
    scene.told("take alpha", created(6));
    scene.told("take gone", created(7));
    scene.put("a=4");
    let said = Restored { safety: Some(id(8)), ..Restored::default() };
    scene.told("restore alpha 9", Answer::Restored(said));
    assert_eq!(ids(&scene, "beta"), ["4f", "5f"]);
    assert_eq!(ids(&scene, "alpha"), ["1f", "2f", "3f", "6f", "8f"]);
    assert_eq!(ids(&scene, "gone"), ["7f"]);
    let before = scene.world.history(b"work/alpha").last().unwrap();
    let held = before.captured.as_ref().unwrap().tree[&"a".into()].bytes();
    assert_eq!((&**held, before.safety, &before.reason), (&b"4"[..], true, &None));
    // An answer of another kind says nothing of checkpoints.
    for answer in [Answer::Done, refused(Code::Io)] {
        scene.told("take alpha", answer.clone());
        scene.told("restore alpha 1", answer);
    }
    assert_eq!(ids(&scene, "alpha").len(), 5);
}

#[test]
fn a_turn_is_what_was_done_in_it() {
    let due = |scene: &Scene| match scene.allows("ensure beta") {
        Allowed::Checkpoint(due) => due.rule.id,
        other => panic!("{other:?}"),
    };
    let declined = |scene: &Scene| scene.answered("ensure beta", taken(CheckpointOutcome::Deduped));
    for (answer, rule, broken) in [
        (created(9), "turn/once", ""),
        (taken(CheckpointOutcome::Unchanged), "turn/nothing-uses-slot", ""),
        (taken(CheckpointOutcome::Deduped), "capture/created", "capture/created"),
        (refused(Code::Io), "capture/created", "turn/failure-keeps-slot capture/created"),
        (Answer::Crashed("x".into()), "capture/created", "turn/failure-keeps-slot capture/created"),
    ] {
        let mut scene = Scene::with("/work/beta/b=1");
        scene.told("ensure beta", answer.clone());
        scene.put("/work/beta/b=2");
        assert_eq!((due(&scene), &*declined(&scene)), (rule, broken), "{answer:?}");
        // What is used stays so, whatever fails then.
        scene.told("ensure beta", refused(Code::Io));
        let used = rule.starts_with("turn");
        assert_eq!(due(&scene).starts_with("turn"), used, "{answer:?}");
    }
    let mut scene = Scene::with("/work/beta/b=1");
    scene.world.settings.enabled = false;
    scene.told("ensure beta", refused(Code::Io));
    scene.world.settings.enabled = true;
    assert_eq!(declined(&scene), "capture/created");
}

#[test]
fn what_the_store_holds_of_a_project_is_what_is_left_of_it() {
    let learned = |spoil: &dyn Fn(&Scene, &mut Contents)| {
        let mut scene = scene();
        scene.damage("work/alpha");
        let mut contents = scene.contents();
        spoil(&scene, &mut contents);
        let seen = scene.seen("status", Answer::Done);
        scene.learn(&Observation { contents: Some(contents), ..seen });
        scene
    };
    let keep = |count: usize| {
        learned(&|scene, contents| {
            let ids = contents.visible.get_mut(&scene.world.hash(b"work/alpha")).unwrap();
            ids.resize(count, "ab".into());
        })
    };
    for (count, left) in [(5, 3), (3, 3), (2, 2), (1, 1), (0, 0)] {
        let scene = keep(count);
        assert_eq!(ids(&scene, "alpha"), ["1f", "2f", "3f"][3 - left..], "{count}");
        assert_eq!(ids(&scene, "beta"), ["4f"]);
        assert_eq!(scene.world.damaged().is_empty(), left == 0);
    }
    let gone = learned(&|_, contents| contents.visible.clear());
    assert_eq!(gone.world.histories().count(), 0);
    // What the limit hides is not missed.
    let mut hidden = scene();
    hidden.world.settings.max_snapshots = 2;
    let (contents, seen) = (Some(hidden.contents()), hidden.seen("status", Answer::Done));
    hidden.learn(&Observation { contents, ..seen });
    assert_eq!(ids(&hidden, "alpha"), ["1f", "2f", "3f"]);
    // What is forgotten was never healed, and never used.
    let mut scene = scene();
    scene.damage("work/alpha");
    scene.ask("take alpha");
    let seen = scene.seen("status", Answer::Done);
    scene.learn(&Observation { contents: Some(Contents::default()), ..seen });
    assert!(scene.world.healed().is_empty() && scene.world.maintenance.uses.is_empty());
}

#[test]
fn what_stands_in_the_base_is_what_is_left_of_it() {
    let mut scene = scene();
    for name in ["a", "b", "c"] {
        scene.repository(name, "work/alpha", false);
    }
    scene.archive("legacy-1");
    scene.world.edit_store(&StoreEdit::Stray { name: "notes".into() }, true);
    scene.ask("sweep");
    scene.ask("prune 0 0");
    scene.wait(5);
    let mut learn = |spoil: &dyn Fn(&mut Base)| {
        let mut base = scene.base();
        spoil(&mut base);
        let seen = scene.seen("status", Answer::Done);
        scene.learn(&Observation { base: Some(base), ..seen });
        let world = &scene.world;
        let archives =
            world.archives().iter().map(|(name, made)| format!("{name} {}", made - START));
        let repositories = world
            .repositories()
            .iter()
            .map(|(name, one)| format!("{name} {}", one.archive.as_deref().unwrap_or_default()));
        let strays = world.strays().iter().cloned();
        let all = repositories.chain(archives).chain(strays).collect::<Vec<_>>().join(", ");
        let due = match scene.allows("sweep") {
            Allowed::Sweep(due) => (due.may_run, due.may_decline),
            other => panic!("{other:?}"),
        };
        (all, due, world.histories().count())
    };
    let place = |archive: Option<&str>, whole| Place { archive: archive.map(str::to_owned), whole };
    let before = "a , b , c , legacy-1 0, notes";
    assert_eq!(learn(&|_| {}), (before.into(), (false, true), 2));
    // One that is whole is the one that counts.
    let moved = "a legacy-2, b legacy-1, c , legacy-1 0, legacy-2 5, notes";
    let found = learn(&|base| {
        base.archives.insert("legacy-2".into());
        let places = vec![place(None, false), place(Some("legacy-2"), true)];
        base.repositories.insert("a".into(), places);
        base.repositories.insert("b".into(), vec![place(Some("legacy-1"), false)]);
    });
    assert_eq!(found.0, moved);
    // It says nothing of an archive that is seen for the first time without anything moved to it.
    let gone = learn(&|base| {
        base.archives = ["legacy-2".into(), "legacy-3".into()].into();
        base.strays.clear();
        base.repositories.remove("b");
        base.repositories.insert("c".into(), vec![]);
        base.marker = false;
    });
    assert_eq!(gone, ("a legacy-2, legacy-2 5".into(), (true, false), 2));
    let all_gone = learn(&|base| *base = Base::default());
    assert_eq!(all_gone, (String::new(), (true, false), 2), "nobody cleared it");
}

#[test]
fn a_directory_is_known_once_something_was_asked_about_it() {
    let mut scene = Scene::with("/work/file=");
    for asked in ["list alpha", "list none", "list file", "list /elsewhere", "project beta/x"] {
        scene.ask(asked);
    }
    assert_eq!(texts(scene.world.known_directories()), ["work/alpha"]);
}

#[test]
fn the_world_learns_what_time_it_is_and_which_files_are_there() {
    let mut scene = Scene::with("a=1");
    assert_eq!(scene.world.seconds(), START);
    scene.ask("clock 5");
    assert_eq!(scene.world.seconds(), 5);
    let mut then = scene.clone();
    then.put("a=2 b=");
    let seen = Observation { files: then.world.files.clone(), ..scene.right("list alpha") };
    scene.learn(&seen);
    assert_eq!(scene.world.files, then.world.files);
}

#[test]
fn whatever_was_seen_the_world_can_be_asked_on() {
    let requests = [
        "turn",
        "reopen",
        "clock -1",
        "project a",
        "ensure alpha",
        "take alpha",
        "take link",
        "list alpha",
        "list /",
        "diff alpha 1",
        "restore alpha 1 exact",
        "restore none 1 force",
        "file alpha 2 a",
        "sweep",
        "prune 1 1 orphans",
        "status",
        "legacy",
        "clear",
    ];
    let mut scene = scene();
    scene.put("/work/link>alpha b?=");
    scene.archive("legacy-1");
    scene.repository("old", "work/alpha", false);
    let said = Restored { safety: Some(id(9)), restored: vec!["x".into()], ..Restored::default() };
    let answers = [
        Answer::Done,
        Answer::Project(None),
        created(9),
        taken(CheckpointOutcome::Unchanged),
        listed(&["xy", "9f", "9f"]),
        Answer::Diffed { entries: vec![], stats: Stats::default() },
        Answer::Restored(said),
        swept(SweepOutcome::Done, Counts::default()),
        Answer::Status { projects: vec![], archives: vec!["x".into()] },
        refused(Code::Internal),
        Answer::Crashed("silent".into()),
    ];
    for asked in requests {
        for answer in &answers {
            for files in ["", "-/work/alpha", "/work="] {
                let mut then = scene.clone();
                then.put(files);
                let seen = Observation {
                    files: then.world.files.clone(),
                    contents: Some(Contents::default()),
                    base: Some(Base::default()),
                    histories: Some(Histories::default()),
                    ..scene.seen(asked, answer.clone())
                };
                scene.checks(&seen);
                let mut then = scene.clone();
                then.learn(&seen);
                for next in ["ensure alpha", "list alpha", "restore alpha 1", "sweep", "status"] {
                    then.ask(next);
                }
            }
        }
    }
}

#[test]
fn no_clock_is_too_far_off_and_no_number_too_large() {
    let mut scene = scene();
    for seconds in [i64::MAX, i64::MIN, i64::MAX] {
        for asked in [&format!("clock {seconds}"), "take alpha", "sweep", "prune 1 0 orphans"] {
            scene.ask(asked);
        }
        scene.put(&format!("a={seconds}"));
    }
    assert_eq!(scene.world.seconds(), i64::MAX);
    for number in [usize::MAX, usize::MAX / 2 + 1] {
        let stats = Stats { files: 1, added: number, removed: 1 };
        let entries = vec![DiffEntry { path: "a".into(), change: crate::answer::Change::Modified }];
        let diffed = scene.answered("diff alpha 1", Answer::Diffed { entries, stats });
        assert_eq!(diffed, "diff/stats");
        let bytes_freed = number as u64;
        let (scanned, orphans, stale) = (number, number, number);
        let counts = Counts { scanned, orphans, stale, errors: 0, bytes_freed };
        let seen = scene.seen("prune 0 0", swept(SweepOutcome::Done, counts));
        let (contents, base) = (Some(scene.contents()), Some(scene.base()));
        assert_eq!(scene.broken(&Observation { contents, base, ..seen }), "sweep/counts");
    }
}
