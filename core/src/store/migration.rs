//! Moves the repositories of v1, which kept one for each directory, unchanged into an archive that
//! plain git still reads.
//!
//! It runs while the store has no HEAD, which is made last, so that the next process goes on where
//! one was killed. Old archives are removed by [`crate::maintenance::prune`].

use crate::disk::Disk;
use crate::error::{Context, Error, Result};
use crate::store::base::{self, ARCHIVE, Entry};
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The time in an archive's name, in UTC.
const TIME: &str = "%Y%m%d-%H%M%S";
/// How many bytes such a time takes.
const TIME_BYTES: usize = "20260506-050616".len();
/// More archives than anyone makes in one second.
const ARCHIVES_MAX: usize = 1_000;

/// Moves every v1 repository into one new archive. What cannot be moved stays where it is, and
/// fails no checkpoint.
pub fn archive_v1(disk: &dyn Disk, base: &Path, seconds: i64) {
    if let Err(error) = archive(disk, base, seconds) {
        log::debug!("the v1 was not archived: {error}");
    }
}

// rule: migration/archives
fn archive(disk: &dyn Disk, base: &Path, seconds: i64) -> Result<()> {
    let names = base::named(disk, base, Entry::Repository)?;
    if names.is_empty() {
        return Ok(());
    }
    let archive = make_archive(disk, base, seconds)?;
    let mut moved = false;
    for name in names {
        match disk.rename(&base.join(&name), &archive.join(&name)) {
            Ok(()) => moved = true,
            // Where it does not exist any more, another process moved it.
            Err(error) => log::debug!("{name:?} was not moved to {archive:?}: {error}"),
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

/// When an archive of that name was made, in seconds since the epoch, if the name says it.
pub fn archived_at(name: &OsStr) -> Option<i64> {
    let digits = name.to_str()?.strip_prefix(ARCHIVE)?.get(..TIME_BYTES)?;
    let time = civil::DateTime::strptime(TIME, digits).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_archive_says_when_it_was_made() {
        for (name, seconds) in [
            ("legacy-20260506-050616", Some(1_778_043_976)),
            ("legacy-20260506-050616-2", Some(1_778_043_976)),
            ("legacy-19700101-000000", Some(0)),
            ("legacy-20261306-050616", None),
            ("legacy-20260506", None),
            ("legacy-mine", None),
            ("20260506-050616", None),
        ] {
            assert_eq!(archived_at(OsStr::new(name)), seconds, "{name}");
        }
    }
}
