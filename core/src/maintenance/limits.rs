//! Keeps a project to its newest checkpoints and the store below its total size, after a checkpoint
//! was taken. A failure here does not fail the checkpoint; the next one tries again.
//!
//! Dropping a checkpoint writes one small file. Freeing its space reads the whole store, so it
//! waits until as many dropped checkpoints of the project are stored as it may keep, or until the
//! ones just dropped hold more than a little that the others do not.
//!
//! Only a new checkpoint of the work drops others. One that is taken before a restore makes older
//! ones of its kind make room; see docs/decisions/0016-rollbacks-beside-the-history.md.

use crate::disk::Disk;
use crate::environment::{Config, MEBIBYTE};
use crate::error::{Error, Result};
use crate::maintenance::reclaim::reclaim;
use crate::maintenance::total::keep_total;
use crate::store::commit::{self, Checkpoint};
use crate::store::envelopes::Envelopes;
use crate::store::object::Kind;
use crate::store::objects::Objects;
use crate::store::rollbacks::{self, Place};
use crate::store::shallow::{self, Boundaries};
use crate::store::{Store, history, metadata, pins, ref_recovery, snapshot, undo, usage};
use git2::Oid;
use std::collections::HashSet;
use std::path::Path;

/// The space of dropped files of more bytes than this is freed at once.
const LEFT_BYTES_MAX: u64 = MEBIBYTE;

/// Drops all but the newest `most` checkpoints of a project whose lock the caller holds, and
/// returns whether their space is to be freed now. Where this fails, only more of them are stored
/// than need be: the list ends at the same place.
pub fn keep_newest(store: &Store<'_>, objects: &Objects<'_>, hash: &str, most: usize) -> bool {
    try_keep_newest(store, objects, hash, most).unwrap_or_else(|error| {
        tracing::debug!("the limit of {hash} is not kept as it should be: {error}");
        false
    })
}

/// Frees the space of dropped checkpoints, where that is `due`, and keeps the store below its total
/// size. The caller holds no lock of the store.
// rule: limit/newest-remain
pub fn after_checkpoint(disk: &dyn Disk, base: &Path, config: &Config, due: bool) {
    let freed = if due { reclaim(disk, base).map(drop) } else { Ok(()) };
    if let Err(error) = freed.and_then(|()| keep_below(disk, base, config.max_total_bytes)) {
        tracing::debug!("the store is larger than it need be until later: {error}");
    }
}

fn keep_below(disk: &dyn Disk, base: &Path, cap: u64) -> Result<()> {
    let exceeds = |store: &Store<'_>| Ok(usage::estimate(store)? > cap);
    if cap == 0 || !Store::open(disk, base)?.as_ref().map_or(Ok(false), exceeds)? {
        return Ok(());
    }
    // Where nothing needs to be dropped, either there is garbage left from before, or the estimate is
    // too high; freeing space settles both.
    keep_total(disk, base, cap, true).map(drop)
}

/// Drops older pre-rollback checkpoints after one was taken before `target` was restored, until no
/// more than `most` checkpoints are left or none of them may go; returns whether their space is to
/// be freed now. The caller holds the project's lock.
// rule: restore/keeps-history
pub fn make_room(
    store: &Store<'_>,
    objects: &Objects<'_>,
    hash: &str,
    most: usize,
    target: Oid,
) -> bool {
    let make_room = || {
        let history = history::newest_first(store, objects, hash, most)?;
        let excess = in_sight(&history).count().saturating_sub(most);
        let may_go = |one: &&Checkpoint| one.id != target && !one.is_pinned;
        let oldest_first = history.iter().rev().filter(may_go);
        let may_go = oldest_first.filter_map(|one| Some((one.beside?, one.id)));
        let dropped: Vec<(Place, Oid)> = may_go.take(excess).collect();
        if dropped.is_empty() {
            return Ok(false);
        }
        let boundaries = shallow::read(store.disk, &store.path)?;
        let waiting = drop_rollbacks(store, objects, hash, &dropped)?;
        let is_dropped = |one: &Checkpoint| dropped.iter().any(|(_, id)| *id == one.id);
        let left: Vec<Checkpoint> = history.into_iter().filter(|one| !is_dropped(one)).collect();
        end_with(store, hash, &left)?;
        forget_envelopes(store, objects, hash, &left)?;
        let oldest = in_sight(&left).filter(|one| one.rollback.is_none()).last();
        oldest.map_or(Ok(false), |oldest| is_due(objects, &boundaries, oldest, most, waiting))
    };
    make_room().unwrap_or_else(|error: Error| {
        tracing::debug!("more of {hash} is kept than need be: {error}");
        false
    })
}

