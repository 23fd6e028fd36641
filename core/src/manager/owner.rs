//! What an operation holds while it works: the lock of its project, and then that of the agent's state,
//! with no rollback left that died and could still be undone.

use super::Manager;
use super::recovery::Recovered;
use crate::disk::Sharing;
use crate::error::{Error, Result};
use crate::project::Project;
use crate::state::Owner;
use crate::store::lock::Lock;
use crate::store::{Store, lock, undo};
use serde_json::Value;

/// How many rollbacks may die while the locks are waited for.
const DEATHS_MAX: usize = 3;

/// What the locks are needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// A checkpoint.
    Take,
    /// A restore of all files and parts.
    RestoreAll,
    /// A restore of one file.
    RestoreFile,
}

/// The locks of an operation.
pub(super) struct Owned<'a> {
    pub store: Store<'a>,
    pub _project: Lock,
    /// The agent's state, or why it is not to be had.
    pub state: Result<Owner>,
    /// What is to be said of rollbacks that died.
    pub undone: Vec<String>,
}

/// What came of changing a part of the agent's state.
#[derive(Debug)]
pub struct PartChanged<T> {
    /// What the change returned.
    pub result: T,
    /// What is to be said of rollbacks that died.
    pub notices: Vec<String>,
}

impl Manager {
    /// Takes the locks of a project and of the agent's state. Rollbacks that died are undone before, also
    /// those that died while the locks were waited for.
    ///
    /// # Errors
    /// [`Error::Busy`] while another process holds the project; a damaged store.
    // rule: agent/all-or-none
    pub(super) fn own(&self, project: &Project, purpose: Use) -> Result<Owned<'_>> {
        let disk = self.disk.as_ref();
        let is_all = purpose == Use::RestoreAll;
        let sharing = if purpose == Use::Take { Sharing::Shared } else { Sharing::Exclusive };
        let (mut undone, mut deaths) = (Vec::new(), 0);
        loop {
            let recovered = self.recover_waiting(|hash| is_all || hash == project.hash)?;
            let store = Store::open_or_create(disk, &self.base(), self.clock.seconds())?;
            let _project = store.lock_project(&project.hash)?;
            let mut state = self.state.own(disk, sharing, lock::take);
            let has_died = state.is_ok() && self.has_died(&recovered);
            undone.extend(recovered.said);
            if has_died && deaths < DEATHS_MAX {
                deaths += 1;
                continue;
            }
            if has_died && is_all {
                // What undoes it later would undo this one, too.
                state = Err(Error::Busy(store.path.join("undo")));
            }
            return Ok(Owned { store, _project, state, undone });
        }
    }

    /// Changes a part of the agent's state while no other process does, in one step. Rollbacks that died
    /// are undone before, or what is changed would be undone with them.
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
        let change = || -> Result<T> {
            let bad = |why| Error::BadState { part: name.to_owned(), why };
            let part = self.state.part(name);
            let part = part.ok_or_else(|| bad("this agent has no such part".to_owned()))?;
            let before = part.capture().map_err(bad)?;
            let mut value =
                serde_json::from_str(&before).map_err(|error| bad(error.to_string()))?;
            let result = work(&mut value);
            let after = format!("{value:#}\n");
            part.check(&after).and_then(|()| part.restore(&after)).map_err(bad)?;
            Ok(result)
        };
        let PartChanged { result, notices } = self.while_alone(change)?;
        Ok(PartChanged { result: result?, notices })
    }

    /// Does something about the agent's state while no other process changes it.
    ///
    /// # Errors
    /// [`Error::Busy`] while another process does, before anything is done.
    pub fn while_alone<T>(&self, work: impl FnOnce() -> T) -> Result<PartChanged<T>> {
        let (mut notices, mut deaths) = (Vec::new(), 0);
        loop {
            // Without a store that can be used there are no rollbacks.
            let recovered = self.recover_waiting(|_| false).unwrap_or_default();
            let _owner = self.state.own(self.disk.as_ref(), Sharing::Exclusive, lock::take)?;
            let has_died = self.has_died(&recovered);
            notices.extend(recovered.said);
            if !has_died {
                return Ok(PartChanged { result: work(), notices });
            }
            if deaths == DEATHS_MAX {
                return Err(Error::Busy(self.base().join("store/undo")));
            }
            deaths += 1;
        }
    }

    /// Whether a rollback died and was not undone yet, nor tried to. The agent's state is owned, so that
    /// none goes on.
    fn has_died(&self, recovered: &Recovered) -> bool {
        if self.state.is_empty() {
            return false;
        }
        let noted = undo::projects(self.disk.as_ref(), &self.base().join("store"));
        noted.is_ok_and(|noted| noted.iter().any(|hash| !recovered.left.contains(hash)))
    }
}
