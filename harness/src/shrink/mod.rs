//! From a history that fails to the shortest one that fails in the same way.
//!
//! Since every subsequence of a history is a history, shrinking is deletion: chunks, halving down
//! to single operations, until a whole pass deletes nothing. Then the remaining values are made
//! simpler, one at a time, and each success is followed by another pass of deletion. Only a failure
//! with the same fingerprint counts as the same: otherwise a search for one bug would end at
//! another.

mod renaming;
mod values;

use crate::divergence::Divergence;
use crate::history::{At, History, Operation};
use crate::runner::{Run, Until};
use crate::sandbox::Scratch;
use crate::subject::NewSubject;
use crate::trial::trial_until;
use herma_model::verdict::Kind;
use herma_model::{Settings, blame};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Enough executions for any history of default length.
pub const BUDGET_DEFAULT: usize = 3_000;

/// So many other calls of the same sort are tried.
const OTHER_CALLS_MAX: usize = 4;

/// How long a shorter history that hangs is looked for.
const HANG_SEARCH: Duration = Duration::from_secs(60);

/// How long a search for a short history goes on: what was found by then is the answer.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// At most so many executions.
    pub executions: usize,
    /// None after this moment, if there is one.
    pub until: Option<Instant>,
}

impl Budget {
    /// The budget for a failure of this kind: each run that shows that nothing is answered takes as
    /// long as an answer may.
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

/// Whether a moment is over; one that never comes is not.
pub fn is_past(moment: Option<Instant>) -> bool {
    moment.is_some_and(|moment| Instant::now() >= moment)
}

/// The shortest history found.
#[derive(Debug)]
pub struct Shrunk {
    /// The history.
    pub history: History,
    /// How it fails.
    pub divergence: Divergence,
    /// How many times a history was run to find it.
    pub executions: usize,
}

struct Search<'a> {
    best: History,
    executions: usize,
    budget: Budget,
    tried: BTreeSet<String>,
    /// How a history fails in the same way; `None` if it does not.
    fails: &'a mut dyn FnMut(&History) -> Option<Fails>,
}

/// A history that fails in the same way.
struct Fails {
    /// The step at which it does.
    step: usize,
    /// The call that its injections come at then, where that is another one.
    call: Option<At>,
}

/// Shrinks `history`, which fails with `divergence`, within the budget.
pub fn shrink(
    history: &History,
    divergence: &Divergence,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
    budget: &Budget,
) -> Shrunk {
    // It stands for a run for each call, of which one fails.
    let history = &history.at_call(divergence.call);
    let (step, wanted) = (divergence.step, divergence.fingerprint());
    let until = until(divergence);
    let budget = budget.of(divergence.mismatch.kind);
    let mut divergence = divergence.clone();
    let same = |one: &Divergence| one.follows.is_none() && one.fingerprint() == wanted;
    // A run that cannot be made says nothing about the subject.
    let run = |candidate: &History| trial_until(until, candidate, new_subject, scratch).ok();
    let mut shortest = history.operations.len();
    let mut fails = |candidate: &History| {
        let outcome = run(candidate)?;
        let is_shorter = candidate.operations.len() < shortest;
        let others = if is_shorter { same_call(&outcome.run, &divergence) } else { Vec::new() };
        let mut found = outcome.run.divergences.into_iter().find(same).map(|one| (one, None));
        for call in others {
            if found.is_some() {
                break;
            }
            let elsewhere = candidate.at_every_call()?.at_call(Some(call));
            let mut seen = run(&elsewhere)?.run.divergences.into_iter();
            found = seen.find(same).map(|one| (one, Some(call)));
        }
        let (new, call) = found?;
        divergence = new;
        shortest = shortest.min(candidate.operations.len());
        Some(Fails { step: divergence.step, call })
    };
    // In a plain home no second run is needed to find the cause of a failure.
    let plain = History { plain_home: true, ..history.clone() };
    let in_plain = if history.plain_home { Some(step) } else { fails(&plain).map(|one| one.step) };
    let is_plain = in_plain.is_some();
    let (start, step) = in_plain.map_or((history, step), |step| (&plain, step));
    let (mut history, mut executions) = search(start, step, budget, &mut fails);
    executions += 1;
    let usual = History { plain_home: false, ..history.clone() };
    if is_plain && fails(&usual).is_some() {
        history = usual;
    } else {
        // Sets the reported failure to that of the final history.
        fails(&history);
    }
    Shrunk { history, divergence, executions }
}

/// The calls of a request that something may come at in the place of the one that it came at in
/// `divergence`: a shorter history makes fewer.
fn same_call(run: &Run, divergence: &Divergence) -> Vec<At> {
    let (Some(met), Some(wanted)) = (&run.injected, &divergence.met) else { return Vec::new() };
    let calls = met.calls.iter().enumerate().filter(|(_, call)| *call == wanted);
    let mut calls: Vec<At> = calls.map(|(at, _)| At::Call(at as u64 + 1)).collect();
    calls.reverse();
    calls.truncate(OTHER_CALLS_MAX);
    calls
}

