//! What a history keeps, no matter how often a user restores.

use super::*;
use crate::world::Checkpoint;
use pretty_assertions::assert_eq;

/// Three checkpoints of `alpha`, as many as the limit allows, and files that changed since.
fn full_history() -> Scene {
    let mut scene = Scene::with("a=1");
    scene.world.settings.max_snapshots = 3;
    for files in ["a=2", "a=3", "a=4"] {
        scene.perform("take alpha");
        scene.edit(files);
    }
    scene
}

/// The numbers of the listed checkpoints, oldest first.
fn listed(scene: &Scene) -> Vec<usize> {
    let number =
        |checkpoint: &Checkpoint| checkpoint.id.split('f').next().unwrap().parse().unwrap();
    scene.world.listed(b"work/alpha").iter().map(number).collect()
}

#[test]
fn restore_evicts_nothing_and_the_next_checkpoint_does() {
    let mut scene = full_history();
    scene.perform("restore alpha 3");
    assert_eq!(listed(&scene), [1, 2, 3, 4]);
    scene.edit("a=5");
    scene.perform("take alpha");
    assert_eq!(listed(&scene), [3, 4, 5]);
    scene.edit("a=6");
    scene.perform("restore alpha 3");
    // The older pre-restore checkpoint was evicted.
    assert_eq!(listed(&scene), [3, 5, 6]);
}

#[test]
fn repeated_restores_keep_the_history_and_the_target() {
    let mut scene = full_history();
    for round in 0..9 {
        scene.edit(&format!("a=x{round}"));
        scene.perform(&format!("restore alpha {}", checkpoint_id(1)));
        assert_eq!(listed(&scene), [1, 2, 3, 4 + round]);
    }
    // Back and forth between two pre-restore checkpoints.
    for round in 0..9 {
        scene.edit(&format!("a=y{round}"));
        scene.perform("restore alpha 1");
        assert_eq!(listed(&scene), [1, 2, 3, 12 + round, 13 + round]);
    }
}

/// The rules broken by a list of `alpha` with these numbers, newest first.
fn broken_by_list(scene: &Scene, numbers: &[usize]) -> String {
    let mut observation = scene.correct_observation("list alpha");
    let Answer::Listed(entries) = &mut observation.answer else { panic!("no list") };
    entries.retain(|entry| numbers.iter().any(|number| checkpoint_id(*number) == entry.id));
    entries.iter_mut().enumerate().for_each(|(index, entry)| entry.number = index + 1);
    assert_eq!(entries.len(), numbers.len());
    entries.iter_mut().for_each(|entry| entry.stats = None);
    scene.broken_rules(&observation)
}

#[test]
fn restore_that_evicts_a_checkpoint_breaks_restore_keeps_history() {
    let keeps = "restore/keeps-history";
    let mut scene = Scene::without("list.stats", "a=1");
    scene.world.settings.max_snapshots = 2;
    scene.perform("take alpha");
    scene.edit("a=2");
    scene.perform("take alpha");
    scene.edit("a=3");
    // A checkpoint that was lost earlier need not have been lost to a restore.
    let mut unseen = Scene { world: scene.world.clone(), ids: scene.ids };
    unseen.perform("restore alpha 2");
    assert_eq!(broken_by_list(&unseen, &[3, 2]), "list/complete");
    scene.perform("list alpha");
    scene.perform("restore alpha 2");
    assert_eq!(broken_by_list(&scene, &[3, 2, 1]), "");
    assert_eq!(broken_by_list(&scene, &[3, 2]), keeps);
    assert_eq!(broken_by_list(&scene, &[3, 1]), keeps);
    // A list shorter than the limit lost more than a restore evicts.
    assert!(broken_by_list(&scene, &[3]).starts_with("list/complete"));
    for code in [Code::UnknownCheckpoint, Code::BadTarget] {
        for request in ["restore alpha 3", "diff alpha 3", "file alpha 3 a"] {
            assert_eq!(scene.broken_by(request, refused(code)), keeps, "{request}");
        }
        assert_eq!(scene.broken_by("restore alpha 2", refused(code)), "restore/target");
    }
}

