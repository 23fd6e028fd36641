//! What a damaged store must still do: what a request says that it stored is stored, whole.
//!
//! What else it must do is with each operation: whatever needs nothing of what is lost is as before.

use super::tool;
use crate::allowed::Allowed;
use crate::answer::{Answer, CheckpointOutcome, Restored};
use crate::capture::Captured;
use crate::object::{Object, contents_and_folders};
use crate::observation::Observation;
use crate::rules;
use crate::tree::Tree;
use crate::verdict::{Checks, Judge, Kind, Mismatch, word};
use crate::world::World;
use std::collections::BTreeSet;

/// Compares what is not whole after a request with what that says is stored.
///
/// Implements [`rules::CAPTURE_STORED`].
pub(super) fn compare(world: &World, allowed: &Allowed, seen: &Observation, checks: &mut Checks) {
    let Some(lost) = &seen.lost else { return };
    let Answer::Protected(all) = &seen.answer else {
        return compare_one(world, allowed, &seen.answer, lost, checks);
    };
    for (request, answer) in all.iter().map(tool::automatic) {
        compare_one(world, &world.allows(&request), &answer, lost, checks);
    }
}

fn compare_one(
    world: &World,
    allowed: &Allowed,
    answer: &Answer,
    lost: &BTreeSet<Object>,
    checks: &mut Checks,
) {
    let Some(tree) = said_to_be_stored(world, allowed, answer) else { return };
    let unchanged = matches!(answer, Answer::Taken { outcome: CheckpointOutcome::Unchanged, .. });
    let missing = what_is_missing(tree, lost)
        .or_else(|| unchanged.then(|| no_checkpoint(world, allowed, tree, lost)).flatten());
    let needed = contents_and_folders(tree).iter().any(|object| world.lost().contains(object));
    if !needed && missing.is_none() {
        return;
    }
    checks.check(Judge::Git, &rules::CAPTURE_STORED, missing.is_none(), || {
        let found = format!("{} is not whole in the store", missing.unwrap_or_default());
        let symptom = format!("{}, and not stored", word(answer));
        Mismatch::new(symptom, "every object of the checkpoint stored and whole", found)
            .kind(Kind::Dishonest)
    });
}

/// What a checkpoint holds by what was answered, a new one or the one that stands for it.
fn said_to_be_stored<'a>(world: &World, allowed: &'a Allowed, answer: &Answer) -> Option<&'a Tree> {
    use CheckpointOutcome::{Created, Unchanged};
    let captured: &Captured = match (allowed, answer) {
        (Allowed::Checkpoint(due), Answer::Taken { outcome: Created { .. } | Unchanged, .. }) => {
            due.captured.as_ref()?
        }
        (Allowed::Restore(due), Answer::Restored(Restored { safety: Some(_), .. })) => &due.before,
        // None is taken where the newest is this state already.
        (Allowed::Restore(due), Answer::Restored(_)) if due.is_held_by_newest(world) => &due.before,
        _ => return None,
    };
    Some(&captured.tree)
}

/// The first thing that a checkpoint of this would need and that is lost.
fn what_is_missing(tree: &Tree, lost: &BTreeSet<Object>) -> Option<String> {
    let needed = contents_and_folders(tree);
    let missing = needed.intersection(lost).next()?;
    let path = missing.paths_in("", tree).into_iter().next().unwrap_or_default();
    Some(match missing {
        Object::Content(_) => format!("what {path} holds"),
        _ => format!("the folder that {path} is in"),
    })
}

/// What is said of the newest checkpoint where nothing changed since and no whole one holds that.
fn no_checkpoint(
    world: &World,
    allowed: &Allowed,
    tree: &Tree,
    lost: &BTreeSet<Object>,
) -> Option<String> {
    let Allowed::Checkpoint(due) = allowed else { return None };
    let all = world.history(&due.project);
    let mut same = all
        .iter()
        .filter(|one| one.captured.as_ref().is_none_or(|captured| captured.tree == *tree));
    let is_whole = |id: &str| !lost.contains(&Object::Checkpoint(id.to_owned()));
    let none_is = !tree.is_empty() && !same.any(|one| is_whole(&one.id));
    none_is.then(|| "the checkpoint that would stand for this".to_owned())
}
