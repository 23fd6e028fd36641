//! Undo and redo: finds the restore that is undone, and records each restore once it ended. What is undone
//! is restored like any checkpoint, except that only files of the undone restore are removed.

use super::preview::PendingRestore;
use super::scope::{LiteralScope, RestoreOptions, Scope};
use super::{Manager, OpenProject};
use crate::error::{Error, Result};
use crate::report::{Restored, Undone};
use crate::restore::Restore;
use crate::store::Store;
use crate::store::commit::{self, Checkpoint};
use crate::store::oid::Oid;
use crate::store::restoring;
use crate::store::rollbacks::{BROUGHT_MAX, Brought, Direction, Rollback, Rollbacks};
use crate::store::snapshot::{self, Item, Snapshot};
use std::path::Path;

impl Manager {
    /// The newest checkpoint that differs from the present files, by its full id, if no rollback, undo or redo
    /// followed the newest of the list: what happened last is a change after it, such as a turn of an agent. Where none
    /// differs, the newest. After an undo or a redo, the checkpoint that it restored, if files changed since; if none
    /// did and it brought a turn back, the newest checkpoint from before that turn.
    ///
    /// # Errors
    /// As [`Manager::list`].
    pub fn checkpoint_after_rollback(&self, dir: &Path) -> Result<Option<String>> {
        let project = self.project(dir);
        let Some(store) = Store::open(self.disk.as_ref(), &self.base())? else { return Ok(None) };
        let open = OpenProject::new(&store, &project);
        let history = self.history(&open)?;
        let Some(newest) = history.first().map(|newest| newest.id.to_string()) else {
            return Ok(None);
        };
        let last = |direction| {
            open.newest_rollback(direction).ok().filter(|rollback| is_last(&history, rollback))
        };
        if last(Direction::Undo).is_some() {
            return Ok(None);
        }
        let current = self.current(&open)?.snapshot;
        let undone = last(Direction::Redo);
        let has_turn_again = undone.as_ref().is_some_and(|undone| undone.of_turn);
        if let Some(undone) = undone {
            // It left the files as this checkpoint has them, and files that were created before it.
            let is_changed = |(path, item): (&Vec<u8>, &Item)| current.get(path) != Some(item);
            let has_changed = undone.path.is_none()
                && undone.below.is_none()
                && open.snapshot_of(&undone.target).is_some_and(|left| left.iter().any(is_changed));
            if has_changed || !undone.of_turn {
                return Ok(has_changed.then_some(undone.target));
            }
        }
        let differs = |checkpoint: &&Checkpoint| {
            if has_turn_again && checkpoint.rollback.is_some() {
                return false;
            }
            let Ok(Checkpoint { id, tree, .. }) = checkpoint.intact() else { return true };
            !snapshot::read(&open.objects, *id, *tree).is_ok_and(|snapshot| snapshot == current)
        };
        let differing = history.iter().find(differs).map(|checkpoint| checkpoint.id.to_string());
        Ok(Some(differing.unwrap_or(newest)))
    }

    /// The checkpoint, by its full id, since which all changes were undone, if that happened last: undoing it brings
    /// them back.
    ///
    /// # Errors
    /// As [`Manager::list`].
    pub fn undone_turn(&self, dir: &Path) -> Result<Option<String>> {
        let project = self.project(dir);
        let Some(store) = Store::open(self.disk.as_ref(), &self.base())? else { return Ok(None) };
        let open = OpenProject::new(&store, &project);
        let history = self.history(&open)?;
        let newest = open.newest_rollback(Direction::Undo).ok();
        let newest = newest.filter(|newest| newest.of_turn && is_last(&history, newest));
        let can_redo = open.newest_rollback(Direction::Redo).is_ok();
        Ok(newest.filter(|_| !can_redo).map(|newest| newest.target))
    }

    /// Records that the restore of that checkpoint undid what changed since.
    ///
    /// # Errors
    /// A path that is not a store, or a disk that fails.
    pub fn mark_undone_turn(&self, dir: &Path, target: &str) -> Result<()> {
        let hash = self.project(dir).hash;
        let Some(store) = Store::open(self.disk.as_ref(), &self.base())? else { return Ok(()) };
        let _lock = store.try_lock_project(&hash)?;
        let mut rollbacks = Rollbacks::ended(store.disk, &store.path, &hash);
        let earlier = rollbacks.clone();
        rollbacks.mark_turn(target);
        if rollbacks == earlier { Ok(()) } else { rollbacks.write(&store, &hash) }
    }
}

/// Whether no checkpoint of the list followed the restore.
fn is_last(history: &[Checkpoint], rollback: &Rollback) -> bool {
    // A rollback that changed nothing leaves a checkpoint, but cannot be undone.
    let newest_numbered = history.iter().position(|checkpoint| checkpoint.rollback.is_none());
    let newest_numbered = newest_numbered.unwrap_or(history.len());
    let Some(before) = &rollback.before else { return true };
    let at = history.iter().position(|checkpoint| checkpoint.id.to_string() == *before);
    at.is_some_and(|at| at <= newest_numbered)
}

/// A restore that undoes another.
pub(super) struct UndoingRestore {
    pub direction: Direction,
    /// The restore that it undoes.
    pub undone: Undone,
    /// The files that the undone restore brought, as far as it is known.
    pub made: Snapshot,
}

