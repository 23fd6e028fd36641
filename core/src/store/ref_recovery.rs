//! Histories whose ref was lost: the metadata of a project names its newest checkpoint, and while
//! that is stored the ref can be made again.
//!
//! A project whose metadata names none counts as one that never had a checkpoint: other tools write
//! the metadata before the first one.

use crate::disk::folder;
use crate::error::Result;
use crate::store::lock::Lock;
use crate::store::objects::Objects;
use crate::store::{Store, commit, metadata, refs};
use git2::Oid;

/// The newest checkpoint of the project, also where its ref was lost. It changes nothing.
pub fn newest(store: &Store<'_>, objects: &Objects<'_>, hash: &str) -> Result<Option<Oid>> {
    let tip = refs::read(store.disk, &store.path, hash)?;
    Ok(tip.or_else(|| recorded_tip(store, objects, hash)))
}

/// The same while the project's lock is held; makes a lost ref again.
pub fn newest_locked(store: &Store<'_>, objects: &Objects<'_>, hash: &str) -> Result<Option<Oid>> {
    if let Some(tip) = refs::read(store.disk, &store.path, hash)? {
        return Ok(Some(tip));
    }
    let lost = recorded_tip(store, objects, hash);
    if let Some(tip) = lost {
        log::debug!("the lost ref of {hash} is made again for {tip}");
        refs::advance(store.disk, &store.path, hash, None, tip)?;
    }
    Ok(lost)
}

/// Makes a lost ref of the project again, under the lock that `lock` takes.
// rule: maintenance/heals
pub fn repair(
    store: &Store<'_>,
    objects: &Objects<'_>,
    hash: &str,
    lock: impl FnOnce() -> Result<Lock>,
) -> Result<()> {
    let whole = refs::read(store.disk, &store.path, hash)?.is_some();
    if whole || recorded_tip(store, objects, hash).is_none() {
        return Ok(());
    }
    let _lock = lock()?;
    newest_locked(store, objects, hash).map(drop)
}

/// The checkpoint that the metadata names, if it is stored.
fn recorded_tip(store: &Store<'_>, objects: &Objects<'_>, hash: &str) -> Option<Oid> {
    let tip = metadata::read(store.disk, &store.path, hash)?.tip?;
    let tip = Oid::from_str(&tip).ok()?;
    commit::read(objects, tip).ok().map(|checkpoint| checkpoint.id)
}

/// The hashes of all projects with a history, even if its ref was lost, sorted.
pub fn projects(store: &Store<'_>, objects: &Objects<'_>) -> Result<Vec<String>> {
    let mut hashes = refs::all(store.disk, &store.path)?;
    for hash in names(store, "projects", ".json")? {
        if !hashes.contains(&hash) && recorded_tip(store, objects, &hash).is_some() {
            hashes.push(hash);
        }
    }
    hashes.sort_unstable();
    Ok(hashes)
}

/// The hashes of all projects with a ref, metadata or an index, sorted.
pub fn any_trace(store: &Store<'_>) -> Result<Vec<String>> {
    let mut hashes = refs::all(store.disk, &store.path)?;
    hashes.extend(names(store, "projects", ".json")?);
    hashes.extend(names(store, "indexes", "")?);
    hashes.sort_unstable();
    hashes.dedup();
    Ok(hashes)
}

fn names(store: &Store<'_>, folder: &str, extension: &str) -> Result<Vec<String>> {
    let names = folder::text_names(store.disk, &store.path.join(folder))?;
    let hash = |name: String| Some(name.strip_suffix(extension)?.to_owned());
    Ok(names.into_iter().filter_map(hash).filter(|hash| refs::is_hash(hash)).collect())
}
