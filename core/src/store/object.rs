//! A git object of the store: its kind, and the id that git computes from its bytes.

use crate::disk::{Disk, Stat, Stream, is_absence, is_another_kind};
use crate::error::{Context, Result};
use crate::store::oid::Oid;
use flate2::Compression;
use sha1::{Digest, Sha1};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Larger objects are never read into memory completely: 16 MiB.
pub const IN_MEMORY_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Size of the buffer through which larger objects are read, in bytes.
const STEP_BYTES: u64 = 64 * 1024;

/// The kinds of object. Checkpoints consist of the first three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The bytes of a file, or the target of a link.
    Blob,
    /// One directory.
    Tree,
    /// One checkpoint.
    Commit,
    /// A named reference to another object; only other tools make tags.
    Tag,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Blob, Kind::Tree, Kind::Commit, Kind::Tag];

    /// Git's name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Blob => "blob",
            Kind::Tree => "tree",
            Kind::Commit => "commit",
            Kind::Tag => "tag",
        }
    }

    /// The kind with this name in git.
    pub fn of_name(name: &str) -> Option<Self> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kind with this number in a pack.
    pub fn of_number(number: u8) -> Option<Self> {
        Kind::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// The number of the kind in a pack.
    pub fn number(self) -> u8 {
        match self {
            Kind::Commit => 1,
            Kind::Tree => 2,
            Kind::Blob => 3,
            Kind::Tag => 4,
        }
    }

    /// How objects of the kind are compressed. Commits are not: they are mostly ids, and their size
    /// must not depend on the ids, so that the store size limit keeps the same checkpoints everywhere.
    pub fn compression(self) -> Compression {
        match self {
            Kind::Commit => Compression::none(),
            // The first level is faster, but makes what cannot be compressed a twentieth larger.
            _ => Compression::new(2),
        }
    }
}

/// The result of looking up an object in a file or pack.
#[derive(Debug, PartialEq, Eq)]
pub enum Found<T> {
    /// Nothing is stored there.
    Absent,
    /// Something else is stored there; the text says what is wrong with it.
    Damaged(&'static str),
    /// The object is intact.
    Intact(T),
}

impl<T> Found<T> {
    /// Applies `next` to the object if it is intact.
    pub fn then<U>(self, next: impl FnOnce(T) -> Found<U>) -> Found<U> {
        match self {
            Found::Intact(found) => next(found),
            Found::Absent => Found::Absent,
            Found::Damaged(why) => Found::Damaged(why),
        }
    }

    /// As [`Found::then`], for a `next` that may fail.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> Result<Found<U>>) -> Result<Found<U>> {
        match self {
            Found::Intact(found) => next(found),
            Found::Absent => Ok(Found::Absent),
            Found::Damaged(why) => Ok(Found::Damaged(why)),
        }
    }

    /// Returns the intact object, from `fallback` if necessary. If neither is intact, the damage found
    /// first is returned.
    pub fn or_else(self, fallback: impl FnOnce() -> Result<Found<T>>) -> Result<Found<T>> {
        match self {
            Found::Intact(found) => Ok(Found::Intact(found)),
            Found::Absent => fallback(),
            Found::Damaged(why) => match fallback()? {
                Found::Intact(found) => Ok(Found::Intact(found)),
                Found::Absent | Found::Damaged(_) => Ok(Found::Damaged(why)),
            },
        }
    }
}

/// Why an object is damaged whose bytes end early or cannot be decoded.
pub const TRUNCATED: &str = "is truncated or not a git object";

/// Opens a file of the store for reading from the byte at `offset`.
///
/// # Errors
/// A disk that fails.
pub fn open_at(disk: &dyn Disk, path: &Path, offset: u64) -> Result<Found<Stream>> {
    let opened = disk.open_at(path, offset).map(|(stream, _)| stream);
    classify_opened(opened, path)
}

/// Distinguishes a file that is not there, or is no regular file, from a failing disk.
pub fn classify_opened<T>(opened: io::Result<T>, path: &Path) -> Result<Found<T>> {
    match opened {
        Ok(opened) => Ok(Found::Intact(opened)),
        Err(error) if is_absence(&error) => Ok(Found::Absent),
        Err(error) if is_another_kind(&error) => Ok(Found::Damaged("is not a regular file")),
        Err(error) => Err(error).context("reading", path),
    }
}

/// Distinguishes a failing disk from damaged bytes: only the error of a failing disk has an error
/// code of the system.
pub fn classify_read<T>(read: io::Result<T>, path: &Path) -> Result<Found<T>> {
    match read {
        Ok(read) => Ok(Found::Intact(read)),
        Err(error) if error.raw_os_error().is_some() => Err(error).context("reading", path),
        Err(_) => Ok(Found::Damaged(TRUNCATED)),
    }
}

/// Compares the id computed from the bytes of an object of that kind with the expected id.
pub fn verify_id(expected: Oid, computed: Option<Oid>, kind: Kind) -> Found<Kind> {
    match computed {
        Some(computed) if computed == expected => Found::Intact(kind),
        Some(_) => Found::Damaged("does not match its id"),
        None => Found::Damaged(TRUNCATED),
    }
}

/// The header that precedes the bytes of an object.
pub fn header(kind: Kind, bytes: u64) -> String {
    format!("{} {bytes}\0", kind.name())
}

/// The id that git computes from these bytes.
pub fn id_of(kind: Kind, bytes: &[u8]) -> Oid {
    let hash = Sha1::new_with_prefix(header(kind, bytes.len() as u64));
    Oid(hash.chain_update(bytes).finalize().into())
}

/// The blob id of a file, and its stat when it was opened; no id if the number of bytes read differs
/// from the size in the stat.
// rule: cost/memory
pub fn blob_of(disk: &dyn Disk, path: &Path) -> io::Result<(Option<Oid>, Stat)> {
    let (stream, stat) = disk.open(path)?;
    Ok((HashingReader::new(Kind::Blob, stat.size, stream).copy(|_| {})?, stat))
}

/// A stream that computes the id of its bytes as an object while they are read.
pub struct HashingReader<R> {
    stream: R,
    hash: Sha1,
    /// Number of bytes still expected; `None` once there were too many.
    remaining: Option<u64>,
}

impl<R: Read> HashingReader<R> {
    /// Reads an object of that kind with `bytes` bytes from `stream`.
    pub fn new(kind: Kind, bytes: u64, stream: R) -> Self {
        HashingReader {
            stream,
            hash: Sha1::new_with_prefix(header(kind, bytes)),
            remaining: Some(bytes),
        }
    }

    /// Passes the remaining bytes to `into` and returns the id; `None` if there were more or fewer
    /// bytes than expected.
    pub fn copy(mut self, mut into: impl FnMut(&[u8])) -> io::Result<Option<Oid>> {
        let capacity = self.remaining.unwrap_or(0).saturating_add(1).min(STEP_BYTES);
        let mut buffer = vec![0; capacity as usize];
        loop {
            match self.read(&mut buffer) {
                Ok(0) => return Ok(self.id()),
                Ok(bytes) => into(&buffer[..bytes]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The id of the bytes read; `None` if there were more or fewer than expected.
    pub fn id(self) -> Option<Oid> {
        (self.remaining == Some(0)).then(|| Oid(self.hash.finalize().into()))
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.stream.read(buffer)?;
        self.hash.update(&buffer[..bytes]);
        self.remaining = self.remaining.and_then(|remaining| remaining.checked_sub(bytes as u64));
        // A stream that is too long has no id, so that reading the rest is unnecessary.
        Ok(if self.remaining.is_some() { bytes } else { 0 })
    }
}
