//! A difference between what happened and what the model allows: which rule is blamed, what may
//! follow from it, and the fingerprint that identifies it in other histories.

use crate::history::{At, What};
use herma_model::blame::Failure;
use herma_model::injected::Injected;
use herma_model::rules::RuleRef;
pub use herma_model::verdict::{Judge, Kind, Mismatch, Violation};
use serde::{Deserialize, Serialize};
use std::{fmt, mem};

/// Identifies a failure, whichever history shows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The id of the broken rule.
    pub rule: String,
    /// How it is broken.
    pub verdict: Kind,
    /// What is wrong, without paths, ids or numbers.
    pub symptom: String,
}

impl Fingerprint {
    /// That of a rule that is broken in this way.
    pub fn of(rule: RuleRef, mismatch: &Mismatch) -> Fingerprint {
        let Mismatch { kind: verdict, symptom, .. } = mismatch;
        Fingerprint { rule: rule.id.to_owned(), verdict: *verdict, symptom: symptom.clone() }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({}: {})", self.rule, self.verdict, self.symptom)
    }
}

/// Something the model does not allow.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// The rule that is blamed.
    pub rule: RuleRef,
    /// Who disagrees with the model.
    pub judge: Judge,
    /// The operation, from 0; the number of operations if only the end of the history shows it.
    pub step: usize,
    /// What is wrong.
    pub mismatch: Mismatch,
    /// Other rules that the same operation broke, which may follow from this one.
    pub symptoms: Vec<Violation>,
    /// The failure at which world and subject first disagreed in that run, if it came before: this
    /// one may only follow from it, and is no accusation until a history shows it alone.
    pub follows: Option<Fingerprint>,
    /// The call at which something was made to happen, where the history stands for a run for each.
    pub call: Option<At>,
    /// What was made to happen last before it.
    pub after: Option<(What, Injected)>,
    /// What the call did to what sort of file at which something was made to happen last.
    pub met: Option<String>,
}

impl Divergence {
    /// The failure that the operation at `step` showed.
    pub fn new(step: usize, failure: Failure, follows: Option<Fingerprint>) -> Self {
        let Violation { rule, judge, mismatch } = failure.cause;
        let symptoms = failure.symptoms;
        Divergence {
            rule,
            judge,
            step,
            mismatch,
            symptoms,
            follows,
            call: None,
            after: None,
            met: None,
        }
    }

    /// Whether the same operation breaks the same rule in the same way, be it beside another one.
    pub fn shows_too(&self, other: &Divergence) -> bool {
        let same = |rule: RuleRef, mismatch: &Mismatch| {
            *rule == *other.rule && mismatch.symptom == other.mismatch.symptom
        };
        let beside = |one: &Violation| same(one.rule, &one.mismatch);
        let shows = same(self.rule, &self.mismatch) || self.symptoms.iter().any(beside);
        self.step == other.step && shows
    }

    /// What identifies this failure.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.rule, &self.mismatch)
    }

    /// Blames another rule that the same operation broke, which this one follows from then.
    pub fn blame_symptom(&mut self, at: usize) {
        let Violation { rule, judge, mismatch } = &mut self.symptoms[at];
        mem::swap(&mut self.rule, rule);
        mem::swap(&mut self.judge, judge);
        mem::swap(&mut self.mismatch, mismatch);
    }
}
