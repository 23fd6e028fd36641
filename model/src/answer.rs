//! The answers of a subject, and the closed list of codes for its refusals.

use crate::agent::Action;
use crate::bytes::ByteString;
use crate::configuration::Configuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// Why a request was refused: stable, shared by model, protocol and command.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The directory is the file system's root.
    ScopeRoot,
    /// The directory is the home directory.
    ScopeHome,
    /// The directory lies inside the checkpoint base.
    ScopeBase,
    /// The directory holds more files than the limit.
    TooManyFiles,
    /// There is no such directory.
    MissingDirectory,
    /// The path is there and is no directory.
    NotADirectory,
    /// The target is neither a number nor an id.
    BadTarget,
    /// The target is well formed and no checkpoint of this project.
    UnknownCheckpoint,
    /// The short id stands for more than one checkpoint.
    AmbiguousCheckpoint,
    /// A checkpoint cannot have such a label.
    BadLabel,
    /// A part of the agent's state cannot be captured or restored.
    BadState,
    /// A restore failed, and everything is as it was before it.
    RolledBackNothing,
    /// The path is empty, absolute or leaves the project.
    BadPath,
    /// The checkpoint has no such file.
    NotInCheckpoint,
    /// Restoring the file would destroy something that no checkpoint holds.
    WouldOverwrite,
    /// The pre-rollback checkpoint could not be taken.
    NoSafetyCheckpoint,
    /// The stored checkpoint cannot be read, or names paths that must not be written.
    CorruptCheckpoint,
    /// The store is not a store.
    StoreUnusable,
    /// Another process holds the store.
    Busy,
    /// The disk is full.
    NoSpace,
    /// The system does not permit it.
    Permission,
    /// Any other input or output error.
    Io,
    /// The subject failed in a way it has no word for; never a right answer.
    Internal,
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The serialized form is the stable name; there is no second list of names.
        self.serialize(formatter)
    }
}

/// What a request for a checkpoint came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum CheckpointOutcome {
    /// A checkpoint was taken.
    Created {
        /// Its full id.
        id: String,
    },
    /// This turn already has its checkpoint.
    Deduped,
    /// Nothing changed since the last one, or there is nothing to capture.
    Unchanged,
    /// Automatic checkpoints are off.
    Disabled,
    /// What happened asks for no checkpoint.
    NotDue,
}

/// What a request for a checkpoint came to, and what was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TakeAnswer")]
pub struct Taken {
    /// What it came to.
    #[serde(flatten)]
    pub outcome: CheckpointOutcome,
    /// Paths that were left out, and why.
    #[serde(default)]
    pub skipped: Vec<Remark>,
}

/// What was done for one project before a tool ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Protected {
    /// The project, as an absolute path.
    pub project: ByteString,
    /// What its automatic checkpoint came to; none where that failed.
    pub taken: Option<Taken>,
}

/// Added and removed lines and how many files they are in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    /// Files that differ.
    pub files: usize,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
}

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Listed {
    /// Its number, from 1.
    pub number: usize,
    /// Its full id.
    pub id: String,
    /// When it was taken, in seconds since the epoch.
    pub time: i64,
    /// Why it was taken.
    pub reason: String,
    /// What changed against the one before it.
    pub stats: Option<Stats>,
}

/// How a path differs from the checkpoint in the working tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The working tree has it, the checkpoint does not.
    Added,
    /// The checkpoint has it, the working tree does not.
    Deleted,
    /// Both have it and it differs.
    Modified,
}

/// One changed path of a diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffEntry {
    /// Relative to the project.
    pub path: ByteString,
    /// How it differs.
    pub change: Change,
}

/// A path and what was said about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remark {
    /// Relative to the project.
    pub path: ByteString,
    /// Free text.
    pub why: String,
}

