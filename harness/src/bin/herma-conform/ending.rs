//! What all commands share: output, exit codes, errors, and the folder of sandboxes.

use herma_harness::runner::RunError;
use herma_harness::sandbox::Scratch;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

pub const BROKEN: u8 = 1;
pub const USAGE: u8 = 2;
/// A failure did not show again.
pub const UNSTABLE: u8 = 3;
/// The harness, an adapter or the machine failed.
pub const NO_VERDICT: u8 = 4;
pub const TOO_LITTLE: u8 = 5;
/// The suite misses what it must find.
pub const SELF_CHECK: u8 = 6;

/// Why there is no verdict, and the exit code for that.
pub type NoVerdict = (String, u8);

/// A run that could not be made, as an error.
pub fn no_verdict(error: RunError) -> NoVerdict {
    let error = error.to_string();
    let separator = if error.contains('\n') { "\n" } else { "; " };
    (format!("{error}{separator}no verdict is given"), NO_VERDICT)
}

/// Prints to standard output; a reader that went away is not an error.
pub fn print_text(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Prints what is wrong and returns the exit code.
pub fn fail(message: &str, code: u8) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::from(code)
}

/// The exit code of a command, after printing its error if it has one.
pub fn exit_code_of(outcome: Result<ExitCode, NoVerdict>) -> ExitCode {
    outcome.unwrap_or_else(|(message, code)| fail(&message, code))
}

/// The given folder for sandboxes, or the default one; this program serves subjects that need a process
/// of their own.
pub fn scratch(folder: Option<PathBuf>) -> Scratch {
    let scratch = folder.map_or_else(Scratch::in_default_directory, Scratch::at);
    std::env::current_exe().map_or(scratch.clone(), |program| scratch.with_program(program))
}

/// Whether to print colours.
pub fn colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}
