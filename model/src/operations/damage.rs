//! Requests to a damaged store: what a request reports as stored must be stored, and intact, where git
//! reads it.
//!
//! This module judges nothing else. The module of each operation judges the rest: if a request needs no
//! lost object, it must work as before the damage.

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

/// Compares the lost objects after a request with what the request reports as stored, and whether git
/// reads the store.
///
/// Implements [`rules::CAPTURE_STORED`] and [`rules::MAINTENANCE_HEALS`] (decides).
pub(super) fn compare(world: &World, allowed: &Allowed, seen: &Observation, checks: &mut Checks) {
    if let Some(refused) = &seen.refused_files {
        checks.check(Judge::Git, &rules::MAINTENANCE_HEALS, refused.is_empty(), || {
            let expected = "a store that git reads after a checkpoint";
            let found = format!("git refuses the store because of {}", refused.join(", "));
            Mismatch::new("git refuses the store", expected, found)
        });
    }
    let Some(lost) = &seen.lost else { return };
    let Answer::Protected(projects) = &seen.answer else {
        return checks.join(compare_stored(world, allowed, &seen.answer, lost));
    };
    for (request, answer) in projects.iter().map(tool::automatic) {
        checks.join(compare_stored(world, &world.allows(&request), &answer, lost));
    }
}

fn compare_stored(
    world: &World,
    allowed: &Allowed,
    answer: &Answer,
    lost: &BTreeSet<Object>,
) -> Checks {
    let mut checks = Checks::default();
    let Some(tree) = reported_tree(world, allowed, answer) else { return checks };
    let unchanged = matches!(answer, Answer::Taken { outcome: CheckpointOutcome::Unchanged, .. });
    let missing = first_missing(tree, lost)
        .or_else(|| unchanged.then(|| no_checkpoint(world, allowed, tree, lost)).flatten());
    let needed = contents_and_folders(tree).iter().any(|object| world.lost().contains(object));
    if !needed && missing.is_none() {
        return checks;
    }
    checks.check(Judge::Git, &rules::CAPTURE_STORED, missing.is_none(), || {
        let found = format!("{} is not intact in the store", missing.unwrap_or_default());
        let symptom = format!("{}, and not stored", word(answer));
        Mismatch::new(symptom, "every object of the checkpoint stored and intact", found)
            .kind(Kind::Dishonest)
    });
    checks
}

/// The tree that the answer reports as stored, in a new checkpoint or in an existing one.
fn reported_tree<'a>(world: &World, allowed: &'a Allowed, answer: &Answer) -> Option<&'a Tree> {
    use CheckpointOutcome::{Created, Unchanged};
    let captured: &Captured = match (allowed, answer) {
        (
            Allowed::Checkpoint(checkpoint),
            Answer::Taken { outcome: Created { .. } | Unchanged, .. },
        ) => checkpoint.captured.as_ref()?,
        (Allowed::Restore(restore), Answer::Restored(Restored { safety: Some(_), .. })) => {
            &restore.before
        }
        // No checkpoint is taken where the newest already holds this state.
        (Allowed::Restore(restore), Answer::Restored(_)) if restore.is_held_by_newest(world) => {
            &restore.before
        }
        _ => return None,
    };
    Some(&captured.tree)
}

/// The description of the first lost object that a checkpoint of this tree needs.
fn first_missing(tree: &Tree, lost: &BTreeSet<Object>) -> Option<String> {
    let needed = contents_and_folders(tree);
    let missing = needed.intersection(lost).next()?;
    let path = missing.paths_in("", tree).into_iter().next().unwrap_or_default();
    Some(match missing {
        Object::Content(_) => format!("the content of {path}"),
        _ => format!("the folder that {path} is in"),
    })
}

/// The description of the missing checkpoint, where nothing changed and each checkpoint that holds this tree is
/// lost. That no checkpoint ever held it is no matter of what is stored.
fn no_checkpoint(
    world: &World,
    allowed: &Allowed,
    tree: &Tree,
    lost: &BTreeSet<Object>,
) -> Option<String> {
    let Allowed::Checkpoint(expected) = allowed else { return None };
    let history = world.history(&expected.project);
    let mut holding = history
        .iter()
        .filter(|checkpoint| {
            checkpoint.captured.as_ref().is_none_or(|captured| captured.tree == *tree)
        })
        .peekable();
    let is_held = holding.peek().is_some();
    let is_intact = |id: &str| !lost.contains(&Object::Checkpoint(id.to_owned()));
    let is_missing =
        is_held && !tree.is_empty() && !holding.any(|checkpoint| is_intact(&checkpoint.id));
    is_missing.then(|| "a checkpoint of this state".to_owned())
}
