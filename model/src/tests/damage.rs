//! Requests to a damaged store: which of them must still work, and which failures the damage excuses.

use super::*;
use crate::answer::{Protected, Taken};
use crate::object::{Object, Piece};
use crate::observation::Observation;
use crate::store_edit::StoreFile;

impl Scene {
    /// Loses a piece of the checkpoint of `alpha` with this number.
    pub(super) fn lose(&mut self, number: usize, piece: &Piece) {
        let project = ByteString::from("work/alpha");
        let checkpoint = self
            .world
            .history(&project)
            .iter()
            .find(|checkpoint| checkpoint.id == checkpoint_id(number))
            .unwrap();
        let tree = &checkpoint.captured.as_ref().unwrap().tree;
        let object = Object::of(piece, &checkpoint_id(number), tree).unwrap();
        self.world.lose([object].into(), BTreeSet::new());
    }

    /// The observation of a correct subject, after which the lost objects are stored again or not.
    fn after_repair(&self, request: &str, is_repaired: bool) -> Observation {
        let lost = if is_repaired { BTreeSet::new() } else { self.world.lost().clone() };
        Observation { lost: Some(lost), ..self.correct_observation(request) }
    }

    /// The rules broken by a list of the checkpoints with these numbers.
    fn listing(&self, numbers: &[usize]) -> String {
        let Allowed::List(list) = self.allows("list alpha") else { panic!("a list is due") };
        let listed = numbers.iter().enumerate().map(|(index, number)| {
            let entry = list.entries.iter().find(|entry| entry.id == checkpoint_id(*number));
            Listed {
                number: index + 1,
                id: checkpoint_id(*number),
                time: entry.map_or(START, |entry| entry.time),
                reason: entry.and_then(|entry| entry.reason.clone()).unwrap_or_default(),
                stats: match entry.map(|entry| entry.stats) {
                    Some(AllowedStats::Within(bounds)) => Some(stats_within(bounds)),
                    _ => None,
                },
            }
        });
        self.broken_by("list alpha", Answer::Listed(listed.collect()))
    }
}

fn file(path: &str) -> Piece {
    Piece::File(path.into())
}

/// Three checkpoints of `alpha`, of which only the second holds `b`.
fn three_checkpoints() -> Scene {
    let mut scene = Scene::with("a=1");
    scene.perform("take alpha");
    scene.replace_files("a=1 b=2");
    scene.perform("take alpha");
    scene.replace_files("a=1 c=3");
    scene.perform("take alpha");
    scene
}

#[test]
fn requests_without_need_of_a_lost_object_are_judged_as_before() {
    let mut scene = three_checkpoints();
    scene.lose(2, &file("b"));
    let without_need =
        ["restore alpha 1f1f", "diff alpha 1f1f", "file alpha 2f2f a", "list beta", "take beta"];
    for request in without_need.into_iter().chain(["take alpha"]) {
        assert_ne!(scene.broken_by(request, refused(Code::CorruptCheckpoint)), "", "{request}");
    }
    for request in ["restore alpha 2f2f", "diff alpha 2f2f", "file alpha 2f2f b"] {
        assert_eq!(scene.broken_by(request, refused(Code::CorruptCheckpoint)), "", "{request}");
    }
    // It need not be known that a damaged checkpoint does not hold the path.
    assert_eq!(scene.broken_by("file alpha 2f2f x", refused(Code::CorruptCheckpoint)), "");
}

#[test]
fn list_may_hide_a_damaged_checkpoint_until_it_was_shown() {
    let mut scene = three_checkpoints();
    scene.lose(2, &file("b"));
    assert_eq!(scene.listing(&[3, 1]), "");
    for (numbers, rule) in [
        (&[3, 2][..], "list/complete"),
        (&[1, 3], "list/newest-first"),
        (&[3, 7, 1], "list/stable"),
    ] {
        assert_eq!(scene.listing(numbers), rule, "{numbers:?}");
    }
    assert_eq!(scene.broken_by("list alpha", refused(Code::CorruptCheckpoint)), "list/complete");
    scene.perform("list alpha");
    assert_eq!(scene.listing(&[3, 1]), "list/complete");
    // Maintenance may remove damaged checkpoints.
    scene.perform("prune 0 0");
    assert_eq!(scene.listing(&[3, 1]), "");
}

