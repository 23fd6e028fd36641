//! Taking a checkpoint: scope, lock, capture, commit, and what follows for the store.

use super::Manager;
use crate::capture::Capture;
use crate::capture::index::{self, Index};
use crate::disk::Stat;
use crate::disk::atomic_write::write_fresh;
use crate::environment::Config;
use crate::error::{Context, Error, Result};
use crate::maintenance::limits;
use crate::project::Project;
use crate::report::{Outcome, Taken};
use crate::store::objects::Objects;
use crate::store::snapshot::{self, Snapshot};
use crate::store::{Store, commit, metadata, ref_recovery, refs, usage};

impl Manager {
    pub(super) fn take(&self, project: &Project, reason: &str) -> Result<Taken> {
        let disk = self.disk.as_ref();
        project.check_scope(disk, &self.environment)?;
        let (taken, due) = {
            let store = Store::open_or_create(disk, &self.base(), self.clock.seconds())?;
            let _lock = store.lock_project(&project.hash)?;
            let mut objects = store.objects()?;
            let (taken, _) = self.checkpoint_locked(&store, &mut objects, project, reason)?;
            let is_new = matches!(taken.outcome, Outcome::Created { .. });
            (taken, is_new.then(|| self.keep_newest(&store, &objects, project)))
        };
        self.after_checkpoint(due);
        Ok(taken)
    }

    /// Takes a checkpoint while the project's lock is held, and returns what it read as well.
    pub(super) fn checkpoint_locked(
        &self,
        store: &Store<'_>,
        objects: &mut Objects<'_>,
        project: &Project,
        reason: &str,
    ) -> Result<(Taken, Snapshot)> {
        let known = index::load(store, &project.hash);
        let started = self.file_system_time(store, project)?;
        let captured = self.capture(project, &known, Some(started)).run(Some(objects))?;
        let tip = ref_recovery::newest_locked(store, objects, &project.hash)?;
        let newest = tip.map(|tip| commit::read(objects, tip)).transpose()?;
        let (outcome, newest) = match &newest {
            // rule: capture/empty-first
            None if captured.snapshot.is_empty() => (Outcome::Unchanged, None),
            _ => {
                let tree = snapshot::write(objects, &captured.snapshot)?;
                // rule: capture/unchanged
                if newest.is_some_and(|newest| newest.tree == tree) {
                    (Outcome::Unchanged, tip)
                } else {
                    let holds = (tree, &captured.permissions);
                    let (hash, now) = (&project.hash, self.clock.seconds());
                    // rule: capture/created
                    let id = commit::write(objects, hash, holds, tip, now, reason)?;
                    // rule: capture/honest
                    objects.flush()?;
                    refs::advance(store.disk, &store.path, &project.hash, tip, id)?;
                    (Outcome::Created { id: id.to_string() }, Some(id))
                }
            }
        };
        if objects.written() > 0 {
            let _ = usage::add(store, objects.written());
        }
        if let Some(newest) = newest {
            // The checkpoint is stored by now. Both of these are written again with the next one,
            // so that failing to write them does not fail this one.
            let _ = metadata::touch(store.disk, &store.path, project, self.clock.seconds(), newest);
            if captured.index != known {
                let _ = index::save(store, &project.hash, &captured.index);
            }
        }
        Ok((Taken { outcome, skipped: captured.skipped }, captured.snapshot))
    }

    /// Drops checkpoints beyond the limit after one was added, and returns whether their space is
    /// to be freed now. The project's lock is held.
    pub(super) fn keep_newest(
        &self,
        store: &Store<'_>,
        objects: &Objects<'_>,
        project: &Project,
    ) -> bool {
        limits::keep_newest(store, objects, &project.hash, self.config.max_snapshots.max(1))
    }

    /// Keeps the limits after a checkpoint was added. No lock is held.
    pub(super) fn after_checkpoint(&self, due: Option<bool>) {
        if let Some(due) = due {
            limits::after_checkpoint(self.disk.as_ref(), &self.base(), &self.config, due);
        }
    }

    fn capture<'a>(
        &'a self,
        project: &'a Project,
        index: &'a Index,
        started: Option<Stat>,
    ) -> Capture<'a> {
        Capture {
            disk: self.disk.as_ref(),
            root: &project.directory,
            base: self.base(),
            config: &self.config,
            index,
            started,
        }
    }

    /// What is in the project now, however many files, without storing anything; empty where it is
    /// gone.
    // rule: diff/leaves-store
    pub(super) fn current(&self, store: &Store<'_>, project: &Project) -> Result<Snapshot> {
        match project.check_directory(self.disk.as_ref()) {
            // rule: restore/deleted-project
            Err(Error::MissingDirectory(_)) => Ok(Snapshot::new()),
            Err(error) => Err(error),
            Ok(()) => {
                let boundless = Config { max_files: usize::MAX, ..self.config.clone() };
                let known = index::load(store, &project.hash);
                let capture = self.capture(project, &known, None);
                Capture { config: &boundless, ..capture }.run(None).map(|found| found.snapshot)
            }
        }
    }

    /// The stat of a file made now: its time is that of the file system's clock, which may differ
    /// from the clock of the process.
    fn file_system_time(&self, store: &Store<'_>, project: &Project) -> Result<Stat> {
        let name = format!("clock-{}", project.hash);
        let path = write_fresh(store.disk, &store.path, &name, b"")?;
        let stat = store.disk.stat(&path).context("looking at", &path);
        store.disk.remove_file(&path).context("removing", &path)?;
        stat
    }
}
