//! Shrinks a failing history to the shortest history that fails in the same way.
//!
//! Since every subsequence of a history is a history, shrinking is deletion: chunks, halving down
//! to single operations, until a complete pass deletes nothing. Then the remaining values are made
//! simpler, one at a time, and each success is followed by another pass of deletion. Only a failure
//! with the same fingerprint counts as the same: otherwise a search for one bug would end at
//! another bug.

mod edits;
mod renaming;
mod steps;
mod values;

use crate::divergence::Divergence;
use crate::history::{CallPosition, History};
use crate::runner::{Run, Until};
use crate::sandbox::Scratch;
use crate::subject::NewSubject;
use crate::trial::trial;
use herma_model::blame;
use herma_model::verdict::Kind;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

pub use steps::simpler_histories;

/// Enough executions for any history of default length.
pub const BUDGET_DEFAULT: usize = 3_000;

/// At most this many other calls of the same kind are tried.
const OTHER_CALLS_MAX: usize = 4;

/// The time limit of the search if the failure is a hang.
const HANG_SEARCH: Duration = Duration::from_secs(60);

/// The limits of a search; its result is the shortest history found within them.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The maximum number of executions.
    pub executions: usize,
    /// No execution starts after this moment, if there is one.
    pub until: Option<Instant>,
}

impl Budget {
    /// The budget for a failure of this kind: each run that ends in a timeout takes as long as the time
    /// limit of an answer.
    fn of(self, kind: Kind) -> Self {
        let until = (kind == Kind::Timeout).then(|| Instant::now() + HANG_SEARCH);
        Budget { until: until.into_iter().chain(self.until).min(), ..self }
    }
}

impl From<usize> for Budget {
    fn from(executions: usize) -> Self {
        Budget { executions, until: None }
    }
}

/// Whether a moment has passed; `None` never passes.
pub fn is_past(moment: Option<Instant>) -> bool {
    moment.is_some_and(|moment| Instant::now() >= moment)
}

/// A history and how it fails.
#[derive(Clone, Copy, Debug)]
pub struct FailingHistory<'a> {
    /// The history.
    pub history: &'a History,
    /// How it fails.
    pub divergence: &'a Divergence,
}

/// The shortest history found.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The history.
    pub history: History,
    /// How it fails.
    pub divergence: Divergence,
    /// How many times a history was run to find it.
    pub executions: usize,
}

struct HistorySearch<'a> {
    best: History,
    executions: usize,
    budget: Budget,
    tried: BTreeSet<String>,
    /// How a history fails in the same way; `None` if it does not.
    fails: &'a mut dyn FnMut(&History) -> Option<SameFailure>,
}

/// A history that fails in the same way.
struct SameFailure {
    /// The step at which it fails.
    step: usize,
    /// The call of its injections, if it fails with another call.
    call: Option<CallPosition>,
}

/// Shrinks a failing history within the budget.
pub fn shrink(
    failing: FailingHistory<'_>,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
    budget: &Budget,
) -> Shrunk {
    let FailingHistory { history, divergence } = failing;
    // A history for every call stands for one run per call; only the failing call is needed.
    let history = &history.at_call(divergence.call);
    let step = divergence.step;
    let wanted = divergence.fingerprint();
    let until = until(divergence);
    let budget = budget.of(divergence.mismatch.kind);
    let mut divergence = divergence.clone();
    let is_same = |found: &Divergence| found.follows.is_none() && found.fingerprint() == wanted;
    // A run that cannot be made is no evidence about the subject.
    let run = |candidate: &History| trial(candidate, new_subject, scratch, until).ok();
    let mut shortest = history.operations.len();
    let mut fails = |candidate: &History| {
        let trial = run(candidate)?;
        let is_shorter = candidate.operations.len() < shortest;
        let other_calls =
            if is_shorter { similar_calls(&trial.run, &divergence) } else { Vec::new() };
        let mut divergences = trial.run.divergences.into_iter();
        let mut found = divergences.find(is_same).map(|found| (found, None));
        for call in other_calls {
            if found.is_some() {
                break;
            }
            let variant = candidate.at_every_call()?.at_call(Some(call));
            let mut divergences = run(&variant)?.run.divergences.into_iter();
            found = divergences.find(is_same).map(|found| (found, Some(call)));
        }
        let (new, call) = found?;
        divergence = new;
        shortest = shortest.min(candidate.operations.len());
        Some(SameFailure { step: divergence.step, call })
    };
    // In a plain home no second run is needed to find the cause of a failure.
    let plain = History { plain_home: true, ..history.clone() };
    let plain_step =
        if history.plain_home { Some(step) } else { fails(&plain).map(|failure| failure.step) };
    let is_plain = plain_step.is_some();
    let (start, step) = plain_step.map_or((history, step), |step| (&plain, step));
    let (mut history, mut executions) = search(start, step, budget, &mut fails);
    executions += 1;
    let hostile = History { plain_home: false, ..history.clone() };
    if is_plain && fails(&hostile).is_some() {
        history = hostile;
    } else {
        // Sets the reported failure to that of the final history.
        fails(&history);
    }
    Shrunk { history, divergence, executions }
}

