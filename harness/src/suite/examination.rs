//! The examination of a failure that a suite found: its shortest history, and whether it occurs again.

use super::collected::UnshrunkFailure;
use super::unclaimed::question;
use super::{Failure, Plan, REPRODUCTIONS, Reproduced};
use crate::divergence::{Divergence, Fingerprint};
use crate::protocol::capabilities::Capabilities;
use crate::sandbox::Scratch;
use crate::shrink::{self, Budget, FailingHistory, Shrunk, is_past};
use crate::special::special_things;
use crate::subject::NewSubject;
use crate::transcript::{Transcript, transcript};
use crate::trial::trial;
use std::collections::BTreeSet;
use std::time::Instant;

/// How failures are shrunk and reproduced.
pub(super) struct Examination<'a> {
    pub(super) plan: &'a Plan,
    /// The capabilities of the subject.
    pub(super) capabilities: &'a Capabilities,
    pub(super) budget: Budget,
    /// No history is run again after this moment, if there is one.
    pub(super) until: Option<Instant>,
    pub(super) new_subject: &'a NewSubject<'a>,
    pub(super) scratch: &'a Scratch,
}

impl Examination<'_> {
    /// Searches for the shortest history of a failure and repeats it to see whether it is stable, as long as
    /// there is time.
    pub(super) fn examine(&self, failure: UnshrunkFailure, fingerprint: &Fingerprint) -> Failure {
        let Examination { plan, budget, until, new_subject, scratch, .. } = *self;
        let UnshrunkFailure { origin, history, divergence, histories, .. } = failure;
        let unshrunk = Shrunk { history, divergence, executions: 0 };
        let unexamined = |shrunk, reproduced| Failure {
            origin: origin.clone(),
            histories,
            shrunk,
            reproduced,
            asked: Vec::new(),
            trees: Vec::new(),
            special: BTreeSet::new(),
            question: None,
        };
        if plan.known.contains(fingerprint) || is_past(until) {
            return unexamined(unshrunk, None);
        }
        let fresh = scratch.with_fresh_processes();
        let failing =
            FailingHistory { history: &unshrunk.history, divergence: &unshrunk.divergence };
        let mut shrunk = match is_past(budget.until) {
            true => unshrunk.clone(),
            false => shrink::shrink(failing, new_subject, scratch, &budget),
        };
        let mut reproduced = self.reproduce(&shrunk, &fresh, fingerprint);
        if reproduced.times == 0 && !is_past(budget.until) {
            // A process that served other histories before may have misled the search.
            let executions = shrunk.executions;
            shrunk = shrink::shrink(failing, new_subject, &fresh, &budget);
            shrunk.executions += executions;
            reproduced = self.reproduce(&shrunk, &fresh, fingerprint);
        }
        let is_stable = reproduced.times > 0;
        let reproduced = (reproduced.of > 0).then_some(reproduced);
        if is_past(until) {
            return unexamined(shrunk, reproduced);
        }
        let special = match is_stable && shrunk.executions > 0 {
            true => special_things(&shrunk, new_subject, &fresh),
            false => BTreeSet::new(),
        };
        let until = shrink::until(&shrunk.divergence);
        // A run that cannot be made leaves the transcript empty; `reproduced` shows that.
        let transcript =
            transcript(&shrunk.history, new_subject, &fresh, until).unwrap_or_default();
        shrunk.divergence = transcript.own(&shrunk.divergence).clone();
        let Transcript { lines: asked, trees, .. } = transcript;
        let question = question(&shrunk, &special, self.capabilities);
        Failure { asked, trees, special, question, ..unexamined(shrunk, reproduced) }
    }

    /// Runs a history again, each time in a fresh process, and counts how often it fails in the same way.
    fn reproduce(&self, shrunk: &Shrunk, fresh: &Scratch, fingerprint: &Fingerprint) -> Reproduced {
        let until = shrink::until(&shrunk.divergence);
        let is_same = |divergence: &Divergence| {
            divergence.follows.is_none() && divergence.fingerprint() == *fingerprint
        };
        let mut reproduced = Reproduced { times: 0, of: 0 };
        while reproduced.of < REPRODUCTIONS && !is_past(self.until) {
            let trial = trial(&shrunk.history, self.new_subject, fresh, until);
            let fails = trial.is_ok_and(|trial| trial.run.divergences.iter().any(is_same));
            reproduced.times += usize::from(fails);
            reproduced.of += 1;
        }
        reproduced
    }
}
