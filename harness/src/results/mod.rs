//! What a run showed, as a stream of lines that is written while it runs and read back by every
//! report.
//!
//! One JSON object on a line: what was started, each history, each failure, each rule, and the end.
//! A stream without an end is that of an interrupted run, and every report refuses it. [`text`],
//! [`junit`] and [`github`] are functions of the stream alone.

pub mod github;
pub mod junit;
mod merge;
pub mod text;
mod unjudged;

pub use merge::{MergeError, merge};

use crate::cases;
use crate::coverage::Behaviour;
use crate::depth::Depth;
use crate::divergence::{Fingerprint, Violation};
use crate::history::History;
use crate::severity::Severity;
use crate::share::Share;
use crate::subject::Identity;
use crate::suite::{Ended, Failure, Findings, Following, Verdict};
use herma_model::rules;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The version of the lines.
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
    /// A difference that only showed after a failure.
    Following(FollowingFound),
    /// The verdict on a rule.
    Rule(RuleJudged),
    /// A behaviour that was covered.
    Coverage(MetBehaviour),
    /// The last line.
    Finished(Finished),
}

/// What is run, on which subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// The version of the lines.
    pub schema: u32,
    /// The version of this suite.
    pub suite: String,
    /// The subject.
    pub subject: Identity,
    /// Its capabilities.
    pub capabilities: Vec<String>,
    /// Which histories are drawn, one set for each seed.
    pub seeds: Vec<u64>,
    /// How many are drawn for each seed.
    pub histories: u64,
    /// The most operations of one history.
    pub operations: usize,
    /// Whether something was made to happen at a call in each history, not in a few.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inject: bool,
    /// How the canary failed, as it must.
    pub canary: Fingerprint,
    /// The part of the histories that was run.
    #[serde(default)]
    pub share: Share,
    /// The command that runs the same again.
    pub replay: String,
}

/// One way in which a rule is broken, with the shortest history that shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FailureFound {
    /// What identifies it.
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
    /// The usual cause.
    pub hint: Option<String>,
    /// The first history that failed in this way.
    pub origin: String,
    /// How many histories failed in this way.
    pub histories: u64,
    /// How many executions it took to shorten it.
    pub executions: usize,
    /// How many of the repeated runs failed again, and how many were made.
    pub reproduced: Option<(usize, usize)>,
    /// The shortest history found.
    pub history: History,
    /// The same as it was asked, with the subject's own replies; nothing for a known failure.
    #[serde(default)]
    pub asked: Vec<String>,
    /// Other rules that the same operation broke, each with its symptom: where the cause is another
    /// one than it seems, it is one of these.
    #[serde(default)]
    pub also: Vec<String>,
    /// How much it matters.
    #[serde(default)]
    pub severity: Severity,
    /// The command that shows it again.
    pub replay: String,
}

impl RuleJudged {
    /// Why it was not judged, if that is known.
    pub fn why_not(&self) -> Option<String> {
        let lacks = |claim| format!("lacks `{claim}`");
        self.why.clone().or_else(|| self.lacking.as_ref().map(lacks))
    }
}

impl Started {
    /// The seeds as they are read: `1, 2`.
    pub fn seeds(&self) -> String {
        let seeds: Vec<String> = self.seeds.iter().map(u64::to_string).collect();
        seeds.join(", ")
    }
}

impl FailureFound {
    /// Whether it never failed again, so that no verdict follows from it.
    pub fn is_unstable(&self) -> bool {
        self.reproduced.is_some_and(|(times, _)| times == 0)
    }
}

/// A difference that no history shows with nothing wrong before it; it is no accusation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FollowingFound {
    /// What identifies it.
    #[serde(flatten)]
    pub fingerprint: Fingerprint,
    /// What it follows, and where it was seen.
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
    /// A missing capability without which it cannot be judged.
    pub lacking: Option<String>,
    /// Why it was not judged, and what would judge it.
    #[serde(default)]
    pub why: Option<String>,
}

/// A behaviour that was covered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MetBehaviour {
    /// Which.
    #[serde(flatten)]
    pub behaviour: Behaviour,
    /// How often.
    pub times: u64,
}

/// The figures of the whole run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finished {
    /// Histories run.
    pub histories: u64,
    /// Histories that were to be run: more where the time budget was used up before.
    #[serde(default)]
    pub planned: u64,
    /// Operations applied.
    pub operations: u64,
    /// How much of what was drawn was judged.
    pub depth: Depth,
    /// Time spent running histories, without the search for short ones.
    pub seconds: f64,
    /// Time spent in the search for short ones.
    #[serde(default)]
    pub shortening_seconds: f64,
    /// How many histories ran at the same time.
    pub jobs: usize,
    /// How many rules there are of each verdict.
    pub rules: BTreeMap<Verdict, usize>,
    /// How many behaviours were covered: a class of state, an operation and an outcome each.
    #[serde(default)]
    pub behaviours: usize,
}

impl Finished {
    /// Operations per second of one core.
    pub fn operations_per_second_and_core(&self) -> f64 {
        self.operations as f64 / self.seconds.max(1e-9) / self.jobs.max(1) as f64
    }
}

