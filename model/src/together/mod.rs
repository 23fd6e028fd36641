//! Judges concurrent requests of several processes: some order of the requests must explain all their
//! answers. [`order`] searches for that order, with the world as the state of the search.
//!
//! A request that was refused as busy did nothing. A request without an answer, because its process was
//! killed, took effect completely and once, or not at all. The lists, previews and restores that follow
//! check what the store contains afterwards.

pub mod order;
mod unanswered;

use crate::allowed::Allowed;
use crate::answer::{Answer, Code, Counts};
use crate::blame;
use crate::excuse::Excuse;
use crate::files::Files;
use crate::observation::Observation;
use crate::operations::overlapped::of_a_turn;
use crate::plain::plain;
use crate::request::Request;
use crate::rules;
use crate::verdict::{Checks, Kind, Mismatch, Violation, word};
use crate::world::World;
use order::{SearchResult, SequentialState, Timed, explain};
use unanswered::ListedCheckpoints;

/// How many steps the search for an order may take.
const BUDGET: usize = 200_000;

/// A request and its answer.
#[derive(Clone, Debug)]
pub struct ConcurrentCall {
    /// The request of a process.
    pub request: Request,
    /// The answer; `None` where the process was killed first.
    pub answer: Option<Answer>,
    /// When the call began, in steps of a clock that all processes share.
    pub begin: u64,
    /// When the call was answered.
    pub end: u64,
    /// Whether all other calls had ended.
    pub is_alone: bool,
}

impl World {
    /// Compares the answers of several processes, and the files afterwards. Returns the world after
    /// the calls where some order of the requests explains them.
    ///
    /// Implements [`rules::CONCURRENT_SERIAL`] (decides). If no order does, the violation reported is the one
    /// after the order that explains most.
    pub fn compare_together(
        &self,
        calls: &[ConcurrentCall],
        after: &Files,
    ) -> (Checks, Option<World>) {
        let mut checks = Checks::default();
        // No answer reports what a killed restore wrote.
        if calls.iter().any(|call| call.answer.is_none() && call.request.restores()) {
            checks.excused(&rules::CONCURRENT_SERIAL, Excuse::Injection, 1);
            return (checks, None);
        }
        let mut world = self.clone();
        world.mark_size_uncertain();
        world.mark_unanswered_sweeps(calls);
        let listed = ListedCheckpoints::of(calls, self);
        let timed: Vec<Timed<PossibleAnswers<'_>>> =
            calls.iter().filter_map(|call| listed.timed(call)).collect();
        match explain(&SearchState { world, after }, &timed, &mut BUDGET.clone()) {
            SearchResult::Explained(explanations) => {
                checks.held(&rules::CONCURRENT_SERIAL, 1);
                let first = explanations.into_iter().next();
                (checks, first.map(|explanation| explanation.state.world))
            }
            SearchResult::Unexplained(unexplained) => {
                let mut violation = *unexplained.refusal;
                let line = |(position, index): (usize, &usize)| {
                    format!("{}. {}", position + 1, self.line(timed[*index].call.call))
                };
                let order = unexplained.order.iter().chain([&unexplained.first]);
                let order: Vec<String> = order.enumerate().map(line).collect();
                // Two checkpoints with one id explain whatever else is wrong.
                if let Some(mismatch) = duplicate_id(calls) {
                    violation =
                        Violation { rule: &rules::CONCURRENT_SERIAL, mismatch, ..violation };
                }
                violation.mismatch.tree = order;
                checks.held(violation.rule, 1);
                checks.violations.push(violation);
                (checks, None)
            }
            SearchResult::Unknown => {
                checks.excused(&rules::CONCURRENT_SERIAL, Excuse::Orders, 1);
                (checks, None)
            }
        }
    }

    /// Describes a call in one line, for people.
    fn line(&self, call: &ConcurrentCall) -> String {
        let when = if call.is_alone { ", after all others had ended" } else { "" };
        let answer = call.answer.as_ref().map_or("killed".to_owned(), word);
        let project = call.request.dir().and_then(|dir| self.canonical(dir));
        let project = project.map(|project| format!(" {project}")).unwrap_or_default();
        format!("{}{project}{when}: {answer}", call.request.name())
    }
}

