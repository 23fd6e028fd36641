//! The record of a restore that is about to write into a project. It is in the store while the restore
//! runs; a record that is found while no restore runs shows that a restore was interrupted, and which
//! checkpoint it restored.

use crate::disk::atomic_write::write_atomically;
use crate::disk::{Disk, folder};
use crate::error::{Context, Error, Result};
use crate::store::repository::make_private;
use crate::store::rollbacks::Direction;
use crate::store::{Store, lock};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Size limit of a record in bytes; no record is larger.
const BYTES_MAX: u64 = 64 * 1024;

/// The checkpoints of a restore of more than a single file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The checkpoint that is restored, by its full id.
    pub target: String,
    /// The pre-restore checkpoint, by its full id; `None` if there was nothing to capture.
    pub before: Option<String>,
    /// The files and folders that are restored; `None` for the complete project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<Vec<Vec<u8>>>,
    /// Whether files created since are removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// Which step it is, if it undoes a restore or redoes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
}

impl Record {
    /// Whether it restores the same once more.
    pub fn continues(&self, earlier: &Record) -> bool {
        self.target == earlier.target && self.below == earlier.below
    }
}

fn path(store: &Path, hash: &str) -> PathBuf {
    store.join("restoring").join(hash)
}

/// Records that a restore is about to write into the project, or, without a record, a restore of a single
/// file, which cannot be restored halfway. The project's lock is held.
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
    // A restore that continues an interrupted one keeps its state before, so that undoing undoes both.
    let earlier = read(store.disk, &store.path, hash);
    let continues = record.zip(earlier.as_ref());
    let continues = continues.is_some_and(|(record, earlier)| record.continues(earlier));
    let record = record.map(|record| match earlier {
        Some(Record { before, .. }) if continues => Record { before, ..record.clone() },
        _ => record.clone(),
    });
    let text = record.as_ref().map(serde_json::to_vec).transpose();
    let text = text.map_err(|error| Error::unusable(&path, error.to_string()))?;
    let name = format!("restoring-{hash}");
    write_atomically(store.disk, &store.path, &name, &text.unwrap_or_default(), &path)
}

/// Removes the record, once no temporary files of the restore are left alongside its paths. The removal
/// is durable, or a power loss could restore the record. The project's lock is held.
pub fn end(store: &Store<'_>, hash: &str) -> Result<()> {
    let path = path(&store.path, hash);
    if folder::stat(store.disk, &path)?.is_none() {
        return Ok(());
    }
    folder::remove_file(store.disk, &path)?;
    let folder = store.path.join("restoring");
    store.disk.sync_directory(&folder).context("removing a file from", &folder)
}

/// Whether a restore of the project was interrupted. The project's lock is held.
pub fn died(store: &Store<'_>, hash: &str) -> bool {
    folder::stat(store.disk, &path(&store.path, hash)).is_ok_and(|stat| stat.is_some())
}

/// The record of a restore of more than a single file that did not end; the restore may still run.
pub fn read(disk: &dyn Disk, store: &Path, hash: &str) -> Option<Record> {
    let bytes = folder::read_if_file(disk, &path(store, hash), BYTES_MAX).ok()??;
    serde_json::from_slice(&bytes).ok()
}

/// As [`read`], but only if no restore runs.
pub fn interrupted(disk: &dyn Disk, store: &Path, hash: &str) -> Option<Record> {
    let record = read(disk, store, hash)?;
    let is_held = lock::is_held(disk, &store.join("locks").join(hash));
    // In a read-only store no restore runs.
    (!is_held.unwrap_or(false)).then_some(record)
}

/// The hashes of the projects in which a restore runs or was interrupted.
pub fn projects(disk: &dyn Disk, store: &Path) -> Result<Vec<String>> {
    folder::text_names(disk, &store.join("restoring"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_an_older_version_is_read_and_names_no_step() {
        let record: Record = serde_json::from_str(r#"{"target": "a", "before": null}"#).unwrap();
        assert_eq!((record.exact, record.direction), (false, None));
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(text, r#"{"target":"a","before":null}"#);
    }
}
