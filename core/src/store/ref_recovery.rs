//! Recovers the lost ref of a history. The metadata of a project names its newest checkpoint; as long
//! as that checkpoint is stored, its ref can be made again.
//!
//! A project whose metadata names no checkpoint counts as a project that never had one: other tools
//! write the metadata before the first checkpoint.

use crate::disk::folder;
use crate::error::Result;
use crate::store::lock::Lock;
use crate::store::metadata::Recorded;
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use crate::store::{Store, commit, metadata, packed_refs, refs};

/// The newest checkpoint of the project, even if its ref was lost. Changes nothing.
pub fn newest(store: &Store<'_>, objects: &Objects<'_>, hash: &str) -> Result<Option<Oid>> {
    Ok(find(store, objects, hash)?.newest)
}

/// The result of looking for the newest checkpoint of a project.
struct Tips {
    /// The checkpoint that its ref points at; `None` if the ref was lost.
    stored: Option<Oid>,
    /// The newest checkpoint.
    newest: Option<Oid>,
}

/// Finds the newest checkpoint of a project. A ref to a checkpoint that is not stored counts as lost
/// if the metadata names a checkpoint that is stored.
///
/// # Errors
/// A ref that is damaged while the metadata names no checkpoint; a disk that fails.
// rule: maintenance/damage
fn find(store: &Store<'_>, objects: &Objects<'_>, hash: &str) -> Result<Tips> {
    match refs::read(store.disk, &store.path, &refs::of_project(hash)) {
        // Looked up twice before it counts as lost: git may just have moved it into a pack.
        Ok(Some(tip)) if objects.has(tip)? || store.objects().has(tip)? => {
            let newer = newer_than_packed(store, objects, hash, tip)?;
            Ok(Tips { stored: Some(tip), newest: newer.or(Some(tip)) })
        }
        Ok(Some(tip)) => {
            let metadata = metadata::read(store.disk, &store.path, hash);
            let is_recorded = metadata.is_some_and(|metadata| {
                metadata.checkpoints.iter().any(|recorded| recorded.has_id(tip))
            });
            // An id that was never recorded is not a damaged checkpoint.
            let recorded = match is_recorded {
                true => recorded_tip(store, objects, hash),
                false => recorded_readable(store, objects, hash),
            };
            Ok(Tips { stored: Some(tip), newest: recorded.or(Some(tip)) })
        }
        Ok(None) => Ok(Tips { stored: None, newest: recorded_readable(store, objects, hash) }),
        // If no recorded checkpoint can be read, the history ends where it ended before its ref was
        // damaged: at the newest recorded one, which the next checkpoint skips.
        Err(error) if error.is_damage() => {
            match recorded_readable(store, objects, hash).or_else(|| recorded_newest(store, hash)) {
                Some(tip) => Ok(Tips { stored: None, newest: Some(tip) }),
                None => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// The newest checkpoint that the metadata names, if the file of the ref was lost and `tip` is an
/// older checkpoint, at which the ref was when git packed it.
// rule: maintenance/damage
fn newer_than_packed(
    store: &Store<'_>,
    objects: &Objects<'_>,
    hash: &str,
    tip: Oid,
) -> Result<Option<Oid>> {
    let file = store.path.join(refs::of_project(hash));
    if folder::stat(store.disk, &file)?.is_some() {
        return Ok(None);
    }
    let Some(metadata) = metadata::read(store.disk, &store.path, hash) else { return Ok(None) };
    let is_damaged = || commit::read(objects, tip).is_err_and(|error| error.is_damage());
    Ok(match metadata.checkpoints.iter().position(|recorded| recorded.has_id(tip)) {
        Some(position) => readable(objects, &metadata.checkpoints[..position]),
        // The checkpoints after a damaged one need not name it.
        None if is_damaged() => readable(objects, &metadata.checkpoints),
        None => None,
    })
}

/// As [`newest`], but also makes a lost ref again. The caller holds the project's lock.
pub fn newest_locked(store: &Store<'_>, objects: &Objects<'_>, hash: &str) -> Result<Option<Oid>> {
    let Tips { stored, newest } = find(store, objects, hash)?;
    if let Some(tip) = newest.filter(|_| stored != newest) {
        tracing::debug!("the lost ref of {hash} is recreated for {tip}");
        refs::advance(store.disk, &store.path, &refs::of_project(hash), stored, tip)?;
    }
    Ok(newest)
}

/// Makes a lost ref of the project again, under the lock that `lock` takes.
// rule: maintenance/heals: decides
pub fn repair(
    store: &Store<'_>,
    objects: &Objects<'_>,
    hash: &str,
    lock: impl FnOnce() -> Result<Lock>,
) -> Result<()> {
    let Tips { stored, newest } = find(store, objects, hash)?;
    if stored == newest {
        return Ok(());
    }
    let _lock = lock()?;
    newest_locked(store, objects, hash).map(drop)
}

/// Makes a `packed-refs` that git refuses acceptable again: the refs of all histories that are known
/// without it are made again first, and then the lines that git refuses are removed. A failure is
/// logged, and the next operation tries again.
// rule: maintenance/heals
pub fn repair_packed(store: &Store<'_>) {
    if let Err(error) = try_repair_packed(store) {
        tracing::debug!("{} was not repaired: {error}", packed_refs::NAME);
    }
}

fn try_repair_packed(store: &Store<'_>) -> Result<()> {
    if packed_refs::is_accepted(store.disk, &store.path)? {
        return Ok(());
    }
    let objects = store.objects();
    for hash in names(store, "projects", ".json")? {
        match repair(store, &objects, &hash, || store.try_lock_project(&hash)) {
            // Nothing names its checkpoints, with or without the damaged lines.
            Err(error) if error.is_damage() => {}
            repaired => repaired?,
        }
    }
    refs::repair_packed(store.disk, &store.path)
}

/// The newest checkpoint that the metadata names, if it is stored.
fn recorded_tip(store: &Store<'_>, objects: &Objects<'_>, hash: &str) -> Option<Oid> {
    let metadata = metadata::read(store.disk, &store.path, hash)?;
    let tip = metadata.checkpoints.first()?.id()?;
    commit::read(objects, tip).ok().map(|checkpoint| checkpoint.id)
}

/// The newest checkpoint that the metadata names, stored or not.
fn recorded_newest(store: &Store<'_>, hash: &str) -> Option<Oid> {
    metadata::read(store.disk, &store.path, hash)?.checkpoints.first()?.id()
}

/// The newest checkpoint that the metadata names and whose commit can be read: without the ref, a
/// damaged commit leads to no checkpoint that could be listed.
// rule: maintenance/damage
fn recorded_readable(store: &Store<'_>, objects: &Objects<'_>, hash: &str) -> Option<Oid> {
    readable(objects, &metadata::read(store.disk, &store.path, hash)?.checkpoints)
}

/// The first of these checkpoints whose commit can be read.
fn readable(objects: &Objects<'_>, recorded: &[Recorded]) -> Option<Oid> {
    let mut ids = recorded.iter().filter_map(Recorded::id);
    ids.find(|id| commit::read(objects, *id).is_ok())
}

/// The hashes of all projects with a history, even if its ref was lost, sorted.
pub fn projects(store: &Store<'_>, objects: &Objects<'_>) -> Result<Vec<String>> {
    let mut hashes = refs::all(store.disk, &store.path)?;
    for hash in names(store, "projects", ".json")? {
        if !hashes.contains(&hash) && recorded_readable(store, objects, &hash).is_some() {
            hashes.push(hash);
        }
    }
    hashes.sort_unstable();
    Ok(hashes)
}

/// The hashes of all projects with a ref, metadata, an index, envelopes or recorded attribution,
/// sorted.
pub fn any_trace(store: &Store<'_>) -> Result<Vec<String>> {
    let mut hashes = refs::all(store.disk, &store.path)?;
    hashes.extend(names(store, "projects", ".json")?);
    hashes.extend(names(store, "indexes", "")?);
    hashes.extend(names(store, "hands", ".json")?);
    hashes.extend(refs::projects_below(store.disk, &store.path, refs::ENVELOPES)?);
    hashes.sort_unstable();
    hashes.dedup();
    Ok(hashes)
}

fn names(store: &Store<'_>, folder: &str, extension: &str) -> Result<Vec<String>> {
    let names = folder::text_names(store.disk, &store.path.join(folder))?;
    let hash = |name: String| Some(name.strip_suffix(extension)?.to_owned());
    Ok(names.into_iter().filter_map(hash).filter(|hash| refs::is_hash(hash)).collect())
}
