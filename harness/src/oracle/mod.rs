//! The oracle: decides whether what happened is what the model allows.
//!
//! Three judges look at three things: [`answer`] at what the subject said, [`disk`] at what the
//! files are, [`git`] at what the store holds as plain git reads it. Each compares with the model
//! alone, counts every comparison for the rule it serves, and names the rule that is broken.

pub mod answer;
pub mod base;
pub mod cause;
pub mod content;
pub mod disk;
mod divergence;
pub mod git;
pub mod git_objects;
mod listing;
mod loose;
pub mod maintenance;
mod mistaken;
pub mod naming;
pub mod plain_git;
pub mod total;
mod truncated_history;

pub use divergence::{Divergence, Fingerprint, Judge, Kind, Mismatch, word};

use herma_model::rules::{self, RuleRef};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Rules about what is only said: where one is broken, the subject and the model still agree on
/// everything else, and the history goes on.
static ONLY_SAID: &[RuleRef] = &[
    &rules::SCOPE_ROOT_OF_FILE,
    &rules::SCOPE_ROOT_NEVER_BROAD,
    &rules::CAPTURE_REASON,
    &rules::LIST_TIME,
    &rules::LIST_STATS,
    &rules::LIST_OLDEST_NO_STATS,
    &rules::DIFF_PREVIEW,
    &rules::DIFF_STATS,
    &rules::RESTORE_UNDOES_TURN,
];

/// Counts comparisons, and keeps those that fail: the first of each part of the run, since what
/// follows within a part mostly follows from it.
#[derive(Debug, Default)]
pub struct Checks {
    counts: BTreeMap<&'static str, u64>,
    divergences: Vec<Divergence>,
    seen: BTreeSet<Fingerprint>,
    step: usize,
    failed_here: bool,
    diverged: bool,
}

impl Checks {
    /// The following comparisons are about this operation.
    pub fn at_step(&mut self, step: usize) {
        self.step = step;
        self.new_part();
    }

    /// The following comparisons do not depend on those before.
    pub fn new_part(&mut self) {
        self.failed_here = false;
    }

    /// Counts `times` comparisons for `rule` that held.
    pub fn held(&mut self, rule: RuleRef, times: u64) {
        *self.counts.entry(rule.id).or_default() += times;
    }

    /// Compares for `rule`: it holds, or this is what was expected and found.
    pub fn check(
        &mut self,
        judge: Judge,
        rule: RuleRef,
        holds: bool,
        told: impl FnOnce() -> Mismatch,
    ) {
        self.held(rule, 1);
        if holds || self.failed_here {
            return;
        }
        self.failed_here = true;
        let divergence = Divergence { rule, judge, step: self.step, mismatch: told() };
        self.diverged |= !leaves_the_rest_comparable(&divergence);
        if self.seen.insert(divergence.fingerprint()) {
            self.divergences.push(divergence);
        }
    }

    /// Compares two values for `rule`; `what` says what they are, and is the symptom.
    pub fn same<T: PartialEq + fmt::Debug>(
        &mut self,
        judge: Judge,
        rule: RuleRef,
        what: &str,
        expected: &T,
        found: &T,
    ) {
        self.check(judge, rule, expected == found, || {
            Mismatch::new(what, format!("{what}: {expected:?}"), format!("{what}: {found:?}"))
        });
    }

    /// Whether a comparison of this part failed.
    pub fn failed_here(&self) -> bool {
        self.failed_here
    }

    /// Whether subject and model no longer agree on what there is, so that nothing more can be
    /// compared.
    pub fn diverged(&self) -> bool {
        self.diverged
    }

    /// Nothing more can be compared.
    pub fn give_up(&mut self) {
        self.diverged = true;
    }

    /// The failures kept so far.
    pub fn failures(&self) -> &[Divergence] {
        &self.divergences
    }

    /// Puts one failure in the place of those kept after the first `before`, which follow from it.
    pub fn blame_on(&mut self, before: usize, cause: Divergence) {
        let step = self.step;
        for symptom in self.divergences.drain(before..) {
            self.seen.remove(&symptom.fingerprint());
        }
        self.diverged = true;
        if self.seen.insert(cause.fingerprint()) {
            self.divergences.push(Divergence { step, ..cause });
        }
    }

    /// The counts by rule id, and every comparison that failed.
    pub fn into_parts(self) -> (BTreeMap<&'static str, u64>, Vec<Divergence>) {
        (self.counts, self.divergences)
    }
}

fn leaves_the_rest_comparable(divergence: &Divergence) -> bool {
    let only_said = divergence.judge == Judge::Answer && ONLY_SAID.contains(&divergence.rule);
    only_said || divergence.mismatch.kind == Kind::WrongReason
}
