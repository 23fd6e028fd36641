//! What stays of a history however often somebody rolls back.

use super::*;
use crate::world::Checkpoint;
use pretty_assertions::assert_eq;

/// Three checkpoints of `alpha`, which are as many as may stay, and something else there now.
fn full() -> Scene {
    let mut scene = Scene::with("a=1");
    scene.world.settings.max_snapshots = 3;
    for files in ["a=2", "a=3", "a=4"] {
        scene.ask("take alpha");
        scene.put(files);
    }
    scene
}

/// The numbers of the checkpoints that are listed, oldest first.
fn listed(scene: &Scene) -> Vec<usize> {
    let number = |one: &Checkpoint| one.id.split('f').next().unwrap().parse().unwrap();
    scene.world.listed(b"work/alpha").iter().map(number).collect()
}

#[test]
fn a_restore_pushes_nothing_out_and_the_next_checkpoint_does() {
    let mut scene = full();
    scene.ask("restore alpha 3");
    assert_eq!(listed(&scene), [1, 2, 3, 4]);
    scene.put("a=5");
    scene.ask("take alpha");
    assert_eq!(listed(&scene), [3, 4, 5]);
    scene.put("a=6");
    scene.ask("restore alpha 3");
    // The older one made room.
    assert_eq!(listed(&scene), [3, 5, 6]);
}

#[test]
fn however_often_somebody_rolls_back_the_work_and_the_target_stay() {
    let mut scene = full();
    for round in 0..9 {
        scene.put(&format!("a=x{round}"));
        scene.ask(&format!("restore alpha {}", id(1)));
        assert_eq!(listed(&scene), [1, 2, 3, 4 + round]);
    }
    // Back and forth between two of them that restores took.
    for round in 0..9 {
        scene.put(&format!("a=y{round}"));
        scene.ask("restore alpha 1");
        assert_eq!(listed(&scene), [1, 2, 3, 12 + round, 13 + round]);
    }
}

/// The rules broken by a list of `alpha` of these numbers, newest first.
fn wrong(scene: &Scene, numbers: &[usize]) -> String {
    let mut seen = scene.right("list alpha");
    let Answer::Listed(all) = &mut seen.answer else { panic!("no list") };
    all.retain(|one| numbers.iter().any(|number| id(*number) == one.id));
    all.iter_mut().enumerate().for_each(|(index, one)| one.number = index + 1);
    assert_eq!(all.len(), numbers.len());
    all.iter_mut().for_each(|one| one.stats = None);
    scene.broken(&seen)
}

#[test]
fn who_pushes_something_out_is_held_to_that_rule() {
    let keeps = "restore/keeps-history";
    let mut scene = Scene::without("list.stats", "a=1");
    scene.world.settings.max_snapshots = 2;
    scene.ask("take alpha");
    scene.put("a=2");
    scene.ask("take alpha");
    scene.put("a=3");
    // Who lost something before need not have lost it to a restore.
    let mut unseen = Scene { world: scene.world.clone(), ids: scene.ids };
    unseen.ask("restore alpha 2");
    assert_eq!(wrong(&unseen, &[3, 2]), "list/complete");
    scene.ask("list alpha");
    scene.ask("restore alpha 2");
    assert_eq!(wrong(&scene, &[3, 2, 1]), "");
    assert_eq!(wrong(&scene, &[3, 2]), keeps);
    assert_eq!(wrong(&scene, &[3, 1]), keeps);
    // Who lists fewer than may stay in any case lost more than a restore pushes out.
    assert!(wrong(&scene, &[3]).starts_with("list/complete"));
    for code in [Code::UnknownCheckpoint, Code::BadTarget] {
        for asked in ["restore alpha 3", "diff alpha 3", "file alpha 3 a"] {
            assert_eq!(scene.answered(asked, refused(code)), keeps, "{asked}");
        }
        assert_eq!(scene.answered("restore alpha 2", refused(code)), "restore/target");
    }
}

