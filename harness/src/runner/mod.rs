//! Runs one history: every operation is applied to the model and to the subject, and the oracle
//! looks after each.

mod request;
mod store;

pub use request::main_rule;

use crate::coverage::Coverage;
use crate::history::concrete::{self, Step};
use crate::history::{History, Operation};
use crate::oracle::plain_git::Git;
use crate::oracle::total::Sizes;
use crate::oracle::{Checks, Divergence, Judge, Mismatch, base, git};
use crate::protocol::asked::asked_for;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::fault::Fault;
use crate::sandbox::manifest::{self, Manifest};
use crate::sandbox::{Sandbox, Scratch, edits};
use crate::subject::{Identity, NewSubject, Subject};
use herma_model::answer::Answer;
use herma_model::edit::Change;
use herma_model::rules;
use herma_model::{ByteString, Edit, Files, Request, StoreEdit, World};
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
    /// Which behaviours were met.
    pub coverage: Coverage,
    /// Every difference; the last ended the run, where model and subject no longer agreed on what
    /// there is.
    pub divergences: Vec<Divergence>,
    /// What the subject claimed; the history was run without the rest.
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
    /// The files afterwards; none where the request could touch none.
    pub after: Option<Files>,
}

/// Runs `history` in a fresh sandbox.
///
/// # Errors
/// Only where the run itself could not be made; what the subject does is in the answer.
pub fn run(
    history: &History,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
) -> Result<Run, RunError> {
    run_watched(history, new_subject, scratch, &Capabilities::default(), &mut |_| {})
}

/// The same, asking for no more than `limit`, with `watch` told what happens.
///
/// # Errors
/// As [`run`].
pub fn run_watched(
    history: &History,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
    limit: &Capabilities,
    watch: &mut dyn FnMut(Event),
) -> Result<Run, RunError> {
    let sandbox = Sandbox::new(scratch, history)?;
    if let Some(marker) = sandbox.marker_above() {
        return Err(RunError::MarkerAbove(marker));
    }
    let mut seen = manifest::read(sandbox.root(), &sandbox.base(), false)?;
    let subject = new_subject(&sandbox, &history.settings, FIRST_SECOND);
    let capabilities = subject.capabilities().in_common(limit);
    let mut checks = Checks::default();
    if let Some(fault) = subject.fault() {
        return Err(RunError::Adapter { step: 0, fault: fault.clone() });
    }
    let opened = manifest::read(sandbox.root(), &sandbox.base(), false)?;
    checks.check(Judge::Disk, &rules::ISOLATION_HOME, opened.files == seen.files, || {
        let files = opened.files.iter().filter(|(path, _)| seen.files.get(path).is_none());
        let files: Vec<_> = files.map(|(path, _)| path).collect();
        Mismatch::new("opening leaves files", "no file but in the store", format!("{files:?}"))
    });
    if capabilities.needs_repository() {
        sandbox.make_repositories()?;
        seen = manifest::read(sandbox.root(), &sandbox.base(), true)?;
    }
    let plain_home = history.plain_home || capabilities.needs_repository();
    let settings = capabilities.restrict_settings(&history.settings);
    let world = World::new(
        seen.files.clone(),
        sandbox.layout(),
        settings,
        capabilities.dialect(),
        FIRST_SECOND,
    );
    watch(Event::Began { root: sandbox.layout().root, files: seen.files.clone() });
    let git = Git::on(sandbox.store());
    let mut runner = Runner {
        sandbox,
        world,
        subject,
        capabilities,
        seen: Some(seen),
        planted: base::Planted::new(),
        sizes: None,
        git,
        checks,
        coverage: Coverage::default(),
        plain_home,
        watch,
    };
    let mut operations = 0;
    for (step, operation) in history.operations.iter().enumerate() {
        runner.checks.at_step(step);
        // The steps that are counted are those of the history as written.
        for operation in asked_for(&runner.capabilities, operation, &runner.world) {
            operations += runner.operation(step, &operation)?;
        }
        if runner.checks.diverged() {
            break;
        }
    }
    runner.finish(operations, history.operations.len(), history.workspace.is_some())
}

struct Runner<'a> {
    sandbox: Sandbox,
    world: World,
    subject: Box<dyn Subject>,
    capabilities: Capabilities,
    /// The disk as it was seen last; none once an edit changed it.
    seen: Option<Manifest>,
    /// What the runner put into the base of the store.
    planted: base::Planted,
    /// What stored objects take, as it was seen last; none once something else was stored.
    sizes: Option<Sizes>,
    git: Git,
    checks: Checks,
    coverage: Coverage,
    plain_home: bool,
    watch: &'a mut dyn FnMut(Event),
}

impl Runner<'_> {
    /// Applies one operation and answers how many requests and edits that took.
    fn operation(&mut self, step: usize, operation: &Operation) -> Result<usize, RunError> {
        if self.checks.diverged() {
            return Ok(0);
        }
        match concrete::step(operation, &self.world) {
            Step::Edit(edit) => {
                self.edit(&edit)?;
                Ok(1)
            }
            Step::Store(edit) => {
                self.edit_store(&edit)?;
                Ok(1)
            }
            Step::Ask(requests) => {
                let mut asked = 0;
                for request in requests {
                    self.ask(step, &request)?;
                    asked += 1;
                    if self.checks.diverged() {
                        break;
                    }
                }
                Ok(asked)
            }
        }
    }

    fn edit(&mut self, edit: &Edit) -> Result<(), RunError> {
        let changes = self.world.edit(edit);
        for change in &changes {
            edits::apply(self.sandbox.root(), change)
                .map_err(|source| RunError::Edit { change: format!("{change:?}"), source })?;
            self.seen = None;
        }
        (self.watch)(Event::Edited(changes));
        Ok(())
    }

    fn finish(mut self, operations: usize, steps: usize, thorough: bool) -> Result<Run, RunError> {
        self.checks.at_step(steps);
        if !self.checks.diverged() {
            if self.capabilities.has("layout") {
                let (world, sandbox) = (&self.world, &self.sandbox);
                git::judge(world, sandbox, &self.capabilities, thorough, &mut self.checks)?;
            }
            self.checks.new_part();
            self.checks.held(&rules::ISOLATION_USER_CONFIG, u64::from(!self.plain_home));
            let marked = self.sandbox.mark().exists();
            self.checks.same(Judge::Disk, &rules::ISOLATION_NO_SIGNING, "ran", &false, &marked);
        }
        let (checks, divergences) = self.checks.into_parts();
        let subject = self.subject.identity();
        Ok(Run {
            checks,
            operations,
            coverage: self.coverage,
            divergences,
            capabilities: self.capabilities,
            subject,
        })
    }
}
