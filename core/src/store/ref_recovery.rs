//! Histories whose ref was lost: the metadata of a project names its newest checkpoint, and while
//! that is stored the ref can be made again.
//!
//! A project whose metadata names none counts as one that never had a checkpoint: other tools write
//! the metadata before the first one.

use crate::disk::folder;
use crate::error::Result;
use crate::store::lock::Lock;
use crate::store::metadata::Recorded;
use crate::store::objects::Objects;
use crate::store::{Store, commit, envelopes, metadata, refs};
use git2::Oid;

/// The newest checkpoint of the project, also where its ref was lost. It changes nothing.
pub fn newest(store: &Store<'_>, objects: &Objects<'_>, hash: &str) -> Result<Option<Oid>> {
    Ok(stored(store, objects, hash)?.1)
}

/// Where the ref of the project points, none where it was lost; and the newest checkpoint. A ref to
/// what is not stored at all counts as lost where the metadata names a checkpoint that is.
///
/// # Errors
/// A ref that is damaged while the metadata names no checkpoint; a disk that fails.
// rule: maintenance/damage
fn stored(
    store: &Store<'_>,
    objects: &Objects<'_>,
    hash: &str,
) -> Result<(Option<Oid>, Option<Oid>)> {
    match refs::read(store.disk, &store.path, &refs::of_project(hash)) {
        // Looked for once more before it counts as lost: git may just have moved it into a pack.
        Ok(Some(tip)) if objects.has(tip)? || store.objects().has(tip)? => {
            let newer = newer_than_packed(store, objects, hash, tip)?;
            Ok((Some(tip), newer.or(Some(tip))))
        }
        Ok(Some(tip)) => {
            let known = metadata::read(store.disk, &store.path, hash);
            let is_known =
                known.is_some_and(|known| known.checkpoints.iter().any(|one| one.is(tip)));
            // One that nobody took is no damaged checkpoint.
            let other = match is_known {
                true => recorded_tip(store, objects, hash),
                false => recorded_whole(store, objects, hash),
            };
            Ok((Some(tip), other.or(Some(tip))))
        }
        Ok(None) => Ok((None, recorded_whole(store, objects, hash))),
        // Where none of those can be read, their history is where it was before its ref was damaged: at
        // the newest, which the next checkpoint passes by.
        Err(error) if error.is_damage() => {
            match recorded_whole(store, objects, hash).or_else(|| recorded_newest(store, hash)) {
                Some(tip) => Ok((None, Some(tip))),
                None => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// The newest checkpoint that the metadata names, where it names `tip` as an older one and the ref
/// was lost: then `tip` is where git packed it once.
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
    let known = metadata::read(store.disk, &store.path, hash);
    let at = known.and_then(|known| known.checkpoints.iter().position(|one| one.is(tip)));
    let is_lost = || commit::read(objects, tip).is_err_and(|error| error.is_damage());
    Ok(match at {
        Some(0) => None,
        Some(_) => recorded_tip(store, objects, hash),
        // What came after a damaged one need not name it.
        None if is_lost() => recorded_whole(store, objects, hash),
        None => None,
    })
}

/// The same while the project's lock is held; makes a lost ref again.
pub fn newest_locked(store: &Store<'_>, objects: &Objects<'_>, hash: &str) -> Result<Option<Oid>> {
    let (found, newest) = stored(store, objects, hash)?;
    if let Some(tip) = newest.filter(|_| found != newest) {
        tracing::debug!("the lost ref of {hash} is made again for {tip}");
        refs::advance(store.disk, &store.path, &refs::of_project(hash), found, tip)?;
    }
    Ok(newest)
}

/// Makes a lost ref of the project again, under the lock that `lock` takes.
// rule: maintenance/heals
pub fn repair(
    store: &Store<'_>,
    objects: &Objects<'_>,
    hash: &str,
    lock: impl FnOnce() -> Result<Lock>,
) -> Result<()> {
    let (found, newest) = stored(store, objects, hash)?;
    if found == newest {
        return Ok(());
    }
    let _lock = lock()?;
    newest_locked(store, objects, hash).map(drop)
}

/// The newest checkpoint that the metadata names, if it is stored.
fn recorded_tip(store: &Store<'_>, objects: &Objects<'_>, hash: &str) -> Option<Oid> {
    let known = metadata::read(store.disk, &store.path, hash)?;
    let tip = known.checkpoints.first()?.id()?;
    commit::read(objects, tip).ok().map(|checkpoint| checkpoint.id)
}

/// The newest checkpoint that the metadata names, whatever became of it.
fn recorded_newest(store: &Store<'_>, hash: &str) -> Option<Oid> {
    metadata::read(store.disk, &store.path, hash)?.checkpoints.first()?.id()
}

/// The newest of the checkpoints that the metadata names whose commit can be read: where the ref is lost,
/// too, a damaged one leads to nothing that could be listed.
// rule: maintenance/damage
fn recorded_whole(store: &Store<'_>, objects: &Objects<'_>, hash: &str) -> Option<Oid> {
    let known = metadata::read(store.disk, &store.path, hash)?;
    let recorded = known.checkpoints.iter().filter_map(Recorded::id);
    recorded.into_iter().find(|id| commit::read(objects, *id).is_ok())
}

/// The hashes of all projects with a history, even if its ref was lost, sorted.
pub fn projects(store: &Store<'_>, objects: &Objects<'_>) -> Result<Vec<String>> {
    let mut hashes = refs::all(store.disk, &store.path)?;
    for hash in names(store, "projects", ".json")? {
        if !hashes.contains(&hash) && recorded_whole(store, objects, &hash).is_some() {
            hashes.push(hash);
        }
    }
    hashes.sort_unstable();
    Ok(hashes)
}

/// The hashes of all projects with a ref, metadata, an index, envelopes or what is known of hands,
/// sorted.
pub fn any_trace(store: &Store<'_>) -> Result<Vec<String>> {
    let mut hashes = refs::all(store.disk, &store.path)?;
    hashes.extend(names(store, "projects", ".json")?);
    hashes.extend(names(store, "indexes", "")?);
    hashes.extend(names(store, "hands", ".json")?);
    hashes.extend(refs::projects_below(store.disk, &store.path, envelopes::FOLDER)?);
    hashes.sort_unstable();
    hashes.dedup();
    Ok(hashes)
}

fn names(store: &Store<'_>, folder: &str, extension: &str) -> Result<Vec<String>> {
    let names = folder::text_names(store.disk, &store.path.join(folder))?;
    let hash = |name: String| Some(name.strip_suffix(extension)?.to_owned());
    Ok(names.into_iter().filter_map(hash).filter(|hash| refs::is_hash(hash)).collect())
}