/// The mismatch of the first list with two checkpoints of one id, if there is one.
fn duplicate_id(calls: &[ConcurrentCall]) -> Option<Mismatch> {
    let lists = calls.iter().filter_map(|call| match &call.answer {
        Some(Answer::Listed(listed)) => Some(listed),
        _ => None,
    });
    lists.into_iter().find_map(|listed| {
        let ids: Vec<&String> = listed.iter().map(|entry| &entry.id).collect();
        let is_duplicate = |id: &&String| ids.iter().filter(|other| *other == id).count() > 1;
        let id = ids.iter().copied().find(is_duplicate)?;
        let symptom = "two checkpoints have one id";
        let expected = format!("a list with {id} once");
        Some(Mismatch::new(symptom, expected, plain(&ids)))
    })
}

impl ConcurrentCall {
    /// The answer to judge: errors of a sweep do not count while other calls may hold locks.
    fn judged(&self, answer: &Answer) -> Answer {
        match answer.clone() {
            Answer::Swept { outcome, counts } if !self.is_alone => {
                Answer::Swept { outcome, counts: Counts { errors: 0, ..counts } }
            }
            answer => answer,
        }
    }
}

/// A call, with one answer for each checkpoint that it may have taken if that is not known.
struct PossibleAnswers<'a> {
    call: &'a ConcurrentCall,
    /// The possible answers: the actual answer alone, where it is known.
    answers: Vec<Answer>,
}

/// The state of the search: the world, and the files after a restore.
#[derive(Clone)]
struct SearchState<'a> {
    world: World,
    after: &'a Files,
}

impl SearchState<'_> {
    /// The state after a call with this answer.
    fn after_answer(&self, call: &ConcurrentCall, answer: &Answer) -> Result<Self, Box<Violation>> {
        let is_busy = matches!(answer, Answer::Refused { code: Code::Busy, .. });
        if is_busy && !call.is_alone {
            return Ok(self.clone());
        }
        let is_restored = matches!(answer, Answer::Restored(_));
        let files = if is_restored { self.after } else { &self.world.files }.clone();
        let observation = Observation::new(of_a_turn(&call.request), call.judged(answer), files);
        let allowed = self.world.allows(&observation.request);
        let mut violations = self.world.compare(&allowed, &observation).violations;
        let is_judged = |violation: &Violation| {
            let is_ended = matches!(violation.mismatch.kind, Kind::Crash | Kind::Timeout);
            is_ended || violation.rule.needs.iter().all(|capability| self.world.has(capability))
        };
        violations.retain(is_judged);
        if let Some(failure) = blame::failures(violations).into_iter().next() {
            return Err(Box::new(failure.cause));
        }
        let mut next = self.clone();
        next.world.learn(&observation);
        if !call.is_alone {
            // While a prune holds the store, no checkpoint frees space.
            next.world.mark_size_uncertain();
        }
        Ok(next)
    }
}

impl<'a> SequentialState<PossibleAnswers<'a>> for SearchState<'a> {
    type Err = Box<Violation>;

    fn after(&self, possible: &PossibleAnswers<'a>) -> Result<Vec<Self>, Box<Violation>> {
        let states = possible.answers.iter().map(|answer| self.after_answer(possible.call, answer));
        match possible.call.answer {
            Some(_) => states.collect(),
            // The call may have had any effect that is possible now.
            None => Ok(states.filter_map(Result::ok).collect()),
        }
    }

    fn key(&self) -> String {
        let mut key = match self.world.allows(&Request::Sweep) {
            Allowed::Sweep(sweep) => format!("{} {}", sweep.may_run, sweep.may_decline),
            _ => String::new(),
        };
        for (project, checkpoints) in self.world.histories() {
            let ids: Vec<&str> =
                checkpoints.iter().map(|checkpoint| checkpoint.id.as_str()).collect();
            let listed = self.world.listed(project).len();
            key += &format!("\n{project} {listed} {}", ids.join(" "));
        }
        // The files are left out: only one call may change them, and the search tracks that call.
        key
    }
}
