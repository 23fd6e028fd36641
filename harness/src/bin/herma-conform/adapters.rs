//! What the `adapter` commands do.

use crate::Language;
use crate::commands::{NO_VERDICT, fail, say, scratch};
use herma_harness::protocol::check::check as probe;
use herma_harness::protocol::process::Limits;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// `herma-conform adapter new`.
pub fn new(language: Language) -> ExitCode {
    say(match language {
        Language::Python => include_str!("../../../adapters/templates/adapter.py"),
    });
    ExitCode::SUCCESS
}

/// `herma-conform adapter check`.
pub fn check(command: &[OsString], place: Option<PathBuf>) -> ExitCode {
    let here = match std::env::current_dir() {
        Ok(here) => here,
        Err(error) => return fail(&format!("no current directory: {error}"), NO_VERDICT),
    };
    let probed = match probe(command, &here, &scratch(place), Limits::default()) {
        Ok(probed) => probed,
        Err(error) => return fail(&format!("no sandbox: {error}; nothing was run"), NO_VERDICT),
    };
    let mut kept = true;
    for one in probed {
        match one.wrong {
            None => say(&format!("ok      {}\n", one.probe)),
            Some(wrong) => {
                kept = false;
                say(&format!("FAILED  {}\n        {wrong}\n", one.probe));
            }
        }
    }
    if kept { ExitCode::SUCCESS } else { ExitCode::from(NO_VERDICT) }
}

/// `herma-conform adapter serve`.
pub fn serve() -> ExitCode {
    match herma_harness::protocol::serve::serve(std::io::stdin().lock(), std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&format!("the runner cannot be heard: {error}"), NO_VERDICT),
    }
}
