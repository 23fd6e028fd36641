//! The only interface between the harness and the implementation that it judges.

mod agent;
mod core;
mod measurable;
pub mod meter;
pub(crate) mod outside;
mod patch;
mod process;
pub mod serve;

pub use self::core::CoreSubject;
pub use crate::inject::{Call, Hook, HookedDisk};
pub use crate::protocol::message::Identity;
pub use measurable::Measurable;
pub use process::{AdapterCommand, ProcessSubject};

use crate::inject::{Injected, Point};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::fault::Fault;
use crate::sandbox::Sandbox;
use herma_model::observation::Measured;
use herma_model::{Answer, Request, Settings};
use std::io;

/// An implementation under test, opened on one sandbox.
///
/// The following example only keeps a list of checkpoints, and claims no more capabilities than that:
///
/// ```
/// use herma_harness::protocol::capabilities::Capabilities;
/// use herma_harness::sandbox::{Sandbox, Scratch};
/// use herma_harness::subject::{Identity, Subject};
/// use herma_harness::{RunOptions, check, history::file::from_yaml, run};
/// use herma_model::answer::{CheckpointOutcome, Listed};
/// use herma_model::{Answer, Code, Request, Settings};
///
/// #[derive(Default)]
/// struct Memory(Vec<Listed>);
///
/// impl Memory {
///     fn boxed(_: &Sandbox, _: &Settings, _: i64) -> Box<dyn Subject> {
///         Box::new(Memory::default())
///     }
/// }
///
/// impl Subject for Memory {
///     fn identity(&self) -> Identity {
///         Identity::new("memory", "0.1.0")
///     }
///
///     fn capabilities(&self) -> Capabilities {
///         Capabilities::none().with("checkpoint")
///     }
///
///     fn ask(&mut self, request: &Request) -> Answer {
///         match request {
///             Request::Checkpoint { reason, .. } => {
///                 let id = format!("{:040x}", self.0.len() + 1);
///                 let reason = reason.clone();
///                 self.0.iter_mut().for_each(|checkpoint| checkpoint.number += 1);
///                 self.0.insert(0, Listed { number: 1, id: id.clone(), time: 0, reason, stats: None });
///                 Answer::Taken { outcome: CheckpointOutcome::Created { id }, skipped: Vec::new() }
///             }
///             Request::List { .. } => Answer::Listed(self.0.clone()),
///             Request::NewTurn => Answer::Done,
///             _ => Answer::Refused {
///                 code: Code::Internal,
///                 message: "not written yet".into(),
///                 changed: Default::default(),
///             },
///         }
///     }
/// }
///
/// let text = "operations:
/// - write: {path: work/alpha/a, content: one}
/// - checkpoint: {dir: work/alpha, reason: first}
/// - write: {path: work/alpha/a, content: two}
/// - checkpoint: {dir: work/alpha, reason: second}
/// - list: {dir: work/alpha}
/// ";
/// let history = from_yaml(text, "here".as_ref())?;
/// // Sandboxes are made below this folder, and removed after the run.
/// let scratch = Scratch::at(std::env::temp_dir());
/// let run = run(&history, &Memory::boxed, &scratch, RunOptions::default())?;
/// assert_eq!(run.subject.name, "memory");
/// assert!(run.checks["list/newest-first"] > 0 && run.divergences.is_empty());
/// check(&history, &Memory::boxed, &scratch)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Subject {
    /// Answers a request. A subject that fails in a way for which there is no code answers
    /// [`Answer::Crashed`].
    fn ask(&mut self, request: &Request) -> Answer;

    /// Answers a request with an injection at one of the calls that the request makes. If the injection
    /// ends the process, the process is started again before this method returns. If nothing can be
    /// injected, the request is not made and the result is `None`.
    ///
    /// # Errors
    /// The injection cannot be made.
    fn ask_injected(&mut self, _request: &Request, _point: &Point) -> io::Result<Option<Injected>> {
        Ok(None)
    }

    /// Answers a request in a new process, measures that process and its children, and then starts the
    /// subject again. If the subject cannot be measured, it only answers, and the measurement is `None`.
    fn ask_measured(&mut self, request: &Request) -> (Answer, Option<Measured>) {
        (self.ask(request), None)
    }

    /// Whether the subject is started again before and after each injection.
    fn restarts_for_injections(&self) -> bool {
        false
    }

    /// Name and version of the subject, for reports.
    fn identity(&self) -> Identity;

    /// The capabilities that the subject claims, by default [`Capabilities::complete`]. Requests that need
    /// other capabilities are not made.
    fn capabilities(&self) -> Capabilities {
        Capabilities::complete()
    }

    /// The line of the last reply, if the subject replies from another process.
    fn replied(&self) -> Option<String> {
        None
    }

    /// How the adapter broke the protocol, if it did. None of its answers counts then.
    fn fault(&self) -> Option<&Fault> {
        None
    }
}

/// A function that opens a subject in a sandbox, with these settings, at that time in seconds since the
/// epoch.
pub type NewSubject<'a> = dyn Fn(&Sandbox, &Settings, i64) -> Box<dyn Subject> + Sync + 'a;
