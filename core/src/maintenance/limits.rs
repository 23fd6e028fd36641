//! Applies the limits after a checkpoint was taken: a project keeps its newest checkpoints, and the
//! store stays below its size limit. A failure here does not fail the checkpoint; the next one tries
//! again.
//!
//! Evicting a checkpoint only writes one small file, but freeing its space reads the entire store. So
//! the space is freed later: once as many evicted checkpoints of the project wait for it as the project
//! may keep, or once those just evicted contain more than a little content that the remaining ones do
//! not.
//!
//! Only a regular checkpoint evicts others. A pre-restore checkpoint evicts only older pre-restore
//! checkpoints; see docs/decisions/0016-pre-restore-checkpoints-outside-the-history.md.

use crate::agent_state::Stored;
use crate::disk::Disk;
use crate::environment::{Config, MEBIBYTE};
use crate::error::{Error, Result};
use crate::history;
use crate::maintenance::reclaim::reclaim;
use crate::maintenance::total::{Evictions, keep_total};
use crate::report::SizeKept;
use crate::store::commit::{self, Checkpoint};
use crate::store::object::Kind;
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use crate::store::pre_restore::{self, PreRestoreRef};
use crate::store::shallow::{self, Boundaries};
use crate::store::{Store, metadata, ref_recovery, snapshot, usage};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::Path;

/// The space of evicted files of more bytes than this is freed at once.
const LEFT_BYTES_MAX: u64 = MEBIBYTE;

/// At least so many of the newest unlisted pre-restore checkpoints are kept.
const UNLISTED_MIN: usize = 3;
/// Unlisted ones that are younger than this are kept as well, up to as many as the list holds.
const UNLISTED_SECONDS: i64 = 24 * 60 * 60;

/// The checkpoints that the limit of a project evicted.
#[derive(Debug, Default)]
pub struct Evicted {
    /// The checkpoints that cannot be restored any more.
    pub ids: Vec<Oid>,
    /// Whether the space of evicted checkpoints is to be freed now.
    pub must_reclaim: bool,
}

impl From<Evicted> for crate::report::Evicted {
    fn from(evicted: Evicted) -> Self {
        let ids = evicted.ids.iter().map(Oid::to_string).collect();
        crate::report::Evicted { ids, for_size: SizeKept::default() }
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
    /// The most checkpoints that are listed.
    pub most: usize,
    /// The time, in seconds since the epoch.
    pub now: i64,
}

/// Frees the space of evicted checkpoints. The caller holds no lock of the store.
// rule: limit/newest-remain
pub fn free(disk: &dyn Disk, base: &Path) {
    if let Err(error) = reclaim(disk, base) {
        tracing::debug!("the space of evicted checkpoints was not freed: {error}");
    }
}

/// Keeps the store below its total size. The caller holds no lock of the store.
pub fn keep_size(disk: &dyn Disk, base: &Path, config: &Config) -> SizeKept {
    // If no checkpoint needs to be evicted, either there is garbage left from before, or the estimate is
    // too high; freeing space resolves both.
    let mut evictions = Evictions { has_garbage: true, ..Evictions::default() };
    let exceeds = || exceeds(disk, base, config.max_total_bytes);
    let mut is_above_limit = false;
    let kept = exceeds().and_then(|is_above| {
        is_above_limit = is_above;
        if is_above {
            keep_total(disk, base, config.max_total_bytes, &mut evictions)
        } else {
            Ok(())
        }
    });
    if let Err(error) = kept {
        tracing::debug!("the size limit of the store was not enforced: {error}");
    }
    is_above_limit = is_above_limit && exceeds().unwrap_or_default();
    SizeKept { evicted: evictions.count(), is_above_limit }
}

/// Whether the store takes more bytes, by its estimate; 0 is no limit.
///
/// # Errors
/// A store that cannot be opened or measured.
pub fn exceeds(disk: &dyn Disk, base: &Path, max_bytes: u64) -> Result<bool> {
    match Store::open(disk, base)?.filter(|_| max_bytes > 0) {
        Some(store) => Ok(usage::estimate(&store)? > max_bytes),
        None => Ok(false),
    }
}

impl Limit<'_> {
    /// Evicts all but the newest checkpoints. If this fails, only more of them are stored than
    /// necessary: the list ends with the same checkpoint.
    pub fn keep_newest(&self) -> Evicted {
        self.try_keep_newest().unwrap_or_else(|error| {
            tracing::debug!(
                "the limit on the checkpoints of {} was not enforced: {error}",
                self.hash
            );
            Evicted::default()
        })
    }

