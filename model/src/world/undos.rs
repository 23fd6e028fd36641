//! The pre-restore checkpoints that do not fit in the list of their project. An implementation may keep a
//! few of them; this module decides which of them it can still restore by id.

use super::{Checkpoint, Settings, World};
use crate::bytes::ByteString;
use crate::request::Request;
use crate::target;
use std::collections::BTreeMap;

/// How many of the newest unlisted ones can be restored.
const KEPT: usize = 3;

/// The pre-restore checkpoints of each project, oldest first, listed or not.
#[derive(Clone, Debug, Default)]
pub(super) struct PreRestoreCheckpoints {
    by_project: BTreeMap<ByteString, Vec<PreRestoreCheckpoint>>,
}

#[derive(Clone, Debug)]
struct PreRestoreCheckpoint {
    checkpoint: Checkpoint,
    /// Whether nothing happened since that may have evicted it.
    is_sure: bool,
}

impl PreRestoreCheckpoints {
    pub(super) fn take(&mut self, project: &ByteString, checkpoint: Checkpoint) {
        let taken = self.by_project.entry(project.clone()).or_default();
        taken.retain(|earlier| earlier.checkpoint.id != checkpoint.id);
        taken.push(PreRestoreCheckpoint { checkpoint, is_sure: true });
    }

    /// All checkpoints, to record more about them.
    pub(super) fn checkpoints(&mut self) -> impl Iterator<Item = &mut Checkpoint> {
        self.by_project.values_mut().flatten().map(|pre_restore| &mut pre_restore.checkpoint)
    }

    pub(super) fn forget(&mut self, project: &ByteString) {
        self.by_project.remove(project);
    }

    /// From now on each of them may be gone.
    pub(super) fn doubt(&mut self) {
        let checkpoints = self.by_project.values_mut().flatten();
        checkpoints.for_each(|pre_restore| pre_restore.is_sure = false);
    }
}

impl World {
    /// The unlisted pre-restore checkpoints of a project, newest first.
    fn unlisted(&self, project: &[u8]) -> impl Iterator<Item = &PreRestoreCheckpoint> {
        let listed = self.listed(project);
        let taken = self.pre_restore.by_project.get(project);
        let is_listed = |pre_restore: &&PreRestoreCheckpoint| {
            listed.iter().any(|checkpoint| checkpoint.id == pre_restore.checkpoint.id)
        };
        taken.into_iter().flatten().rev().filter(move |pre_restore| !is_listed(pre_restore))
    }

    /// The unlisted checkpoint whose id begins with these digits, if it can be restored.
    ///
    /// Implements [`crate::rules::RESTORE_KEEPS_UNDO`] (decides).
    pub(crate) fn kept_unlisted(&self, project: &[u8], digits: &str) -> Option<&Checkpoint> {
        let has_name = |pre_restore: &&PreRestoreCheckpoint| {
            target::begins_with(&pre_restore.checkpoint.id, digits)
        };
        let kept = self.unlisted(project).take(KEPT).find(has_name);
        kept.map(|pre_restore| &pre_restore.checkpoint).filter(|_| self.has("restore.keeps_undo"))
    }

    /// Whether these digits may, but need not, name an unlisted checkpoint.
    pub(crate) fn may_name_unlisted(&self, project: &[u8], digits: &str) -> bool {
        let has_name = |id: &str| target::begins_with(id, digits);
        let mut named = self.unlisted(project).enumerate();
        let Some((index, found)) =
            named.find(|(_, pre_restore)| has_name(&pre_restore.checkpoint.id))
        else {
            return false;
        };
        let is_sure = found.is_sure && index < KEPT && !self.has_pins(project);
        let is_alone = !named.any(|(_, pre_restore)| has_name(&pre_restore.checkpoint.id))
            && !self.listed(project).iter().any(|checkpoint| has_name(&checkpoint.id));
        self.has("restore.keeps_undo") && !(is_sure && is_alone)
    }

    /// Whether a store that keeps unlisted checkpoints may hold more than what is listed.
    pub(crate) fn may_hold_unlisted(&self) -> bool {
        let has_unlisted = |project: &ByteString| self.unlisted(project).next().is_some();
        self.has("restore.keeps_undo") && self.pre_restore.by_project.keys().any(has_unlisted)
    }

    /// Records that a request may have freed space.
    pub(super) fn learn_pressure(&mut self, request: &Request) {
        let bytes = self.size_bound(request);
        if bytes > 0 && bytes < Settings::default().max_total_bytes {
            self.pre_restore.doubt();
        }
    }
}
