//! Runs one history: each operation is made concrete, judged and learned.
//!
//! For each request the model returns what is allowed, the oracle observes, the model compares, and
//! the world learns. Apart from that, only the history's edits change the world. Once world and
//! subject disagree, a run ends, or goes on with the observed state; later failures may only follow
//! from the disagreement, and are marked so.
//!
//! A request passes through these levels, each of which adds one thing to the level below it:
//!
//! | Level | Adds |
//! |---|---|
//! | `request` | lists before and after a request that may evict; chooses how the request is judged |
//! | `judge_request`, `judge_injected`, `judge_measured`, `judge_together` | what the model allows; afterwards `compare_…`: compares, records and learns |
//! | `observe`, `observe_with`, `observe_injected`, `observe_lists` | the disk before and after, from the oracle |
//! | `Subject::ask`, `Subject::ask_injected`, `Subject::ask_measured` | the answer |

mod databases;
mod injected;
mod meanwhile;
mod measured;
mod shown;
mod together;

use crate::coverage;
use crate::database::Databases;
use crate::divergence::{Divergence, Fingerprint};
use crate::history::concrete::{self, ConcreteStep};
use crate::history::{CallPosition, History, InjectedEvent, Injection, Operation};
use crate::oracle::{Context, Oracle};
use crate::protocol::asked::supported_operations;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::translate;
use crate::sandbox::store_edits::{self, EditOutcome};
use crate::sandbox::{Sandbox, Scratch, edits};
use crate::subject::{NewSubject, Subject};
use herma_model::answer::Answer;
use herma_model::injected::Injected;
use herma_model::rules;
use herma_model::verdict::{Checks, Kind, Violation};
use herma_model::{Allowed, ByteString, Edit, Observation, Request, StoreEdit, World, blame};
use meanwhile::Opening;
use shown::notify;
pub use shown::{Calls, Event, RequestRecord, Run, RunError, Watch};
use std::time::Instant;

/// When every history begins: 16 March 2026, 04:36 UTC.
pub const FIRST_SECOND: i64 = 1_773_635_760;

/// When the run of a history ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Until {
    /// Until world and subject disagree.
    #[default]
    Disagreement,
    /// Until its end: after a disagreement the world continues with the observed state.
    End,
}

/// How a history is run.
#[derive(Default)]
pub struct RunOptions<'a> {
    /// When the run ends.
    pub until: Until,
    /// The capabilities that the run may use.
    pub limit: Capabilities,
    /// Called with every event. A watched run is a single run, even of a history for every call.
    pub watch: Watch<'a>,
}

/// Runs `history` in a fresh sandbox; a history for every call once for each call.
///
/// # Errors
/// The run itself could not be made; what the subject does is part of the result.
pub fn run<'a>(
    history: &'a History,
    new_subject: &'a NewSubject<'a>,
    scratch: &Scratch,
    options: RunOptions<'a>,
) -> Result<Run, RunError> {
    if options.watch.is_some() || !history.is_for_every_call() {
        let sandbox = Sandbox::new(scratch, history)?;
        return Runner::open(history, new_subject, sandbox, options)?.run_all(history);
    }
    let RunOptions { until, limit, .. } = options;
    injected::at_every_call(history, &|history| {
        let options = RunOptions { until, limit: limit.clone(), watch: None };
        let sandbox = Sandbox::new(scratch, history)?;
        Runner::open(history, new_subject, sandbox, options)?.run_all(history)
    })
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
    /// The failure after which the subject no longer answers.
    silent: Option<Fingerprint>,
    /// The line of the last reply; empty without a watcher.
    reply: String,
    databases: Databases,
    /// The injection for the next request that can have one.
    injection: Option<Injection>,
    /// Whether the next request that can have an injection is measured.
    measures: bool,
    /// The last injection that happened.
    injected: Option<(InjectedEvent, Injected)>,
    /// Whether all projects are listed after the next request that can have an injection, as after an
    /// injection.
    lists_next: bool,
    /// How another process is opened.
    opening: Opening<'a>,
    watch: Watch<'a>,
}

