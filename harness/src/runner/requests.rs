//! A request in a run: the lists before and after it, its judgement, and its observation. Injections,
//! measurements and requests to several processes have modules of their own.

use super::{Event, RequestRecord, RunError, Runner, notify};
use crate::coverage;
use crate::oracle::Context;
use crate::protocol::translate;
use crate::subject::Subject;
use herma_model::answer::Answer;
use herma_model::rules;
use herma_model::{Allowed, ByteString, Excuse, Observation, Request};
use std::time::Instant;

impl Runner<'_> {
    /// Makes a request, and reads the list before and after a request that may evict a checkpoint.
    /// Returns whether the request could be judged.
    pub(super) fn request(&mut self, step: usize, request: &Request) -> Result<bool, RunError> {
        let evicting = self.world.may_evict_unpredictably(request);
        // The lists before and after the request show which checkpoints are evicted.
        for project in &evicting {
            self.settle_list(step, project)?;
        }
        let injection = self.injection.take_if(|_| request.takes_injection());
        let judged = match injection {
            Some(injection) => self.judge_injected(step, request, &injection)?,
            None if request.takes_injection() && std::mem::take(&mut self.measures) => {
                self.judge_measured(step, request)?
            }
            None => self.judge_request(step, request)?,
        };
        if request.takes_injection() && std::mem::take(&mut self.lists_next) && !self.has_ended() {
            let lists = self.observe_lists(step, std::slice::from_ref(request))?;
            self.judge_lists(step, lists.into_keys())?;
        }
        for project in &evicting {
            if !self.has_ended() {
                self.settle_list(step, project)?;
            }
        }
        Ok(judged)
    }

    /// Updates the world with the listed checkpoints of a project. Nothing is judged.
    fn settle_list(&mut self, step: usize, project: &ByteString) -> Result<(), RunError> {
        let list = Request::List { dir: self.world.absolute(project) };
        if let Answer::Listed(listed) =
            self.observe(step, &list, &Allowed::Unknown(Excuse::NoRule))?.answer
        {
            let ids: Vec<&String> = listed.iter().map(|checkpoint| &checkpoint.id).collect();
            self.world.settle(project, &ids);
        }
        Ok(())
    }

    /// Judges a request without injection or measurement: allow, observe, compare, learn. Returns whether
    /// the request could be judged.
    pub(super) fn judge_request(
        &mut self,
        step: usize,
        request: &Request,
    ) -> Result<bool, RunError> {
        self.run.operations += 1;
        self.check_files(step)?;
        let state = coverage::state(&self.world, request);
        let allowed = self.world.allows(request);
        let seen = self.observe(step, request, &allowed)?;
        self.compare_and_learn(step, state, &allowed, seen)
    }

    /// Compares an observation and learns from it. Returns whether anything could be judged.
    pub(super) fn compare_and_learn(
        &mut self,
        step: usize,
        state: String,
        allowed: &Allowed,
        mut seen: Observation,
    ) -> Result<bool, RunError> {
        self.read_databases(allowed, &mut seen)?;
        self.run.coverage.add(state, &seen.request, &seen.answer);
        let mut checks = self.world.compare(allowed, &seen);
        if !checks.violations.is_empty() {
            let context = Context { world: &self.world, sandbox: &self.sandbox };
            self.oracle.look_closer(context, &mut seen)?;
            checks = self.world.compare(allowed, &seen);
        }
        // A request that succeeds after a process died is not blocked by a lock of that process.
        let succeeds = !seen.request.only_looks()
            && !matches!(seen.answer, Answer::Refused { .. } | Answer::Crashed(_));
        let is_after_death = self.injected.is_some_and(|(injection, _)| injection.ends_process());
        checks.held(&rules::LOCK_STALE, u64::from(succeeds && is_after_death));
        if self.record(step, checks) && !self.has_ended() {
            self.world.learn_after_violation(&seen);
            self.list_again(step, &seen)?;
        } else if may_have_taken_checkpoint(allowed, &seen.answer) {
            let context = Context { world: &self.world, sandbox: &self.sandbox };
            self.oracle.look_closer(context, &mut seen)?;
            self.world.learn_after_violation(&seen);
        } else {
            self.world.learn(&seen);
        }
        self.notify_request(step, seen);
        Ok(!matches!(allowed, Allowed::Unknown(_)))
    }

    pub(super) fn notify_request(&mut self, step: usize, seen: Observation) {
        let Observation { request, answer, files: after, .. } = seen;
        let reply = std::mem::take(&mut self.reply);
        let before = std::mem::take(&mut self.before);
        let record = RequestRecord { step, request, answer, reply, before, after };
        notify(&mut self.watch, || Event::Requested(Box::new(record)));
    }

    /// Makes a request, and observes the disk before and after it. Nothing is judged.
    pub(super) fn observe(
        &mut self,
        step: usize,
        request: &Request,
        allowed: &Allowed,
    ) -> Result<Observation, RunError> {
        self.observe_with(step, request, allowed, &mut |subject, request| subject.ask(request))
    }

    /// As [`Runner::observe`], with another function that gets the answer of the subject.
    pub(super) fn observe_with(
        &mut self,
        step: usize,
        request: &Request,
        allowed: &Allowed,
        answer: &mut dyn FnMut(&mut dyn Subject, &Request) -> Answer,
    ) -> Result<Observation, RunError> {
        let context = Context { world: &self.world, sandbox: &self.sandbox };
        let subject = &mut self.subject;
        let answering = &mut self.run.depth.answering;
        let last_reply = &mut self.reply;
        let is_watched = self.watch.is_some();
        let mut timed_answer = |asked: &Request| {
            let start = Instant::now();
            let answer = answer(subject.as_mut(), asked);
            *answering += start.elapsed();
            if is_watched && asked == request {
                let line = || translate::reply(0, answer.clone()).to_string();
                *last_reply = subject.replied().unwrap_or_else(line);
            }
            answer
        };
        let seen = self.oracle.observe(context, request, allowed, &mut timed_answer)?;
        match self.subject.fault() {
            Some(fault) => Err(RunError::Adapter { step: Some(step), fault: fault.clone() }),
            None => Ok(seen),
        }
    }

    /// After a disagreement: where the store cannot be read, the world learns the checkpoints from the
    /// subject's own list. Nothing is judged.
    pub(super) fn list_again(&mut self, step: usize, seen: &Observation) -> Result<(), RunError> {
        if seen.readable_histories().is_some() {
            return Ok(());
        }
        let projects: Vec<ByteString> = match seen.request.dir() {
            Some(dir) => self.world.canonical(dir).into_iter().collect(),
            None => self.world.histories().map(|(project, _)| project.clone()).collect(),
        };
        for project in projects {
            if !self.world.may_be_project(&project) {
                continue;
            }
            let list = Request::List { dir: self.world.absolute(&project) };
            let seen = self.observe(step, &list, &Allowed::Unknown(Excuse::NoRule))?;
            self.world.learn(&seen);
        }
        Ok(())
    }

    /// Checks before a request that the files on the disk are those of the world.
    pub(super) fn check_files(&mut self, step: usize) -> Result<(), RunError> {
        let seen = self.oracle.files(&self.sandbox)?;
        if *seen == self.world.files {
            self.before.clone_from(&self.world.files);
            return Ok(());
        }
        let differs = |path: &&ByteString| seen.get(path) != self.world.files.get(path);
        let mut paths = seen.iter().chain(self.world.files.iter()).map(|(path, _)| path);
        let path = paths.find(differs).cloned().unwrap_or_default();
        Err(RunError::Harness { step, path })
    }
}

/// Whether a refused restore may have taken its pre-restore checkpoint first, which only the store shows.
fn may_have_taken_checkpoint(allowed: &Allowed, answer: &Answer) -> bool {
    let is_damaged = matches!(allowed, Allowed::Restore(restore) if restore.damaged);
    is_damaged && matches!(answer, Answer::Refused { .. })
}
