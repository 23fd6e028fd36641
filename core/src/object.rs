//! What an object of the store is: its kind, and the id that git gives to its bytes.

use crate::error::{Error, Result};
use git2::Oid;
use std::path::PathBuf;

/// The kinds of object that a checkpoint is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes of a file or a link's target.
    Blob,
    /// One directory.
    Tree,
    /// One checkpoint.
    Commit,
}

impl Kind {
    /// Git's word for it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Blob => "blob",
            Kind::Tree => "tree",
            Kind::Commit => "commit",
        }
    }

    /// The same for libgit2.
    pub fn in_git(self) -> git2::ObjectType {
        match self {
            Kind::Blob => git2::ObjectType::Blob,
            Kind::Tree => git2::ObjectType::Tree,
            Kind::Commit => git2::ObjectType::Commit,
        }
    }
}

/// The id that git gives to these bytes.
pub fn id_of(kind: Kind, bytes: &[u8]) -> Result<Oid> {
    Oid::hash_object(kind.in_git(), bytes).map_err(|error| Error::StoreUnusable {
        path: PathBuf::new(),
        why: error.message().to_owned(),
    })
}
