//! What the model allows a subject to do, each part with the rule it follows from. Data only.

use crate::bytes::ByteString;
use crate::capture::Captured;
use crate::configuration::Configuration;
use crate::lines::LineBounds;
use crate::refusal::Refusal;
use crate::rules::{self, RuleRef};
use crate::unit::Unit;
use crate::world::World;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is right for one request.
#[derive(Debug)]
pub enum Allowed {
    /// There is nothing to answer.
    Done,
    /// A file's project.
    Project {
        /// Absolute; none where a file has no project.
        path: Option<ByteString>,
        /// The rule that decides it.
        rule: RuleRef,
    },
    /// Whether a command changes files.
    Classified(bool),
    /// What is to be done before a tool runs.
    Protected(AllowedProtection),
    /// Nothing, where nothing can be stored, whatever is said of it.
    WithoutBackend,
    /// A request for a checkpoint.
    Checkpoint(Box<AllowedCheckpoint>),
    /// A list.
    List(AllowedList),
    /// How that list is printed which the same answer has.
    Printed,
    /// A preview.
    Diff(AllowedDiff),
    /// A restore.
    Restore(Box<AllowedRestore>),
    /// A sweep or a prune.
    Sweep(Box<AllowedSweep>),
    /// What the store holds.
    Status(AllowedStatus),
    /// What the configuration file says.
    Configured(Configuration),
    /// What a part of the agent's state is; none where that is not known.
    State(Option<Value>),
    /// Compensations run.
    Compensated,
    /// Something is removed that was asked to be.
    Cleared(Cleared),
    /// The request must be refused, for any of these reasons.
    Refused(Vec<Refusal>),
    /// It depends on something that nobody has seen.
    Unknown,
}

impl Allowed {
    /// The same, where these are as good an answer to a request for a checkpoint.
    pub(crate) fn or_as_well(mut self, also: &'static [CheckpointKind]) -> Allowed {
        if let Allowed::Checkpoint(due) = &mut self {
            due.also = also;
        }
        self
    }
}

/// What is right before a tool runs.
#[derive(Debug)]
pub struct AllowedProtection {
    /// The projects in which it may change files: for each file those that the rules leave to
    /// choose from, as absolute paths, and whether one of them must be protected.
    pub projects: Vec<(Vec<ByteString>, bool)>,
    /// Whether automatic checkpoints are off.
    pub disabled: bool,
}

/// What a request for a checkpoint should come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointKind {
    /// A new checkpoint.
    Created,
    /// None, since this turn has one.
    Deduped,
    /// None, since nothing changed.
    Unchanged,
    /// None, since automatic checkpoints are off.
    Disabled,
    /// None, since what happened asks for none.
    NotDue,
}

impl CheckpointKind {
    /// The word of the protocol for it.
    pub fn word(self) -> &'static str {
        match self {
            CheckpointKind::Created => "created",
            CheckpointKind::Deduped => "deduped",
            CheckpointKind::Unchanged => "unchanged",
            CheckpointKind::Disabled => "disabled",
            CheckpointKind::NotDue => "not_due",
        }
    }
}

/// The answers that are right for a request for a checkpoint.
#[derive(Debug)]
pub struct AllowedCheckpoint {
    /// The canonical project, relative to the world's root.
    pub project: ByteString,
    /// What it comes to.
    pub kind: CheckpointKind,
    /// The rule that decides it.
    pub rule: RuleRef,
    /// Refusals that are as good an answer.
    pub may_refuse: Vec<Refusal>,
    /// Whether finding nothing to save is as good: of an implementation that takes a checkpoint of
    /// everything no rule says whether it takes one of nothing.
    pub may_be_unchanged: bool,
    /// What is as good for another reason, of which no rule says whether it holds.
    pub also: &'static [CheckpointKind],
    /// Whether a new one is as good where nothing changed: the one that holds it is damaged.
    pub may_be_created: bool,
    /// What was captured to decide it, where that was needed.
    pub captured: Option<Arc<Captured>>,
}