/// The calls of a run of the same kind as the call of the injection in `divergence`: a shorter history
/// makes fewer calls, so that the numbers differ.
fn similar_calls(run: &Run, divergence: &Divergence) -> Vec<CallPosition> {
    let (Some(injected), Some(wanted)) = (&run.injected, &divergence.met) else {
        return Vec::new();
    };
    let calls = injected.calls.iter().enumerate().filter(|(_, call)| *call == wanted);
    let mut calls: Vec<CallPosition> =
        calls.map(|(index, _)| CallPosition::Call(index as u64 + 1)).collect();
    calls.reverse();
    calls.truncate(OTHER_CALLS_MAX);
    calls
}

/// When a run that shows a failure may end: a failure that never follows from another one may come after
/// any other.
pub fn until(divergence: &Divergence) -> Until {
    let is_independent = blame::INDEPENDENT.contains(&divergence.rule);
    if is_independent { Until::End } else { Until::Disagreement }
}

/// Shortens `history`, for which `fails` returns the step it fails at, at most `budget` times.
pub fn shorten(
    history: &History,
    step: usize,
    budget: usize,
    fails: &dyn Fn(&History) -> Option<usize>,
) -> History {
    let fails =
        &mut |candidate: &History| Some(SameFailure { step: fails(candidate)?, call: None });
    search(history, step, budget.into(), fails).0
}

fn search(
    history: &History,
    step: usize,
    budget: Budget,
    fails: &mut dyn FnMut(&History) -> Option<SameFailure>,
) -> (History, usize) {
    let mut best = history.clone();
    // Operations after the failure do not matter.
    best.operations.truncate(step + 1);
    let mut search = HistorySearch { best, executions: 0, budget, tried: BTreeSet::new(), fails };
    loop {
        search.delete_operations();
        let is_simpler = search.simplify_values()
            || search.accept_any(renaming::renamed(&search.best))
            || search.accept_any(steps::with_exchanged_edits(&search.best))
            || search.accept_any(steps::with_earlier_edits(&search.best));
        if !is_simpler {
            break;
        }
    }
    (search.best, search.executions)
}

impl HistorySearch<'_> {
    /// Whether `candidate` fails in the same way; if so, it becomes the best.
    fn accept(&mut self, candidate: History) -> bool {
        // Passes repeat candidates; a candidate that did not fail before is not run again.
        let is_exhausted = self.executions >= self.budget.executions || is_past(self.budget.until);
        if is_exhausted || !self.tried.insert(format!("{candidate:?}")) {
            return false;
        }
        self.executions += 1;
        let Some(SameFailure { step, call }) = (self.fails)(&candidate) else { return false };
        let for_every_call = call.and_then(|_| candidate.at_every_call());
        self.best = for_every_call.map_or(candidate, |history| history.at_call(call));
        self.best.operations.truncate(step + 1);
        true
    }

    fn delete_operations(&mut self) {
        let mut size = self.best.operations.len().div_ceil(2);
        while size > 0 {
            // From the end, since later operations depend on earlier ones.
            let mut end = self.best.operations.len();
            let mut deleted = false;
            while end > 0 {
                let start = end.saturating_sub(size);
                let candidates = steps::without(&self.best, start..end);
                deleted |= self.accept_any(candidates);
                end = start.min(self.best.operations.len());
            }
            if !(deleted && size == 1) {
                size /= 2;
            }
        }
    }

    /// Makes one pass over all values; returns whether any became simpler.
    fn simplify_values(&mut self) -> bool {
        let mut simplified = false;
        // Every setting that can have its default gets it, but only one limit is lowered in a pass.
        while self.accept_any(steps::with_default_settings(&self.best)) {
            simplified = true;
        }
        simplified |= self.accept_any(steps::with_lower_limits(&self.best));
        let mut index = 0;
        while index < self.best.operations.len() {
            while self.accept_any(steps::with_simpler_operation(&self.best, index)) {
                simplified = true;
            }
            index += 1;
        }
        simplified
    }

    /// Whether any of the candidates fails in the same way; the first that does becomes the best.
    fn accept_any(&mut self, candidates: Vec<History>) -> bool {
        candidates.into_iter().any(|candidate| self.accept(candidate))
    }
}
