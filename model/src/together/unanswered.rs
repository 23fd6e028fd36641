//! Which checkpoints a call may have taken that was never answered, or answered with the id of another
//! one: those that are listed and that nobody else took.

use super::{Asked, Call, Timed};
use crate::allowed::Allowed;
use crate::answer::{Answer, CheckpointOutcome, Listed};
use crate::bytes::ByteString;
use crate::request::Request;
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};

/// An id and the directory of its project: other projects may have the same ids.
type Own<'a> = (&'a ByteString, &'a str);

impl World {
    /// What a killed sweep or prune may remove it may have removed.
    pub(super) fn doubt_unanswered_sweeps(&mut self, calls: &[Call]) {
        for call in calls.iter().filter(|call| call.answer.is_none()) {
            if let Allowed::Sweep(due) = self.allows(&call.request) {
                self.learn_unanswered_sweep(&due.may_be_gone());
            }
        }
    }
}

/// The ids that are listed, and what is said of them.
pub(super) struct Sightings<'a> {
    calls: &'a [Call],
    /// The reason of each.
    reasons: BTreeMap<Own<'a>, &'a str>,
    /// Those that nobody knew before.
    new: BTreeSet<Own<'a>>,
    with_reasons: bool,
}

impl<'a> Sightings<'a> {
    pub(super) fn of(calls: &'a [Call], world: &World) -> Self {
        let mut reasons = BTreeMap::new();
        for call in calls {
            if let (Some(dir), Some(Answer::Listed(listed))) = (call.request.dir(), &call.answer) {
                let row = |one: &'a Listed| ((dir, one.id.as_str()), one.reason.as_str());
                reasons.extend(listed.iter().map(row));
            }
        }
        let is_new = |(dir, id): &&Own<'_>| {
            let project = world.canonical(dir).unwrap_or_default();
            world.history(&project).iter().all(|one| one.id != *id)
        };
        let new = reasons.keys().filter(is_new).copied().collect();
        Sightings { calls, reasons, new, with_reasons: world.has("list.reason") }
    }

    /// A call as the search takes it; nothing where a killed one is not in question.
    pub(super) fn timed(&self, call: &'a Call) -> Option<Timed<Asked<'a>>> {
        let answers = match &call.answer {
            Some(Answer::Taken { skipped, .. }) if self.is_doubted(call) => {
                let taken = |outcome| Answer::Taken { outcome, skipped: skipped.clone() };
                self.may_be(call).map(taken).collect()
            }
            Some(answer) => vec![answer.clone()],
            None if reason(&call.request).is_some() => {
                let taken = |outcome| Answer::Taken { outcome, skipped: Vec::new() };
                // One that was dropped before anybody listed it has an id that nobody saw.
                let id = format!("never listed, begun at {}", call.begin);
                let unseen = CheckpointOutcome::Created { id };
                self.may_be(call).chain([unseen]).map(taken).collect()
            }
            None => return None,
        };
        let end = call.answer.is_some().then_some(call.end);
        Some(Timed { begin: call.begin, end, call: Asked { call, answers } })
    }

    /// The checkpoints that a call may have taken.
    fn may_be(&self, call: &'a Call) -> impl Iterator<Item = CheckpointOutcome> {
        let fits = move |one: &&Own<'a>| match self.with_reasons {
            _ if Some(one.0) != call.request.dir() => false,
            true => self.reasons.get(*one).copied() == reason(&call.request),
            false => self.calls.iter().all(|other| own_report(other) != Some(**one)),
        };
        let created = |(_, id): &Own<'a>| CheckpointOutcome::Created { id: (*id).to_owned() };
        self.new.iter().filter(fits).map(created)
    }

    /// Whether a checkpoint was reported by the id of another one: who looks for the id afterwards
    /// finds the newest. That is seen by its reason, or where two report the same.
    fn is_doubted(&self, call: &'a Call) -> bool {
        let Some(own) = own_report(call).filter(|_| !call.is_alone) else { return false };
        let listed = self.reasons.get(&own).copied();
        let reason = reason(&call.request).filter(|_| self.with_reasons);
        let is_of_another = listed.is_some() && reason.is_some() && listed != reason;
        let reporting = |other: &&Call| own_report(other) == Some(own);
        is_of_another || self.calls.iter().filter(reporting).count() > 1
    }
}

/// The id of the checkpoint that an answer reports, of its project.
fn own_report(call: &Call) -> Option<Own<'_>> {
    let id = match call.answer.as_ref()? {
        Answer::Taken { outcome: CheckpointOutcome::Created { id }, .. } => id,
        Answer::Restored(restored) => restored.safety.as_ref()?,
        _ => return None,
    };
    Some((call.request.dir()?, id))
}

/// Why a checkpoint was asked for.
fn reason(request: &Request) -> Option<&str> {
    match request {
        Request::Checkpoint { reason, .. } | Request::EnsureCheckpoint { reason, .. } => {
            Some(reason)
        }
        _ => None,
    }
}
