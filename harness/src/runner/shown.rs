//! What a run shows: what it came to, why it could not be made, and what it tells while it goes on. How
//! it is made is one folder up.

use crate::coverage::Coverage;
use crate::depth::Depth;
use crate::divergence::Divergence;
use crate::history::{At, DatabaseWrite, Injection};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::fault::Fault;
use crate::subject::Identity;
use herma_model::answer::Answer;
use herma_model::edit::Change;
use herma_model::{ByteString, Files, Request, StoreEdit};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// What a run showed.
#[derive(Debug, Default)]
pub struct Run {
    /// How many comparisons were made for each rule.
    pub checks: BTreeMap<&'static str, u64>,
    /// How many operations were applied.
    pub operations: usize,
    /// Which behaviours were covered.
    pub coverage: Coverage,
    /// How much of the history was judged.
    pub depth: Depth,
    /// How many injections happened.
    pub injections: u64,
    /// The last injection.
    pub injected: Option<Calls>,
    /// Every difference, once. The last one may have ended the run.
    pub divergences: Vec<Divergence>,
    /// What the subject can do; the history was run without the rest.
    pub capabilities: Capabilities,
    /// Who the subject is.
    pub subject: Identity,
}

/// The calls of a request that an injection waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    /// What each did to what sort of file, up to the one that it came at.
    pub calls: Vec<String>,
    /// Whether it came.
    pub came: bool,
}

impl Calls {
    /// The call that it came at; none where it came at the end, or not at all.
    pub fn call(&self) -> Option<&String> {
        self.calls.last().filter(|_| self.came)
    }
}

impl Run {
    /// This run, and another one of the same history with something made to happen at that call.
    pub(super) fn join(&mut self, other: Run, at: At) {
        for (rule, times) in other.checks {
            *self.checks.entry(rule).or_default() += times;
        }
        self.operations += other.operations;
        self.injections += other.injections;
        self.coverage.join(other.coverage);
        self.depth.add(&other.depth);
        let known: Vec<_> = self.divergences.iter().map(Divergence::fingerprint).collect();
        let new = other.divergences.into_iter().filter(|one| !known.contains(&one.fingerprint()));
        self.divergences.extend(new.map(|one| Divergence { call: Some(at), ..one }));
        (self.capabilities, self.subject) = (other.capabilities, other.subject);
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
        /// What the system said.
        source: io::Error,
    },
    /// The disk is not what the model says although no subject touched it.
    #[error("the harness is wrong: before operation {}, {path} differs from the model", .step + 1)]
    Harness {
        /// The operation, from 0.
        step: usize,
        /// The first path that differs.
        path: ByteString,
    },
    /// The adapter broke the protocol.
    #[error("the adapter broke the protocol{}: {fault}", at(.step))]
    Adapter {
        /// The operation, from 0; none before the first.
        step: Option<usize>,
        /// How.
        fault: Fault,
    },
    /// A directory above the sandbox holds a project marker, which every history would find.
    #[error("{0:?} marks a project above the sandboxes: choose another place with --scratch")]
    MarkerAbove(std::path::PathBuf),
}

fn at(step: &Option<usize>) -> String {
    step.map_or_else(String::new, |step| format!(" at operation {}", step + 1))
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
    /// The runner changed the base of the store, and damaged that file of it, if any; an object that is
    /// in a pack by the file that it would have.
    StoreEdited(StoreEdit, Option<PathBuf>),
    /// A process of its own wrote a database, which came to these changes.
    DatabaseWritten(DatabaseWrite, Vec<Change>),
    /// Something is to happen during the next request that can have it.
    Injects(Injection),
    /// What the next such request takes is measured.
    Measures,
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
    /// The line of the protocol that says so, as it was replied.
    pub reply: String,
    /// The files afterwards.
    pub after: Files,
}

/// Called with every event of a run.
pub type Watch<'a> = Option<&'a mut dyn FnMut(Event)>;

/// Tells who watches, if anybody does.
pub(super) fn tell(watch: &mut Watch<'_>, event: impl FnOnce() -> Event) {
    if let Some(watch) = watch {
        watch(event());
    }
}
