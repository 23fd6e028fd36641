//! What the world learns from an operation that violated a rule.

use super::*;
use crate::answer::{Protected, Taken};
use crate::capture::Captured;
use crate::observation::Commit;
use crate::tree::{Entry, Tree};
use pretty_assertions::assert_eq;
use std::sync::Arc;

/// A scene with two checkpoints of `alpha`, the first of `a=1` and the second of `a=2`.
fn scene() -> Scene {
    let mut scene = Scene::with("a=1");
    scene.perform("take alpha");
    scene.edit("a=2");
    scene.perform("take alpha");
    scene
}

fn tree(content: &str) -> Tree {
    let content = content.as_bytes().into();
    Tree::from_iter([("a".into(), Entry::File { content, executable: false })])
}

/// The stored history of `alpha`: checkpoints with these numbers and contents, newest first.
fn stored(scene: &Scene, checkpoints: &[(usize, &str)]) -> Histories {
    let commit = |content| Commit {
        tree: Arc::new(tree(content)),
        canonical: true,
        parent: String::new(),
        author: String::new(),
        seconds: "77".into(),
        signed: false,
    };
    let ids = checkpoints.iter().map(|(number, _)| checkpoint_id(*number)).collect();
    Histories {
        visible: [(scene.world.hash(b"work/alpha"), ids)].into(),
        commits: checkpoints
            .iter()
            .map(|(number, content)| (checkpoint_id(*number), commit(content)))
            .collect(),
        ..Histories::default()
    }
}

/// The content of `a` that the world assumes in each checkpoint of `alpha`, oldest first.
fn assumed(scene: &Scene) -> Vec<(String, Option<String>)> {
    let content = |captured: &Arc<Captured>| match captured.tree.get(&b"a"[..]) {
        Some(entry) => String::from_utf8_lossy(entry.bytes()).into_owned(),
        None => String::new(),
    };
    let history = scene.world.history(b"work/alpha").iter();
    history
        .map(|checkpoint| {
            (checkpoint.id[..2].to_owned(), checkpoint.captured.as_ref().map(content))
        })
        .collect()
}

fn holds(number: &str, content: &str) -> (String, Option<String>) {
    (number.to_owned(), Some(content.to_owned()))
}

#[test]
fn learn_amiss_takes_the_content_of_checkpoints_from_a_readable_store() {
    let mut scene = scene();
    scene.edit("a=3");
    let histories = Some(stored(&scene, &[(3, "x"), (2, "y"), (1, "1")]));
    scene.world.learn_after_violation(&Observation {
        histories,
        ..scene.observation("take alpha", created(3))
    });
    assert_eq!(assumed(&scene), [holds("1f", "1"), holds("2f", "y"), holds("3f", "x")]);
    let last = scene.world.history(b"work/alpha").last().unwrap();
    assert_eq!((last.time, last.reason.as_deref()), (77, Some("take alpha")));
    // The next checkpoint is compared with the stored content, not with the expected content.
    scene.replace_files("a=x");
    assert_eq!(scene.broken_by("take alpha", taken(CheckpointOutcome::Unchanged)), "");
}

#[test]
fn learn_amiss_adds_unreported_checkpoints_and_forgets_missing_ones() {
    let mut scene = scene();
    let histories = Some(stored(&scene, &[(9, "9"), (1, "1")]));
    scene.world.learn_after_violation(&Observation {
        histories,
        ..scene.observation("take alpha", created(3))
    });
    assert_eq!(assumed(&scene), [holds("1f", "1"), holds("9f", "9")]);
    assert_eq!(scene.world.history(b"work/alpha")[1].reason, None);
    let histories = Some(stored(&scene, &[]));
    scene.world.learn_after_violation(&Observation {
        histories,
        ..scene.observation("take alpha", created(3))
    });
    assert_eq!(scene.world.histories().count(), 0);
}

#[test]
fn learn_amiss_keeps_checkpoints_beyond_max_snapshots() {
    let mut scene = scene();
    scene.world.settings.max_snapshots = 1;
    let histories = Some(stored(&scene, &[(2, "y")]));
    scene.world.learn_after_violation(&Observation {
        histories,
        ..scene.observation("list alpha", Answer::Done)
    });
    assert_eq!(assumed(&scene), [holds("1f", "1"), holds("2f", "y")]);
}

#[test]
fn learn_amiss_without_a_readable_store_leaves_affected_checkpoints_unknown() {
    let mut scene = scene();
    scene.world.learn_after_violation(&scene.observation("take alpha", created(3)));
    assert_eq!(assumed(&scene)[2], ("3f".to_owned(), None));
    assert_eq!(assumed(&scene)[1], holds("2f", "2"));
    let report = Restored { safety: Some(checkpoint_id(4)), ..Restored::default() };
    scene
        .world
        .learn_after_violation(&scene.observation("restore alpha 3", Answer::Restored(report)));
    let is_unknown = |index: usize| assumed(&scene)[index].1.is_none();
    assert_eq!([0, 1, 2, 3].map(is_unknown), [true, false, true, true]);
}

#[test]
fn learn_amiss_leaves_a_checkpoint_taken_before_a_tool_unknown() {
    let mut scene = scene();
    let outcome = CheckpointOutcome::Created { id: checkpoint_id(3) };
    let taken = Some(Taken { outcome, skipped: Vec::new() });
    let protected = vec![Protected { project: "/world/work/alpha".into(), taken }];
    scene
        .world
        .learn_after_violation(&scene.observation("writes alpha a", Answer::Protected(protected)));
    assert_eq!(assumed(&scene)[2], ("3f".to_owned(), None));
    assert_eq!(assumed(&scene)[1], holds("2f", "2"));
}

#[test]
fn after_learn_amiss_nothing_is_judged_by_an_unknown_checkpoint() {
    let mut scene = scene();
    scene.world.learn_after_violation(&scene.observation("take alpha", created(3)));
    assert!(matches!(scene.allows("restore alpha 1"), Allowed::Unknown(_)));
    assert!(matches!(scene.allows("diff alpha 1"), Allowed::Unknown(_)));
    for outcome in
        [CheckpointOutcome::Unchanged, CheckpointOutcome::Created { id: checkpoint_id(4) }]
    {
        assert_eq!(scene.broken_by("take alpha", taken(outcome)), "");
    }
    // It is also unknown whether the newest checkpoint holds the state before a restore.
    let Allowed::Restore(restore) = scene.allows("restore alpha 2") else { panic!("a restore") };
    assert!(restore.may_skip_pre_restore);
    for safety in [None, Some(checkpoint_id(4))] {
        let report = Restored { safety, undoes_turn: true, ..Restored::default() };
        assert_eq!(scene.broken_by("restore alpha 2", Answer::Restored(report)), "");
    }
}
