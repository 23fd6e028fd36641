//! What an agent did outside: opened a pull request, sent a message. No rollback undoes it; a rollback
//! lists what it leaves behind, and a person decides: compensations run, or it stays.
//!
//! Each step of a compensation is noted before it is made, so that none ever runs twice unasked. How it
//! is noted is `log`'s business.

mod log;

use crate::disk::{Disk, Sharing};
use crate::environment::Clock;
use crate::error::Result;
use crate::store::envelope::ActionNote;
use crate::store::lock;
use log::Log;
pub(crate) use log::readable;
pub use log::{Action, Decided, Standing};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// What is said of a compensation whose process died.
pub const INTERRUPTED: &str = "its compensation was interrupted, and may still take effect";

/// Undoes one kind of action as far as that is possible.
pub trait Compensation: Send + Sync {
    /// Does it.
    ///
    /// # Errors
    /// Why it could not be done, for people.
    fn run(&self, action: &ActionNote) -> std::result::Result<(), String>;
}

/// The compensations that are registered, each by the kind of action.
pub type Compensations = BTreeMap<String, Arc<dyn Compensation>>;

/// An action as a rollback lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// What was done.
    #[serde(flatten)]
    pub note: ActionNote,
    /// How it stands, for people.
    pub state: String,
    /// Whether it can be compensated.
    pub can_be_compensated: bool,
}

/// What came of the compensation of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Compensated {
    /// What it was about.
    #[serde(flatten)]
    pub note: ActionNote,
    /// Why it failed; none where it was done.
    pub failure: Option<String>,
}

/// What an agent does outside, in a file.
pub struct External {
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    path: PathBuf,
    compensations: Compensations,
    known: OnceLock<Box<Known>>,
}

/// Tells the number of the last action that checkpoints know of.
type Known = dyn Fn() -> Result<u64> + Send + Sync;

/// Since when it is asked what was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// Since the action of that number.
    Action(u64),
    /// Since that second of the epoch.
    Time(i64),
}

impl Since {
    /// Whether that was done then, or since.
    fn is_before(self, action: &Action) -> bool {
        match self {
            Since::Action(number) => action.note.number > number,
            Since::Time(seconds) => action.at >= seconds,
        }
    }
}

impl External {
    /// What is noted in the file `external.json` below `folder`, an absolute path.
    pub fn new(
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        folder: &Path,
        compensations: Compensations,
    ) -> Self {
        let (path, known) = (log::path(folder), OnceLock::new());
        External { disk, clock, path, compensations, known }
    }

    /// Something is about to be done outside; returns its number. Noted before it is done, it is
    /// listed also where the agent dies in between.
    ///
    /// # Errors
    /// A file that is damaged or busy, a disk that fails; then nothing is noted.
    pub fn begin(&self, kind: &str, id: Option<&str>, to: Option<&str>) -> Result<u64> {
        let known = self.known();
        self.change(|log, at| log.begin((kind, id, to), at, known))
    }

    /// Who can tell the number of the last action that checkpoints know of: a log that was lost begins
    /// above it, or what is done then would be taken for what was done before them.
    // rule: agent/external-listed
    pub(crate) fn ask_checkpoints(&self, known: impl Fn() -> Result<u64> + Send + Sync + 'static) {
        // All that share this have the same checkpoints.
        let _ = self.known.set(Box::new(known));
    }

    /// The number above which an action begins, beside what the log itself says.
    fn known(&self) -> u64 {
        let Some(known) = self.known.get() else { return 0 };
        if !self.read().is_ok_and(|log| log.last() == 0) {
            return 0;
        }
        known().unwrap_or_else(|error| {
            tracing::debug!("what checkpoints know of external actions is not known: {error}");
            // No agent has done so much.
            self.clock.seconds().unsigned_abs()
        })
    }

    /// The number of the last action, also of one that did not happen in the end; 0 where none is known.
    ///
    /// # Errors
    /// A file that is damaged, a disk that fails.
    pub(crate) fn last(&self) -> Result<u64> {
        self.read().map(|log| log.last())
    }

    /// It was done; or it was not, and nothing is to be listed.
    ///
    /// # Errors
    /// As [`External::begin`].
    pub fn end(&self, number: u64, was_done: bool) -> Result<()> {
        self.change(|log, _| match was_done {
            true => log.stand(number, Standing::Open),
            false => log.actions.retain(|one| one.note.number != number),
        })
    }

    /// The same where it was done before it is told.
    ///
    /// # Errors
    /// As [`External::begin`].
    pub fn record(&self, kind: &str, id: Option<&str>, to: Option<&str>) -> Result<u64> {
        let number = self.begin(kind, id, to)?;
        self.end(number, true).map(|()| number)
    }

    /// Everything that was done, oldest first.
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

    /// What was done after that action and nobody decided about, oldest first.
    ///
    /// # Errors
    /// A file that is damaged, a disk that fails.
    // rule: agent/external-listed
    pub fn after(&self, number: u64) -> Result<Vec<Listed>> {
        self.since(Since::Action(number))
    }

