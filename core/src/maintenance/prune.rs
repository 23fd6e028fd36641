//! Prunes the store: removes projects that are gone or were not used for a long time, and old archives;
//! and then the objects that nothing needs any more.
//!
//! An item that cannot be removed is counted and left, and the prune continues. Only projects of the
//! store, and entries that [`crate::store::base`] names, are ever removed.

use crate::agent_state::Stored;
use crate::disk::{Disk, folder};
use crate::environment::Config;
use crate::error::{Error, Result};
use crate::maintenance::evidence;
use crate::maintenance::fold::fold;
use crate::maintenance::limits::exceeds;
use crate::maintenance::moved;
use crate::maintenance::reclaim::reclaim;
use crate::maintenance::total::{self, Evictions, keep_total};
use crate::path::shown;
use crate::project::hash_of;
use crate::report::{ProjectState, Pruned};
use crate::store::base::{self, BaseEntry, archived_at};
use crate::store::objects::Objects;
use crate::store::{
    Store, commit, figures, metadata, pre_restore, ref_recovery, refs, restoring, rollbacks, usage,
};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The longest name of a directory that is read, in bytes.
const WORKDIR_BYTES_MAX: u64 = 64 * 1024;

/// What a prune removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PruneOptions {
    /// What was not used for more than this many seconds; 0 is no bound.
    pub retention_seconds: u64,
    /// The oldest checkpoints while the store takes more bytes than this; 0 is no bound.
    pub max_total_bytes: u64,
    /// Whether projects are removed whose directory is gone.
    pub delete_orphans: bool,
}

impl From<&Config> for PruneOptions {
    // rule: maintenance/defaults
    fn from(config: &Config) -> Self {
        PruneOptions {
            retention_seconds: config.retention_seconds,
            max_total_bytes: config.max_total_bytes,
            delete_orphans: config.delete_orphans,
        }
    }
}

/// The progress of a prune.
#[derive(Debug)]
pub enum PruneStep<'a> {
    /// It examines the project of this number, counted from 1, of so many.
    Project(usize, usize),
    /// It examines this archive or v1 repository.
    Legacy(&'a str),
    /// It removes the history of the project in this directory.
    Removed(&'a Path),
    /// It keeps the history of the first directory, which was renamed to the second.
    Moved(&'a Path, &'a Path),
    /// The same where the second has a history of its own, so that both stay separate.
    Separate(&'a Path, &'a Path),
    /// It frees the space of objects that nothing needs.
    Reclaiming,
    /// This subject or step failed, and the rest goes on.
    Failed(&'a str, &'a Error),
}

/// Removes everything that the store holds of a project, except pins. The caller holds the project's lock.
///
/// # Errors
/// A disk that fails.
// rule: sweep/orphans
pub fn remove_project(store: &Store<'_>, hash: &str) -> Result<()> {
    let disk = store.disk;
    // The metadata goes last, so that a prune that was killed here can be repeated.
    Stored::of(store, hash).remove_envelopes()?;
    pre_restore::remove_all(disk, &store.path, hash)?;
    refs::remove(disk, &store.path, &refs::of_project(hash))?;
    folder::remove_path(disk, &store.path.join("indexes").join(hash))?;
    folder::remove_path(disk, &store.path.join(figures::place(hash)))?;
    restoring::end(store, hash)?;
    rollbacks::remove(store, hash)?;
    Stored::of(store, hash).remove_attribution()?;
    folder::remove_path(disk, &metadata::path_of(&store.path, hash))
}

/// What is done with a project or repository.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Keep,
    /// It is kept although its directory is gone: the directory was only renamed, to this one.
    Moved(PathBuf),
    /// Its directory is gone. This is judged first.
    Orphan,
    /// It was not used for long enough.
    Stale,
}

impl Verdict {
    fn removes(&self) -> bool {
        matches!(self, Verdict::Orphan | Verdict::Stale)
    }
}

