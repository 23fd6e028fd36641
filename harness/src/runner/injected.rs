//! Injections in a run: an event is injected at a call of a request, and the lists after the request show
//! whether the request took effect.

use super::meanwhile::{Meanwhile, MeanwhileOutcome, OtherProcess};
use super::{Calls, Event, Run, RunError, Runner, notify};
use crate::coverage;
use crate::history::concrete::{self, ConcreteStep};
use crate::history::{CallPosition, History, InjectedEvent, Injection};
use crate::inject::{Gate, Injected, Point};
use crate::oracle::Context;
use herma_model::answer::Answer;
use herma_model::injected::{Injected as Happened, Lists};
use herma_model::{Allowed, ByteString, Edit, Excuse, Files, Observation, Request, World};
use std::collections::BTreeSet;
use std::slice::from_ref;
use std::sync::{Arc, mpsc};
use std::thread;

/// A request with an injection.
struct InjectedRequest {
    seen: Observation,
    injected: Option<Injected>,
    meanwhile: MeanwhileOutcome,
    /// Whether the agent started again after the request.
    has_restarted: bool,
}

impl Runner<'_> {
    /// The injection as the model distinguishes it.
    fn model_injection(
        &self,
        request: &Request,
        injection: &Injection,
        edited: &Files,
    ) -> Happened {
        match injection.what {
            InjectedEvent::Kill => Happened::Killed,
            InjectedEvent::PowerLoss(_) => Happened::PowerLost,
            InjectedEvent::Error
            | InjectedEvent::NoSpace
            | InjectedEvent::DiskFull
            | InjectedEvent::ReadError
            | InjectedEvent::ShortWrite => Happened::CallFailed,
            InjectedEvent::Hold => self.world.injection_of_edits(request, edited),
            InjectedEvent::Overlap | InjectedEvent::Together(_) => Happened::Overlapped,
        }
    }

    /// Judges a request with an injection, and reads every list. Returns whether anything could be judged.
    pub(super) fn judge_injected(
        &mut self,
        step: usize,
        request: &Request,
        injection: &Injection,
    ) -> Result<bool, RunError> {
        if let InjectedEvent::Together(processes) = injection.what {
            return self.judge_together(step, request, processes, injection);
        }
        self.run.operations += 1;
        self.check_files(step)?;
        let restarts = self.subject.restarts_for_injections();
        self.learn_restart(restarts);
        let state = coverage::state(&self.world, request);
        let allowed = self.world.allows(request);
        let InjectedRequest { seen, injected, meanwhile, has_restarted } =
            self.observe_injected(step, request, &allowed, injection)?;
        let mut edited_world = self.world.clone();
        let changes: Vec<_> = edits_in(&self.world, injection)
            .iter()
            .flat_map(|edit| edited_world.edit(edit))
            .collect();
        let has_effect = meanwhile.has_effect(injection.what, &changes);
        let has_happened = injected.as_ref().is_some_and(|injected| injected.came) && has_effect;
        let calls = injected.map(|injected| injected.calls).unwrap_or_default();
        self.run.injected = Some(Calls { calls, came: has_happened });
        let has_restarted = has_restarted || restarts;
        if !has_happened {
            let judged = self.compare_and_learn(step, state, &allowed, seen);
            self.learn_restart(has_restarted);
            return judged;
        }
        let happened = self.model_injection(request, injection, &edited_world.files);
        self.run.injections += 1;
        self.injected = Some((injection.what, happened));
        if happened.is_edited() {
            notify(&mut self.watch, || Event::Edited(changes));
            if meanwhile.is_prevented {
                edited_world.files.clone_from(&seen.files);
            }
            let allowed = (!meanwhile.is_prevented).then_some(&allowed);
            let judged = self.compare_edited(step, allowed, seen, edited_world)?;
            self.learn_restart(has_restarted);
            return Ok(judged);
        }
        if let Some((second, answer)) = meanwhile.answered {
            let judged = self.compare_overlapped(step, seen, &second, &answer)?;
            self.learn_restart(has_restarted);
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
        let lists = self.observe_lists(step, from_ref(request))?;
        let debris = self.world.debris(&allowed, &seen);
        let after = self.world.aftermath(&allowed, &seen, lists);
        self.world.learn_injected(&seen, happened, &after);
        self.notify_request(step, seen);
        self.learn_restart(has_restarted);
        // Leftovers of an interrupted restore would only disturb the rest of the history.
        for path in debris {
            self.edit(step, &Edit::Remove { path })?;
        }
        self.judge_lists(step, after.lists.into_keys())
    }

    /// Makes a request with an injection, and observes the disk before and after it.
    fn observe_injected(
        &mut self,
        step: usize,
        request: &Request,
        allowed: &Allowed,
        injection: &Injection,
    ) -> Result<InjectedRequest, RunError> {
        let point = Point { call: injection.call, what: injection.what, gate: Arc::default() };
        let gate: &Gate = &point.gate;
        let sandbox = self.sandbox.shared();
        let seconds = self.world.seconds();
        let opening = self.opening;
        let mut waits = Some(Meanwhile::of(request, injection, &self.world));
        let has_agent_state = self.run.capabilities.has_agent_state();
        let mut injected = Ok(None);
        let mut outcome = MeanwhileOutcome::default();
        let mut has_restarted = false;
        let mut seen = self.observe_with(step, request, allowed, &mut |subject, request| {
            injected = thread::scope(|scope| {
                let (is_ready, ready) = mpsc::channel();
                let process = OtherProcess { sandbox: sandbox.shared(), seconds, opening };
                let thread = waits
                    .take()
                    .map(|meanwhile| scope.spawn(move || meanwhile.run(gate, is_ready, &process)));
                // The other process is opened before the request.
                let _ = ready.recv();
                let injected = subject.ask_injected(request, &point);
                gate.end();
                let panicked = || MeanwhileOutcome { is_prevented: true, answered: None };
                outcome = thread.map_or_else(MeanwhileOutcome::default, |thread| {
                    thread.join().unwrap_or_else(|_| panicked())
                });
                injected
            });
            let answer = match &mut injected {
                Ok(None) => subject.ask(request),
                Ok(Some(Injected { answer: Some(answer), .. })) => answer.clone(),
                // The injection ended the process, which is not a failure of the subject.
                Ok(Some(_)) | Err(_) => Answer::Crashed("ended by the injection".into()),
            };
            // An agent whose restore was refused half-way starts again, and undoes it.
            let is_refused = matches!(answer, Answer::Refused { .. });
            has_restarted = is_refused && request.restores() && has_agent_state;
            if has_restarted {
                subject.ask(&Request::Reopen);
            }
            answer
        })?;
        // The file may be damaged again, or its repair may have been prevented.
        seen.refused_files = None;
        Ok(InjectedRequest { seen, injected: injected?, meanwhile: outcome, has_restarted })
    }

    /// Compares the result of two requests, the second of which went to another process meanwhile.
    fn compare_overlapped(
        &mut self,
        step: usize,
        mut seen: Observation,
        request: &Request,
        answer: &Answer,
    ) -> Result<bool, RunError> {
        if let Some(contents) = &mut seen.contents {
            self.oracle.add_needs(&self.world, contents, request, answer);
        }
        let (mut checks, mut next) = self.world.compare_overlapped(&seen, request, answer);
        if next.is_none() {
            let context = Context { world: &self.world, sandbox: &self.sandbox };
            self.oracle.look_closer(context, &mut seen)?;
            (checks, next) = self.world.compare_overlapped(&seen, request, answer);
        }
        self.record(step, checks);
        if self.has_ended() {
            return Ok(true);
        }
        match next {
            Some(next) => self.world = next,
            None => {
                self.world.learn_after_violation(&seen);
                self.list_again(step, &seen)?;
            }
        }
        let lists = self.observe_lists(step, from_ref(&seen.request))?;
        self.notify_request(step, seen);
        self.judge_lists(step, lists.into_keys())
    }

    /// Compares the result of a request during which files were edited: `edited_world` is the world in which
    /// the edits came before the request. If not all edits could be made (`allowed` is `None`), nothing is
    /// compared.
    fn compare_edited(
        &mut self,
        step: usize,
        allowed: Option<&Allowed>,
        mut seen: Observation,
        edited_world: World,
    ) -> Result<bool, RunError> {
        let context = Context { world: &self.world, sandbox: &self.sandbox };
        self.oracle.look_closer(context, &mut seen)?;
        let compare =
            |allowed| self.world.compare_with_concurrent_edits(allowed, &seen, &edited_world.files);
        let checks = allowed.map(compare).unwrap_or_default();
        let debris = allowed.map(|allowed| edited_world.debris(allowed, &seen)).unwrap_or_default();
        self.record(step, checks);
        if self.has_ended() {
            return Ok(true);
        }
        let lists = self.observe_lists(step, from_ref(&seen.request))?;
        self.world.learn_with_concurrent_edits(&seen, &edited_world, &lists);
        self.notify_request(step, seen);
        for path in debris {
            self.edit(step, &Edit::Remove { path })?;
        }
        self.judge_lists(step, lists.into_keys())
    }

    /// Updates the world if the agent started again.
    pub(super) fn learn_restart(&mut self, has_restarted: bool) {
        if has_restarted {
            let files = self.world.files.clone();
            self.world.learn(&Observation::new(Request::Reopen, Answer::Done, files));
        }
    }

    /// Requests and judges the list of each of these projects.
    pub(super) fn judge_lists(
        &mut self,
        step: usize,
        projects: impl Iterator<Item = ByteString>,
    ) -> Result<bool, RunError> {
        for project in projects {
            if !self.has_ended() {
                let dir = self.world.absolute(&project);
                self.judge_request(step, &Request::List { dir })?;
            }
        }
        Ok(true)
    }

    /// The current list of each project, including the projects of these requests. Nothing is judged.
    pub(super) fn observe_lists(
        &mut self,
        step: usize,
        requests: &[Request],
    ) -> Result<Lists, RunError> {
        let dirs = requests.iter().filter_map(Request::dir);
        let requested: Vec<ByteString> = dirs.filter_map(|dir| self.world.canonical(dir)).collect();
        let with_history = self.world.histories().map(|(project, _)| project.clone());
        let mut projects: BTreeSet<ByteString> = with_history.chain(requested).collect();
        projects.retain(|project| self.world.may_be_project(project));
        let mut lists = Lists::new();
        // The list requests overwrite the reply of the request.
        let reply = std::mem::take(&mut self.reply);
        for project in projects {
            let list = Request::List { dir: self.world.absolute(&project) };
            if let Answer::Listed(listed) =
                self.observe(step, &list, &Allowed::Unknown(Excuse::NoRule))?.answer
            {
                lists.insert(project, listed);
            }
        }
        self.reply = reply;
        Ok(lists)
    }
}

