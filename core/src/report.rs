//! The answers of a [`crate::Manager`], as plain data that can be serialized. Answers about checkpoints
//! are in this file, those about excluded entries in [`excluded`], those of restores in [`restored`], and
//! those about the store in [`stored`].

mod excluded;
mod restored;
mod stored;

pub use crate::agent_state::AgentRestored;
pub use crate::remark::Remark;
pub use crate::store::figures::Stats;
pub use excluded::{Excluded, ExcludedBy};
pub use restored::{Preview, Restored, Undone};
pub use stored::{
    Cleared, ClearedLegacy, DamagedCheckpoint, Holdings, LossyPath, Moved, ProjectState,
    ProjectStatus, Pruned, Status, Swept, Verified,
};

use crate::remark::{all_escaped, escaped};
use crate::store::restoring::Record;
use crate::store::rollbacks::Direction;
use crate::text::{shell_word, short_id};
use serde::{Serialize, Serializer};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The outcome of a request for a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// A checkpoint was taken.
    Created {
        /// Its full id.
        id: String,
    },
    /// This turn already has its checkpoint.
    Deduped,
    /// Nothing changed since the last one, or there is nothing to capture.
    Unchanged {
        /// The full id of the last one; `None` if there is nothing to capture.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// Automatic checkpoints are off.
    Disabled,
}

/// The answer to a request for a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Taken {
    /// The outcome.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What was left out though no ignore rule names it, and why.
    pub skipped: Vec<Remark>,
    /// Further notices for the user.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    /// The checkpoints that were evicted for it.
    #[serde(flatten)]
    pub evicted: Evicted,
}

impl Taken {
    /// The answer where no checkpoint was attempted.
    pub(crate) fn without_checkpoint(outcome: Outcome) -> Self {
        let evicted = Evicted::default();
        Taken { outcome, skipped: Vec::new(), notices: Vec::new(), evicted }
    }
}

/// The checkpoints that limits evicted along with a new checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Evicted {
    /// Those of the project that the limit on their number evicted, by their full ids.
    #[serde(rename = "evicted", skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// What the limit on the size of the store did.
    #[serde(flatten)]
    pub for_size: SizeKept,
}

/// What the limit on the size of the store did, in all projects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SizeKept {
    /// How many checkpoints it evicted.
    #[serde(rename = "evicted_for_size", skip_serializing_if = "is_default")]
    pub evicted: usize,
    /// Whether the store is still larger: what is left may not be evicted.
    #[serde(skip_serializing_if = "is_default")]
    pub is_above_limit: bool,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A full restore that was interrupted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Interrupted {
    /// The full id of the checkpoint that it restores.
    pub target: String,
    /// The full id of the checkpoint of the state before it; `None` if there was nothing to capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The files and folders that it restores; empty for the complete project.
    #[serde(serialize_with = "all_escaped", skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<Vec<u8>>,
    /// Whether it removes files created since.
    #[serde(skip_serializing_if = "is_default")]
    pub exact: bool,
    /// Which step it is, if it undoes a restore or redoes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
}

impl From<Record> for Interrupted {
    fn from(Record { target, before, below, exact, direction }: Record) -> Self {
        let below = below.unwrap_or_default();
        Interrupted { target, before, below, exact, direction }
    }
}

impl Interrupted {
    /// For people, with the commands that continue and undo it in the project of that directory; without one, in that
    /// of the current directory.
    pub fn told(&self, directory: Option<&Path>) -> String {
        let dir =
            directory.map(|path| format!(" --dir {}", shell_word(path.as_os_str().as_bytes())));
        let dir = dir.unwrap_or_default();
        let id = short_id(&self.target);
        if let Some(word) = self.direction.map(Direction::word) {
            let told = format!("{word} was interrupted: `herma rollback {word}{dir}` continues it");
            let back = |before| {
                let before = short_id(before);
                format!("{told}, `herma rollback {before}{dir} --exact` undoes it")
            };
            return self.before.as_deref().map_or_else(|| told.clone(), back);
        }
        let exact = if self.exact { " --exact" } else { "" };
        let mut target = format!("{id}{dir}{exact}");
        for (index, path) in self.below.iter().enumerate() {
            let separator = if index == 0 { " --" } else { "" };
            target += &format!("{separator} {}", shell_word(path));
        }
        let told =
            format!("a rollback to {id} was interrupted: `herma rollback {target}` continues it");
        match &self.before {
            Some(before) => {
                format!("{told}, `herma undo{dir}` undoes it (to {})", short_id(before))
            }
            None => told,
        }
    }
}