/// A prune in progress.
pub struct Prune<'a> {
    /// The disk.
    pub disk: &'a dyn Disk,
    /// The base on it.
    pub base: &'a Path,
    /// The time, in seconds since the epoch.
    pub now: i64,
    /// What it removes.
    pub options: &'a PruneOptions,
    /// Whether it only reports what it would remove.
    pub is_preview: bool,
    /// Is told of each step.
    pub progress: &'a mut dyn FnMut(PruneStep<'_>),
    /// What it did so far.
    pub pruned: Pruned,
}

impl Prune<'_> {
    /// As [`crate::Manager::prune`], or as [`crate::Manager::preview_prune`].
    pub fn run(mut self) -> Result<Pruned> {
        if self.is_preview {
            self.examine()?;
            return Ok(self.pruned);
        }
        let before = folder::bytes(self.disk, self.base);
        if self.examine()? {
            self.reclaim();
        }
        match before
            .and_then(|before| Ok(before.saturating_sub(folder::bytes(self.disk, self.base)?)))
        {
            Ok(bytes) => self.pruned.bytes_freed = bytes,
            // A folder that cannot be read makes the number unknown, even if the folder is removed.
            Err(error) if error.is_denied() => {}
            Err(error) => self.failed("counting the bytes that were freed", &error),
        }
        Ok(self.pruned)
    }

    /// Looks at every project and entry, and removes those that are due. Returns whether objects that
    /// nothing reaches can be removed.
    fn examine(&mut self) -> Result<bool> {
        let entries = base::entries(self.disk, self.base)?;
        // The shared lock is held while projects are examined; reclaiming takes its own, exclusively.
        let is_reclaimable = match Store::open(self.disk, self.base)? {
            Some(store) => self.projects(&store).unwrap_or_else(|error| {
                self.failed("looking at the projects", &error);
                false
            }),
            None => false,
        };
        for (name, entry) in entries {
            self.entry(&name, entry);
        }
        Ok(is_reclaimable)
    }

    /// Whether the last use was too long ago. A time in the future is not.
    // rule: sweep/stale
    fn is_stale(&self, last_use: f64) -> bool {
        let retention = self.options.retention_seconds;
        retention > 0 && self.now as f64 - last_use > retention as f64
    }

    fn judge(&self, state: ProjectState, last_use: Option<f64>) -> Verdict {
        if self.options.delete_orphans && state == ProjectState::Orphan {
            Verdict::Orphan
        } else if last_use.is_some_and(|last_use| self.is_stale(last_use)) {
            Verdict::Stale
        } else {
            Verdict::Keep
        }
    }

    /// Runs `work`, and on a full disk again after removing files that only save time or are created
    /// again: a removal often writes a new file first.
    fn with_room<T>(&self, mut work: impl FnMut(&Self) -> Result<T>) -> Result<T> {
        let mut result = work(self);
        let store = self.base.join("store");
        // The excludes are for plain git alone, and the next checkpoint creates them again.
        for expendable in ["indexes", "usage", "info/exclude"] {
            if !result.as_ref().is_err_and(Error::is_full_disk) {
                return result;
            }
            let path = store.join(expendable);
            let files = match expendable {
                "indexes" => {
                    let names = folder::names(self.disk, &path)?;
                    names.into_iter().map(|name| path.join(name)).collect()
                }
                _ => vec![path],
            };
            let removed = files.iter().filter(|file| self.disk.remove_file(file).is_ok());
            if removed.count() > 0 {
                result = work(self);
            }
        }
        result
    }

    // rule: sweep/counts
    fn count(&mut self, subject: &str, verdict: Result<Verdict>) {
        match verdict {
            Ok(Verdict::Keep | Verdict::Moved(_)) => {}
            Ok(Verdict::Orphan) => self.pruned.orphans += 1,
            Ok(Verdict::Stale) => self.pruned.stale += 1,
            Err(error) => self.failed(subject, &error),
        }
    }

    // rule: maintenance/never-raises
    fn failed(&mut self, subject: &str, error: &Error) {
        tracing::debug!("{subject}: {error}");
        self.pruned.errors += 1;
        (self.progress)(PruneStep::Failed(subject, error));
    }
}

