//! Runs one history: each operation is made concrete, judged and learned.
//!
//! For each request the model says what is allowed, the oracle observes, the model compares, and
//! the world learns. Apart from that, only the history's edits change the world. Once world and
//! subject disagree, a run ends there, or goes on with what is really there; what it shows from
//! then on may only follow from that, and is marked so.

mod databases;
mod injected;
mod meanwhile;
mod measured;
mod shown;
mod together;

use crate::coverage;
use crate::database::Databases;
use crate::divergence::{Divergence, Fingerprint};
use crate::history::concrete::{self, Step};
use crate::history::{At, History, Injection, Operation, What};
use crate::oracle::Oracle;
use crate::protocol::asked::asked_for;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::translate;
use crate::sandbox::store_edits::{self, Done};
use crate::sandbox::{Sandbox, Scratch, edits};
use crate::subject::{NewSubject, Subject};
use herma_model::answer::Answer;
use herma_model::injected::Injected;
use herma_model::rules;
use herma_model::verdict::{Checks, Kind, Violation};
use herma_model::{Allowed, ByteString, Edit, Observation, Request, StoreEdit, World, blame};
use meanwhile::Opening;
use shown::tell;
pub use shown::{Calls, Event, RequestRecord, Run, RunError, Watch};
use std::time::Instant;

/// When every history begins: 16 March 2026, 04:36 UTC.
pub const FIRST_SECOND: i64 = 1_773_635_760;

/// How far a history is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Until world and subject disagree.
    Disagreement,
    /// To its end: after a disagreement the world goes on with what is really there.
    End,
}

/// Runs `history` in a fresh sandbox until world and subject disagree.
///
/// # Errors
/// Only if the run itself could not be made; what the subject does is part of the result.
pub fn run(
    history: &History,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
) -> Result<Run, RunError> {
    run_until(Until::Disagreement, history, new_subject, scratch)
}

/// As [`run`], as far as `until` says.
///
/// # Errors
/// As [`run`].
pub fn run_until(
    until: Until,
    history: &History,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
) -> Result<Run, RunError> {
    let once = |history: &History| {
        let sandbox = Sandbox::new(scratch, history)?;
        let limit = Capabilities::default();
        Runner::open(history, new_subject, sandbox, &limit, None)?.run_all(until, history)
    };
    if history.is_for_every_call() {
        injected::at_every_call(history, &once)
    } else {
        once(history)
    }
}

/// As [`run_until`], using only the capabilities in `limit`, and calling `watch` with every event.
///
/// # Errors
/// As [`run`].
pub fn run_watched<'a>(
    until: Until,
    history: &'a History,
    new_subject: &'a NewSubject<'a>,
    scratch: &Scratch,
    limit: &Capabilities,
    watch: Watch<'a>,
) -> Result<Run, RunError> {
    let sandbox = Sandbox::new(scratch, history)?;
    let runner = Runner::open(history, new_subject, sandbox, limit, watch)?;
    runner.run_all(until, history)
}

struct Runner<'a> {
    sandbox: Sandbox,
    subject: Box<dyn Subject>,
    world: World,
    oracle: Oracle,
    run: Run,
    until: Until,
    /// The first failure after which world and subject disagreed.
    disagreement: Option<Fingerprint>,
    /// The failure after which the subject does not answer any more.
    silent: Option<Fingerprint>,
    /// The line of the last reply; empty where nobody watches.
    reply: String,
    databases: Databases,
    /// What is to happen during the next request that can have it.
    injection: Option<Injection>,
    /// Whether what the next request takes is measured that can have an injection.
    measures: bool,
    /// What was made to happen last.
    injected: Option<(What, Injected)>,
    /// Whether everything is listed after the next request that could have an injection, as after one
    /// that has.
    lists_next: bool,
    /// How another process is opened.
    opening: Opening<'a>,
    watch: Watch<'a>,
}

