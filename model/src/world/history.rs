//! The checkpoints of one project: which are listed, and which were evicted.

use super::Checkpoint;

/// All checkpoints that were ever taken of one project.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// The evicted checkpoints, and after them the others, oldest first.
    pub(super) checkpoints: Vec<Checkpoint>,
    /// How many of them were evicted at least.
    pub(super) evicted: usize,
    /// The undecided eviction, where it is unknown which checkpoints were evicted.
    choice: Option<EvictionChoice>,
    /// Whether all checkpoints that should be listed were seen to be, since the last one that is not a
    /// pre-restore checkpoint.
    pub(super) is_complete: bool,
    /// Whether any was pinned since the history is known: from then on evictions are looked up, since
    /// the evicted checkpoint need not be the oldest.
    has_pins: bool,
}

/// An eviction of pre-restore checkpoints of which the implementation chooses the evicted ones.
#[derive(Clone, Debug)]
struct EvictionChoice {
    /// The list without the eviction, oldest first.
    candidates: Vec<Checkpoint>,
    /// The ids of the checkpoints that may be evicted.
    evictable: Vec<String>,
    /// How many of these may be left.
    left: usize,
}

fn intersection(mut ids: Vec<String>, allowed: &[String]) -> Vec<String> {
    ids.retain(|id| allowed.contains(id));
    ids
}

impl History {
    /// A history with these listed checkpoints, oldest first, after the `evicted` ones.
    pub(super) fn of(evicted: Vec<Checkpoint>, listed: Vec<Checkpoint>) -> Self {
        let count = evicted.len();
        let has_pins = listed.iter().any(|checkpoint| checkpoint.carried.pinned);
        let checkpoints = [evicted, listed].concat();
        History { checkpoints, evicted: count, choice: None, is_complete: true, has_pins }
    }

    /// How many checkpoints are evicted at this limit: pre-restore checkpoints stay beyond the limit
    /// until another checkpoint is taken.
    ///
    /// Implements [`crate::rules::LIST_AT_MOST`] and [`crate::rules::RESTORE_KEEPS_HISTORY`].
    pub(super) fn evicted_count(&self, limit: usize) -> usize {
        if self.has_pins {
            return self.evicted;
        }
        let pre_restore_count =
            self.checkpoints.iter().rev().take_while(|checkpoint| checkpoint.safety).count();
        let most = limit.saturating_add(pre_restore_count);
        self.checkpoints.len().saturating_sub(most).max(self.evicted)
    }

    /// Adds a checkpoint; the newest `limit` remain.
    ///
    /// Implements [`crate::rules::LIMIT_NEWEST_REMAIN`] (decides).
    pub(super) fn take(&mut self, checkpoint: Checkpoint, limit: usize) {
        self.is_complete = false;
        self.leave_out(&checkpoint.id);
        if self.has_pins {
            self.take_with_pins(checkpoint, limit);
            return;
        }
        self.checkpoints.push(checkpoint);
        self.evicted = self.evicted_count(limit);
        self.choice = None;
    }

    /// The same where some are pinned: the implementation chooses whether these count towards the limit,
    /// and which of the others are evicted.
    ///
    /// Implements [`crate::rules::AGENT_PINNED`] (decides).
    fn take_with_pins(&mut self, checkpoint: Checkpoint, limit: usize) {
        let newest = checkpoint.id.clone();
        let candidates = [&self.checkpoints[self.evicted..], &[checkpoint]].concat();
        let evictable: Vec<String> = candidates
            .iter()
            .filter(|candidate| !candidate.carried.pinned && candidate.id != newest)
            .map(|candidate| candidate.id.clone())
            .collect();
        let left = limit.saturating_sub(1).min(evictable.len());
        let gone = evictable[..evictable.len() - left].to_vec();
        let is_undecided = candidates.len() > limit && !evictable.is_empty();
        // A checkpoint that was evictable before may still be evicted, even if none must be now.
        let earlier = self.choice.take().map_or_else(Vec::new, |choice| choice.evictable);
        let evictable = if is_undecided { evictable } else { intersection(evictable, &earlier) };
        let left = if is_undecided { left } else { evictable.len() };
        self.list_candidates(EvictionChoice { candidates, evictable, left }, &gone);
    }

