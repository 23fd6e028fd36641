//! The locks of an operation: first the lock of its project, then the lock of the agent state. If an
//! earlier restore died and can still be undone, that is done before the operation begins.

use super::Manager;
use crate::agent_state::{Owner, Recovered};
use crate::disk::Sharing;
use crate::error::{Error, Result};
use crate::project::Project;
use crate::store::lock::Lock;
use crate::store::{Store, lock, ref_recovery};
use serde_json::Value;

/// How many restores may die while an operation waits for the locks.
const DEATHS_MAX: usize = 3;

/// What the locks are needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A checkpoint.
    Take,
    /// A restore of all files and parts.
    RestoreAll,
    /// A restore of one file.
    RestoreFile,
}

impl Purpose {
    /// Whether the dead restore of the project of that hash must be undone before.
    fn needs(self, hash: &str, project: &Project) -> bool {
        self == Purpose::RestoreAll || hash == project.hash
    }
}

/// The locks of an operation.
pub(super) struct OperationLocks<'a> {
    pub store: Store<'a>,
    pub project_lock: Lock,
    /// The ownership of the agent state, or why it cannot be had.
    pub state: Result<Owner>,
    /// Notices about restores that died.
    pub undone: Vec<String>,
}

/// The result of changing a part of the agent state.
#[derive(Debug)]
pub struct PartChanged<T> {
    /// What the change returned.
    pub result: T,
    /// Notices about restores that died.
    pub notices: Vec<String>,
}

impl Manager {
    /// Opens the store, making it if it is missing, and takes the locks for a checkpoint of a project.
    /// Restores that died are undone before.
    ///
    /// # Errors
    /// [`Error::Busy`] while another process holds the project; a damaged store.
    pub(super) fn lock_to_take(&self, project: &Project) -> Result<OperationLocks<'_>> {
        let recovered = self.recover_waiting(|hash| Purpose::Take.needs(hash, project))?;
        let seconds = self.clock.seconds();
        let store = Store::open_or_create(self.disk.as_ref(), &self.base(), seconds)?;
        self.lock_operation(store, project, Purpose::Take, recovered)
    }

    /// As [`Manager::lock_to_take`], for a restore from a store that is open.
    ///
    /// # Errors
    /// As [`Manager::lock_to_take`].
    pub(super) fn lock_to_restore<'s>(
        &'s self,
        store: Store<'s>,
        project: &Project,
        purpose: Purpose,
    ) -> Result<OperationLocks<'s>> {
        let recovered = self.recover_in(&store, |hash| purpose.needs(hash, project))?;
        let store = store.completed(&self.base(), self.clock.seconds())?;
        self.lock_operation(store, project, purpose, recovered)
    }

    /// Takes the locks of a project and of the agent state, after restores that died were undone; those
    /// that died while this waited for the locks are undone as well.
    // rule: agent/all-or-none
    fn lock_operation<'s>(
        &'s self,
        store: Store<'s>,
        project: &Project,
        purpose: Purpose,
        mut recovered: Recovered,
    ) -> Result<OperationLocks<'s>> {
        ref_recovery::repair_packed(&store);
        let disk = self.disk.as_ref();
        let sharing = if purpose == Purpose::Take { Sharing::Shared } else { Sharing::Exclusive };
        let mut undone = Vec::new();
        let mut deaths = 0;
        loop {
            let project_lock = store.lock_project(&project.hash)?;
            let mut state = self.state.lock_parts(disk, sharing, lock::take);
            let has_died = state.is_ok() && self.has_died(&recovered);
            undone.append(&mut recovered.notices);
            if !has_died || deaths == DEATHS_MAX {
                if has_died && purpose == Purpose::RestoreAll {
                    // Undoing the dead restore later would undo this restore, too.
                    state = Err(Error::Busy(store.path.join("undo")));
                }
                return Ok(OperationLocks { store, project_lock, state, undone });
            }
            deaths += 1;
            drop(state);
            drop(project_lock);
            recovered = self.recover_in(&store, |hash| purpose.needs(hash, project))?;
        }
    }

    /// Changes a part of the agent state while no other process does, in one step. Restores that died are
    /// undone before, or the change would be undone with them.
    ///
    /// # Errors
    /// [`Error::BadState`] where there is no such part, or it cannot be read or written; [`Error::Busy`]
    /// while another process changes the state.
    // rule: agent/all-or-none
    pub fn change_part<T>(
        &self,
        name: &str,
        work: impl FnOnce(&mut Value) -> T,
    ) -> Result<PartChanged<T>> {
        let change = || self.state.change(name, work);
        let PartChanged { result, notices } = self.with_exclusive_state(change)?;
        Ok(PartChanged { result: result?, notices })
    }

    /// Runs `work` while no other process changes the agent state.
    ///
    /// # Errors
    /// [`Error::Busy`] while another process does, before anything is done.
    pub fn with_exclusive_state<T>(&self, work: impl FnOnce() -> T) -> Result<PartChanged<T>> {
        let mut notices = Vec::new();
        let mut deaths = 0;
        loop {
            // Without a usable store there are no restores.
            let recovered = self.recover_waiting(|_| false).unwrap_or_default();
            let _owner =
                self.state.lock_parts(self.disk.as_ref(), Sharing::Exclusive, lock::take)?;
            let has_died = self.has_died(&recovered);
            notices.extend(recovered.notices);
            if !has_died {
                return Ok(PartChanged { result: work(), notices });
            }
            if deaths == DEATHS_MAX {
                return Err(Error::Busy(self.base().join("store/undo")));
            }
            deaths += 1;
        }
    }

    /// Whether a restore died and undoing it was not tried yet. The agent state is owned, so that no
    /// restore is running.
    fn has_died(&self, recovered: &Recovered) -> bool {
        !self.state.is_empty()
            && recovered.has_missed(self.disk.as_ref(), &self.base().join("store"))
    }
}