/// How far a history must be run to show a failure: one that never follows from another may come
/// after any.
pub fn until(divergence: &Divergence) -> Until {
    let stands_alone = blame::STANDS_ALONE.contains(&divergence.rule);
    if stands_alone { Until::End } else { Until::Disagreement }
}

/// Shortens `history`, for which `fails` returns the step it fails at, at most `budget` times.
pub fn shorten(
    history: &History,
    step: usize,
    budget: usize,
    fails: &dyn Fn(&History) -> Option<usize>,
) -> History {
    let fails = &mut |candidate: &History| Some(Fails { step: fails(candidate)?, call: None });
    search(history, step, budget.into(), fails).0
}

fn search(
    history: &History,
    step: usize,
    budget: Budget,
    fails: &mut dyn FnMut(&History) -> Option<Fails>,
) -> (History, usize) {
    let mut best = history.clone();
    // What comes after the failure does not matter.
    best.operations.truncate(step + 1);
    let mut search = Search { best, executions: 0, budget, tried: BTreeSet::new(), fails };
    loop {
        search.delete_operations();
        let simpler = search.simplify_values() || search.rename_files();
        if !simpler && !search.exchange_edits() && !search.put_edits_earlier() {
            break;
        }
    }
    (search.best, search.executions)
}

impl Search<'_> {
    /// Whether `candidate` fails in the same way; if so it becomes the best.
    fn accept(&mut self, candidate: History) -> bool {
        // Passes repeat candidates; one that did not fail before is not run again.
        let is_used = self.executions >= self.budget.executions || is_past(self.budget.until);
        if is_used || !self.tried.insert(format!("{candidate:?}")) {
            return false;
        }
        self.executions += 1;
        let Some(Fails { step, call }) = (self.fails)(&candidate) else { return false };
        let every = call.and_then(|_| candidate.at_every_call());
        self.best = every.map_or(candidate, |every| every.at_call(call));
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
                let mut candidate = self.best.clone();
                candidate.operations.drain(start..end);
                // Without it there may be one checkpoint or one file less, so numbers and limits
                // that counted it are lowered by one as well.
                let one_back = |history: &History| values::one_back(history, start);
                let fewer = (size == 1).then(|| values::one_less(&candidate)).flatten();
                let back = (size == 1).then(|| one_back(&candidate)).flatten();
                let both = fewer.as_ref().and_then(one_back);
                let mut candidates = [Some(candidate), back, fewer, both].into_iter().flatten();
                deleted |= candidates.any(|candidate| self.accept(candidate));
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
        for simpler in values::SETTINGS_TO_DEFAULT {
            let mut candidate = self.best.clone();
            simpler(&mut candidate.settings, &Settings::default());
            simplified |= candidate != self.best && self.accept(candidate);
        }
        for settings in values::smaller_bounds(&self.best.settings) {
            let candidate = History { settings, ..self.best.clone() };
            if self.accept(candidate) {
                simplified = true;
                break;
            }
        }
        let mut at = 0;
        while at < self.best.operations.len() {
            let mut again = true;
            while again {
                again = false;
                for simpler in self.simpler_operations(at) {
                    let mut candidate = self.best.clone();
                    candidate.operations[at] = simpler;
                    if self.accept(candidate) {
                        simplified = true;
                        again = at < self.best.operations.len();
                        break;
                    }
                }
            }
            at += 1;
        }
        simplified
    }

    /// Gives one file a simpler name; returns whether any got one.
    fn rename_files(&mut self) -> bool {
        renaming::renamed(&self.best).into_iter().any(|candidate| self.accept(candidate))
    }

    /// Swaps two edits if the history then fails earlier: what a second restore shows of a file
    /// that only the first one brought back, one restore can show as well. Returns whether any swap
    /// did.
    fn exchange_edits(&mut self) -> bool {
        let is_edit = |operation: &Operation| matches!(operation, Operation::Edit(_));
        let edits = self.best.operations.iter().enumerate().filter(|(_, one)| is_edit(one));
        let edits: Vec<usize> = edits.map(|(at, _)| at).collect();
        for (nth, later) in edits.iter().enumerate() {
            for earlier in &edits[..nth] {
                let mut candidate = self.best.clone();
                candidate.operations.swap(*earlier, *later);
                // One that does not fail earlier is not accepted, or the search would not end.
                candidate.operations.pop();
                if self.accept(candidate) {
                    return true;
                }
            }
        }
        false
    }

    /// Puts an edit in the place of an earlier one, which saves an operation: a file that is needed
    /// later may as well be there from the start.
    fn put_edits_earlier(&mut self) -> bool {
        let is_edit = |operation: &Operation| matches!(operation, Operation::Edit(_));
        for later in (1..self.best.operations.len()).rev() {
            for earlier in 0..later {
                let operations = &self.best.operations;
                if is_edit(&operations[later]) && is_edit(&operations[earlier]) {
                    let mut candidate = self.best.clone();
                    let edit = candidate.operations.remove(later);
                    candidate.operations[earlier] = edit;
                    if self.accept(candidate) {
                        return true;
                    }
                }
            }
        }
        false
    }

    fn simpler_operations(&self, at: usize) -> Vec<Operation> {
        self.best.operations.get(at).map(values::simpler).unwrap_or_default()
    }
}
