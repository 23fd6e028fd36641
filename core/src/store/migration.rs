//! Moves the repositories of v1, one for each directory, unchanged into an archive. Plain git can still
//! read them there.
//!
//! The move runs while the store has no HEAD, and the HEAD is written afterwards. So if a process is
//! killed during the move, the next one finds no HEAD and continues. [`crate::maintenance::prune`]
//! removes old archives.

use crate::disk::Disk;
use crate::error::{Context, Error, Result};
use crate::store::base::{self, ARCHIVE, BaseEntry, TIME};
use jiff::Timestamp;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The most archives made in one second.
const ARCHIVES_MAX: usize = 1_000;

/// Moves every v1 repository into a new archive. A repository that cannot be moved stays where it is;
/// no checkpoint fails because of it.
pub fn archive_v1(disk: &dyn Disk, base: &Path, seconds: i64) {
    if let Err(error) = archive(disk, base, seconds) {
        tracing::debug!("the v1 repositories were not archived: {error}");
    }
}

// rule: migration/archives
fn archive(disk: &dyn Disk, base: &Path, seconds: i64) -> Result<()> {
    let names = base::named(disk, base, BaseEntry::Repository)?;
    if names.is_empty() {
        return Ok(());
    }
    let archive = make_archive(disk, base, seconds)?;
    let mut moved = false;
    for name in names {
        match disk.rename(&base.join(&name), &archive.join(&name)) {
            Ok(()) => moved = true,
            // If it no longer exists, another process moved it.
            Err(error) => tracing::debug!("{name:?} was not moved to {archive:?}: {error}"),
        }
    }
    if !moved {
        return disk.remove_directory(&archive).context("removing the directory", &archive);
    }
    disk.sync_directory(&archive).context("moving repositories to", &archive)?;
    disk.sync_directory(base).context("moving repositories from", base)
}

fn make_archive(disk: &dyn Disk, base: &Path, seconds: i64) -> Result<PathBuf> {
    // A time outside the calendar counts as the epoch.
    let time = Timestamp::from_second(seconds.max(0)).unwrap_or(Timestamp::UNIX_EPOCH);
    let name = format!("{ARCHIVE}{}", time.strftime(TIME));
    for attempt in 0..ARCHIVES_MAX {
        let suffix = if attempt > 0 { format!("-{attempt}") } else { String::new() };
        let path = base.join(format!("{name}{suffix}"));
        match disk.make_directory(&path, 0o700) {
            // rule: migration/loses-nothing
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.context("making", &path).map(|()| path),
        }
    }
    Err(Error::Busy(base.to_owned()))
}
