//! The behaviours that are correct for a request. Each part of them names the rule that requires it.
//!
//! This module contains data types only; [`crate::operations`] decides what is correct.

use crate::bytes::ByteString;
use crate::capture::Captured;
use crate::configuration::Configuration;
use crate::excuse::Excuse;
use crate::lines::LineBounds;
use crate::refusal::Refusal;
use crate::rules::{self, RuleRef};
use crate::unit::Unit;
use crate::world::World;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The correct behaviour for one request.
#[derive(Debug)]
pub enum Allowed {
    /// An acknowledgement.
    Done,
    /// A file's project.
    Project {
        /// Its absolute path; `None` where the file has no project.
        path: Option<ByteString>,
        /// The rule that decides it.
        rule: RuleRef,
    },
    /// Whether a command changes files.
    Classified(bool),
    /// The checkpoints to take before a tool runs.
    Protected(AllowedProtection),
    /// No checkpoint, since nothing can be stored, however it is reported.
    WithoutBackend,
    /// A request for a checkpoint.
    Checkpoint(Box<AllowedCheckpoint>),
    /// A list.
    List(AllowedList),
    /// The printed form of the list in the same answer.
    Printed,
    /// A preview.
    Diff(AllowedDiff),
    /// A restore.
    Restore(Box<AllowedRestore>),
    /// A sweep or a prune.
    Sweep(Box<AllowedSweep>),
    /// What the store holds.
    Status(AllowedStatus),
    /// The configuration in the file.
    Configured(Configuration),
    /// The value of a part of the agent's state; `None` where it is unknown.
    State(Option<Value>),
    /// The compensations that run.
    Compensated,
    /// A removal that was requested.
    Cleared(Cleared),
    /// The request must be refused, for any of these reasons.
    Refused(Vec<Refusal>),
    /// Any answer, for this reason.
    Unknown(Excuse),
}

impl Allowed {
    /// The same; for a request for a checkpoint, these outcomes are allowed as well.
    pub(crate) fn or_as_well(mut self, alternatives: &'static [CheckpointKind]) -> Allowed {
        if let Allowed::Checkpoint(checkpoint) = &mut self {
            checkpoint.alternatives = alternatives;
        }
        self
    }
}

/// The correct behaviour before a tool runs.
#[derive(Debug)]
pub struct AllowedProtection {
    /// The projects in which the tool may change files: for each file the projects that the rules
    /// allow, as absolute paths, and whether one of them must be protected.
    pub projects: Vec<(Vec<ByteString>, bool)>,
    /// Whether automatic checkpoints are off.
    pub disabled: bool,
}

/// The outcome of a request for a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointKind {
    /// A new checkpoint.
    Created,
    /// No checkpoint, since the turn already has one.
    Deduped,
    /// No checkpoint, since nothing changed.
    Unchanged,
    /// No checkpoint, since automatic checkpoints are off.
    Disabled,
    /// No checkpoint, since the event does not call for one.
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

/// The correct answers to a request for a checkpoint.
#[derive(Debug)]
pub struct AllowedCheckpoint {
    /// The canonical project, relative to the world's root.
    pub project: ByteString,
    /// The expected outcome.
    pub kind: CheckpointKind,
    /// The rule that decides it.
    pub rule: RuleRef,
    /// Refusals that are allowed as well.
    pub may_refuse: Vec<Refusal>,
    /// Why finding nothing to save is allowed as well, if it is: for example, no rule says whether an
    /// implementation that captures everything takes a checkpoint of nothing.
    pub may_be_unchanged: Option<Excuse>,
    /// Other outcomes that no rule decides, so that they are allowed as well.
    pub alternatives: &'static [CheckpointKind],
    /// Whether a new checkpoint is allowed where nothing changed, since the newest one is damaged.
    pub may_be_created: bool,
    /// The captured files that decide the outcome, where they were needed.
    pub captured: Option<Arc<Captured>>,
}

