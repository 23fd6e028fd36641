//! The checkpoints of a project, newest first: first its history, with the pre-restore checkpoints that the
//! list hides, then the checkpoints that are kept only because they are pinned. If a commit is damaged, it is
//! skipped, and the project's metadata names the checkpoints before it.

use crate::agent_state::Stored;
use crate::error::Result;
use crate::store::commit::{self, Checkpoint};
use crate::store::metadata::{self, Recorded};
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use crate::store::pre_restore::{self, PreRestoreRef};
use crate::store::shallow::{self, Boundaries};
use crate::store::{Store, ref_recovery};
use std::cmp::Reverse;

/// The newest `limit` checkpoints of the project of that hash. Pre-restore checkpoints at the front,
/// unlisted checkpoints, and older checkpoints that only their pins keep do not count.
///
/// # Errors
/// A damaged ref whose checkpoint the metadata does not name either; a disk that fails.
pub fn newest_first(
    store: &Store<'_>,
    objects: &Objects<'_>,
    hash: &str,
    limit: usize,
) -> Result<Vec<Checkpoint>> {
    // Read before the ref: if another process takes a checkpoint meanwhile, the oldest one becomes a
    // boundary, which would hide one checkpoint too many below the old ref.
    let boundaries = shallow::read(store.disk, &store.path)?;
    let tip = ref_recovery::newest(store, objects, hash)?;
    let pre_restore = pre_restore::all(store.disk, &store.path, hash)?;
    let (listed, unlisted): (Vec<_>, Vec<_>) =
        pre_restore.into_iter().partition(|(place, _)| place.is_listed);
    let metadata = || metadata::read(store.disk, &store.path, hash);
    let recorded = || metadata().map_or_else(Vec::new, |metadata| metadata.checkpoints);
    let walk_limit = limit.saturating_add(listed.len() + 1);
    let mut checkpoints = walk(objects, tip, &boundaries, &recorded, walk_limit)?;
    // A pre-restore checkpoint is inserted in front of its parent, or at the end if the parent is not
    // listed.
    let insert =
        |checkpoints: &mut Vec<Checkpoint>, (place, id): (PreRestoreRef, Oid)| -> Result<()> {
            if checkpoints.iter().all(|checkpoint| checkpoint.id != id) {
                let is_parent = |checkpoint: &Checkpoint| Some(checkpoint.id) == place.parent;
                let parent = checkpoints.iter().position(is_parent);
                let checkpoint = read_pre_restore(objects, &boundaries, place, id)?;
                checkpoints.insert(parent.unwrap_or(checkpoints.len()), checkpoint);
            }
            Ok(())
        };
    listed.into_iter().try_for_each(|listed| insert(&mut checkpoints, listed))?;
    // A damaged checkpoint may be a pre-restore checkpoint, and must not hide any older checkpoint.
    // rule: restore/keeps-history
    // rule: maintenance/damage
    let may_be_pre_restore =
        |checkpoint: &&Checkpoint| checkpoint.rollback.is_some() || checkpoint.damage.is_some();
    let uncounted = checkpoints.iter().take_while(may_be_pre_restore).count();
    checkpoints.truncate(limit.saturating_add(uncounted));
    // rule: agent/pinned
    let pinned = Stored::of(store, hash).pinned()?;
    // rule: restore/keeps-undo: decides
    let mut unlisted = unlisted.into_iter().filter(|(_, id)| !pinned.contains_key(id));
    unlisted.try_for_each(|unlisted| insert(&mut checkpoints, unlisted))?;
    for checkpoint in &mut checkpoints {
        checkpoint.is_pinned = pinned.contains_key(&checkpoint.id);
    }
    let is_missing = |id: Oid| checkpoints.iter().all(|checkpoint| checkpoint.id != id);
    let mut pinned_only = Vec::new();
    for (id, number) in pinned.into_iter().filter(|(id, _)| is_missing(*id)) {
        pinned_only.push((number, read_pinned(objects, &boundaries, id)?));
    }
    if pinned_only.iter().any(|(number, _)| *number == 0) {
        // Those with the number 0 were not evicted yet, since the limit was changed: the complete
        // history gives their order.
        let history = walk(objects, tip, &boundaries, &recorded, usize::MAX)?;
        let age = |id: Oid| {
            history.iter().position(|checkpoint| checkpoint.id == id).unwrap_or(usize::MAX)
        };
        pinned_only.sort_by_key(|(_, checkpoint)| age(checkpoint.id));
    }
    pinned_only.sort_by_key(|(number, _)| Reverse(if *number == 0 { u64::MAX } else { *number }));
    checkpoints.extend(pinned_only.into_iter().map(|(_, checkpoint)| checkpoint));
    Ok(checkpoints)
}