impl<'a> Runner<'a> {
    /// Opens the subject in its sandbox, and starts with a world of the files that are there.
    fn open(
        history: &'a History,
        new_subject: &'a NewSubject<'a>,
        sandbox: Sandbox,
        limit: &Capabilities,
        watch: Watch<'a>,
    ) -> Result<Self, RunError> {
        if let Some(marker) = sandbox.marker_above() {
            return Err(RunError::MarkerAbove(marker));
        }
        let files = Oracle::new(&sandbox, None, false)?.files(&sandbox)?.clone();
        let subject = new_subject(&sandbox, &history.settings, FIRST_SECOND);
        if let Some(fault) = subject.fault() {
            return Err(RunError::Adapter { step: None, fault: fault.clone() });
        }
        let capabilities = subject.capabilities().in_common(limit);
        let settings = capabilities.restrict_settings(&history.settings);
        let names = capabilities.names().collect();
        let mut world = World::new(files, sandbox.layout(), settings, names, FIRST_SECOND);
        let layout = capabilities.has("layout");
        let mut oracle = Oracle::new(&sandbox, None, layout)?;
        let checks = world.compare_opening(oracle.files(&sandbox)?);
        if let Some(folder) = capabilities.store_folder() {
            sandbox.make_stores(folder)?;
            oracle = Oracle::new(&sandbox, Some(folder), layout)?;
        }
        world.files.clone_from(oracle.files(&sandbox)?);
        let run = Run { capabilities, subject: subject.identity(), ..Run::default() };
        let mut runner = Runner {
            sandbox,
            subject,
            world,
            oracle,
            run,
            until: Until::Disagreement,
            disagreement: None,
            silent: None,
            reply: String::new(),
            databases: Databases::default(),
            injection: None,
            measures: false,
            injected: None,
            lists_next: false,
            opening: Opening { new_subject, settings: &history.settings },
            watch,
        };
        runner.record(0, checks);
        let (root, files) = (runner.sandbox.layout().root, &runner.world.files);
        tell(&mut runner.watch, || Event::Began { root, files: files.clone() });
        Ok(runner)
    }

    /// Applies the operations of the history, and compares the final state.
    fn run_all(mut self, until: Until, history: &History) -> Result<Run, RunError> {
        self.until = until;
        self.run.depth.drawn = history.operations.len() as u64;
        let mut to_come = 0;
        for (step, operation) in history.operations.iter().enumerate() {
            if self.has_ended() {
                to_come = (history.operations.len() - step) as u64;
                break;
            }
            let agreed = self.disagreement.is_none();
            // Steps are counted in the history as written.
            let asked = asked_for(&self.run.capabilities, operation, &self.world);
            let mut judged = false;
            for operation in &asked {
                judged |= self.apply(step, operation)?;
            }
            self.run.depth.count(!asked.is_empty(), judged, agreed);
        }
        if !self.has_ended() {
            self.close(history)?;
        }
        if let Some(failure) = &self.silent {
            self.run.depth.end_early(&failure.to_string(), to_come);
        }
        Ok(self.run)
    }

    /// Whether nothing more is to be seen.
    fn has_ended(&self) -> bool {
        self.silent.is_some() || self.until == Until::Disagreement && self.disagreement.is_some()
    }

    /// Applies one operation; returns whether anything was judged by it.
    fn apply(&mut self, step: usize, operation: &Operation) -> Result<bool, RunError> {
        if self.has_ended() {
            return Ok(false);
        }
        let mut judged = true;
        match concrete::step(operation, &self.world) {
            Step::Edit(edit) => self.edit(step, &edit)?,
            Step::Store(edit) => self.edit_store(&edit)?,
            Step::Database(database) => self.write_database(step, &database)?,
            Step::Inject(injection) if injection.call == At::Call(0) => {
                for operation in &injection.meanwhile {
                    self.apply(step, operation)?;
                }
                self.lists_next = true;
            }
            Step::Inject(injection) => {
                tell(&mut self.watch, || Event::Injects(injection.clone()));
                self.injection = Some(injection);
            }
            Step::Measure => {
                tell(&mut self.watch, || Event::Measures);
                self.measures = true;
            }
            Step::Ask(requests) => {
                judged = false;
                for request in &requests {
                    if !self.has_ended() {
                        judged |= self.ask(step, request)?;
                    }
                }
            }
        }
        Ok(judged)
    }

    /// Puts a request to the subject, and looks at the list before and after one that may push
    /// something out. Returns whether it could be judged.
    fn ask(&mut self, step: usize, request: &Request) -> Result<bool, RunError> {
        let crowded = self.world.may_push_out(request);
        // What it pushes out is told by the lists before and after it.
        for project in &crowded {
            self.look_at_list(step, project)?;
        }
        let waits = self.injection.take_if(|_| request.takes_injection());
        let judged = match waits {
            Some(injection) => self.ask_injected(step, request, &injection)?,
            None if request.takes_injection() && std::mem::take(&mut self.measures) => {
                self.ask_measured(step, request)?
            }
            None => self.ask_one(step, request)?,
        };
        if request.takes_injection() && std::mem::take(&mut self.lists_next) && !self.has_ended() {
            let lists = self.lists(step, std::slice::from_ref(request))?;
            self.judge_lists(step, lists.into_keys())?;
        }
        for project in &crowded {
            if !self.has_ended() {
                self.look_at_list(step, project)?;
            }
        }
        Ok(judged)
    }

