//! How much of a checkpoint is restored: all of it, or one file whose typed path is resolved once.

use super::literal_path::literal_path;
use super::owner::Purpose;
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::project::Project;
use crate::report::Restored;
use crate::restore::Restore;

/// Options of a full restore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestoreOptions {
    /// Also remove files created since the checkpoint, if the pre-restore checkpoint holds them.
    pub exact: bool,
    /// Go on when no pre-restore checkpoint can be taken.
    pub force: bool,
}

/// How much of a checkpoint is restored. Requests name a file by its typed path, a `&[u8]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<P> {
    /// All of it.
    All(RestoreOptions),
    /// One file, by its path relative to the project.
    File(P),
}

/// A scope whose path names its file literally.
pub(super) type LiteralScope = Scope<Vec<u8>>;

impl Scope<&[u8]> {
    /// The scope with the path that the typed path names.
    ///
    /// # Errors
    /// [`Error::BadPath`].
    pub(super) fn resolve(self, disk: &dyn Disk, project: &Project) -> Result<LiteralScope> {
        match self {
            Scope::All(options) => Ok(Scope::All(options)),
            Scope::File(typed) => literal_path(disk, project, typed).map(Scope::File),
        }
    }
}

impl LiteralScope {
    pub(super) fn purpose(&self) -> Purpose {
        match self {
            Scope::All(_) => Purpose::RestoreAll,
            Scope::File(_) => Purpose::RestoreFile,
        }
    }

    pub(super) fn is_all(&self) -> bool {
        matches!(self, Scope::All(_))
    }

    /// Why no pre-restore checkpoint can be taken, where the restore is forced to go on without.
    ///
    /// # Errors
    /// [`Error::NoPreRestoreCheckpoint`].
    // rule: restore/safety-required
    pub(super) fn go_on_without(&self, error: Error) -> Result<String> {
        match self {
            Scope::All(RestoreOptions { force: true, .. }) => Ok(error.to_string()),
            Scope::All(_) | Scope::File(_) => Err(Error::NoPreRestoreCheckpoint(Box::new(error))),
        }
    }

    /// The plan of a restore. Without a pre-restore checkpoint nothing may be removed.
    pub(super) fn plan(&self, restore: &Restore<'_>) -> Result<Restored> {
        match self {
            Scope::All(options) => Ok(restore.plan(options.exact && restore.may_remove)),
            Scope::File(path) => restore.plan_path(path),
        }
    }

    /// Carries out a restore. Without a pre-restore checkpoint nothing may be removed.
    pub(super) fn restore(&self, restore: &Restore<'_>) -> Result<Restored> {
        match self {
            Scope::All(options) => Ok(restore.restore_all(options.exact && restore.may_remove)),
            Scope::File(path) => restore.restore_path(path),
        }
    }
}
