//! External actions of an agent: it opened a pull request, sent a message. No restore undoes them; a
//! restore lists those that it leaves behind, and the user decides: run compensations, or accept them.
//!
//! Each step of a compensation is recorded before it is made, so that none ever runs twice unasked. The
//! format of the records is up to `log`.

mod log;

use crate::agent_state::envelope::ActionNote;
use crate::disk::{Disk, Sharing};
use crate::environment::Clock;
use crate::error::Result;
use crate::store::lock;
pub(super) use log::readable;
pub use log::{Action, ActionStatus, Decided};
use log::{Log, NewAction};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The state of an action whose compensation was interrupted, since its process died.
pub const INTERRUPTED: &str = "its compensation was interrupted, and may have had its effect";

/// Undoes one kind of action, as far as that is possible.
pub trait Compensation: Send + Sync {
    /// Runs the compensation of an action.
    ///
    /// # Errors
    /// Why it could not be done, for people.
    fn run(&self, action: &ActionNote) -> std::result::Result<(), String>;
}

/// The compensations that are registered, each by the kind of action.
pub type Compensations = BTreeMap<String, Arc<dyn Compensation>>;

/// An action as a restore lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// What was done.
    #[serde(flatten)]
    pub note: ActionNote,
    /// Its state, for people.
    pub state: String,
    /// Whether it can be compensated.
    pub can_be_compensated: bool,
}

/// The result of the compensation of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Compensated {
    /// The action.
    #[serde(flatten)]
    pub note: ActionNote,
    /// Why it failed; `None` if it succeeded.
    pub failure: Option<String>,
}

/// The external actions of an agent, in a file.
pub struct External {
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    path: PathBuf,
    compensations: Compensations,
    last_known: OnceLock<Box<LastKnown>>,
}

/// Returns the number of the last action that checkpoints know of.
type LastKnown = dyn Fn() -> Result<u64> + Send + Sync;

/// The beginning of the period whose actions are requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// After the action of that number.
    Action(u64),
    /// Since that second of the epoch.
    Time(i64),
}

impl Since {
    /// Whether the action belongs to the period.
    fn includes(self, action: &Action) -> bool {
        match self {
            Since::Action(number) => action.note.number > number,
            Since::Time(seconds) => action.at >= seconds,
        }
    }
}

impl External {
    /// The actions recorded in the file `external.json` below `folder`, an absolute path.
    pub fn new(
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        folder: &Path,
        compensations: Compensations,
    ) -> Self {
        let path = log::path(folder);
        External { disk, clock, path, compensations, last_known: OnceLock::new() }
    }

    /// Records that an action is about to be done, and returns its number. Recorded before it is done,
    /// it is listed even if the agent dies in between.
    ///
    /// # Errors
    /// A file that is damaged or busy, a disk that fails; then nothing is recorded.
    pub fn begin(&self, kind: &str, id: Option<&str>, to: Option<&str>) -> Result<u64> {
        let last_known = self.last_known();
        self.change(|log, at| log.begin(&NewAction { kind, id, to }, at, last_known))
    }

    /// Sets the function that returns the number of the last action that checkpoints know of: after a
    /// lost log, numbers begin above it, or new actions would be taken for actions before the checkpoints.
    // rule: agent/external-listed
    pub(super) fn set_last_known(
        &self,
        last_known: impl Fn() -> Result<u64> + Send + Sync + 'static,
    ) {
        // All that share these actions have the same checkpoints.
        let _ = self.last_known.set(Box::new(last_known));
    }

    /// The number above which the next number must be, in addition to those in the log.
    fn last_known(&self) -> u64 {
        let Some(last_known) = self.last_known.get() else { return 0 };
        if !self.read().is_ok_and(|log| log.last() == 0) {
            return 0;
        }
        last_known().unwrap_or_else(|error| {
            tracing::debug!(
                "the number of the last recorded external action is not known: {error}"
            );
            // No agent has done so many actions.
            self.clock.seconds().unsigned_abs()
        })
    }

