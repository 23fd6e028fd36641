//! What the world learns from an observation, whether or not it is allowed.

use super::*;
use pretty_assertions::assert_eq;

/// The ids of a project's checkpoints, oldest first.
fn ids(scene: &Scene, project: &str) -> Vec<String> {
    let history = scene.world.history(format!("work/{project}").as_bytes()).iter();
    history.map(|checkpoint| checkpoint.id[..2].to_owned()).collect()
}

/// A scene with three checkpoints of `alpha` and one of `beta`.
fn scene() -> Scene {
    let mut scene = Scene::with("/work/beta/b=");
    for content in 1..=3 {
        scene.edit(&format!("a={content}"));
        scene.perform("take alpha");
    }
    scene.perform("take beta");
    scene
}

/// A list of the checkpoints with these ids, newest first.
fn listed(ids: &[&str]) -> Answer {
    let entry = |id: &&str| {
        let id = if id.ends_with('f') { id.repeat(20) } else { (*id).to_owned() };
        Listed { number: 1, id, time: 7, reason: "seen".into(), stats: None }
    };
    Answer::Listed(ids.iter().map(entry).collect())
}

#[test]
fn learn_takes_the_checkpoints_of_a_project_from_its_list() {
    for (limit, shown, expected) in [
        (9, &["3f", "2f", "1f"][..], &["1f", "2f", "3f"][..]),
        (9, &["3f", "1f"], &["1f", "3f"]),
        (9, &["3f", "1f", "2f"], &["2f", "1f", "3f"]),
        (9, &["xy", "3f"], &["3f", "xy"]),
        (9, &["3f", "3f"], &["3f", "3f"]),
        (9, &[], &[]),
        // Checkpoints hidden by the limit stay.
        (2, &["3f", "2f"], &["1f", "2f", "3f"]),
        (2, &["3f"], &["1f", "3f"]),
        (2, &["3f", "1f"], &["1f", "3f"]),
        (2, &[], &["1f"]),
    ] {
        let mut scene = scene();
        scene.world.settings.max_snapshots = limit;
        scene.learn_answer("list alpha", listed(shown));
        assert_eq!(ids(&scene, "alpha"), expected, "{limit} {shown:?}");
        assert_eq!(ids(&scene, "beta"), ["4f"]);
        assert!(scene.world.histories().all(|(_, history)| !history.is_empty()));
    }
    let mut scene = scene();
    scene.learn_answer("list alpha", listed(&["xy", "3f"]));
    let [taken, unseen] = scene.world.history(b"work/alpha") else { panic!("two") };
    assert_eq!(taken.reason.as_deref(), Some("take alpha"));
    assert_eq!((unseen.reason.as_deref(), unseen.time, unseen.safety), (Some("seen"), 7, false));
    assert!(taken.captured.is_some() && unseen.captured.is_none());
    // A list of a directory outside the world belongs to no project.
    scene.learn_answer("list /elsewhere", listed(&["ab"]));
    assert_eq!(scene.world.histories().count(), 2);
}

#[test]
fn learn_adds_every_created_checkpoint() {
    let mut scene = scene();
    scene.perform("ensure beta");
    scene.learn_answer("ensure beta", created(5));
    scene.learn_answer("take alpha", created(6));
    scene.learn_answer("take gone", created(7));
    scene.edit("a=4");
    let report = Restored { safety: Some(checkpoint_id(8)), ..Restored::default() };
    scene.learn_answer("restore alpha 9", Answer::Restored(report));
    assert_eq!(ids(&scene, "beta"), ["4f", "5f"]);
    assert_eq!(ids(&scene, "alpha"), ["1f", "2f", "3f", "6f", "8f"]);
    assert_eq!(ids(&scene, "gone"), ["7f"]);
    let before = scene.world.history(b"work/alpha").last().unwrap();
    let content = before.captured.as_ref().unwrap().tree[&b"a"[..]].bytes();
    assert_eq!((&**content, before.safety, &before.reason), (&b"4"[..], true, &None));
    // Other kinds of answers do not concern checkpoints.
    for answer in [Answer::Done, refused(Code::Io)] {
        scene.learn_answer("take alpha", answer.clone());
        scene.learn_answer("restore alpha 1", answer);
    }
    assert_eq!(ids(&scene, "alpha").len(), 5);
}

