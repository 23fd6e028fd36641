//! Whether the suite notices a mutant: compares a run of its gate with runs of the unchanged package.

use super::PowerError;
use crate::divergence::Fingerprint;
use crate::runner::{RunError, Until};
use crate::sandbox::Scratch;
use crate::subject::NewSubject;
use crate::suite::{Plan, SuiteEvent, run_suite};
use crate::trial::{Trial, trial};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Mutex;

/// The results of the unchanged package.
#[derive(Debug, Default)]
pub struct Baseline {
    /// Failures that any run found.
    found: BTreeSet<Fingerprint>,
    /// Failures that occurred in a history of the plan in every run.
    shown: BTreeSet<Fingerprint>,
    /// Rules that were checked in every run.
    judged: BTreeSet<String>,
}

impl Baseline {
    /// Whether any run found this failure.
    pub fn knows(&self, failure: &Fingerprint) -> bool {
        self.found.contains(failure)
    }
}

/// The result of a mutant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A failure that the unchanged package does not have.
    New {
        /// The failure.
        failure: Fingerprint,
        /// The history that shows it.
        origin: String,
    },
    /// A failure of the unchanged package does not occur any more.
    Gone {
        /// The failure.
        failure: Fingerprint,
    },
    /// A rule is not checked any more.
    NotJudged {
        /// The rule.
        rule: String,
    },
    /// No verdict is possible, which ends a gate as well.
    NoVerdict {
        /// Why.
        why: String,
    },
    /// Every verdict and fingerprint equals that of the unchanged package.
    NotNoticed,
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::New { failure, origin } => write!(formatter, "{failure}, by {origin}"),
            Outcome::Gone { failure } => write!(formatter, "no {failure} any more"),
            Outcome::NotJudged { rule } => write!(formatter, "{rule} is not tested any more"),
            Outcome::NoVerdict { why } => write!(formatter, "no verdict: {why}"),
            Outcome::NotNoticed => write!(formatter, "not noticed"),
        }
    }
}

/// Runs the plan twice on the unchanged package; differences between the two runs decide nothing.
///
/// # Errors
/// The package cannot be run.
pub fn baseline(
    plan: &Plan,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
) -> Result<Baseline, PowerError> {
    let run_once = || -> Result<Baseline, PowerError> {
        let shown = Mutex::new(BTreeSet::new());
        let step = |step: SuiteEvent<'_>| {
            let SuiteEvent::Ended(ended) = step else { return };
            let mut shown = shown.lock().expect("no thread panics while it holds this");
            shown.extend(ended.failures.iter().cloned());
        };
        let findings = run_suite(plan, new_subject, scratch, &step)?;
        let judged = findings.checks.keys().map(|rule| (*rule).to_owned()).collect();
        let shown = shown.into_inner().expect("no thread panics while it holds this");
        Ok(Baseline { found: findings.failures.into_keys().collect(), shown, judged })
    };
    let first = run_once()?;
    let second = run_once()?;
    Ok(Baseline {
        found: first.found.union(&second.found).cloned().collect(),
        shown: first.shown.intersection(&second.shown).cloned().collect(),
        judged: first.judged.intersection(&second.judged).cloned().collect(),
    })
}

/// Runs a mutant through the plan, up to the first difference.
pub fn judge(
    plan: &Plan,
    baseline: &Baseline,
    mutant: &NewSubject<'_>,
    package: &NewSubject<'_>,
    scratch: &Scratch,
) -> Outcome {
    let mut shown = BTreeSet::new();
    let mut judged = BTreeSet::new();
    for number in 0..plan.all() {
        let (origin, history) = plan.history(number);
        let run = |subject: &NewSubject<'_>, scratch: &Scratch| {
            trial(&history, subject, scratch, Until::End)
        };
        let trial = match run(mutant, scratch) {
            Ok(trial) => trial,
            Err(error) => return Outcome::NoVerdict { why: first_line(&error) },
        };
        let failures = trial.ended(&origin).failures;
        let is_unknown = |failure: &&Fingerprint| !baseline.knows(failure);
        for failure in failures.iter().filter(is_unknown) {
            // A failure that is not stable decides nothing: it must occur again in a fresh process, and
            // not in the unchanged package.
            let occurs = |trial: Result<Trial, RunError>| {
                trial.is_ok_and(|trial| trial.ended(&origin).failures.contains(failure))
            };
            if occurs(run(mutant, &scratch.with_fresh_processes()))
                && !occurs(run(package, scratch))
            {
                return Outcome::New { failure: failure.clone(), origin };
            }
        }
        shown.extend(failures);
        judged.extend(trial.run.checks.into_keys().map(str::to_owned));
    }
    if let Some(failure) = baseline.shown.difference(&shown).next() {
        return Outcome::Gone { failure: failure.clone() };
    }
    match baseline.judged.difference(&judged).next() {
        Some(rule) => Outcome::NotJudged { rule: rule.clone() },
        None => Outcome::NotNoticed,
    }
}

fn first_line(error: &RunError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
