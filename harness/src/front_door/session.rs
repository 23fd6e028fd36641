//! Many stories for one agent: told, judged, and what fails made small and repeated.

use super::agent::{AgentProcess, DoorCode, DoorCommand, DoorError, DoorHello};
use super::rules;
use super::shrink::shrink;
use super::stories::stories;
use super::story::Story;
use super::telling::{Told, tell};
use crate::parallel;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a failure is repeated.
pub const REPEATS: usize = 3;
/// How many stories are told to make one smaller.
const SHRINK_RUNS: usize = 24;

/// What to do.
#[derive(Clone, Debug)]
pub struct DoorPlan {
    /// Selects the stories.
    pub seed: u64,
    /// How many stories.
    pub stories: usize,
    /// Begin no story after this many turns.
    pub turns: Option<usize>,
    /// Begin no story after two thirds of this time, and no shrinking after all of it.
    pub time_budget: Option<Duration>,
    /// How many stories at the same time.
    pub jobs: usize,
}

/// A rule that an agent broke.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DoorFinding {
    /// The rule.
    pub rule: String,
    /// What was seen in the smallest story.
    pub text: String,
    /// How many stories broke it.
    pub stories: usize,
    /// How often the smallest story broke it again, of [`REPEATS`] times.
    pub repeated: usize,
    /// The smallest story.
    pub story: Story,
    /// What happened in it.
    pub transcript: Vec<String>,
}

impl DoorFinding {
    /// Whether it failed each time.
    pub fn is_stable(&self) -> bool {
        self.repeated == REPEATS
    }
}

/// What came of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DoorResults {
    /// The agent.
    pub hello: DoorHello,
    /// The day of the run.
    #[serde(default)]
    pub date: String,
    /// The seed of the stories.
    pub seed: u64,
    /// How many stories were told.
    pub stories: usize,
    /// How many turns they had.
    pub turns: usize,
    /// How long it took.
    pub seconds: u64,
    /// How often each rule was checked.
    pub checks: BTreeMap<String, u64>,
    /// What was found, one for each rule.
    pub findings: Vec<DoorFinding>,
    /// Why stories were not judged to their end, and how many.
    pub unjudged: BTreeMap<String, usize>,
    /// How many processes were left running, and killed.
    pub left_running: usize,
}

/// An agent for many stories: at most one process for each, kept for the next story if the agent allows that.
pub struct Bench {
    start: DoorCommand,
    idle: Mutex<Vec<AgentProcess>>,
    told: AtomicUsize,
    left: AtomicUsize,
}

impl Bench {
    /// No process is started yet.
    pub fn new(start: DoorCommand) -> Self {
        let idle = Mutex::default();
        Bench { start, idle, told: AtomicUsize::new(0), left: AtomicUsize::new(0) }
    }

    /// Tells a story; `is_fresh` if the home may not have served another one.
    pub fn tell(&self, story: &Story, is_fresh: bool) -> Told {
        let failed = |error: String| Told { infrastructure: Some(error), ..Told::default() };
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let kept = if is_fresh { None } else { idle() };
        let mut process = match kept.map_or_else(|| AgentProcess::start(&self.start), Ok) {
            Ok(process) => process,
            Err(error) => return failed(error.to_string()),
        };
        let number = self.told.fetch_add(1, Relaxed) + 1;
        let project =
            tempfile::Builder::new().prefix("agent-project-").tempdir_in(&self.start.scratch);
        let told = match &project {
            Ok(project) => tell(&mut process, story, project.path(), &format!("s{number}")),
            Err(error) => failed(error.to_string()),
        };
        let is_clean =
            told.breaches.is_empty() && told.unjudged.is_none() && told.infrastructure.is_none();
        if is_clean && !is_fresh && process.hello().capabilities.has("shared-home") {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(process);
        } else {
            self.left.fetch_add(process.end(), Relaxed);
        }
        told
    }

