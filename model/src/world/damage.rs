//! Damage to the store: which objects are lost, and which histories that affects.
//!
//! The lost objects are observed in the store, never assumed. A damaged checkpoint may be missing from
//! lists until a list shows it; from then on it must be listed. A project with a damaged checkpoint is
//! *partially corrupted*: the subject may treat its history as it likes, as long as every intact checkpoint
//! is listed. A project whose newest checkpoint has no ref any more has an *unknown* history until it is
//! listed.

use super::{Checkpoint, World};
use crate::answer::Answer;
use crate::bytes::ByteString;
use crate::object::Object;
use crate::observation::Observation;
use crate::request::Request;
use std::collections::BTreeSet;

/// The known damage.
#[derive(Clone, Debug, Default)]
pub(crate) struct Damages {
    lost: BTreeSet<Object>,
    partially_corrupted: BTreeSet<ByteString>,
    unknown_histories: BTreeSet<ByteString>,
    /// Whether the file of the commits at which histories end is damaged.
    has_unknown_ends: bool,
    /// Whether a file is damaged of which it is unknown what needs it: it may be anything.
    may_affect_all: bool,
    /// Checkpoints that were listed although they are damaged.
    shown: BTreeSet<String>,
    /// Checkpoints that were missing from a list.
    hidden: BTreeSet<String>,
}

impl World {
    /// The objects that are lost or damaged in the store.
    pub fn lost(&self) -> &BTreeSet<Object> {
        &self.damages.lost
    }

    /// All objects that the checkpoints with known content need.
    pub fn objects(&self) -> BTreeSet<Object> {
        let checkpoints = self.histories.values().flat_map(|history| &history.checkpoints);
        let trees = checkpoints
            .filter_map(|checkpoint| Some((&checkpoint.id, &checkpoint.captured.as_ref()?.tree)));
        trees.flat_map(|(id, tree)| Object::needed_by(id, tree)).collect()
    }

    /// Records that a history damaged the store: these objects are lost, and the newest checkpoints of
    /// the projects `unknown` have no ref.
    pub fn lose(&mut self, lost: BTreeSet<Object>, mut unknown: BTreeSet<ByteString>) {
        self.damages.lost = lost;
        self.doubt_rollbacks();
        // The history before a checkpoint is known from the checkpoint and from the project's metadata,
        // which may have been rewritten without it.
        let without_metadata = self.damaged().iter().chain(self.healed()).filter(|project| {
            self.history(project).iter().any(|checkpoint| !self.is_recorded(checkpoint))
        });
        unknown.extend(without_metadata.cloned());
        let corrupted = self.histories.iter().filter(|(_, history)| {
            history.checkpoints.iter().any(|checkpoint| self.is_damaged(checkpoint))
        });
        let corrupted: Vec<_> = corrupted.map(|(project, _)| project.clone()).collect();
        let corrupted = corrupted.into_iter().chain(unknown.iter().cloned());
        self.damages.partially_corrupted.extend(corrupted);
        self.damages.unknown_histories.extend(unknown);
    }

    /// Whether a checkpoint needs a lost object, or may.
    pub fn is_damaged(&self, checkpoint: &Checkpoint) -> bool {
        if self.damages.may_affect_all {
            return true;
        }
        let is_lost =
            |tree| self.damages.lost.iter().any(|object| object.is_needed_by(&checkpoint.id, tree));
        match &checkpoint.captured {
            Some(captured) => is_lost(&captured.tree),
            None => !self.damages.lost.is_empty(),
        }
    }

    /// The paths of a checkpoint that cannot be restored.
    pub(crate) fn lost_paths(&self, checkpoint: &Checkpoint) -> BTreeSet<ByteString> {
        let Some(captured) = &checkpoint.captured else { return BTreeSet::new() };
        if self.damages.may_affect_all {
            return captured.tree.keys().cloned().collect();
        }
        let lost = self.damages.lost.iter();
        lost.flat_map(|object| object.paths_in(&checkpoint.id, &captured.tree)).collect()
    }

    /// Whether the commit of a checkpoint is stored, whether or not its content is.
    fn is_recorded(&self, checkpoint: &Checkpoint) -> bool {
        !self.damages.lost.contains(&Object::Checkpoint(checkpoint.id.clone()))
    }

    /// Whether a list may leave out a checkpoint because of damage.
    pub(crate) fn may_be_hidden(&self, checkpoint: &Checkpoint) -> bool {
        let was_shown = self.damages.shown.contains(&checkpoint.id);
        let must_be_listed = was_shown && self.is_recorded(checkpoint);
        self.is_damaged(checkpoint) && (self.damages.may_affect_all || !must_be_listed)
    }