    /// Takes in which checkpoints of a project there are. Nothing is judged by it.
    fn look_at_list(&mut self, step: usize, project: &ByteString) -> Result<(), RunError> {
        let list = Request::List { dir: self.world.absolute(project) };
        if let Answer::Listed(listed) = self.observe(step, &list, &Allowed::Unknown)?.answer {
            let ids: Vec<&String> = listed.iter().map(|one| &one.id).collect();
            self.world.settle(project, &ids);
        }
        Ok(())
    }

    /// Allow, observe, compare, learn. Returns whether that could be judged.
    fn ask_one(&mut self, step: usize, request: &Request) -> Result<bool, RunError> {
        self.run.operations += 1;
        self.check_files(step)?;
        let state = coverage::state(&self.world, request);
        let allowed = self.world.allows(request);
        let seen = self.observe(step, request, &allowed)?;
        self.judge(step, state, &allowed, seen)
    }

    /// Compare, learn. Returns whether anything could be judged.
    fn judge(
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
            self.oracle.look_closer((&self.world, &self.sandbox), &mut seen)?;
            checks = self.world.compare(allowed, &seen);
        }
        // Whatever a dead process held, the next one works.
        let works = !seen.request.only_looks()
            && !matches!(seen.answer, Answer::Refused { .. } | Answer::Crashed(_));
        let is_after_death = self.injected.is_some_and(|(what, _)| what.ends_process());
        checks.held(&rules::LOCK_STALE, u64::from(works && is_after_death));
        if self.record(step, checks) && !self.has_ended() {
            self.world.learn_amiss(&seen);
            self.list_again(step, &seen)?;
        } else if may_have_saved(allowed, &seen.answer) {
            self.oracle.look_closer((&self.world, &self.sandbox), &mut seen)?;
            self.world.learn_amiss(&seen);
        } else {
            self.world.learn(&seen);
        }
        self.tell_request(step, seen);
        Ok(!matches!(allowed, Allowed::Unknown))
    }

    fn tell_request(&mut self, step: usize, seen: Observation) {
        let Observation { request, answer, files: after, .. } = seen;
        let reply = std::mem::take(&mut self.reply);
        let record = RequestRecord { step, request, answer, reply, after };
        tell(&mut self.watch, || Event::Requested(Box::new(record)));
    }

    fn observe(
        &mut self,
        step: usize,
        request: &Request,
        allowed: &Allowed,
    ) -> Result<Observation, RunError> {
        self.observe_by(step, request, allowed, &mut |subject, request| subject.ask(request))
    }

    /// The same with another way to ask.
    fn observe_by(
        &mut self,
        step: usize,
        request: &Request,
        allowed: &Allowed,
        ask: &mut dyn FnMut(&mut dyn Subject, &Request) -> Answer,
    ) -> Result<Observation, RunError> {
        let (place, subject) = ((&self.world, &self.sandbox), &mut self.subject);
        let answering = &mut self.run.depth.answering;
        let (reply, is_watched) = (&mut self.reply, self.watch.is_some());
        let mut ask = |one: &Request| {
            let asked = Instant::now();
            let answer = ask(subject.as_mut(), one);
            *answering += asked.elapsed();
            if is_watched && one == request {
                let line = || translate::reply(0, answer.clone()).to_string();
                *reply = subject.replied().unwrap_or_else(line);
            }
            answer
        };
        let seen = self.oracle.observe(place, request, allowed, &mut ask)?;
        match self.subject.fault() {
            Some(fault) => Err(RunError::Adapter { step: Some(step), fault: fault.clone() }),
            None => Ok(seen),
        }
    }

    /// After a disagreement: where nobody can read the store, the subject's own list says which
    /// checkpoints there are. Nothing is judged by it.
    fn list_again(&mut self, step: usize, seen: &Observation) -> Result<(), RunError> {
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
            let seen = self.observe(step, &list, &Allowed::Unknown)?;
            self.world.learn(&seen);
        }
        Ok(())
    }

    /// Checks that the disk is as the world says, before anything is asked.
    fn check_files(&mut self, step: usize) -> Result<(), RunError> {
        let seen = self.oracle.files(&self.sandbox)?;
        if *seen == self.world.files {
            return Ok(());
        }
        let differs = |path: &&ByteString| seen.get(path) != self.world.files.get(path);
        let mut paths = seen.iter().chain(self.world.files.iter()).map(|(path, _)| path);
        let path = paths.find(differs).cloned().unwrap_or_default();
        Err(RunError::Harness { step, path })
    }

    fn edit(&mut self, step: usize, edit: &Edit) -> Result<(), RunError> {
        self.run.operations += 1;
        let changes = self.world.edit(edit);
        for change in &changes {
            edits::apply(self.sandbox.root(), change)
                .map_err(|source| RunError::Edit { step, source })?;
            self.oracle.edited();
        }
        tell(&mut self.watch, || Event::Edited(changes));
        Ok(())
    }

    /// Changes the base of the store behind the subject's back.
    fn edit_store(&mut self, edit: &StoreEdit) -> Result<(), RunError> {
        self.run.operations += 1;
        let in_use = self.sandbox.has_store();
        // Git waits for ever at a fifo, and what it makes of damage is no news.
        if matches!(edit, StoreEdit::Collected) && self.oracle.is_harmed() {
            return Ok(());
        }
        let done = store_edits::apply(&self.sandbox, &self.world, edit)?;
        if matches!(done, Done::Nothing) {
            return Ok(());
        }
        self.world.edit_store(edit, in_use);
        self.oracle.planted(&self.sandbox, store_edits::content_of(edit))?;
        let mut file = None;
        if let Done::Harmed(harmed) = done {
            file = Some(harmed.sought.clone());
            let (lost, adrift) = self.oracle.harmed((&self.world, &self.sandbox), harmed)?;
            self.world.lose(lost, adrift);
        }
        tell(&mut self.watch, || Event::StoreEdited(edit.clone(), file));
        Ok(())
    }

    /// Records the comparisons of one operation; returns whether world and subject disagree by it.
    fn record(&mut self, step: usize, mut checks: Checks) -> bool {
        // No subject is held to a rule that it lacks a capability for; that it died needs no rule.
        let applies = |one: &Violation| self.run.capabilities.lacking(one.rule).is_none();
        let ended = |one: &Violation| matches!(one.mismatch.kind, Kind::Crash | Kind::Timeout);
        checks.violations.retain(|one| applies(one) || ended(one));
        // What is judged after an injection is judged by its rule, too.
        if let (Some((_, happened)), false) = (self.injected, checks.counts.is_empty()) {
            checks.held(happened.rule(), 1);
        }
        for (rule, times) in checks.counts {
            *self.run.checks.entry(rule).or_default() += times;
        }
        let mut disagrees = None;
        for failure in blame::failures(checks.violations) {
            let leaves_the_rest = failure.leaves_the_rest_comparable();
            let follows = self.disagreement.clone().filter(|_| !failure.stands_alone());
            let is_silent = ended(&failure.cause);
            let mut divergence = Divergence::new(step, failure, follows);
            divergence.after = self.injected;
            divergence.met = self.run.injected.as_ref().and_then(Calls::call).cloned();
            let fingerprint = divergence.fingerprint();
            if is_silent {
                self.silent = Some(fingerprint.clone());
            }
            if !leaves_the_rest {
                disagrees = Some(fingerprint.clone());
            }
            if self.run.divergences.iter().all(|one| one.fingerprint() != fingerprint) {
                self.run.divergences.push(divergence);
            }
        }
        let disagree = disagrees.is_some();
        self.disagreement = self.disagreement.take().or(disagrees);
        disagree
    }

    /// Compares the final state.
    fn close(&mut self, history: &History) -> Result<(), RunError> {
        let hostile = !history.plain_home && !self.run.capabilities.needs_repository();
        let how = (hostile, history.workspace.is_some());
        let end = self.oracle.look_at_end(&self.world, &self.sandbox, how)?;
        self.record(history.operations.len(), self.world.compare_end(&end));
        Ok(())
    }
}

/// Whether a refused restore may have taken its pre-rollback checkpoint first, which only the store
/// can tell.
fn may_have_saved(allowed: &Allowed, answer: &Answer) -> bool {
    let damaged = matches!(allowed, Allowed::Restore(due) if due.damaged);
    damaged && matches!(answer, Answer::Refused { .. })
}
