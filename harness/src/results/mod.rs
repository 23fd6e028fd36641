//! The results of a run, as a stream of lines that is written during the run and read by every report.
//!
//! One JSON object per line: the start, each history, each failure, each rule, and the end. A stream
//! without an end belongs to an interrupted run, and every report refuses it. [`text`], [`junit`] and
//! [`github`] depend on the stream alone.

mod accepted;
mod causes;
pub mod delta;
pub mod enough;
pub mod excused;
mod failure;
pub mod github;
pub mod junit;
mod kept;
mod merge;
mod overdue;
mod record;
pub mod text;
mod unjudged;
mod verdicts;

pub use accepted::AcceptedFailures;
pub use causes::{Entry, entries};
pub use failure::FailureFound;
pub use kept::kept_histories;
pub use merge::{MergeError, merge};
pub use record::{Record, RecordError, Recorder};

use crate::coverage::Behaviour;
use crate::depth::Depth;
use crate::divergence::Fingerprint;
use crate::share::Share;
use crate::subject::Identity;
use crate::suite::{Ended, Findings, Following, Verdict};
use herma_model::{Excuse, rules};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The version of the format of the lines.
pub const SCHEMA: u32 = 4;

/// One line of the stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Line {
    /// The first line.
    Started(Started),
    /// A history ended.
    History(Ended),
    /// One way in which a rule is broken.
    Failure(Box<FailureFound>),
    /// A difference that was seen only after another failure.
    Following(FollowingFound),
    /// The verdict on a rule.
    Rule(RuleJudged),
    /// A behaviour that was covered.
    Coverage(MetBehaviour),
    /// The last line.
    Finished(Finished),
}

/// The plan of a run, and the subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// The version of the format of the lines.
    pub schema: u32,
    /// The version of this suite.
    pub suite: String,
    /// The subject.
    pub subject: Identity,
    /// Its capabilities.
    pub capabilities: Vec<String>,
    /// Whether its store is a git repository, or several.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uses_git: bool,
    /// The seeds; one set of histories is generated for each.
    pub seeds: Vec<u64>,
    /// How many histories are generated for each seed.
    pub histories: u64,
    /// The maximum number of operations of a history.
    pub operations: usize,
    /// Whether each history had an injection, not only some.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inject: bool,
    /// Of the written cases, only those whose name or rules contain this text were run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases_of: Option<String>,
    /// Other options that chose the histories, as they were typed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub preset: String,
    /// How many kept or fixed histories ran before the others.
    #[serde(default)]
    pub kept: usize,
    /// How the canary failed, as it must.
    pub canary: Fingerprint,
    /// The part of the histories that was run.
    #[serde(default)]
    pub share: Share,
    /// The command that repeats the run.
    pub replay: String,
}

impl RuleJudged {
    /// Why the rule was not judged, if that is known.
    pub fn why_not(&self) -> Option<String> {
        let lacks = |claim| format!("lacks `{claim}`");
        self.why.clone().or_else(|| self.lacking.as_ref().map(lacks))
    }
}

impl Started {
    /// The seeds as text: `1, 2`.
    pub fn seeds(&self) -> String {
        let seeds: Vec<String> = self.seeds.iter().map(u64::to_string).collect();
        seeds.join(", ")
    }
}

/// A difference that was seen only after another failure, and that no separate history shows alone. It is
/// not reported as a failure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FollowingFound {
    /// The fingerprint of the difference.
    #[serde(flatten)]
    pub fingerprint: Fingerprint,
    /// The failure that it follows, and where it was observed.
    pub seen: Following,
}

/// The verdict on a rule.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RuleJudged {
    /// The rule.
    pub id: String,
    /// Its tier.
    pub tier: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Comparisons made for it.
    pub checks: u64,
    /// Comparisons that were not made, or whose answer was accepted, only because of an excuse.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub excused: BTreeMap<Excuse, u64>,
    /// A missing capability without which it cannot be judged.
    pub lacking: Option<String>,
    /// Why it was not judged, and what a user can change so that it is.
    #[serde(default)]
    pub why: Option<String>,
}