/// How a list names a checkpoint; typed, it means that checkpoint. Serialized as it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListName {
    /// `3`: its number from 1 for the newest, without pre-restore checkpoints.
    Number(usize),
    /// `u3`: its number among the pre-restore checkpoints, from 1 for the newest.
    BeforeRollback(usize),
}

impl ListName {
    /// The name that is typed; a number too large to parse is beyond every list.
    pub fn parse(typed: &[u8]) -> Option<Self> {
        let number = |digits: &[u8]| {
            let is_decimal = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
            is_decimal.then(|| String::from_utf8_lossy(digits).parse().unwrap_or(usize::MAX))
        };
        match typed {
            [b'u', digits @ ..] => number(digits).map(ListName::BeforeRollback),
            digits => number(digits).map(ListName::Number),
        }
    }
}

impl fmt::Display for ListName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListName::Number(number) => write!(formatter, "{number}"),
            ListName::BeforeRollback(number) => write!(formatter, "u{number}"),
        }
    }
}

impl Serialize for ListName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A pre-restore checkpoint outside the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unlisted {
    /// How it is named.
    pub name: ListName,
    /// Its full id.
    pub id: String,
    /// When it was taken, in seconds since the epoch.
    pub time: i64,
    /// Why it was taken, in full.
    pub reason: String,
}

/// One checkpoint of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// How it is named.
    pub name: ListName,
    /// Its full id.
    pub id: String,
    /// When it was taken, in seconds since the epoch.
    pub time: i64,
    /// Why it was taken, in full.
    pub reason: String,
    /// The changes since the checkpoint before it; `None` for the oldest, and where damage hides them.
    pub stats: Option<Stats>,
    /// Why it cannot be restored completely, as far as its directories show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
    /// The label that the user gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether it is pinned, so that no limit evicts it.
    #[serde(skip_serializing_if = "is_default")]
    pub pinned: bool,
}

/// How a path differs from the checkpoint in the working tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Only the working tree has it.
    Added,
    /// Only the checkpoint has it.
    Deleted,
    /// Both have it and it differs.
    Modified,
}

/// One changed path of a diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffEntry {
    /// Relative to the project, as bytes; serialized with all but printable ASCII escaped.
    #[serde(serialize_with = "escaped")]
    pub path: Vec<u8>,
    /// How it differs.
    pub change: Change,
    /// The added and removed lines; `None` for a binary file.
    pub lines: Option<(usize, usize)>,
    /// Whether a deleted file is still on the disk, where no checkpoint takes it any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub uncaptured: bool,
}

/// A change of one file that a checkpoint holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// How the file differs from the checkpoint before.
    pub change: Change,
    /// The first checkpoint with the change.
    #[serde(flatten)]
    pub checkpoint: Listed,
}

/// What changed since a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diff {
    /// The full id of the checkpoint.
    pub id: String,
    /// The full id of the checkpoint that it is compared with; `None` for the project as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The changed paths, sorted.
    pub entries: Vec<DiffEntry>,
    /// The totals of the entries.
    pub stats: Stats,
    /// Paths that the checkpoint left out, whose differences are unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Remark>,
    /// Paths of the project that a checkpoint taken now would leave out, and the compared one did not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out_now: Vec<Remark>,
    /// The change as a patch that git can apply, except for binary files, which it only names;
    /// serialized lossily as UTF-8.
    #[serde(serialize_with = "lossy")]
    pub patch: Vec<u8>,
}

fn lossy<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&String::from_utf8_lossy(bytes))
}
