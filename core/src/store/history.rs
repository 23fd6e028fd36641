//! The checkpoints of a project, newest first: its history with the pre-restore ones that stand
//! beside it, listed or not, and after it the pinned ones that a limit would have dropped. A damaged
//! commit is gone around: the metadata of the project names those before it.

use crate::error::Result;
use crate::store::commit::{self, Checkpoint};
use crate::store::metadata::{self, Recorded};
use crate::store::objects::Objects;
use crate::store::pins;
use crate::store::rollbacks::{self, Place};
use crate::store::shallow::{self, Boundaries};
use crate::store::{Store, ref_recovery};
use git2::Oid;
use std::cmp::Reverse;

/// The newest `limit` checkpoints of the project of that hash; pre-restore ones that are newer than
/// any other do not count, nor do pinned ones that are older than all those, nor those that are not
/// listed.
///
/// # Errors
/// A ref that was lost, and that the metadata does not name either; a disk that fails.
pub fn newest_first(
    store: &Store<'_>,
    objects: &Objects<'_>,
    hash: &str,
    limit: usize,
) -> Result<Vec<Checkpoint>> {
    // Before the ref: a checkpoint that another process takes meanwhile makes the oldest a boundary,
    // which with the ref as it was would hide one more.
    let boundaries = shallow::read(store.disk, &store.path)?;
    let tip = ref_recovery::newest(store, objects, hash)?;
    let beside = rollbacks::all(store.disk, &store.path, hash)?;
    let (beside, unlisted): (Vec<_>, Vec<_>) =
        beside.into_iter().partition(|(place, _)| place.is_listed);
    let recorded = || metadata::read(store.disk, &store.path, hash);
    let recorded = || recorded().map_or_else(Vec::new, |known| known.checkpoints);
    let most = limit.saturating_add(beside.len() + 1);
    let mut all = from(objects, tip, &boundaries, &recorded, most)?;
    // Each stands before the newest checkpoint that it followed and that was no such one, or at the
    // end where that is out of sight.
    let insert = |all: &mut Vec<Checkpoint>, (place, id): (Place, Oid)| -> Result<()> {
        if all.iter().all(|one| one.id != id) {
            let parent = all.iter().position(|one| Some(one.id) == place.parent);
            all.insert(parent.unwrap_or(all.len()), read(objects, &boundaries, place, id)?);
        }
        Ok(())
    };
    beside.into_iter().try_for_each(|beside| insert(&mut all, beside))?;
    // Whether a damaged one is a pre-rollback one, nobody knows, and it must hide none before it.
    // rule: restore/keeps-history
    // rule: maintenance/damage
    let may_be_safety = |one: &&Checkpoint| one.rollback.is_some() || one.damage.is_some();
    let safety = all.iter().take_while(may_be_safety).count();
    all.truncate(limit.saturating_add(safety));
    // rule: agent/pinned
    let pinned = pins::all(store.disk, &store.path, hash)?;
    // rule: restore/keeps-undo
    let mut unlisted = unlisted.into_iter().filter(|(_, id)| !pinned.contains_key(id));
    unlisted.try_for_each(|unlisted| insert(&mut all, unlisted))?;
    for one in &mut all {
        one.is_pinned = pinned.contains_key(&one.id);
    }
    let mut aside = Vec::new();
    for (id, number) in pinned.into_iter().filter(|(id, _)| all.iter().all(|one| one.id != *id)) {
        aside.push((number, read_aside(objects, &boundaries, id)?));
    }
    if aside.iter().any(|(number, _)| *number == 0) {
        // Nothing was dropped since the limit became another one: the history has their order.
        let whole = from(objects, tip, &boundaries, &recorded, usize::MAX)?;
        let age = |id: Oid| whole.iter().position(|one| one.id == id).unwrap_or(usize::MAX);
        aside.sort_by_key(|(_, one)| age(one.id));
    }
    aside.sort_by_key(|(number, _)| Reverse(if *number == 0 { u64::MAX } else { *number }));
    all.extend(aside.into_iter().map(|(_, one)| one));
    Ok(all)
}

/// A pinned checkpoint that is out of sight of the history, damaged or not.
fn read_aside(objects: &Objects<'_>, boundaries: &Boundaries, id: Oid) -> Result<Checkpoint> {
    let checkpoint = match commit::read(objects, id) {
        Err(error) if error.is_damage() => around(id, error.cause(), &[]),
        read => read?,
    };
    let parent = checkpoint.parent.filter(|_| !boundaries.contains(&id));
    Ok(Checkpoint { parent, is_pinned: true, is_aside: true, ..checkpoint })
}

/// A pre-rollback checkpoint, damaged or not.
fn read(
    objects: &Objects<'_>,
    boundaries: &Boundaries,
    place: Place,
    id: Oid,
) -> Result<Checkpoint> {
    let checkpoint = match commit::read(objects, id) {
        Err(error) if error.is_damage() => around(id, error.cause(), &[]),
        read => read?,
    };
    let parent = checkpoint.parent.filter(|_| !boundaries.contains(&id));
    Ok(Checkpoint { parent, rollback: Some(place.number), beside: Some(place), ..checkpoint })
}

/// The newest `limit` checkpoints from `tip` back. One that is a boundary is the last, and reads as
/// having no parent. `recorded` is only asked where a commit is damaged; where it does not name
/// that, the history ends there.
// rule: list/newest-first
// rule: list/complete
// rule: maintenance/damage
fn from(
    objects: &Objects<'_>,
    tip: Option<Oid>,
    boundaries: &Boundaries,
    recorded: &dyn Fn() -> Vec<Recorded>,
    limit: usize,
) -> Result<Vec<Checkpoint>> {
    let mut found = Vec::new();
    let mut next = tip;
    while let Some(id) = next.filter(|_| found.len() < limit) {
        let mut checkpoint = match commit::read(objects, id) {
            Err(error) if error.is_damage() => around(id, error.cause(), &recorded()),
            read => read?,
        };
        checkpoint.parent = checkpoint.parent.filter(|_| !boundaries.contains(&id));
        next = checkpoint.parent;
        found.push(checkpoint);
    }
    Ok(found)
}

/// What the metadata says of a checkpoint that cannot be read.
fn around(id: Oid, why: String, recorded: &[Recorded]) -> Checkpoint {
    let own = recorded.iter().position(|one| one.is(id));
    let before = own.and_then(|own| recorded.get(own + 1)).and_then(Recorded::id);
    Checkpoint {
        id,
        tree: Oid::ZERO_SHA1,
        // A line that names it twice must not lead back to it.
        parent: before.filter(|before| *before != id),
        rollback: None,
        beside: None,
        is_pinned: false,
        is_aside: false,
        seconds: own.map_or(0, |own| recorded[own].seconds),
        reason: String::new(),
        project: None,
        damage: Some(why),
    }
}
