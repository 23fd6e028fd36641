//! What an object of the store is: its kind, and the id that git gives to its bytes.

use crate::disk::{Disk, Stat, Stream, is_absence, is_another_kind};
use crate::error::{Context, Error, Result};
use flate2::Compression;
use git2::Oid;
use sha1::{Digest, Sha1};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Objects of more bytes than this are never in memory as a whole: 16 MiB.
pub const IN_MEMORY_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Larger ones are read in steps of so many bytes.
const STEP_BYTES: u64 = 64 * 1024;

/// The kinds of object: a checkpoint is made of the first three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes of a file or a link's target.
    Blob,
    /// One directory.
    Tree,
    /// One checkpoint.
    Commit,
    /// A name for another object, which only other tools give.
    Tag,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Blob, Kind::Tree, Kind::Commit, Kind::Tag];

    /// Git's word for it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Blob => "blob",
            Kind::Tree => "tree",
            Kind::Commit => "commit",
            Kind::Tag => "tag",
        }
    }

    /// The kind that git calls so.
    pub fn of_name(name: &str) -> Option<Self> {
        Kind::ALL.into_iter().find(|one| one.name() == name)
    }

    /// The kind that git has this number for in a pack.
    pub fn of_number(number: u8) -> Option<Self> {
        Kind::ALL.into_iter().find(|one| one.number() == number)
    }

    /// Git's number for it in a pack.
    pub fn number(self) -> u8 {
        match self {
            Kind::Commit => 1,
            Kind::Tree => 2,
            Kind::Blob => 3,
            Kind::Tag => 4,
        }
    }

    /// How it is compressed. Commits are not: they are mostly ids, and their size must not depend
    /// on those, so that a limit on the total size keeps the same checkpoints on every machine.
    pub fn compression(self) -> Compression {
        match self {
            Kind::Commit => Compression::none(),
            _ => Compression::fast(),
        }
    }

    /// Its kind for libgit2.
    pub fn in_git(self) -> git2::ObjectType {
        match self {
            Kind::Blob => git2::ObjectType::Blob,
            Kind::Tree => git2::ObjectType::Tree,
            Kind::Commit => git2::ObjectType::Commit,
            Kind::Tag => git2::ObjectType::Tag,
        }
    }
}

/// What stands where an object would.
#[derive(Debug, PartialEq, Eq)]
pub enum Found<T> {
    /// Nothing.
    Absent,
    /// Something that is not the object: the words say what is wrong with it.
    Damaged(&'static str),
    /// The object.
    Whole(T),
}

impl<T> Found<T> {
    /// What `next` makes of the object, if it is whole.
    pub fn then<U>(self, next: impl FnOnce(T) -> Found<U>) -> Found<U> {
        match self {
            Found::Whole(found) => next(found),
            Found::Absent => Found::Absent,
            Found::Damaged(why) => Found::Damaged(why),
        }
    }

    /// The same where that may fail.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> Result<Found<U>>) -> Result<Found<U>> {
        match self {
            Found::Whole(found) => next(found),
            Found::Absent => Ok(Found::Absent),
            Found::Damaged(why) => Ok(Found::Damaged(why)),
        }
    }

    /// What stands elsewhere, where this is not whole; where that is not either, what is wrong here.
    pub fn or_else(self, other: impl FnOnce() -> Result<Found<T>>) -> Result<Found<T>> {
        match self {
            Found::Whole(found) => Ok(Found::Whole(found)),
            Found::Absent => other(),
            Found::Damaged(why) => match other()? {
                Found::Whole(found) => Ok(Found::Whole(found)),
                Found::Absent | Found::Damaged(_) => Ok(Found::Damaged(why)),
            },
        }
    }
}

/// What is said of bytes that do not go on to the end of an object.
pub const CUT: &str = "is cut short, or no object at all";

/// What stands in a file of the store, from the byte at `offset` on.
///
/// # Errors
/// A disk that fails.
pub fn open_at(disk: &dyn Disk, path: &Path, offset: u64) -> Result<Found<Stream>> {
    match disk.open_at(path, offset) {
        Ok((stream, _)) => Ok(Found::Whole(stream)),
        Err(error) if is_absence(&error) => Ok(Found::Absent),
        Err(error) if is_another_kind(&error) => Ok(Found::Damaged("is no regular file")),
        Err(error) => Err(error).context("reading", path),
    }
}

/// What was read of an object: a disk that fails says so with a code of the system, and all else is
/// said of the bytes.
pub fn judged<T>(read: io::Result<T>, path: &Path) -> Result<Found<T>> {
    match read {
        Ok(read) => Ok(Found::Whole(read)),
        Err(error) if error.raw_os_error().is_some() => Err(error).context("reading", path),
        Err(_) => Ok(Found::Damaged(CUT)),
    }
}

/// Whether an object of that kind whose bytes have the id `found` is the object `id`.
pub fn is_that(id: Oid, found: Option<Oid>, kind: Kind) -> Found<Kind> {
    match found {
        Some(found) if found == id => Found::Whole(kind),
        Some(_) => Found::Damaged("holds other bytes than its id says"),
        None => Found::Damaged(CUT),
    }
}

/// What comes before the bytes of an object.
pub fn header(kind: Kind, bytes: u64) -> String {
    format!("{} {bytes}\0", kind.name())
}

/// The id that git gives to these bytes.
pub fn id_of(kind: Kind, bytes: &[u8]) -> Result<Oid> {
    Oid::hash_object(kind.in_git(), bytes)
        .map_err(|error| Error::unusable(Path::new(""), error.message()))
}

/// The id of a file as a blob, and what it was when it was opened; no id where it had more or fewer
/// bytes than it should.
// rule: cost/memory
pub fn blob_of(disk: &dyn Disk, path: &Path) -> io::Result<(Option<Oid>, Stat)> {
    let (stream, stat) = disk.open(path)?;
    Ok((Named::new(Kind::Blob, stat.size, stream).copy(|_| {})?, stat))
}

/// A stream, whose id as an object is made of its bytes as they are read.
pub struct Named<R> {
    stream: R,
    hash: Sha1,
    /// How many bytes are still to come.
    left: Option<u64>,
}

impl<R: Read> Named<R> {
    /// An object of that kind and so many bytes.
    pub fn new(kind: Kind, bytes: u64, stream: R) -> Self {
        Named { stream, hash: Sha1::new_with_prefix(header(kind, bytes)), left: Some(bytes) }
    }

    /// Reads the rest into `into`, and answers the id; none where there were more or fewer bytes
    /// than was said.
    pub fn copy(mut self, mut into: impl FnMut(&[u8])) -> io::Result<Option<Oid>> {
        let most = self.left.unwrap_or(0).saturating_add(1).min(STEP_BYTES);
        let mut step = vec![0; most as usize];
        loop {
            match self.read(&mut step) {
                Ok(0) => return Ok(self.id()),
                Ok(bytes) => into(&step[..bytes]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The id of what was read; none where those were more or fewer bytes than was said.
    pub fn id(self) -> Option<Oid> {
        (self.left == Some(0)).then(|| Oid::from_bytes(&self.hash.finalize()).ok()).flatten()
    }
}

impl<R: Read> Read for Named<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.stream.read(buffer)?;
        self.hash.update(&buffer[..bytes]);
        self.left = self.left.and_then(|left| left.checked_sub(bytes as u64));
        // What is longer than was said has no id, and need not be read to its end.
        Ok(if self.left.is_some() { bytes } else { 0 })
    }
}