#[test]
fn restore_leaves_open_which_pre_restore_checkpoint_is_evicted() {
    let mut scene = Scene::without("list.stats", "a=1");
    scene.world.settings.max_snapshots = 3;
    scene.perform("take alpha");
    for files in ["a=2", "a=3", "a=4"] {
        scene.edit(files);
        scene.perform(&format!("restore alpha {}", checkpoint_id(1)));
    }
    // The second or the third may be gone, or both.
    assert_eq!(listed(&scene), [1, 3, 4]);
    for request in ["restore alpha 2", "diff alpha 3"] {
        assert!(matches!(scene.allows(request), Allowed::Unknown(_)), "{request}");
    }
    assert!(matches!(
        scene.allows(&format!("restore alpha {}", checkpoint_id(3))),
        Allowed::Unknown(_)
    ));
    assert!(matches!(
        scene.allows(&format!("restore alpha {}", checkpoint_id(1))),
        Allowed::Restore(_)
    ));
    let entry = |number: usize, checkpoint: usize| Listed {
        number,
        id: checkpoint_id(checkpoint),
        time: scene.world.seconds(),
        reason: "take alpha".into(),
        stats: None,
    };
    for kept in [&[4, 3, 1][..], &[4, 2, 1], &[4, 1]] {
        let entries = kept.iter().enumerate().map(|(index, number)| entry(index + 1, *number));
        let answer = Answer::Listed(entries.collect());
        assert_eq!(scene.broken_by("list alpha", answer.clone()), "", "{kept:?}");
        let mut learned = Scene { world: scene.world.clone(), ids: scene.ids };
        learned.learn_answer("list alpha", answer);
        assert!(listed(&learned).iter().eq(kept.iter().rev()));
        assert!(matches!(learned.allows("restore alpha 2"), Allowed::Restore(_)));
    }
    for (kept, rule) in [(&[4, 3, 2, 1][..], "list/complete"), (&[4, 3, 2], "list/complete")] {
        let entries = kept.iter().enumerate().map(|(index, number)| entry(index + 1, *number));
        let found = scene.broken_by("list alpha", Answer::Listed(entries.collect()));
        assert!(found.contains(rule), "{kept:?}: {found}");
    }
}

#[test]
fn label_target_is_unknown_while_eviction_is_undecided() {
    for labels in [None, Some("label")] {
        let mut scene =
            Scene::with_capabilities(CAPABILITIES.into_iter().chain(labels).collect(), "a=1");
        scene.world.settings.max_snapshots = 3;
        scene.perform("take alpha");
        for files in ["a=2", "a=3", "a=4"] {
            scene.edit(files);
            scene.perform(&format!("restore alpha {}", checkpoint_id(1)));
        }
        let is_unknown = |target: &str| {
            matches!(scene.allows(&format!("restore alpha {target}")), Allowed::Unknown(_))
        };
        assert_eq!(is_unknown("no-label"), labels.is_some());
        // The last pre-restore checkpoint was not evicted, and may be evicted next.
        assert!(is_unknown(&checkpoint_id(4)) && !is_unknown(&checkpoint_id(1)));
    }
}

#[test]
fn restore_keeps_undo_makes_the_last_three_unlisted_checkpoints_restorable_by_id() {
    let capabilities = CAPABILITIES.into_iter().chain(["restore.keeps_undo"]).collect();
    let mut scene = Scene::with_capabilities(capabilities, "a=1");
    scene.world.settings.max_snapshots = 1;
    scene.perform("take alpha");
    for round in 0..5 {
        scene.edit(&format!("a=x{round}"));
        scene.perform(&format!("restore alpha {}", checkpoint_id(1)));
    }
    assert_eq!(listed(&scene), [1, 6]);
    let refusal = || refused(Code::UnknownCheckpoint);
    for number in 3..=5 {
        let request = format!("restore alpha {}", checkpoint_id(number));
        assert!(matches!(scene.allows(&request), Allowed::Restore(_)), "{request}");
        assert_eq!(scene.broken_by(&request, refusal()), "restore/keeps-undo");
        assert_eq!(
            scene.broken_by(&format!("diff alpha {}", checkpoint_id(number)), refusal()),
            "restore/keeps-undo"
        );
    }
    // One more may be kept, and any may be gone once space was freed.
    assert!(matches!(
        scene.allows(&format!("restore alpha {}", checkpoint_id(2))),
        Allowed::Unknown(_)
    ));
    scene.world.settings.max_total_bytes = 1_000;
    scene.perform("take alpha");
    assert!(matches!(
        scene.allows(&format!("restore alpha {}", checkpoint_id(5))),
        Allowed::Unknown(_)
    ));
}

// rule: list/complete
#[test]
fn restore_of_a_store_with_a_consumed_stack_removes_the_target_and_all_newer_ones_from_the_list() {
    let claims = CAPABILITIES.into_iter().filter(|claim| *claim != "restore.safety");
    let claims = claims.chain(["restore.consumes"]).collect();
    let mut scene = Scene::with_capabilities(claims, "a=1");
    for files in ["a=2", "a=3", "a=4"] {
        scene.perform("take alpha");
        scene.edit(files);
    }
    let before = scene.correct_observation("list alpha").answer;
    scene.perform("restore alpha 2");
    assert_eq!(listed(&scene), [1]);
    assert_eq!(scene.broken_by("list alpha", before), "list/complete");
    let consumed = format!("restore alpha {}", checkpoint_id(2));
    assert_eq!(scene.broken_by(&consumed, refused(Code::UnknownCheckpoint)), "");
}