    /// The same since then.
    ///
    /// # Errors
    /// As [`External::after`].
    // rule: agent/external-listed
    pub(crate) fn since(&self, since: Since) -> Result<Vec<Listed>> {
        let all = self.all()?.into_iter();
        let later = all.filter(|one| since.is_before(one) && one.standing.is_undecided());
        Ok(later.map(|one| self.listed(&one)).collect())
    }

    fn listed(&self, action: &Action) -> Listed {
        let can_be_compensated = self.compensations.contains_key(&action.note.kind);
        let state = match &action.standing {
            Standing::Begun => "may not have happened".to_owned(),
            Standing::Open if can_be_compensated => "still open".to_owned(),
            Standing::Open => "cannot retract".to_owned(),
            Standing::Compensating if self.is_compensating() => "is being compensated".to_owned(),
            Standing::Compensating => INTERRUPTED.to_owned(),
            Standing::Failed { why } => format!("its compensation failed: {why}"),
            Standing::Compensated => "compensated".to_owned(),
            Standing::Accepted => "stays".to_owned(),
        };
        Listed { note: action.note.clone(), state, can_be_compensated }
    }

    /// A rollback to that checkpoint of a project leaves behind what was done after that action, and
    /// nothing else that only another rollback of the same project left behind.
    ///
    /// # Errors
    /// As [`External::begin`].
    // rule: agent/external-listed
    pub fn leave_behind(&self, number: u64, checkpoint: &str, project: &str) -> Result<()> {
        self.leave_since(Since::Action(number), checkpoint, project)
    }

    /// The same of what was done since then.
    ///
    /// # Errors
    /// As [`External::begin`].
    // rule: agent/external-listed
    pub(crate) fn leave_since(&self, since: Since, checkpoint: &str, project: &str) -> Result<()> {
        self.change(|log, _| {
            for one in log.actions.iter_mut().filter(|one| one.standing.is_undecided()) {
                if since.is_before(one) {
                    one.left_by = Some(checkpoint.to_owned());
                    one.left_in = Some(project.to_owned());
                } else if one.left_in.as_deref() == Some(project) {
                    (one.left_by, one.left_in) = (None, None);
                }
            }
        })
    }

    /// Runs the compensations of what rollbacks left behind, newest first and each at most once;
    /// with `again` also those that failed, or of which nobody knows whether they ran to their end.
    ///
    /// # Errors
    /// As [`External::begin`]; what was done by then is noted. Busy where another process does it.
    // rule: agent/compensation
    pub fn compensate(&self, who: &str, again: bool) -> Result<Vec<Compensated>> {
        // Held until all are done, so that one that runs is told from one that was interrupted.
        let _lock = lock::take_briefly(self.disk.as_ref(), &self.running(), Sharing::Exclusive)?;
        let mut done = Vec::new();
        let mut newest_first: Vec<u64> = self.all()?.iter().map(|one| one.note.number).collect();
        newest_first.sort_unstable_by(|one, other| other.cmp(one));
        for number in newest_first {
            let Some((note, compensation)) = self.take_up(number, who, again)? else { continue };
            let ran = compensation.run(&note);
            let failure = ran.err();
            self.change(|log, at| {
                let (standing, what) = match &failure {
                    None => (Standing::Compensated, "compensated".to_owned()),
                    Some(why) => (Standing::Failed { why: why.clone() }, format!("failed: {why}")),
                };
                log.stand(number, standing);
                log.decide(at, who, number, what);
            })?;
            done.push(Compensated { note, failure });
        }
        Ok(done)
    }

    fn running(&self) -> PathBuf {
        self.path.with_file_name("compensating.lock")
    }

    /// Whether some process runs compensations at this moment.
    pub fn is_compensating(&self) -> bool {
        let (disk, path) = (self.disk.as_ref(), self.running());
        disk.stat(&path).is_ok() && matches!(disk.try_lock(&path, Sharing::Shared), Ok(None))
    }

    /// Notes that a compensation begins, if it is to be run: from here on it never runs again unasked.
    fn take_up(
        &self,
        number: u64,
        who: &str,
        again: bool,
    ) -> Result<Option<(ActionNote, Arc<dyn Compensation>)>> {
        self.change(|log, at| {
            let action = log.actions.iter().find(|one| one.note.number == number)?;
            let is_due = match action.standing {
                Standing::Open => true,
                Standing::Failed { .. } | Standing::Compensating | Standing::Begun => again,
                Standing::Compensated | Standing::Accepted => false,
            };
            let note = action.note.clone();
            let compensation = self.compensations.get(&note.kind)?.clone();
            if !is_due || action.left_by.is_none() {
                return None;
            }
            log.stand(number, Standing::Compensating);
            log.decide(at, who, number, "compensation begins".to_owned());
            Some((note, compensation))
        })
    }

    /// Notes that what rollbacks left behind stays as it is, and returns what that is.
    ///
    /// # Errors
    /// As [`External::begin`].
    // rule: agent/compensation
    pub fn accept(&self, who: &str) -> Result<Vec<ActionNote>> {
        self.change(|log, at| {
            let mut accepted = Vec::new();
            for one in &mut log.actions {
                if one.standing.is_undecided() && one.left_by.is_some() {
                    one.standing = Standing::Accepted;
                    accepted.push(one.note.clone());
                }
            }
            for note in &accepted {
                log.decide(at, who, note.number, "accepted".to_owned());
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