/// A behaviour that was covered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MetBehaviour {
    /// The behaviour.
    #[serde(flatten)]
    pub behaviour: Behaviour,
    /// How often it occurred.
    pub times: u64,
}

/// The figures of the complete run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finished {
    /// Histories run.
    pub histories: u64,
    /// Planned histories: more than those run if the time budget was used up.
    #[serde(default)]
    pub planned: u64,
    /// Operations applied.
    pub operations: u64,
    /// How many injections happened.
    #[serde(default)]
    pub injections: u64,
    /// How many of the generated operations were judged.
    pub depth: Depth,
    /// Time spent running histories, without shrinking.
    pub seconds: f64,
    /// Time spent shrinking.
    #[serde(default)]
    pub shortening_seconds: f64,
    /// How many histories ran at the same time.
    pub jobs: usize,
    /// The number of rules with each verdict.
    pub rules: BTreeMap<Verdict, usize>,
    /// How many behaviours were covered: a class of state, an operation and an outcome each.
    #[serde(default)]
    pub behaviours: usize,
}

impl Finished {
    /// Whether the time budget was used up before all histories had run.
    pub fn is_cut_short(&self) -> bool {
        self.histories < self.planned
    }

    /// Operations per second of one core.
    pub fn operations_per_second_and_core(&self) -> f64 {
        self.operations as f64 / self.seconds.max(1e-9) / self.jobs.max(1) as f64
    }
}

/// Why results cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// A line does not have the right form.
    #[error("line {line} is no line of a result: {source}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The first line is not the start.
    #[error("the results do not begin with what was started")]
    NoStart,
    /// The last line is missing.
    #[error("the results have no end: the run was cut short, and nothing is said of it")]
    NoEnd,
    /// The results are of another version.
    #[error("the results are of version {0}, and this program reads version {SCHEMA}")]
    OtherVersion(u32),
}

/// The results of a complete run.
#[derive(Clone, Debug)]
pub struct Results {
    /// The plan of the run, and the subject.
    pub started: Started,
    /// Every way in which a rule is broken.
    pub failures: Vec<FailureFound>,
    /// Differences that were seen only after another failure.
    pub following: Vec<FollowingFound>,
    /// Every rule.
    pub rules: Vec<RuleJudged>,
    /// Every behaviour that was covered.
    pub coverage: Vec<MetBehaviour>,
    /// The figures.
    pub finished: Finished,
}