/// Projects of the store.
impl Prune<'_> {
    /// Looks at every project, and returns whether all their histories have refs, so that objects
    /// that are not reachable can be removed.
    fn projects(&mut self, store: &Store<'_>) -> Result<bool> {
        if !self.is_preview {
            ref_recovery::repair_packed(store);
        }
        let objects = store.objects();
        let hashes = ref_recovery::any_trace(store)?;
        let mut is_reclaimable = true;
        let mut gone = Vec::new();
        for (index, hash) in hashes.iter().enumerate() {
            (self.progress)(PruneStep::Project(index + 1, hashes.len()));
            self.pruned.scanned += 1;
            let directory =
                metadata::read(self.disk, &store.path, hash).map(|metadata| metadata.directory());
            let subject = directory.as_ref().map_or_else(
                || format!("project {hash}"),
                |directory| shown(directory.as_os_str().as_bytes()),
            );
            let repaired = match self.is_preview {
                true => Ok(()),
                false => {
                    ref_recovery::repair(store, &objects, hash, || store.try_lock_project(hash))
                }
            };
            if let Err(error) = repaired {
                self.failed(&subject, &error);
                is_reclaimable = false;
                continue;
            }
            let verdict = self.with_room(|prune| prune.project(store, &objects, hash));
            match (&verdict, directory) {
                (Ok(Verdict::Orphan | Verdict::Stale), Some(directory)) => {
                    (self.progress)(PruneStep::Removed(&directory));
                }
                (Ok(Verdict::Moved(new)), Some(directory)) => {
                    let own = ref_recovery::newest(store, &objects, &hash_of(new));
                    let has_own = own.is_ok_and(|own| own.is_some());
                    let step = if has_own { PruneStep::Separate } else { PruneStep::Moved };
                    (self.progress)(step(&directory, new));
                }
                _ => {}
            }
            if verdict.as_ref().is_ok_and(Verdict::removes) {
                gone.push(hash.clone());
            }
            self.count(&subject, verdict);
        }
        if self.is_preview && self.options.max_total_bytes > 0 {
            let Pruned { dropped, over_bytes, .. } =
                total::preview(store, self.options.max_total_bytes, &gone)?;
            self.pruned.dropped = dropped;
            self.pruned.over_bytes = over_bytes;
        }
        Ok(is_reclaimable)
    }

    fn project(&self, store: &Store<'_>, objects: &Objects<'_>, hash: &str) -> Result<Verdict> {
        let verdict = self.judge_project(store, objects, hash)?;
        if !verdict.removes() || self.is_preview {
            return Ok(verdict);
        }
        let _lock = store.try_lock_project(hash)?;
        // Another process may have used it since.
        let verdict = self.judge_project(store, objects, hash)?;
        if verdict.removes() {
            remove_project(store, hash)?;
        }
        Ok(verdict)
    }

    fn judge_project(
        &self,
        store: &Store<'_>,
        objects: &Objects<'_>,
        hash: &str,
    ) -> Result<Verdict> {
        // rule: agent/pinned
        if !Stored::of(store, hash).pinned()?.is_empty() {
            return Ok(Verdict::Keep);
        }
        // Without the project a restore that died could not be undone.
        // rule: agent/all-or-none
        if Stored::of(store, hash).has_journal()? {
            return Ok(Verdict::Keep);
        }
        let metadata = metadata::stored(self.disk, &store.path, hash)?;
        let state = evidence::of_project(self.disk, metadata.as_ref());
        let newest = refs::read(self.disk, &store.path, &refs::of_project(hash))?;
        let newest = newest.and_then(|newest| commit::read(objects, newest).ok());
        let taken = newest.map(|newest| newest.seconds as f64);
        let touched = metadata.as_ref().map(|metadata| metadata.last_touch);
        let last_use = taken.into_iter().chain(touched).reduce(f64::max);
        let verdict = self.judge(state, last_use);
        let orphan = metadata.filter(|_| verdict == Verdict::Orphan);
        let new = orphan.map_or(Ok(None), |orphan| moved::find(store, hash, &orphan))?;
        Ok(match (self.judge(ProjectState::Unknown, last_use), new) {
            (Verdict::Keep, Some(new)) => Verdict::Moved(new),
            (unused, Some(_)) => unused,
            (_, None) => verdict,
        })
    }

    /// Frees the space of objects that nothing needs any more, and evicts checkpoints if that is not
    /// enough.
    fn reclaim(&mut self) {
        (self.progress)(PruneStep::Reclaiming);
        // rule: sweep/reclaims
        let freed = self.with_room(|prune| reclaim(prune.disk, prune.base));
        let freed = freed.and_then(|_| fold(self.disk, self.base));
        if let Err(error) = &freed {
            self.failed("reclaiming space", error);
        }
        let max_bytes = self.options.max_total_bytes;
        // What was freed was measured.
        let is_within = || exceeds(self.disk, self.base, max_bytes).is_ok_and(|exceeds| !exceeds);
        if max_bytes == 0 || freed.is_ok() && is_within() {
            return;
        }
        let mut evictions = Evictions::default();
        let kept =
            self.with_room(|prune| keep_total(prune.disk, prune.base, max_bytes, &mut evictions));
        self.pruned.dropped += evictions.count();
        match kept {
            // Otherwise objects that could not be freed count as well.
            Ok(()) if freed.is_ok() => self.pruned.over_bytes = self.excess(max_bytes),
            Ok(()) => {}
            Err(error) => self.failed("keeping the total size", &error),
        }
    }
}

