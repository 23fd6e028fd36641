//! Projects whose directory was moved: finds the new directory of one that was renamed or moved to a parent
//! nearby, and gives a new directory the history of the old one.

use crate::agent_state::Stored;
use crate::capture::index::{self, Index};
use crate::disk::{Birth, Disk, Kind, folder, is_absence};
use crate::error::{Error, Result};
use crate::history;
use crate::maintenance::prune;
use crate::project::Project;
use crate::store::metadata::Metadata;
use crate::store::rollbacks::Rollbacks;
use crate::store::{Store, metadata, pre_restore, ref_recovery, refs, restoring};
use std::path::{Path, PathBuf};

/// What identifies the directory of a project that was moved: when it was made, or its files, which have the same
/// inodes and times. A directory that reuses the inode of a deleted one has neither.
struct Traces<'a> {
    disk: &'a dyn Disk,
    birth: Option<Birth>,
    index: Index,
}

impl<'a> Traces<'a> {
    /// The traces of the project of that hash, of which this is recorded.
    fn of(store: &Store<'a>, hash: &str, metadata: &Metadata) -> Self {
        Traces { disk: store.disk, birth: metadata.birth, index: index::load(store, hash) }
    }

    /// Whether they lead to that directory.
    fn lead_to(&self, directory: &Path) -> bool {
        let is_directory = self.disk.stat(directory).is_ok_and(|stat| stat.kind == Kind::Directory);
        let has_birth = || self.birth.is_some() && self.disk.birth(directory) == self.birth;
        is_directory && (has_birth() || self.index.is_of(self.disk, directory))
    }
}

/// The present directory of the project of that hash, whose recorded directory is gone. It is searched for under
/// any name in the same parent, and under its name in parents nearby.
///
/// # Errors
/// The parent cannot be read.
pub fn find(store: &Store<'_>, hash: &str, metadata: &Metadata) -> Result<Option<PathBuf>> {
    let directory = metadata.directory();
    let Some(parent) = directory.parent() else { return Ok(None) };
    let traces = Traces::of(store, hash, metadata);
    let is_of = |candidate: &PathBuf| traces.lead_to(candidate);
    let siblings = folder::names(store.disk, parent)?.into_iter().map(|name| parent.join(name));
    Ok(siblings.chain(nearby(store.disk, &directory)).find(is_of))
}

/// The paths with the name of `directory` in the parent of its parent, and in the folders of both.
fn nearby(disk: &dyn Disk, directory: &Path) -> impl Iterator<Item = PathBuf> {
    let above = directory.ancestors().skip(1).take(2);
    let parents = above.flat_map(|folder| {
        // A folder that cannot be read contains no candidate.
        let names = folder::names(disk, folder).unwrap_or_default().into_iter();
        names.map(|name| folder.join(name)).chain([folder.to_owned()])
    });
    let candidate = |parent: PathBuf| Some(parent.join(directory.file_name()?));
    parents.filter_map(candidate).filter(move |candidate| candidate != directory)
}

/// The directory of a project that is gone, and that is now `directory`, wherever it was moved from.
///
/// # Errors
/// The projects of the store cannot be listed.
pub fn origin(store: &Store<'_>, directory: &Path) -> Result<Option<PathBuf>> {
    for hash in ref_recovery::projects(store, &store.objects())? {
        let Some(metadata) = metadata::read(store.disk, &store.path, &hash) else { continue };
        let old = metadata.directory();
        if is_gone(store.disk, &old) && Traces::of(store, &hash, &metadata).lead_to(directory) {
            return Ok(Some(old));
        }
    }
    Ok(None)
}

/// Whether the directory of a project is gone. It is canonical: where a link is now, it is not.
fn is_gone(disk: &dyn Disk, directory: &Path) -> bool {
    match disk.stat(directory) {
        Ok(stat) => stat.kind == Kind::Link,
        Err(error) => is_absence(&error),
    }
}

/// A move of the history of a directory that is gone to another directory.
pub struct Move<'a> {
    pub old: &'a Project,
    pub new: &'a Project,
    /// The time, in seconds since the epoch.
    pub now: i64,
}

impl Move<'_> {
    fn refusal(&self, why: impl Into<String>) -> Error {
        Error::CannotMove { old: self.old.directory.clone(), why: why.into() }
    }

    /// Moves the history with its pins, envelopes and pre-restore checkpoints; no id changes. Returns the number
    /// of checkpoints. A move that is interrupted can be repeated.
    ///
    /// # Errors
    /// [`Error::CannotMove`], before anything was changed; a damaged or busy store; a disk that fails.
    pub fn run(&self, store: &Store<'_>) -> Result<usize> {
        let Move { old, new, now } = *self;
        if old.hash == new.hash {
            return Err(self.refusal("both paths are the same directory"));
        }
        let mut hashes = [&old.hash, &new.hash];
        // In one order, so that two moves never wait for each other.
        hashes.sort_unstable();
        let _locks =
            hashes.into_iter().map(|hash| store.lock_project(hash)).collect::<Result<Vec<_>>>()?;
        let objects = store.objects();
        let Some(tip) = ref_recovery::newest(store, &objects, &old.hash)? else {
            return Err(self.refusal("it has no checkpoints"));
        };
        self.check(store, &refs::of_project(&new.hash))?;
        let history = history::newest_first(store, &objects, &old.hash, usize::MAX)?;
        for kind in pre_restore::FOLDERS.into_iter().chain([refs::PINS, refs::ENVELOPES]) {
            let from = format!("{kind}/{}", old.hash);
            refs::copy_below(store.disk, &store.path, &from, &format!("{kind}/{}", new.hash))?;
        }
        refs::set(store.disk, &store.path, &refs::of_project(&new.hash), tip)?;
        let rollbacks = Rollbacks::ended(store.disk, &store.path, &old.hash);
        if rollbacks != Rollbacks::default() {
            rollbacks.write(store, &new.hash)?;
        }
        metadata::move_to(store, &old.hash, new, now)?;
        refs::remove_below(store.disk, &store.path, &format!("{}/{}", refs::PINS, old.hash))?;
        prune::remove_project(store, &old.hash)?;
        Ok(history.len())
    }

    fn check(&self, store: &Store<'_>, new_ref: &str) -> Result<()> {
        let Move { old, new, .. } = *self;
        if !is_gone(store.disk, &old.directory) {
            return Err(self.refusal("it still exists, and keeps its checkpoints"));
        }
        if restoring::died(store, &old.hash) || Stored::of(store, &old.hash).has_journal()? {
            return Err(self.refusal(
                "a rollback of it was interrupted: move the directory back and complete the rollback first",
            ));
        }
        let objects = store.objects();
        let tip = refs::read(store.disk, &store.path, new_ref)?;
        let is_repeated = tip.is_some() && tip == ref_recovery::newest(store, &objects, &old.hash)?;
        if !is_repeated && !history::newest_first(store, &objects, &new.hash, 1)?.is_empty() {
            return Err(self.refusal(format!(
                "{:?} already has checkpoints of its own, which would be mixed with them",
                new.directory
            )));
        }
        Ok(())
    }
}