/// What a restore did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "RestoreAnswer")]
pub struct Restored {
    /// Paths that now stand as recorded and did not before.
    pub restored: Vec<ByteString>,
    /// Paths that were taken away.
    pub removed: Vec<ByteString>,
    /// Paths created since that were left.
    pub left: Vec<ByteString>,
    /// Paths left as they are because something uncaptured would have been lost.
    pub kept: Vec<Remark>,
    /// Paths that could not be brought back.
    pub failed: Vec<Remark>,
    /// The pre-rollback checkpoint, if one was taken.
    pub safety: Option<String>,
    /// Whether the restore went on although no pre-rollback checkpoint could be taken.
    pub forced_past: bool,
    /// Whether the last conversation turn is to be undone.
    pub undoes_turn: bool,
    /// Those of these paths that another hand than the agent's changed since the checkpoint; none
    /// where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<Vec<ByteString>>,
    /// The external actions since the checkpoint that are neither compensated nor accepted; others
    /// since then may be named as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<Vec<Action>>,
}

/// Whether a sweep was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum SweepOutcome {
    /// Sweeps are off, or there is nothing to sweep.
    Off,
    /// The last one was not long ago.
    NotDue,
    /// It was made.
    Done,
}

/// What a sweep counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Counts {
    /// Projects and v1 repositories looked at.
    pub scanned: usize,
    /// Those removed because their directory is gone.
    pub orphans: usize,
    /// Those removed because they were not used for long.
    pub stale: usize,
    /// What could not be done.
    pub errors: usize,
    /// Bytes that are free now.
    pub bytes_freed: u64,
}

/// What is known of the directory of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProjectState {
    /// It is there.
    Live,
    /// It is gone.
    Orphan,
    /// It cannot be told.
    Unknown,
}

/// One project of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectStatus {
    /// Its directory, as far as that is known.
    pub workdir: Option<ByteString>,
    /// How many checkpoints it has; none where its history is damaged.
    pub checkpoints: Option<usize>,
    /// What is known of its directory.
    pub state: ProjectState,
}

/// What a refusal left on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Changed {
    /// Nothing changed.
    None,
    /// Something did.
    Partial,
    /// It cannot tell.
    #[default]
    Unknown,
}

/// Which compensations ran, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "CompensateAnswer")]
pub struct Compensated {
    /// The actions that are compensated now.
    pub compensated: Vec<Action>,
    /// Those whose compensation ran and failed.
    pub failed: Vec<Action>,
}

/// The answer of a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// An acknowledgement.
    Done,
    /// The project of a file, as an absolute path; `None` where the file has no project.
    Project(Option<ByteString>),
    /// Whether a command changes files.
    Classified {
        /// Whether it does.
        changes_files: bool,
    },
    /// What was done before a tool ran, for each project that was protected.
    Protected(Vec<Protected>),
    /// The outcome of a request for a checkpoint.
    Taken {
        /// The outcome.
        #[serde(flatten)]
        outcome: CheckpointOutcome,
        /// Paths that were left out, and why.
        skipped: Vec<Remark>,
    },
    /// The checkpoints, in the order given.
    Listed(Vec<Listed>),
    /// The checkpoints, and how they are printed for a person.
    Printed {
        /// The checkpoints, in the order given.
        checkpoints: Vec<Listed>,
        /// The printed text.
        printed: String,
    },
    /// The differences.
    Diffed {
        /// The changed paths.
        entries: Vec<DiffEntry>,
        /// Their lines.
        stats: Stats,
    },
    /// What a restore did.
    Restored(Restored),
    /// The outcome of a sweep or a prune.
    Swept {
        /// Whether it was made.
        #[serde(flatten)]
        outcome: SweepOutcome,
        /// What it counted.
        counts: Counts,
    },
    /// What the store holds.
    Status {
        /// Its projects, in any order.
        projects: Vec<ProjectStatus>,
        /// The v1 archives, by name.
        archives: Vec<String>,
    },
    /// The configuration that the subject read.
    Configured(Configuration),
    /// The value of a part of the agent's state.
    State(Value),
    /// Which compensations ran.
    Compensated(Compensated),
    /// The request was refused.
    Refused {
        /// The reason, for programs.
        code: Code,
        /// The reason, for people.
        message: String,
        /// What changed on the disk, as the subject reports it.
        #[serde(default)]
        changed: Changed,
    },
    /// The subject died or panicked.
    Crashed(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_of_a_code_is_its_serialized_name() {
        assert_eq!(Code::ScopeRoot.to_string(), "scope_root");
        assert_eq!(Code::NotADirectory.to_string(), "not_a_directory");
    }
}