#[test]
fn list_may_show_a_hidden_damaged_checkpoint_again() {
    let mut scene = three_checkpoints();
    scene.lose(2, &Piece::Checkpoint);
    let left_out = |scene: &Scene| match scene.correct_observation("list alpha").answer {
        Answer::Listed(mut listed) => {
            listed.retain(|entry| entry.id != checkpoint_id(2));
            listed.iter_mut().enumerate().for_each(|(index, entry)| entry.number = index + 1);
            Answer::Listed(listed)
        }
        unexpected => panic!("{unexpected:?}"),
    };
    scene.learn_answer("list alpha", left_out(&scene));
    assert_eq!(scene.world.listed(b"work/alpha").len(), 2);
    for numbers in [&[3, 1][..], &[3, 2, 1]] {
        assert_eq!(scene.listing(numbers), "", "{numbers:?}");
    }
    // It is unknown whether the hidden checkpoint belongs to this project.
    assert!(matches!(scene.allows("restore alpha 2f2f"), Allowed::Unknown(_)));
    assert!(matches!(scene.allows("restore alpha 2"), Allowed::Unknown(_)));
    assert!(matches!(scene.allows("restore alpha 1f1f"), Allowed::Restore(_)));
}

#[test]
fn list_may_be_refused_if_every_checkpoint_is_damaged() {
    let mut scene = Scene::with("a=1");
    scene.perform("take alpha");
    scene.lose(1, &file("a"));
    for request in ["list alpha", "print alpha"] {
        assert_eq!(scene.broken_by(request, refused(Code::CorruptCheckpoint)), "");
    }
    assert_eq!(scene.listing(&[]), "");
    assert_eq!(scene.listing(&[1]), "");
}

#[test]
fn checkpoint_stores_needed_lost_objects_again() {
    for (piece, changed) in [
        (file("a"), ""),
        (file("a"), "b=2"),
        (Piece::Folder("".into()), ""),
        (Piece::Checkpoint, ""),
    ] {
        let mut scene = Scene::with("a=1");
        scene.perform("take alpha");
        scene.edit(changed);
        scene.lose(1, &piece);
        let unrepaired = scene.after_repair("take alpha", false);
        assert_eq!(scene.broken_rules(&unrepaired), "capture/stored", "{piece:?} {changed}");
        let repaired = scene.after_repair("take alpha", true);
        assert_eq!(scene.broken_rules(&repaired), "", "{piece:?}");
        scene.learn(&repaired);
        assert!(scene.world.lost().is_empty());
        scene.perform("list alpha");
        assert!(!scene.world.is_any_partially_corrupted());
    }
}

#[test]
fn checkpoint_before_a_tool_stores_needed_lost_objects_again() {
    let mut scene = Scene::with("a=1");
    scene.perform("take alpha");
    scene.edit("b=2");
    scene.lose(1, &file("a"));
    let project = scene.world.absolute(b"work/alpha");
    let outcome = CheckpointOutcome::Created { id: checkpoint_id(2) };
    let protected = Protected { project, taken: Some(Taken { outcome, skipped: Vec::new() }) };
    let observation = scene.observation("writes alpha b", Answer::Protected(vec![protected]));
    let lost = Some(scene.world.lost().clone());
    assert_eq!(scene.broken_rules(&Observation { lost, ..observation.clone() }), "capture/stored");
    assert_eq!(scene.broken_rules(&Observation { lost: Some(BTreeSet::new()), ..observation }), "");
}

#[test]
fn a_change_that_is_called_unchanged_is_no_matter_of_lost_objects() {
    let mut scene = Scene::with("a=1");
    scene.perform("take alpha");
    scene.edit("b=2");
    scene.perform("take alpha");
    scene.lose(2, &Piece::Folder("".into()));
    scene.edit("b=3");
    let unchanged = Answer::Taken { outcome: CheckpointOutcome::Unchanged, skipped: Vec::new() };
    let observation = scene.observation("take alpha", unchanged);
    let lost = Some(scene.world.lost().clone());
    assert_eq!(scene.broken_rules(&Observation { lost, ..observation }), "capture/created");
}

#[test]
fn checkpoint_need_not_store_unneeded_lost_objects_again() {
    let mut scene = three_checkpoints();
    scene.lose(2, &file("b"));
    scene.edit("d=4");
    assert_eq!(scene.broken_rules(&scene.after_repair("take alpha", false)), "");
}

