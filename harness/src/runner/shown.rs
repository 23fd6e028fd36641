//! The output of a run: its result, its errors, and its events. The other files of this folder make the
//! run.

use crate::coverage::Coverage;
use crate::depth::Depth;
use crate::divergence::Divergence;
use crate::history::{CallPosition, DatabaseWrite, Injection};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::fault::Fault;
use crate::subject::Identity;
use herma_model::answer::Answer;
use herma_model::edit::Change;
use herma_model::{ByteString, Excuse, Files, Request, StoreEdit};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// The result of a run.
#[derive(Debug, Default)]
pub struct Run {
    /// How many comparisons were made for each rule.
    pub checks: BTreeMap<&'static str, u64>,
    /// How many comparisons for each rule were excused, by the excuse.
    pub excused: BTreeMap<(&'static str, Excuse), u64>,
    /// How many operations were applied.
    pub operations: usize,
    /// Which behaviours were covered.
    pub coverage: Coverage,
    /// How much of the history was judged.
    pub depth: Depth,
    /// How many injections happened.
    pub injections: u64,
    /// The calls at which the last injection could happen.
    pub injected: Option<Calls>,
    /// Every difference between what happened and what the model allows, once. The last difference may have
    /// ended the run.
    pub divergences: Vec<Divergence>,
    /// The capabilities with which the history was run, without operations that need others.
    pub capabilities: Capabilities,
    /// The identity of the subject.
    pub subject: Identity,
}

/// The calls of a request at which an injection could happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    /// Each call with the kind of its file, up to the call of the injection.
    pub calls: Vec<String>,
    /// Whether the injection happened.
    pub came: bool,
}

impl Calls {
    /// The call of the injection; `None` if it happened at the end, or not at all.
    pub fn call(&self) -> Option<&String> {
        self.calls.last().filter(|_| self.came)
    }
}

impl Run {
    /// Adds a run of the same history with an injection at `call`.
    pub(super) fn join(&mut self, run: Run, call: CallPosition) {
        for (rule, times) in run.checks {
            *self.checks.entry(rule).or_default() += times;
        }
        for (excused, times) in run.excused {
            *self.excused.entry(excused).or_default() += times;
        }
        self.operations += run.operations;
        self.injections += run.injections;
        self.coverage.join(run.coverage);
        self.depth.add(&run.depth);
        let fingerprints: Vec<_> = self.divergences.iter().map(Divergence::fingerprint).collect();
        let new = run
            .divergences
            .into_iter()
            .filter(|divergence| !fingerprints.contains(&divergence.fingerprint()));
        self.divergences
            .extend(new.map(|divergence| Divergence { call: Some(call), ..divergence }));
        self.capabilities = run.capabilities;
        self.subject = run.subject;
    }
}

/// Why a run could not be made; never the subject's fault.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The sandbox could not be made or read.
    #[error("the sandbox cannot be used: {0}")]
    Sandbox(#[from] io::Error),
    /// An edit could not be carried out.
    #[error("the runner cannot carry out operation {}: {source}", .step + 1)]
    Edit {
        /// The operation, from 0.
        step: usize,
        /// The error of the system.
        source: io::Error,
    },
    /// The disk differs from the model although no subject touched it.
    #[error("the harness is wrong: before operation {}, {path} differs from the model", .step + 1)]
    Harness {
        /// The operation, from 0.
        step: usize,
        /// The first path that differs.
        path: ByteString,
    },
    /// The adapter broke the protocol.
    #[error("the adapter broke the protocol{}: {fault}", at_operation(.step))]
    Adapter {
        /// The operation, from 0; `None` before the first.
        step: Option<usize>,
        /// How the adapter broke the protocol.
        fault: Fault,
    },
    /// A directory above the sandbox holds a project marker, which every history would find.
    #[error("{0:?} marks a project above the sandboxes: choose another place with --scratch")]
    MarkerAbove(std::path::PathBuf),
}

fn at_operation(step: &Option<usize>) -> String {
    step.map_or_else(String::new, |step| format!(" at operation {}", step + 1))
}

/// An event of a run. It contains concrete paths, ids and requests instead of the symbolic ones of the
/// history.
#[derive(Clone, Debug)]
pub enum Event {
    /// The sandbox was made.
    Began {
        /// Its path.
        root: ByteString,
        /// Its files.
        files: Files,
    },
    /// The runner changed files.
    Edited(Vec<Change>),
    /// The runner edited the checkpoint base. If it damaged a file of the store, the path is that of the
    /// file; for a packed object, it is the path that the object would have as a loose object.
    StoreEdited(StoreEdit, Option<PathBuf>),
    /// A separate process wrote a database, which made these changes.
    DatabaseWritten(DatabaseWrite, Vec<Change>),
    /// The injection for the next request that can have one.
    Injects(Injection),
    /// The next request that can have an injection is measured.
    Measures,
    /// A request was made.
    Requested(Box<RequestRecord>),
}

/// A request and its outcome.
#[derive(Clone, Debug)]
pub struct RequestRecord {
    /// The operation of the history, from 0.
    pub step: usize,
    /// The request.
    pub request: Request,
    /// The answer.
    pub answer: Answer,
    /// The reply line of the protocol with the answer.
    pub reply: String,
    /// The files before it.
    pub before: Files,
    /// The files afterwards.
    pub after: Files,
}

/// Called with every event of a run.
pub type Watch<'a> = Option<&'a mut dyn FnMut(Event)>;

/// Calls the watcher with an event, if there is a watcher.
pub(super) fn notify(watch: &mut Watch<'_>, event: impl FnOnce() -> Event) {
    if let Some(watch) = watch {
        watch(event());
    }
}
