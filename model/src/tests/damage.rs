//! What a damaged store must still do, and what its damage may cost.

use super::*;
use crate::answer::{Protected, Taken};
use crate::object::{Object, Piece};
use crate::observation::Observation;
use crate::store_edit::StoreFile;

impl Scene {
    /// A piece of the checkpoint of that number of `alpha` is lost.
    fn lose(&mut self, number: usize, piece: &Piece) {
        let project = ByteString::from("work/alpha");
        let of = self.world.history(&project).iter().find(|one| one.id == id(number)).unwrap();
        let tree = &of.captured.as_ref().unwrap().tree;
        let object = Object::of(piece, &id(number), tree).unwrap();
        self.world.lose([object].into(), BTreeSet::new());
    }

    /// What is seen of a correct subject, after which what was lost is whole or not.
    fn mended(&self, asked: &str, is_whole: bool) -> Observation {
        let lost = if is_whole { BTreeSet::new() } else { self.world.lost().clone() };
        Observation { lost: Some(lost), ..self.right(asked) }
    }

    /// The rules that are broken where these are listed, by their numbers.
    fn listing(&self, numbers: &[usize]) -> String {
        let Allowed::List(due) = self.allows("list alpha") else { panic!("a list is due") };
        let listed = numbers.iter().enumerate().map(|(at, number)| {
            let entry = due.entries.iter().find(|one| one.id == id(*number));
            Listed {
                number: at + 1,
                id: id(*number),
                time: entry.map_or(START, |one| one.time),
                reason: entry.and_then(|one| one.reason.clone()).unwrap_or_default(),
                stats: match entry.map(|one| one.stats) {
                    Some(AllowedStats::Within(bounds)) => Some(figures(bounds)),
                    _ => None,
                },
            }
        });
        self.answered("list alpha", Answer::Listed(listed.collect()))
    }
}

fn file(path: &str) -> Piece {
    Piece::File(path.into())
}

/// Three checkpoints of `alpha`, of which the second has a file of its own.
fn three() -> Scene {
    let mut scene = Scene::with("a=1");
    scene.ask("take alpha");
    scene.set("a=1 b=2");
    scene.ask("take alpha");
    scene.set("a=1 c=3");
    scene.ask("take alpha");
    scene
}

#[test]
fn what_needs_nothing_of_what_is_lost_is_as_before() {
    let mut scene = three();
    scene.lose(2, &file("b"));
    for asked in ["restore alpha 1f1f", "diff alpha 1f1f", "take alpha", "list beta", "take beta"] {
        assert_ne!(scene.answered(asked, refused(Code::CorruptCheckpoint)), "", "{asked}");
    }
    for asked in ["restore alpha 2f2f", "diff alpha 2f2f", "file alpha 2f2f b"] {
        assert_eq!(scene.answered(asked, refused(Code::CorruptCheckpoint)), "", "{asked}");
    }
    // Of one that does not name the path, nobody need be able to say so.
    assert_eq!(scene.answered("file alpha 2f2f x", refused(Code::CorruptCheckpoint)), "");
}

#[test]
fn a_list_may_leave_out_what_is_damaged_until_it_shows_it() {
    let mut scene = three();
    scene.lose(2, &file("b"));
    assert_eq!(scene.listing(&[3, 1]), "");
    for (numbers, rule) in [
        (&[3, 2][..], "list/complete"),
        (&[1, 3], "list/newest-first"),
        (&[3, 7, 1], "list/stable"),
    ] {
        assert_eq!(scene.listing(numbers), rule, "{numbers:?}");
    }
    assert_eq!(scene.answered("list alpha", refused(Code::CorruptCheckpoint)), "list/complete");
    scene.ask("list alpha");
    assert_eq!(scene.listing(&[3, 1]), "list/complete");
    // Who looks after a store may do away with what is damaged.
    scene.ask("prune 0 0");
    assert_eq!(scene.listing(&[3, 1]), "");
}

