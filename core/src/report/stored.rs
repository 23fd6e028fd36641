//! The reports about the store: its status, its maintenance and its verification.

use super::{Interrupted, is_default};
use crate::remark::Remark;
use crate::store::REFUSED_BY_GIT;
use serde::{Serialize, Serializer};
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A path that is serialized lossily as UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossyPath(PathBuf);

impl From<PathBuf> for LossyPath {
    fn from(path: PathBuf) -> Self {
        LossyPath(path)
    }
}

impl Deref for LossyPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Serialize for LossyPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string_lossy())
    }
}

/// One project of the store.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProjectStatus {
    /// Its hash.
    pub hash: String,
    /// Its directory, if the metadata is readable.
    pub workdir: Option<LossyPath>,
    /// How many checkpoints can be listed; `None` if its history is damaged.
    pub checkpoints: Option<usize>,
    /// How many more are kept from before restores.
    #[serde(skip_serializing_if = "is_default")]
    pub unlisted: usize,
    /// When it was last used, in seconds since the epoch.
    pub last_touch: Option<i64>,
    /// The state of its directory.
    pub state: ProjectState,
    /// The interrupted restore of it, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<Interrupted>,
}

/// The state of the directory of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectState {
    /// It exists.
    Live,
    /// It is gone, and its parent directory exists.
    Orphan,
    /// It cannot be examined, or its path is unknown.
    Unknown,
}

/// The state of the store.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// The checkpoint base.
    pub base: LossyPath,
    /// Bytes of everything below the base.
    pub total_bytes: u64,
    /// Bytes of the store.
    pub store_bytes: u64,
    /// v1 archives, each with its bytes.
    pub legacy: Vec<(String, u64)>,
    /// How many entries of the base are third-party; nothing touches them.
    pub others: usize,
    /// Every project, the most recently used first.
    pub projects: Vec<ProjectStatus>,
}

/// What a prune did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Projects, and leftover v1 repositories, that were examined.
    pub scanned: usize,
    /// Projects and repositories that were removed because their directory is gone.
    pub orphans: usize,
    /// Projects and repositories that were removed because they were not used for long enough.
    pub stale: usize,
    /// v1 archives that were removed.
    pub archives: usize,
    /// Checkpoints that were evicted to keep the store below its total size.
    pub dropped: usize,
    /// Bytes by which the store still exceeds its total size: the remaining checkpoints are pinned, or
    /// the newest of their projects.
    #[serde(skip_serializing_if = "is_default")]
    pub over_bytes: u64,
    /// Failures; the entries concerned were left as they are.
    pub errors: usize,
    /// Bytes that the base takes less than before.
    pub bytes_freed: u64,
}

/// A history that was moved to another directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// The directory that it was of.
    pub from: LossyPath,
    /// The directory that it is of now.
    pub to: LossyPath,
    /// How many checkpoints it has.
    pub checkpoints: usize,
}

/// The outcome of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Swept {
    /// Sweeps are off, or there is nothing to sweep.
    Off,
    /// The last sweep is not long enough ago.
    NotDue,
    /// It was done.
    Done(Pruned),
}

/// What a clear would remove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Holdings {
    /// Entries of the base that belong to this tool.
    pub entries: usize,
    /// Projects with checkpoints; `None` if the store cannot be read.
    pub projects: Option<usize>,
    /// v1 archives.
    pub archives: usize,
    /// v1 repositories that were never archived.
    pub repositories: usize,
    /// Bytes of all entries, as far as they can be read.
    pub bytes: u64,
    /// Bytes of the archives, as far as they can be read.
    pub archive_bytes: u64,
}

/// What a clear did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cleared {
    /// Bytes that the base takes less than before.
    pub bytes_freed: u64,
}

/// What a clear of the archives did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClearedLegacy {
    /// v1 archives that were removed.
    pub archives: usize,
    /// Bytes that the base takes less than before.
    pub bytes_freed: u64,
}

/// The result of verifying everything that is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Projects with checkpoints that were verified.
    pub projects: usize,
    /// Their checkpoints.
    pub checkpoints: usize,
    /// The checkpoints that cannot be restored completely.
    pub damaged: Vec<DamagedCheckpoint>,
    /// Damage to the envelopes of checkpoints, each with the directory of its project; it costs no
    /// file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub envelopes: Vec<Remark>,
    /// Directories of projects whose entire history is lost.
    pub unreadable: Vec<Remark>,
    /// Files of the store for which git, or this tool, refuses to read it; they cost no checkpoint.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_files: Vec<Remark>,
}

impl Verified {
    /// Whether nothing is damaged.
    pub fn is_intact(&self) -> bool {
        self.has_all_data() && self.refused_files.is_empty()
    }

    /// Whether no stored data is damaged.
    pub fn has_all_data(&self) -> bool {
        self.damaged.is_empty() && self.unreadable.is_empty() && self.envelopes.is_empty()
    }

    /// Whether something is damaged, and all that is damaged can still be restored, but not by git.
    pub fn is_restorable(&self) -> bool {
        let mut lost = self.damaged.iter().flat_map(|damaged| &damaged.lost);
        let is_rest_intact = self.unreadable.is_empty() && self.envelopes.is_empty();
        let has_damage = !self.damaged.is_empty();
        has_damage && is_rest_intact && lost.all(|lost| lost.why.ends_with(REFUSED_BY_GIT))
    }
}

/// A checkpoint that cannot be restored completely.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DamagedCheckpoint {
    /// The directory of its project.
    pub project: String,
    /// Its full id.
    pub id: String,
    /// The paths that are lost; the empty path stands for the entire checkpoint.
    pub lost: Vec<Remark>,
}