#[test]
fn which_of_those_that_restores_took_makes_room_is_for_nobody_to_say() {
    let mut scene = Scene::without("list.stats", "a=1");
    scene.world.settings.max_snapshots = 3;
    scene.ask("take alpha");
    for files in ["a=2", "a=3", "a=4"] {
        scene.put(files);
        scene.ask(&format!("restore alpha {}", id(1)));
    }
    // The second or the third may be gone, or both.
    assert_eq!(listed(&scene), [1, 3, 4]);
    for asked in ["restore alpha 2", "diff alpha 3"] {
        assert!(matches!(scene.allows(asked), Allowed::Unknown), "{asked}");
    }
    assert!(matches!(scene.allows(&format!("restore alpha {}", id(3))), Allowed::Unknown));
    assert!(matches!(scene.allows(&format!("restore alpha {}", id(1))), Allowed::Restore(_)));
    let entry = |number: usize, id: usize| Listed {
        number,
        id: super::id(id),
        time: scene.world.seconds(),
        reason: "take alpha".into(),
        stats: None,
    };
    for kept in [&[4, 3, 1][..], &[4, 2, 1], &[4, 1]] {
        let entries = kept.iter().enumerate().map(|(index, id)| entry(index + 1, *id));
        let answer = Answer::Listed(entries.collect());
        assert_eq!(scene.answered("list alpha", answer.clone()), "", "{kept:?}");
        let mut other = Scene { world: scene.world.clone(), ids: scene.ids };
        other.told("list alpha", answer);
        assert!(listed(&other).iter().eq(kept.iter().rev()));
        assert!(matches!(other.allows("restore alpha 2"), Allowed::Restore(_)));
    }
    for (kept, rule) in [(&[4, 3, 2, 1][..], "list/complete"), (&[4, 3, 2], "list/complete")] {
        let entries = kept.iter().enumerate().map(|(index, id)| entry(index + 1, *id));
        let found = scene.answered("list alpha", Answer::Listed(entries.collect()));
        assert!(found.contains(rule), "{kept:?}: {found}");
    }
}

#[test]
fn while_it_is_open_which_made_room_a_label_is_in_doubt_and_what_can_be_none_is_not() {
    for labels in [None, Some("label")] {
        let mut scene = Scene::able(CAPABILITIES.into_iter().chain(labels).collect(), "a=1");
        scene.world.settings.max_snapshots = 3;
        scene.ask("take alpha");
        for files in ["a=2", "a=3", "a=4"] {
            scene.put(files);
            scene.ask(&format!("restore alpha {}", id(1)));
        }
        let unknown = |target: &str| {
            matches!(scene.allows(&format!("restore alpha {target}")), Allowed::Unknown)
        };
        assert_eq!(unknown("no-label"), labels.is_some());
        // The one that the last restore took is none of those that may be gone, and may go next.
        assert!(unknown(&id(4)) && !unknown(&id(1)));
    }
}

#[test]
fn keeps_undo_lets_the_last_three_that_are_not_listed_be_restored_by_their_ids() {
    let has = CAPABILITIES.into_iter().chain(["restore.keeps_undo"]).collect();
    let mut scene = Scene::able(has, "a=1");
    scene.world.settings.max_snapshots = 1;
    scene.ask("take alpha");
    for round in 0..5 {
        scene.put(&format!("a=x{round}"));
        scene.ask(&format!("restore alpha {}", id(1)));
    }
    assert_eq!(listed(&scene), [1, 6]);
    let refusal = || refused(Code::UnknownCheckpoint);
    for number in 3..=5 {
        let asked = format!("restore alpha {}", id(number));
        assert!(matches!(scene.allows(&asked), Allowed::Restore(_)), "{asked}");
        assert_eq!(scene.answered(&asked, refusal()), "restore/keeps-undo");
        assert_eq!(
            scene.answered(&format!("diff alpha {}", id(number)), refusal()),
            "restore/keeps-undo"
        );
    }
    // One more may be kept, and what was freed since may be gone.
    assert!(matches!(scene.allows(&format!("restore alpha {}", id(2))), Allowed::Unknown));
    scene.world.settings.max_total_bytes = 1_000;
    scene.ask("take alpha");
    assert!(matches!(scene.allows(&format!("restore alpha {}", id(5))), Allowed::Unknown));
}
