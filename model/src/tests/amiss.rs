//! What the world learns of an operation that did not do as it must.

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
    scene.ask("take alpha");
    scene.put("a=2");
    scene.ask("take alpha");
    scene
}

fn tree(content: &str) -> Tree {
    let content = content.as_bytes().into();
    Tree::from([("a".into(), Entry::File { content, executable: false })])
}

/// What is stored of `alpha`: checkpoints with these numbers and contents, newest first.
fn stored(scene: &Scene, checkpoints: &[(usize, &str)]) -> Histories {
    let commit = |content| Commit {
        tree: Arc::new(tree(content)),
        canonical: true,
        parent: String::new(),
        author: String::new(),
        seconds: "77".into(),
        signed: false,
    };
    let ids = checkpoints.iter().map(|(number, _)| id(*number)).collect();
    Histories {
        visible: [(scene.world.hash(b"work/alpha"), ids)].into(),
        commits: checkpoints.iter().map(|(number, held)| (id(*number), commit(held))).collect(),
        ..Histories::default()
    }
}

/// What each checkpoint of `alpha` is believed to hold of `a`, oldest first.
fn believed(scene: &Scene) -> Vec<(String, Option<String>)> {
    let content = |one: &Arc<Captured>| match one.tree.get(&"a".into()) {
        Some(entry) => String::from_utf8_lossy(entry.bytes()).into_owned(),
        None => String::new(),
    };
    let all = scene.world.history(b"work/alpha").iter();
    all.map(|one| (one.id[..2].to_owned(), one.captured.as_ref().map(content))).collect()
}

fn holds(number: &str, content: &str) -> (String, Option<String>) {
    (number.to_owned(), Some(content.to_owned()))
}

#[test]
fn a_store_that_can_be_read_says_what_each_checkpoint_holds() {
    let mut scene = scene();
    scene.put("a=3");
    let histories = Some(stored(&scene, &[(3, "x"), (2, "y"), (1, "1")]));
    scene.world.learn_amiss(&Observation { histories, ..scene.seen("take alpha", created(3)) });
    assert_eq!(believed(&scene), [holds("1f", "1"), holds("2f", "y"), holds("3f", "x")]);
    let last = scene.world.history(b"work/alpha").last().unwrap();
    assert_eq!((last.time, last.reason.as_deref()), (77, Some("take alpha")));
    // The next one is compared with what is stored, not with what should have been.
    scene.set("a=x");
    assert_eq!(scene.answered("take alpha", taken(CheckpointOutcome::Unchanged)), "");
}

#[test]
fn checkpoints_that_nobody_reported_are_learned_and_others_forgotten() {
    let mut scene = scene();
    let histories = Some(stored(&scene, &[(9, "9"), (1, "1")]));
    scene.world.learn_amiss(&Observation { histories, ..scene.seen("take alpha", created(3)) });
    assert_eq!(believed(&scene), [holds("1f", "1"), holds("9f", "9")]);
    assert_eq!(scene.world.history(b"work/alpha")[1].reason, None);
    let histories = Some(stored(&scene, &[]));
    scene.world.learn_amiss(&Observation { histories, ..scene.seen("take alpha", created(3)) });
    assert_eq!(scene.world.histories().count(), 0);
}

#[test]
fn what_the_limit_hides_stays_hidden() {
    let mut scene = scene();
    scene.world.settings.max_snapshots = 1;
    let histories = Some(stored(&scene, &[(2, "y")]));
    scene.world.learn_amiss(&Observation { histories, ..scene.seen("list alpha", Answer::Done) });
    assert_eq!(believed(&scene), [holds("1f", "1"), holds("2f", "y")]);
}

#[test]
fn where_nobody_can_read_the_store_what_was_taken_or_restored_is_unknown() {
    let mut scene = scene();
    scene.world.learn_amiss(&scene.seen("take alpha", created(3)));
    assert_eq!(believed(&scene)[2], ("3f".to_owned(), None));
    assert_eq!(believed(&scene)[1], holds("2f", "2"));
    let said = Restored { safety: Some(id(4)), ..Restored::default() };
    scene.world.learn_amiss(&scene.seen("restore alpha 3", Answer::Restored(said)));
    let unknown = |at: usize| believed(&scene)[at].1.is_none();
    assert_eq!([0, 1, 2, 3].map(unknown), [true, false, true, true]);
}

#[test]
fn what_was_taken_before_a_tool_is_unknown_too() {
    let mut scene = scene();
    let outcome = CheckpointOutcome::Created { id: id(3) };
    let taken = Some(Taken { outcome, skipped: Vec::new() });
    let all = vec![Protected { project: "/world/work/alpha".into(), taken }];
    scene.world.learn_amiss(&scene.seen("writes alpha a", Answer::Protected(all)));
    assert_eq!(believed(&scene)[2], ("3f".to_owned(), None));
    assert_eq!(believed(&scene)[1], holds("2f", "2"));
}

#[test]
fn nothing_is_judged_by_a_checkpoint_that_is_unknown() {
    let mut scene = scene();
    scene.world.learn_amiss(&scene.seen("take alpha", created(3)));
    assert!(matches!(scene.allows("restore alpha 1"), Allowed::Unknown));
    assert!(matches!(scene.allows("diff alpha 1"), Allowed::Unknown));
    for outcome in [CheckpointOutcome::Unchanged, CheckpointOutcome::Created { id: id(4) }] {
        assert_eq!(scene.answered("take alpha", taken(outcome)), "");
    }
    // Whether the newest is the state before a restore, nobody knows either.
    let Allowed::Restore(due) = scene.allows("restore alpha 2") else { panic!("a restore") };
    assert!(due.may_skip_safety);
    for safety in [None, Some(id(4))] {
        let said = Restored { safety, undoes_turn: true, ..Restored::default() };
        assert_eq!(scene.answered("restore alpha 2", Answer::Restored(said)), "");
    }
}
