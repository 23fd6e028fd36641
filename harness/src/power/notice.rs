//! Whether the suite notices a mutant: what a run of its gate shows, against what the package shows
//! as it is.

use super::PowerError;
use crate::divergence::Fingerprint;
use crate::runner::{RunError, Until};
use crate::sandbox::Scratch;
use crate::subject::NewSubject;
use crate::suite::{Plan, Step, run_suite};
use crate::trial::{Trial, trial_until};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Mutex;

/// What the package shows as it is.
#[derive(Debug, Default)]
pub struct Baseline {
    /// Failures that any run showed by themselves.
    known: BTreeSet<Fingerprint>,
    /// Failures that a history of the plan showed in every run.
    shown: BTreeSet<Fingerprint>,
    /// Rules that were put to the test in every run.
    judged: BTreeSet<String>,
}

impl Baseline {
    /// Whether any run showed this failure.
    pub fn knows(&self, failure: &Fingerprint) -> bool {
        self.known.contains(failure)
    }
}

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A failure that the package does not have.
    New {
        /// The failure.
        failure: Fingerprint,
        /// The history that shows it.
        origin: String,
    },
    /// A failure of the package does not show any more.
    Gone {
        /// The failure.
        failure: Fingerprint,
    },
    /// Nothing put a rule to the test any more.
    NotJudged {
        /// The rule.
        rule: String,
    },
    /// No verdict is possible, which ends a gate as well.
    NoVerdict {
        /// Why.
        why: String,
    },
    /// Every verdict and fingerprint is that of the package.
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

/// Runs the plan twice on the package as it is; what differs between the two decides nothing.
///
/// # Errors
/// The package cannot be run.
pub fn baseline(
    plan: &Plan,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
) -> Result<Baseline, PowerError> {
    let once = || -> Result<Baseline, PowerError> {
        let shown = Mutex::new(BTreeSet::new());
        let step = |step: Step<'_>| {
            let Step::Ended(ended) = step else { return };
            let mut shown = shown.lock().expect("no thread panics while it holds this");
            shown.extend(ended.failures.iter().cloned());
        };
        let findings = run_suite(plan, new_subject, scratch, &step)?;
        let judged = findings.checks.keys().map(|rule| (*rule).to_owned()).collect();
        let shown = shown.into_inner().expect("no thread panics while it holds this");
        Ok(Baseline { known: findings.failures.into_keys().collect(), shown, judged })
    };
    let (first, second) = (once()?, once()?);
    Ok(Baseline {
        known: first.known.union(&second.known).cloned().collect(),
        shown: first.shown.intersection(&second.shown).cloned().collect(),
        judged: first.judged.intersection(&second.judged).cloned().collect(),
    })
}

/// Puts a mutant through the plan, up to the first difference.
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
            trial_until(Until::End, &history, subject, scratch)
        };
        let trial = match run(mutant, scratch) {
            Ok(trial) => trial,
            Err(error) => return Outcome::NoVerdict { why: first_line(&error) },
        };
        let failures = trial.ended(&origin).failures;
        let unknown = |one: &&Fingerprint| !baseline.knows(one);
        for failure in failures.iter().filter(unknown) {
            // A failure that comes and goes is nobody's: it must show again, in a fresh process,
            // and not without the change.
            let shows = |trial: Result<Trial, RunError>| {
                trial.is_ok_and(|trial| trial.ended(&origin).failures.contains(failure))
            };
            if shows(run(mutant, &scratch.with_fresh_processes())) && !shows(run(package, scratch))
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