    /// Removes older pre-restore checkpoints from the list, after one was taken before the restore of
    /// `target`, until the list is within its limit or none of them may be removed.
    // rule: restore/keeps-history: decides
    pub fn evict_after_restore(&self, target: Oid) -> Evicted {
        let evict_excess = || {
            let history = history::newest_first(self.store, self.objects, self.hash, self.most)?;
            let excess = listed_without_pin(&history).count().saturating_sub(self.most);
            let may_be_evicted = |checkpoint: &&Checkpoint| {
                let is_listed = checkpoint.pre_restore_ref.is_some_and(|place| place.is_listed);
                is_listed && checkpoint.id != target && !checkpoint.is_pinned
            };
            let evicted: Vec<Oid> = history
                .iter()
                .rev()
                .filter(may_be_evicted)
                .take(excess)
                .map(|checkpoint| checkpoint.id)
                .collect();
            if evicted.is_empty() {
                return Ok(Evicted::default());
            }
            let (evicted, remaining) =
                history.into_iter().partition(|checkpoint| evicted.contains(&checkpoint.id));
            self.evict(evicted, remaining, Some(target))
        };
        evict_excess().unwrap_or_else(|error: Error| {
            tracing::debug!(
                "old pre-restore checkpoints of {} were not evicted: {error}",
                self.hash
            );
            Evicted::default()
        })
    }

    // rule: limit/newest-remain: decides
    fn try_keep_newest(&self) -> Result<Evicted> {
        let Limit { store, objects, hash, most, .. } = *self;
        // rule: agent/all-or-none
        if Stored::of(store, hash).has_journal()? {
            return Ok(Evicted::default());
        }
        let listed = history::newest_first(store, objects, hash, most)?;
        if listed_without_pin(&listed).count() < most {
            return Ok(Evicted::default());
        }
        let checkpoints = history::newest_first(store, objects, hash, usize::MAX)?;
        let stays =
            |checkpoint: &Checkpoint| listed.iter().any(|listed| listed.id == checkpoint.id);
        let evicted = checkpoints.into_iter().filter(|checkpoint| !stays(checkpoint)).collect();
        self.evict(evicted, listed, None)
    }

    /// Evicts checkpoints, newest first, so that these remain. The last few pre-restore checkpoints are
    /// kept unlisted nevertheless, since only they hold their content.
    // rule: restore/keeps-undo
    fn evict(
        &self,
        evicted: Vec<Checkpoint>,
        remaining: Vec<Checkpoint>,
        target: Option<Oid>,
    ) -> Result<Evicted> {
        let Limit { store, objects, hash, most, now } = *self;
        let boundaries = shallow::read(store.disk, &store.path)?;
        let (unlisted, mut remaining): (Vec<_>, Vec<_>) =
            remaining.into_iter().partition(Checkpoint::is_unlisted);
        let (spare, evicted): (Vec<_>, Vec<_>) = evicted
            .into_iter()
            .partition(|checkpoint| checkpoint.rollback.is_some() && checkpoint.damage.is_none());
        let mut spare = [unlisted, spare].concat();
        spare.sort_by_key(|checkpoint| Reverse(checkpoint.rollback));
        let mut released = Vec::new();
        for (index, checkpoint) in spare.into_iter().enumerate() {
            let is_young = now.saturating_sub(checkpoint.seconds) < UNLISTED_SECONDS;
            let is_kept = index < UNLISTED_MIN || is_young && index < most;
            if is_kept || Some(checkpoint.id) == target {
                remaining.push(self.unlist(checkpoint)?);
            } else {
                released.push(checkpoint);
            }
        }
        let is_history_cut =
            !evicted.is_empty() || !released.is_empty() || !ends(&remaining).is_empty();
        let evicted = [evicted, released].concat();
        let backlog = self.remove_refs(&evicted)?;
        let ids: Vec<Oid> = evicted.iter().map(|checkpoint| checkpoint.id).collect();
        if !is_history_cut {
            return Ok(Evicted { ids, must_reclaim: false });
        }
        let oldest = listed_without_pin(&remaining)
            .filter(|checkpoint| checkpoint.rollback.is_none())
            .last();
        let may_be_shared = oldest.filter(|_| target.is_none());
        if may_be_shared.map_or(Ok(false), |oldest| is_shared(store, objects, hash, oldest))? {
            tracing::debug!(
                "the history of {hash} is shared with another project, and was not cut"
            );
            return Ok(Evicted::default());
        }
        end_with(store, hash, &remaining)?;
        Stored::of(store, hash).envelopes(objects)?.retain(&remaining)?;
        let must_reclaim = |oldest| self.must_reclaim(&boundaries, oldest, &remaining, backlog);
        let must_reclaim = oldest.map_or(Ok(false), must_reclaim)?;
        Ok(Evicted { ids, must_reclaim })
    }