    /// What the agent says about itself.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn hello(&self) -> Result<DoorHello, DoorError> {
        let process = AgentProcess::start(&self.start)?;
        let hello = process.hello().clone();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(process);
        Ok(hello)
    }

    /// Ends every process, and returns how many others were left running.
    pub fn end(self) -> usize {
        let idle = self.idle.into_inner().unwrap_or_else(PoisonError::into_inner);
        idle.into_iter().map(AgentProcess::end).sum::<usize>() + self.left.load(Relaxed)
    }
}

/// Judges an agent; `progress` is called after each story, with what came of it.
///
/// # Errors
/// The agent cannot be had, or the machine failed: there is no verdict.
pub fn run(
    bench: Bench,
    plan: &DoorPlan,
    chosen: Option<Vec<Story>>,
    progress: &(dyn Fn(&Story, &Told) + Sync),
) -> Result<DoorResults, DoorError> {
    let started = Instant::now();
    let hello = bench.hello()?;
    let chosen = chosen.unwrap_or_else(|| stories(&hello.capabilities, plan.seed, plan.stories));
    let turns = AtomicUsize::new(0);
    let is_over = || {
        let late = plan.time_budget.is_some_and(|budget| started.elapsed() > budget * 2 / 3);
        late || plan.turns.is_some_and(|limit| turns.load(Relaxed) >= limit)
    };
    let one_by_one = chosen.into_iter().take_while(|_| !is_over());
    let told: Vec<(Story, Told)> = parallel::map(one_by_one, plan.jobs, |story| {
        let told = bench.tell(&story, false);
        turns.fetch_add(told.turns, Relaxed);
        progress(&story, &told);
        (story, told)
    });
    let why_none = told.iter().map(|(_, told)| told.infrastructure.clone());
    if let Some(Some(text)) = why_none.reduce(|left, right| left.and(right)) {
        bench.end();
        return Err(DoorError { code: DoorCode::Infrastructure, text });
    }
    let mut results =
        DoorResults { hello, seed: plan.seed, stories: told.len(), ..DoorResults::default() };
    for (_, told) in &told {
        results.turns += told.turns;
        results.left_running += told.left_running;
        for (rule, count) in &told.checks {
            *results.checks.entry((*rule).to_owned()).or_default() += count;
        }
        if let Some(why) = told.unjudged.as_ref().or(told.infrastructure.as_ref()) {
            *results.unjudged.entry(why.clone()).or_default() += 1;
        }
    }
    let may_shrink = || plan.time_budget.is_none_or(|budget| started.elapsed() < budget);
    let failing = |rule: &'static str| told.iter().filter(move |(_, told)| told.breaks(rule));
    let broken = rules::DOOR_RULES.iter().filter(|rule| failing(rule.id).next().is_some());
    let findings = parallel::map(broken, plan.jobs, |rule| {
        let smallest = failing(rule.id).min_by_key(|(story, _)| story.size());
        smallest.map(|(story, _)| {
            let finding = examine(&bench, rule.id, story, &may_shrink);
            DoorFinding { stories: failing(rule.id).count(), ..finding }
        })
    });
    results.findings = findings.into_iter().flatten().collect();
    results.left_running += bench.end();
    results.seconds = started.elapsed().as_secs();
    Ok(results)
}

/// Makes a failing story small, and repeats it.
fn examine(
    bench: &Bench,
    rule: &str,
    story: &Story,
    may_shrink: &(dyn Fn() -> bool + Sync),
) -> DoorFinding {
    let still_fails = |story: &Story| may_shrink() && bench.tell(story, true).breaks(rule);
    let story = shrink(story, SHRINK_RUNS, still_fails);
    let mut finding = DoorFinding {
        rule: rule.to_owned(),
        text: String::new(),
        stories: 1,
        repeated: 0,
        story: story.clone(),
        transcript: Vec::new(),
    };
    for _ in 0..REPEATS {
        let told = bench.tell(&story, true);
        if let Some(breach) = told.breaches.iter().find(|breach| breach.rule == rule) {
            finding.repeated += 1;
            finding.text = breach.text.clone();
            finding.transcript = told.transcript;
        }
    }
    finding
}
