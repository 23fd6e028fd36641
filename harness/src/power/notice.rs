//! Whether the suite notices a mutant: compares a run of its gate with runs of the unchanged package.

use super::PowerError;
use crate::divergence::Fingerprint;
use crate::runner::{RunError, Until};
use crate::sandbox::Scratch;
use crate::subject::NewSubject;
use crate::suite::Plan;
use crate::trial::{Trial, trial};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// What a history showed.
#[derive(Debug, Default)]
struct Shown {
    failures: BTreeSet<Fingerprint>,
    judged: BTreeSet<String>,
}

impl Shown {
    fn of(trial: &Trial, origin: &str) -> Shown {
        let judged = trial.run.checks.keys().map(|rule| (*rule).to_owned()).collect();
        Shown { failures: trial.ended(origin).failures.into_iter().collect(), judged }
    }

    fn all<'a>(shown: impl Iterator<Item = &'a Shown>) -> Shown {
        shown.fold(Shown::default(), |mut all, Shown { failures, judged }| {
            all.failures.extend(failures.iter().cloned());
            all.judged.extend(judged.iter().cloned());
            all
        })
    }
}

/// The results of the unchanged package.
#[derive(Debug, Default)]
pub struct Baseline {
    /// Failures that any run found.
    found: BTreeSet<Fingerprint>,
    /// What every run of each history of the plan showed.
    histories: Vec<Shown>,
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
    let mut baseline = Baseline::default();
    for (origin, history) in (0..plan.all()).map(|number| plan.history(number)) {
        let run = || trial(&history, new_subject, scratch, Until::End);
        let first = Shown::of(&run()?, &origin);
        let second = Shown::of(&run()?, &origin);
        baseline.histories.push(Shown {
            failures: first.failures.intersection(&second.failures).cloned().collect(),
            judged: first.judged.intersection(&second.judged).cloned().collect(),
        });
        baseline.found.extend([first, second].into_iter().flat_map(|shown| shown.failures));
    }
    Ok(baseline)
}

/// What judges the mutants of a package.
pub struct Judge<'a> {
    pub plan: &'a Plan,
    pub baseline: &'a Baseline,
    pub package: &'a NewSubject<'a>,
    pub scratch: &'a Scratch,
}

impl Judge<'_> {
    /// Runs a mutant through those histories of the plan that reach its line, up to the first difference. It
    /// shows in the others what the package shows.
    pub fn judge(&self, mutant: &NewSubject<'_>, reaches: impl Fn(usize) -> bool) -> Outcome {
        let Judge { plan, baseline, .. } = *self;
        let mut shown = Vec::new();
        for number in (0..plan.all()).filter(|number| reaches(*number as usize)) {
            let (origin, history) = plan.history(number);
            let run = |subject: &NewSubject<'_>, scratch: &Scratch| {
                trial(&history, subject, scratch, Until::End)
                    .map(|trial| Shown::of(&trial, &origin))
            };
            let now = match run(mutant, self.scratch) {
                Ok(now) => now,
                Err(error) => return Outcome::NoVerdict { why: first_line(&error) },
            };
            let is_unknown = |failure: &&Fingerprint| !baseline.knows(failure);
            for failure in now.failures.iter().filter(is_unknown) {
                // A failure that is not stable decides nothing: it must occur again in a fresh process, and
                // not in the unchanged package.
                let occurs = |shown: Result<Shown, RunError>| {
                    shown.is_ok_and(|shown| shown.failures.contains(failure))
                };
                if occurs(run(mutant, &self.scratch.with_fresh_processes()))
                    && !occurs(run(self.package, self.scratch))
                {
                    return Outcome::New { failure: failure.clone(), origin };
                }
            }
            shown.push(now);
        }
        let others = baseline.histories.iter().enumerate();
        let others = others.filter(|(number, _)| !reaches(*number)).map(|(_, shown)| shown);
        let shown = Shown::all(shown.iter().chain(others));
        let before = Shown::all(baseline.histories.iter());
        if let Some(failure) = before.failures.difference(&shown.failures).next() {
            return Outcome::Gone { failure: failure.clone() };
        }
        match before.judged.difference(&shown.judged).next() {
            Some(rule) => Outcome::NotJudged { rule: rule.clone() },
            None => Outcome::NotNoticed,
        }
    }
}

fn first_line(error: &RunError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