#[test]
fn what_a_list_left_out_may_be_seen_again() {
    let mut scene = three();
    scene.lose(2, &Piece::Checkpoint);
    let left_out = |scene: &Scene| match scene.right("list alpha").answer {
        Answer::Listed(mut listed) => {
            listed.retain(|one| one.id != id(2));
            listed.iter_mut().enumerate().for_each(|(at, one)| one.number = at + 1);
            Answer::Listed(listed)
        }
        other => panic!("{other:?}"),
    };
    scene.told("list alpha", left_out(&scene));
    assert_eq!(scene.world.listed(b"work/alpha").len(), 2);
    for numbers in [&[3, 1][..], &[3, 2, 1]] {
        assert_eq!(scene.listing(numbers), "", "{numbers:?}");
    }
    // Nobody can say whether it is one of this project.
    assert!(matches!(scene.allows("restore alpha 2f2f"), Allowed::Unknown));
    assert!(matches!(scene.allows("restore alpha 2"), Allowed::Unknown));
    assert!(matches!(scene.allows("restore alpha 1f1f"), Allowed::Restore(_)));
}

#[test]
fn where_all_is_damaged_a_list_may_be_refused() {
    let mut scene = Scene::with("a=1");
    scene.ask("take alpha");
    scene.lose(1, &file("a"));
    for asked in ["list alpha", "print alpha"] {
        assert_eq!(scene.answered(asked, refused(Code::CorruptCheckpoint)), "");
    }
    assert_eq!(scene.listing(&[]), "");
    assert_eq!(scene.listing(&[1]), "");
}

#[test]
fn what_is_lost_and_needed_is_stored_again() {
    for (piece, changed) in [
        (file("a"), ""),
        (file("a"), "b=2"),
        (Piece::Folder("".into()), ""),
        (Piece::Checkpoint, ""),
    ] {
        let mut scene = Scene::with("a=1");
        scene.ask("take alpha");
        scene.put(changed);
        scene.lose(1, &piece);
        let due = scene.mended("take alpha", false);
        assert_eq!(scene.broken(&due), "capture/stored", "{piece:?} {changed}");
        let healed = scene.mended("take alpha", true);
        assert_eq!(scene.broken(&healed), "", "{piece:?}");
        scene.learn(&healed);
        assert!(scene.world.lost().is_empty());
        scene.ask("list alpha");
        assert!(!scene.world.is_any_disturbed());
    }
}

#[test]
fn what_is_taken_before_a_tool_runs_is_stored_again_too() {
    let mut scene = Scene::with("a=1");
    scene.ask("take alpha");
    scene.put("b=2");
    scene.lose(1, &file("a"));
    let project = scene.world.absolute(b"work/alpha");
    let outcome = CheckpointOutcome::Created { id: id(2) };
    let one = Protected { project, taken: Some(Taken { outcome, skipped: Vec::new() }) };
    let seen = scene.seen("writes alpha b", Answer::Protected(vec![one]));
    let lost = Some(scene.world.lost().clone());
    assert_eq!(scene.broken(&Observation { lost, ..seen.clone() }), "capture/stored");
    assert_eq!(scene.broken(&Observation { lost: Some(BTreeSet::new()), ..seen }), "");
}

#[test]
fn what_is_lost_and_not_needed_stays_lost() {
    let mut scene = three();
    scene.lose(2, &file("b"));
    scene.put("d=4");
    assert_eq!(scene.broken(&scene.mended("take alpha", false)), "");
}

#[test]
fn where_the_newest_is_damaged_a_new_one_is_as_good_as_the_same() {
    let mut scene = Scene::with("a=1");
    scene.ask("take alpha");
    let same = || taken(CheckpointOutcome::Unchanged);
    assert_eq!(scene.answered("take alpha", created(2)), "capture/unchanged");
    scene.lose(1, &file("a"));
    for answer in [created(2), same()] {
        assert_eq!(scene.answered("take alpha", answer), "");
    }
    scene.put("a=2");
    assert_eq!(scene.answered("take alpha", same()), "capture/created");
}

