//! The entries of the checkpoint base that belong to this tool. Only these are ever moved or
//! removed.

use crate::disk::{Disk, Kind, folder, is_unreadable};
use crate::error::{Context, Result};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The file that says when the last sweep was.
pub const MARKER: &str = ".last_prune";
/// How the name of a v1 archive begins; the time of the move follows.
pub const ARCHIVE: &str = "legacy-";
/// How the name of an entry begins while it is being removed.
const REMOVING: &str = ".removing-";

/// An entry that belongs to this tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The store.
    Store,
    /// Repositories of the v1 that were moved out of the way.
    Archive,
    /// A v1 repository, which kept one for each directory.
    Repository,
    /// When the last sweep was.
    Marker,
    /// Left by a process that died while it removed something or wrote the marker.
    Leftover,
}

/// All such entries of the base, by name; nothing where there is no base.
pub fn entries(disk: &dyn Disk, base: &Path) -> Result<Vec<(OsString, Entry)>> {
    let mut entries = Vec::new();
    for name in folder::names(disk, base)? {
        if let Some(entry) = entry(disk, base, &name)? {
            entries.push((name, entry));
        }
    }
    Ok(entries)
}

/// The names of one kind.
pub fn named(disk: &dyn Disk, base: &Path, wanted: Entry) -> Result<Vec<OsString>> {
    let entries = entries(disk, base)?.into_iter();
    Ok(entries.filter(|(_, entry)| *entry == wanted).map(|(name, _)| name).collect())
}

/// Removes the entry `name` of the base. It is renamed first, so that what a killed process leaves
/// does not look like a store, an archive or a repository.
pub fn discard(disk: &dyn Disk, base: &Path, name: &OsStr) -> Result<()> {
    let mut removing = OsString::from(REMOVING);
    removing.push(name);
    let (path, removing) = (base.join(name), base.join(removing));
    // Left by a process that died here.
    folder::remove(disk, &removing)?;
    match disk.rename(&path, &removing) {
        // Another process was faster.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        renamed => renamed.context("removing", &path)?,
    }
    folder::remove(disk, &removing)
}

/// None for a foreign entry.
fn entry(disk: &dyn Disk, base: &Path, name: &OsString) -> Result<Option<Entry>> {
    let path = base.join(name);
    let Some(kind) = kind(disk, &path)? else {
        return Ok(None);
    };
    let begins = |start: &str| name.as_bytes().starts_with(start.as_bytes());
    Ok(match kind {
        _ if begins(REMOVING) => Some(Entry::Leftover),
        Kind::File if name == MARKER => Some(Entry::Marker),
        Kind::File if begins(MARKER) => Some(Entry::Leftover),
        Kind::Directory if name == "store" => Some(Entry::Store),
        Kind::Directory if begins(ARCHIVE) => Some(Entry::Archive),
        Kind::Directory if is_repository(disk, &path)? => Some(Entry::Repository),
        _ => None,
    })
}

// rule: migration/archives
// rule: migration/loses-nothing
fn is_repository(disk: &dyn Disk, path: &Path) -> Result<bool> {
    Ok(kind(disk, &path.join("HEAD"))? == Some(Kind::File)
        && kind(disk, &path.join("objects"))? == Some(Kind::Directory))
}

/// None where nothing is, or where there is no permission to look. A failing disk is an error.
fn kind(disk: &dyn Disk, path: &Path) -> Result<Option<Kind>> {
    match disk.stat(path) {
        Ok(stat) => Ok(Some(stat.kind)),
        Err(error) if error.kind() == ErrorKind::NotFound || is_unreadable(&error) => Ok(None),
        Err(error) => Err(error).context("looking at", path),
    }
}
