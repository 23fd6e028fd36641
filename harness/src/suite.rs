//! Many histories on one subject: which rules hold, and a shortest history for each that does not.
//!
//! Histories run on several threads, but what is drawn, run and reported depends on the seed alone.

use crate::apart::apart;
use crate::cases::Case;
use crate::coverage::Coverage;
use crate::depth::Depth;
use crate::divergence::{Divergence, Fingerprint};
use crate::generate::{self, Options};
use crate::history::History;
use crate::parallel;
use crate::protocol::capabilities::Capabilities;
use crate::runner::{RunError, Until};
use crate::sandbox::Scratch;
use crate::share::Share;
use crate::shrink::{self, Budget, Shrunk, is_past};
use crate::subject::{Identity, NewSubject};
use crate::transcript::transcript;
use crate::trial::{Trial, trial_until};
use herma_model::rules::{self, RuleRef};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which histories are drawn, one set for each seed.
    pub seeds: Vec<u64>,
    /// How many for each seed.
    pub histories: u64,
    /// What they are drawn from.
    pub options: Options,
    /// Histories to run before any is drawn, each with a name.
    pub kept: Vec<(String, History)>,
    /// Written cases, run after the kept histories if the subject has the capabilities they need.
    pub cases: Vec<Case>,
    /// How many at the same time.
    pub jobs: usize,
    /// How many executions the search for one shortest history may take.
    pub shrink_budget: usize,
    /// The time after which nothing more is begun; what was is ended.
    pub time_budget: Option<Duration>,
    /// Failures that are known, and need no shortest history.
    pub known: BTreeSet<Fingerprint>,
    /// The part of the histories that is run.
    pub share: Share,
}

/// How often a shortest history is run again, each time in a fresh process and sandbox.
pub const REPRODUCTIONS: usize = 3;

/// Of a time budget, the part in which histories are begun; the rest is for the search for short ones.
const SHARE_OF_HISTORIES: f64 = 0.67;

/// One way in which a rule is broken.
#[derive(Debug)]
pub struct Failure {
    /// The first failing history: its number, or the name of a kept one.
    pub origin: String,
    /// How many histories failed in this way.
    pub histories: u64,
    /// The shortest history found; for a known failure, the first one.
    pub shrunk: Shrunk,
    /// How many of [`REPRODUCTIONS`] runs of that history failed in the same way; `None` for a
    /// known failure, which is not run again.
    pub reproduced: Option<usize>,
    /// The shortest history as it was asked and answered; nothing for a known failure.
    pub asked: Vec<String>,
}

impl Failure {
    /// Whether it never failed again, so that no verdict follows from it.
    pub fn is_unstable(&self) -> bool {
        self.reproduced == Some(0)
    }
}

/// A difference that no history shows with nothing wrong before it; no verdict comes from it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Following {
    /// The failure at which world and subject disagreed before.
    pub follows: Fingerprint,
    /// The first history that shows it.
    pub origin: String,
    /// How many do.
    pub histories: u64,
}

/// What a suite found.
#[derive(Debug, Default)]
pub struct Findings {
    /// Histories run.
    pub histories: u64,
    /// Histories that were to be run.
    pub planned: u64,
    /// Operations applied.
    pub operations: u64,
    /// Comparisons for each rule.
    pub checks: BTreeMap<&'static str, u64>,
    /// Which behaviours were covered.
    pub coverage: Coverage,
    /// How much of what was drawn was judged.
    pub depth: Depth,
    /// Every way in which a rule is broken.
    pub failures: BTreeMap<Fingerprint, Failure>,
    /// What only showed after another failure, and so may only follow from it.
    pub following: BTreeMap<Fingerprint, Following>,
    /// Time spent running histories, without the search for short ones.
    pub elapsed: Duration,
    /// Time spent in that search.
    pub shortening: Duration,
    /// How many ran at the same time.
    pub jobs: usize,
    /// The capabilities of the subject.
    pub capabilities: Capabilities,
    /// Who the subject is.
    pub subject: Identity,
}

/// How one history ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ended {
    /// Its number, or the name of a kept one.
    pub origin: String,
    /// Operations applied.
    pub operations: usize,
    /// How it failed, without what may only follow from that.
    pub failures: Vec<Fingerprint>,
}

/// How a run goes on.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// A history of that name begins.
    Begun(&'a str, &'a History),
    /// A history ended.
    Ended(&'a Ended),
    /// All histories ended, with so many failures, of each of which the shortest history is looked for.
    Found(usize),
    /// That of one of them is found.
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
    /// A comparison failed, and did not fail again: neither held nor broken.
    Unstable,
    /// Nothing that ran put it to the test.
    NotExercised,
    /// The subject lacks a capability that is needed to judge it.
    NotApplicable,
}

