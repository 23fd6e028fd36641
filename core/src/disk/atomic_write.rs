//! Writes a file so that it is complete at every moment: first under a temporary name, then, once it
//! is durable, renamed into place.

use crate::disk::Disk;
use crate::error::{Context, Error, Result};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// How many names are tried for a new file: more than the files that dead processes leave.
const NAMES_MAX: usize = 1_000;

/// Writes a durable file at `path` in one step, by way of a file in the store's folder `fresh`.
pub fn write_atomically(
    disk: &dyn Disk,
    store: &Path,
    name: &str,
    content: &[u8],
    path: &Path,
) -> Result<()> {
    replace_file(disk, &write_fresh(disk, store, name, content)?, path)
}

/// As [`write_atomically`], for a file at `place` in the store, without waiting until it is durable: after a power
/// loss it may be missing or damaged.
pub fn write_soon(disk: &dyn Disk, store: &Path, place: &str, content: &[u8]) -> Result<()> {
    let fresh = write_fresh_soon(disk, store, &place.replace('/', "-"), content)?;
    move_file(disk, &fresh, &store.join(place))
}

/// Writes a new durable file in the store's folder `fresh`, to be moved by [`replace_file`].
fn write_fresh(disk: &dyn Disk, store: &Path, name: &str, content: &[u8]) -> Result<PathBuf> {
    write_new_named(disk, &store.join("fresh"), name, content, 0o600)
}

/// Writes a new file in the store's folder `fresh`, without waiting until it is durable.
pub fn write_fresh_soon(
    disk: &dyn Disk,
    store: &Path,
    name: &str,
    content: &[u8],
) -> Result<PathBuf> {
    make_new_named(&store.join("fresh"), name, |path| disk.write_soon(path, content, 0o600))
}

/// Writes a new durable file in `folder` under a name that begins with `name`.
pub fn write_new_named(
    disk: &dyn Disk,
    folder: &Path,
    name: &str,
    content: &[u8],
    mode: u32,
) -> Result<PathBuf> {
    make_new_named(folder, name, |path| disk.write_new(path, content, mode))
}

/// Calls `make` with paths in `folder` whose names begin with `name`, until one of them is free.
pub fn make_new_named(
    folder: &Path,
    name: &str,
    mut make: impl FnMut(&Path) -> io::Result<()>,
) -> Result<PathBuf> {
    for attempt in 0..NAMES_MAX {
        let path = folder.join(format!("{name}-{attempt}"));
        match make(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            // An existing file may belong to another process: it is not removed.
            made => return made.map(|()| path.clone()).context("writing", &path),
        }
    }
    Err(Error::Busy(folder.to_owned()))
}

/// Renames a fresh file to `path` in one step. If that fails, the file is removed.
pub fn move_file(disk: &dyn Disk, fresh: &Path, path: &Path) -> Result<()> {
    disk.rename(fresh, path).context("replacing", path).inspect_err(|_| {
        // A leftover only costs a name; the error itself is what matters.
        let _ = disk.remove_file(fresh);
    })
}

/// As [`move_file`], and waits until that is durable.
pub fn replace_file(disk: &dyn Disk, fresh: &Path, path: &Path) -> Result<()> {
    move_file(disk, fresh, path)?;
    let folder = path.parent().unwrap_or(path);
    disk.sync_directory(folder).context("replacing a file in", folder)
}
