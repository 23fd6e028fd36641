//! Reads one file, ensures that it does not change meanwhile, and stores it. A large file is never read
//! into memory completely.

use crate::disk::{Disk, Stat};
use crate::error::Error;
use crate::store::compressor::compression_of;
use crate::store::object::{IN_MEMORY_BYTES_MAX, Kind, blob_of, id_of};
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use std::io;
use std::path::Path;

/// How often a file that changes while it is read is read before it is left out.
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

/// Reads a file of at most `limit` bytes, and stores it if `objects` is given; `None` if it is larger.
/// `started` is the stat of a file made before anything was read.
// rule: capture/bytes
// rule: capture/no-conversion
// rule: capture/honest: decides
pub fn read(
    disk: &dyn Disk,
    path: &Path,
    limit: u64,
    started: Option<&Stat>,
    mut objects: Option<&mut Objects<'_>>,
) -> Result<Option<(Oid, Stat)>, Failure> {
    for _ in 0..ATTEMPTS_MAX {
        match attempt(disk, path, limit, started, objects.as_deref_mut())? {
            Attempt::Changing => {}
            Attempt::TooLarge => return Ok(None),
            Attempt::File(blob, stat) => return Ok(Some((blob, stat))),
        }
    }
    Err(Failure::Changing)
}

/// The blob id of these bytes, which are stored if `objects` is given.
pub fn blob_id(bytes: &[u8], objects: Option<&mut Objects<'_>>) -> Result<Oid, Error> {
    match objects {
        Some(objects) => objects.add(Kind::Blob, bytes),
        None => Ok(id_of(Kind::Blob, bytes)),
    }
}

enum Attempt {
    Changing,
    TooLarge,
    File(Oid, Stat),
}

/// The bytes of a file and its stat; `None` if it changed while it was read. Of more than `limit` bytes, one
/// more than that are returned, and a second change in one tick of the clock is not seen.
pub fn read_up_to(
    disk: &dyn Disk,
    path: &Path,
    limit: u64,
    started: Option<&Stat>,
) -> io::Result<Option<(Vec<u8>, Stat)>> {
    let Some((content, before)) = disk.read_unchanged(path, limit + 1)? else { return Ok(None) };
    // A second change in one tick of the clock shows only in the bytes.
    // rule: capture/steady
    let is_young = started.is_some_and(|started| !before.is_settled_before(started))
        && content.len() as u64 <= limit;
    let is_steady = !is_young || disk.read(path, limit + 1)?.0 == content;
    Ok(is_steady.then_some((content, before)))
}

fn attempt(
    disk: &dyn Disk,
    path: &Path,
    limit: u64,
    started: Option<&Stat>,
    objects: Option<&mut Objects<'_>>,
) -> Result<Attempt, Failure> {
    let in_memory = limit.min(IN_MEMORY_BYTES_MAX);
    let Some((content, before)) = read_up_to(disk, path, in_memory, started)? else {
        return Ok(Attempt::Changing);
    };
    if content.len() as u64 <= in_memory {
        return Ok(Attempt::File(blob_id(&content, objects)?, before));
    }
    if in_memory == limit || before.size > limit {
        return Ok(Attempt::TooLarge);
    }
    let compression = compression_of(Kind::Blob, &content)?;
    // rule: cost/memory
    drop(content);
    let (blob, opened) = blob_of(disk, path)?;
    let Some(blob) = blob.filter(|_| opened == before) else { return Ok(Attempt::Changing) };
    if let Some(objects) = objects
        && !objects.is_intact(blob)?
        && !objects.add_stream(blob, before.size, disk.open(path)?.0, compression)?
    {
        return Ok(Attempt::Changing);
    }
    let is_steady = disk.stat(path)? == before;
    Ok(if is_steady { Attempt::File(blob, before) } else { Attempt::Changing })
}