    /// Labels a checkpoint.
    pub(super) fn label(&mut self, id: &str, label: &str) {
        self.change(id, |checkpoint| checkpoint.carried.label = Some(label.to_owned()));
    }

    /// Pins or unpins a checkpoint. An unpinned checkpoint may be evicted at once or later.
    ///
    /// Implements [`crate::rules::AGENT_PINNED`].
    pub(super) fn pin(&mut self, id: &str, pinned: bool, limit: usize) {
        self.evicted = self.evicted_count(limit);
        self.has_pins |= pinned;
        self.change(id, |checkpoint| checkpoint.carried.pinned = pinned);
        if let Some(choice) = self.choice.as_mut().filter(|_| pinned) {
            choice.evictable.retain(|evictable| evictable != id);
            choice.left = choice.left.min(choice.evictable.len());
        }
        let listed = &self.checkpoints[self.evicted..];
        let newest = listed.last().map(|checkpoint| checkpoint.id.clone());
        let is_unpinned = |checkpoint: &&Checkpoint| {
            !checkpoint.carried.pinned && Some(&checkpoint.id) != newest.as_ref()
        };
        // If some were evicted, a checkpoint that only its pin kept may be evicted, too.
        let may_go = |checkpoint: &&Checkpoint| {
            listed.len() > limit || !pinned && self.evicted > 0 && checkpoint.id == id
        };
        let evictable = listed.iter().filter(is_unpinned).filter(may_go);
        let evictable: Vec<String> = evictable.map(|checkpoint| checkpoint.id.clone()).collect();
        let candidates = listed.to_vec();
        let left = evictable.len();
        if self.has_pins && self.choice.is_none() && left > 0 {
            self.choice = Some(EvictionChoice { candidates, evictable, left });
        }
    }

    fn change(&mut self, id: &str, change: impl Fn(&mut Checkpoint)) {
        let candidates = self.choice.iter_mut().flat_map(|choice| &mut choice.candidates);
        let checkpoints = self.checkpoints.iter_mut().chain(candidates);
        checkpoints.filter(|checkpoint| checkpoint.id == id).for_each(change);
    }

    /// Whether any is or was pinned.
    pub(super) fn has_pins(&self) -> bool {
        self.has_pins
    }

    /// Evicts all listed checkpoints except these.
    pub(super) fn retain(&mut self, ids: &[String]) {
        let listed = self.checkpoints.split_off(self.evicted);
        let gone = listed.iter().filter(|checkpoint| !ids.contains(&checkpoint.id));
        let gone: Vec<String> = gone.map(|checkpoint| checkpoint.id.clone()).collect();
        self.choice = None;
        self.list(listed, &gone);
    }

    /// Removes a listed checkpoint and all newer ones.
    pub(super) fn consume(&mut self, id: &str) {
        let mut listed = self.checkpoints[self.evicted..].iter();
        if let Some(index) = listed.position(|checkpoint| checkpoint.id == id) {
            self.checkpoints.truncate(self.evicted + index);
            self.choice = None;
        }
    }

    /// Whether a checkpoint may have been evicted.
    pub(super) fn may_be_evicted(&self, id: &str) -> bool {
        self.choice
            .as_ref()
            .is_some_and(|choice| choice.evictable.iter().any(|evictable| evictable == id))
    }