/// Drops these, and returns how many pre-rollback checkpoints were dropped whose space is not freed.
/// One that holds more than a little counts as any number of them.
fn drop_rollbacks(
    store: &Store<'_>,
    objects: &Objects<'_>,
    hash: &str,
    dropped: &[(Place, Oid)],
) -> Result<usize> {
    let mut is_large = false;
    for (place, id) in dropped {
        let tree = |id| commit::read(objects, id).map(|one| one.tree);
        if let (Ok(own), Some(Ok(before))) = (tree(*id), place.parent.map(tree)) {
            is_large |=
                bytes_not_in(objects, own, before).is_ok_and(|bytes| bytes > LEFT_BYTES_MAX);
        }
        rollbacks::remove(store.disk, &store.path, hash, *place)?;
    }
    let mut waiting = dropped.len();
    metadata::change(store.disk, &store.path, hash, |known| {
        known.waiting += dropped.len();
        waiting = known.waiting;
    })?;
    Ok(if is_large { usize::MAX } else { waiting })
}

// rule: limit/newest-remain
fn try_keep_newest(
    store: &Store<'_>,
    objects: &Objects<'_>,
    hash: &str,
    most: usize,
) -> Result<bool> {
    // rule: agent/all-or-none
    if undo::is_noted(store.disk, &store.path, hash)? {
        return Ok(false);
    }
    let boundaries = shallow::read(store.disk, &store.path)?;
    let listed = history::newest_first(store, objects, hash, most)?;
    if in_sight(&listed).count() < most {
        return Ok(false);
    }
    let has = |id: Oid| listed.iter().any(|one| one.id == id);
    let mut beside = rollbacks::all(store.disk, &store.path, hash)?;
    beside.retain(|(_, id)| !has(*id));
    let waiting = drop_rollbacks(store, objects, hash, &beside)?;
    let oldest = in_sight(&listed).filter(|one| one.rollback.is_none()).last();
    let is_more = !ends(&listed).is_empty() || !beside.is_empty();
    let Some(oldest) = oldest.filter(|_| is_more) else {
        return Ok(false);
    };
    if is_shared(store, objects, hash, oldest)? {
        tracing::debug!("{} is of another project too, where its history goes on", oldest.id);
        return Ok(false);
    }
    end_with(store, hash, &listed)?;
    forget_envelopes(store, objects, hash, &listed)?;
    is_due(objects, &boundaries, oldest, most, waiting)
}

/// The checkpoints that are not only kept since they are pinned.
fn in_sight(listed: &[Checkpoint]) -> impl Iterator<Item = &Checkpoint> {
    listed.iter().filter(|one| !one.is_aside)
}

/// Lets nothing be before these checkpoints of a project, newest first. A pinned one to which the
/// others do not lead any more stands beside them. The caller holds the project's lock.
// rule: agent/pinned
pub fn end_with(store: &Store<'_>, hash: &str, left: &[Checkpoint]) -> Result<()> {
    let mut next = left.first().map(|newest| newest.id);
    let mut reached = HashSet::new();
    while let Some(one) = left.iter().find(|one| Some(one.id) == next && reached.insert(one.id)) {
        next = one.parent;
    }
    let numbers = pins::all(store.disk, &store.path, hash)?;
    let is_loose = |one: &&Checkpoint| one.is_pinned && !reached.contains(&one.id);
    let loose = left.iter().rev().filter(is_loose).map(|one| one.id);
    let new: Vec<Oid> = loose.filter(|id| numbers.get(id) == Some(&0)).collect();
    pins::put_beside(store.disk, &store.path, hash, &new)?;
    let ends = ends(left);
    shallow::change(store.disk, &store.path, |boundaries| boundaries.extend(ends))
}

