//! Undoes restores of the agent state that died.
//!
//! A problem with one of them is reported and does not affect other projects: none has to wait for a
//! repair that may never happen.

use super::wanted::Wanted;
use super::whole::is_lost;
use super::{Manager, OpenProject};
use crate::agent_state::Take;
use crate::agent_state::journal;
use crate::agent_state::journal::Journal;
use crate::capture::Current;
use crate::disk::Sharing;
use crate::error::{Error, Result};
use crate::path::shown;
use crate::project::Project;
use crate::restore::{Restore, left_anything};
use crate::store::snapshot::Item;
use crate::store::{Store, lock, restoring};
use git2::Oid;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// The result of undoing the changes of a restore to files.
struct UndoneFiles {
    /// What could not be undone, for people.
    left: Vec<String>,
    /// Whether another attempt would undo no more.
    is_final: bool,
}

/// The result of undoing restores that died.
#[derive(Default)]
pub(super) struct Recovered {
    /// Notices about them.
    pub notices: Vec<String>,
    /// The projects whose restore could not be undone.
    pub failed: BTreeSet<String>,
}

impl UndoneFiles {
    fn final_failure(why: String) -> Self {
        UndoneFiles { left: vec![why], is_final: true }
    }
}

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
    // rule: agent/all-or-none
    // rule: maintenance/damage
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
        let mut recovered = Recovered::default();
        if self.state.is_empty() {
            return Ok(recovered);
        }
        let hashes = match journal::projects(store.disk, &store.path) {
            Err(error) if error.is_damage() => {
                let why = error.cause();
                let notice = format!("it is not known whether a rollback was interrupted: {why}");
                recovered.notices.push(notice);
                return Ok(recovered);
            }
            hashes => hashes?,
        };
        for hash in hashes {
            match self.undo_interrupted(store, &hash, is_needed(&hash), &mut recovered) {
                Err(Error::Busy(_)) if !is_needed(&hash) => {}
                undone => undone?,
            }
        }
        Ok(recovered)
    }

    /// As [`Manager::recover_waiting`], for one project; waits for a running restore if it `is_needed`.
    fn undo_interrupted(
        &self,
        store: &Store<'_>,
        hash: &str,
        is_needed: bool,
        recovered: &mut Recovered,
    ) -> Result<()> {
        // A running restore holds both locks.
        let (_project, take): (_, Take) = match is_needed {
            true => (store.lock_project(hash)?, lock::take),
            false => (store.try_lock_project(hash)?, lock::take_briefly),
        };
        if !journal::has_journal(store.disk, &store.path, hash)? {
            return Ok(());
        }
        let _owner = self.state.lock_parts(store.disk, Sharing::Exclusive, take)?;
        match self.undo_recorded(store, hash) {
            Ok(undone) => recovered.notices.extend(undone),
            Err(error) => recovered.notices.push(format!(
                "a rollback was interrupted, and could not be undone yet: {}",
                error.cause()
            )),
        }
        if journal::has_journal(store.disk, &store.path, hash)? {
            recovered.failed.insert(hash.to_owned());
        }
        Ok(())
    }

    /// Undoes the recorded restore of one project, whose lock is held, as is that of the state.
    fn undo_recorded(&self, store: &Store<'_>, hash: &str) -> Result<Option<String>> {
        let journal = match journal::read(store.disk, &store.path, hash) {
            Err(error) if error.is_damage() => {
                journal::end(store, hash)?;
                return Ok(Some(format!(
                    "a rollback was interrupted and cannot be undone, because its journal is damaged: {}",
                    error.cause()
                )));
            }
            read => read?,
        };
        let Some(journal) = journal else { return Ok(None) };
        let directory = PathBuf::from(OsStr::from_bytes(&journal.directory));
        let project = &Project { directory, hash: hash.to_owned() };
        let short = journal.target.get(..7).unwrap_or_default();
        Ok(Some(match self.undo_restore(&OpenProject::new(store, project), &journal)? {
            None => format!("a rollback to {short} was interrupted, and was undone"),
            Some(left) => {
                format!(
                    "a rollback to {short} was interrupted, and was undone except for this: {left}"
                )
            }
        }))
    }

    /// Undoes the changes of a restore to parts and files; files that were saved since stay. Returns
    /// what could not be undone, which the next attempt tries again where that may help.
    pub(super) fn undo_restore(
        &self,
        open: &OpenProject<'_>,
        journal: &Journal,
    ) -> Result<Option<String>> {
        let store = open.store;
        let mut left = Vec::new();
        for (name, text) in &journal.parts {
            if let Some(Err(why)) = self.state.part(name).map(|part| part.restore(text)) {
                left.push(format!("the agent's {name}: {why}"));
            }
        }
        let are_parts_undone = left.is_empty() && !journal.parts.is_empty();
        let files = self.undo_files(open, journal);
        if files.as_ref().is_ok_and(|files| files.is_final) {
            journal::end(store, open.hash())?;
        } else {
            // Another project may be restored before the next attempt, which must not undo that.
            let parts = if are_parts_undone { BTreeMap::new() } else { journal.parts.clone() };
            let _ = journal::begin(store, open.hash(), &Journal { parts, ..journal.clone() });
        }
        left.extend(files?.left);
        Ok((!left.is_empty()).then(|| left.join("; ")))
    }

    /// Undoes the changes of a restore to files. If a checkpoint that is needed for that is damaged, the
    /// files stay as they are, since a later attempt would know no more.
    // rule: maintenance/damage
    fn undo_files(&self, open: &OpenProject<'_>, journal: &Journal) -> Result<UndoneFiles> {
        let OpenProject { store, objects, project } = open;
        let by_id = |id: &str| Wanted::by_id(objects, Oid::from_str(id).ok());
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
        self.record_restore(open, &restore, &report);
        let is_final = report.failed.iter().all(|remark| is_lost(objects, &before, &remark.path));
        let failed = report.failed.iter().chain(&report.kept);
        left.extend(failed.map(|remark| format!("{}: {}", shown(&remark.path), remark.why)));
        if is_final && is_tidy && !left_anything(&report) {
            let _ = restoring::end(store, &project.hash);
        }
        Ok(UndoneFiles { left, is_final })
    }
}
