//! What undoes a rollback of a whole agent that did not come to its end. The note of it stands in the
//! store from before the first change until after the last: where it is found later, the rollback
//! died, and what it changed is taken back.

use crate::disk::atomic_write::write_whole;
use crate::disk::{Disk, folder};
use crate::error::{Context, Error, Result};
use crate::store::repository::make_private;
use crate::store::{Store, refs};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// No note is larger: it holds every part of an agent, quoted.
const BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// What was there before a rollback, and what it brings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    /// The directory of the project, as bytes.
    pub directory: Vec<u8>,
    /// The checkpoint that is restored, by its full id.
    pub target: String,
    /// The checkpoint that holds the files as they were, by its full id; none where there were none.
    pub before: Option<String>,
    /// The paths, as bytes, where nothing was, or a directory, and the checkpoint holds something.
    pub creates: BTreeSet<Vec<u8>>,
    /// The parts of the agent's state as they were, each by its name.
    pub parts: BTreeMap<String, String>,
}

fn path(store: &Path, hash: &str) -> PathBuf {
    store.join("undo").join(format!("{hash}.json"))
}

/// Notes that a rollback is about to begin. The project's lock is held.
///
/// # Errors
/// A disk that fails; then the rollback must not begin.
pub fn begin(store: &Store<'_>, hash: &str, undo: &Undo) -> Result<()> {
    let path = path(&store.path, hash);
    let text =
        serde_json::to_string(undo).map_err(|error| Error::unusable(&path, error.to_string()))?;
    if text.len() as u64 > BYTES_MAX {
        let why = format!("what would undo the rollback is larger than {BYTES_MAX} bytes");
        return Err(Error::BadState { part: "state".into(), why });
    }
    let folder = store.path.join("undo");
    if folder::stat(store.disk, &folder)?.is_none() {
        make_private(store.disk, &folder)?;
        // The note would be lost with its folder.
        let _ = store.disk.sync_directory(&store.path);
    }
    write_whole(store.disk, &store.path, &format!("undo-{hash}"), text.as_bytes(), &path)
}

/// The hashes of the projects of which a rollback goes on or died, in the store at that path.
///
/// # Errors
/// A disk that fails.
pub fn projects(disk: &dyn Disk, store: &Path) -> Result<Vec<String>> {
    let names = folder::text_names(disk, &store.join("undo"))?;
    let hash = |name: &String| Some(name.strip_suffix(".json")?.to_owned());
    Ok(names.iter().filter_map(hash).filter(|hash| refs::is_hash(hash)).collect())
}

/// Whether a rollback of a project goes on or died. What it is undone with must not be dropped then.
///
/// # Errors
/// A disk that fails.
pub fn is_noted(disk: &dyn Disk, store: &Path, hash: &str) -> Result<bool> {
    folder::stat(disk, &path(store, hash)).map(|stat| stat.is_some())
}

/// What is to be undone; none where no rollback died. While the project's lock is not held, a rollback
/// may go on.
///
/// # Errors
/// A disk that fails, and a note that is damaged.
pub fn read(disk: &dyn Disk, store: &Path, hash: &str) -> Result<Option<Undo>> {
    let path = path(store, hash);
    let Some(bytes) = folder::read_file(disk, &path, BYTES_MAX)? else { return Ok(None) };
    let undo = serde_json::from_slice(&bytes);
    undo.map(Some).map_err(|error| Error::unusable(&path, error.to_string()))
}

/// Notes that the rollback, or undoing it, came to its end: durably, since a note that comes back would
/// undo what was answered. The project's lock is held.
pub fn end(store: &Store<'_>, hash: &str) -> Result<()> {
    let path = path(&store.path, hash);
    if folder::stat(store.disk, &path)?.is_none() {
        return Ok(());
    }
    folder::remove_file(store.disk, &path)?;
    let folder = store.path.join("undo");
    store.disk.sync_directory(&folder).context("removing a file from", &folder)
}
