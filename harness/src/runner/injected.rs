//! Injections in a run: something is made to happen at a call of a request, and what is listed after it
//! says whether that took effect.

use super::meanwhile::{Done, Meanwhile};
use super::{Calls, Event, Run, RunError, Runner, tell};
use crate::coverage;
use crate::history::concrete::{self, Step};
use crate::history::{At, History, Injection, What};
use crate::inject::{Gate, Injected, Point};
use herma_model::answer::Answer;
use herma_model::injected::{Injected as Happened, Lists};
use herma_model::{Allowed, ByteString, Edit, Files, Observation, Request, World};
use std::collections::BTreeSet;
use std::slice::from_ref;
use std::sync::{Arc, mpsc};
use std::thread;

/// A request that met an injection.
struct Met {
    seen: Observation,
    injected: Option<Injected>,
    meanwhile: Done,
    /// Whether the agent started again after it.
    starts_again: bool,
}

impl Runner<'_> {
    /// What it is to the model.
    fn happens(&self, request: &Request, injection: &Injection, edited: &Files) -> Happened {
        match injection.what {
            What::Kill => Happened::Killed,
            What::PowerLoss(_) => Happened::PowerLost,
            What::Error | What::NoSpace | What::DiskFull | What::ReadError | What::ShortWrite => {
                Happened::CallFailed
            }
            What::Hold => self.world.beside(request, edited),
            What::Overlap | What::Together(_) => Happened::Overlapped,
        }
    }

    /// Asks while something is made to happen, and looks at every list. Returns whether anything could be
    /// judged.
    pub(super) fn ask_injected(
        &mut self,
        step: usize,
        request: &Request,
        injection: &Injection,
    ) -> Result<bool, RunError> {
        if let What::Together(processes) = injection.what {
            return self.ask_together(step, request, (processes, injection));
        }
        self.run.operations += 1;
        self.check_files(step)?;
        let restarts = self.subject.restarts_for_injections();
        self.starts_again(restarts);
        let state = coverage::state(&self.world, request);
        let allowed = self.world.allows(request);
        let Met { seen, injected, meanwhile, starts_again } =
            self.meet(step, request, &allowed, injection)?;
        let mut then = self.world.clone();
        let changes: Vec<_> =
            edits_in(&self.world, injection).iter().flat_map(|edit| then.edit(edit)).collect();
        let is_idle = match injection.what {
            // Where no order of two requests says what is right, the second was not asked.
            What::Overlap => meanwhile.asked.is_none(),
            What::Hold => changes.is_empty(),
            _ => false,
        };
        let came = injected.as_ref().is_some_and(|injected| injected.came) && !is_idle;
        let calls = injected.map(|injected| injected.calls).unwrap_or_default();
        self.run.injected = Some(Calls { calls, came });
        let starts_again = starts_again || restarts;
        if !came {
            let judged = self.judge(step, state, &allowed, seen);
            self.starts_again(starts_again);
            return judged;
        }
        let happened = self.happens(request, injection, &then.files);
        self.run.injections += 1;
        self.injected = Some((injection.what, happened));
        if happened.is_edited() {
            tell(&mut self.watch, || Event::Edited(changes));
            if meanwhile.is_prevented {
                then.files.clone_from(&seen.files);
            }
            let allowed = (!meanwhile.is_prevented).then_some(&allowed);
            let judged = self.judge_edited(step, allowed, seen, then)?;
            self.starts_again(starts_again);
            return Ok(judged);
        }
        if let Some((other, answer)) = meanwhile.asked {
            let judged = self.judge_overlapped(step, seen, (&other, &answer))?;
            self.starts_again(starts_again);
            return Ok(judged);
        }
        let checks = match seen.answer {
            Answer::Crashed(_) if !happened.ends_process() => self.world.compare(&allowed, &seen),
            _ => self.world.compare_injected(&allowed, &seen, happened),
        };
        self.record(step, checks);
        if self.has_ended() {
            return Ok(true);
        }
        let (lists, debris) =
            (self.lists(step, from_ref(request))?, self.world.debris(&allowed, &seen));
        let after = self.world.aftermath(&allowed, &seen, lists);
        self.world.learn_injected(&seen, happened, &after);
        self.tell_request(step, seen);
        self.starts_again(starts_again);
        // Nobody works on beside what a restore left that came to no end.
        for path in debris {
            self.edit(step, &Edit::Remove { path })?;
        }
        self.judge_lists(step, after.lists.into_keys())
    }

    /// Asks, and makes it happen.
    fn meet(
        &mut self,
        step: usize,
        request: &Request,
        allowed: &Allowed,
        injection: &Injection,
    ) -> Result<Met, RunError> {
        let (call, what) = (injection.call, injection.what);
        let point = Point { call, what, gate: Arc::default() };
        let gate: &Gate = &point.gate;
        let (sandbox, seconds, opening) =
            (self.sandbox.shared(), self.world.seconds(), self.opening);
        let mut waits = Some(Meanwhile::beside(request, injection, &self.world));
        let keeps_agent = self.run.capabilities.keeps_agent();
        let (mut injected, mut done, mut starts_again) = (Ok(None), Done::default(), false);
        let seen = self.observe_by(step, request, allowed, &mut |subject, request| {
            injected = thread::scope(|scope| {
                let (is_ready, ready) = mpsc::channel();
                let place = (sandbox.shared(), seconds);
                let other = waits.take().map(|meanwhile| {
                    scope.spawn(move || meanwhile.happens((gate, is_ready), place, opening))
                });
                // Whoever is asked meanwhile is opened before.
                let _ = ready.recv();
                let injected = subject.ask_injected(request, &point);
                gate.end();
                let died = || Done { is_prevented: true, asked: None };
                done =
                    other.map_or_else(Done::default, |one| one.join().unwrap_or_else(|_| died()));
                injected
            });
            let answer = match &mut injected {
                Ok(None) => subject.ask(request),
                Ok(Some(Injected { answer: Some(answer), .. })) => answer.clone(),
                // It was ended, which is no failure of its own.
                Ok(Some(_)) | Err(_) => Answer::Crashed("ended by the injection".into()),
            };
            // An agent whose restore was refused half-way starts again, and undoes it.
            let is_refused = matches!(answer, Answer::Refused { .. });
            starts_again = is_refused && request.restores() && keeps_agent;
            if starts_again {
                subject.ask(&Request::Reopen);
            }
            answer
        })?;
        Ok(Met { seen, injected: injected?, meanwhile: done, starts_again })
    }

    /// Compares what two requests left of which another process was asked the second meanwhile.
    fn judge_overlapped(
        &mut self,
        step: usize,
        mut seen: Observation,
        other: (&Request, &Answer),
    ) -> Result<bool, RunError> {
        let (mut checks, mut then) = self.world.compare_overlapped(&seen, other);
        if then.is_none() {
            self.oracle.look_closer((&self.world, &self.sandbox), &mut seen)?;
            (checks, then) = self.world.compare_overlapped(&seen, other);
        }
        self.record(step, checks);
        if self.has_ended() {
            return Ok(true);
        }
        match then {
            Some(then) => self.world = then,
            None => {
                self.world.learn_amiss(&seen);
                self.list_again(step, &seen)?;
            }
        }
        let lists = self.lists(step, from_ref(&seen.request))?;
        self.tell_request(step, seen);
        self.judge_lists(step, lists.into_keys())
    }

    /// Compares what a request left beside which somebody edited files: `then` is the world in which that
    /// was done before it. Where not all of it could be done, nothing is compared.
    fn judge_edited(
        &mut self,
        step: usize,
        allowed: Option<&Allowed>,
        mut seen: Observation,
        then: World,
    ) -> Result<bool, RunError> {
        self.oracle.look_closer((&self.world, &self.sandbox), &mut seen)?;
        let compare = |allowed| self.world.compare_beside(allowed, &seen, &then.files);
        let checks = allowed.map(compare).unwrap_or_default();
        let debris = allowed.map(|allowed| then.debris(allowed, &seen)).unwrap_or_default();
        self.record(step, checks);
        if self.has_ended() {
            return Ok(true);
        }
        let lists = self.lists(step, from_ref(&seen.request))?;
        self.world.learn_beside(&seen, &then, &lists);
        self.tell_request(step, seen);
        for path in debris {
            self.edit(step, &Edit::Remove { path })?;
        }
        self.judge_lists(step, lists.into_keys())
    }

    /// Takes in whether the agent started again.
    pub(super) fn starts_again(&mut self, has_started: bool) {
        if has_started {
            let files = self.world.files.clone();
            self.world.learn(&Observation::new(Request::Reopen, Answer::Done, files));
        }
    }

    pub(super) fn judge_lists(
        &mut self,
        step: usize,
        projects: impl Iterator<Item = ByteString>,
    ) -> Result<bool, RunError> {
        for project in projects {
            if !self.has_ended() {
                let dir = self.world.absolute(&project);
                self.ask_one(step, &Request::List { dir })?;
            }
        }
        Ok(true)
    }

    /// What is listed now of each project, those of these requests too. Nothing is judged by it.
    pub(super) fn lists(&mut self, step: usize, asked: &[Request]) -> Result<Lists, RunError> {
        let own = asked.iter().filter_map(Request::dir).filter_map(|dir| self.world.canonical(dir));
        let own: Vec<ByteString> = own.collect();
        let known = self.world.histories().map(|(project, _)| project.clone());
        let mut projects: BTreeSet<ByteString> = known.chain(own).collect();
        projects.retain(|one| self.world.may_be_project(one));
        let mut lists = Lists::new();
        // What is asked here has replies of its own.
        let reply = std::mem::take(&mut self.reply);
        for project in projects {
            let list = Request::List { dir: self.world.absolute(&project) };
            if let Answer::Listed(listed) = self.observe(step, &list, &Allowed::Unknown)?.answer {
                lists.insert(project, listed);
            }
        }
        self.reply = reply;
        Ok(lists)
    }
}