/// One checkpoint as it must be listed.
#[derive(Debug)]
pub struct AllowedListed {
    /// Its id.
    pub id: String,
    /// When it was taken, in seconds since the epoch.
    pub time: i64,
    /// Why it was taken; none where no rule says how that is worded.
    pub reason: Option<String>,
    /// What changed against the one before it.
    pub stats: AllowedStats,
    /// Whether it is damaged, so that less may be said of it.
    pub damaged: bool,
    /// Whether it may be left out for that.
    pub may_be_hidden: bool,
}

/// The figures that may be listed with a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowedStats {
    /// None, for the oldest.
    None,
    /// These.
    Within(LineBounds),
    /// Any, since nobody has seen what it holds.
    Unknown,
}

/// The list that is right.
#[derive(Debug)]
pub struct AllowedList {
    /// The project, relative to the world's root.
    pub project: ByteString,
    /// Newest first.
    pub entries: Vec<AllowedListed>,
    /// Whether checkpoints are hidden because there are more than the limit.
    pub limited: bool,
    /// Whether more are listed than the limit, since a restore pushes nothing out.
    pub spared: bool,
    /// Whether one of them was damaged, so that another choice of them may be right.
    pub disturbed: bool,
    /// Every id of this project that was ever handed out.
    pub handed_out: BTreeSet<String>,
    /// Ids that belong to other projects and to none of these.
    pub foreign: BTreeSet<String>,
    /// Whether the project's directory is gone.
    pub deleted: bool,
}

impl AllowedList {
    /// Whether nothing that is there must be shown, since all of it is damaged.
    pub(crate) fn is_all_damaged(&self) -> bool {
        !self.entries.is_empty() && self.entries.iter().all(|one| one.may_be_hidden)
    }
}

/// The preview that is right.
#[derive(Debug)]
pub struct AllowedDiff {
    /// Every path that differs, and how.
    pub entries: BTreeMap<ByteString, crate::answer::Change>,
    /// Every unit, and whether its members need not be named as they differ.
    pub units: Vec<(Unit, bool)>,
    /// Their lines.
    pub stats: LineBounds,
    /// Whether the checkpoint is only there since a restore pushes nothing out.
    pub spared: bool,
    /// Whether it is a pre-restore checkpoint that the list has no room for.
    pub unlisted: bool,
    /// Whether the checkpoint is damaged: then no rule says what may be shown of it.
    pub damaged: bool,
    /// Refusals that are as good an answer.
    pub may_refuse: Vec<Refusal>,
    /// Rules about what is captured that the right preview puts to the test, once for each path.
    pub tests: Vec<RuleRef>,
}

/// The restore that is right. What must hold afterwards is judged by
/// [`crate::operations::restore`].
#[derive(Debug)]
pub struct AllowedRestore {
    /// The canonical project, relative to the world's root.
    pub project: ByteString,
    /// The only path to restore, or none for all.
    pub only: Option<ByteString>,
    /// Whether files created since are removed as well.
    pub exact: bool,
    /// The checkpoint's content.
    pub target: Arc<Captured>,
    /// What would be captured of the project before.
    pub before: Arc<Captured>,
    /// Whether a pre-rollback checkpoint is taken, and the rule that says so.
    pub safety: (bool, RuleRef),
    /// Whether it may as well be skipped: nobody has seen what the newest checkpoint holds.
    pub may_skip_safety: bool,
    /// Whether it may as well be taken: the newest checkpoint holds this state and is damaged.
    pub may_take_safety: bool,
    /// Refusals that are as good: what would be overwritten is not captured.
    pub may_refuse: Vec<Refusal>,
    /// Whether the target itself is a pre-rollback checkpoint.
    pub undo: bool,
    /// Whether the project's directory was gone.
    pub deleted: bool,
    /// Whether the pre-rollback checkpoint moves the target beyond the limit.
    pub evicting: bool,
    /// Whether the target is only there since a restore pushes nothing out.
    pub spared: bool,
    /// Whether it is a pre-restore checkpoint that the list has no room for.
    pub unlisted: bool,
    /// Whether the target is damaged, so that it may be refused.
    pub damaged: bool,
    /// The paths that may then not come back, if that is said.
    pub lost: BTreeSet<ByteString>,
}

