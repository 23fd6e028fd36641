//! Undoes restores of the agent state that died.
//!
//! A problem with one of them is reported and does not affect other projects: none has to wait for a
//! repair that may never happen. The caller undoes the files.

use super::journal::{self, Journal};
use super::owner::Take;
use super::{State, Stored};
use crate::disk::{Disk, Sharing};
use crate::error::{Error, Result};
use crate::project::Project;
use crate::store::{Store, lock};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The result of undoing the changes of a restore to files.
pub struct UndoneFiles {
    /// What could not be undone, for people.
    pub left: Vec<String>,
    /// Whether another attempt would undo no more.
    pub is_final: bool,
}

/// The restores that died, and how they are undone.
pub struct Recovery<'a> {
    pub state: &'a State,
    /// The store with their journals.
    pub store: &'a Store<'a>,
    /// Whether a running restore of the project of that hash is waited for.
    pub is_needed: &'a dyn Fn(&str) -> bool,
    /// Undoes the changes to the files of a project.
    pub undo_files: &'a dyn Fn(&Project, &Journal) -> Result<UndoneFiles>,
}

/// The result of undoing restores that died.
#[derive(Default)]
pub struct Recovered {
    /// Notices about them.
    pub notices: Vec<String>,
    /// The projects whose restore could not be undone.
    failed: BTreeSet<String>,
}

impl Recovered {
    /// Whether a restore died that is not among these.
    pub fn has_missed(&self, disk: &dyn Disk, store: &Path) -> bool {
        let journals = journal::projects(disk, store);
        journals.is_ok_and(|journals| journals.iter().any(|hash| !self.failed.contains(hash)))
    }
}

impl UndoneFiles {
    pub fn final_failure(why: String) -> Self {
        UndoneFiles { left: vec![why], is_final: true }
    }
}

impl Recovery<'_> {
    /// Undoes the restores that died, in every project, since all of them share the parts of the agent
    /// state. A problem with one of the projects is a notice.
    // rule: agent/all-or-none
    // rule: maintenance/damage
    pub fn run(&self) -> Result<Recovered> {
        let Recovery { state, store, is_needed, .. } = *self;
        let mut recovered = Recovered::default();
        if state.is_empty() {
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
            match self.undo_interrupted(&hash, &mut recovered) {
                Err(Error::Busy(_)) if !is_needed(&hash) => {}
                undone => undone?,
            }
        }
        Ok(recovered)
    }

    /// As [`Recovery::run`], for one project; waits for a running restore if that is needed.
    fn undo_interrupted(&self, hash: &str, recovered: &mut Recovered) -> Result<()> {
        let Recovery { state, store, is_needed, .. } = *self;
        let stored = Stored::of(store, hash);
        // A running restore holds both locks.
        let (_project, take): (_, Take) = match is_needed(hash) {
            true => (store.lock_project(hash)?, lock::take),
            false => (store.try_lock_project(hash)?, lock::take_briefly),
        };
        if !stored.has_journal()? {
            return Ok(());
        }
        let _owner = state.lock_parts(store.disk, Sharing::Exclusive, take)?;
        match self.undo_recorded(hash) {
            Ok(undone) => recovered.notices.extend(undone),
            Err(error) => recovered.notices.push(format!(
                "a rollback was interrupted, and could not be undone yet: {}",
                error.cause()
            )),
        }
        if stored.has_journal()? {
            recovered.failed.insert(hash.to_owned());
        }
        Ok(())
    }

    /// Undoes the recorded restore of one project, whose lock is held, as is that of the state.
    fn undo_recorded(&self, hash: &str) -> Result<Option<String>> {
        let Recovery { state, store, undo_files, .. } = *self;
        let stored = Stored::of(store, hash);
        let journal = match journal::read(store.disk, &store.path, hash) {
            Err(error) if error.is_damage() => {
                stored.end_journal()?;
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
        Ok(Some(
            match state.undo_restore(stored, &journal, &|journal| undo_files(project, journal))? {
                None => format!("a rollback to {short} was interrupted, and was undone"),
                Some(left) => {
                    format!(
                        "a rollback to {short} was interrupted, and was undone except for this: {left}"
                    )
                }
            },
        ))
    }
}

impl State {
    /// Undoes the changes of a restore to parts and files; files that were saved since stay. Returns
    /// what could not be undone, which the next attempt tries again where that may help.
    pub(super) fn undo_restore(
        &self,
        stored: Stored<'_>,
        journal: &Journal,
        undo_files: &dyn Fn(&Journal) -> Result<UndoneFiles>,
    ) -> Result<Option<String>> {
        let mut left = Vec::new();
        for (name, text) in &journal.parts {
            if let Some(Err(why)) = self.part(name).map(|part| part.restore(text)) {
                left.push(format!("the agent's {name}: {why}"));
            }
        }
        let are_parts_undone = left.is_empty() && !journal.parts.is_empty();
        let files = undo_files(journal);
        if files.as_ref().is_ok_and(|files| files.is_final) {
            stored.end_journal()?;
        } else {
            // Another project may be restored before the next attempt, which must not undo that.
            let parts = if are_parts_undone { BTreeMap::new() } else { journal.parts.clone() };
            let _ = stored.begin_journal(&Journal { parts, ..journal.clone() });
        }
        left.extend(files?.left);
        Ok((!left.is_empty()).then(|| left.join("; ")))
    }
}
