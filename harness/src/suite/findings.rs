//! What a suite found, and the verdict on each rule that follows from it.

use crate::coverage::Coverage;
use crate::depth::Depth;
use crate::divergence::Fingerprint;
use crate::protocol::capabilities::Capabilities;
use crate::shrink::Shrunk;
use crate::subject::Identity;
use crate::transcript::TreesOfRequest;
use herma_model::Excuse;
use herma_model::rules::{self, RuleRef};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How often a shortest history is run again, each time in a fresh process and sandbox.
pub const REPRODUCTIONS: usize = 3;

/// How often a history was run again, and failed in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reproduced {
    /// How many of the runs failed.
    pub times: usize,
    /// How many runs were made: [`REPRODUCTIONS`], or fewer if the time of the run ended.
    pub of: usize,
}

/// One way in which a rule is broken.
#[derive(Debug)]
pub struct Failure {
    /// The name of the first failing history, as [`Plan::history`](super::Plan::history) returns it.
    pub origin: String,
    /// How many histories failed in this way.
    pub histories: u64,
    /// The shortest history found; for a failure that is known, or for which no time was left, the first
    /// failing history, not shrunk.
    pub shrunk: Shrunk,
    /// How often that history failed again; `None` if it was not run again: the failure is known, or no time
    /// was left.
    pub reproduced: Option<Reproduced>,
    /// The requests and replies of the shortest history; empty if it was not run again.
    pub asked: Vec<String>,
    /// The files around each of these requests.
    pub trees: Vec<TreesOfRequest>,
    /// What is special in the shortest history without which the operation breaks no rule.
    pub special: BTreeSet<String>,
    /// The question whether a capability that is not claimed explains the failure, if its history indicates one.
    pub question: Option<String>,
}

impl Failure {
    /// Whether the shortest history never failed again, so that there is no verdict.
    pub fn is_unstable(&self) -> bool {
        self.reproduced.is_some_and(|reproduced| reproduced.times == 0)
    }
}

/// A difference that was seen only after another failure, and that no separate history shows alone. It
/// leads to no verdict.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Following {
    /// The earlier failure at which world and subject disagreed.
    pub follows: Fingerprint,
    /// The first history that shows the difference.
    pub origin: String,
    /// How many histories show it.
    pub histories: u64,
}

/// What a suite found.
#[derive(Debug, Default)]
pub struct Findings {
    /// Histories run.
    pub histories: u64,
    /// Planned histories.
    pub planned: u64,
    /// Operations applied.
    pub operations: u64,
    /// Injections that happened.
    pub injections: u64,
    /// Comparisons for each rule.
    pub checks: BTreeMap<&'static str, u64>,
    /// Comparisons for each rule that were excused, by the excuse.
    pub excused: BTreeMap<(&'static str, Excuse), u64>,
    /// Which behaviours were covered.
    pub coverage: Coverage,
    /// How many of the generated operations were judged.
    pub depth: Depth,
    /// Every way in which a rule is broken.
    pub failures: BTreeMap<Fingerprint, Failure>,
    /// Differences that were seen only after another failure, and may be mere consequences of it.
    pub following: BTreeMap<Fingerprint, Following>,
    /// Time spent running histories, without shrinking.
    pub elapsed: Duration,
    /// Time spent shrinking.
    pub shortening: Duration,
    /// How many histories ran at the same time.
    pub jobs: usize,
    /// The capabilities of the subject.
    pub capabilities: Capabilities,
    /// The name and version of the subject.
    pub subject: Identity,
}

/// The verdict on one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every comparison held.
    Held,
    /// A comparison failed.
    Broken,
    /// A comparison failed, and did not fail when repeated: neither held nor broken.
    Unstable,
    /// No history exercised the rule.
    NotExercised,
    /// The subject lacks a capability that is needed to judge the rule.
    NotApplicable,
}

impl Verdict {
    /// A symbol for tables.
    pub fn symbol(self) -> &'static str {
        match self {
            Verdict::Held => "✓",
            Verdict::Broken => "✗",
            Verdict::Unstable => "~",
            Verdict::NotExercised => "○",
            Verdict::NotApplicable => "–",
        }
    }
}

impl Findings {
    /// How many comparisons of a rule were excused, by the excuse.
    pub fn excused_by(&self, rule: RuleRef) -> BTreeMap<Excuse, u64> {
        let excused = self.excused.iter().filter(|((id, _), _)| *id == rule.id);
        excused.map(|((_, excuse), times)| (*excuse, *times)).collect()
    }

    /// The verdict on a rule.
    pub fn verdict(&self, rule: RuleRef) -> Verdict {
        let breaks_rule = |(fingerprint, _): &(&Fingerprint, &Failure)| fingerprint.rule == rule.id;
        let mut failures = self.failures.iter().filter(breaks_rule).peekable();
        if failures.peek().is_some() {
            let is_broken = failures.any(|(_, failure)| !failure.is_unstable());
            return if is_broken { Verdict::Broken } else { Verdict::Unstable };
        }
        match self.checks.get(rule.id) {
            _ if self.capabilities.lacking(rule).is_some() => Verdict::NotApplicable,
            Some(1..) => Verdict::Held,
            _ => Verdict::NotExercised,
        }
    }

    /// Whether any failure did not show again.
    pub fn is_unstable(&self) -> bool {
        self.failures.values().any(Failure::is_unstable)
    }

    /// Whether any rule has that verdict.
    pub fn any(&self, verdict: Verdict) -> bool {
        rules::catalogue().any(|rule| self.verdict(rule) == verdict)
    }
}