#[test]
fn checkpoint_of_an_unchanged_project_may_be_created_if_the_newest_is_damaged() {
    let mut scene = Scene::with("a=1");
    scene.perform("take alpha");
    let unchanged = || taken(CheckpointOutcome::Unchanged);
    assert_eq!(scene.broken_by("take alpha", created(2)), "capture/unchanged");
    scene.lose(1, &file("a"));
    for answer in [created(2), unchanged()] {
        assert_eq!(scene.broken_by("take alpha", answer), "");
    }
    scene.edit("a=2");
    assert_eq!(scene.broken_by("take alpha", unchanged()), "capture/created");
}

#[test]
fn checkpoint_of_an_unchanged_project_may_be_created_if_the_agent_state_is_lost() {
    let mut scene = Scene::with("a=1");
    scene.perform("take alpha");
    assert_eq!(scene.broken_by("take alpha", created(2)), "capture/unchanged");
    scene.world.lose([Object::State(checkpoint_id(1))].into(), BTreeSet::new());
    for answer in [created(2), taken(CheckpointOutcome::Unchanged)] {
        assert_eq!(scene.broken_by("take alpha", answer), "");
    }
}

#[test]
fn list_may_show_evicted_checkpoints_and_must_show_all_others_without_the_shallow_file() {
    let mut scene = three_checkpoints();
    assert_ne!(scene.listing(&[3, 2, 1, 9]), "");
    let shallow = StoreEdit::File { file: StoreFile::Shallow, damage: Damage::Removed };
    scene.world.edit_store(&shallow, true);
    for shown in [&[3, 2, 1, 9][..], &[3, 2, 1]] {
        assert_eq!(scene.listing(shown), "");
    }
    assert_ne!(scene.listing(&[3, 1]), "");
}

// rule: maintenance/damage
#[test]
fn restore_of_a_damaged_checkpoint_reports_failed_paths() {
    let mut scene = Scene::changed("a=1 b=2", "c=3");
    scene.lose(1, &file("a"));
    // A number refers to the last list shown.
    scene.perform("list alpha");
    let mut after = scene.clone();
    after.edit("b=2");
    let observation = |failed: &[&str]| {
        let failed = failed.iter().map(|path| remark((*path).into())).collect();
        let report = Restored {
            safety: Some(checkpoint_id(2)),
            restored: vec!["b".into()],
            left: vec!["c".into()],
            failed,
            ..Restored::default()
        };
        let files = after.world.files.clone();
        Observation { files, ..scene.observation("restore alpha 1", Answer::Restored(report)) }
    };
    assert_eq!(scene.broken_rules(&observation(&["a"])), "");
    assert_eq!(scene.broken_rules(&observation(&[])), "restore/honest");
}

#[test]
fn restore_and_diff_may_not_find_a_lost_checkpoint_under_any_name_of_the_project() {
    let mut scene = three_checkpoints();
    for is_lost in [false, true] {
        if is_lost {
            scene.lose(2, &Piece::Checkpoint);
        }
        for request in ["restore /world/work/./alpha 2f2f", "diff /world/work/./alpha 2f2f"] {
            let broken = scene.broken_by(request, refused(Code::UnknownCheckpoint));
            assert_eq!(broken.contains("scope/identity"), !is_lost, "{request}: {broken}");
            assert_eq!(broken.is_empty(), is_lost, "{request}: {broken}");
        }
    }
}

#[test]
fn restore_leaves_open_which_pre_restore_checkpoint_was_evicted_if_one_is_damaged() {
    let mut scene = Scene::with("a=1 b=2");
    scene.world.settings.max_snapshots = 1;
    scene.perform("take alpha");
    scene.lose(1, &file("a"));
    scene.perform("list alpha");
    scene.replace_files("b=3");
    scene.perform("restore alpha 1");
    assert!(!matches!(scene.allows("restore alpha 2"), Allowed::Unknown(_)));
    scene.replace_files("b=4");
    scene.perform("restore alpha 2");
    assert!(matches!(scene.allows("restore alpha 2"), Allowed::Unknown(_)));
}

