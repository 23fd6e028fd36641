//! What stands in the checkpoint base, and which of it is ours. Whatever is named here may be
//! moved or removed by maintenance; nothing else in the base ever is.

use crate::disk::{Disk, Kind};
use crate::error::Result;
use crate::folder;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The file that says when the last sweep was.
pub const MARKER: &str = ".last_prune";
/// How the name of an archive of the first layout begins; the time of the move follows.
pub const ARCHIVE: &str = "legacy-";
/// How the name of something begins that is being removed.
pub const REMOVING: &str = ".removing-";

/// Something of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The store.
    Store,
    /// Repositories of the first layout that were moved out of the way.
    Archive,
    /// A repository of the first layout, which kept one for each directory.
    Repository,
    /// When the last sweep was.
    Marker,
    /// What a process left that died while it removed something or wrote the marker.
    Leftover,
}

/// Everything of ours in the base, by name; nothing where there is no base.
pub fn entries(disk: &dyn Disk, base: &Path) -> Result<Vec<(OsString, Entry)>> {
    let known = |name: OsString| entry(disk, base, &name).map(|entry| (name, entry));
    Ok(folder::names(disk, base)?.into_iter().filter_map(known).collect())
}

/// The names of one kind.
pub fn named(disk: &dyn Disk, base: &Path, wanted: Entry) -> Result<Vec<OsString>> {
    let entries = entries(disk, base)?.into_iter();
    Ok(entries.filter(|(_, entry)| *entry == wanted).map(|(name, _)| name).collect())
}

/// None for what is not ours, and for what cannot be looked at.
fn entry(disk: &dyn Disk, base: &Path, name: &OsString) -> Option<Entry> {
    let path = base.join(name);
    let kind = disk.stat(&path).ok()?.kind;
    let begins = |start: &str| name.as_bytes().starts_with(start.as_bytes());
    match kind {
        _ if begins(REMOVING) => Some(Entry::Leftover),
        Kind::File if name == MARKER => Some(Entry::Marker),
        Kind::File if begins(MARKER) => Some(Entry::Leftover),
        Kind::Directory if name == "store" => Some(Entry::Store),
        Kind::Directory if begins(ARCHIVE) => Some(Entry::Archive),
        Kind::Directory if is_repository(disk, &path) => Some(Entry::Repository),
        _ => None,
    }
}

fn is_repository(disk: &dyn Disk, path: &Path) -> bool {
    let is = |name: &str, kind| disk.stat(&path.join(name)).is_ok_and(|stat| stat.kind == kind);
    is("HEAD", Kind::File) && is("objects", Kind::Directory)
}
