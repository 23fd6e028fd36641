//! Histories: the operations of one run, as people write and read them.
//!
//! An operation is symbolic where a request is concrete: it names directories relative to the
//! sandbox and checkpoints by their place in a project's history, so that a history means the same
//! on every machine. Every operation is legal in every state, so every subsequence of a history is
//! a history.

pub(crate) mod concrete;
pub mod file;

use herma_model::store_edit::Damage;
use herma_model::{ByteString, Edit, Settings};
use serde::{Deserialize, Serialize};

/// One run, from a fresh sandbox on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// What the subject is configured with.
    #[serde(default, skip_serializing_if = "is_default")]
    pub settings: Settings,
    /// A real directory whose copy is the first project, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<std::path::PathBuf>,
    /// Whether the home holds no git configuration, where it otherwise holds a hostile one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain_home: bool,
    /// What happens, in order.
    pub operations: Vec<Operation>,
}

pub(crate) fn is_default(settings: &Settings) -> bool {
    *settings == Settings::default()
}

/// How a checkpoint is named to the subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// By its number in the list.
    Number(u32),
    /// By the first digits of the id of a project's checkpoint.
    Id {
        /// The project the checkpoint was taken of, which need not be the one it is used for.
        of: ByteString,
        /// How many checkpoints were taken of it since.
        back: usize,
        /// How many digits; more than an id has are all of them.
        digits: usize,
    },
    /// By the id of the checkpoint's outermost tree, which is no checkpoint.
    TreeOf {
        /// The project.
        of: ByteString,
        /// How many checkpoints were taken of it since.
        back: usize,
    },
    /// By the id of the first blob in the checkpoint, which is no checkpoint.
    BlobOf {
        /// The project.
        of: ByteString,
        /// How many checkpoints were taken of it since.
        back: usize,
    },
    /// By these bytes.
    Text(ByteString),
}

/// One thing that happens.
///
/// Directories and files are relative to the sandbox. One that opens with a tilde or with `./` is
/// given to the subject as it stands; `/` is the file system's root. The target of a link is as
/// written, but for one that begins with `$SANDBOX/`: that is an absolute path into the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// A conversation turn begins.
    NewTurn,
    /// The process ends and another one opens the same store.
    Reopen,
    /// Time passes; it may also be set back.
    Advance {
        /// By how many seconds.
        seconds: i64,
    },
    /// Which project does a file belong to?
    ProjectOf {
        /// The file.
        file: ByteString,
    },
    /// An automatic checkpoint.
    Ensure {
        /// The project.
        dir: ByteString,
        /// Why.
        reason: String,
    },
    /// A checkpoint that a person asks for.
    Checkpoint {
        /// The project.
        dir: ByteString,
        /// Why.
        reason: String,
    },
    /// The list.
    List {
        /// The project.
        dir: ByteString,
    },
    /// A preview.
    Diff {
        /// The project.
        dir: ByteString,
        /// The checkpoint.
        target: Target,
    },
    /// A full restore.
    Restore {
        /// The project.
        dir: ByteString,
        /// The checkpoint.
        target: Target,
        /// Also remove files created since.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        exact: bool,
        /// Go on without a pre-rollback checkpoint.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
    /// A full restore of every checkpoint the project has, one after the other, newest first, each
    /// removing what was created since.
    RestoreEach {
        /// The project.
        dir: ByteString,
    },
    /// A restore of one file.
    RestoreFile {
        /// The project.
        dir: ByteString,
        /// The checkpoint.
        target: Target,
        /// The file, relative to the project.
        path: ByteString,
    },
    /// A process starts, and keeps the store as it is configured to.
    Sweep,
    /// A person has the store kept.
    Prune {
        /// What was not used for so many days goes; 0 is no bound.
        retention_days: u64,
        /// The oldest checkpoints go while the rest takes more bytes; 0 is no bound.
        max_total_bytes: u64,
        /// Whether projects go whose directory is gone.
        delete_orphans: bool,
    },
    /// What does the store hold?
    Status,
    /// The v1 archives are removed.
    ClearLegacy,
    /// Everything is removed.
    Clear,
    /// Something happens to the store behind everybody's back.
    Store(StoreEvent),
    /// Somebody edits a file.
    #[serde(untagged)]
    Edit(Edit),
}

/// What happens to the base of a store that nobody was asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreEvent {
    /// V1 kept a repository of this directory.
    Repository {
        /// The directory.
        dir: ByteString,
        /// How many days ago it changed last.
        days: u16,
    },
    /// Such repositories were archived.
    Archive {
        /// How many days ago.
        days: u16,
    },
    /// Something stands there that is none of ours.
    Stray,
    /// What is noted of a project is damaged.
    Metadata {
        /// The project.
        dir: ByteString,
        /// How.
        damage: Damage,
    },
    /// The index of a project is damaged.
    Index {
        /// The project.
        dir: ByteString,
        /// How.
        damage: Damage,
    },
    /// The mark of the last sweep says something else.
    Marker {
        /// How many hours ago the sweep was; none for what is no time.
        hours: Option<i32>,
    },
}
