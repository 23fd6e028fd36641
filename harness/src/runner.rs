//! Runs one history: each operation is made concrete, judged and learned, until the model's world
//! and the subject no longer agree.
//!
//! For each request the model says what is allowed, the oracle observes, the model compares, and
//! the world learns. Apart from that, only the history's edits change the world.

use crate::coverage::{self, Coverage};
use crate::divergence::Divergence;
use crate::history::concrete::{self, Step};
use crate::history::{History, Operation};
use crate::oracle::Oracle;
use crate::protocol::asked::asked_for;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::fault::Fault;
use crate::sandbox::{Sandbox, Scratch, edits, store_edits};
use crate::subject::{Identity, NewSubject, Subject};
use herma_model::answer::Answer;
use herma_model::edit::Change;
use herma_model::verdict::{Checks, Kind, Violation};
use herma_model::{ByteString, Edit, Files, Observation, Request, StoreEdit, World, blame};
use std::collections::BTreeMap;
use std::io;

/// When every history begins: 16 March 2026, 04:36 UTC.
pub const FIRST_SECOND: i64 = 1_773_635_760;

/// What a run showed.
#[derive(Debug, Default)]
pub struct Run {
    /// How many comparisons were made for each rule.
    pub checks: BTreeMap<&'static str, u64>,
    /// How many operations were applied.
    pub operations: usize,
    /// Which behaviours were covered.
    pub coverage: Coverage,
    /// Every difference, once. The last one may have ended the run, if model and subject no longer
    /// agreed after it.
    pub divergences: Vec<Divergence>,
    /// What the subject can do; the history was run without the rest.
    pub capabilities: Capabilities,
    /// Who the subject is.
    pub subject: Identity,
}

/// Why a run could not be made; never the subject's fault.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The sandbox could not be made or read.
    #[error("the sandbox cannot be used: {0}")]
    Sandbox(#[from] io::Error),
    /// An edit could not be carried out.
    #[error("the runner cannot carry out {change}: {source}")]
    Edit {
        /// The change.
        change: String,
        /// What the system said.
        source: io::Error,
    },
    /// The disk is not what the model says although no subject touched it.
    #[error("the harness is wrong: before operation {step}, {path} differs from the model")]
    Harness {
        /// The operation.
        step: usize,
        /// The first path that differs.
        path: ByteString,
    },
    /// The adapter broke the protocol.
    #[error("the adapter broke the protocol at operation {step}: {fault}")]
    Adapter {
        /// The operation.
        step: usize,
        /// How.
        fault: Fault,
    },
    /// A directory above the sandbox holds a project marker, which every history would find.
    #[error("{0:?} marks a project above the sandboxes: choose another place with --scratch")]
    MarkerAbove(std::path::PathBuf),
}

/// One thing that happened in a run, with everything concrete.
#[derive(Clone, Debug)]
pub enum Event {
    /// The sandbox was made.
    Began {
        /// Where it is.
        root: ByteString,
        /// The files in it.
        files: Files,
    },
    /// The runner changed files.
    Edited(Vec<Change>),
    /// The runner changed the base of the store.
    StoreEdited(StoreEdit),
    /// The subject was asked.
    Requested(Box<RequestRecord>),
}

/// A request and what came of it.
#[derive(Clone, Debug)]
pub struct RequestRecord {
    /// The operation of the history, from 0.
    pub step: usize,
    /// What the subject was asked.
    pub request: Request,
    /// What it answered.
    pub answer: Answer,
    /// The files afterwards.
    pub after: Files,
}

/// Called with every event of a run.
pub type Watch<'a> = Option<&'a mut dyn FnMut(Event)>;

/// Runs `history` in a fresh sandbox.
///
/// # Errors
/// Only if the run itself could not be made; what the subject does is part of the result.
pub fn run(
    history: &History,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
) -> Result<Run, RunError> {
    run_watched(history, new_subject, scratch, &Capabilities::default(), None)
}

/// As [`run`], using only the capabilities in `limit`, and calling `watch` with every event.
///
/// # Errors
/// As [`run`].
pub fn run_watched(
    history: &History,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
    limit: &Capabilities,
    watch: Watch<'_>,
) -> Result<Run, RunError> {
    let sandbox = Sandbox::new(scratch, history)?;
    let mut runner = Runner::open(history, new_subject, sandbox, limit, watch)?;
    for (step, operation) in history.operations.iter().enumerate() {
        // Steps are counted in the history as written.
        for operation in asked_for(&runner.run.capabilities, operation, &runner.world) {
            runner.apply(step, &operation)?;
        }
        if runner.diverged {
            break;
        }
    }
    runner.close(history)
}

struct Runner<'a> {
    sandbox: Sandbox,
    subject: Box<dyn Subject>,
    world: World,
    oracle: Oracle,
    run: Run,
    diverged: bool,
    watch: Watch<'a>,
}