#[test]
fn learn_sets_the_slot_of_the_turn_from_the_answer_to_ensure_checkpoint() {
    let deciding_rule = |scene: &Scene| match scene.allows("ensure beta") {
        Allowed::Checkpoint(checkpoint) => checkpoint.rule.id,
        unexpected => panic!("{unexpected:?}"),
    };
    let declined =
        |scene: &Scene| scene.broken_by("ensure beta", taken(CheckpointOutcome::Deduped));
    for (answer, rule, broken) in [
        (created(9), "turn/once", ""),
        (taken(CheckpointOutcome::Unchanged), "turn/nothing-uses-slot", ""),
        (taken(CheckpointOutcome::Deduped), "capture/created", "capture/created"),
        (refused(Code::Io), "capture/created", "turn/failure-keeps-slot capture/created"),
        (Answer::Crashed("x".into()), "capture/created", "turn/failure-keeps-slot capture/created"),
    ] {
        let mut scene = Scene::with("/work/beta/b=1");
        scene.learn_answer("ensure beta", answer.clone());
        scene.edit("/work/beta/b=2");
        assert_eq!((deciding_rule(&scene), &*declined(&scene)), (rule, broken), "{answer:?}");
        // A used slot stays used, even after a failure.
        scene.learn_answer("ensure beta", refused(Code::Io));
        let is_used = rule.starts_with("turn");
        assert_eq!(deciding_rule(&scene).starts_with("turn"), is_used, "{answer:?}");
    }
    let mut scene = Scene::with("/work/beta/b=1");
    scene.world.settings.enabled = false;
    scene.learn_answer("ensure beta", refused(Code::Io));
    scene.world.settings.enabled = true;
    assert_eq!(declined(&scene), "capture/created");
}