/// Removes the envelopes of checkpoints that are not listed any more.
fn forget_envelopes(
    store: &Store<'_>,
    objects: &Objects<'_>,
    hash: &str,
    listed: &[Checkpoint],
) -> Result<()> {
    Envelopes::of(store, objects, hash)?.retain(listed)
}

/// Those of the checkpoints whose parent is not among them.
fn ends(listed: &[Checkpoint]) -> Vec<Oid> {
    let has = |parent: Oid| listed.iter().any(|one| one.id == parent);
    let is_end = |one: &&Checkpoint| one.parent.is_some_and(|parent| !has(parent));
    listed.iter().filter(is_end).map(|one| one.id).collect()
}

/// Whether to free space now. Everything before `oldest` is dropped; what lies before one of the old
/// `boundaries` was dropped earlier and still waits, as do so many others that are `waiting`.
// rule: limit/newest-remain
fn is_due(
    objects: &Objects<'_>,
    boundaries: &Boundaries,
    oldest: &Checkpoint,
    most: usize,
    waiting: usize,
) -> Result<bool> {
    let mut was_visible = !boundaries.contains(&oldest.id);
    let mut next = commit::read(objects, oldest.id)?.parent;
    let (mut stored, mut bytes) = (waiting, 0);
    if stored >= most {
        return Ok(true);
    }
    while let Some(id) = next.filter(|id| objects.has(*id)) {
        let dropped = commit::read(objects, id)?;
        if was_visible {
            bytes += bytes_not_in(objects, dropped.tree, oldest.tree)?;
        }
        stored += 1;
        if stored >= most || bytes > LEFT_BYTES_MAX {
            return Ok(true);
        }
        was_visible &= !boundaries.contains(&id);
        next = dropped.parent;
    }
    Ok(false)
}

/// Bytes of the files below `tree` that are not at about the same place below `other`.
fn bytes_not_in(objects: &Objects<'_>, tree: Oid, other: Oid) -> Result<u64> {
    let mut bytes = 0;
    let mut pending = vec![(tree, Some(other))];
    while let Some((tree, other)) = pending.pop() {
        let links = |tree| snapshot::links(tree, &objects.read(Kind::Tree, tree)?);
        let others = other.map_or_else(|| Ok(Vec::new()), links)?;
        let same: HashSet<Oid> = others.iter().map(|link| link.id).collect();
        for link in links(tree)?.into_iter().filter(|link| !same.contains(&link.id)) {
            if link.kind == Kind::Tree {
                let is_pair =
                    |other: &&snapshot::Link| other.kind == Kind::Tree && other.name == link.name;
                pending.push((link.id, others.iter().find(is_pair).map(|other| other.id)));
            } else {
                bytes += objects.header(link.id)?.1;
            }
        }
    }
    Ok(bytes)
}

/// Whether the history of another project contains that checkpoint, so that a boundary would cut it
/// too. Only other tools use the same commit in two projects.
fn is_shared(
    store: &Store<'_>,
    objects: &Objects<'_>,
    hash: &str,
    checkpoint: &Checkpoint,
) -> Result<bool> {
    if checkpoint.project.as_deref() == Some(hash) {
        return Ok(false);
    }
    for other in ref_recovery::projects(store, objects)?.iter().filter(|other| *other != hash) {
        let history = history::newest_first(store, objects, other, usize::MAX)?;
        if history.iter().any(|other| other.id == checkpoint.id) {
            return Ok(true);
        }
    }
    Ok(false)
}