/// Reads a checkpoint that only its pin keeps, damaged or not.
fn read_pinned(objects: &Objects<'_>, boundaries: &Boundaries, id: Oid) -> Result<Checkpoint> {
    let checkpoint = match commit::read(objects, id) {
        Err(error) if error.is_damage() => damaged(id, error.cause(), &[]),
        read => read?,
    };
    let parent = checkpoint.parent.filter(|_| !boundaries.contains(&id));
    Ok(Checkpoint { parent, is_pinned: true, pinned_only: true, ..checkpoint })
}

/// Reads a pre-restore checkpoint, damaged or not.
fn read_pre_restore(
    objects: &Objects<'_>,
    boundaries: &Boundaries,
    place: PreRestoreRef,
    id: Oid,
) -> Result<Checkpoint> {
    let checkpoint = match commit::read(objects, id) {
        Err(error) if error.is_damage() => damaged(id, error.cause(), &[]),
        read => read?,
    };
    let parent = checkpoint.parent.filter(|_| !boundaries.contains(&id));
    Ok(Checkpoint {
        parent,
        rollback: Some(place.number),
        pre_restore_ref: Some(place),
        ..checkpoint
    })
}

/// The newest `limit` checkpoints from `tip` back. A checkpoint that is a boundary is the last, and is
/// returned without a parent. `recorded` is only called if a commit is damaged; if it does not name
/// the damaged checkpoint, the history ends there.
// rule: list/newest-first
// rule: list/complete
// rule: maintenance/damage: decides
fn walk(
    objects: &Objects<'_>,
    tip: Option<Oid>,
    boundaries: &Boundaries,
    recorded: &dyn Fn() -> Vec<Recorded>,
    limit: usize,
) -> Result<Vec<Checkpoint>> {
    let mut checkpoints = Vec::new();
    let mut next = tip;
    while let Some(id) = next.filter(|_| checkpoints.len() < limit) {
        let mut checkpoint = match commit::read(objects, id) {
            Err(error) if error.is_damage() => damaged(id, error.cause(), &recorded()),
            read => read?,
        };
        checkpoint.parent = checkpoint.parent.filter(|_| !boundaries.contains(&id));
        next = checkpoint.parent;
        checkpoints.push(checkpoint);
    }
    Ok(checkpoints)
}

/// A checkpoint that cannot be read, with the parent and time that the metadata names.
fn damaged(id: Oid, why: String, recorded: &[Recorded]) -> Checkpoint {
    let position = recorded.iter().position(|recorded| recorded.has_id(id));
    let parent = position.and_then(|position| recorded.get(position + 1)).and_then(Recorded::id);
    Checkpoint {
        id,
        tree: Oid::ZERO,
        // Metadata that names a checkpoint twice must not make it its own parent.
        parent: parent.filter(|parent| *parent != id),
        rollback: None,
        pre_restore_ref: None,
        is_pinned: false,
        pinned_only: false,
        seconds: position.map_or(0, |position| recorded[position].seconds),
        reason: String::new(),
        project: None,
        damage: Some(why),
    }
}
