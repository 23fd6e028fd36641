//! The journal of a restore of agent state. It is in the store from before the first change until after
//! the last: a journal that is found later shows that the restore was interrupted, and its changes are
//! undone.

use super::Stored;
use crate::disk::atomic_write::write_atomically;
use crate::disk::{Disk, folder};
use crate::error::{Context, Error, Result};
use crate::project::hash_of;
use crate::store::{make_private, refs};
use crate::text::{beginning, size};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Size limit of a journal in bytes; no journal is larger: it holds every part of an agent, quoted.
const BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// The journal: the state before a restore, and the paths that it creates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// The directory of the project, as bytes.
    pub directory: Vec<u8>,
    /// The checkpoint that is restored, by its full id.
    pub target: String,
    /// The checkpoint with the files before the restore, by its full id; `None` if there were no files.
    pub before: Option<String>,
    /// The paths, as bytes, that the checkpoint holds and where nothing or a directory was before.
    pub creates: BTreeSet<Vec<u8>>,
    /// The parts of the agent's state before the restore, by their names.
    pub parts: BTreeMap<String, String>,
}

impl Journal {
    /// The first journal of an interrupted restore, or why it cannot be read.
    pub fn interrupted(
        disk: &dyn Disk,
        store: &Path,
        is_running: impl Fn(&str) -> bool,
    ) -> Option<Result<Self>> {
        let hash = projects(disk, store).ok()?.into_iter().find(|hash| !is_running(hash))?;
        read(disk, store, &hash).transpose()
    }
}

fn path(store: &Path, hash: &str) -> PathBuf {
    store.join("undo").join(format!("{hash}.json"))
}

impl Stored<'_> {
    /// Writes the journal of a restore that is about to begin. The project's lock is held.
    ///
    /// # Errors
    /// A journal that is too large; a disk that fails. Then the restore must not begin.
    pub(super) fn begin_journal(&self, journal: &Journal) -> Result<()> {
        let Stored { store, hash } = *self;
        let path = path(&store.path, hash);
        let text = serde_json::to_string(journal)
            .map_err(|error| Error::unusable(&path, error.to_string()))?;
        if text.len() as u64 > BYTES_MAX {
            let why = format!(
                "the journal that could undo this rollback is larger than {}",
                size(BYTES_MAX)
            );
            return Err(Error::BadState { part: "state".into(), why });
        }
        let folder = store.path.join("undo");
        if folder::stat(store.disk, &folder)?.is_none() {
            make_private(store.disk, &folder)?;
            // The journal would be lost with its folder.
            let _ = store.disk.sync_directory(&store.path);
        }
        write_atomically(store.disk, &store.path, &format!("undo-{hash}"), text.as_bytes(), &path)
    }

    /// Whether the project has a journal: a restore runs or was interrupted, and the checkpoints that undo
    /// it must not be evicted.
    ///
    /// # Errors
    /// A disk that fails.
    pub fn has_journal(&self) -> Result<bool> {
        let path = path(&self.store.path, self.hash);
        folder::stat(self.store.disk, &path).map(|stat| stat.is_some())
    }

    /// Removes the journal when the restore or its undoing is complete. The removal is durable: a journal
    /// that reappeared would undo a restore that was reported as done. The project's lock is held.
    pub(super) fn end_journal(&self) -> Result<()> {
        let Stored { store, hash } = *self;
        let path = path(&store.path, hash);
        if folder::stat(store.disk, &path)?.is_none() {
            return Ok(());
        }
        folder::remove_file(store.disk, &path)?;
        let folder = store.path.join("undo");
        store.disk.sync_directory(&folder).context("removing a file from", &folder)
    }
}

/// The hashes of the projects with a journal: a restore runs or was interrupted.
///
/// # Errors
/// A disk that fails.
pub fn projects(disk: &dyn Disk, store: &Path) -> Result<Vec<String>> {
    let names = folder::text_names(disk, &store.join("undo"))?;
    let hash = |name: &String| Some(name.strip_suffix(".json")?.to_owned());
    Ok(names.iter().filter_map(hash).filter(|hash| refs::is_hash(hash)).collect())
}

/// Reads the journal of a project; `None` if the project has no journal. While the project's lock is not
/// held, the restore may still run.
///
/// # Errors
/// A disk that fails, and a damaged journal.
pub fn read(disk: &dyn Disk, store: &Path, hash: &str) -> Result<Option<Journal>> {
    let path = path(store, hash);
    let Some(bytes) = folder::read_file(disk, &path, BYTES_MAX)? else { return Ok(None) };
    let journal: Journal = serde_json::from_slice(&bytes)
        .map_err(|error| Error::unusable(&path, beginning(&error)))?;
    // A damaged path may be that of any directory, in which nothing must be undone.
    if hash_of(Path::new(OsStr::from_bytes(&journal.directory))) != hash {
        return Err(Error::unusable(&path, "its directory is not that of its project"));
    }
    Ok(Some(journal))
}
