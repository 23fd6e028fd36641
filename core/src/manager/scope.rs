//! How much of a checkpoint is restored: all of it, one file, or some files and folders. Typed paths are resolved once.

use super::literal_path::literal_path;
use super::owner::Purpose;
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::path::is_at_or_below;
use crate::project::Project;
use crate::report::{Remark, Restored};
use crate::restore::Restore;

/// Options of a full restore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestoreOptions {
    /// Also remove files created since the checkpoint, if the pre-restore checkpoint holds them.
    pub exact: bool,
    /// Go on when no pre-restore checkpoint can be taken.
    pub force: bool,
}

/// How much of a checkpoint is restored. Requests name files by typed paths, each a `&[u8]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope<P> {
    /// All of it.
    All(RestoreOptions),
    /// One file, by its path relative to the project. No other path is touched.
    File(P),
    /// Some files, and all that is in some folders, by their paths relative to the project.
    Below(Vec<P>, RestoreOptions),
}

/// A scope whose paths name their files literally.
pub(super) type LiteralScope = Scope<Vec<u8>>;

impl<P> Scope<P> {
    /// Its options; a single file has none.
    pub fn options(&self) -> RestoreOptions {
        match self {
            Scope::All(options) | Scope::Below(_, options) => *options,
            Scope::File(_) => RestoreOptions::default(),
        }
    }

    /// Its paths; none where it is everything.
    pub fn paths(&self) -> &[P] {
        match self {
            Scope::All(_) => &[],
            Scope::File(path) => std::slice::from_ref(path),
            Scope::Below(paths, _) => paths,
        }
    }
}

impl Scope<&[u8]> {
    /// The scope with the paths that the typed paths name.
    ///
    /// # Errors
    /// [`Error::BadPath`].
    pub(super) fn resolve(self, disk: &dyn Disk, project: &Project) -> Result<LiteralScope> {
        match self {
            Scope::All(options) => Ok(Scope::All(options)),
            Scope::File(typed) => literal_path(disk, project, typed).map(Scope::File),
            Scope::Below(typed, options) => {
                let paths = typed.iter().map(|typed| literal_path(disk, project, typed));
                Ok(Scope::Below(paths.collect::<Result<_>>()?, options))
            }
        }
    }
}

impl LiteralScope {
    pub(super) fn purpose(&self) -> Purpose {
        match self {
            Scope::All(_) => Purpose::RestoreAll,
            Scope::File(_) | Scope::Below(..) => Purpose::RestoreFile,
        }
    }

    /// Whether the conversation and the agent state belong to it.
    pub(super) fn is_all(&self) -> bool {
        matches!(self, Scope::All(_))
    }

    /// Whether it is a single file, which cannot be restored halfway.
    pub(super) fn is_file(&self) -> bool {
        matches!(self, Scope::File(_))
    }

    /// The files and folders to which a restore is confined, if it may touch others in their way.
    pub(super) fn below(&self) -> Option<&[Vec<u8>]> {
        match self {
            Scope::Below(paths, _) => Some(paths),
            Scope::All(_) | Scope::File(_) => None,
        }
    }

    /// The remarks on its own paths, and on folders that contain them.
    pub(super) fn of_paths(&self, mut remarks: Vec<Remark>) -> Vec<Remark> {
        let concerns = |remark: &Remark, path: &[u8]| {
            is_at_or_below(&remark.path, path) || is_at_or_below(path, &remark.path)
        };
        remarks.retain(|remark| {
            self.is_all() || self.paths().iter().any(|path| concerns(remark, path))
        });
        remarks
    }

    /// Why no pre-restore checkpoint can be taken, where the restore is forced to go on without.
    ///
    /// # Errors
    /// [`Error::NoPreRestoreCheckpoint`].
    // rule: restore/safety-required
    pub(super) fn go_on_without(&self, error: Error) -> Result<String> {
        match self {
            Scope::All(options) | Scope::Below(_, options) if options.force => {
                Ok(error.to_string())
            }
            _ => Err(Error::NoPreRestoreCheckpoint(Box::new(error))),
        }
    }

    /// The plan of a restore. Without a pre-restore checkpoint nothing may be removed.
    pub(super) fn plan(&self, restore: &Restore<'_>) -> Result<Restored> {
        match self {
            Scope::All(options) | Scope::Below(_, options) => {
                restore.check_covered()?;
                Ok(restore.plan(options.exact && restore.may_remove))
            }
            Scope::File(path) => restore.plan_path(path),
        }
    }

    /// Carries out a restore. Without a pre-restore checkpoint nothing may be removed.
    pub(super) fn restore(&self, restore: &Restore<'_>) -> Result<Restored> {
        match self {
            Scope::All(options) | Scope::Below(_, options) => {
                Ok(restore.restore_all(options.exact && restore.may_remove))
            }
            Scope::File(path) => restore.restore_path(path),
        }
    }
}
