//! Many histories on one subject: which rules hold, and a shortest history for each that does not.
//!
//! Histories run on several threads, but what is drawn, run and reported depends on the seed
//! alone.

use crate::generate::{self, Options};
use crate::history::History;
use crate::oracle::Divergence;
use crate::protocol::claims::Claims;
use crate::runner::{RunError, run};
use crate::sandbox::Scratch;
use crate::shrink::{self, Shrunk};
use crate::subject::NewSubject;
use herma_model::rules::{self, RuleRef, State};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which histories are drawn.
    pub seed: u64,
    /// How many.
    pub histories: u64,
    /// What they are drawn from.
    pub options: Options,
    /// Histories to run before any is drawn, each with a name.
    pub kept: Vec<(String, History)>,
    /// How many at the same time.
    pub jobs: usize,
    /// How many executions the search for one shortest history may take.
    pub shrink_budget: usize,
}

/// A broken rule.
#[derive(Debug)]
pub struct Failure {
    /// What the first failing history was: its number, or the name of a kept one.
    pub origin: String,
    /// How many histories broke this rule first.
    pub histories: u64,
    /// The shortest history found.
    pub shrunk: Shrunk,
}

/// What a suite found.
#[derive(Debug, Default)]
pub struct Findings {
    /// Histories run.
    pub histories: u64,
    /// Operations applied.
    pub operations: u64,
    /// Comparisons for each rule.
    pub checks: BTreeMap<&'static str, u64>,
    /// Broken rules by id.
    pub failures: BTreeMap<&'static str, Failure>,
    /// Time spent running histories, without the search for short ones.
    pub elapsed: Duration,
    /// How many ran at the same time.
    pub jobs: usize,
    /// What the subject claims.
    pub claims: Claims,
}

/// What became of one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every comparison held.
    Held,
    /// A comparison failed.
    Broken,
    /// Nothing that ran put it to the test.
    NotExercised,
    /// The subject does not claim what it takes to judge it.
    NotApplicable,
    /// The model does not decide it yet.
    NotModelled,
}

impl Findings {
    /// The verdict for a rule.
    pub fn verdict(&self, rule: RuleRef) -> Verdict {
        if self.failures.contains_key(rule.id) {
            return Verdict::Broken;
        }
        match (rule.state, self.checks.get(rule.id)) {
            (State::Planned, _) => Verdict::NotModelled,
            (State::Modelled, _) if self.claims.lacking(rule).is_some() => Verdict::NotApplicable,
            (State::Modelled, Some(1..)) => Verdict::Held,
            (State::Modelled, _) => Verdict::NotExercised,
        }
    }

    /// Whether any rule has that verdict.
    pub fn any(&self, verdict: Verdict) -> bool {
        rules::catalogue().any(|rule| self.verdict(rule) == verdict)
    }

    /// Operations per second of one core.
    pub fn operations_per_second_and_core(&self) -> f64 {
        self.operations as f64 / self.elapsed.as_secs_f64().max(1e-9) / self.jobs.max(1) as f64
    }
}

/// A failing history before it is shrunk.
struct Raw {
    number: u64,
    origin: String,
    history: History,
    divergence: Divergence,
    histories: u64,
}

#[derive(Default)]
struct Shared {
    findings: Findings,
    raw: BTreeMap<&'static str, Raw>,
    error: Option<RunError>,
}

/// Runs the plan; `progress` is told after each history how many are done.
///
/// # Errors
/// The first run that could not be made; then no verdict is given.
pub fn run_suite(
    plan: &Plan,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Findings, RunError> {
    let started = Instant::now();
    let shared = Mutex::new(Shared::default());
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let stopped = AtomicBool::new(false);
    let kept = plan.kept.len() as u64;
    thread::scope(|scope| {
        for _ in 0..plan.jobs.max(1) {
            scope.spawn(|| {
                while !stopped.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= kept + plan.histories {
                        break;
                    }
                    let (origin, history) = one(plan, number);
                    let outcome = run(&history, new_subject, scratch);
                    let mut shared = shared.lock().expect("no thread panics while it holds this");
                    if outcome.is_err() {
                        stopped.store(true, Ordering::Relaxed);
                    }
                    shared.add(number, origin, history, outcome);
                    progress(done.fetch_add(1, Ordering::Relaxed) + 1);
                }
            });
        }
    });
    let mut shared = shared.into_inner().expect("no thread panics while it holds this");
    if let Some(error) = shared.error {
        return Err(error);
    }
    shared.findings.elapsed = started.elapsed();
    shared.findings.jobs = plan.jobs.max(1);
    let mut findings = shared.findings;
    for (rule, raw) in shared.raw {
        let shrunk =
            shrink::shrink(&raw.history, &raw.divergence, new_subject, scratch, plan.shrink_budget);
        let failure = Failure { origin: raw.origin, histories: raw.histories, shrunk };
        findings.failures.insert(rule, failure);
    }
    Ok(findings)
}

/// The history of that number: first the kept ones, then the drawn ones.
fn one(plan: &Plan, number: u64) -> (String, History) {
    match plan.kept.get(number as usize) {
        Some((name, history)) => (name.clone(), history.clone()),
        None => {
            let number = number - plan.kept.len() as u64;
            (format!("history {number}"), generate::draw(&plan.options, plan.seed, number))
        }
    }
}

impl Shared {
    fn add(
        &mut self,
        number: u64,
        origin: String,
        history: History,
        outcome: Result<crate::runner::Run, RunError>,
    ) {
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                self.error.get_or_insert(error);
                return;
            }
        };
        self.findings.claims = outcome.claims;
        self.findings.histories += 1;
        self.findings.operations += outcome.operations as u64;
        for (rule, count) in outcome.checks {
            *self.findings.checks.entry(rule).or_default() += count;
        }
        let Some(divergence) = outcome.divergence else { return };
        let rule = divergence.rule.id;
        let mut fresh = Raw { number, origin, history, divergence, histories: 1 };
        if let Some(before) = self.raw.remove(rule) {
            let histories = before.histories + 1;
            // Threads finish in any order; the report is about the lowest number.
            fresh = if before.number < number { before } else { fresh };
            fresh.histories = histories;
        }
        self.raw.insert(rule, fresh);
    }
}
