//! The answers of a [`crate::Manager`], as plain data that can be serialized.

pub use crate::remark::Remark;

use crate::path::shown;
use crate::policy::Trigger;
use crate::remark::escaped;
use crate::state::ListedAction;
use crate::store::envelope::PartNote;
use crate::store::restoring::Record;
use crate::token::Token;
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// Added and removed lines and how many files they are in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Files that differ.
    pub files: usize,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
}

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
    Unchanged,
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

/// The checkpoints that limits evicted along with a new checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Evicted {
    /// Those of the project that the limit on their number evicted, by their full ids.
    #[serde(rename = "evicted", skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// How many, in all projects, the limit on the size of the store evicted.
    #[serde(rename = "evicted_for_size", skip_serializing_if = "is_zero")]
    pub for_size: usize,
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

/// A full restore that was interrupted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interrupted {
    /// The full id of the checkpoint that it restores.
    pub target: String,
    /// The full id of the checkpoint of the state before it; `None` if there was nothing to capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

impl From<Record> for Interrupted {
    fn from(Record { target, before }: Record) -> Self {
        Interrupted { target, before }
    }
}

/// For people, with the commands that continue and undo it.
impl fmt::Display for Interrupted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |id: &str| id.get(..7).unwrap_or(id).to_owned();
        let target = short(&self.target);
        write!(
            formatter,
            "a rollback to {target} was interrupted: `herma rollback {target}` goes on"
        )?;
        match &self.before {
            Some(before) => {
                write!(formatter, ", `herma rollback {} --exact` undoes it", short(before))
            }
            None => Ok(()),
        }
    }
}

/// A pre-restore checkpoint outside the list, which only its id names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unlisted {
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
    /// Its number, from 1 for the newest.
    pub number: usize,
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
    #[serde(skip_serializing_if = "is_false")]
    pub pinned: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
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
}

/// What changed since a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diff {
    /// The full id of the checkpoint.
    pub id: String,
    /// The changed paths, sorted.
    pub entries: Vec<DiffEntry>,
    /// The totals of the entries.
    pub stats: Stats,
    /// Paths that the checkpoint left out, whose differences are unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Remark>,
    /// The change as a patch that git can apply, except for binary files, which it only names;
    /// serialized lossily as UTF-8.
    #[serde(serialize_with = "lossy")]
    pub patch: Vec<u8>,
}

/// What a restore did: exactly this, and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The full id of the checkpoint that was restored.
    pub id: String,
    /// Paths that are now as recorded and were not before.
    #[serde(serialize_with = "all_escaped")]
    pub restored: Vec<Vec<u8>>,
    /// Paths that were removed; the pre-restore checkpoint holds them.
    #[serde(serialize_with = "all_escaped")]
    pub removed: Vec<Vec<u8>>,
    /// Paths created since that were left.
    #[serde(serialize_with = "all_escaped")]
    pub left: Vec<Vec<u8>>,
    /// Paths left as they are because content that no checkpoint holds would have been lost, or
    /// because the checkpoint left them out.
    pub kept: Vec<Remark>,
    /// Paths that the checkpoint left out and that are gone now, so that nothing restores them.
    pub missing: Vec<Remark>,
    /// Paths that could not be restored.
    pub failed: Vec<Remark>,
    /// Paths that no checkpoint holds, since they could not be captured; they were not touched.
    pub left_out: Vec<Remark>,
    /// The full id of the pre-restore checkpoint, if one was taken.
    pub safety: Option<String>,
    /// Why no pre-restore checkpoint could be taken, where the restore was forced past that.
    pub forced_past: Option<String>,
    /// Whether the last conversation turn is to be undone along with it.
    pub undoes_turn: bool,
    /// The paths of this report, sorted, that anyone but the agent changed since the checkpoint; `None` if
    /// no agent reports what it writes.
    #[serde(serialize_with = "some_escaped", skip_serializing_if = "Option::is_none")]
    pub others: Option<Vec<Vec<u8>>>,
    /// What was done to the agent state; `None` if the agent has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentRestored>,
    /// Whether it was interrupted: the paths that it did not reach are among the failed ones.
    #[serde(skip_serializing_if = "is_zero")]
    pub interrupted: bool,
    /// The checkpoints that were evicted for the pre-restore checkpoint.
    #[serde(flatten)]
    pub evicted: Evicted,
}

/// What a restore did to the agent state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AgentRestored {
    /// The parts that are now as the checkpoint carries them.
    pub parts: Vec<PartNote>,
    /// The names of the parts that differed before.
    pub changed: Vec<String>,
    /// The external actions of the agent since, which are left behind, oldest first.
    pub external_actions: Vec<ListedAction>,
    /// Why the checkpoint was taken, if it is recorded.
    pub trigger: Option<Trigger>,
    /// When it was taken, in seconds since the epoch; 0 if that is not recorded.
    pub taken_at: i64,
    /// The id of the turn of the conversation that the checkpoint belongs to.
    pub turn: Option<String>,
    /// Further notices for the user.
    pub notices: Vec<String>,
}

impl Restored {
    /// Sorts the paths of each list.
    pub(crate) fn sort(&mut self) {
        for list in [&mut self.restored, &mut self.removed, &mut self.left] {
            list.sort_unstable();
        }
    }

    /// Adds the report of another restore, of other paths.
    pub(crate) fn add(&mut self, report: Restored) {
        self.restored.extend(report.restored);
        self.removed.extend(report.removed);
        self.left.extend(report.left);
        self.kept.extend(report.kept);
        self.missing.extend(report.missing);
        self.failed.extend(report.failed);
    }

    /// Every path of the report, sorted.
    pub fn paths(&self) -> BTreeSet<&[u8]> {
        let named = [&self.restored, &self.removed, &self.left].into_iter().flatten();
        let remarks = self.kept.iter().chain(&self.missing).chain(&self.failed);
        let remarked = remarks.map(|remark| &remark.path);
        named.chain(remarked).map(Vec::as_slice).collect()
    }
}

/// What a restore would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Preview {
    /// The report of the restore, without the pre-restore checkpoint.
    #[serde(flatten)]
    pub would: Restored,
    /// Given to [`crate::Manager::restore_extent`], it allows only what this preview shows.
    #[serde(serialize_with = "displayed")]
    pub token: Token,
}

/// One project of the store.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProjectStatus {
    /// Its hash.
    pub hash: String,
    /// Its directory, if the metadata is readable.
    pub workdir: Option<String>,
    /// How many checkpoints can be listed; `None` if its history is damaged.
    pub checkpoints: Option<usize>,
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
    /// The checkpoint base; serialized lossily as UTF-8.
    #[serde(serialize_with = "lossy_path")]
    pub base: PathBuf,
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
    #[serde(skip_serializing_if = "is_zero")]
    pub over_bytes: u64,
    /// Failures; the entries concerned were left as they are.
    pub errors: usize,
    /// Bytes that the base takes less than before.
    pub bytes_freed: u64,
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
}

impl Verified {
    /// Whether nothing is damaged.
    pub fn is_intact(&self) -> bool {
        self.damaged.is_empty() && self.unreadable.is_empty() && self.envelopes.is_empty()
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

fn displayed<S: Serializer>(token: &Token, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(token)
}

fn all_escaped<S: Serializer>(paths: &[Vec<u8>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| shown(path)))
}

fn some_escaped<S: Serializer>(
    paths: &Option<Vec<Vec<u8>>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    all_escaped(paths.as_deref().unwrap_or_default(), serializer)
}

fn lossy<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&String::from_utf8_lossy(bytes))
}

fn lossy_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}
