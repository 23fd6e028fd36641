//! The oracle: decides whether what happened is what the model allows.
//!
//! Three judges look at three things: [`answer`] at what the subject said, [`disk`] at what the
//! files are, [`git`] at what the store holds as plain git reads it. Each compares with the model
//! alone, counts every comparison for the rule it serves, and names the rule that is broken.

pub mod answer;
pub mod disk;
pub mod git;
pub mod git_objects;

use herma_model::rules::RuleRef;
use std::collections::BTreeMap;
use std::fmt;

/// Who found a difference; the other side is always the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judge {
    /// What the subject answered.
    Answer,
    /// The files as the harness sees them.
    Disk,
    /// The store as plain git reads it.
    Git,
}

impl fmt::Display for Judge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Judge::Answer => "the subject's answer",
            Judge::Disk => "the disk",
            Judge::Git => "plain git",
        })
    }
}

/// Something the model does not allow.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// The rule that is broken.
    pub rule: RuleRef,
    /// Who disagrees with the model.
    pub judge: Judge,
    /// The operation, from 0; the number of operations where only the end shows it.
    pub step: usize,
    /// What the model allows.
    pub expected: String,
    /// What was found.
    pub found: String,
}

impl Divergence {
    /// Whether another divergence is the same failure, seen in another history.
    pub fn is_same_failure(&self, other: &Divergence) -> bool {
        self.rule == other.rule && self.judge == other.judge
    }
}

/// Counts comparisons, and keeps the first that fails.
#[derive(Debug, Default)]
pub struct Checks {
    counts: BTreeMap<&'static str, u64>,
    divergence: Option<Divergence>,
    step: usize,
}

impl Checks {
    /// The following comparisons are about this operation.
    pub fn at_step(&mut self, step: usize) {
        self.step = step;
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
        told: impl FnOnce() -> (String, String),
    ) {
        self.held(rule, 1);
        if !holds && self.divergence.is_none() {
            let (expected, found) = told();
            self.divergence = Some(Divergence { rule, judge, step: self.step, expected, found });
        }
    }

    /// Compares two values for `rule`.
    pub fn same<T: PartialEq + fmt::Debug>(
        &mut self,
        judge: Judge,
        rule: RuleRef,
        what: &str,
        expected: &T,
        found: &T,
    ) {
        self.check(judge, rule, expected == found, || {
            (format!("{what}: {expected:?}"), format!("{what}: {found:?}"))
        });
    }

    /// Whether a comparison failed.
    pub fn diverged(&self) -> bool {
        self.divergence.is_some()
    }

    /// The counts by rule id, and the first comparison that failed.
    pub fn into_parts(self) -> (BTreeMap<&'static str, u64>, Option<Divergence>) {
        (self.counts, self.divergence)
    }
}
