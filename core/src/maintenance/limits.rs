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
use crate::maintenance::total::{Lost, keep_total};
use crate::store::commit::{self, Checkpoint};
use crate::store::envelopes::Envelopes;
use crate::store::object::Kind;
use crate::store::objects::Objects;
use crate::store::rollbacks::{self, Place};
use crate::store::shallow::{self, Boundaries};
use crate::store::{Store, history, metadata, pins, ref_recovery, snapshot, undo, usage};
use git2::Oid;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::Path;

/// The space of dropped files of more bytes than this is freed at once.
const LEFT_BYTES_MAX: u64 = MEBIBYTE;

/// At least so many of the newest pre-restore checkpoints that the list has no room for are kept.
const UNLISTED_MIN: usize = 3;
/// Those that are younger than this are kept as well, as far as there are no more of them than the
/// list holds.
const UNLISTED_SECONDS: i64 = 24 * 60 * 60;

/// What a project lost to its limit.
#[derive(Debug, Default)]
pub struct Evicted {
    /// The checkpoints that cannot be restored any more.
    pub ids: Vec<Oid>,
    /// Whether the space of dropped checkpoints is to be freed now.
    pub is_due: bool,
}

impl From<Evicted> for crate::report::Evicted {
    fn from(evicted: Evicted) -> Self {
        let ids = evicted.ids.iter().map(Oid::to_string).collect();
        crate::report::Evicted { ids, for_size: 0 }
    }
}

/// The limit on the checkpoints of a project, whose lock the caller holds.
pub struct Limit<'a> {
    /// The store.
    pub store: &'a Store<'a>,
    /// Its objects.
    pub objects: &'a Objects<'a>,
    /// The hash of the project.
    pub hash: &'a str,
    /// How many checkpoints are listed.
    pub most: usize,
    /// The time, in seconds since the epoch.
    pub now: i64,
}

/// Frees the space of dropped checkpoints, where that is `due`, and keeps the store below its total
/// size. The caller holds no lock of the store.
/// Returns how many checkpoints were evicted for that.
// rule: limit/newest-remain
pub fn after_checkpoint(disk: &dyn Disk, base: &Path, config: &Config, due: bool) -> usize {
    let freed = if due { reclaim(disk, base).map(drop) } else { Ok(()) };
    // Where nothing needs to be dropped, either there is garbage left from before, or the estimate is
    // too high; freeing space settles both.
    let mut lost = Lost { is_garbage: true, ..Lost::default() };
    let cap = config.max_total_bytes;
    if let Err(error) = freed.and_then(|()| keep_below(disk, base, cap, &mut lost)) {
        tracing::debug!("the store is larger than it need be until later: {error}");
    }
    lost.count()
}

fn keep_below(disk: &dyn Disk, base: &Path, cap: u64, lost: &mut Lost) -> Result<()> {
    let exceeds = |store: &Store<'_>| Ok(usage::estimate(store)? > cap);
    if cap == 0 || !Store::open(disk, base)?.as_ref().map_or(Ok(false), exceeds)? {
        return Ok(());
    }
    keep_total(disk, base, cap, lost)
}