#[test]
fn learn_removes_checkpoints_that_the_contents_of_the_store_lack() {
    let learned = |corrupt: &dyn Fn(&Scene, &mut Contents)| {
        let mut scene = scene();
        scene.damage_metadata("work/alpha");
        let mut contents = scene.contents();
        corrupt(&scene, &mut contents);
        let observation = scene.observation("status", Answer::Done);
        scene.learn(&Observation { contents: Some(contents), ..observation });
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
    // Checkpoints hidden by the limit are not missing.
    let mut hidden = scene();
    hidden.world.settings.max_snapshots = 2;
    let contents = Some(hidden.contents());
    let observation = hidden.observation("status", Answer::Done);
    hidden.learn(&Observation { contents, ..observation });
    assert_eq!(ids(&hidden, "alpha"), ["1f", "2f", "3f"]);
    // A forgotten project counts as neither healed nor used.
    let mut scene = scene();
    scene.damage_metadata("work/alpha");
    scene.perform("take alpha");
    let observation = scene.observation("status", Answer::Done);
    scene.learn(&Observation { contents: Some(Contents::default()), ..observation });
    assert!(scene.world.healed().is_empty() && scene.world.maintenance.uses.is_empty());
}

#[test]
fn learn_takes_repositories_archives_and_strays_from_the_base() {
    let mut scene = scene();
    for name in ["a", "b", "c"] {
        scene.add_repository(name, "work/alpha", false);
    }
    scene.add_archive("legacy-1");
    scene.world.edit_store(&StoreEdit::Stray { name: "notes".into() }, true);
    scene.perform("sweep");
    scene.perform("prune 0 0");
    scene.wait(5);
    let mut learn = |corrupt: &dyn Fn(&mut Base)| {
        let mut base = scene.base();
        corrupt(&mut base);
        let observation = scene.observation("status", Answer::Done);
        scene.learn(&Observation { base: Some(base), ..observation });
        let world = &scene.world;
        let archives =
            world.archives().iter().map(|(name, made)| format!("{name} {}", made - START));
        let repositories = world.repositories().iter().map(|(name, repository)| {
            format!("{name} {}", repository.archive.as_deref().unwrap_or_default())
        });
        let strays = world.strays().iter().cloned();
        let entries = repositories.chain(archives).chain(strays).collect::<Vec<_>>().join(", ");
        let sweep = match scene.allows("sweep") {
            Allowed::Sweep(sweep) => (sweep.may_run, sweep.may_decline),
            unexpected => panic!("{unexpected:?}"),
        };
        (entries, sweep, world.histories().count())
    };
    let place = |archive: Option<&str>, intact| RepositoryLocation {
        archive: archive.map(str::to_owned),
        is_intact: intact,
    };
    let before = "a , b , c , legacy-1 0, notes";
    assert_eq!(learn(&|_| {}), (before.into(), (false, true), 2));
    // The intact copy of a repository counts.
    let moved = "a legacy-2, b legacy-1, c , legacy-1 0, legacy-2 5, notes";
    let found = learn(&|base| {
        base.archives.insert("legacy-2".into());
        let places = vec![place(None, false), place(Some("legacy-2"), true)];
        base.repositories.insert("a".into(), places);
        base.repositories.insert("b".into(), vec![place(Some("legacy-1"), false)]);
    });
    assert_eq!(found.0, moved);
    // A new archive into which nothing was moved is not recorded.
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
fn known_directories_holds_every_directory_of_a_request() {
    let mut scene = Scene::with("/work/file=");
    for request in ["list alpha", "list none", "list file", "list /elsewhere", "project beta/x"] {
        scene.perform(request);
    }
    assert_eq!(texts(scene.world.known_directories()), ["work/alpha"]);
}

#[test]
fn learn_takes_the_time_and_the_files_from_an_observation() {
    let mut scene = Scene::with("a=1");
    assert_eq!(scene.world.seconds(), START);
    scene.perform("clock 5");
    assert_eq!(scene.world.seconds(), 5);
    let mut changed = scene.clone();
    changed.edit("a=2 b=");
    let observation = Observation {
        files: changed.world.files.clone(),
        ..scene.correct_observation("list alpha")
    };
    scene.learn(&observation);
    assert_eq!(scene.world.files, changed.world.files);
}

#[test]
fn learn_accepts_any_observation_and_later_requests_still_work() {
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
    scene.edit("/work/link>alpha b?=");
    scene.add_archive("legacy-1");
    scene.add_repository("old", "work/alpha", false);
    let report = Restored {
        safety: Some(checkpoint_id(9)),
        restored: vec!["x".into()],
        ..Restored::default()
    };
    let answers = [
        Answer::Done,
        Answer::Project(None),
        created(9),
        taken(CheckpointOutcome::Unchanged),
        listed(&["xy", "9f", "9f"]),
        Answer::Diffed { entries: vec![], stats: Stats::default() },
        Answer::Restored(report),
        swept(SweepOutcome::Done, Counts::default()),
        Answer::Status { projects: vec![], archives: vec!["x".into()] },
        refused(Code::Internal),
        Answer::Crashed("silent".into()),
    ];
    for request in requests {
        for answer in &answers {
            for files in ["", "-/work/alpha", "/work="] {
                let mut changed = scene.clone();
                changed.edit(files);
                let observation = Observation {
                    files: changed.world.files.clone(),
                    contents: Some(Contents::default()),
                    base: Some(Base::default()),
                    histories: Some(Histories::default()),
                    ..scene.observation(request, answer.clone())
                };
                scene.checks(&observation);
                let mut learned = scene.clone();
                learned.learn(&observation);
                for next in ["ensure alpha", "list alpha", "restore alpha 1", "sweep", "status"] {
                    learned.perform(next);
                }
            }
        }
    }
}

#[test]
fn learn_and_compare_survive_extreme_clocks_and_numbers() {
    let mut scene = scene();
    for seconds in [i64::MAX, i64::MIN, i64::MAX] {
        for request in [&format!("clock {seconds}"), "take alpha", "sweep", "prune 1 0 orphans"] {
            scene.perform(request);
        }
        scene.edit(&format!("a={seconds}"));
    }
    assert_eq!(scene.world.seconds(), i64::MAX);
    for number in [usize::MAX, usize::MAX / 2 + 1] {
        let stats = Stats { files: 1, added: number, removed: 1 };
        let entries = vec![DiffEntry { path: "a".into(), change: crate::answer::Change::Modified }];
        let diffed = scene.broken_by("diff alpha 1", Answer::Diffed { entries, stats });
        assert_eq!(diffed, "diff/stats");
        let bytes_freed = number as u64;
        let scanned = number;
        let orphans = number;
        let stale = number;
        let counts = Counts { scanned, orphans, stale, errors: 0, bytes_freed };
        let observation = scene.observation("prune 0 0", swept(SweepOutcome::Done, counts));
        let contents = Some(scene.contents());
        let base = Some(scene.base());
        assert_eq!(
            scene.broken_rules(&Observation { contents, base, ..observation }),
            "sweep/counts"
        );
    }
}