    /// Adds a checkpoint that was taken before `target` was restored; it evicts older pre-restore
    /// checkpoints. Those after the last other checkpoint must be evicted, the others may be; the oldest
    /// are assumed to be, until the evicted ones are observed. Where the target is unknown, none must be.
    ///
    /// Implements [`crate::rules::RESTORE_KEEPS_HISTORY`].
    pub(super) fn take_safety(
        &mut self,
        checkpoint: Checkpoint,
        target: Option<&str>,
        limit: usize,
    ) {
        self.leave_out(&checkpoint.id);
        self.evicted = self.evicted_count(limit);
        let listed = &self.checkpoints[self.evicted..];
        let may_go = |candidate: &&Checkpoint| {
            candidate.safety && !candidate.carried.pinned && Some(&*candidate.id) != target
        };
        let evictable: Vec<String> =
            listed.iter().filter(may_go).map(|candidate| candidate.id.clone()).collect();
        let newest =
            listed.iter().rev().take_while(|candidate| candidate.safety).filter(may_go).count();
        let excess = (listed.len() + 1).saturating_sub(limit);
        // Pinned checkpoints need not count.
        let pinned = listed.iter().filter(|candidate| candidate.carried.pinned).count();
        let must_go = if target.is_some() { excess.saturating_sub(pinned) } else { 0 };
        let left = evictable.len() - must_go.min(newest);
        let candidates = [listed, &[checkpoint]].concat();
        let gone = evictable[..excess.min(evictable.len())].to_vec();
        let (evictable, left) =
            if excess > 0 && left > 0 { (evictable, left) } else { (Vec::new(), 0) };
        // A checkpoint that was evictable before may still be evicted.
        let mut earlier = self.choice.take().map_or_else(Vec::new, |choice| choice.evictable);
        earlier.retain(|id| {
            !evictable.contains(id) && listed.iter().any(|checkpoint| checkpoint.id == *id)
        });
        let left = left + earlier.len();
        let evictable = [earlier, evictable].concat();
        self.list_candidates(EvictionChoice { candidates, evictable, left }, &gone);
    }

    /// Removes the listed checkpoint of that id: it was damaged, and is taken again with the same id.
    fn leave_out(&mut self, id: &str) {
        let index =
            self.checkpoints[self.evicted..].iter().position(|checkpoint| checkpoint.id == id);
        if let Some(index) = index {
            self.checkpoints.remove(self.evicted + index);
        }
    }

    /// Lists the candidates of a choice, except those that are `gone`. The choice stays open if any of them may
    /// be evicted.
    fn list_candidates(&mut self, choice: EvictionChoice, gone: &[String]) {
        self.checkpoints.truncate(self.evicted);
        self.list(choice.candidates.clone(), gone);
        self.choice = (!choice.evictable.is_empty()).then_some(choice);
    }

    /// Lists these checkpoints, except those that are `gone`, which are evicted.
    fn list(&mut self, checkpoints: Vec<Checkpoint>, gone: &[String]) {
        let (evicted, listed): (Vec<_>, Vec<_>) =
            checkpoints.into_iter().partition(|checkpoint| gone.contains(&checkpoint.id));
        self.checkpoints.extend(evicted);
        self.evicted = self.checkpoints.len();
        self.checkpoints.extend(listed);
    }

    /// Whether it is unknown which of the pre-restore checkpoints were evicted.
    pub(super) fn is_eviction_undecided(&self) -> bool {
        self.choice.is_some()
    }

    /// Records which checkpoints are left, newest first. A missing checkpoint that is not evictable is
    /// still expected.
    pub(super) fn settle(&mut self, ids: &[&String], limit: usize) {
        if let Some(EvictionChoice { candidates, evictable, left }) = self.choice.clone() {
            let is_gone = |id: &&String| !ids.contains(id);
            let gone: Vec<String> = evictable.iter().filter(is_gone).cloned().collect();
            if evictable.len() - gone.len() <= left {
                self.choice = None;
                let is_candidate = |checkpoint: &Checkpoint| {
                    candidates.iter().any(|candidate| candidate.id == checkpoint.id)
                };
                self.checkpoints.retain(|checkpoint| !is_candidate(checkpoint));
                self.list(candidates, &gone);
            }
        }
        let expected = self.checkpoints[self.evicted_count(limit)..].iter().rev();
        self.is_complete |= expected.map(|checkpoint| &checkpoint.id).eq(ids.iter().copied());
    }
}
