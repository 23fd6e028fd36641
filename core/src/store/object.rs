//! What an object of the store is: its kind, and the id that git gives to its bytes.

use crate::error::{Error, Result};
use flate2::Compression;
use git2::Oid;
use std::path::Path;

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

/// The id that git gives to these bytes.
pub fn id_of(kind: Kind, bytes: &[u8]) -> Result<Oid> {
    Oid::hash_object(kind.in_git(), bytes)
        .map_err(|error| Error::unusable(Path::new(""), error.message()))
}
