//! Many histories on one subject: which rules hold, and a shortest history for each rule that does not.
//!
//! Histories run on several threads, but what is generated, run and reported depends on the seed alone.

use crate::apart::apart;
use crate::cases::Case;
use crate::coverage::Coverage;
use crate::depth::Depth;
use crate::divergence::{Divergence, Fingerprint};
use crate::generate::{self, Options};
use crate::history::History;
use crate::parallel;
use crate::protocol::capabilities::Capabilities;
use crate::runner::{RunError, RunOptions, Until, run};
use crate::sandbox::Scratch;
use crate::share::Share;
use crate::shrink::{self, Budget, FailingHistory, Shrunk, is_past};
use crate::subject::{Identity, NewSubject};
use crate::transcript::transcript;
use crate::trial::{Trial, trial};
use herma_model::rules::{self, RuleRef};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The histories to run, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seeds; one set of histories is generated for each.
    pub seeds: Vec<u64>,
    /// How many histories are generated for each seed.
    pub histories: u64,
    /// What the generator chooses from.
    pub options: Options,
    /// Histories to run before the generated ones, each with a name.
    pub kept: Vec<(String, History)>,
    /// Written cases, run after the kept histories if the subject has the capabilities they need.
    pub cases: Vec<Case>,
    /// How many histories run at the same time.
    pub jobs: usize,
    /// How many executions each search for a shortest history may take.
    pub shrink_budget: usize,
    /// The time after which no history is started; running histories finish.
    pub time_budget: Option<Duration>,
    /// Known failures, which need no shortest history.
    pub known: BTreeSet<Fingerprint>,
    /// The part of the histories that is run.
    pub share: Share,
}

/// How often a shortest history is run again, each time in a fresh process and sandbox.
pub const REPRODUCTIONS: usize = 3;

/// The part of a time budget in which histories are started; the rest is for shrinking.
const SHARE_OF_HISTORIES: f64 = 0.67;

/// One way in which a rule is broken.
#[derive(Debug)]
pub struct Failure {
    /// The first failing history: its number, or the name of a kept history.
    pub origin: String,
    /// How many histories failed in this way.
    pub histories: u64,
    /// The shortest history found; for a known failure, the first history.
    pub shrunk: Shrunk,
    /// How many of [`REPRODUCTIONS`] runs of that history failed in the same way; `None` for a
    /// known failure, which is not run again.
    pub reproduced: Option<usize>,
    /// The requests and replies of the shortest history; empty for a known failure.
    pub asked: Vec<String>,
}

impl Failure {
    /// Whether the history never failed again, so that there is no verdict.
    pub fn is_unstable(&self) -> bool {
        self.reproduced == Some(0)
    }
}

/// A difference that no history shows without a failure before it; it leads to no verdict.
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
    /// Which behaviours were covered.
    pub coverage: Coverage,
    /// How many of the generated operations were judged.
    pub depth: Depth,
    /// Every way in which a rule is broken.
    pub failures: BTreeMap<Fingerprint, Failure>,
    /// Differences that only showed after another failure, and may only follow from it.
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

