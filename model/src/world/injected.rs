//! What is known once something was made to happen during a request: of one that ended or was refused,
//! whether it took effect is for the lists after it to say, and nobody says how far it came.

use super::{Checkpoint, Marker, Slot, World};
use crate::answer::{Answer, CheckpointOutcome, Listed, Restored};
use crate::bytes::{ByteString, below};
use crate::injected::{Aftermath, Injected, Lists};
use crate::observation::Observation;
use crate::request::Request;
use std::sync::Arc;

/// No history reaches a bound on the total size above this many bytes.
pub const BOUND_MET_MAX: u64 = 2 << 20;

impl World {
    /// Takes in a request during which something was made to happen.
    pub fn learn_injected(&mut self, seen: &Observation, injected: Injected, after: &Aftermath) {
        let lists = &after.lists;
        let is_answered = !injected.ends_process() && is_success(&seen.answer);
        if is_answered {
            self.learn_success(seen, after);
            self.forget_state(seen);
            self.doubt_upkeep();
            return;
        }
        let seen = self.with_what_took_effect(seen, lists);
        let project = seen.request.dir().and_then(|dir| self.canonical(dir));
        let is_automatic = matches!(seen.request, Request::EnsureCheckpoint { .. });
        self.learn(&seen);
        self.doubt_upkeep();
        if injected == Injected::CallFailed {
            self.forget_state(&seen);
        }
        match (&seen.request, project) {
            (Request::Sweep | Request::Prune { .. }, _) => {
                self.learn_unanswered_sweep(&after.may_be_gone)
            }
            (request, Some(project)) if !request.only_looks() => {
                if request.restores() {
                    self.undos.doubt();
                    self.hands.forget(&project);
                }
                if seen.taken().is_none() {
                    self.learn_room(&project, lists);
                } else if is_automatic {
                    self.slots.insert(project, Slot::Unclear);
                }
            }
            _ => {}
        }
        if (1..=BOUND_MET_MAX).contains(&self.size_bound(&seen.request)) {
            self.learn_kept(lists);
        }
        if injected.ends_process() {
            let files = seen.files.clone();
            self.learn(&Observation::new(Request::Reopen, Answer::Done, files));
        }
    }

    /// Takes in what a request left beside which somebody made these files of the project's: whether they
    /// came before or after a checkpoint of it, nobody knows. Where a folder came or went, or something was
    /// left out, so is all that it holds.
    pub fn learn_beside(&mut self, seen: &Observation, edited: &World, lists: &Lists) {
        let leaves_out =
            matches!(&seen.answer, Answer::Taken { skipped, .. } if !skipped.is_empty());
        let is_new_known = !leaves_out && !self.moves_folder(&seen.request, &edited.files);
        let before = std::mem::replace(self, edited.clone()).files;
        self.doubt_upkeep();
        self.learn_amiss(&self.with_what_took_effect(seen, lists));
        self.hands.changed(&before, &edited.files, Some(&ByteString::default()));
        let then: Vec<&Checkpoint> =
            edited.histories.values().flat_map(|history| &history.all).collect();
        for one in self.histories.values_mut().flat_map(|history| &mut history.all) {
            let then = then.iter().find(|then| then.id == one.id);
            if !then.map_or(is_new_known, |then| then.captured.is_some()) {
                one.captured = None;
            }
        }
        let listed = self.histories.values().flat_map(|history| &history.all);
        for undo in self.undos.checkpoints() {
            if let Some(same) = listed.clone().find(|one| one.id == undo.id) {
                undo.captured.clone_from(&same.captured);
            }
        }
    }

    /// What could not be read of the agent's state the checkpoint that was taken has not: no answer says so.
    fn forget_state(&mut self, seen: &Observation) {
        let id = seen.taken();
        let all = self.histories.values_mut().flat_map(|history| &mut history.all);
        all.filter(|one| Some(&one.id) == id).for_each(|one| one.carried.forget_parts());
    }

