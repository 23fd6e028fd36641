//! The pre-restore checkpoints that a project's list has no room for: which of them an implementation
//! that keeps a few can still restore by their ids.

use super::{Checkpoint, Settings, World};
use crate::bytes::ByteString;
use crate::request::Request;
use crate::target;
use std::collections::BTreeMap;

/// So many of the newest that are not listed can be restored.
const KEPT: usize = 3;

/// The pre-restore checkpoints of each project, oldest first, listed or not.
#[derive(Clone, Debug, Default)]
pub(super) struct Undos {
    taken: BTreeMap<ByteString, Vec<Undo>>,
}

#[derive(Clone, Debug)]
struct Undo {
    checkpoint: Checkpoint,
    /// Whether nothing happened since that may have cost it.
    is_sure: bool,
}

impl Undos {
    pub(super) fn take(&mut self, project: &ByteString, checkpoint: Checkpoint) {
        let taken = self.taken.entry(project.clone()).or_default();
        taken.retain(|undo| undo.checkpoint.id != checkpoint.id);
        taken.push(Undo { checkpoint, is_sure: true });
    }

    /// Each of them, to learn more of it.
    pub(super) fn checkpoints(&mut self) -> impl Iterator<Item = &mut Checkpoint> {
        self.taken.values_mut().flatten().map(|undo| &mut undo.checkpoint)
    }

    pub(super) fn forget(&mut self, project: &ByteString) {
        self.taken.remove(project);
    }

    /// From now on each of them may be gone.
    pub(super) fn doubt(&mut self) {
        self.taken.values_mut().flatten().for_each(|undo| undo.is_sure = false);
    }
}

impl World {
    /// The pre-restore checkpoints of a project that are not listed, newest first.
    fn unlisted(&self, project: &[u8]) -> impl Iterator<Item = &Undo> {
        let listed = self.listed(project);
        let taken = self.undos.taken.get(&ByteString::from(project));
        let is_listed = |undo: &&Undo| listed.iter().any(|one| one.id == undo.checkpoint.id);
        taken.into_iter().flatten().rev().filter(move |undo| !is_listed(undo))
    }

    /// The checkpoint of these digits among those that are not listed and can be restored.
    ///
    /// Implements [`crate::rules::RESTORE_KEEPS_UNDO`].
    pub(crate) fn kept_undo(&self, project: &[u8], digits: &str) -> Option<&Checkpoint> {
        let has_name = |undo: &&Undo| target::begins_with(&undo.checkpoint.id, digits);
        let kept = self.unlisted(project).take(KEPT).find(has_name);
        kept.map(|undo| &undo.checkpoint).filter(|_| self.has("restore.keeps_undo"))
    }

    /// Whether these digits may name a checkpoint that is not listed, and need not.
    pub(crate) fn may_name_undo(&self, project: &[u8], digits: &str) -> bool {
        let has_name = |id: &str| target::begins_with(id, digits);
        let mut named = self.unlisted(project).enumerate();
        let Some((index, undo)) = named.find(|(_, undo)| has_name(&undo.checkpoint.id)) else {
            return false;
        };
        let is_sure = undo.is_sure && index < KEPT && !self.has_pins(project);
        let is_alone = !named.any(|(_, undo)| has_name(&undo.checkpoint.id))
            && !self.listed(project).iter().any(|one| has_name(&one.id));
        self.has("restore.keeps_undo") && !(is_sure && is_alone)
    }

    /// Whether a store that keeps undos may hold more than what is listed.
    pub(crate) fn may_hold_undos(&self) -> bool {
        let any = |project: &ByteString| self.unlisted(project).next().is_some();
        self.has("restore.keeps_undo") && self.undos.taken.keys().any(any)
    }

    /// Takes in that a request may have freed space.
    pub(super) fn learn_pressure(&mut self, request: &Request) {
        let bytes = self.size_bound(request);
        if bytes > 0 && bytes < Settings::default().max_total_bytes {
            self.undos.doubt();
        }
    }
}
