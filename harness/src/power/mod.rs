//! Mutation testing of third-party implementations: the source is changed in one small way at a time, and each
//! of these mutants runs through the subject's gate.
//!
//! A mutant is noticed if any verdict or fingerprint differs from those of the unchanged package. The package
//! in the cache stays untouched: mutants run in a linked copy of it. Each may write only to the folder of its
//! sandboxes, since the behaviour of a mutant is unknown.

mod mutants;
mod notice;
mod page;
mod record;
mod run;
mod workshop;

pub use mutants::{Mutant, Parser, sample};
pub use notice::{Baseline, Outcome};
pub use page::page;
pub use record::{Header, Judged, Records};
pub use run::{Mutants, PowerRun};
pub use workshop::Confinement;

use crate::bundled::InstallError;
use crate::divergence::Fingerprint;
use crate::runner::RunError;
use std::io;

/// Why no mutant can be judged.
#[derive(Debug, thiserror::Error)]
pub enum PowerError {
    /// No source of the subject can be changed.
    #[error("{0} has no source that could be changed; nothing was run")]
    NoSource(String),
    /// The list of mutants cannot be made.
    #[error("the mutants of {file} cannot be listed: {why}; nothing was run")]
    List {
        /// The source file.
        file: String,
        /// The output of the program.
        why: String,
    },
    /// The parser that lists the mutants cannot be installed.
    #[error(transparent)]
    Parser(#[from] InstallError),
    /// The unchanged package cannot be run.
    #[error("the package as it is cannot be judged: {0}")]
    Baseline(#[from] RunError),
    /// The suite cannot run.
    #[error(transparent)]
    Run(RunError),
    /// A source file fails differently when it records which of its lines run.
    #[error("instrumented, {0} shows the new failure {1}; nothing was run")]
    Instrumented(String, Fingerprint),
    /// The results are from runs that do not belong together.
    #[error("{0} and {1} are of different runs ({2}); nothing was merged")]
    Different(String, String, &'static str),
    /// A file cannot be read or written.
    #[error("{0}: {1}")]
    File(String, io::Error),
}
