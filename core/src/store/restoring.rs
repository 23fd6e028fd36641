//! Whether a restore of a project died, so that what it put beside its places is still there. The
//! note of it stands in the store while a restore runs; without one, nothing in a project is taken
//! for a leftover.

use crate::disk::folder;
use crate::error::{Context, Result};
use crate::project::temporary_name;
use crate::store::Store;
use crate::store::repository::make_private;
use std::io::ErrorKind;
use std::path::PathBuf;

fn path(store: &Store<'_>, hash: &str) -> PathBuf {
    store.path.join("restoring").join(hash)
}

/// Notes that a restore is about to write into the project. The project's lock is held.
pub fn begin(store: &Store<'_>, hash: &str) -> Result<()> {
    let (folder, note) = (store.path.join("restoring"), path(store, hash));
    make_private(store.disk, &folder)?;
    match store.disk.write_new(&note, b"", 0o600) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        written => written.context("writing", &note)?,
    }
    store.disk.sync_directory(&folder).context("making a file in", &folder)
}

/// Notes that nothing of a restore is left beside its places.
pub fn end(store: &Store<'_>, hash: &str) -> Result<()> {
    folder::remove_file(store.disk, &path(store, hash))
}

/// Whether a restore began and did not end. The project's lock is held.
pub fn died(store: &Store<'_>, hash: &str) -> bool {
    folder::stat(store.disk, &path(store, hash)).is_ok_and(|stat| stat.is_some())
}

/// How the names begin of what restores of other projects put beside their places, where one died or is
/// running; none where that cannot be seen.
pub fn others(store: &Store<'_>, hash: &str) -> Vec<String> {
    let names = folder::names(store.disk, &store.path.join("restoring")).unwrap_or_default();
    let names = names.into_iter().filter_map(|name| name.into_string().ok());
    names.filter(|other| other != hash).map(|other| temporary_name(&other)).collect()
}
