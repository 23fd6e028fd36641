//! What the world knows of damage to what is stored: which objects are lost, and whom that leaves in
//! doubt.
//!
//! What is lost is what the store shows, so that nothing is believed to be whole because it should be.
//! A damaged checkpoint may be missing from a list until one shows it, and then it stays. A project of
//! which one was damaged is *disturbed*: what a subject makes of its history is its own affair, as long
//! as everything that is whole is there. One whose newest checkpoint nothing names any more is
//! *adrift*: nothing is known of it until it is listed.

use super::{Checkpoint, World};
use crate::answer::Answer;
use crate::bytes::ByteString;
use crate::object::Object;
use crate::observation::Observation;
use crate::request::Request;
use std::collections::BTreeSet;

/// What is known of damage.
#[derive(Clone, Debug, Default)]
pub(crate) struct Damages {
    lost: BTreeSet<Object>,
    disturbed: BTreeSet<ByteString>,
    adrift: BTreeSet<ByteString>,
    /// Whether nothing says any more where histories end.
    is_endless: bool,
    /// Checkpoints that were listed although they are damaged.
    shown: BTreeSet<String>,
    /// Those that a list left out.
    hidden: BTreeSet<String>,
}

impl World {
    /// The objects that are not stored whole.
    pub fn lost(&self) -> &BTreeSet<Object> {
        &self.damages.lost
    }

    /// Everything that a checkpoint needs of which it is known what it holds.
    pub fn objects(&self) -> BTreeSet<Object> {
        let all = self.histories.values().flat_map(|history| &history.all);
        let held = all.filter_map(|one| Some((&one.id, &one.captured.as_ref()?.tree)));
        held.flat_map(|(id, tree)| Object::all_of(id, tree)).collect()
    }

    /// Takes in that a history damaged the store: these objects are not whole, and nothing names the
    /// newest checkpoints of these projects.
    pub fn lose(&mut self, lost: BTreeSet<Object>, mut adrift: BTreeSet<ByteString>) {
        self.damages.lost = lost;
        // What came before a checkpoint is known from that and from what is noted of the project, which
        // may have been written anew without it.
        let unknown = self.damaged().iter().chain(self.healed()).filter(|project| {
            self.history(project).iter().any(|checkpoint| !self.is_recorded(checkpoint))
        });
        adrift.extend(unknown.cloned());
        let disturbed = self.histories.iter().filter(|(_, history)| {
            history.all.iter().any(|checkpoint| self.is_damaged(checkpoint))
        });
        let disturbed: Vec<_> = disturbed.map(|(project, _)| project.clone()).collect();
        self.damages.disturbed.extend(disturbed.into_iter().chain(adrift.iter().cloned()));
        self.damages.adrift.extend(adrift);
    }

    /// Whether a checkpoint needs what is lost, or may.
    pub fn is_damaged(&self, checkpoint: &Checkpoint) -> bool {
        let is_lost =
            |tree| self.damages.lost.iter().any(|object| object.is_needed_by(&checkpoint.id, tree));
        match &checkpoint.captured {
            Some(captured) => is_lost(&captured.tree),
            None => !self.damages.lost.is_empty(),
        }
    }

    /// The paths of a checkpoint that cannot be brought back.
    pub(crate) fn lost_paths(&self, checkpoint: &Checkpoint) -> BTreeSet<ByteString> {
        let Some(captured) = &checkpoint.captured else { return BTreeSet::new() };
        let lost = self.damages.lost.iter();
        lost.flat_map(|object| object.paths_in(&checkpoint.id, &captured.tree)).collect()
    }

    /// Whether a checkpoint is stored itself, whatever became of what it holds.
    fn is_recorded(&self, checkpoint: &Checkpoint) -> bool {
        !self.damages.lost.contains(&Object::Checkpoint(checkpoint.id.clone()))
    }