impl AllowedRestore {
    /// Whether nothing need be taken before it, since the newest checkpoint holds what is there.
    pub(crate) fn is_held_by_newest(&self, world: &World) -> bool {
        let newest = world.newest(&self.project).and_then(|one| one.captured.as_ref());
        let holds = newest.is_some_and(|newest| newest.tree == self.before.tree);
        self.looks_before(world) && holds && !self.deleted
    }

    /// Whether it looks at what is there, since that may have to be taken before.
    pub(crate) fn looks_before(&self, world: &World) -> bool {
        let takes_one = self.only.is_none() || world.has("restore.file_safety");
        world.has("restore.safety") && takes_one && !self.is_forced()
    }

    /// Whether it goes on without the pre-rollback checkpoint that it should have.
    pub fn is_forced(&self) -> bool {
        *self.safety.1 == rules::RESTORE_SAFETY_REQUIRED
    }
}

/// What becomes of one thing that a sweep looks at.
#[derive(Clone, Copy, Debug)]
pub struct Disposition {
    /// Whether it may be there afterwards.
    pub may_stay: bool,
    /// Whether it may go, since its directory is gone.
    pub may_be_orphan: bool,
    /// Whether it may go, since it was not used for long.
    pub may_be_stale: bool,
    /// The rule that decides it.
    pub rule: RuleRef,
}

impl Disposition {
    /// Whether it may be gone afterwards.
    pub fn may_go(&self) -> bool {
        self.may_be_orphan || self.may_be_stale
    }
}

/// The sweep that is right.
#[derive(Debug)]
pub struct AllowedSweep {
    /// Whether it may be made.
    pub may_run: bool,
    /// Whether it may be declined.
    pub may_decline: bool,
    /// Projects with checkpoints, by their canonical path.
    pub projects: BTreeMap<ByteString, Disposition>,
    /// v1 archives, by name.
    pub archives: BTreeMap<String, Disposition>,
    /// Repositories of the v1 that stand where they stood, by name.
    pub repositories: BTreeMap<String, Disposition>,
    /// What the checkpoints may take together afterwards, in bytes; 0 is no bound.
    pub max_total_bytes: u64,
    /// Whether a person asked for it.
    pub manual: bool,
}

impl AllowedSweep {
    /// The projects that it may remove, or of which it may drop any checkpoint.
    pub fn may_be_gone(&self) -> Vec<ByteString> {
        let is_bounded = self.max_total_bytes > 0;
        let may_go = self.projects.iter().filter(|(_, one)| is_bounded || one.may_go());
        may_go.map(|(project, _)| project.clone()).collect()
    }
}

/// What must be said of the store.
#[derive(Debug)]
pub struct AllowedStatus {
    /// Every project with checkpoints by its absolute directory: how many, and what may be said of
    /// that directory.
    pub projects: BTreeMap<ByteString, (usize, Vec<crate::answer::ProjectState>)>,
    /// Projects of which nothing but the checkpoints may be known any more.
    pub nameless: BTreeSet<ByteString>,
    /// Projects of which less was known for a time and everything must be known again.
    pub healed: BTreeSet<ByteString>,
    /// v1 archives, by name.
    pub archives: BTreeSet<String>,
    /// Folders that look like one, of which nothing is held against who says so.
    pub lookalikes: BTreeSet<String>,
}

/// What was asked to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleared {
    /// The v1 archives.
    Archives,
    /// All of it.
    Everything,
}

impl Cleared {
    /// What it is.
    pub fn words(self) -> &'static str {
        match self {
            Cleared::Archives => "the v1 archives",
            Cleared::Everything => "everything",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reason_is_enough_to_go() {
        let may_go = |may_be_orphan, may_be_stale| {
            let rule = &rules::SWEEP_STALE;
            Disposition { may_stay: true, may_be_orphan, may_be_stale, rule }.may_go()
        };
        assert!(may_go(true, false) && may_go(false, true) && may_go(true, true));
        assert!(!may_go(false, false));
    }
}
