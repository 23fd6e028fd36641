//! The entries of the checkpoint base that belong to this tool. Only these are moved or removed.

use crate::disk::{Disk, Kind, folder, is_unreadable};
use crate::error::{Context, Result};
use jiff::civil;
use jiff::tz::TimeZone;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The file with the time of the last automatic prune.
pub const MARKER: &str = ".last_prune";
/// The start of the name of a v1 archive; the time of the archiving follows.
pub const ARCHIVE: &str = "legacy-";
/// The format of that time, in UTC.
pub const TIME: &str = "%Y%m%d-%H%M%S";
/// The length of that time in bytes.
const TIME_BYTES: usize = "20260506-050616".len();
/// The file of a v1 repository that names its directory.
pub const WORKDIR: &str = "HERMES_WORKDIR";
/// The start of the name of an entry that is being removed.
const REMOVING: &str = ".removing-";
/// The number of digits in the name of a v1 repository.
const HASH_BYTES: usize = 16;

/// An entry that belongs to this tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseEntry {
    /// The store.
    Store,
    /// A folder into which v1 repositories were moved.
    Archive,
    /// A repository of v1, which made one for each directory.
    Repository,
    /// The file with the time of the last automatic prune.
    Marker,
    /// A remainder of a process that died while it removed an entry or wrote the marker.
    Leftover,
}

/// The entries of the base that belong to this tool, by name; empty if there is no base.
pub fn entries(disk: &dyn Disk, base: &Path) -> Result<Vec<(OsString, BaseEntry)>> {
    let mut entries = Vec::new();
    for name in folder::names(disk, base)? {
        if let Some(entry) = entry(disk, base, &name)? {
            entries.push((name, entry));
        }
    }
    Ok(entries)
}

/// How many entries of the base do not belong to this tool and are never touched.
pub fn others(disk: &dyn Disk, base: &Path) -> Result<usize> {
    let count = folder::names(disk, base)?.len();
    Ok(count.saturating_sub(entries(disk, base)?.len()))
}

/// The names of the entries of one kind.
pub fn named(disk: &dyn Disk, base: &Path, kind: BaseEntry) -> Result<Vec<OsString>> {
    let entries = entries(disk, base)?.into_iter();
    Ok(entries.filter(|(_, entry)| *entry == kind).map(|(name, _)| name).collect())
}

/// Removes the archive `name` of the base: its repositories, what an earlier attempt left of them, and the
/// folder if nothing else is in it. The folder stays until all of them are gone, so that the archive counts.
pub fn discard_archive(disk: &dyn Disk, base: &Path, name: &OsStr) -> Result<()> {
    let archive = base.join(name);
    let staged = [REMOVING.as_bytes(), name.as_bytes()].concat();
    let names = folder::names(disk, base)?.into_iter();
    let left = names.filter(|name| name.as_bytes().starts_with(&staged));
    let mut removed: Vec<Result<()>> =
        left.map(|left| folder::remove(disk, &base.join(left))).collect();
    for repository in repositories(disk, &archive)? {
        removed.push(discard(disk, base, &Path::new(name).join(repository)));
    }
    removed.into_iter().collect::<Result<()>>()?;
    match disk.remove_directory(&archive) {
        // Anything else in it stays, or another process removed it first.
        Err(error)
            if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::NotFound) =>
        {
            Ok(())
        }
        removed => removed.context("removing the directory", &archive),
    }
}

/// Removes the entry at a path relative to the base. It is renamed first, so that the remainder that a
/// killed process leaves does not look like a store or a repository.
pub fn discard(disk: &dyn Disk, base: &Path, entry: &Path) -> Result<()> {
    let mut removing = OsString::from(REMOVING);
    for (index, name) in entry.iter().enumerate() {
        removing.push(if index > 0 { "-" } else { "" });
        removing.push(name);
    }
    let path = base.join(entry);
    let removing = base.join(removing);
    // A process that died here may have left it.
    folder::remove(disk, &removing)?;
    match disk.rename(&path, &removing) {
        // Another process removed it first.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        // An overlay does not rename a folder of a layer below. What makes a repository of it goes first.
        Err(error) if error.kind() == ErrorKind::CrossesDevices => {
            folder::remove_file(disk, &path.join("HEAD"))?;
            folder::remove(disk, &path)
        }
        renamed => {
            renamed.context("removing", &path)?;
            folder::remove(disk, &removing)
        }
    }
}

/// What an entry of the base is; `None` if it does not belong to this tool.
fn entry(disk: &dyn Disk, base: &Path, name: &OsString) -> Result<Option<BaseEntry>> {
    let path = base.join(name);
    let Some(kind) = kind(disk, &path)? else {
        return Ok(None);
    };
    Ok(match kind {
        Kind::Directory if was_being_removed(name) => Some(BaseEntry::Leftover),
        Kind::File if name == MARKER => Some(BaseEntry::Marker),
        Kind::File if is_half_written_marker(name) => Some(BaseEntry::Leftover),
        Kind::Directory if name == "store" => Some(BaseEntry::Store),
        Kind::Directory if archived_at(name).is_some() && is_archive(disk, &path)? => {
            Some(BaseEntry::Archive)
        }
        Kind::Directory if is_repository(disk, &path)? => Some(BaseEntry::Repository),
        _ => None,
    })
}

