//! The checkpoints that a call may have taken if it was never answered, or was answered with the id
//! of a different checkpoint: those that are listed and that no other call took.

use super::{ConcurrentCall, PossibleAnswers, Timed};
use crate::allowed::Allowed;
use crate::answer::{Answer, CheckpointOutcome, Listed};
use crate::bytes::ByteString;
use crate::request::Request;
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};

/// The directory of a project and the id of a checkpoint: ids may repeat across projects.
type CheckpointKey<'a> = (&'a ByteString, &'a str);

impl World {
    /// Learns that a killed sweep or prune may have removed all that it may remove.
    pub(super) fn mark_unanswered_sweeps(&mut self, calls: &[ConcurrentCall]) {
        for call in calls.iter().filter(|call| call.answer.is_none()) {
            if let Allowed::Sweep(sweep) = self.allows(&call.request) {
                self.learn_unanswered_sweep(&sweep.may_be_gone());
            }
        }
    }
}

/// The checkpoints that the calls list, with their reasons.
pub(super) struct ListedCheckpoints<'a> {
    calls: &'a [ConcurrentCall],
    /// The reason of each checkpoint.
    reasons: BTreeMap<CheckpointKey<'a>, &'a str>,
    /// The checkpoints that the world did not know before.
    new: BTreeSet<CheckpointKey<'a>>,
    with_reasons: bool,
}

impl<'a> ListedCheckpoints<'a> {
    pub(super) fn of(calls: &'a [ConcurrentCall], world: &World) -> Self {
        let mut reasons = BTreeMap::new();
        for call in calls {
            if let (Some(dir), Some(Answer::Listed(listed))) = (call.request.dir(), &call.answer) {
                let row = |entry: &'a Listed| ((dir, entry.id.as_str()), entry.reason.as_str());
                reasons.extend(listed.iter().map(row));
            }
        }
        let is_new = |(dir, id): &&CheckpointKey<'_>| {
            let project = world.canonical(dir).unwrap_or_default();
            world.history(&project).iter().all(|checkpoint| checkpoint.id != *id)
        };
        let new = reasons.keys().filter(is_new).copied().collect();
        ListedCheckpoints { calls, reasons, new, with_reasons: world.has("list.reason") }
    }

    /// A call as input of the search; `None` for a killed call that takes no checkpoint.
    pub(super) fn timed(&self, call: &'a ConcurrentCall) -> Option<Timed<PossibleAnswers<'a>>> {
        let answers = match &call.answer {
            Some(Answer::Taken { skipped, .. }) if self.may_report_another(call) => {
                let taken = |outcome| Answer::Taken { outcome, skipped: skipped.clone() };
                self.candidates(call).map(taken).collect()
            }
            Some(answer) => vec![answer.clone()],
            None if reason(&call.request).is_some() => {
                let taken = |outcome| Answer::Taken { outcome, skipped: Vec::new() };
                // A checkpoint that was evicted before any list has an id that no answer shows.
                let id = format!("never listed, begun at {}", call.begin);
                let unseen = CheckpointOutcome::Created { id };
                self.candidates(call).chain([unseen]).map(taken).collect()
            }
            None => return None,
        };
        let end = call.answer.is_some().then_some(call.end);
        Some(Timed { begin: call.begin, end, call: PossibleAnswers { call, answers } })
    }

    /// The checkpoints that a call may have taken.
    fn candidates(&self, call: &'a ConcurrentCall) -> impl Iterator<Item = CheckpointOutcome> {
        let fits = move |key: &&CheckpointKey<'a>| match self.with_reasons {
            _ if Some(key.0) != call.request.dir() => false,
            true => self.reasons.get(*key).copied() == reason(&call.request),
            false => self.calls.iter().all(|reporting| reported(reporting) != Some(**key)),
        };
        let created =
            |(_, id): &CheckpointKey<'a>| CheckpointOutcome::Created { id: (*id).to_owned() };
        self.new.iter().filter(fits).map(created)
    }

    /// Whether the id that a call reports may be that of a different checkpoint: an implementation
    /// that looks up the id afterwards finds the newest. The reason shows it, or a second report.
    fn may_report_another(&self, call: &'a ConcurrentCall) -> bool {
        let Some(key) = reported(call).filter(|_| !call.is_alone) else { return false };
        let listed = self.reasons.get(&key).copied();
        let requested = reason(&call.request).filter(|_| self.with_reasons);
        let is_different = listed.is_some() && requested.is_some() && listed != requested;
        let reports_key = |candidate: &&ConcurrentCall| reported(candidate) == Some(key);
        is_different || self.calls.iter().filter(reports_key).count() > 1
    }
}

/// The checkpoint that the answer to a call reports.
fn reported(call: &ConcurrentCall) -> Option<CheckpointKey<'_>> {
    let id = match call.answer.as_ref()? {
        Answer::Taken { outcome: CheckpointOutcome::Created { id }, .. } => id,
        Answer::Restored(restored) => restored.safety.as_ref()?,
        _ => return None,
    };
    Some((call.request.dir()?, id))
}

/// The reason given in a request for a checkpoint.
fn reason(request: &Request) -> Option<&str> {
    match request {
        Request::Checkpoint { reason, .. } | Request::EnsureCheckpoint { reason, .. } => {
            Some(reason)
        }
        _ => None,
    }
}
