//! The record of a restore that is about to write into a project. It stands in the store while the
//! restore runs; one that is found while no restore runs tells that a restore was interrupted, and of
//! what.

use crate::disk::atomic_write::write_whole;
use crate::disk::{Disk, folder};
use crate::error::{Context, Error, Result};
use crate::store::repository::make_private;
use crate::store::{Store, lock};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// No record is larger.
const BYTES_MAX: u64 = 64 * 1024;

/// What a restore of everything was asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The checkpoint that is restored, by its full id.
    pub target: String,
    /// The checkpoint of the state before, by its full id; none where there was nothing.
    pub before: Option<String>,
}

fn path(store: &Path, hash: &str) -> PathBuf {
    store.join("restoring").join(hash)
}

/// Records that a restore is about to write into the project: of everything, or of a single file, of
/// which nothing can be half done. The project's lock is held.
pub fn begin(store: &Store<'_>, hash: &str, record: Option<&Record>) -> Result<()> {
    let path = path(&store.path, hash);
    if record.is_none() && folder::stat(store.disk, &path)?.is_some() {
        return Ok(());
    }
    let folder = store.path.join("restoring");
    if folder::stat(store.disk, &folder)?.is_none() {
        make_private(store.disk, &folder)?;
        // The record would be lost with its folder.
        let _ = store.disk.sync_directory(&store.path);
    }
    // Who goes on with an interrupted restore undoes both.
    let earlier = read(store.disk, &store.path, hash);
    let record = record.map(|record| match earlier {
        Some(earlier) if earlier.target == record.target => earlier,
        _ => record.clone(),
    });
    let text = record.as_ref().map(serde_json::to_vec).transpose();
    let text = text.map_err(|error| Error::unusable(&path, error.to_string()))?;
    let name = format!("restoring-{hash}");
    write_whole(store.disk, &store.path, &name, &text.unwrap_or_default(), &path)
}

/// Records that nothing of a restore is left alongside its paths: durably, or a power loss could bring
/// the record back. The project's lock is held.
pub fn end(store: &Store<'_>, hash: &str) -> Result<()> {
    let path = path(&store.path, hash);
    if folder::stat(store.disk, &path)?.is_none() {
        return Ok(());
    }
    folder::remove_file(store.disk, &path)?;
    let folder = store.path.join("restoring");
    store.disk.sync_directory(&folder).context("removing a file from", &folder)
}

/// Whether a restore began and did not end. The project's lock is held.
pub fn died(store: &Store<'_>, hash: &str) -> bool {
    folder::stat(store.disk, &path(&store.path, hash)).is_ok_and(|stat| stat.is_some())
}

/// The record of a restore of everything that began and did not end; it may still run.
pub fn read(disk: &dyn Disk, store: &Path, hash: &str) -> Option<Record> {
    let bytes = folder::read_if_file(disk, &path(store, hash), BYTES_MAX).ok()??;
    serde_json::from_slice(&bytes).ok()
}

/// The same where no restore runs.
pub fn interrupted(disk: &dyn Disk, store: &Path, hash: &str) -> Option<Record> {
    let record = read(disk, store, hash)?;
    let is_held = lock::is_held(disk, &store.join("locks").join(hash));
    // In a store that can only be read nothing runs.
    (!is_held.unwrap_or(false)).then_some(record)
}

/// The hashes of the projects in which a restore runs or was interrupted.
pub fn projects(disk: &dyn Disk, store: &Path) -> Result<Vec<String>> {
    folder::text_names(disk, &store.join("restoring"))
}