impl<'a> Runner<'a> {
    /// Opens the subject in its sandbox, and starts with a world of the files that are there.
    fn open(
        history: &History,
        new_subject: &NewSubject<'_>,
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
            return Err(RunError::Adapter { step: 0, fault: fault.clone() });
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
        let diverged = false;
        let mut runner = Runner { sandbox, subject, world, oracle, run, diverged, watch };
        runner.record(0, checks);
        let (root, files) = (runner.sandbox.layout().root, &runner.world.files);
        tell(&mut runner.watch, || Event::Began { root, files: files.clone() });
        Ok(runner)
    }

    /// Applies one operation.
    fn apply(&mut self, step: usize, operation: &Operation) -> Result<(), RunError> {
        if self.diverged {
            return Ok(());
        }
        match concrete::step(operation, &self.world) {
            Step::Edit(edit) => self.edit(&edit),
            Step::Store(edit) => self.edit_store(&edit),
            Step::Ask(requests) => {
                for request in &requests {
                    if !self.diverged {
                        self.ask(step, request)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Puts a request to the subject: allow, observe, compare, learn.
    fn ask(&mut self, step: usize, request: &Request) -> Result<(), RunError> {
        self.run.operations += 1;
        self.check_files(step)?;
        let state = coverage::state(&self.world, request);
        let allowed = self.world.allows(request);
        let (place, subject) = ((&self.world, &self.sandbox), &mut self.subject);
        let mut ask = |request: &Request| subject.ask(request);
        let mut seen = self.oracle.observe(place, request, &allowed, &mut ask)?;
        if let Some(fault) = self.subject.fault() {
            return Err(RunError::Adapter { step, fault: fault.clone() });
        }
        self.run.coverage.add(state, request, &seen.answer);
        let mut checks = self.world.compare(&allowed, &seen);
        if !checks.violations.is_empty() {
            self.oracle.look_closer(place, &mut seen)?;
            checks = self.world.compare(&allowed, &seen);
        }
        self.record(step, checks);
        self.world.learn(&seen);
        let Observation { request, answer, files: after, .. } = seen;
        let record = RequestRecord { step, request, answer, after };
        tell(&mut self.watch, || Event::Requested(Box::new(record)));
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

    fn edit(&mut self, edit: &Edit) -> Result<(), RunError> {
        self.run.operations += 1;
        let changes = self.world.edit(edit);
        for change in &changes {
            edits::apply(self.sandbox.root(), change)
                .map_err(|source| RunError::Edit { change: format!("{change:?}"), source })?;
            self.oracle.edited();
        }
        tell(&mut self.watch, || Event::Edited(changes));
        Ok(())
    }

    /// Changes the base of the store behind the subject's back.
    fn edit_store(&mut self, edit: &StoreEdit) -> Result<(), RunError> {
        self.run.operations += 1;
        let in_use = self.sandbox.has_store();
        if store_edits::apply(&self.sandbox, &self.world, edit)? {
            self.world.edit_store(edit, in_use);
            self.oracle.planted(&self.sandbox, store_edits::content_of(edit))?;
            tell(&mut self.watch, || Event::StoreEdited(edit.clone()));
        }
        Ok(())
    }

    /// Records the comparisons of one operation.
    fn record(&mut self, step: usize, mut checks: Checks) {
        // No subject is held to a rule that it lacks a capability for; that it died needs no rule.
        let applies = |one: &Violation| self.run.capabilities.lacking(one.rule).is_none();
        let ended = |one: &Violation| matches!(one.mismatch.kind, Kind::Crash | Kind::Timeout);
        checks.violations.retain(|one| applies(one) || ended(one));
        for (rule, times) in checks.counts {
            *self.run.checks.entry(rule).or_default() += times;
        }
        for failure in blame::failures(checks.violations) {
            self.diverged |= !failure.leaves_the_rest_comparable();
            let divergence = Divergence::new(step, failure);
            let fingerprint = divergence.fingerprint();
            if self.run.divergences.iter().all(|one| one.fingerprint() != fingerprint) {
                self.run.divergences.push(divergence);
            }
        }
    }

    /// Compares the final state, if world and subject still agree.
    fn close(mut self, history: &History) -> Result<Run, RunError> {
        if !self.diverged {
            let hostile = !history.plain_home && !self.run.capabilities.needs_repository();
            let how = (hostile, history.workspace.is_some());
            let end = self.oracle.look_at_end(&self.world, &self.sandbox, how)?;
            self.record(history.operations.len(), self.world.compare_end(&end));
        }
        Ok(self.run)
    }
}

fn tell(watch: &mut Watch<'_>, event: impl FnOnce() -> Event) {
    if let Some(watch) = watch {
        watch(event());
    }
}