impl Findings {
    /// The verdict on a rule.
    pub fn verdict(&self, rule: RuleRef) -> Verdict {
        let of_the_rule = |(fingerprint, _): &(&Fingerprint, &Failure)| fingerprint.rule == rule.id;
        let mut failures = self.failures.iter().filter(of_the_rule).peekable();
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

    /// Whether a failure did not show again.
    pub fn is_unstable(&self) -> bool {
        self.failures.values().any(Failure::is_unstable)
    }

    /// Whether any rule has that verdict.
    pub fn any(&self, verdict: Verdict) -> bool {
        rules::catalogue().any(|rule| self.verdict(rule) == verdict)
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
    raw: BTreeMap<Fingerprint, Raw>,
    /// What showed after another failure only.
    after: BTreeMap<Fingerprint, Raw>,
}

/// Runs the plan; `progress` is called at each step.
///
/// # Errors
/// A run that could not be made; there is no verdict then.
pub fn run_suite(
    plan: &Plan,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
    progress: &(dyn Fn(Step<'_>) + Sync),
) -> Result<Findings, RunError> {
    let started = Instant::now();
    let shared = Mutex::new(Shared::default());
    let run = |number| -> Result<(), RunError> {
        let (origin, history) = plan.history(number);
        progress(Step::Begun(&origin, &history));
        let outcome = trial_until(Until::End, &history, new_subject, scratch)?;
        let mut shared = shared.lock().expect("no thread panics while it holds this");
        progress(Step::Ended(&outcome.ended(&origin)));
        shared.add(number, &origin, history, outcome);
        Ok(())
    };
    let own = (0..plan.all()).filter(|number| plan.share.holds(*number));
    let planned = own.clone().count() as u64;
    let part = |share| Some(started + plan.time_budget?.mul_f64(share));
    let (begun_until, searched_until) = (part(SHARE_OF_HISTORIES), part(1.0));
    parallel::try_map(own.take_while(|_| !is_past(begun_until)), plan.jobs, run)?;
    let mut shared = shared.into_inner().expect("no thread panics while it holds this");
    shared.tell_apart(searched_until, plan.jobs, new_subject, scratch)?;
    let mut findings = Findings { planned, ..shared.findings };
    findings.elapsed = started.elapsed();
    findings.jobs = plan.jobs.max(1);
    progress(Step::Found(shared.raw.len()));
    let failures = parallel::map(shared.raw.into_iter(), plan.jobs, |(fingerprint, raw)| {
        let budget = Budget { executions: plan.shrink_budget, until: searched_until };
        let failure = examine(raw, &fingerprint, plan, &budget, (new_subject, scratch));
        progress(Step::Shortened);
        (fingerprint, failure)
    });
    findings.shortening = started.elapsed().saturating_sub(findings.elapsed);
    findings.failures = failures.into_iter().collect();
    Ok(findings)
}

/// Looks for the shortest history of a failure and runs that again to see whether it is stable.
fn examine(
    raw: Raw,
    fingerprint: &Fingerprint,
    plan: &Plan,
    budget: &Budget,
    (new_subject, scratch): (&NewSubject<'_>, &Scratch),
) -> Failure {
    let Raw { origin, history, divergence, histories, .. } = raw;
    if plan.known.contains(fingerprint) {
        let shrunk = Shrunk { history, divergence, executions: 0 };
        let (reproduced, asked) = (None, Vec::new());
        return Failure { origin, histories, shrunk, reproduced, asked };
    }
    let fresh = scratch.with_fresh_processes();
    let again = |shrunk: &Shrunk| {
        let until = shrink::until(&shrunk.divergence);
        let same = |one: &Divergence| one.follows.is_none() && one.fingerprint() == *fingerprint;
        let fails_so = || {
            let outcome = trial_until(until, &shrunk.history, new_subject, &fresh);
            outcome.is_ok_and(|outcome| outcome.run.divergences.iter().any(same))
        };
        (0..REPRODUCTIONS).filter(|_| fails_so()).count()
    };
    let mut shrunk = shrink::shrink(&history, &divergence, new_subject, scratch, budget);
    let mut reproduced = again(&shrunk);
    if reproduced == 0 {
        // A process that served other histories before may have led the search astray.
        let executions = shrunk.executions;
        shrunk = shrink::shrink(&history, &divergence, new_subject, &fresh, budget);
        shrunk.executions += executions;
        reproduced = again(&shrunk);
    }
    let reproduced = Some(reproduced);
    let until = shrink::until(&shrunk.divergence);
    // A run that cannot be made has nothing to tell; the figures above say so.
    let asked = transcript(until, &shrunk.history, new_subject, &fresh).unwrap_or_default();
    shrunk.divergence = asked.own(&shrunk.divergence).clone();
    Failure { origin, histories, shrunk, reproduced, asked: asked.lines }
}

impl Plan {
    /// The plan for a subject with these capabilities: without operations that it cannot be asked,
    /// and without cases that need more.
    pub fn within(&self, capabilities: &Capabilities) -> Plan {
        let mut plan = Plan { options: self.options.within(capabilities), ..self.clone() };
        plan.cases.retain(|case| case.suits(capabilities));
        plan
    }

    /// How many histories are drawn.
    pub fn drawn(&self) -> u64 {
        self.seeds.len() as u64 * self.histories
    }

    /// How many histories are run before any is drawn.
    pub fn written(&self) -> u64 {
        (self.kept.len() + self.cases.len()) as u64
    }

    /// How many histories there are in all parts.
    pub fn all(&self) -> u64 {
        self.written() + self.drawn()
    }

    /// The history of that number, with its name: first the kept ones, then the cases, then the
    /// drawn ones.
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
        (format!("history {number}{of_seed}"), generate::draw(&self.options, seed, number))
    }
}

impl Trial {
    /// How the history ended.
    pub fn ended(&self, origin: &str) -> Ended {
        let failures = self.run.divergences.iter().chain(&self.plain);
        let alone = failures.filter(|one| one.follows.is_none());
        let failures = alone.map(Divergence::fingerprint).collect();
        Ended { origin: origin.to_owned(), operations: self.run.operations, failures }
    }
}

/// Who a subject is and what its capabilities are, before anything is asked of it.
///
/// # Errors
/// No sandbox, or an adapter that does not open.
pub fn introduce(
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
) -> Result<(Identity, Capabilities), RunError> {
    // What a hostile home does to it is for the rules to say.
    let history = History { plain_home: true, ..History::default() };
    let outcome = crate::runner::run(&history, new_subject, scratch)?;
    Ok((outcome.subject, outcome.capabilities))
}

impl Shared {
    fn add(&mut self, number: u64, origin: &str, history: History, outcome: Trial) {
        let Trial { run, plain } = outcome;
        self.findings.capabilities = run.capabilities;
        self.findings.subject = run.subject;
        self.findings.histories += 1;
        self.findings.operations += run.operations as u64;
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
        let all = if divergence.follows.is_none() { &mut self.raw } else { &mut self.after };
        let before = all.remove(&fingerprint);
        let histories = before.as_ref().map_or(0, |raw| raw.histories) + 1;
        // Threads finish in any order; the report is about the lowest number.
        let raw = match before {
            Some(before) if before.number < number => Raw { histories, ..before },
            _ => Raw {
                number,
                origin: origin.to_owned(),
                history: history.clone(),
                divergence,
                histories,
            },
        };
        all.insert(fingerprint, raw);
    }

    /// Looks for a history that shows by itself what only showed after another failure so far.
    fn tell_apart(
        &mut self,
        until: Option<Instant>,
        jobs: usize,
        new_subject: &NewSubject<'_>,
        scratch: &Scratch,
    ) -> Result<(), RunError> {
        let mut after = std::mem::take(&mut self.after);
        after.retain(|fingerprint, _| !self.raw.contains_key(fingerprint));
        let told = parallel::try_map(after.into_iter(), jobs, |(fingerprint, raw)| {
            let alone = match is_past(until) {
                true => None,
                false => apart(&raw.history, &fingerprint, new_subject, scratch)?,
            };
            Ok::<_, RunError>((fingerprint, raw, alone))
        })?;
        for (fingerprint, raw, alone) in told {
            let Raw { origin, histories, .. } = &raw;
            match (alone, &raw.divergence.follows) {
                (Some((history, divergence)), _) => {
                    let origin = format!("{origin}, without what fails before");
                    self.raw.insert(fingerprint, Raw { origin, history, divergence, ..raw });
                }
                (None, Some(follows)) => {
                    let (follows, origin) = (follows.clone(), origin.clone());
                    let following = Following { follows, origin, histories: *histories };
                    self.findings.following.insert(fingerprint, following);
                }
                (None, None) => {}
            }
        }
        Ok(())
    }
}
