//! Requests of several processes that are asked at the same time: some order of them says all that they
//! were answered ([`order`]), with the world as the state of the search.
//!
//! Who waits in vain for another process did nothing. What was never answered, since its process was
//! killed, took effect as a whole, once, or not at all. What the store holds afterwards is for the lists,
//! previews and restores that follow to say.

pub mod order;
mod unanswered;

use crate::allowed::Allowed;
use crate::answer::{Answer, Code, Counts};
use crate::blame;
use crate::files::Files;
use crate::observation::Observation;
use crate::operations::overlapped::of_a_turn;
use crate::request::Request;
use crate::rules;
use crate::verdict::{Checks, Kind, Violation, word};
use crate::world::World;
use order::{State, Timed, Verdict, explain};
use unanswered::Sightings;

/// How many steps the search for an order may take.
const BUDGET: usize = 200_000;

/// A request, and what came of it.
#[derive(Clone, Debug)]
pub struct Call {
    /// What a process was asked.
    pub request: Request,
    /// What it answered; nothing where it was killed before.
    pub answer: Option<Answer>,
    /// When it was asked, in steps of a clock that all have in common.
    pub begin: u64,
    /// When it had answered.
    pub end: u64,
    /// Whether all others had ended.
    pub is_alone: bool,
}

impl World {
    /// Compares what several processes were answered, and files as they are afterwards. Returns the world
    /// after them where some order of the requests says that.
    ///
    /// Implements [`rules::CONCURRENT_SERIAL`]. What is wrong in any order is told as what is wrong after
    /// the order that says most.
    pub fn compare_together(&self, calls: &[Call], after: &Files) -> (Checks, Option<World>) {
        let mut checks = Checks::default();
        // What it wrote nobody says.
        if calls.iter().any(|call| call.answer.is_none() && call.request.restores()) {
            return (checks, None);
        }
        let mut world = self.clone();
        world.doubt_upkeep();
        world.doubt_unanswered_sweeps(calls);
        let sightings = Sightings::of(calls, self);
        let timed: Vec<Timed<Asked<'_>>> =
            calls.iter().filter_map(|call| sightings.timed(call)).collect();
        match explain(&Held { world, after }, &timed, &mut BUDGET.clone()) {
            Verdict::Explained(all) => {
                checks.held(&rules::CONCURRENT_SERIAL, 1);
                (checks, all.into_iter().next().map(|one| one.state.world))
            }
            Verdict::Unexplained(why) => {
                let mut violation = *why.why;
                let line = |(number, at): (usize, &usize)| {
                    format!("{}. {}", number + 1, self.line(timed[*at].call.call))
                };
                let order = why.order.iter().chain([&why.first]);
                violation.mismatch.tree = order.enumerate().map(line).collect();
                checks.held(violation.rule, 1);
                checks.violations.push(violation);
                (checks, None)
            }
            Verdict::Unknown => (checks, None),
        }
    }

    /// A call in a line, for a person.
    fn line(&self, call: &Call) -> String {
        let when = if call.is_alone { ", when all had ended" } else { "" };
        let answer = call.answer.as_ref().map_or("killed".to_owned(), word);
        let project = call.request.dir().and_then(|dir| self.canonical(dir));
        let project = project.map(|project| format!(" {project}")).unwrap_or_default();
        format!("{}{project}{when}: {answer}", call.request.name())
    }
}

impl Call {
    /// The answer as it is judged: what others held is no error.
    fn judged(&self, answer: &Answer) -> Answer {
        match answer.clone() {
            Answer::Swept { outcome, counts } if !self.is_alone => {
                Answer::Swept { outcome, counts: Counts { errors: 0, ..counts } }
            }
            answer => answer,
        }
    }
}

/// A call, with the checkpoints that it may have taken where nobody knows which.
struct Asked<'a> {
    call: &'a Call,
    /// The answers that it may have had: that which it had, where that is known.
    answers: Vec<Answer>,
}

/// What is stored, and the files after a restore.
#[derive(Clone)]
struct Held<'a> {
    world: World,
    after: &'a Files,
}

impl Held<'_> {
    /// The state after a call that was answered so.
    fn answered(&self, call: &Call, answer: &Answer) -> Result<Self, Box<Violation>> {
        let is_busy = matches!(answer, Answer::Refused { code: Code::Busy, .. });
        if is_busy && !call.is_alone {
            return Ok(self.clone());
        }
        let is_restored = matches!(answer, Answer::Restored(_));
        let files = if is_restored { self.after } else { &self.world.files }.clone();
        let seen = Observation::new(of_a_turn(&call.request), call.judged(answer), files);
        let allowed = self.world.allows(&seen.request);
        let mut wrong = self.world.compare(&allowed, &seen).violations;
        let is_judged = |one: &Violation| {
            let ended = matches!(one.mismatch.kind, Kind::Crash | Kind::Timeout);
            ended || one.rule.needs.iter().all(|needed| self.world.has(needed))
        };
        wrong.retain(is_judged);
        if let Some(failure) = blame::failures(wrong).into_iter().next() {
            return Err(Box::new(failure.cause));
        }
        let mut next = self.clone();
        next.world.learn(&seen);
        Ok(next)
    }
}

impl<'a> State for Held<'a> {
    type Call = Asked<'a>;
    type Key = String;
    type Refusal = Box<Violation>;

    fn after(&self, asked: &Asked<'a>) -> Result<Vec<Self>, Box<Violation>> {
        let all = asked.answers.iter().map(|answer| self.answered(asked.call, answer));
        match asked.call.answer {
            Some(_) => all.collect(),
            // It may have had any effect that it can have now.
            None => Ok(all.filter_map(Result::ok).collect()),
        }
    }

    fn key(&self) -> String {
        let mut key = match self.world.allows(&Request::Sweep) {
            Allowed::Sweep(due) => format!("{} {}", due.may_run, due.may_decline),
            _ => String::new(),
        };
        for (project, all) in self.world.histories() {
            let ids: Vec<&str> = all.iter().map(|one| one.id.as_str()).collect();
            let listed = self.world.listed(project).len();
            key += &format!("\n{project} {listed} {}", ids.join(" "));
        }
        // Only one of the calls may change files, and which of them are done is known.
        key
    }
}
