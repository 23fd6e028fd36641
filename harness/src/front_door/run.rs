//! Many stories for one agent: told, judged, and what fails made small and repeated.

use super::agent::{AgentProcess, DoorCode, DoorCommand, DoorError, DoorHello};
use super::leftovers::end_processes;
use super::results::{DoorFinding, DoorResults, REPEATS};
use super::rules;
use super::shrink::shrink;
use super::stories::stories;
use super::story::Story;
use super::telling::{Told, tell};
use crate::parallel;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many stories are told to make one smaller.
const SHRINK_RUNS: usize = 16;
/// Why a story has no verdict that was being told when the run was stopped.
const STOPPED: &str = "the run was stopped";
/// The part of the time budget in which stories begin; the rest is for their failures.
const STORIES_SHARE: f64 = 2.0 / 3.0;
/// The part of a failure's time in which it is made smaller; the rest is for its repeats.
const SHRINK_PART: f64 = 0.5;

/// What to do.
#[derive(Clone, Debug)]
pub struct DoorPlan {
    /// Selects the stories.
    pub seed: u64,
    /// How many stories.
    pub stories: usize,
    /// Begin no story after this many turns.
    pub turns: Option<usize>,
    /// Begin no story after two thirds of this time, and no repeat of a failure after all of it.
    pub time_budget: Option<Duration>,
    /// How many stories at the same time.
    pub jobs: usize,
}

/// An agent for many stories: at most one process for each, kept for the next story if the agent allows that.
pub struct Bench {
    start: DoorCommand,
    idle: Mutex<Vec<AgentProcess>>,
    told: AtomicUsize,
    left: AtomicUsize,
    is_stopped: AtomicBool,
}

impl Bench {
    /// No process is started yet.
    pub fn new(start: DoorCommand) -> Self {
        let count = AtomicUsize::default;
        let is_stopped = AtomicBool::new(false);
        Bench { start, idle: Mutex::default(), told: count(), left: count(), is_stopped }
    }

    /// Ends the agents at once; no story begins any more, and one that is being told gives no verdict.
    pub fn stop(&self) {
        self.is_stopped.store(true, Relaxed);
        end_processes(&self.start.scratch);
    }