    /// The number of the last action, also of one that did not happen in the end; 0 if none is known.
    ///
    /// # Errors
    /// A file that is damaged, a disk that fails.
    pub(super) fn last(&self) -> Result<u64> {
        self.read().map(|log| log.last())
    }

    /// Records that the action was done, or removes its record if it was not.
    ///
    /// # Errors
    /// As [`External::begin`].
    pub fn end(&self, number: u64, was_done: bool) -> Result<()> {
        self.change(|log, _| match was_done {
            true => log.set_standing(number, ActionStatus::Open),
            false => log.actions.retain(|action| action.note.number != number),
        })
    }

    /// Records an action that was already done.
    ///
    /// # Errors
    /// As [`External::begin`].
    pub fn record(&self, kind: &str, id: Option<&str>, to: Option<&str>) -> Result<u64> {
        let number = self.begin(kind, id, to)?;
        self.end(number, true).map(|()| number)
    }

    /// Every action, oldest first.
    ///
    /// # Errors
    /// A file that is damaged, a disk that fails.
    pub fn all(&self) -> Result<Vec<Action>> {
        self.read().map(|log| log.actions)
    }

    /// Every decision, oldest first.
    ///
    /// # Errors
    /// A file that is damaged, a disk that fails.
    pub fn audit(&self) -> Result<Vec<Decided>> {
        self.read().map(|log| log.audit)
    }

    /// The undecided actions after the action of that number, oldest first.
    ///
    /// # Errors
    /// A file that is damaged, a disk that fails.
    // rule: agent/external-listed
    pub fn after(&self, number: u64) -> Result<Vec<Listed>> {
        self.since(Since::Action(number))
    }

    /// The undecided actions of a period, oldest first.
    ///
    /// # Errors
    /// As [`External::after`].
    // rule: agent/external-listed: decides
    pub(super) fn since(&self, since: Since) -> Result<Vec<Listed>> {
        let actions = self.all()?.into_iter();
        let later =
            actions.filter(|action| since.includes(action) && action.standing.is_undecided());
        Ok(later.map(|action| self.listed(&action)).collect())
    }

    fn listed(&self, action: &Action) -> Listed {
        let can_be_compensated = self.compensations.contains_key(&action.note.kind);
        let state = match &action.standing {
            ActionStatus::Begun => "may not have happened".to_owned(),
            ActionStatus::Open if can_be_compensated => "still open".to_owned(),
            ActionStatus::Open => "cannot retract".to_owned(),
            ActionStatus::Compensating if self.is_compensating() => {
                "is being compensated".to_owned()
            }
            ActionStatus::Compensating => INTERRUPTED.to_owned(),
            ActionStatus::Failed { why } => format!("its compensation failed: {why}"),
            ActionStatus::Compensated => "compensated".to_owned(),
            ActionStatus::Accepted => "accepted".to_owned(),
        };
        Listed { note: action.note.clone(), state, can_be_compensated }
    }

    /// Records that a restore of that checkpoint of a project leaves behind the actions after the action of
    /// that number, and no other actions that only another restore of the same project left behind.
    ///
    /// # Errors
    /// As [`External::begin`].
    // rule: agent/external-listed
    pub fn leave_behind(&self, number: u64, checkpoint: &str, project: &str) -> Result<()> {
        self.leave_since(Since::Action(number), checkpoint, project)
    }

    /// As [`External::leave_behind`], for the actions of a period.
    ///
    /// # Errors
    /// As [`External::begin`].
    // rule: agent/external-listed
    pub(super) fn leave_since(&self, since: Since, checkpoint: &str, project: &str) -> Result<()> {
        self.change(|log, _| {
            for action in log.actions.iter_mut().filter(|action| action.standing.is_undecided()) {
                if since.includes(action) {
                    action.left_by = Some(checkpoint.to_owned());
                    action.left_in = Some(project.to_owned());
                } else if action.left_in.as_deref() == Some(project) {
                    action.left_by = None;
                    action.left_in = None;
                }
            }
        })
    }

