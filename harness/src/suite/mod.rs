//! Many histories on one subject: which rules hold, and a shortest history for each rule that does not.
//!
//! Histories run on several threads, but what is generated, run and reported depends on the seed alone.

mod collected;
mod examination;
mod findings;
mod unclaimed;

use crate::cases::Case;
use crate::divergence::{Divergence, Fingerprint};
use crate::generate::{self, Options};
use crate::history::History;
use crate::parallel;
use crate::protocol::capabilities::Capabilities;
use crate::runner::{RunError, RunOptions, Until, run};
use crate::sandbox::Scratch;
use crate::share::Share;
use crate::shrink::Budget;
use crate::subject::{Identity, NewSubject};
use crate::trial::{Trial, trial};
use collected::Collected;
use examination::Examination;
pub use findings::{Failure, Findings, Following, REPRODUCTIONS, Reproduced, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The histories to run, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seeds; one set of histories is generated for each.
    pub seeds: Vec<u64>,
    /// How many histories are generated for each seed.
    pub histories: u64,
    /// The options of the generator.
    pub options: Options,
    /// Histories to run before the generated ones, each with a name.
    pub kept: Vec<(String, History)>,
    /// Written cases, run after the kept histories if the subject has the capabilities they need.
    pub cases: Vec<Case>,
    /// These are only the cases whose name or rules contain this text.
    pub cases_of: Option<String>,
    /// Other options that choose the histories, as they are typed, such as `--processes 4`.
    pub preset: String,
    /// How many histories run at the same time.
    pub jobs: usize,
    /// How many executions each search for a shortest history may take.
    pub shrink_budget: usize,
    /// The time for the run: for histories, then for shrinking, and at the end for running failures again.
    /// What runs when the time ends is finished.
    pub time_budget: Option<Duration>,
    /// Known failures, whose histories are not shrunk.
    pub known: BTreeSet<Fingerprint>,
    /// The part of the histories that is run, if several machines share them.
    pub share: Share,
}

/// When, as parts of a time budget, no history is started any more if none failed, and if any did; when no failure
/// is separated from an earlier one any more, and when none is shrunk. The rest is for running failures again.
const HISTORIES_UNTIL: f64 = 0.95;
const FAILING_HISTORIES_UNTIL: f64 = 0.6;
const SEPARATION_UNTIL: f64 = 0.7;
const SHRINKING_UNTIL: f64 = 0.8;

/// How one history ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ended {
    /// The name of the history, as [`Plan::history`] returns it.
    pub origin: String,
    /// Operations applied.
    pub operations: usize,
    /// The fingerprints of its failures, without differences that may be mere consequences of an earlier
    /// failure.
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

/// Runs the histories of the plan on a subject and shrinks the failing ones; `progress` is called at each
/// step.
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
    let collected = Mutex::new(Collected::default());
    let run = |number| -> Result<(), RunError> {
        let (origin, history) = plan.history(number);
        let begun = Instant::now();
        progress(SuiteEvent::Begun(&origin, &history));
        let trial = trial(&history, new_subject, scratch, Until::End)?;
        let mut collected = collected.lock().expect("no thread panics while it holds this");
        progress(SuiteEvent::Ended(&trial.ended(&origin)));
        collected.add(number, &origin, history, trial);
        collected.longest = collected.longest.max(begun.elapsed());
        Ok(())
    };
    let numbers = (0..plan.all()).filter(|number| plan.share.holds(*number));
    let planned = numbers.clone().count() as u64;
    let deadline = |share| Some(started + plan.time_budget?.mul_f64(share));
    // A history that may take as long as the longest so far would end too late.
    let is_in_time = |_: &u64| {
        let collected = collected.lock().expect("no thread panics while it holds this");
        let share =
            if collected.has_failures() { FAILING_HISTORIES_UNTIL } else { HISTORIES_UNTIL };
        deadline(share).is_none_or(|deadline| Instant::now() + collected.longest < deadline)
    };
    let separation_deadline = deadline(SEPARATION_UNTIL);
    parallel::try_map(numbers.take_while(is_in_time), plan.jobs, run)?;
    let mut collected = collected.into_inner().expect("no thread panics while it holds this");
    collected.isolate_dependent(separation_deadline, plan.jobs, new_subject, scratch)?;
    let mut findings = Findings { planned, ..collected.findings };
    findings.elapsed = started.elapsed();
    findings.jobs = plan.jobs.max(1);
    progress(SuiteEvent::Found(collected.independent.len()));
    let budget = Budget { executions: plan.shrink_budget, until: deadline(SHRINKING_UNTIL) };
    let until = deadline(1.0);
    let capabilities = &findings.capabilities.clone();
    let examination = Examination { plan, capabilities, budget, until, new_subject, scratch };
    let failures =
        parallel::map(collected.independent.into_iter(), plan.jobs, |(fingerprint, failure)| {
            let failure = examination.examine(failure, &fingerprint);
            progress(SuiteEvent::Shortened);
            (fingerprint, failure)
        });
    findings.shortening = started.elapsed().saturating_sub(findings.elapsed);
    findings.failures = failures.into_iter().collect();
    Ok(findings)
}

impl Plan {
    /// The plan for a subject with these capabilities: without operations and cases that need others.
    pub fn within(&self, capabilities: &Capabilities) -> Plan {
        let mut plan = Plan { options: self.options.within(capabilities), ..self.clone() };
        let has_layout = capabilities.has("layout");
        plan.kept.retain(|(_, history)| history.has_possible_damage(has_layout));
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

    /// How many histories the plan has, in all parts of a shared run together.
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