/// Why results cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// A line is not of the form.
    #[error("line {line} is no line of a result: {source}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The first line is another one.
    #[error("the results do not begin with what was started")]
    NoStart,
    /// The last line is missing.
    #[error("the results have no end: the run was cut short, and nothing is said of it")]
    NoEnd,
    /// It is of another version.
    #[error("the results are of version {0}, and this program reads version {SCHEMA}")]
    OtherVersion(u32),
}

/// The results of a whole run.
#[derive(Clone, Debug)]
pub struct Results {
    /// What was run, on which subject.
    pub started: Started,
    /// Every way in which a rule is broken.
    pub failures: Vec<FailureFound>,
    /// What only showed after one of them.
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
        let (mut failures, mut rules, mut coverage) = (Vec::new(), Vec::new(), Vec::new());
        let (mut following, mut finished) = (Vec::new(), None);
        for line in lines {
            match line {
                Line::Started(_) => return Err(ResultsError::NoStart),
                Line::History(_) => {}
                Line::Failure(failure) => failures.push(*failure),
                Line::Following(one) => following.push(one),
                Line::Rule(rule) => rules.push(rule),
                Line::Coverage(behaviour) => coverage.push(behaviour),
                Line::Finished(end) => finished = Some(end),
            }
        }
        let finished = finished.ok_or(ResultsError::NoEnd)?;
        Ok(Results { started, failures, following, rules, coverage, finished })
    }

    /// The results of these findings; `replay` gives the command that shows a failure again.
    pub fn of(
        started: Started,
        findings: &Findings,
        replay: impl Fn(&Fingerprint) -> String,
    ) -> Self {
        let failures = findings
            .failures
            .iter()
            .map(|(fingerprint, failure)| found(fingerprint, failure, replay(fingerprint)))
            .collect();
        let seen = |(fingerprint, seen): (&Fingerprint, &Following)| FollowingFound {
            fingerprint: fingerprint.clone(),
            seen: seen.clone(),
        };
        let following = findings.following.iter().map(seen).collect();
        // To read all of them takes longer than many a run.
        let cases = match findings.any(Verdict::NotExercised) {
            true => cases::bundled().unwrap_or_default(),
            false => Vec::new(),
        };
        let rules: Vec<RuleJudged> = rules::catalogue()
            .map(|rule| RuleJudged {
                id: rule.id.to_owned(),
                tier: rule.tier.to_string(),
                verdict: findings.verdict(rule),
                checks: findings.checks.get(rule.id).copied().unwrap_or_default(),
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

    /// Writes them to a file, without the histories that ended one by one.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let lines = std::iter::once(Line::Started(self.started.clone())).chain(self.last_lines());
        let text =
            |line| serde_json::to_string(&line).expect("a line holds only what JSON can say");
        let lines: Vec<String> = lines.map(text).collect();
        std::fs::write(path, lines.join("\n") + "\n")
    }

    /// Whether a failure did not show again.
    pub fn is_unstable(&self) -> bool {
        self.failures.iter().any(FailureFound::is_unstable)
    }

    /// The lines that follow those written during the run.
    pub fn last_lines(&self) -> Vec<Line> {
        let failures = self.failures.iter().cloned().map(|one| Line::Failure(Box::new(one)));
        let following = self.following.iter().cloned().map(Line::Following);
        let rules = self.rules.iter().cloned().map(Line::Rule);
        let coverage = self.coverage.iter().cloned().map(Line::Coverage);
        let finished = std::iter::once(Line::Finished(self.finished.clone()));
        failures.chain(following).chain(rules).chain(coverage).chain(finished).collect()
    }

    /// The failures of each broken rule, the worst rules first, and of each those that most
    /// histories show.
    pub fn by_rule(&self) -> Vec<(&RuleJudged, Vec<&FailureFound>)> {
        let of = |rule: &RuleJudged| {
            let failures = self.failures.iter();
            let mut own: Vec<_> = failures.filter(|one| one.fingerprint.rule == rule.id).collect();
            own.sort_by_key(|one| (one.severity, std::cmp::Reverse(one.histories)));
            own
        };
        let all = self.rules.iter().map(|rule| (rule, of(rule)));
        let mut broken: Vec<_> = all.filter(|(_, failures)| !failures.is_empty()).collect();
        broken.sort_by_key(|(_, own)| own.iter().map(|one| one.severity).min());
        broken
    }
}

fn also(one: &Violation) -> String {
    format!("{}: {}", one.rule.id, one.mismatch.symptom)
}

fn found(fingerprint: &Fingerprint, failure: &Failure, replay: String) -> FailureFound {
    let divergence = &failure.shrunk.divergence;
    let again = failure.reproduced.map(|times| (times, crate::suite::REPRODUCTIONS));
    FailureFound {
        fingerprint: fingerprint.clone(),
        statement: divergence.rule.statement.to_owned(),
        source: divergence.rule.source.to_owned(),
        judge: divergence.judge.to_string(),
        operation: divergence.step + 1,
        expected: divergence.mismatch.expected.clone(),
        found: divergence.mismatch.found.clone(),
        tree: divergence.mismatch.tree.clone(),
        hint: Some(divergence.rule.hint.to_owned()),
        origin: failure.origin.clone(),
        histories: failure.histories,
        executions: failure.shrunk.executions,
        reproduced: again,
        history: failure.shrunk.history.clone(),
        asked: failure.asked.clone(),
        also: divergence.symptoms.iter().map(also).collect(),
        severity: Severity::of_failure(divergence),
        replay,
    }
}