/// One checkpoint as it must be listed.
#[derive(Debug)]
pub struct AllowedListed {
    /// Its id.
    pub id: String,
    /// When it was taken, in seconds since the epoch.
    pub time: i64,
    /// Why it was taken; `None` where no rule defines the wording.
    pub reason: Option<String>,
    /// What changed since the checkpoint before it.
    pub stats: AllowedStats,
    /// Whether it is damaged, so that less need be reported.
    pub damaged: bool,
    /// Whether it may be left out because it is damaged.
    pub may_be_hidden: bool,
}

/// The figures that may be listed with a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowedStats {
    /// No figures, for the oldest checkpoint.
    None,
    /// Figures within these bounds.
    Within(LineBounds),
    /// Any figures, since its content was not observed.
    Unknown,
}

/// The correct list.
#[derive(Debug)]
pub struct AllowedList {
    /// The project, relative to the world's root.
    pub project: ByteString,
    /// Newest first.
    pub entries: Vec<AllowedListed>,
    /// Whether checkpoints are hidden because there are more than the limit.
    pub limited: bool,
    /// Whether more are listed than the limit, since a restore evicts nothing.
    pub exceeds_limit: bool,
    /// Whether the history is partially corrupted, so that other selections are correct, too.
    pub partially_corrupted: bool,
    /// Every id that a checkpoint of this project ever had.
    pub issued_ids: BTreeSet<String>,
    /// Ids that belong to other projects only.
    pub foreign: BTreeSet<String>,
    /// Whether the project's directory is gone.
    pub deleted: bool,
}

impl AllowedList {
    /// Whether there are checkpoints, and all of them may be hidden because they are damaged.
    pub(crate) fn is_all_damaged(&self) -> bool {
        !self.entries.is_empty() && self.entries.iter().all(|entry| entry.may_be_hidden)
    }
}

/// The correct preview.
#[derive(Debug)]
pub struct AllowedDiff {
    /// Every path that differs, and how.
    pub entries: BTreeMap<ByteString, crate::answer::Change>,
    /// Every unit, and whether its differing members need not be named.
    pub units: Vec<(Unit, bool)>,
    /// The bounds of the changed lines.
    pub stats: LineBounds,
    /// Whether the checkpoint is listed beyond the limit, since a restore evicts nothing.
    pub exceeds_limit: bool,
    /// Whether it is a pre-restore checkpoint beyond the limit of the list.
    pub unlisted: bool,
    /// Whether the checkpoint is damaged: then no rule says what may be shown of it.
    pub damaged: bool,
    /// Refusals that are allowed as well.
    pub may_refuse: Vec<Refusal>,
    /// Rules about capturing that the correct preview tests, once for each path.
    pub tests: Vec<RuleRef>,
}

/// The correct restore. What must hold afterwards is judged by [`crate::operations::restore`].
#[derive(Debug)]
pub struct AllowedRestore {
    /// The canonical project, relative to the world's root.
    pub project: ByteString,
    /// The only path to restore; `None` for all paths.
    pub only: Option<ByteString>,
    /// Whether files created since are removed as well.
    pub exact: bool,
    /// What the undone restore restored, where one is undone: of the files created since, only these are
    /// removed.
    pub made: Option<Arc<Captured>>,
    /// The checkpoint's content.
    pub target: Arc<Captured>,
    /// What would be captured of the project before the restore.
    pub before: Arc<Captured>,
    /// Whether a pre-restore checkpoint is taken, and the rule that says so.
    pub safety: (bool, RuleRef),
    /// Whether it may be skipped as well: the content of the newest checkpoint was not observed.
    pub may_skip_pre_restore: bool,
    /// Whether it may be taken as well: the newest checkpoint holds this state and is damaged.
    pub may_take_pre_restore: bool,
    /// Refusals that are allowed as well: what would be overwritten is not captured.
    pub may_refuse: Vec<Refusal>,
    /// Whether the target itself is a pre-restore checkpoint.
    pub undo: bool,
    /// Whether the project's directory was gone.
    pub deleted: bool,
    /// Whether the pre-restore checkpoint moves the target beyond the limit.
    pub evicting: bool,
    /// Whether the target is listed beyond the limit, since a restore evicts nothing.
    pub exceeds_limit: bool,
    /// Whether it is a pre-restore checkpoint beyond the limit of the list.
    pub unlisted: bool,
    /// Whether the target is damaged, so that it may be refused.
    pub damaged: bool,
    /// The paths that need not be restored then, if the answer reports them.
    pub lost: BTreeSet<ByteString>,
}

