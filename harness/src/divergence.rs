//! A difference between what happened and what the model allows: the blamed rule, violations that may
//! follow from it, and the fingerprint that identifies the difference in other histories.

use crate::history::{CallPosition, InjectedEvent};
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
    /// The fingerprint of a rule that is broken in this way.
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
    /// The observation that disagrees with the model.
    pub judge: Judge,
    /// The operation, from 0; the number of operations if only the end of the history shows it.
    pub step: usize,
    /// What is wrong.
    pub mismatch: Mismatch,
    /// Other rules that the same operation broke, which may follow from the blamed rule.
    pub symptoms: Vec<Violation>,
    /// The failure at which world and subject first disagreed in that run, if it came before: this
    /// divergence may only follow from it, and is not reported until a history shows it alone.
    pub follows: Option<Fingerprint>,
    /// The call of the injection, where the history stands for one run for each call.
    pub call: Option<CallPosition>,
    /// The last injection before the divergence.
    pub after: Option<(InjectedEvent, Injected)>,
    /// The call of the last injection: what it did, and the kind of file.
    pub met: Option<String>,
}

impl Divergence {
    /// The divergence for a failure of the operation at `step`.
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

    /// Whether the operation of this divergence also breaks the rule of `divergence` in the same way,
    /// as the blamed rule or as a symptom.
    pub fn also_shows(&self, divergence: &Divergence) -> bool {
        let is_same = |rule: RuleRef, mismatch: &Mismatch| {
            *rule == *divergence.rule && mismatch.symptom == divergence.mismatch.symptom
        };
        let is_same_symptom = |violation: &Violation| is_same(violation.rule, &violation.mismatch);
        let shows = is_same(self.rule, &self.mismatch) || self.symptoms.iter().any(is_same_symptom);
        self.step == divergence.step && shows
    }

    /// The fingerprint of this failure.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.rule, &self.mismatch)
    }

    /// Blames the symptom at `index`; the rule that was blamed becomes a symptom.
    pub fn blame_symptom(&mut self, index: usize) {
        let Violation { rule, judge, mismatch } = &mut self.symptoms[index];
        mem::swap(&mut self.rule, rule);
        mem::swap(&mut self.judge, judge);
        mem::swap(&mut self.mismatch, mismatch);
    }
}