#[test]
fn where_the_agents_state_is_lost_a_new_checkpoint_is_as_good_as_the_same() {
    let mut scene = Scene::with("a=1");
    scene.ask("take alpha");
    assert_eq!(scene.answered("take alpha", created(2)), "capture/unchanged");
    scene.world.lose([Object::State(id(1))].into(), BTreeSet::new());
    for answer in [created(2), taken(CheckpointOutcome::Unchanged)] {
        assert_eq!(scene.answered("take alpha", answer), "");
    }
}

#[test]
fn without_boundaries_a_list_shows_evicted_checkpoints_again_and_every_other() {
    let mut scene = three();
    assert_ne!(scene.listing(&[3, 2, 1, 9]), "");
    let shallow = StoreEdit::File { file: StoreFile::Shallow, damage: Damage::Removed };
    scene.world.edit_store(&shallow, true);
    for shown in [&[3, 2, 1, 9][..], &[3, 2, 1]] {
        assert_eq!(scene.listing(shown), "");
    }
    assert_ne!(scene.listing(&[3, 1]), "");
}

#[test]
fn a_restore_of_what_is_damaged_says_what_did_not_come_back() {
    let mut scene = Scene::changed("a=1 b=2", "c=3");
    scene.lose(1, &file("a"));
    // A number means what a list showed.
    scene.ask("list alpha");
    let mut then = scene.clone();
    then.put("b=2");
    let seen = |failed: &[&str]| {
        let failed = failed.iter().map(|path| remark((*path).into())).collect();
        let said = Restored {
            safety: Some(id(2)),
            restored: vec!["b".into()],
            left: vec!["c".into()],
            failed,
            ..Restored::default()
        };
        let files = then.world.files.clone();
        Observation { files, ..scene.seen("restore alpha 1", Answer::Restored(said)) }
    };
    assert_eq!(scene.broken(&seen(&["a"])), "");
    assert_eq!(scene.broken(&seen(&[])), "restore/honest");
}

#[test]
fn what_is_lost_is_not_found_whatever_the_project_is_called() {
    let mut scene = three();
    for is_lost in [false, true] {
        if is_lost {
            scene.lose(2, &Piece::Checkpoint);
        }
        for asked in ["restore /world/work/./alpha 2f2f", "diff /world/work/./alpha 2f2f"] {
            let broken = scene.answered(asked, refused(Code::UnknownCheckpoint));
            assert_eq!(broken.contains("scope/identity"), !is_lost, "{asked}: {broken}");
            assert_eq!(broken.is_empty(), is_lost, "{asked}: {broken}");
        }
    }
}

#[test]
fn which_pre_rollback_checkpoint_made_room_is_as_open_where_one_is_damaged() {
    let mut scene = Scene::with("a=1 b=2");
    scene.world.settings.max_snapshots = 1;
    scene.ask("take alpha");
    scene.lose(1, &file("a"));
    scene.ask("list alpha");
    scene.set("b=3");
    scene.ask("restore alpha 1");
    assert!(!matches!(scene.allows("restore alpha 2"), Allowed::Unknown));
    scene.set("b=4");
    scene.ask("restore alpha 2");
    assert!(matches!(scene.allows("restore alpha 2"), Allowed::Unknown));
}