    /// Removes a checkpoint from the list, so that only its id names it.
    fn unlist(&self, checkpoint: Checkpoint) -> Result<Checkpoint> {
        let Limit { store, hash, .. } = *self;
        if checkpoint.is_unlisted() {
            return Ok(checkpoint);
        }
        // A checkpoint of the history may also have a ref, if the restore that took it was interrupted.
        let refs = || pre_restore::all(store.disk, &store.path, hash);
        let is_its_ref =
            |(place, id): &(PreRestoreRef, Oid)| place.is_listed && *id == checkpoint.id;
        let before = match checkpoint.pre_restore_ref {
            None => refs()?.into_iter().find(is_its_ref).map(|(place, _)| place),
            pre_restore_ref => pre_restore_ref,
        };
        let number = checkpoint.rollback.unwrap_or(0);
        let parent = before.map_or(checkpoint.parent, |place| place.parent);
        let place = PreRestoreRef { number, parent, is_listed: false };
        // The new ref first: a checkpoint that has both is listed.
        pre_restore::add(store.disk, &store.path, hash, place, checkpoint.id)?;
        before
            .map_or(Ok(()), |before| pre_restore::remove(store.disk, &store.path, hash, before))?;
        Ok(Checkpoint { pre_restore_ref: Some(place), ..checkpoint })
    }

    /// Removes the refs of evicted checkpoints outside the history, and returns how many pre-restore
    /// checkpoints were evicted whose space is not freed. One with more than a little content counts as
    /// any number of them.
    fn remove_refs(&self, evicted: &[Checkpoint]) -> Result<usize> {
        let Limit { store, objects, hash, .. } = *self;
        let mut is_large = false;
        let mut removed = 0;
        for (place, id) in evicted
            .iter()
            .filter_map(|checkpoint| Some((checkpoint.pre_restore_ref?, checkpoint.id)))
        {
            let tree_of = |id| commit::read(objects, id).map(|checkpoint| checkpoint.tree);
            if let (Ok(tree), Some(Ok(parent_tree))) = (tree_of(id), place.parent.map(tree_of)) {
                is_large |= bytes_not_in(objects, tree, parent_tree)
                    .is_ok_and(|bytes| bytes > LEFT_BYTES_MAX);
            }
            pre_restore::remove(store.disk, &store.path, hash, place)?;
            removed += 1;
        }
        let mut backlog = removed;
        metadata::change(store.disk, &store.path, hash, |metadata| {
            metadata.waiting += removed;
            backlog = metadata.waiting;
        })?;
        Ok(if is_large { usize::MAX } else { backlog })
    }

