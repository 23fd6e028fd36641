//! Writing a file so that it is whole at every moment: under a temporary name beside its place, made
//! durable, and moved there in one step.

use crate::disk::Disk;
use crate::error::{Context, Error, Result};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// How many names are tried for a new file: more than were left by processes that died.
const NAMES_MAX: usize = 1_000;

/// Writes the durable file at `place` in one step, by way of a fresh one beside the store's own.
pub fn write_whole(
    disk: &dyn Disk,
    store: &Path,
    name: &str,
    content: &[u8],
    place: &Path,
) -> Result<()> {
    replace_file(disk, &write_fresh(disk, store, name, content)?, place)
}

/// Writes a new durable file beside the store's own, to be moved into place by [`replace_file`].
pub fn write_fresh(disk: &dyn Disk, store: &Path, name: &str, content: &[u8]) -> Result<PathBuf> {
    write_new_named(disk, &store.join("fresh"), name, content, 0o600)
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

/// Makes what `make` makes at a path in `folder`, under a name that begins with `name`.
pub fn make_new_named(
    folder: &Path,
    name: &str,
    mut make: impl FnMut(&Path) -> io::Result<()>,
) -> Result<PathBuf> {
    for attempt in 0..NAMES_MAX {
        let path = folder.join(format!("{name}-{attempt}"));
        match make(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            // What stands there may be somebody else's: it is not removed.
            made => return made.map(|()| path.clone()).context("writing", &path),
        }
    }
    Err(Error::Busy(folder.to_owned()))
}

/// Moves a fresh file to its place in one step and waits until that is durable.
pub fn replace_file(disk: &dyn Disk, fresh: &Path, place: &Path) -> Result<()> {
    let moved = disk.rename(fresh, place).context("replacing", place).and_then(|()| {
        let folder = place.parent().unwrap_or(place);
        disk.sync_directory(folder).context("replacing a file in", folder)
    });
    if moved.is_err() {
        // A leftover only costs a name; the error itself is what matters.
        let _ = disk.remove_file(fresh);
    }
    moved
}
