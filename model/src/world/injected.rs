//! Updates the world after a request with an injection. Only the lists afterwards show whether a request
//! took effect whose process ended or which was refused; how far it got stays unknown.

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
    /// Records the observation of a request with an injection.
    pub fn learn_injected(&mut self, seen: &Observation, injected: Injected, after: &Aftermath) {
        let lists = &after.lists;
        self.doubt_rollbacks();
        let is_answered = !injected.ends_process() && is_success(&seen.answer);
        if is_answered {
            self.learn_success(seen, after);
            self.forget_agent_state(seen);
            self.mark_size_uncertain();
            return;
        }
        let seen = self.with_effective_answer(seen, lists);
        let project = seen.request.dir().and_then(|dir| self.canonical(dir));
        let is_automatic = matches!(seen.request, Request::EnsureCheckpoint { .. });
        self.learn(&seen);
        self.mark_size_uncertain();
        if injected == Injected::CallFailed {
            self.forget_agent_state(&seen);
        }
        match (&seen.request, project) {
            (Request::Sweep | Request::Prune { .. }, _) => {
                self.learn_unanswered_sweep(&after.may_be_gone)
            }
            (request, Some(project)) if !request.only_looks() => {
                if request.restores() {
                    self.pre_restore.doubt();
                    self.attribution.doubt_reports(&project);
                }
                if seen.taken().is_none() {
                    self.learn_eviction(&project, lists);
                } else if is_automatic {
                    self.slots.insert(project, Slot::Unclear);
                }
            }
            _ => {}
        }
        if (1..=BOUND_MET_MAX).contains(&self.size_bound(&seen.request)) {
            self.learn_size_eviction(lists);
        }
        if injected.ends_process() {
            let files = seen.files.clone();
            self.learn(&Observation::new(Request::Reopen, Answer::Done, files));
        }
    }

    /// Records the observation of a request during which a user edited the project to these files. Whether
    /// the edits are in its checkpoint is unknown; where a folder was added, moved or removed, or a file
    /// was left out, the complete content of the checkpoint is.
    pub fn learn_with_concurrent_edits(
        &mut self,
        seen: &Observation,
        edited: &World,
        lists: &Lists,
    ) {
        let leaves_out =
            matches!(&seen.answer, Answer::Taken { skipped, .. } if !skipped.is_empty());
        let is_new_known = !leaves_out && !self.moves_folder(&seen.request, &edited.files);
        let before = std::mem::replace(self, edited.clone()).files;
        self.mark_size_uncertain();
        self.learn_after_violation(&self.with_effective_answer(seen, lists));
        self.doubt_rollbacks();
        self.attribution.record_changes(&before, &edited.files, Some(&ByteString::default()));
        let earlier: Vec<&Checkpoint> =
            edited.histories.values().flat_map(|history| &history.checkpoints).collect();
        let checkpoints = self.histories.values_mut().flat_map(|history| &mut history.checkpoints);
        for checkpoint in checkpoints {
            let earlier = earlier.iter().find(|earlier| earlier.id == checkpoint.id);
            if !earlier.map_or(is_new_known, |earlier| earlier.captured.is_some()) {
                checkpoint.captured = None;
            }
        }
        let listed = self.histories.values().flat_map(|history| &history.checkpoints);
        for pre_restore in self.pre_restore.checkpoints() {
            let same = listed.clone().find(|checkpoint| checkpoint.id == pre_restore.id);
            if let Some(same) = same {
                pre_restore.captured.clone_from(&same.captured);
            }
        }
    }

    /// Records that the new checkpoint lacks parts of the agent's state that could not be read: an answer
    /// does not report that.
    fn forget_agent_state(&mut self, seen: &Observation) {
        let id = seen.taken();
        let checkpoints = self.histories.values_mut().flat_map(|history| &mut history.checkpoints);
        checkpoints
            .filter(|checkpoint| Some(&checkpoint.id) == id)
            .for_each(|checkpoint| checkpoint.carried.forget_parts());
    }

    /// Records a success; files that could not be read are left out, where that is reported.
    fn learn_success(&mut self, seen: &Observation, after: &Aftermath) {
        let unread = &after.unread;
        self.learn(seen);
        let Answer::Taken { outcome: CheckpointOutcome::Created { id }, .. } = &seen.answer else {
            if let (Answer::Swept { .. }, true) = (&seen.answer, !self.is_any_partially_corrupted())
            {
                self.learn_unanswered_sweep(&after.may_be_gone);
            }
            return;
        };
        let project = seen.request.dir().and_then(|dir| self.canonical(dir));
        let history = project.and_then(|project| self.histories.get_mut(&project));
        let taken = history.and_then(|history| {
            history.checkpoints.iter_mut().find(|checkpoint| checkpoint.id == *id)
        });
        let captured = taken.and_then(|taken| taken.captured.as_mut());
        if let (Some(captured), false) = (captured, unread.is_empty()) {
            let is_left_out = |path: &ByteString| {
                unread.iter().any(|unread| unread == path || below(unread, path).is_some())
            };
            Arc::make_mut(captured).tree.retain(|path, _| !is_left_out(path));
        }
    }

    /// The id of the newest listed checkpoint of a project, if it is new.
    fn new_checkpoint_id(&self, project: &ByteString, lists: &Lists) -> Option<String> {
        let history = self.history(project);
        let is_known = |entry: &&Listed| history.iter().any(|checkpoint| checkpoint.id == entry.id);
        let newest = lists.get(project)?.first()?;
        Some(newest).filter(|entry| !is_known(entry)).map(|entry| entry.id.clone())
    }

    /// The observation, with the answer of a successful request where a new checkpoint is listed: that
    /// checkpoint is the request's, and complete.
    fn with_effective_answer(&self, seen: &Observation, lists: &Lists) -> Observation {
        let project = seen.request.dir().and_then(|dir| self.canonical(dir));
        let new = project.and_then(|project| self.new_checkpoint_id(&project, lists));
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

    /// Records the eviction by an implementation that evicts before it stores the new checkpoint.
    fn learn_eviction(&mut self, project: &ByteString, lists: &Lists) {
        let Some(listed) = lists.get(project) else { return };
        let expected = self.listed(project);
        let missing = expected.len().saturating_sub(listed.len());
        let kept = expected[missing.min(expected.len())..].iter().rev();
        let is_oldest =
            kept.map(|checkpoint| &checkpoint.id).eq(listed.iter().map(|entry| &entry.id));
        if self.is_full(project) && missing == 1 && is_oldest {
            self.learn_list(project, listed);
        }
    }

    /// Records that the size limit may have evicted the oldest checkpoints of any project, but not the
    /// newest.
    fn learn_size_eviction(&mut self, lists: &Lists) {
        for (project, listed) in lists.iter().filter(|(_, listed)| !listed.is_empty()) {
            let expected = self.listed(project).iter().rev().map(|checkpoint| &checkpoint.id);
            if expected.take(listed.len()).eq(listed.iter().map(|entry| &entry.id)) {
                self.learn_list(project, listed);
            }
        }
    }

    /// Records that a sweep may have removed these projects.
    pub(crate) fn learn_unanswered_sweep(&mut self, may_be_gone: &[ByteString]) {
        self.maintenance.marker = Marker::Unknown;
        may_be_gone.iter().for_each(|project| self.mark_history_unknown(project.clone()));
    }
}

/// Whether the request succeeded.
fn is_success(answer: &Answer) -> bool {
    !matches!(answer, Answer::Refused { .. } | Answer::Crashed(_))
}