#[test]
fn a_project_that_no_ref_names_is_unknown_until_list_reports_it() {
    let mut scene = three_checkpoints();
    scene.world.lose(BTreeSet::new(), ["work/alpha".into()].into());
    let assert_unknown = |scene: &Scene| {
        for request in [
            "list alpha",
            "print alpha",
            "take alpha",
            "restore alpha 1",
            "restore alpha 3f3f",
            "diff alpha 2",
        ] {
            assert!(matches!(scene.allows(request), Allowed::Unknown(_)), "{request}");
        }
    };
    assert_unknown(&scene);
    // That the project is not visible in the store does not mean that it is gone.
    let observation = scene.observation("take beta", created(4));
    scene.learn(&Observation { contents: Some(Contents::default()), ..observation });
    assert_unknown(&scene);
    assert!(!matches!(scene.allows("list beta"), Allowed::Unknown(_)));
    scene.learn_answer("list alpha", Answer::Listed(Vec::new()));
    assert!(scene.world.listed(b"work/alpha").is_empty());
    assert!(matches!(scene.allows("list alpha"), Allowed::List(_)));
}

#[test]
fn after_a_prune_with_errors_list_may_or_may_not_show_the_checkpoint() {
    let mut scene = Scene::with("a=1");
    scene.perform("take alpha");
    let project = ByteString::from("work/alpha");
    let edit = StoreEdit::Index { project: project.clone(), damage: Damage::Folder };
    scene.world.edit_store(&edit, true);
    let counts = Counts { errors: 1, scanned: 1, ..Counts::default() };
    let observation = scene.observation("prune 1 0", swept(SweepOutcome::Done, counts));
    scene.learn(&Observation { contents: Some(Contents::default()), ..observation });
    assert!(matches!(scene.allows("list alpha"), Allowed::Unknown(_)));
    let mut relisted = scene.clone();
    scene.learn_answer("list alpha", Answer::Listed(Vec::new()));
    assert!(scene.world.listed(&project).is_empty());
    let id = checkpoint_id(1);
    let reason = "take alpha".to_owned();
    let number = 1;
    let listed = Listed { number, id, time: START, reason, stats: None };
    relisted.learn_answer("list alpha", Answer::Listed(vec![listed]));
    assert_eq!(relisted.world.listed(&project).len(), 1);
}

#[test]
fn prune_may_count_errors_of_a_damaged_store_but_keeps_intact_checkpoints() {
    let mut scene = three_checkpoints();
    scene.lose(2, &file("b"));
    let counts = Counts { errors: 1, scanned: 1, ..Counts::default() };
    let observation = scene.observation("prune 0 0", swept(SweepOutcome::Done, counts));
    let kept =
        Observation { contents: Some(scene.contents()), base: Some(scene.base()), ..observation };
    assert_eq!(scene.broken_rules(&kept), "");
    let gone = Observation { contents: Some(Contents::default()), ..kept };
    assert_ne!(scene.broken_rules(&gone), "");
}

#[test]
fn prune_may_fail_on_a_damaged_pack_index() {
    let mut scene = three_checkpoints();
    let stored = |piece| StoreEdit::Stored {
        project: "work/alpha".into(),
        id: checkpoint_id(1),
        piece,
        damage: Damage::Folder,
    };
    let errors = swept(SweepOutcome::Done, Counts { errors: 1, ..Counts::default() });
    for (piece, broken) in [(Piece::Checkpoint, "maintenance/never-raises"), (Piece::PackIndex, "")]
    {
        scene.world.edit_store(&stored(piece), true);
        assert_eq!(scene.broken_by("prune 0 0", errors.clone()), broken);
    }
}

#[test]
fn learn_keeps_a_named_project_whose_checkpoint_is_lost() {
    for (is_lost, is_named, is_known) in
        [(true, true, true), (true, false, false), (false, true, false)]
    {
        let mut scene = three_checkpoints();
        if is_lost {
            scene.lose(3, &Piece::Checkpoint);
        }
        let visible = is_named.then(|| (scene.world.hash(b"work/alpha"), Vec::new()));
        let contents = Contents { visible: visible.into_iter().collect(), ..Contents::default() };
        let observation =
            scene.observation("prune 0 0", swept(SweepOutcome::Done, Counts::default()));
        scene.learn(&Observation { contents: Some(contents), ..observation });
        let remains = !scene.world.history(b"work/alpha").is_empty();
        assert_eq!(remains, is_known, "{is_lost}, {is_named}");
    }
}
