//! What an object of the store is: its kind, and the id that git gives to its bytes.

use crate::disk::{Disk, Stat};
use crate::error::{Error, Result};
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

    /// The kind that libgit2 says it is.
    pub fn of_git(kind: git2::ObjectType) -> Option<Self> {
        Kind::ALL.into_iter().find(|one| one.in_git() == kind)
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