    /// What could not be read is left out, where that is said.
    fn learn_success(&mut self, seen: &Observation, after: &Aftermath) {
        let extra = &after.unread;
        self.learn(seen);
        let Answer::Taken { outcome: CheckpointOutcome::Created { id }, .. } = &seen.answer else {
            if let (Answer::Swept { .. }, true) = (&seen.answer, !self.is_any_disturbed()) {
                self.learn_unanswered_sweep(&after.may_be_gone);
            }
            return;
        };
        let project = seen.request.dir().and_then(|dir| self.canonical(dir));
        let history = project.and_then(|project| self.histories.get_mut(&project));
        let taken = history.and_then(|history| history.all.iter_mut().find(|one| one.id == *id));
        let captured = taken.and_then(|taken| taken.captured.as_mut());
        if let (Some(captured), false) = (captured, extra.is_empty()) {
            let is_left_out = |path: &ByteString| {
                extra.iter().any(|one| one == path || below(one, path).is_some())
            };
            Arc::make_mut(captured).tree.retain(|path, _| !is_left_out(path));
        }
    }

    /// The one checkpoint of a project that a list has and nobody knew.
    fn new_of(&self, project: &ByteString, lists: &Lists) -> Option<String> {
        let known = self.history(project);
        let is_known = |one: &&Listed| known.iter().any(|known| known.id == one.id);
        let newest = lists.get(project)?.first()?;
        Some(newest).filter(|one| !is_known(one)).map(|one| one.id.clone())
    }

    /// The same with the answer that the request would have had where a new checkpoint is listed: it is
    /// that of the request, and of all that was there.
    fn with_what_took_effect(&self, seen: &Observation, lists: &Lists) -> Observation {
        let project = seen.request.dir().and_then(|dir| self.canonical(dir));
        let new = project.and_then(|project| self.new_of(&project, lists));
        let answer = match (&seen.request, new) {
            (Request::Checkpoint { .. } | Request::EnsureCheckpoint { .. }, Some(id)) => {
                let outcome = CheckpointOutcome::Created { id };
                Answer::Taken { outcome, skipped: Vec::new() }
            }
            (request, Some(id)) if request.restores() => {
                Answer::Restored(Restored { safety: Some(id), ..Restored::default() })
            }
            _ => seen.answer.clone(),
        };
        Observation { answer, ..seen.clone() }
    }

    /// Who makes room before anything is stored may have made it.
    fn learn_room(&mut self, project: &ByteString, lists: &Lists) {
        let (Some(listed), known) = (lists.get(project), self.listed(project)) else { return };
        let missing = known.len().saturating_sub(listed.len());
        let kept = known[missing.min(known.len())..].iter().rev().map(|one| &one.id);
        let is_oldest = kept.eq(listed.iter().map(|one| &one.id));
        if self.is_full(project) && missing == 1 && is_oldest {
            self.learn_list(project, listed);
        }
    }

    /// A bound on the total size may have cost the oldest of any project; the newest stays.
    fn learn_kept(&mut self, lists: &Lists) {
        for (project, listed) in lists.iter().filter(|(_, listed)| !listed.is_empty()) {
            let known = self.listed(project).iter().rev().map(|one| &one.id);
            if known.take(listed.len()).eq(listed.iter().map(|one| &one.id)) {
                self.learn_list(project, listed);
            }
        }
    }

    /// What a sweep may remove it may have removed.
    pub(crate) fn learn_unanswered_sweep(&mut self, may_be_gone: &[ByteString]) {
        self.maintenance.marker = Marker::Unknown;
        may_be_gone.iter().for_each(|project| self.set_adrift(project.clone()));
    }
}

/// Whether that is what was asked for, not a refusal.
fn is_success(answer: &Answer) -> bool {
    !matches!(answer, Answer::Refused { .. } | Answer::Crashed(_))
}