/// The concrete edits of an injection in that world.
fn edits_in(world: &World, injection: &Injection) -> Vec<Edit> {
    let steps = injection.meanwhile.iter().map(|operation| concrete::step(operation, world));
    let edit = |step| match step {
        ConcreteStep::Edit(edit) => Some(edit),
        _ => None,
    };
    steps.filter_map(edit).collect()
}

/// Runs a history once for each call at which its injections can happen, or for some of these calls.
pub(super) fn at_every_call(
    history: &History,
    run_once: &dyn Fn(&History) -> Result<Run, RunError>,
) -> Result<Run, RunError> {
    let mut joined = Run::default();
    let mut interval = 1;
    let spread = history.injections().find_map(|(_, injection)| match injection.call {
        CallPosition::Spread(calls_max) => Some(calls_max.max(1)),
        _ => None,
    });
    if let Some(calls_max) = spread {
        let without_injection = run_once(&history.at_call(Some(CallPosition::Call(u64::MAX))))?;
        let injected = without_injection.injected.as_ref();
        let calls = injected.map_or(0, |injected| injected.calls.len() as u64);
        interval = calls.div_ceil(calls_max).max(1);
    }
    for number in 0.. {
        let call = CallPosition::Call(1 + number * interval);
        let run = run_once(&history.at_call(Some(call)))?;
        let has_happened = run.injections > 0;
        joined.join(run, call);
        if !has_happened {
            break;
        }
    }
    Ok(joined)
}