impl Prune<'_> {
    /// Bytes by which the store exceeds `max_bytes`, once everything that may be evicted was evicted.
    // rule: agent/pinned
    fn excess(&self, max_bytes: u64) -> u64 {
        let taken = Store::open(self.disk, self.base)
            .and_then(|store| store.as_ref().map_or(Ok(0), usage::estimate));
        taken.map_or(0, |taken| taken.saturating_sub(max_bytes))
    }
}

/// Entries of the base other than the store.
impl Prune<'_> {
    fn entry(&mut self, name: &OsStr, entry: BaseEntry) {
        let subject = shown(name.as_bytes());
        match entry {
            BaseEntry::Store | BaseEntry::Marker => {}
            BaseEntry::Leftover if self.is_preview => {}
            BaseEntry::Leftover => {
                if let Err(error) = folder::remove(self.disk, &self.base.join(name)) {
                    self.failed(&subject, &error);
                }
            }
            BaseEntry::Archive => {
                (self.progress)(PruneStep::Legacy(&subject));
                match self.archive(name) {
                    Ok(removed) => self.pruned.archives += usize::from(removed),
                    Err(error) => self.failed(&subject, &error),
                }
            }
            BaseEntry::Repository => {
                (self.progress)(PruneStep::Legacy(&subject));
                self.pruned.scanned += 1;
                let verdict = self.repository(name);
                self.count(&subject, verdict);
            }
        }
    }

    fn archive(&self, name: &OsStr) -> Result<bool> {
        let is_stale = archived_at(name).is_some_and(|made| self.is_stale(made as f64));
        if is_stale && !self.is_preview {
            base::discard_archive(self.disk, self.base, name)?;
        }
        Ok(is_stale)
    }

    fn repository(&self, name: &OsStr) -> Result<Verdict> {
        let path = self.base.join(name);
        let marker = self.disk.read(&path.join(base::WORKDIR), WORKDIR_BYTES_MAX);
        let state = marker.map_or(ProjectState::Unknown, |(text, _)| {
            let workdir = text.strip_suffix(b"\n").unwrap_or(&text);
            evidence::of(self.disk, Path::new(OsStr::from_bytes(workdir)), None)
        });
        let changed = folder::last_changed(self.disk, &path)?;
        let verdict = self.judge(state, changed.map(|seconds| seconds as f64));
        if verdict != Verdict::Keep && !self.is_preview {
            base::discard(self.disk, self.base, Path::new(name))?;
        }
        Ok(verdict)
    }
}
