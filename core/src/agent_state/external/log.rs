//! The log of external actions: one JSON file that a person can read, with an entry for every decision.
//! The parent module decides about the actions.

use crate::agent_state::envelope::ActionNote;
use crate::disk::atomic_write::{replace_file, write_new_named};
use crate::disk::{Disk, Sharing, folder};
use crate::error::{Error, Result};
use crate::store::lock;
use crate::text::beginning;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The largest log that is read, in bytes.
const BYTES_MAX: u64 = 64 * 1024 * 1024;
const VERSION: u32 = 1;

/// The state of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum ActionStatus {
    /// It began, and no end is recorded.
    Begun,
    /// It was done.
    Open,
    /// Its compensation began, and no end is recorded: it runs, or it may have had its effect.
    Compensating,
    /// It was compensated.
    Compensated,
    /// Its compensation failed.
    Failed {
        /// Why, for people.
        why: String,
    },
    /// The user accepted it.
    Accepted,
}

impl ActionStatus {
    /// Whether a decision about it is pending.
    pub fn is_undecided(&self) -> bool {
        !matches!(self, ActionStatus::Compensated | ActionStatus::Accepted)
    }
}

/// An external action of the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// What was done.
    #[serde(flatten)]
    pub note: ActionNote,
    /// When, in seconds since the epoch.
    pub at: i64,
    /// Its state.
    #[serde(flatten)]
    pub standing: ActionStatus,
    /// The full id of the checkpoint whose restore left the action behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_by: Option<String>,
    /// The directory of that checkpoint's project, as it is printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_in: Option<String>,
}

/// A decision about an action, or the effect of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// When, in seconds since the epoch.
    pub at: i64,
    /// The user who decided.
    pub who: String,
    /// The number of the action.
    pub action: u64,
    /// The decision, or its result.
    pub what: String,
}

/// The content of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Log {
    version: u32,
    /// The largest number that was given, also to an action that did not happen in the end.
    #[serde(default)]
    last: u64,
    #[serde(default)]
    pub(super) actions: Vec<Action>,
    #[serde(default)]
    pub(super) audit: Vec<Decided>,
}

/// An action that is about to begin.
pub(super) struct NewAction<'a> {
    pub kind: &'a str,
    pub id: Option<&'a str>,
    pub to: Option<&'a str>,
}

impl Log {
    /// The largest number that was given; 0 if none was.
    pub(super) fn last(&self) -> u64 {
        let numbers = self.actions.iter().map(|action| action.note.number);
        numbers.max().unwrap_or(0).max(self.last)
    }

    /// Adds an action that begins, and returns its number: larger than any in the log, and than
    /// `last_known`.
    pub(super) fn begin(&mut self, action: &NewAction<'_>, at: i64, last_known: u64) -> u64 {
        let number = self.last().max(last_known).saturating_add(1);
        let id = action.id.map(str::to_owned);
        let to = action.to.map(str::to_owned);
        let note = ActionNote { number, kind: action.kind.to_owned(), id, to };
        let standing = ActionStatus::Begun;
        self.actions.push(Action { note, at, standing, left_by: None, left_in: None });
        self.last = number;
        number
    }

    pub(super) fn set_standing(&mut self, number: u64, standing: ActionStatus) {
        if let Some(action) = self.actions.iter_mut().find(|action| action.note.number == number) {
            action.standing = standing;
        }
    }

    pub(super) fn decide(&mut self, at: i64, user: &str, action: u64, decision: String) {
        self.audit.push(Decided { at, who: user.to_owned(), action, what: decision });
    }
}

pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join("external.json")
}

pub(super) fn read(disk: &dyn Disk, path: &Path) -> Result<Log> {
    let Some(bytes) = folder::read_file(disk, path, BYTES_MAX)? else {
        return Ok(Log { version: VERSION, last: 0, actions: Vec::new(), audit: Vec::new() });
    };
    let unreadable = |why: String| Error::BadState { part: "log of external actions".into(), why };
    let log: Log = serde_json::from_slice(&bytes).map_err(|error| unreadable(beginning(&error)))?;
    match log.version {
        VERSION => Ok(log),
        version => Err(unreadable(format!("it has the unknown version {version}"))),
    }
}

/// Changes the file in one step, while no other process changes it.
pub(super) fn change<T>(
    disk: &dyn Disk,
    path: &Path,
    work: impl FnOnce(&mut Log) -> T,
) -> Result<T> {
    let folder = path.parent().unwrap_or(path);
    let _lock = lock::take(disk, &folder.join("external.lock"), Sharing::Exclusive)?;
    let mut log = read(disk, path)?;
    let result = work(&mut log);
    let text = serde_json::to_vec_pretty(&log)
        .map_err(|error| Error::unusable(path, error.to_string()))?;
    let draft = write_new_named(disk, folder, ".herma-external", &text, 0o600)?;
    replace_file(disk, &draft, path)?;
    Ok(result)
}

/// Checks that the log below `folder` can be read.
///
/// # Errors
/// Why not, for people.
pub(in crate::agent_state) fn readable(
    disk: &dyn Disk,
    folder: &Path,
) -> std::result::Result<(), String> {
    let path = path(folder);
    read(disk, &path).map(drop).map_err(|error| format!("{}: {}", path.display(), error.cause()))
}

/// For people: `github.pr.opened #1234`.
impl std::fmt::Display for ActionNote {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.kind)?;
        if let Some(id) = &self.id {
            write!(formatter, " #{id}")?;
        }
        self.to.as_ref().map_or(Ok(()), |to| write!(formatter, " to {to}"))
    }
}
