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
    /// What a person should know of it beside that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    /// What had to go for it.
    #[serde(flatten)]
    pub evicted: Evicted,
}

/// The checkpoints that limits evicted along with a new checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Evicted {
    /// Those of the project that the limit on their number evicted, by their full ids.
    #[serde(rename = "evicted", skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// How many, of whichever project, the limit on the size of the store evicted.
    #[serde(rename = "evicted_for_size", skip_serializing_if = "is_zero")]
    pub for_size: usize,
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

/// A restore of everything that was interrupted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interrupted {
    /// The checkpoint that it restores, by its full id.
    pub target: String,
    /// The checkpoint of the state before it, by its full id; none where there was nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

impl From<Record> for Interrupted {
    fn from(Record { target, before }: Record) -> Self {
        Interrupted { target, before }
    }
}

/// For people, with the commands that go on with it and undo it.
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

/// A pre-restore checkpoint that the list has no room for, and that its id names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unlisted {
    /// Its full id.
    pub id: String,
    /// When it was taken, in seconds since the epoch.
    pub time: i64,
    /// Why it was taken, whole.
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
    /// Why it was taken, whole.
    pub reason: String,
    /// What changed against the one before it; none for the oldest, and where that is damaged.
    pub stats: Option<Stats>,
    /// Why it cannot be restored as a whole, as far as a look at its directories shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
    /// The label that a person gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether no limit drops it.
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
    /// Its lines; none for a binary file.
    pub lines: Option<(usize, usize)>,
}

/// What changed since a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diff {
    /// The full id of the checkpoint.
    pub id: String,
    /// The changed paths, sorted.
    pub entries: Vec<DiffEntry>,
    /// Their lines together.
    pub stats: Stats,
    /// Paths that the checkpoint left out: how they differ is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Remark>,
    /// The change as a patch that git can apply, but for binary files, which it only names;
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
    /// Paths that were removed; the pre-rollback checkpoint holds them.
    #[serde(serialize_with = "all_escaped")]
    pub removed: Vec<Vec<u8>>,
    /// Paths created since that were left.
    #[serde(serialize_with = "all_escaped")]
    pub left: Vec<Vec<u8>>,
    /// Paths left as they are because something that no checkpoint holds would have been lost, or
    /// because the checkpoint left them out.
    pub kept: Vec<Remark>,
    /// Paths that the checkpoint left out and that are gone now, so that nothing restores them.
    pub missing: Vec<Remark>,
    /// Paths that could not be restored.
    pub failed: Vec<Remark>,
    /// Paths that no checkpoint holds, since they could not be captured; they were not touched.
    pub left_out: Vec<Remark>,
    /// The full id of the pre-rollback checkpoint, if one was taken.
    pub safety: Option<String>,
    /// Why no pre-rollback checkpoint could be taken, where the restore was forced past that.
    pub forced_past: Option<String>,
    /// Whether the last conversation turn is to be undone along with it.
    pub undoes_turn: bool,
    /// Those of these paths, sorted, that another hand than the agent's changed since the checkpoint; none
    /// where no agent tells what it writes.
    #[serde(serialize_with = "some_escaped", skip_serializing_if = "Option::is_none")]
    pub others: Option<Vec<Vec<u8>>>,
    /// What became of the agent's state beside its files; none where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentRestored>,
    /// Whether it was interrupted: what it did not get to is among what failed.
    #[serde(skip_serializing_if = "is_zero")]
    pub interrupted: bool,
    /// What had to go for the pre-restore checkpoint.
    #[serde(flatten)]
    pub evicted: Evicted,
}

/// What a rollback did to an agent's state beside its files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AgentRestored {
    /// The parts that are as the checkpoint carries them now.
    pub parts: Vec<PartNote>,
    /// The names of those that were something else before.
    pub changed: Vec<String>,
    /// What the agent did outside since, which is left behind, oldest first.
    pub external_actions: Vec<ListedAction>,
    /// Why the checkpoint was taken, in one word, if it says so.
    pub trigger: Option<Trigger>,
    /// When, in seconds since the epoch; 0 where it does not say so.
    pub taken_at: i64,
    /// The turn of the conversation that the checkpoint belongs to, by its id.
    pub turn: Option<String>,
    /// What a person should know of it beside that.
    pub notices: Vec<String>,
}