/// Whether a folder has a name that [`discard`] gives to an entry that it removes: the store, an
/// archive or a repository in an archive, or a v1 repository, which is named by the hash of its
/// directory. A folder with any other name belongs to the user.
// rule: maintenance/only-ours
fn was_being_removed(name: &OsStr) -> bool {
    let Some(entry) = name.as_bytes().strip_prefix(REMOVING.as_bytes()) else { return false };
    let archive = entry.get(..ARCHIVE.len() + TIME_BYTES).map(OsStr::from_bytes);
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    entry == b"store"
        || archive.is_some_and(|archive| archived_at(archive).is_some())
        || entry.len() == HASH_BYTES && entry.iter().all(is_digit)
}

/// Whether a file has a name under which the marker is written before it is moved into place.
// rule: maintenance/only-ours
fn is_half_written_marker(name: &OsStr) -> bool {
    let attempt = name.as_bytes().strip_prefix(MARKER.as_bytes());
    let attempt = attempt.and_then(|attempt| attempt.strip_prefix(b"-")).unwrap_or_default();
    !attempt.is_empty() && attempt.iter().all(u8::is_ascii_digit)
}

// rule: maintenance/only-ours: decides
/// Whether a folder is an archive: it holds v1 repositories, or a process that died left it empty.
fn is_archive(disk: &dyn Disk, path: &Path) -> Result<bool> {
    Ok(names_in(disk, path)?.is_some_and(|names| names.is_empty())
        || !repositories(disk, path)?.is_empty())
}

/// The v1 repositories in a folder, by name.
fn repositories(disk: &dyn Disk, folder: &Path) -> Result<Vec<OsString>> {
    let mut repositories = Vec::new();
    for name in names_in(disk, folder)?.unwrap_or_default() {
        if is_repository(disk, &folder.join(&name))? {
            repositories.push(name);
        }
    }
    Ok(repositories)
}

// rule: migration/archives
// rule: migration/loses-nothing
// rule: maintenance/only-ours
fn is_repository(disk: &dyn Disk, path: &Path) -> Result<bool> {
    let has = |name, expected| Ok(kind(disk, &path.join(name))? == Some(expected));
    Ok(has("HEAD", Kind::File)? && has("objects", Kind::Directory)? && has(WORKDIR, Kind::File)?)
}

/// The names in a folder; `None` if there is no permission to list it.
fn names_in(disk: &dyn Disk, folder: &Path) -> Result<Option<Vec<OsString>>> {
    match disk.list(folder) {
        Err(error) if is_unreadable(&error) => Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Some(Vec::new())),
        names => names.map(Some).context("reading the directory", folder),
    }
}

/// The kind of file at a path; `None` if nothing exists there or there is no permission to look.
fn kind(disk: &dyn Disk, path: &Path) -> Result<Option<Kind>> {
    match disk.stat(path) {
        Ok(stat) => Ok(Some(stat.kind)),
        Err(error) if error.kind() == ErrorKind::NotFound || is_unreadable(&error) => Ok(None),
        Err(error) => Err(error).context("looking at", path),
    }
}

/// When an archive of that name was made, in seconds since the epoch; `None` if the name has no time.
pub fn archived_at(name: &OsStr) -> Option<i64> {
    let (digits, number) = name.to_str()?.strip_prefix(ARCHIVE)?.split_at_checked(TIME_BYTES)?;
    // The number after the time distinguishes archives of the same second.
    let number = number.strip_prefix('-').unwrap_or(if number.is_empty() { "0" } else { "" });
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let time = civil::DateTime::strptime(TIME, digits).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn was_being_removed_and_is_half_written_marker_hold_only_for_names_of_this_tool() {
        for name in ["store", "legacy-20260506-050616", "legacy-20260506-050616-0123456789abcdef"] {
            assert!(was_being_removed(OsStr::new(&format!("{REMOVING}{name}"))), "{name}");
        }
        assert!(was_being_removed(OsStr::new(".removing-0123456789abcdef")));
        for name in [".removing-junk-from-2019", ".removing-", ".removing-legacy-mine", "store"] {
            assert!(!was_being_removed(OsStr::new(name)), "{name}");
        }
        assert!(is_half_written_marker(OsStr::new(".last_prune-0")));
        for name in [".last_prune", ".last_prune-", ".last_prune.bak", ".last_prune-0.old"] {
            assert!(!is_half_written_marker(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn archived_at_reads_the_time_in_the_name_of_an_archive() {
        for (name, seconds) in [
            ("legacy-20260506-050616", Some(1_778_043_976)),
            ("legacy-20260506-050616-2", Some(1_778_043_976)),
            ("legacy-19700101-000000", Some(0)),
            ("legacy-20261306-050616", None),
            ("legacy-20260506", None),
            ("legacy-20260506-050616.old", None),
            ("legacy-20260506-050616-", None),
            ("legacy-20260506-050616-old", None),
            ("legacy-mine", None),
            ("20260506-050616", None),
        ] {
            assert_eq!(archived_at(OsStr::new(name)), seconds, "{name}");
        }
    }
}
