//! Undoes restores of the agent state that died: here what they did to files.

use super::wanted::Wanted;
use super::{Manager, OpenProject};
use crate::agent_state::{Journal, Recovered, Recovery, UndoneFiles};
use crate::capture::Current;
use crate::error::{Error, Result};
use crate::path::shown;
use crate::project::Project;
use crate::restore::{Restore, left_anything};
use crate::store::oid::Oid;
use crate::store::snapshot::{Item, is_lost};
use crate::store::{Store, restoring};
use std::sync::atomic::AtomicBool;

impl Manager {
    /// Undoes the restores that died, in every project, since all of them share the parts of the agent
    /// state; returns a notice about each. The agent calls this when it starts; it also happens before
    /// the next checkpoint or restore. A restore that is running is skipped.
    ///
    /// # Errors
    /// A damaged or busy store; a problem with one of the projects is a notice instead.
    pub fn recover(&self) -> Result<Vec<String>> {
        self.recover_waiting(|_| false).map(|recovered| recovered.notices)
    }

    /// As [`Manager::recover`], but waits for running restores of the projects that `is_needed` names.
    ///
    /// # Errors
    /// As [`Manager::recover`], and [`Error::Busy`] where one takes too long.
    pub(super) fn recover_waiting(&self, is_needed: impl Fn(&str) -> bool) -> Result<Recovered> {
        // A manager without parts cannot restore them; one that has them does.
        if self.state.is_empty() {
            return Ok(Recovered::default());
        }
        match Store::open(self.disk.as_ref(), &self.base())? {
            Some(store) => self.recover_in(&store, is_needed),
            None => Ok(Recovered::default()),
        }
    }

    /// As [`Manager::recover_waiting`], in a store that is open.
    pub(super) fn recover_in(
        &self,
        store: &Store<'_>,
        is_needed: impl Fn(&str) -> bool,
    ) -> Result<Recovered> {
        let undo_files = &|project: &Project, journal: &Journal| {
            self.undo_files(&OpenProject::new(store, project), journal)
        };
        Recovery { state: &self.state, store, is_needed: &is_needed, undo_files }.run()
    }

    /// Undoes the changes of a restore to files. If a checkpoint that is needed for that is damaged, the
    /// files stay as they are, since a later attempt would know no more.
    // rule: maintenance/damage
    pub(super) fn undo_files(
        &self,
        open: &OpenProject<'_>,
        journal: &Journal,
    ) -> Result<UndoneFiles> {
        let OpenProject { store, objects, project } = open;
        let by_id = |id: &str| Wanted::by_id(objects, Oid::parse(id));
        let before = match by_id(journal.before.as_deref().unwrap_or_default()) {
            Err(error) if error.is_damage() => {
                let why = error.cause();
                return Ok(UndoneFiles::final_failure(format!(
                    "the files stay as they are, because the checkpoint of their state before is damaged: {why}"
                )));
            }
            before => before?,
        };
        let mut left = Vec::new();
        let target = match by_id(&journal.target) {
            Err(error) if error.is_damage() => {
                let why = error.cause();
                left.push(format!(
                    "the files that it restored stay, because its checkpoint is damaged: {why}"
                ));
                Wanted::by_id(objects, None)?
            }
            target => target?,
        };
        let Current { snapshot, leftovers, units } = match self.current(open) {
            // Nothing of the project exists any more.
            Err(error @ Error::NotADirectory(_)) => {
                return Ok(UndoneFiles::final_failure(error.cause()));
            }
            current => current?,
        };
        // Only files that are as the restore left them, or as they were before, may be overwritten.
        let is_written = |path: &Vec<u8>, item: &Item| {
            let was_there = before.snapshot.contains_key(path);
            (was_there || journal.creates.contains(path)) && target.snapshot.get(path) == Some(item)
        };
        let is_as_it_was = |path: &Vec<u8>, item: &Item| before.snapshot.get(path) == Some(item);
        let snapshot = snapshot
            .into_iter()
            .filter(|(path, item)| is_written(path, item) || is_as_it_was(path, item))
            .collect();
        let current = Current { snapshot, leftovers, units };
        // Undoing is completed, also if the user interrupts it.
        let interrupt = &AtomicBool::new(false);
        let restore = Restore { interrupt, ..self.restore_into(open, &current, &before) };
        let is_tidy = restore.tidy();
        let report = restore.restore_all(true);
        let is_final =
            report.failed.iter().all(|remark| is_lost(objects, &before.snapshot, &remark.path));
        let failed = report.failed.iter().chain(&report.kept);
        left.extend(failed.map(|remark| format!("{}: {}", shown(&remark.path), remark.why)));
        if is_final && is_tidy && !left_anything(&report) {
            let _ = restoring::end(store, &project.hash);
        }
        Ok(UndoneFiles { left, is_final })
    }
}
