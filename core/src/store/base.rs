//! The entries of the checkpoint base that belong to this tool. Only these are ever moved or
//! removed.

use crate::disk::{Disk, Kind, folder, is_unreadable};
use crate::error::{Context, Result};
use jiff::civil;
use jiff::tz::TimeZone;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The file that says when the last sweep was.
pub const MARKER: &str = ".last_prune";
/// How the name of a v1 archive begins; the time of the move follows.
pub const ARCHIVE: &str = "legacy-";
/// The time that follows, in UTC.
pub const TIME: &str = "%Y%m%d-%H%M%S";
/// How many bytes such a time takes.
const TIME_BYTES: usize = "20260506-050616".len();
/// The file of a v1 repository that names its directory.
pub const WORKDIR: &str = "HERMES_WORKDIR";
/// How the name of an entry begins while it is being removed.
const REMOVING: &str = ".removing-";
/// How many digits the name of a v1 repository has.
const HASH_BYTES: usize = 16;

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

/// How many entries of the base do not belong to this tool; none is ever touched.
pub fn others(disk: &dyn Disk, base: &Path) -> Result<usize> {
    let all = folder::names(disk, base)?.len();
    Ok(all.saturating_sub(entries(disk, base)?.len()))
}

/// The names of one kind.
pub fn named(disk: &dyn Disk, base: &Path, wanted: Entry) -> Result<Vec<OsString>> {
    let entries = entries(disk, base)?.into_iter();
    Ok(entries.filter(|(_, entry)| *entry == wanted).map(|(name, _)| name).collect())
}

/// Removes the archive `name` of the base: the repositories in it, and the folder if nothing else
/// is in it.
pub fn discard_archive(disk: &dyn Disk, base: &Path, name: &OsStr) -> Result<()> {
    for repository in repositories(disk, &base.join(name))? {
        discard(disk, base, &Path::new(name).join(repository))?;
    }
    let archive = base.join(name);
    match disk.remove_directory(&archive) {
        // What else is in it stays; or another process was faster.
        Err(error)
            if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::NotFound) =>
        {
            Ok(())
        }
        removed => removed.context("removing the directory", &archive),
    }
}

/// Removes what stands at a place below the base. It is renamed first, so that what a killed
/// process leaves does not look like a store or a repository.
pub fn discard(disk: &dyn Disk, base: &Path, place: &Path) -> Result<()> {
    let mut removing = OsString::from(REMOVING);
    for (index, name) in place.iter().enumerate() {
        removing.push(if index > 0 { "-" } else { "" });
        removing.push(name);
    }
    let (path, removing) = (base.join(place), base.join(removing));
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
    Ok(match kind {
        Kind::Directory if was_being_removed(name) => Some(Entry::Leftover),
        Kind::File if name == MARKER => Some(Entry::Marker),
        Kind::File if is_half_written_marker(name) => Some(Entry::Leftover),
        Kind::Directory if name == "store" => Some(Entry::Store),
        Kind::Directory if archived_at(name).is_some() && is_archive(disk, &path)? => {
            Some(Entry::Archive)
        }
        Kind::Directory if is_repository(disk, &path)? => Some(Entry::Repository),
        _ => None,
    })
}

/// Whether a folder has the name that [`discard`] gives to what it removes: the store, an archive or
/// a repository in one, or a v1 repository, which is named by the hash of its directory. Anything else
/// of such a name is somebody's.
// rule: maintenance/only-ours
fn was_being_removed(name: &OsStr) -> bool {
    let Some(place) = name.as_bytes().strip_prefix(REMOVING.as_bytes()) else { return false };
    let archive = place.get(..ARCHIVE.len() + TIME_BYTES).map(OsStr::from_bytes);
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    place == b"store"
        || archive.is_some_and(|archive| archived_at(archive).is_some())
        || place.len() == HASH_BYTES && place.iter().all(is_digit)
}

/// Whether a file has the name that the marker is written under before it is moved into place.
// rule: maintenance/only-ours
fn is_half_written_marker(name: &OsStr) -> bool {
    let attempt = name.as_bytes().strip_prefix(MARKER.as_bytes());
    let attempt = attempt.and_then(|attempt| attempt.strip_prefix(b"-")).unwrap_or_default();
    !attempt.is_empty() && attempt.iter().all(u8::is_ascii_digit)
}

// rule: maintenance/only-ours
/// An archive holds v1 repositories; an empty one was left by a process that died.
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
    let is = |name, wanted| Ok(kind(disk, &path.join(name))? == Some(wanted));
    Ok(is("HEAD", Kind::File)? && is("objects", Kind::Directory)? && is(WORKDIR, Kind::File)?)
}

/// None where there is no permission to look.
fn names_in(disk: &dyn Disk, folder: &Path) -> Result<Option<Vec<OsString>>> {
    match disk.list(folder) {
        Err(error) if is_unreadable(&error) => Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Some(Vec::new())),
        names => names.map(Some).context("reading the directory", folder),
    }
}

/// None where nothing is, or where there is no permission to look. A failing disk is an error.
fn kind(disk: &dyn Disk, path: &Path) -> Result<Option<Kind>> {
    match disk.stat(path) {
        Ok(stat) => Ok(Some(stat.kind)),
        Err(error) if error.kind() == ErrorKind::NotFound || is_unreadable(&error) => Ok(None),
        Err(error) => Err(error).context("looking at", path),
    }
}

/// When an archive of that name was made, in seconds since the epoch, if the name says it.
pub fn archived_at(name: &OsStr) -> Option<i64> {
    let (digits, number) = name.to_str()?.strip_prefix(ARCHIVE)?.split_at_checked(TIME_BYTES)?;
    // What follows tells archives of the same second apart.
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
    fn only_what_this_tool_left_half_done_is_a_leftover() {
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
    fn the_name_of_an_archive_says_when_it_was_made() {
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
