//! What an agent did outside as it is noted: one file of JSON that a person can read, with a line for
//! every decision. What becomes of what is in it is decided one folder up.

use crate::disk::atomic_write::{replace_file, write_new_named};
use crate::disk::{Disk, Sharing, folder};
use crate::error::{Error, Result};
use crate::store::envelope::ActionNote;
use crate::store::lock;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// More bytes than the file takes.
const BYTES_MAX: u64 = 64 * 1024 * 1024;
const VERSION: u32 = 1;

/// How an action stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum Standing {
    /// It began, and nobody said that it ended.
    Begun,
    /// It was done.
    Open,
    /// Its compensation began, and nobody said that it ended: it runs, or it may have had its effect.
    Compensating,
    /// It was compensated.
    Compensated,
    /// Its compensation failed.
    Failed {
        /// Why, for people.
        why: String,
    },
    /// Somebody decided that it stays.
    Accepted,
}

impl Standing {
    /// Whether somebody has to decide what becomes of it.
    pub fn is_undecided(&self) -> bool {
        !matches!(self, Standing::Compensated | Standing::Accepted)
    }
}

/// Something that the agent did outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// What was done.
    #[serde(flatten)]
    pub note: ActionNote,
    /// When, in seconds since the epoch.
    pub at: i64,
    /// How it stands.
    #[serde(flatten)]
    pub standing: Standing,
    /// The checkpoint that a rollback went back to, which left this behind; its full id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_by: Option<String>,
    /// The directory of that checkpoint's project, as it is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_in: Option<String>,
}

/// A decision about an action, or the effect of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// When, in seconds since the epoch.
    pub at: i64,
    /// Who decided.
    pub who: String,
    /// The number of the action.
    pub action: u64,
    /// What was decided, or came of it.
    pub what: String,
}

/// All that is in the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Log {
    version: u32,
    /// The largest number that was given, also to what did not happen in the end.
    #[serde(default)]
    last: u64,
    #[serde(default)]
    pub(super) actions: Vec<Action>,
    #[serde(default)]
    pub(super) audit: Vec<Decided>,
}

impl Log {
    /// The largest number that was given; 0 where none was.
    pub(super) fn last(&self) -> u64 {
        let numbers = self.actions.iter().map(|one| one.note.number);
        numbers.max().unwrap_or(0).max(self.last)
    }

    /// Adds something that begins, and returns its number: larger than any that was given, here or as
    /// far as `known` says.
    pub(super) fn begin(
        &mut self,
        (kind, id, to): (&str, Option<&str>, Option<&str>),
        at: i64,
        known: u64,
    ) -> u64 {
        let number = self.last().max(known).saturating_add(1);
        let (id, to) = (id.map(str::to_owned), to.map(str::to_owned));
        let note = ActionNote { number, kind: kind.to_owned(), id, to };
        let (standing, left_by, left_in) = (Standing::Begun, None, None);
        self.actions.push(Action { note, at, standing, left_by, left_in });
        self.last = number;
        number
    }

    pub(super) fn stand(&mut self, number: u64, standing: Standing) {
        if let Some(one) = self.actions.iter_mut().find(|one| one.note.number == number) {
            one.standing = standing;
        }
    }

    pub(super) fn decide(&mut self, at: i64, who: &str, action: u64, what: String) {
        self.audit.push(Decided { at, who: who.to_owned(), action, what });
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
    let log: Log = serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
    match log.version {
        VERSION => Ok(log),
        other => Err(unreadable(format!("it is of version {other}"))),
    }
}

/// Changes the file in one step, while no other process does.
pub(super) fn change<T>(
    disk: &dyn Disk,
    path: &Path,
    work: impl FnOnce(&mut Log) -> T,
) -> Result<T> {
    let folder = path.parent().unwrap_or(path);
    let _lock = lock::take(disk, &folder.join("external.lock"), Sharing::Exclusive)?;
    let mut log = read(disk, path)?;
    let done = work(&mut log);
    let text = serde_json::to_vec_pretty(&log)
        .map_err(|error| Error::unusable(path, error.to_string()))?;
    let fresh = write_new_named(disk, folder, ".herma-external", &text, 0o600)?;
    replace_file(disk, &fresh, path)?;
    Ok(done)
}

/// Whether what was done outside can be read, where it is noted below `folder`.
///
/// # Errors
/// Why not, for people.
pub(crate) fn readable(disk: &dyn Disk, folder: &Path) -> std::result::Result<(), String> {
    let path = path(folder);
    read(disk, &path).map(drop).map_err(|error| format!("{}: {}", path.display(), error.cause()))
}

/// What was done, as a person reads it: `github.pr.opened #1234`.
impl std::fmt::Display for ActionNote {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.kind)?;
        if let Some(id) = &self.id {
            write!(formatter, " #{id}")?;
        }
        self.to.as_ref().map_or(Ok(()), |to| write!(formatter, " to {to}"))
    }
}