/// The edits of an injection, as they are made in that world.
fn edits_in(world: &World, injection: &Injection) -> Vec<Edit> {
    let steps = injection.meanwhile.iter().map(|one| concrete::step(one, world));
    let edit = |step| match step {
        Step::Edit(edit) => Some(edit),
        _ => None,
    };
    steps.filter_map(edit).collect()
}

/// Runs a history once for each call that its injections can come at, or for some of them.
pub(super) fn at_every_call(
    history: &History,
    once: &dyn Fn(&History) -> Result<Run, RunError>,
) -> Result<Run, RunError> {
    let (mut all, mut between) = (Run::default(), 1);
    let spread = history.injections().find_map(|(_, injection)| match injection.call {
        At::Spread(most) => Some(most.max(1)),
        _ => None,
    });
    if let Some(most) = spread {
        let none = once(&history.at_call(Some(At::Call(u64::MAX))))?;
        let calls = none.injected.as_ref().map_or(0, |injected| injected.calls.len() as u64);
        between = calls.div_ceil(most).max(1);
    }
    for number in 0.. {
        let at = At::Call(1 + number * between);
        let run = once(&history.at_call(Some(at)))?;
        let came = run.injections > 0;
        all.join(run, at);
        if !came {
            break;
        }
    }
    Ok(all)
}