impl Limit<'_> {
    /// Evicts all but the newest checkpoints. Where this fails, only more of them are stored than need
    /// be: the list ends at the same place.
    pub fn keep_newest(&self) -> Evicted {
        self.try_keep_newest().unwrap_or_else(|error| {
            tracing::debug!("the limit of {} is not kept as it should be: {error}", self.hash);
            Evicted::default()
        })
    }

    /// Takes older pre-restore checkpoints off the list after one was taken before `target` was
    /// restored, until no more are listed than may be or none of them may go.
    // rule: restore/keeps-history
    pub fn make_room(&self, target: Oid) -> Evicted {
        let make_room = || {
            let history = history::newest_first(self.store, self.objects, self.hash, self.most)?;
            let excess = in_sight(&history).count().saturating_sub(self.most);
            let may_go = |checkpoint: &&Checkpoint| {
                let is_listed = checkpoint.beside.is_some_and(|place| place.is_listed);
                is_listed && checkpoint.id != target && !checkpoint.is_pinned
            };
            let gone: Vec<Oid> = history
                .iter()
                .rev()
                .filter(may_go)
                .take(excess)
                .map(|checkpoint| checkpoint.id)
                .collect();
            if gone.is_empty() {
                return Ok(Evicted::default());
            }
            let (gone, left) =
                history.into_iter().partition(|checkpoint| gone.contains(&checkpoint.id));
            self.evict(gone, left, Some(target))
        };
        make_room().unwrap_or_else(|error: Error| {
            tracing::debug!("more of {} is listed than need be: {error}", self.hash);
            Evicted::default()
        })
    }

    // rule: limit/newest-remain
    fn try_keep_newest(&self) -> Result<Evicted> {
        let Limit { store, objects, hash, most, .. } = *self;
        // rule: agent/all-or-none
        if undo::is_noted(store.disk, &store.path, hash)? {
            return Ok(Evicted::default());
        }
        let listed = history::newest_first(store, objects, hash, most)?;
        if in_sight(&listed).count() < most {
            return Ok(Evicted::default());
        }
        let all = history::newest_first(store, objects, hash, usize::MAX)?;
        let stays =
            |checkpoint: &Checkpoint| listed.iter().any(|listed| listed.id == checkpoint.id);
        let gone = all.into_iter().filter(|checkpoint| !stays(checkpoint)).collect();
        self.evict(gone, listed, None)
    }

    /// Takes checkpoints off the list, newest first, so that these are left. Of pre-restore ones the
    /// last few are kept all the same, since only they hold what they hold.
    // rule: restore/keeps-undo
    fn evict(
        &self,
        gone: Vec<Checkpoint>,
        left: Vec<Checkpoint>,
        target: Option<Oid>,
    ) -> Result<Evicted> {
        let Limit { store, objects, hash, most, now } = *self;
        let boundaries = shallow::read(store.disk, &store.path)?;
        let (unlisted, mut left): (Vec<_>, Vec<_>) =
            left.into_iter().partition(Checkpoint::is_unlisted);
        let (spare, gone): (Vec<_>, Vec<_>) = gone
            .into_iter()
            .partition(|checkpoint| checkpoint.rollback.is_some() && checkpoint.damage.is_none());
        let mut spare = [unlisted, spare].concat();
        spare.sort_by_key(|checkpoint| Reverse(checkpoint.rollback));
        let mut released = Vec::new();
        for (index, checkpoint) in spare.into_iter().enumerate() {
            let is_young = now.saturating_sub(checkpoint.seconds) < UNLISTED_SECONDS;
            let is_kept = index < UNLISTED_MIN || is_young && index < most;
            if is_kept || Some(checkpoint.id) == target {
                left.push(self.unlist(checkpoint)?);
            } else {
                released.push(checkpoint);
            }
        }
        let is_more = !gone.is_empty() || !released.is_empty() || !ends(&left).is_empty();
        let gone = [gone, released].concat();
        let waiting = self.drop_rollbacks(&gone)?;
        let ids: Vec<Oid> = gone.iter().map(|checkpoint| checkpoint.id).collect();
        if !is_more {
            return Ok(Evicted { ids, is_due: false });
        }
        let oldest = in_sight(&left).filter(|checkpoint| checkpoint.rollback.is_none()).last();
        let may_be_shared = oldest.filter(|_| target.is_none());
        if may_be_shared.map_or(Ok(false), |oldest| is_shared(store, objects, hash, oldest))? {
            tracing::debug!("the history of {hash} goes on in another project too");
            return Ok(Evicted::default());
        }
        end_with(store, hash, &left)?;
        forget_envelopes(store, objects, hash, &left)?;
        let is_due = |oldest| self.is_due(&boundaries, oldest, &left, waiting);
        let is_due = oldest.map_or(Ok(false), is_due)?;
        Ok(Evicted { ids, is_due })
    }

    /// Lets only its id name a checkpoint.
    fn unlist(&self, checkpoint: Checkpoint) -> Result<Checkpoint> {
        let Limit { store, hash, .. } = *self;
        if checkpoint.is_unlisted() {
            return Ok(checkpoint);
        }
        // One that the history leads to may have a ref, too: the restore that made it was interrupted.
        let refs = || rollbacks::all(store.disk, &store.path, hash);
        let is_its = |(place, id): &(Place, Oid)| place.is_listed && *id == checkpoint.id;
        let before = match checkpoint.beside {
            None => refs()?.into_iter().find(is_its).map(|(place, _)| place),
            beside => beside,
        };
        let number = checkpoint.rollback.unwrap_or(0);
        let parent = before.map_or(checkpoint.parent, |place| place.parent);
        let place = Place { number, parent, is_listed: false };
        // The new ref first: one that has both is listed.
        rollbacks::add(store.disk, &store.path, hash, place, checkpoint.id)?;
        before.map_or(Ok(()), |before| rollbacks::remove(store.disk, &store.path, hash, before))?;
        Ok(Checkpoint { beside: Some(place), ..checkpoint })
    }

    /// Removes the refs of those that stand beside the history, and returns how many pre-restore
    /// checkpoints were dropped whose space is not freed. One that holds more than a little counts as
    /// any number of them.
    fn drop_rollbacks(&self, gone: &[Checkpoint]) -> Result<usize> {
        let Limit { store, objects, hash, .. } = *self;
        let (mut is_large, mut dropped) = (false, 0);
        for (place, id) in
            gone.iter().filter_map(|checkpoint| Some((checkpoint.beside?, checkpoint.id)))
        {
            let tree = |id| commit::read(objects, id).map(|checkpoint| checkpoint.tree);
            if let (Ok(own), Some(Ok(before))) = (tree(id), place.parent.map(tree)) {
                is_large |=
                    bytes_not_in(objects, own, before).is_ok_and(|bytes| bytes > LEFT_BYTES_MAX);
            }
            rollbacks::remove(store.disk, &store.path, hash, place)?;
            dropped += 1;
        }
        let mut waiting = dropped;
        metadata::change(store.disk, &store.path, hash, |known| {
            known.waiting += dropped;
            waiting = known.waiting;
        })?;
        Ok(if is_large { usize::MAX } else { waiting })
    }

    /// Whether to free space now. Everything before `oldest` is dropped that is not `left`; what lies
    /// before one of the old `boundaries` was dropped earlier and still waits, as do so many others that
    /// are `waiting`.
    // rule: limit/newest-remain
    fn is_due(
        &self,
        boundaries: &Boundaries,
        oldest: &Checkpoint,
        left: &[Checkpoint],
        waiting: usize,
    ) -> Result<bool> {
        let Limit { objects, most, .. } = *self;
        let mut was_visible = !boundaries.contains(&oldest.id);
        let mut next = commit::read(objects, oldest.id)?.parent;
        let (mut stored, mut bytes) = (waiting, 0);
        if stored >= most {
            return Ok(true);
        }
        while let Some(id) = next {
            if !objects.has(id)? {
                break;
            }
            let dropped = commit::read(objects, id)?;
            next = dropped.parent;
            if left.iter().any(|one| one.id == id) {
                continue;
            }
            if was_visible {
                bytes += bytes_not_in(objects, dropped.tree, oldest.tree)?;
            }
            stored += 1;
            if stored >= most || bytes > LEFT_BYTES_MAX {
                return Ok(true);
            }
            was_visible &= !boundaries.contains(&id);
        }
        Ok(false)
    }
}

/// The checkpoints that are listed whether or not they are pinned.
fn in_sight(all: &[Checkpoint]) -> impl Iterator<Item = &Checkpoint> {
    all.iter().filter(|one| !one.is_aside && !one.is_unlisted())
}

/// Lets nothing be before these checkpoints of a project, newest first. A pinned one to which the
/// others do not lead any more stands beside them. The caller holds the project's lock.
// rule: agent/pinned
pub fn end_with(store: &Store<'_>, hash: &str, left: &[Checkpoint]) -> Result<()> {
    let listed = || left.iter().filter(|one| !one.is_unlisted());
    let mut next = listed().next().map(|newest| newest.id);
    let mut reached = HashSet::new();
    while let Some(one) = listed().find(|one| Some(one.id) == next && reached.insert(one.id)) {
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

/// Those of the checkpoints whose parent is not listed among them.
pub fn ends(left: &[Checkpoint]) -> Vec<Oid> {
    let has = |parent: Oid| left.iter().any(|one| one.id == parent && !one.is_unlisted());
    let is_end = |one: &&Checkpoint| one.parent.is_some_and(|parent| !has(parent));
    left.iter().filter(is_end).map(|one| one.id).collect()
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
