//! The results of the histories of a suite, collected from its threads: the totals, and each failure with the
//! history that shows it.

use super::{Findings, Following};
use crate::apart::apart;
use crate::divergence::{Divergence, Fingerprint};
use crate::history::History;
use crate::parallel;
use crate::runner::RunError;
use crate::sandbox::Scratch;
use crate::shrink::is_past;
use crate::subject::NewSubject;
use crate::trial::Trial;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A failure before its history is shrunk.
pub(super) struct UnshrunkFailure {
    pub(super) number: u64,
    pub(super) origin: String,
    pub(super) history: History,
    pub(super) divergence: Divergence,
    pub(super) histories: u64,
}

/// The results so far, which the threads of a suite share.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) findings: Findings,
    /// How long the longest history took.
    pub(super) longest: Duration,
    pub(super) independent: BTreeMap<Fingerprint, UnshrunkFailure>,
    /// Failures that only showed after another failure.
    pub(super) dependent: BTreeMap<Fingerprint, UnshrunkFailure>,
}

impl Collected {
    /// Whether any history failed.
    pub(super) fn has_failures(&self) -> bool {
        !(self.independent.is_empty() && self.dependent.is_empty())
    }

    pub(super) fn add(&mut self, number: u64, origin: &str, history: History, trial: Trial) {
        let Trial { run, plain } = trial;
        self.findings.capabilities = run.capabilities;
        self.findings.subject = run.subject;
        self.findings.histories += 1;
        self.findings.operations += run.operations as u64;
        self.findings.injections += run.injections;
        self.findings.depth.add(&run.depth);
        for (rule, count) in run.checks {
            *self.findings.checks.entry(rule).or_default() += count;
        }
        for (excused, times) in run.excused {
            *self.findings.excused.entry(excused).or_default() += times;
        }
        self.findings.coverage.join(run.coverage);
        for divergence in run.divergences {
            self.add_failure(number, origin, &history, divergence);
        }
        let in_plain_home = History { plain_home: true, ..history };
        for divergence in plain {
            self.add_failure(number, origin, &in_plain_home, divergence);
        }
    }

    fn add_failure(
        &mut self,
        number: u64,
        origin: &str,
        history: &History,
        divergence: Divergence,
    ) {
        let fingerprint = divergence.fingerprint();
        let history = &history.at_call(divergence.call);
        let divergence = Divergence { call: None, ..divergence };
        let is_independent = divergence.follows.is_none();
        let failures = if is_independent { &mut self.independent } else { &mut self.dependent };
        let previous = failures.remove(&fingerprint);
        let histories = previous.as_ref().map_or(0, |failure| failure.histories) + 1;
        // Threads finish in any order; the history with the lowest number is reported.
        let failure = match previous {
            Some(previous) if previous.number < number => UnshrunkFailure { histories, ..previous },
            _ => UnshrunkFailure {
                number,
                origin: origin.to_owned(),
                history: history.clone(),
                divergence,
                histories,
            },
        };
        failures.insert(fingerprint, failure);
    }

    /// Searches, for each failure that only showed after another one, a history that shows it alone.
    pub(super) fn isolate_dependent(
        &mut self,
        until: Option<Instant>,
        jobs: usize,
        new_subject: &NewSubject<'_>,
        scratch: &Scratch,
    ) -> Result<(), RunError> {
        let mut dependent = std::mem::take(&mut self.dependent);
        dependent.retain(|fingerprint, _| !self.independent.contains_key(fingerprint));
        let examined = parallel::try_map(dependent.into_iter(), jobs, |(fingerprint, failure)| {
            let isolated = match is_past(until) {
                true => None,
                false => apart(&failure.history, &fingerprint, new_subject, scratch)?,
            };
            Ok::<_, RunError>((fingerprint, failure, isolated))
        })?;
        for (fingerprint, failure, isolated) in examined {
            let UnshrunkFailure { origin, histories, .. } = &failure;
            match (isolated, &failure.divergence.follows) {
                (Some((history, divergence)), _) => {
                    let origin = format!("{origin}, without what fails before");
                    let isolated = UnshrunkFailure { origin, history, divergence, ..failure };
                    self.independent.insert(fingerprint, isolated);
                }
                (None, Some(follows)) => {
                    let following = Following {
                        follows: follows.clone(),
                        origin: origin.clone(),
                        histories: *histories,
                    };
                    self.findings.following.insert(fingerprint, following);
                }
                (None, None) => {}
            }
        }
        Ok(())
    }
}