    /// Whether a checkpoint of the project was damaged.
    pub fn is_partially_corrupted(&self, project: &[u8]) -> bool {
        let corrupted = &self.damages.partially_corrupted;
        let Damages { has_unknown_ends, may_affect_all, .. } = self.damages;
        has_unknown_ends || may_affect_all || corrupted.contains(project)
    }

    /// Whether a checkpoint of any project was damaged.
    pub fn is_any_partially_corrupted(&self) -> bool {
        self.damages.has_unknown_ends || !self.damages.partially_corrupted.is_empty()
    }

    /// Whether the newest checkpoint of the project has no ref.
    pub(crate) fn is_newest_unnamed(&self, project: &[u8]) -> bool {
        self.damages.unknown_histories.contains(project)
    }

    /// Whether it is unknown which checkpoints of the project a request finds. A checkpoint that it names by its id
    /// may still be known.
    pub(crate) fn is_history_unknown(&self, project: &[u8]) -> bool {
        self.damages.may_affect_all || self.is_newest_unnamed(project)
    }

    /// Whether a number may name another checkpoint than without the damage.
    pub(crate) fn is_renumbered(&self, project: &[u8]) -> bool {
        let hides = |checkpoint: &Checkpoint| self.may_be_hidden(checkpoint);
        self.is_partially_corrupted(project) && self.history(project).iter().any(hides)
    }

    /// How many checkpoints of the project a list left out, or may have: a damaged pre-restore checkpoint
    /// that is not listed may be evicted or unreadable.
    pub(crate) fn hidden(&self, project: &[u8]) -> usize {
        let listed = self.listed(project);
        let is_unlisted =
            |checkpoint: &Checkpoint| listed.iter().all(|listed| listed.id != checkpoint.id);
        let is_hidden = |checkpoint: &&Checkpoint| {
            self.damages.hidden.contains(&checkpoint.id)
                || checkpoint.safety && self.is_damaged(checkpoint) && is_unlisted(checkpoint)
        };
        self.history(project).iter().filter(is_hidden).count()
    }

    /// Records that these checkpoints of a project should have been listed and were not.
    pub(super) fn hide(&mut self, ids: impl Iterator<Item = String>) {
        self.damages.hidden.extend(ids);
    }

    /// Records which objects are lost now, and which histories are known again.
    pub(super) fn learn_damage(&mut self, seen: &Observation) {
        if let Some(lost) = &seen.lost {
            self.damages.lost.clone_from(lost);
        }
        // Maintenance may remove damaged checkpoints.
        use Request::{Clear, Prune, PruneAsConfigured, Sweep};
        if matches!(seen.request, Prune { .. } | PruneAsConfigured | Sweep | Clear) {
            self.damages.shown.clear();
        }
        let project = seen.request.dir().and_then(|dir| self.canonical(dir));
        if let (Answer::Listed(listed), Some(project)) = (&seen.answer, project) {
            self.damages.unknown_histories.remove(&project);
            let damaged: BTreeSet<String> = self
                .history(&project)
                .iter()
                .filter(|checkpoint| self.is_damaged(checkpoint))
                .map(|checkpoint| checkpoint.id.clone())
                .collect();
            // Where the list is empty, it is unknown whether checkpoints will be listed again.
            if damaged.is_empty() && !listed.is_empty() {
                self.damages.partially_corrupted.remove(&project);
            }
            let is_listed = |id: &String| listed.iter().any(|entry| entry.id == *id);
            self.damages.hidden.retain(|id| !is_listed(id));
            self.damages.shown.extend(damaged.into_iter().filter(is_listed));
        }
    }

    /// Whether a file is damaged of which it is unknown what needs it.
    pub(crate) fn may_damage_affect_all(&self) -> bool {
        self.damages.may_affect_all
    }

    /// Records that a file is damaged of which it is unknown what needs it. From then on a request may be
    /// refused, and a restore must report what it could not restore.
    pub(super) fn lose_anything(&mut self) {
        self.damages.may_affect_all = true;
    }

    /// Records that the file of the commits at which histories end is damaged.
    pub(super) fn lose_ends(&mut self) {
        self.damages.has_unknown_ends = true;
    }

    /// Whether evicted checkpoints may be listed again, as far as they are still stored.
    pub(crate) fn has_unknown_ends(&self) -> bool {
        self.damages.has_unknown_ends
    }

    pub(super) fn mark_history_unknown(&mut self, project: ByteString) {
        self.damages.partially_corrupted.insert(project.clone());
        self.damages.unknown_histories.insert(project);
    }

    pub(super) fn forget_damage(&mut self, project: &ByteString) {
        self.damages.partially_corrupted.remove(project);
        self.damages.unknown_histories.remove(project);
    }
}