    /// Whether it was stopped.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Relaxed)
    }

    /// Tells a story; `is_fresh` if the home may not have served another one.
    pub fn tell(&self, story: &Story, is_fresh: bool) -> Told {
        let none = |why: &str| Told { infrastructure: Some(why.to_owned()), ..Told::default() };
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let kept = if is_fresh { None } else { idle() };
        let mut process = match kept.map_or_else(|| AgentProcess::start(&self.start), Ok) {
            Ok(process) => process,
            Err(error) => return none(&error.text),
        };
        let number = self.told.fetch_add(1, Relaxed) + 1;
        let told = if self.is_stopped() {
            none(STOPPED)
        } else {
            tell(&mut process, story, &format!("s{number}"))
        };
        let told = if self.is_stopped() { none(STOPPED) } else { told };
        // After another failure the agent still does what it is told.
        let is_usable = !told.breaks(rules::ANSWERS)
            && told.unjudged.is_none()
            && told.infrastructure.is_none();
        if is_usable && !is_fresh && process.hello().capabilities.has("shared-home") {
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
    pub fn end(&self) -> usize {
        let idle = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        idle.into_iter().map(AgentProcess::end).sum::<usize>() + self.left.load(Relaxed)
    }
}

/// Judges an agent; `progress` is called after each story, with what came of it.
///
/// # Errors
/// The agent cannot be had, or the machine failed: there is no verdict.
pub fn run(
    bench: &Bench,
    plan: &DoorPlan,
    chosen: Option<Vec<Story>>,
    progress: &(dyn Fn(&Story, &Told) + Sync),
) -> Result<DoorResults, DoorError> {
    let started = Instant::now();
    let hello = bench.hello()?;
    let chosen = chosen.unwrap_or_else(|| stories(&hello.capabilities, plan.seed, plan.stories));
    let turns = AtomicUsize::new(0);
    let has_time = |share: f64| {
        let is_early = |budget: Duration| started.elapsed() < budget.mul_f64(share);
        !bench.is_stopped() && plan.time_budget.is_none_or(is_early)
    };
    let goes_on =
        || has_time(STORIES_SHARE) && plan.turns.is_none_or(|limit| turns.load(Relaxed) < limit);
    let one_by_one = chosen.into_iter().take_while(|_| goes_on());
    let mut told: Vec<ToldStory> = parallel::map(one_by_one, plan.jobs, |story| {
        let told = bench.tell(&story, false);
        turns.fetch_add(told.turns, Relaxed);
        progress(&story, &told);
        ToldStory { story, told }
    });
    told.retain(|failure| failure.told.infrastructure.as_deref() != Some(STOPPED));
    let why_none = told.iter().map(|ToldStory { told, .. }| told.infrastructure.clone());
    if let Some(Some(text)) = why_none.reduce(|left, right| left.and(right)) {
        bench.end();
        return Err(DoorError { code: DoorCode::Infrastructure, text });
    }
    let mut results = DoorResults { hello, seeds: [plan.seed].into(), ..DoorResults::default() };
    told.iter().for_each(|ToldStory { told, .. }| results.add_story(told));
    results.findings = findings(bench, &told, plan.jobs, &has_time);
    results.left_running += bench.end();
    results.seconds = started.elapsed().as_secs();
    Ok(results)
}

struct ToldStory {
    story: Story,
    told: Told,
}

/// What the stories show of each broken rule; `has_time` says whether a share of the time budget is not over.
fn findings(
    bench: &Bench,
    told: &[ToldStory],
    jobs: usize,
    has_time: &(dyn Fn(f64) -> bool + Sync),
) -> Vec<DoorFinding> {
    let failing = |rule: &'static str| told.iter().filter(move |failure| failure.told.breaks(rule));
    let size = |failure: &&ToldStory| (failure.story.turns(), failure.story.size());
    let smallest = |rule| Some((rule, failing(rule).min_by_key(size)?));
    let broken: Vec<_> = rules::DOOR_RULES.iter().filter_map(|rule| smallest(rule.id)).collect();
    // What is left of the time is divided among the failures.
    let share = (1.0 - STORIES_SHARE) / broken.len() as f64;
    parallel::map(broken.into_iter().enumerate(), jobs, |(index, (rule, failure))| {
        let begin = STORIES_SHARE + share * index as f64;
        let finding = examine(bench, rule, failure, &|part| has_time(begin + share * part));
        DoorFinding { stories: failing(rule).count(), ..finding }
    })
}

/// Makes a failing story small, and repeats it; `has_time` says whether a part of its time is not over.
fn examine(
    bench: &Bench,
    rule: &str,
    failure: &ToldStory,
    has_time: &dyn Fn(f64) -> bool,
) -> DoorFinding {
    let mut last = failure.told.clone();
    let story = shrink(&failure.story, SHRINK_RUNS, |story| {
        if !has_time(SHRINK_PART) {
            return false;
        }
        let told = bench.tell(story, false);
        let still_fails = told.breaks(rule);
        if still_fails {
            last = told;
        }
        still_fails
    });
    let mut repeats = 0;
    let mut repeated = 0;
    while repeats < REPEATS && has_time(1.0) {
        let told = bench.tell(&story, true);
        if told.infrastructure.is_some() {
            break;
        }
        repeats += 1;
        if told.breaks(rule) {
            repeated += 1;
            last = told;
        }
    }
    let breach = last.breaches.iter().find(|breach| breach.rule == rule);
    let text = breach.map(|breach| breach.text.clone()).unwrap_or_default();
    let transcript = last.transcript;
    DoorFinding { rule: rule.to_owned(), text, stories: 1, repeats, repeated, story, transcript }
}