#[test]
fn nothing_is_known_of_a_project_that_nothing_names_until_it_is_listed() {
    let mut scene = three();
    scene.world.lose(BTreeSet::new(), ["work/alpha".into()].into());
    let is_unknown = |scene: &Scene| {
        for asked in [
            "list alpha",
            "print alpha",
            "take alpha",
            "restore alpha 1",
            "restore alpha 3f3f",
            "diff alpha 2",
        ] {
            assert!(matches!(scene.allows(asked), Allowed::Unknown), "{asked}");
        }
    };
    is_unknown(&scene);
    // That nobody sees it in the store is no sign that it is gone.
    let seen = scene.seen("take beta", created(4));
    scene.learn(&Observation { contents: Some(Contents::default()), ..seen });
    is_unknown(&scene);
    assert!(!matches!(scene.allows("list beta"), Allowed::Unknown));
    scene.told("list alpha", Answer::Listed(Vec::new()));
    assert!(scene.world.listed(b"work/alpha").is_empty());
    assert!(matches!(scene.allows("list alpha"), Allowed::List(_)));
}

#[test]
fn what_could_not_be_removed_as_a_whole_may_be_found_again_or_not() {
    let mut scene = Scene::with("a=1");
    scene.ask("take alpha");
    let project = ByteString::from("work/alpha");
    let edit = StoreEdit::Index { project: project.clone(), damage: Damage::Folder };
    scene.world.edit_store(&edit, true);
    let counts = Counts { errors: 1, scanned: 1, ..Counts::default() };
    let seen = scene.seen("prune 1 0", swept(SweepOutcome::Done, counts));
    scene.learn(&Observation { contents: Some(Contents::default()), ..seen });
    assert!(matches!(scene.allows("list alpha"), Allowed::Unknown));
    let mut again = scene.clone();
    scene.told("list alpha", Answer::Listed(Vec::new()));
    assert!(scene.world.listed(&project).is_empty());
    let (id, reason, number) = (id(1), "take alpha".to_owned(), 1);
    let listed = Listed { number, id, time: START, reason, stats: None };
    again.told("list alpha", Answer::Listed(vec![listed]));
    assert_eq!(again.world.listed(&project).len(), 1);
}

#[test]
fn a_sweep_may_count_errors_and_keeps_what_is_whole() {
    let mut scene = three();
    scene.lose(2, &file("b"));
    let counts = Counts { errors: 1, scanned: 1, ..Counts::default() };
    let seen = scene.seen("prune 0 0", swept(SweepOutcome::Done, counts));
    let kept = Observation { contents: Some(scene.contents()), base: Some(scene.base()), ..seen };
    assert_eq!(scene.broken(&kept), "");
    let gone = Observation { contents: Some(Contents::default()), ..kept };
    assert_ne!(scene.broken(&gone), "");
}

#[test]
fn who_looks_after_the_store_need_not_get_past_a_damaged_index_of_a_pack() {
    let mut scene = three();
    let stored = |piece| StoreEdit::Stored {
        project: "work/alpha".into(),
        id: id(1),
        piece,
        damage: Damage::Folder,
    };
    let errors = swept(SweepOutcome::Done, Counts { errors: 1, ..Counts::default() });
    for (piece, broken) in [(Piece::Checkpoint, "maintenance/never-raises"), (Piece::PackIndex, "")]
    {
        scene.world.edit_store(&stored(piece), true);
        assert_eq!(scene.answered("prune 0 0", errors.clone()), broken);
    }
}

#[test]
fn what_is_named_and_cannot_be_read_is_not_forgotten() {
    for (is_lost, is_named, is_known) in
        [(true, true, true), (true, false, false), (false, true, false)]
    {
        let mut scene = three();
        if is_lost {
            scene.lose(3, &Piece::Checkpoint);
        }
        let visible = is_named.then(|| (scene.world.hash(b"work/alpha"), Vec::new()));
        let contents = Contents { visible: visible.into_iter().collect(), ..Contents::default() };
        let seen = scene.seen("prune 0 0", swept(SweepOutcome::Done, Counts::default()));
        scene.learn(&Observation { contents: Some(contents), ..seen });
        let known = !scene.world.history(b"work/alpha").is_empty();
        assert_eq!(known, is_known, "{is_lost}, {is_named}");
    }
}