    /// Whether a list may leave a checkpoint out that it would show if nothing were damaged.
    pub(crate) fn may_be_hidden(&self, checkpoint: &Checkpoint) -> bool {
        let was_shown = self.damages.shown.contains(&checkpoint.id);
        self.is_damaged(checkpoint) && !(was_shown && self.is_recorded(checkpoint))
    }

    /// Whether a checkpoint of the project was damaged.
    pub fn is_disturbed(&self, project: &[u8]) -> bool {
        self.damages.is_endless || self.damages.disturbed.contains(&ByteString::from(project))
    }

    /// Whether one of any project was.
    pub fn is_any_disturbed(&self) -> bool {
        self.damages.is_endless || !self.damages.disturbed.is_empty()
    }

    /// Whether nothing names the newest checkpoint of the project.
    pub(crate) fn is_adrift(&self, project: &[u8]) -> bool {
        self.damages.adrift.contains(&ByteString::from(project))
    }

    /// Whether a number may mean another checkpoint than it would if nothing were damaged.
    pub(crate) fn is_renumbered(&self, project: &[u8]) -> bool {
        let hides = |checkpoint: &Checkpoint| self.may_be_hidden(checkpoint);
        self.is_disturbed(project) && self.history(project).iter().any(hides)
    }

    /// How many checkpoints of the project a list left out, or may have: of a damaged pre-rollback one that
    /// is not listed nobody knows whether it made room or cannot be read.
    pub(crate) fn hidden(&self, project: &[u8]) -> usize {
        let listed = self.listed(project);
        let is_out_of_sight = |one: &Checkpoint| listed.iter().all(|other| other.id != one.id);
        let is_hidden = |one: &&Checkpoint| {
            self.damages.hidden.contains(&one.id)
                || one.safety && self.is_damaged(one) && is_out_of_sight(one)
        };
        self.history(project).iter().filter(is_hidden).count()
    }

    /// Takes in that these checkpoints of a project were to be listed and are not.
    pub(super) fn hide(&mut self, ids: impl Iterator<Item = String>) {
        self.damages.hidden.extend(ids);
    }

    /// Takes in which objects are whole again, and what became of doubts.
    pub(super) fn learn_damage(&mut self, seen: &Observation) {
        if let Some(lost) = &seen.lost {
            self.damages.lost.clone_from(lost);
        }
        // Who looks after a store may do away with what is damaged.
        use Request::{Clear, Prune, PruneAsConfigured, Sweep};
        if matches!(seen.request, Prune { .. } | PruneAsConfigured | Sweep | Clear) {
            self.damages.shown.clear();
        }
        let project = seen.request.dir().and_then(|dir| self.canonical(dir));
        if let (Answer::Listed(listed), Some(project)) = (&seen.answer, project) {
            self.damages.adrift.remove(&project);
            let all = self.history(&project);
            let damaged: BTreeSet<String> = all
                .iter()
                .filter(|checkpoint| self.is_damaged(checkpoint))
                .map(|checkpoint| checkpoint.id.clone())
                .collect();
            // Of what is not listed at all nobody knows whether it will be.
            if damaged.is_empty() && !listed.is_empty() {
                self.damages.disturbed.remove(&project);
            }
            let is_listed = |id: &String| listed.iter().any(|one| one.id == *id);
            self.damages.hidden.retain(|id| !is_listed(id));
            self.damages.shown.extend(damaged.into_iter().filter(is_listed));
        }
    }

    /// Takes in that nothing says any more where histories end.
    pub(super) fn lose_ends(&mut self) {
        self.damages.is_endless = true;
    }

    /// Whether evicted checkpoints may be listed again, with what is left of them.
    pub(crate) fn is_endless(&self) -> bool {
        self.damages.is_endless
    }

    pub(super) fn set_adrift(&mut self, project: ByteString) {
        self.damages.disturbed.insert(project.clone());
        self.damages.adrift.insert(project);
    }

    pub(super) fn forget_damage(&mut self, project: &ByteString) {
        self.damages.disturbed.remove(project);
        self.damages.adrift.remove(project);
    }
}