    /// Runs the compensations of the actions that restores left behind, newest first and each at most
    /// once; with `again` also those that failed, or of which the outcome is unknown.
    ///
    /// # Errors
    /// As [`External::begin`]; what was done by then is recorded. Busy if another process does it.
    // rule: agent/compensation: decides
    pub fn compensate(&self, user: &str, again: bool) -> Result<Vec<Compensated>> {
        // Held until all are done, to distinguish a running compensation from an interrupted one.
        let _lock =
            lock::take_briefly(self.disk.as_ref(), &self.compensation_lock(), Sharing::Exclusive)?;
        let mut done = Vec::new();
        let mut newest_first: Vec<u64> =
            self.all()?.iter().map(|action| action.note.number).collect();
        newest_first.sort_unstable_by(|left, right| right.cmp(left));
        for number in newest_first {
            let Some((note, compensation)) = self.begin_compensation(number, user, again)? else {
                continue;
            };
            let outcome = compensation.run(&note);
            let failure = outcome.err();
            self.change(|log, at| {
                let (standing, result) = match &failure {
                    None => (ActionStatus::Compensated, "compensated".to_owned()),
                    Some(why) => {
                        (ActionStatus::Failed { why: why.clone() }, format!("failed: {why}"))
                    }
                };
                log.set_standing(number, standing);
                log.decide(at, user, number, result);
            })?;
            done.push(Compensated { note, failure });
        }
        Ok(done)
    }

    fn compensation_lock(&self) -> PathBuf {
        self.path.with_file_name("compensating.lock")
    }

    /// Whether a process is running compensations.
    pub fn is_compensating(&self) -> bool {
        matches!(lock::is_held(self.disk.as_ref(), &self.compensation_lock()), Ok(true))
    }

    /// Records that a compensation begins, if it is to be run: from here on it never runs again unasked.
    fn begin_compensation(
        &self,
        number: u64,
        user: &str,
        again: bool,
    ) -> Result<Option<(ActionNote, Arc<dyn Compensation>)>> {
        self.change(|log, at| {
            let action = log.actions.iter().find(|action| action.note.number == number)?;
            let is_to_run = match action.standing {
                ActionStatus::Open => true,
                ActionStatus::Failed { .. } | ActionStatus::Compensating | ActionStatus::Begun => {
                    again
                }
                ActionStatus::Compensated | ActionStatus::Accepted => false,
            };
            let note = action.note.clone();
            let compensation = self.compensations.get(&note.kind)?.clone();
            if !is_to_run || action.left_by.is_none() {
                return None;
            }
            log.set_standing(number, ActionStatus::Compensating);
            log.decide(at, user, number, "compensation started".to_owned());
            Some((note, compensation))
        })
    }

    /// Records that the actions that restores left behind are accepted, and returns them.
    ///
    /// # Errors
    /// As [`External::begin`].
    // rule: agent/compensation
    pub fn accept(&self, user: &str) -> Result<Vec<ActionNote>> {
        self.change(|log, at| {
            let mut accepted = Vec::new();
            for action in &mut log.actions {
                if action.standing.is_undecided() && action.left_by.is_some() {
                    action.standing = ActionStatus::Accepted;
                    accepted.push(action.note.clone());
                }
            }
            for note in &accepted {
                log.decide(at, user, note.number, "accepted".to_owned());
            }
            accepted
        })
    }

    fn read(&self) -> Result<Log> {
        log::read(self.disk.as_ref(), &self.path)
    }

    fn change<T>(&self, work: impl FnOnce(&mut Log, i64) -> T) -> Result<T> {
        log::change(self.disk.as_ref(), &self.path, |log| work(log, self.clock.seconds()))
    }
}

#[cfg(test)]
mod tests;
