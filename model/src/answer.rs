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
    /// The path exists and is not a directory.
    NotADirectory,
    /// The target is neither a number nor an id.
    BadTarget,
    /// The target is well formed, and not a checkpoint of this project.
    UnknownCheckpoint,
    /// The short id matches more than one checkpoint.
    AmbiguousCheckpoint,
    /// A checkpoint cannot have such a label.
    BadLabel,
    /// A part of the agent's state cannot be captured or restored.
    BadState,
    /// A restore failed, and everything is as it was before it.
    RolledBackNothing,
    /// There is no restore to undo or redo, or no checkpoint holds the state before it.
    NothingToUndo,
    /// The path is empty, absolute or leaves the project.
    BadPath,
    /// The checkpoint has no such file.
    NotInCheckpoint,
    /// Restoring the file would destroy something that no checkpoint holds.
    WouldOverwrite,
    /// The pre-restore checkpoint could not be taken.
    NoSafetyCheckpoint,
    /// The stored checkpoint cannot be read, or names paths that must not be written.
    CorruptCheckpoint,
    /// The store is not a valid store.
    StoreUnusable,
    /// Another process has locked the store.
    Busy,
    /// The disk is full.
    NoSpace,
    /// The system does not permit it.
    Permission,
    /// Any other input or output error.
    Io,
    /// The subject failed in a way that no other code describes; never a correct answer.
    Internal,
}

impl Code {
    /// Whether the code is a statement about the request itself, such as that its project or its checkpoint
    /// does not exist. Neither damage nor a failed call makes such a statement true.
    pub fn is_about_request(self) -> bool {
        use Code::{
            AmbiguousCheckpoint, BadLabel, BadPath, BadTarget, MissingDirectory, NotADirectory,
            NothingToUndo, ScopeBase, ScopeHome, ScopeRoot, TooManyFiles, WouldOverwrite,
        };
        matches!(
            self,
            ScopeRoot
                | ScopeHome
                | ScopeBase
                | TooManyFiles
                | MissingDirectory
                | NotADirectory
                | BadTarget
                | AmbiguousCheckpoint
                | BadLabel
                | NothingToUndo
                | BadPath
                | WouldOverwrite
        )
    }
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The serialized form is the stable name; there is no second list of names.
        self.serialize(formatter)
    }
}

/// The outcome of a request for a checkpoint.
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
    /// Nothing changed since the last checkpoint, or there is nothing to capture.
    Unchanged,
    /// Automatic checkpoints are off.
    Disabled,
    /// The event requires no checkpoint.
    NotDue,
}

/// The outcome of a request for a checkpoint, and what was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TakeAnswer")]
pub struct Taken {
    /// The outcome.
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
    /// The outcome of its automatic checkpoint; null if it failed.
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

/// One checkpoint of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Listed {
    /// Its number, from 1; 0 for a pre-restore checkpoint where those have no number.
    pub number: usize,
    /// Its full id.
    pub id: String,
    /// When it was taken, in seconds since the epoch.
    pub time: i64,
    /// Why it was taken.
    pub reason: String,
    /// The changes since the checkpoint before it.
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

/// A path and a remark about it.
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
    /// Paths that are as recorded now, and were not before.
    pub restored: Vec<ByteString>,
    /// Paths that were removed.
    pub removed: Vec<ByteString>,
    /// Paths created since the checkpoint that were left in place.
    pub left: Vec<ByteString>,
    /// Paths left as they are, because uncaptured data would have been lost.
    pub kept: Vec<Remark>,
    /// Paths that could not be restored.
    pub failed: Vec<Remark>,
    /// The pre-restore checkpoint, if one was taken.
    pub safety: Option<String>,
    /// Whether the restore continued although no pre-restore checkpoint could be taken.
    pub forced_past: bool,
    /// Whether the last conversation turn is to be undone.
    pub undoes_turn: bool,
    /// Those of these paths that external edits changed since the checkpoint; absent if that is
    /// unknown.
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
    /// The last sweep was not long enough ago.
    NotDue,
    /// The sweep was made.
    Done,
}

/// What a sweep counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Counts {
    /// Projects and v1 repositories that were examined.
    pub scanned: usize,
    /// Projects and v1 repositories removed because their directory is gone.
    pub orphans: usize,
    /// Items removed because they were not used for long.
    pub stale: usize,
    /// Steps that failed.
    pub errors: usize,
    /// Bytes that were freed.
    pub bytes_freed: u64,
}

/// What is known of the directory of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProjectState {
    /// The directory exists.
    Live,
    /// The directory is gone.
    Orphan,
    /// It is unknown whether the directory exists.
    Unknown,
}

/// One project of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectStatus {
    /// Its directory, as far as that is known.
    pub workdir: Option<ByteString>,
    /// How many checkpoints it has; null if its history is damaged.
    pub checkpoints: Option<usize>,
    /// What is known of its directory.
    pub state: ProjectState,
}

/// What a refusal changed on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Changed {
    /// Nothing changed.
    None,
    /// Something changed.
    Partial,
    /// The subject does not know.
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
    /// The actions whose compensation ran and failed.
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