impl Restored {
    /// Sorts what was done by path.
    pub(crate) fn sort(&mut self) {
        for list in [&mut self.restored, &mut self.removed, &mut self.left] {
            list.sort_unstable();
        }
    }

    /// Adds what another restore did to other paths.
    pub(crate) fn add(&mut self, more: Restored) {
        self.restored.extend(more.restored);
        self.removed.extend(more.removed);
        self.left.extend(more.left);
        self.kept.extend(more.kept);
        self.missing.extend(more.missing);
        self.failed.extend(more.failed);
    }

    /// Every path that it is about, sorted.
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
    /// What it would answer, but for the pre-rollback checkpoint.
    #[serde(flatten)]
    pub would: Restored,
    /// Given to [`crate::Manager::restore_extent`], it lets nothing else happen.
    #[serde(serialize_with = "displayed")]
    pub token: Token,
}

/// One project of the store.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProjectStatus {
    /// Its hash.
    pub hash: String,
    /// Its directory, as far as the metadata says.
    pub workdir: Option<String>,
    /// How many checkpoints can be listed; none where its history is damaged.
    pub checkpoints: Option<usize>,
    /// When it was last used, in seconds since the epoch.
    pub last_touch: Option<i64>,
    /// What is known of its directory.
    pub state: ProjectState,
    /// The restore of it that was interrupted, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<Interrupted>,
}

/// What is known of the directory of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectState {
    /// It is there.
    Live,
    /// It is gone, and the directory it was in is there.
    Orphan,
    /// It cannot be seen, or its path is not known.
    Unknown,
}

/// The store as a whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// The checkpoint base; serialized with what is no UTF-8 replaced.
    #[serde(serialize_with = "lossy_path")]
    pub base: PathBuf,
    /// Bytes of everything below the base.
    pub total_bytes: u64,
    /// Bytes of the store.
    pub store_bytes: u64,
    /// v1 archives, each with its bytes.
    pub legacy: Vec<(String, u64)>,
    /// How many entries of the base are not ours; nothing touches them.
    pub others: usize,
    /// Every project, the one used last first.
    pub projects: Vec<ProjectStatus>,
}

/// What a prune did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Projects, and leftover v1 repositories, that were looked at.
    pub scanned: usize,
    /// Those of them that were removed because their directory is gone.
    pub orphans: usize,
    /// Those of them that were removed because they were not used for long enough.
    pub stale: usize,
    /// v1 archives that were removed.
    pub archives: usize,
    /// Checkpoints that were dropped to keep the store below its total size.
    pub dropped: usize,
    /// Bytes by which the store exceeds its total size all the same: what is left is pinned, or the
    /// newest of its project.
    #[serde(skip_serializing_if = "is_zero")]
    pub over_bytes: u64,
    /// Failures; what they are about was left as it is.
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
    /// The last one is not long enough ago.
    NotDue,
    /// It was done.
    Done(Pruned),
}

/// What a clear would remove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Holdings {
    /// Entries of the base that belong to this tool.
    pub entries: usize,
    /// Projects with checkpoints; none where the store cannot be read.
    pub projects: Option<usize>,
    /// v1 archives.
    pub archives: usize,
    /// v1 repositories that were never archived.
    pub repositories: usize,
    /// Bytes of all of it, as far as they can be seen.
    pub bytes: u64,
    /// Bytes of the archives, as far as they can be seen.
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

/// What a look at everything that is stored found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Projects with checkpoints that were looked at.
    pub projects: usize,
    /// Their checkpoints.
    pub checkpoints: usize,
    /// Those of them that cannot be restored as a whole.
    pub damaged: Vec<DamagedCheckpoint>,
    /// What checkpoints carried beside their files and is damaged, each with the directory of its
    /// project; no file is lost by it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub envelopes: Vec<Remark>,
    /// Directories of projects whose history is lost altogether.
    pub unreadable: Vec<Remark>,
}

impl Verified {
    /// Whether nothing is damaged.
    pub fn is_whole(&self) -> bool {
        self.damaged.is_empty() && self.unreadable.is_empty() && self.envelopes.is_empty()
    }
}

/// A checkpoint that cannot be restored as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DamagedCheckpoint {
    /// The directory of its project.
    pub project: String,
    /// Its full id.
    pub id: String,
    /// The paths that are lost; the empty one stands for all of it.
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
