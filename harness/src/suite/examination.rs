//! The examination of a failure that a suite found: its shortest history, and whether it occurs again.

use super::collected::UnshrunkFailure;
use super::{Failure, Plan, REPRODUCTIONS};
use crate::divergence::{Divergence, Fingerprint};
use crate::sandbox::Scratch;
use crate::shrink::{self, Budget, FailingHistory, Shrunk};
use crate::subject::NewSubject;
use crate::transcript::{Transcript, transcript};
use crate::trial::trial;

/// How failures are shrunk and reproduced.
pub(super) struct Examination<'a> {
    pub(super) plan: &'a Plan,
    pub(super) budget: Budget,
    pub(super) new_subject: &'a NewSubject<'a>,
    pub(super) scratch: &'a Scratch,
}

impl Examination<'_> {
    /// Searches for the shortest history of a failure and repeats it to see whether it is stable.
    pub(super) fn examine(&self, failure: UnshrunkFailure, fingerprint: &Fingerprint) -> Failure {
        let Examination { plan, budget, new_subject, scratch } = *self;
        let UnshrunkFailure { origin, history, divergence, histories, .. } = failure;
        if plan.known.contains(fingerprint) {
            let shrunk = Shrunk { history, divergence, executions: 0 };
            let asked = Vec::new();
            let trees = Vec::new();
            return Failure { origin, histories, shrunk, reproduced: None, asked, trees };
        }
        let fresh = scratch.with_fresh_processes();
        let count_reproductions = |shrunk: &Shrunk| {
            let until = shrink::until(&shrunk.divergence);
            let is_same = |divergence: &Divergence| {
                divergence.follows.is_none() && divergence.fingerprint() == *fingerprint
            };
            let fails_again = || {
                let trial = trial(&shrunk.history, new_subject, &fresh, until);
                trial.is_ok_and(|trial| trial.run.divergences.iter().any(is_same))
            };
            (0..REPRODUCTIONS).filter(|_| fails_again()).count()
        };
        let failing = FailingHistory { history: &history, divergence: &divergence };
        let mut shrunk = shrink::shrink(failing, new_subject, scratch, &budget);
        let mut reproduced = count_reproductions(&shrunk);
        if reproduced == 0 {
            // A process that served other histories before may have misled the search.
            let executions = shrunk.executions;
            shrunk = shrink::shrink(failing, new_subject, &fresh, &budget);
            shrunk.executions += executions;
            reproduced = count_reproductions(&shrunk);
        }
        let reproduced = Some(reproduced);
        let until = shrink::until(&shrunk.divergence);
        // A run that cannot be made leaves the transcript empty; `reproduced` shows that.
        let transcript =
            transcript(&shrunk.history, new_subject, &fresh, until).unwrap_or_default();
        shrunk.divergence = transcript.own(&shrunk.divergence).clone();
        let Transcript { lines: asked, trees, .. } = transcript;
        Failure { origin, histories, shrunk, reproduced, asked, trees }
    }
}