/// How one history ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ended {
    /// Its number, or the name of a kept history.
    pub origin: String,
    /// Operations applied.
    pub operations: usize,
    /// How it failed, without differences that may only follow from a failure.
    pub failures: Vec<Fingerprint>,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub enum SuiteEvent<'a> {
    /// The history of that name starts.
    Begun(&'a str, &'a History),
    /// A history ended.
    Ended(&'a Ended),
    /// All histories ended; this many failures are shrunk now.
    Found(usize),
    /// The shortest history of one failure is found.
    Shortened,
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

impl Findings {
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

/// A failure before its history is shrunk.
struct UnshrunkFailure {
    number: u64,
    origin: String,
    history: History,
    divergence: Divergence,
    histories: u64,
}

#[derive(Default)]
struct Shared {
    findings: Findings,
    independent: BTreeMap<Fingerprint, UnshrunkFailure>,
    /// Failures that only showed after another failure.
    dependent: BTreeMap<Fingerprint, UnshrunkFailure>,
}

/// Runs the plan; `progress` is called at each step.
///
/// # Errors
/// A run could not be made; there is no verdict then.
pub fn run_suite(
    plan: &Plan,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
    progress: &(dyn Fn(SuiteEvent<'_>) + Sync),
) -> Result<Findings, RunError> {
    let started = Instant::now();
    let shared = Mutex::new(Shared::default());
    let run = |number| -> Result<(), RunError> {
        let (origin, history) = plan.history(number);
        progress(SuiteEvent::Begun(&origin, &history));
        let trial = trial(&history, new_subject, scratch, Until::End)?;
        let mut shared = shared.lock().expect("no thread panics while it holds this");
        progress(SuiteEvent::Ended(&trial.ended(&origin)));
        shared.add(number, &origin, history, trial);
        Ok(())
    };
    let numbers = (0..plan.all()).filter(|number| plan.share.holds(*number));
    let planned = numbers.clone().count() as u64;
    let deadline = |share| Some(started + plan.time_budget?.mul_f64(share));
    let run_deadline = deadline(SHARE_OF_HISTORIES);
    let search_deadline = deadline(1.0);
    parallel::try_map(numbers.take_while(|_| !is_past(run_deadline)), plan.jobs, run)?;
    let mut shared = shared.into_inner().expect("no thread panics while it holds this");
    shared.isolate_dependent(search_deadline, plan.jobs, new_subject, scratch)?;
    let mut findings = Findings { planned, ..shared.findings };
    findings.elapsed = started.elapsed();
    findings.jobs = plan.jobs.max(1);
    progress(SuiteEvent::Found(shared.independent.len()));
    let budget = Budget { executions: plan.shrink_budget, until: search_deadline };
    let examination = Examination { plan, budget, new_subject, scratch };
    let failures =
        parallel::map(shared.independent.into_iter(), plan.jobs, |(fingerprint, failure)| {
            let failure = examination.examine(failure, &fingerprint);
            progress(SuiteEvent::Shortened);
            (fingerprint, failure)
        });
    findings.shortening = started.elapsed().saturating_sub(findings.elapsed);
    findings.failures = failures.into_iter().collect();
    Ok(findings)
}

/// How failures are shrunk and reproduced.
struct Examination<'a> {
    plan: &'a Plan,
    budget: Budget,
    new_subject: &'a NewSubject<'a>,
    scratch: &'a Scratch,
}

impl Examination<'_> {
    /// Searches for the shortest history of a failure and repeats it to see whether it is stable.
    fn examine(&self, failure: UnshrunkFailure, fingerprint: &Fingerprint) -> Failure {
        let Examination { plan, budget, new_subject, scratch } = *self;
        let UnshrunkFailure { origin, history, divergence, histories, .. } = failure;
        if plan.known.contains(fingerprint) {
            let shrunk = Shrunk { history, divergence, executions: 0 };
            return Failure { origin, histories, shrunk, reproduced: None, asked: Vec::new() };
        }
        let fresh = scratch.with_fresh_processes();
        let count_reproductions = |shrunk: &Shrunk| {
            let until = shrink::until(&shrunk.divergence);
            let is_same = |divergence: &Divergence| {
                divergence.follows.is_none() && divergence.fingerprint() == *fingerprint
            };
            let fails_again = || {
                let trial = trial(&shrunk.history, new_subject, &fresh, until);
                trial.is_ok_and(|trial| trial.run.divergences.iter().any(is_same))
            };
            (0..REPRODUCTIONS).filter(|_| fails_again()).count()
        };
        let failing = FailingHistory { history: &history, divergence: &divergence };
        let mut shrunk = shrink::shrink(failing, new_subject, scratch, &budget);
        let mut reproduced = count_reproductions(&shrunk);
        if reproduced == 0 {
            // A process that served other histories before may have misled the search.
            let executions = shrunk.executions;
            shrunk = shrink::shrink(failing, new_subject, &fresh, &budget);
            shrunk.executions += executions;
            reproduced = count_reproductions(&shrunk);
        }
        let reproduced = Some(reproduced);
        let until = shrink::until(&shrunk.divergence);
        // A run that cannot be made leaves the transcript empty; `reproduced` shows that.
        let transcript =
            transcript(&shrunk.history, new_subject, &fresh, until).unwrap_or_default();
        shrunk.divergence = transcript.own(&shrunk.divergence).clone();
        Failure { origin, histories, shrunk, reproduced, asked: transcript.lines }
    }
}

impl Plan {
    /// The plan for a subject with these capabilities: without operations and cases that need others.
    pub fn within(&self, capabilities: &Capabilities) -> Plan {
        let mut plan = Plan { options: self.options.within(capabilities), ..self.clone() };
        plan.cases.retain(|case| case.is_applicable(capabilities));
        plan
    }

    /// How many histories are generated.
    pub fn drawn(&self) -> u64 {
        self.seeds.len() as u64 * self.histories
    }

    /// How many histories are run before the generated ones.
    pub fn written(&self) -> u64 {
        (self.kept.len() + self.cases.len()) as u64
    }

    /// How many histories there are in all parts.
    pub fn all(&self) -> u64 {
        self.written() + self.drawn()
    }

    /// The history of that number, with its name: first the kept histories, then the cases, then the
    /// generated histories.
    pub fn history(&self, number: u64) -> (String, History) {
        if let Some((name, history)) = self.kept.get(number as usize) {
            return (name.clone(), history.clone());
        }
        if let Some(case) = self.cases.get(number as usize - self.kept.len()) {
            return (format!("case {}", case.id), case.history());
        }
        let number = number - self.written();
        let seed = self.seeds[(number / self.histories) as usize];
        let number = number % self.histories;
        let of_seed = if self.seeds.len() > 1 { format!(" of seed {seed}") } else { String::new() };
        (
            format!("history {number}{of_seed}"),
            generate::generate_history(&self.options, seed, number),
        )
    }
}

impl Trial {
    /// How the history ended.
    pub fn ended(&self, origin: &str) -> Ended {
        let failures = self.run.divergences.iter().chain(&self.plain);
        let independent = failures.filter(|divergence| divergence.follows.is_none());
        let failures = independent.map(Divergence::fingerprint).collect();
        Ended { origin: origin.to_owned(), operations: self.run.operations, failures }
    }
}

/// The identity and the capabilities of a subject, before any request.
///
/// # Errors
/// The sandbox cannot be made, or the adapter does not open.
pub fn introduce(
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
) -> Result<(Identity, Capabilities), RunError> {
    // The rules judge what a hostile home does to the subject.
    let history = History { plain_home: true, ..History::default() };
    let run = run(&history, new_subject, scratch, RunOptions::default())?;
    Ok((run.subject, run.capabilities))
}

impl Shared {
    fn add(&mut self, number: u64, origin: &str, history: History, trial: Trial) {
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
    fn isolate_dependent(
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