impl Results {
    /// Reads a stream.
    ///
    /// # Errors
    /// A stream that is not valid, or has no end.
    pub fn read(text: &str) -> Result<Self, ResultsError> {
        let mut lines = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let read = serde_json::from_str(line);
            lines.push(read.map_err(|source| ResultsError::Line { line: index + 1, source })?);
        }
        let mut lines = lines.into_iter();
        let started = match lines.next() {
            Some(Line::Started(started)) if started.schema == SCHEMA => started,
            Some(Line::Started(started)) => {
                return Err(ResultsError::OtherVersion(started.schema));
            }
            _ => return Err(ResultsError::NoStart),
        };
        let mut failures = Vec::new();
        let mut rules = Vec::new();
        let mut coverage = Vec::new();
        let mut following = Vec::new();
        let mut finished = None;
        for line in lines {
            match line {
                Line::Started(_) => return Err(ResultsError::NoStart),
                Line::History(_) => {}
                Line::Failure(failure) => failures.push(*failure),
                Line::Following(difference) => following.push(difference),
                Line::Rule(rule) => rules.push(rule),
                Line::Coverage(behaviour) => coverage.push(behaviour),
                Line::Finished(end) => finished = Some(end),
            }
        }
        let finished = finished.ok_or(ResultsError::NoEnd)?;
        Ok(Results { started, failures, following, rules, coverage, finished })
    }

    /// The results of these findings; `replay` returns the command that shows a failure again.
    pub fn of(
        started: Started,
        findings: &Findings,
        replay: impl Fn(&Fingerprint) -> String,
    ) -> Self {
        let failures = findings
            .failures
            .iter()
            .map(|(fingerprint, failure)| {
                let hint = failure.shrunk.divergence.rule.hint_for(started.uses_git);
                FailureFound::new(fingerprint, failure, hint, replay(fingerprint))
            })
            .collect();
        let seen = |(fingerprint, seen): (&Fingerprint, &Following)| FollowingFound {
            fingerprint: fingerprint.clone(),
            seen: seen.clone(),
        };
        let following = findings.following.iter().map(seen).collect();
        let cases = unjudged::cases(findings);
        let rules: Vec<RuleJudged> = rules::catalogue()
            .map(|rule| RuleJudged {
                id: rule.id.to_owned(),
                tier: rule.tier.to_string(),
                verdict: findings.verdict(rule),
                checks: findings.checks.get(rule.id).copied().unwrap_or_default(),
                excused: findings.excused_by(rule),
                lacking: findings.capabilities.lacking(rule).map(str::to_owned),
                why: unjudged::why(findings, rule, &cases),
            })
            .collect();
        let mut by_verdict = BTreeMap::new();
        for rule in &rules {
            *by_verdict.entry(rule.verdict).or_default() += 1;
        }
        let finished = Finished {
            histories: findings.histories,
            planned: findings.planned,
            operations: findings.operations,
            injections: findings.injections,
            depth: findings.depth.clone(),
            seconds: findings.elapsed.as_secs_f64(),
            shortening_seconds: findings.shortening.as_secs_f64(),
            jobs: findings.jobs,
            rules: by_verdict,
            behaviours: findings.coverage.0.len(),
        };
        let behaviours = findings.coverage.0.iter();
        let coverage = behaviours
            .map(|(behaviour, times)| MetBehaviour { behaviour: behaviour.clone(), times: *times })
            .collect();
        Results { started, failures, following, rules, coverage, finished }
    }

    /// Writes the results to a file, without the lines of the histories.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let lines = std::iter::once(Line::Started(self.started.clone())).chain(self.last_lines());
        let text =
            |line| serde_json::to_string(&line).expect("a line holds only what JSON can say");
        let lines: Vec<String> = lines.map(text).collect();
        std::fs::write(path, lines.join("\n") + "\n")
    }

    /// Whether any failure did not show again.
    pub fn is_unstable(&self) -> bool {
        self.failures.iter().any(FailureFound::is_unstable)
    }

    /// The lines that follow those written during the run.
    pub fn last_lines(&self) -> Vec<Line> {
        let failures =
            self.failures.iter().cloned().map(|failure| Line::Failure(Box::new(failure)));
        let following = self.following.iter().cloned().map(Line::Following);
        let rules = self.rules.iter().cloned().map(Line::Rule);
        let coverage = self.coverage.iter().cloned().map(Line::Coverage);
        let finished = std::iter::once(Line::Finished(self.finished.clone()));
        failures.chain(following).chain(rules).chain(coverage).chain(finished).collect()
    }

    /// The failures, one entry for each cause: those of the worst rules first, and of each rule those that most
    /// histories show first.
    pub fn entries(&self) -> Vec<Entry<'_>> {
        self.entries_of(|_| true)
    }

    /// The entries of only those failures that `is_shown` accepts.
    pub fn entries_of(&self, is_shown: impl Fn(&FailureFound) -> bool) -> Vec<Entry<'_>> {
        let failures_of = |rule: &RuleJudged| {
            let failures = self.failures.iter().filter(|failure| is_shown(failure));
            let mut failures: Vec<_> =
                failures.filter(|failure| failure.fingerprint.rule == rule.id).collect();
            failures
                .sort_by_key(|failure| (failure.severity, std::cmp::Reverse(failure.histories)));
            failures
        };
        let mut by_rule: Vec<_> = self.rules.iter().map(failures_of).collect();
        by_rule.sort_by_key(|failures| failures.first().map(|failure| failure.severity));
        entries(by_rule.into_iter().flatten())
    }
}