impl OpenProject<'_> {
    /// The newest restore in that direction.
    ///
    /// # Errors
    /// [`Error::NothingToUndo`].
    fn newest_rollback(&self, direction: Direction) -> Result<Rollback> {
        let rollbacks = Rollbacks::all(self.store.disk, &self.store.path, self.hash());
        rollbacks.newest(direction).cloned().ok_or_else(|| rollbacks.nothing(direction))
    }

    /// The files of a checkpoint, if they can be read.
    fn snapshot_of(&self, id: &str) -> Option<Snapshot> {
        let id = Oid::parse(id)?;
        snapshot::read(&self.objects, id, commit::read(&self.objects, id).ok()?.tree).ok()
    }

    /// The checkpoint that holds the state before the newest restore in that direction.
    ///
    /// # Errors
    /// [`Error::NothingToUndo`].
    pub(super) fn before_rollback<'l>(
        &self,
        history: &'l [Checkpoint],
        direction: Direction,
    ) -> Result<&'l Checkpoint> {
        let before = self.newest_rollback(direction)?.before;
        let is_before = |checkpoint: &&Checkpoint| Some(checkpoint.id.to_string()) == before;
        let lost = "no checkpoint holds the files from before that rollback";
        history.iter().find(is_before).ok_or(Error::NothingToUndo(lost))
    }

    /// What a full restore of `target` undoes, if that is typed instead of a checkpoint, and how much of the
    /// checkpoint is then restored.
    ///
    /// # Errors
    /// [`Error::NothingToUndo`].
    pub(super) fn undone(
        &self,
        target: &[u8],
        scope: LiteralScope,
    ) -> Result<(Option<UndoingRestore>, LiteralScope)> {
        let (Some(direction), Scope::All(options)) = (Direction::parse(target), &scope) else {
            return Ok((None, scope));
        };
        let Rollback { target, path, below, brought, time, .. } =
            self.newest_rollback(direction)?;
        let made = match brought {
            Some(brought) => brought.iter().filter_map(Brought::item).collect(),
            None => self.snapshot_of(&target).unwrap_or_default(),
        };
        let options = RestoreOptions { exact: true, ..*options };
        let scope = match (path, below) {
            (Some(path), _) => Scope::File(path),
            (None, Some(below)) => Scope::Below(below, options),
            (None, None) => Scope::All(options),
        };
        let undone = Undone { target, time };
        Ok((Some(UndoingRestore { direction, undone, made }), scope))
    }
}

impl OpenProject<'_> {
    /// Records a restore that has ended; the checkpoint `before` holds the state before. The project's lock is
    /// held.
    pub(super) fn record_ended(
        &self,
        pending: &PendingRestore<'_>,
        restore: &Restore<'_>,
        before: Option<Oid>,
        report: &Restored,
    ) {
        let direction = pending.undoing.as_ref().map(|undoing| undoing.direction);
        if direction.is_some() && !report.failed.is_empty() {
            // The same undo can be completed.
            return;
        }
        let before = before.map(|before| before.to_string());
        let path = match &pending.scope {
            Scope::File(path) => Some(path.clone()),
            Scope::All(_) | Scope::Below(..) => None,
        };
        let record = restoring::read(self.store.disk, &self.store.path, self.hash());
        let continued = record.filter(|record| path.is_none() && record.before != before);
        let ended = continued.map(Rollback::from).unwrap_or_else(|| Rollback {
            before,
            target: pending.wanted.id.to_string(),
            path,
            below: pending.scope.below().map(<[_]>::to_vec),
            brought: brought(restore, report),
            time: Some(pending.time),
            of_turn: false,
        });
        let changed = !report.restored.is_empty() || !report.removed.is_empty();
        self.record_rollback(direction, changed.then_some(ended));
    }

    /// Records a restore that was interrupted, before its own record goes; an undo can still be completed. The
    /// project's lock is held.
    pub(super) fn record_interrupted(&self) {
        let record = restoring::read(self.store.disk, &self.store.path, self.hash());
        let record = record.filter(|record| record.direction.is_none());
        self.record_rollback(None, record.map(Rollback::from));
    }

    fn record_rollback(&self, direction: Option<Direction>, rollback: Option<Rollback>) {
        let mut rollbacks = Rollbacks::ended(self.store.disk, &self.store.path, self.hash());
        let earlier = rollbacks.clone();
        rollbacks.add(direction, rollback);
        if rollbacks != earlier
            && let Err(error) = rollbacks.write(self.store, self.hash())
        {
            tracing::debug!("an old record of the restores of {} stayed: {error}", self.hash());
        }
    }
}

/// The files that a restore brought, unless there are too many.
fn brought(restore: &Restore<'_>, report: &Restored) -> Option<Vec<Brought>> {
    let is_new = |path: &&Vec<u8>| !restore.current.contains_key(*path);
    let brought = report.restored.iter().filter(is_new).filter_map(|path| {
        let Item { mode, blob } = restore.target.get(path)?;
        Some(Brought { path: path.clone(), mode: mode.bits(), blob: blob.to_string() })
    });
    let brought: Vec<Brought> = brought.take(BROUGHT_MAX + 1).collect();
    (brought.len() <= BROUGHT_MAX).then_some(brought)
}
