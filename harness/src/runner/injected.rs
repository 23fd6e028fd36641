//! Injections in a run: something is made to happen at a call of a request, and what is listed after it
//! says whether that took effect.

use super::{Met, Run, RunError, Runner};
use crate::coverage;
use crate::history::{At, History, Injection, What};
use crate::inject::Injected;
use herma_model::answer::Answer;
use herma_model::injected::{Injected as Happened, Lists};
use herma_model::{Allowed, ByteString, Edit, Observation, Request};
use std::collections::BTreeSet;

/// What it is to the model.
pub fn happened(what: What) -> Happened {
    match what {
        What::Kill => Happened::Killed,
        What::PowerLoss(_) => Happened::PowerLost,
        What::Error | What::NoSpace | What::DiskFull | What::ReadError => Happened::CallFailed,
    }
}

impl Runner<'_> {
    /// Asks while something is made to happen, and looks at every list. Returns whether anything could be
    /// judged.
    pub(super) fn ask_injected(
        &mut self,
        step: usize,
        request: &Request,
        injection: Injection,
    ) -> Result<bool, RunError> {
        self.run.operations += 1;
        self.check_files(step)?;
        let state = coverage::state(&self.world, request);
        let allowed = self.world.allows(request);
        let (mut injected, mut starts_again) = (Ok(None), false);
        let keeps_agent = self.run.capabilities.keeps_agent();
        let seen = self.observe_by(step, request, &allowed, &mut |subject, request| {
            injected = subject.ask_injected(request, injection);
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
        let injected = injected?;
        let came = injected.as_ref().is_some_and(|injected| injected.came);
        let calls = injected.map(|injected| injected.calls).unwrap_or_default();
        self.run.injected = Some(Met { calls, came });
        if !came {
            return self.judge(step, state, &allowed, seen);
        }
        let how = happened(injection.what);
        self.run.injections += 1;
        self.injected = Some(injection.what);
        let checks = match seen.answer {
            Answer::Crashed(_) if !how.ends_process() => self.world.compare(&allowed, &seen),
            _ => self.world.compare_injected(&allowed, &seen, how),
        };
        self.record(step, checks);
        if self.has_ended() {
            return Ok(true);
        }
        // What is asked next has replies of its own.
        let reply = std::mem::take(&mut self.reply);
        let (lists, debris) = (self.lists(step, request)?, self.world.debris(&allowed, &seen));
        let after = self.world.aftermath(&allowed, &seen, lists);
        self.world.learn_injected(&seen, how, &after);
        self.reply = reply;
        self.tell_request(step, seen);
        if starts_again {
            let files = self.world.files.clone();
            self.world.learn(&Observation::new(Request::Reopen, Answer::Done, files));
        }
        // Nobody works on beside what a restore left that came to no end.
        for path in debris {
            self.edit(step, &Edit::Remove { path })?;
        }
        for project in after.lists.into_keys() {
            if !self.has_ended() {
                let dir = self.world.absolute(&project);
                self.ask_one(step, &Request::List { dir })?;
            }
        }
        Ok(true)
    }

    /// What is listed of each project now. Nothing is judged by it.
    fn lists(&mut self, step: usize, request: &Request) -> Result<Lists, RunError> {
        let own = request.dir().and_then(|dir| self.world.canonical(dir));
        let known = self.world.histories().map(|(project, _)| project.clone());
        let mut projects: BTreeSet<ByteString> = known.chain(own).collect();
        projects.retain(|one| self.world.may_be_project(one));
        let mut lists = Lists::new();
        for project in projects {
            let list = Request::List { dir: self.world.absolute(&project) };
            if let Answer::Listed(listed) = self.observe(step, &list, &Allowed::Unknown)?.answer {
                lists.insert(project, listed);
            }
        }
        Ok(lists)
    }
}

/// Runs a history once for each call that its injections can come at.
pub(super) fn at_every_call(
    history: &History,
    once: &dyn Fn(&History) -> Result<Run, RunError>,
) -> Result<Run, RunError> {
    let mut all = Run::default();
    for call in 1.. {
        let at = At::Call(call);
        let run = once(&history.at_call(Some(at)))?;
        let came = run.injections > 0;
        all.join(run, at);
        if !came {
            break;
        }
    }
    Ok(all)
}
