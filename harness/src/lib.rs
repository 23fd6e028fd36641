//! Who judges: generated and written histories run against the model and a subject side by side.
//!
//! Data flows one way. A generator or a file yields a [`History`]; the [`runner`] applies each
//! operation to the model and to a [`subject::Subject`] in a [`sandbox`]; the [`oracle`] compares
//! the answer and everything observable; on a difference a [`trial`] tells whose doing it is and
//! [`shrink`] looks for a shorter history with the same one; a [`suite`] does so many times and [`results`] says which rules hold.
//!
//! A downstream crate checks its own implementation with [`check`] over [`generate::history`].
#![forbid(unsafe_code)]

pub mod bundled;
pub mod canary;
pub mod cases;
pub mod compare;
pub mod coverage;
pub mod divergence;
pub mod expectations;
pub mod export;
pub mod generate;
mod git_objects;
pub mod history;
pub mod hostile;
pub mod null;
mod oracle;
pub mod parallel;
pub mod planted;
pub mod protocol;
pub mod report;
pub mod results;
pub mod runner;
pub mod sandbox;
pub mod shrink;
pub mod subject;
pub mod suite;
pub mod trial;
pub mod workspace;

pub use history::{History, Operation};
pub use runner::{Run, RunError, run};

/// Runs `history` on a subject and answers the shortest history found that fails in the same way,
/// as a text for a test's failure message.
///
/// # Errors
/// The text, where the subject breaks a rule or the run itself cannot be made.
pub fn check(
    history: &History,
    new_subject: &subject::NewSubject<'_>,
    scratch: &sandbox::Scratch,
) -> Result<(), String> {
    let outcome = trial::trial(history, new_subject, scratch).map_err(|error| error.to_string())?;
    let Some(divergence) = outcome.run.divergences.first() else { return Ok(()) };
    let shrunk = shrink::shrink(history, divergence, new_subject, scratch, shrink::BUDGET_DEFAULT);
    Err(report::counterexample(&shrunk.history, &shrunk.divergence))
}
