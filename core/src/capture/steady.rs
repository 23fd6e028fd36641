//! Reading one file that does not change meanwhile, and storing it on the way. A large one is never
//! in memory as a whole.

use crate::disk::{Disk, Stat};
use crate::error::Error;
use crate::store::object::{IN_MEMORY_BYTES_MAX, Kind, blob_of, id_of};
use crate::store::objects::Objects;
use git2::Oid;
use std::io;
use std::path::Path;

/// A file that changes while it is read is read this often before it is left out.
const ATTEMPTS_MAX: usize = 3;

/// Why a file was not captured.
pub enum Failure {
    /// It cannot be read.
    File(io::Error),
    /// It keeps changing while it is read.
    Changing,
    /// It cannot be stored.
    Store(Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::File(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Store(error)
    }
}

/// Reads a file of at most `most` bytes, and stores it where it is to be kept; none where it has
/// more. `started` is the stat of a file made before anything was read.
// rule: capture/bytes
// rule: capture/no-conversion
// rule: capture/honest
pub fn read(
    disk: &dyn Disk,
    path: &Path,
    most: u64,
    started: Option<&Stat>,
    mut keep: Option<&mut Objects<'_>>,
) -> Result<Option<(Oid, Stat)>, Failure> {
    for _ in 0..ATTEMPTS_MAX {
        match attempt(disk, path, most, started, keep.as_deref_mut())? {
            Seen::Changing => {}
            Seen::TooLarge => return Ok(None),
            Seen::File(blob, stat) => return Ok(Some((blob, stat))),
        }
    }
    Err(Failure::Changing)
}

/// Names these bytes, and stores them where they are to be kept.
pub fn name(bytes: &[u8], keep: Option<&mut Objects<'_>>) -> Result<Oid, Error> {
    match keep {
        Some(objects) => objects.add(Kind::Blob, bytes),
        None => id_of(Kind::Blob, bytes),
    }
}

enum Seen {
    Changing,
    TooLarge,
    File(Oid, Stat),
}

fn attempt(
    disk: &dyn Disk,
    path: &Path,
    most: u64,
    started: Option<&Stat>,
    keep: Option<&mut Objects<'_>>,
) -> Result<Seen, Failure> {
    let in_memory = most.min(IN_MEMORY_BYTES_MAX);
    let (content, before) = disk.read(path, in_memory + 1)?;
    if disk.stat(path)? != before {
        return Ok(Seen::Changing);
    }
    if content.len() as u64 <= in_memory {
        // Of two changes in one tick of the clock the second one leaves no trace but the bytes.
        // rule: capture/steady
        let is_young = started.is_some_and(|started| !before.is_settled_before(started));
        if is_young && disk.read(path, in_memory + 1)?.0 != content {
            return Ok(Seen::Changing);
        }
        return Ok(Seen::File(name(&content, keep)?, before));
    }
    if in_memory == most || before.size > most {
        return Ok(Seen::TooLarge);
    }
    // rule: cost/memory
    drop(content);
    let (blob, opened) = blob_of(disk, path)?;
    let Some(blob) = blob.filter(|_| opened == before) else { return Ok(Seen::Changing) };
    if let Some(objects) = keep
        && !objects.is_whole(blob)?
        && !objects.add_stream(blob, before.size, disk.open(path)?.0)?
    {
        return Ok(Seen::Changing);
    }
    let is_steady = disk.stat(path)? == before;
    Ok(if is_steady { Seen::File(blob, before) } else { Seen::Changing })
}