impl AllowedRestore {
    /// Whether no pre-restore checkpoint is needed, since the newest checkpoint holds the current state.
    pub(crate) fn is_held_by_newest(&self, world: &World) -> bool {
        let newest =
            world.newest(&self.project).and_then(|checkpoint| checkpoint.captured.as_ref());
        let holds = newest.is_some_and(|newest| newest.tree == self.before.tree);
        self.captures_before(world) && holds && !self.deleted
    }

    /// Whether the restore captures the current state, which may need a pre-restore checkpoint.
    pub(crate) fn captures_before(&self, world: &World) -> bool {
        let takes_checkpoint = self.only.is_none() || world.has("restore.file_safety");
        world.has("restore.safety") && takes_checkpoint && !self.is_forced()
    }

    /// Whether it continues without the pre-restore checkpoint that it should have.
    pub fn is_forced(&self) -> bool {
        *self.safety.1 == rules::RESTORE_SAFETY_REQUIRED
    }
}

/// What a sweep may do with one item that it examines.
#[derive(Clone, Copy, Debug)]
pub struct Disposition {
    /// Whether it may exist afterwards.
    pub may_stay: bool,
    /// Whether it may be removed because its directory is gone.
    pub may_be_orphan: bool,
    /// Whether it may be removed because it was not used for long.
    pub may_be_stale: bool,
    /// The rule that decides it.
    pub rule: RuleRef,
}

impl Disposition {
    /// Whether it may be removed.
    pub fn may_go(&self) -> bool {
        self.may_be_orphan || self.may_be_stale
    }
}

/// The correct sweep.
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
    /// v1 repositories that are not archived, by name.
    pub repositories: BTreeMap<String, Disposition>,
    /// The size limit of all checkpoints together afterwards, in bytes; 0 is no bound.
    pub max_total_bytes: u64,
    /// Whether a person requested it.
    pub manual: bool,
}

impl AllowedSweep {
    /// The projects that it may remove, or of which it may evict any checkpoint.
    pub fn may_be_gone(&self) -> Vec<ByteString> {
        let is_bounded = self.max_total_bytes > 0;
        let may_go =
            self.projects.iter().filter(|(_, disposition)| is_bounded || disposition.may_go());
        may_go.map(|(project, _)| project.clone()).collect()
    }
}

/// The correct status of the store.
#[derive(Debug)]
pub struct AllowedStatus {
    /// Every project with checkpoints by its absolute directory: how many, and the states that may be
    /// reported of that directory.
    pub projects: BTreeMap<ByteString, (usize, Vec<crate::answer::ProjectState>)>,
    /// Projects of which possibly only the checkpoints are known any more.
    pub nameless: BTreeSet<ByteString>,
    /// Projects whose damaged metadata must be complete again.
    pub healed: BTreeSet<ByteString>,
    /// v1 archives, by name.
    pub archives: BTreeSet<String>,
    /// Folders that look like an archive, and may be reported as one.
    pub lookalikes: BTreeSet<String>,
}

/// What a request removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleared {
    /// The v1 archives.
    Archives,
    /// Everything.
    Everything,
}

impl Cleared {
    /// Its description.
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
    fn may_go_holds_for_an_orphan_or_a_stale_item() {
        let may_go = |may_be_orphan, may_be_stale| {
            let rule = &rules::SWEEP_STALE;
            Disposition { may_stay: true, may_be_orphan, may_be_stale, rule }.may_go()
        };
        assert!(may_go(true, false) && may_go(false, true) && may_go(true, true));
        assert!(!may_go(false, false));
    }
}