impl<'a> Runner<'a> {
    /// Opens the subject in its sandbox, and starts with a world of the existing files.
    fn open(
        history: &'a History,
        new_subject: &'a NewSubject<'a>,
        sandbox: Sandbox,
        options: RunOptions<'a>,
    ) -> Result<Self, RunError> {
        let RunOptions { until, limit, watch } = options;
        if let Some(marker) = sandbox.marker_above() {
            return Err(RunError::MarkerAbove(marker));
        }
        let mut oracle = Oracle::new(&sandbox);
        let files = oracle.files(&sandbox)?.clone();
        let subject = new_subject(&sandbox, &history.settings, FIRST_SECOND);
        if let Some(fault) = subject.fault() {
            return Err(RunError::Adapter { step: None, fault: fault.clone() });
        }
        let capabilities = subject.capabilities().in_common(&limit);
        let settings = capabilities.restrict_settings(&history.settings);
        let names = capabilities.names().collect();
        let mut world = World::new(files, sandbox.layout(), settings, names, FIRST_SECOND);
        oracle.opened(capabilities.has("layout"));
        let checks = world.compare_opening(oracle.files(&sandbox)?);
        if let Some(folder) = capabilities.store_folder() {
            sandbox.make_stores(folder)?;
            oracle.set_store_folder(folder);
        }
        world.files.clone_from(oracle.files(&sandbox)?);
        let run = Run { capabilities, subject: subject.identity(), ..Run::default() };
        let mut runner = Runner {
            sandbox,
            subject,
            world,
            oracle,
            run,
            until,
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
        let root = runner.sandbox.layout().root;
        let files = &runner.world.files;
        notify(&mut runner.watch, || Event::Began { root, files: files.clone() });
        Ok(runner)
    }

    /// Applies the operations of the history, and compares the final state.
    fn run_all(mut self, history: &History) -> Result<Run, RunError> {
        self.run.depth.drawn = history.operations.len() as u64;
        let mut remaining = 0;
        for (step, operation) in history.operations.iter().enumerate() {
            if self.has_ended() {
                remaining = (history.operations.len() - step) as u64;
                break;
            }
            let agreed = self.disagreement.is_none();
            // Steps are counted in the history as written.
            let operations = supported_operations(&self.run.capabilities, operation, &self.world);
            let mut judged = false;
            for operation in &operations {
                judged |= self.apply(step, operation)?;
            }
            self.run.depth.count(!operations.is_empty(), judged, agreed);
        }
        if !self.has_ended() {
            self.close(history)?;
        }
        if let Some(failure) = &self.silent {
            self.run.depth.end_early(&failure.to_string(), remaining);
        }
        Ok(self.run)
    }

    /// Whether nothing more can be observed.
    fn has_ended(&self) -> bool {
        self.silent.is_some() || self.until == Until::Disagreement && self.disagreement.is_some()
    }

    /// Applies one operation; returns whether anything was judged.
    fn apply(&mut self, step: usize, operation: &Operation) -> Result<bool, RunError> {
        if self.has_ended() {
            return Ok(false);
        }
        let mut judged = true;
        match concrete::step(operation, &self.world) {
            ConcreteStep::Edit(edit) => self.edit(step, &edit)?,
            ConcreteStep::Store(edit) => self.edit_store(&edit)?,
            ConcreteStep::Database(database) => self.write_database(step, &database)?,
            ConcreteStep::Inject(injection) if injection.call == CallPosition::Call(0) => {
                for operation in &injection.meanwhile {
                    self.apply(step, operation)?;
                }
                self.lists_next = true;
            }
            ConcreteStep::Inject(injection) => {
                notify(&mut self.watch, || Event::Injects(injection.clone()));
                self.injection = Some(injection);
            }
            ConcreteStep::Measure => {
                notify(&mut self.watch, || Event::Measures);
                self.measures = true;
            }
            ConcreteStep::Ask(requests) => {
                judged = false;
                for request in &requests {
                    if !self.has_ended() {
                        judged |= self.request(step, request)?;
                    }
                }
            }
        }
        Ok(judged)
    }

    /// Makes a request, and reads the list before and after a request that may evict a checkpoint.
    /// Returns whether the request could be judged.
    fn request(&mut self, step: usize, request: &Request) -> Result<bool, RunError> {
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
        if let Answer::Listed(listed) = self.observe(step, &list, &Allowed::Unknown)?.answer {
            let ids: Vec<&String> = listed.iter().map(|checkpoint| &checkpoint.id).collect();
            self.world.settle(project, &ids);
        }
        Ok(())
    }

    /// Judges a request without injection or measurement: allow, observe, compare, learn. Returns whether
    /// the request could be judged.
    fn judge_request(&mut self, step: usize, request: &Request) -> Result<bool, RunError> {
        self.run.operations += 1;
        self.check_files(step)?;
        let state = coverage::state(&self.world, request);
        let allowed = self.world.allows(request);
        let seen = self.observe(step, request, &allowed)?;
        self.compare_and_learn(step, state, &allowed, seen)
    }

    /// Compares an observation and learns from it. Returns whether anything could be judged.
    fn compare_and_learn(
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
        Ok(!matches!(allowed, Allowed::Unknown))
    }

    fn notify_request(&mut self, step: usize, seen: Observation) {
        let Observation { request, answer, files: after, .. } = seen;
        let reply = std::mem::take(&mut self.reply);
        let record = RequestRecord { step, request, answer, reply, after };
        notify(&mut self.watch, || Event::Requested(Box::new(record)));
    }

    /// Makes a request, and observes the disk before and after it. Nothing is judged.
    fn observe(
        &mut self,
        step: usize,
        request: &Request,
        allowed: &Allowed,
    ) -> Result<Observation, RunError> {
        self.observe_with(step, request, allowed, &mut |subject, request| subject.ask(request))
    }

    /// As [`Runner::observe`], with another function that gets the answer of the subject.
    fn observe_with(
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

    /// Checks before a request that the files on the disk are those of the world.
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
        notify(&mut self.watch, || Event::Edited(changes));
        Ok(())
    }

    /// Edits the base of the store without the subject.
    fn edit_store(&mut self, edit: &StoreEdit) -> Result<(), RunError> {
        self.run.operations += 1;
        let in_use = self.sandbox.has_store();
        // Git waits for a fifo forever, and its results on a damaged store judge nothing.
        if matches!(edit, StoreEdit::Collected) && self.oracle.is_damaged() {
            return Ok(());
        }
        let outcome = store_edits::apply(&self.sandbox, &self.world, edit)?;
        if matches!(outcome, EditOutcome::Nothing) {
            return Ok(());
        }
        self.world.edit_store(edit, in_use);
        self.oracle.planted(&self.sandbox, store_edits::content_of(edit))?;
        let mut file = None;
        if let EditOutcome::Damaged(damaged) = outcome {
            file = Some(damaged.object_path.clone());
            let context = Context { world: &self.world, sandbox: &self.sandbox };
            let (lost, unnamed) = self.oracle.damaged(context, damaged)?;
            self.world.lose(lost, unnamed);
        }
        notify(&mut self.watch, || Event::StoreEdited(edit.clone(), file));
        Ok(())
    }

    /// Records the comparisons of one operation; returns whether world and subject disagree after it.
    fn record(&mut self, step: usize, mut checks: Checks) -> bool {
        // A subject is not judged by a rule for which it lacks a capability; that it died needs no rule.
        let applies =
            |violation: &Violation| self.run.capabilities.lacking(violation.rule).is_none();
        let is_death =
            |violation: &Violation| matches!(violation.mismatch.kind, Kind::Crash | Kind::Timeout);
        checks.violations.retain(|violation| applies(violation) || is_death(violation));
        // Comparisons after an injection count for the rule of the injection, too.
        if let (Some((_, happened)), false) = (self.injected, checks.counts.is_empty()) {
            checks.held(happened.rule(), 1);
        }
        for (rule, times) in checks.counts {
            *self.run.checks.entry(rule).or_default() += times;
        }
        let mut disagrees = None;
        for failure in blame::failures(checks.violations) {
            let leaves_the_rest = failure.keeps_world_comparable();
            let follows = self.disagreement.clone().filter(|_| !failure.is_independent());
            let is_silent = is_death(&failure.cause);
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
            if self.run.divergences.iter().all(|recorded| recorded.fingerprint() != fingerprint) {
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
        let thorough = history.workspace.is_some();
        let context = Context { world: &self.world, sandbox: &self.sandbox };
        let end = self.oracle.look_at_end(context, hostile, thorough)?;
        self.record(history.operations.len(), self.world.compare_end(&end));
        Ok(())
    }
}

/// Whether a refused restore may have taken its pre-restore checkpoint first, which only the store shows.
fn may_have_taken_checkpoint(allowed: &Allowed, answer: &Answer) -> bool {
    let is_damaged = matches!(allowed, Allowed::Restore(restore) if restore.damaged);
    is_damaged && matches!(answer, Answer::Refused { .. })
}
