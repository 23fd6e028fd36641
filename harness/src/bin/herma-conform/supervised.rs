//! `supervised`: runs a command under supervision, and exits with its code.

use crate::ending::{NO_VERDICT, fail};
use herma_harness::history::InjectedEvent;
use herma_harness::inject::Calls;
use herma_harness::inject::supervise::{SupervisedCommand, supervise};
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitCode;

/// The arguments of `supervised`.
#[derive(Clone, clap::Args)]
pub struct SupervisedArguments {
    /// Only calls below these folders count
    #[arg(long, required = true)]
    below: Vec<PathBuf>,
    /// Where every call that counts is noted
    #[arg(long)]
    points: PathBuf,
    /// Which calls count: changing, reading, all
    #[arg(long, default_value = "changing")]
    calls: Calls,
    /// At which of them it happens, from 1; at the end by default
    #[arg(long, requires = "what")]
    at: Option<u64>,
    /// What happens there, as in a history
    #[arg(long)]
    what: Option<InjectedEvent>,
    /// The command
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Runs the command, and ends as it does.
pub fn run(arguments: &SupervisedArguments) -> ExitCode {
    let SupervisedArguments { below, points, calls, at, what: event, command } = arguments.clone();
    match supervise(&SupervisedCommand { command, below, points, calls, at, event }) {
        Ok(status) => {
            let signal = status.signal().map(|signal| 128 + signal);
            let code = status.code().or(signal).and_then(|code| u8::try_from(code).ok());
            ExitCode::from(code.unwrap_or(NO_VERDICT))
        }
        Err(error) => {
            fail(&format!("the command cannot be supervised: {error}; nothing was run"), NO_VERDICT)
        }
    }
}