    /// Whether to free space now. Everything before `oldest` that is not in `remaining` is evicted; what
    /// lies before one of the old `boundaries` was evicted earlier and is still stored, as are `backlog`
    /// others.
    // rule: limit/newest-remain
    fn must_reclaim(
        &self,
        boundaries: &Boundaries,
        oldest: &Checkpoint,
        remaining: &[Checkpoint],
        backlog: usize,
    ) -> Result<bool> {
        let Limit { objects, most, .. } = *self;
        let mut was_visible = !boundaries.contains(&oldest.id);
        let mut next = commit::read(objects, oldest.id)?.parent;
        let mut stored = backlog;
        let mut bytes = 0;
        if stored >= most {
            return Ok(true);
        }
        while let Some(id) = next {
            if !objects.has(id)? {
                break;
            }
            let evicted = commit::read(objects, id)?;
            next = evicted.parent;
            if remaining.iter().any(|checkpoint| checkpoint.id == id) {
                continue;
            }
            if was_visible {
                bytes += bytes_not_in(objects, evicted.tree, oldest.tree)?;
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

/// The checkpoints that would be listed even if they were not pinned.
fn listed_without_pin(checkpoints: &[Checkpoint]) -> impl Iterator<Item = &Checkpoint> {
    checkpoints.iter().filter(|checkpoint| !checkpoint.pinned_only && !checkpoint.is_unlisted())
}

/// Ends the history of a project with these checkpoints, newest first. A pinned one to which the others
/// do not lead any more gets a ref of its own. The caller holds the project's lock.
// rule: agent/pinned: decides
pub fn end_with(store: &Store<'_>, hash: &str, remaining: &[Checkpoint]) -> Result<()> {
    let listed = || remaining.iter().filter(|checkpoint| !checkpoint.is_unlisted());
    let mut next = listed().next().map(|newest| newest.id);
    let mut reached = HashSet::new();
    while let Some(checkpoint) =
        listed().find(|checkpoint| Some(checkpoint.id) == next && reached.insert(checkpoint.id))
    {
        next = checkpoint.parent;
    }
    let stored = Stored::of(store, hash);
    let numbers = stored.pinned()?;
    let is_unreached =
        |checkpoint: &&Checkpoint| checkpoint.is_pinned && !reached.contains(&checkpoint.id);
    let unreached = remaining.iter().rev().filter(is_unreached).map(|checkpoint| checkpoint.id);
    let new: Vec<Oid> = unreached.filter(|id| numbers.get(id) == Some(&0)).collect();
    stored.keep_by_pins(&new)?;
    let ends = ends(remaining);
    shallow::change(store.disk, &store.path, |boundaries| boundaries.extend(ends))
}

/// The checkpoints whose parent is not listed among them.
pub fn ends(checkpoints: &[Checkpoint]) -> Vec<Oid> {
    let has = |parent: Oid| {
        checkpoints.iter().any(|checkpoint| checkpoint.id == parent && !checkpoint.is_unlisted())
    };
    let is_end = |checkpoint: &&Checkpoint| checkpoint.parent.is_some_and(|parent| !has(parent));
    checkpoints.iter().filter(is_end).map(|checkpoint| checkpoint.id).collect()
}

/// Bytes of the files below `tree` that are not in the corresponding folder below `base`; of one that is stored
/// as a delta, those of the delta.
fn bytes_not_in(objects: &Objects<'_>, tree: Oid, base: Oid) -> Result<u64> {
    let mut bytes = 0;
    let mut pending = vec![(tree, Some(base))];
    while let Some((tree, base)) = pending.pop() {
        let links = |tree| snapshot::links(tree, &objects.read(Kind::Tree, tree)?);
        let base_links = base.map_or_else(|| Ok(Vec::new()), links)?;
        let same: HashSet<Oid> = base_links.iter().map(|link| link.id).collect();
        for link in links(tree)?.into_iter().filter(|link| !same.contains(&link.id)) {
            if link.kind == Kind::Tree {
                let is_pair = |base_link: &&snapshot::Link| {
                    base_link.kind == Kind::Tree && base_link.name == link.name
                };
                let pair = base_links.iter().find(is_pair);
                pending.push((link.id, pair.map(|base_link| base_link.id)));
            } else {
                bytes += objects.stored_bytes(link.id)?;
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
    let hashes = ref_recovery::projects(store, objects)?;
    for other_hash in hashes.iter().filter(|other_hash| *other_hash != hash) {
        let history = history::newest_first(store, objects, other_hash, usize::MAX)?;
        if history.iter().any(|candidate| candidate.id == checkpoint.id) {
            return Ok(true);
        }
    }
    Ok(false)
}
