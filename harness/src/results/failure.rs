//! One failure of a run, as its results contain it.

use crate::divergence::{Fingerprint, Violation};
use crate::history::History;
use crate::severity::Severity;
use crate::suite::Failure;
use crate::transcript::TreesOfRequest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One way in which a rule is broken, with the shortest history that shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FailureFound {
    /// The fingerprint of the failure.
    #[serde(flatten)]
    pub fingerprint: Fingerprint,
    /// The rule in words.
    pub statement: String,
    /// Where the rule comes from.
    pub source: String,
    /// Which observation showed it.
    pub judge: String,
    /// The operation of the shortest history that shows it, from 1.
    pub operation: usize,
    /// What the model allows.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// Every path that differs, `-` as expected and `+` as found.
    pub tree: Vec<String>,
    /// The usual cause of such a failure.
    pub hint: Option<String>,
    /// The first history that failed in this way.
    pub origin: String,
    /// How many histories failed in this way.
    pub histories: u64,
    /// How many executions shrinking took.
    pub executions: usize,
    /// How many of the repeated runs failed again, and how many were made; `None` if none was made: the
    /// failure is known, or no time was left.
    pub reproduced: Option<(usize, usize)>,
    /// The shortest history found.
    pub history: History,
    /// The requests and replies of that history; empty if it was not run again.
    #[serde(default)]
    pub asked: Vec<String>,
    /// The files around each of these requests; empty if an earlier version wrote the results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<TreesOfRequest>,
    /// Other rules that the same operation broke, each with its symptom: if the cause is not the blamed
    /// rule, it is among these.
    #[serde(default)]
    pub also: Vec<String>,
    /// What is special in that history without which the operation breaks no rule, such as a link.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub special: BTreeSet<String>,
    /// The question whether a capability that is not claimed explains the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The severity of the failure.
    #[serde(default)]
    pub severity: Severity,
    /// The command that shows it again.
    pub replay: String,
}

impl FailureFound {
    /// The failure as results contain it.
    pub(super) fn new(
        fingerprint: &Fingerprint,
        failure: &Failure,
        hint: &str,
        replay: String,
    ) -> Self {
        let divergence = &failure.shrunk.divergence;
        let reproduced = failure.reproduced.map(|reproduced| (reproduced.times, reproduced.of));
        FailureFound {
            fingerprint: fingerprint.clone(),
            statement: divergence.rule.statement.to_owned(),
            source: divergence.rule.source.to_owned(),
            judge: divergence.judge.to_string(),
            operation: divergence.step + 1,
            expected: divergence.mismatch.expected.clone(),
            found: divergence.mismatch.found.clone(),
            tree: divergence.mismatch.tree.clone(),
            hint: Some(hint.to_owned()),
            origin: failure.origin.clone(),
            histories: failure.histories,
            executions: failure.shrunk.executions,
            reproduced,
            history: failure.shrunk.history.clone(),
            asked: failure.asked.clone(),
            trees: failure.trees.clone(),
            also: divergence.symptoms.iter().map(also).collect(),
            special: failure.special.clone(),
            question: failure.question.clone(),
            severity: Severity::of_failure(divergence),
            replay,
        }
    }

    /// A line with the question, if there is one.
    pub(super) fn question_line(&self) -> String {
        self.question.as_ref().map(|question| format!("question: {question}\n")).unwrap_or_default()
    }

    /// Whether the shortest history never failed again, so that there is no verdict.
    pub fn is_unstable(&self) -> bool {
        self.reproduced.is_some_and(|(times, _)| times == 0)
    }
}

fn also(violation: &Violation) -> String {
    format!("{}: {}", violation.rule.id, violation.mismatch.symptom)
}
