//! The `adapter` and `adapters` commands.

use crate::ending::{NO_VERDICT, NoVerdict, USAGE, fail, print_text, scratch};
use crate::hermetic;
use herma_harness::bundled;
use herma_harness::protocol::check::check as probe;
use herma_harness::protocol::process::Limits;
use herma_harness::subject::NewSubject;
use herma_harness::{null, planted};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// `herma-conform adapter check`.
///
/// # Errors
/// Nothing could be probed.
pub fn check(command: &[OsString], folder: Option<PathBuf>) -> Result<ExitCode, NoVerdict> {
    let directory = std::env::current_dir()
        .map_err(|error| (format!("no current directory: {error}"), NO_VERDICT))?;
    let probed =
        probe(command, &directory, &scratch(folder), Limits::default()).map_err(|error| {
            (format!("cannot create a sandbox: {error}; nothing was run"), NO_VERDICT)
        })?;
    let mut is_valid = true;
    for result in probed {
        match result.wrong {
            None => print_text(&format!("ok      {}\n", result.probe)),
            Some(wrong) => {
                is_valid = false;
                print_text(&format!("FAILED  {}\n        {wrong}\n", result.probe));
            }
        }
        result.hints.iter().for_each(|hint| print_text(&format!("  hint  {hint}\n")));
    }
    Ok(if is_valid { ExitCode::SUCCESS } else { ExitCode::from(NO_VERDICT) })
}

/// `herma-conform adapter serve`.
pub fn serve(name: Option<&str>) -> ExitCode {
    let broken = match name.map(broken).transpose() {
        Ok(broken) => broken,
        Err(message) => return fail(&message, USAGE),
    };
    let input = std::io::stdin().lock();
    let output = std::io::stdout();
    match herma_harness::subject::serve::serve(input, output, broken.as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&format!("the connection to the runner failed: {error}"), NO_VERDICT),
    }
}

/// Opens the planted bug or the null subject of that name.
fn broken(name: &str) -> Result<Box<NewSubject<'static>>, String> {
    if let Some(bug) = planted::find(name) {
        return Ok(Box::new(bug.opener()));
    }
    if let Some(null) = null::find(name) {
        return Ok(Box::new(null.open));
    }
    Err(format!("there is no planted bug or null subject `{name}`; see `bugs`"))
}

/// `herma-conform adapters list`.
pub fn list() -> ExitCode {
    let cache = hermetic::cache();
    for subject in bundled::CATALOGUE {
        let installed = if subject.is_installed(&cache) { "installed" } else { "-" };
        print_text(&format!("{:<28} {installed:<10} {}\n", subject.full_name(), subject.what));
    }
    ExitCode::SUCCESS
}

/// `herma-conform adapters install`.
pub fn install(names: &[String]) -> ExitCode {
    let subjects: Result<Vec<_>, _> = names.iter().map(|name| bundled::find(name)).collect();
    let subjects = match subjects {
        Ok(subjects) => subjects,
        Err(message) => return fail(&format!("{message}; nothing was installed"), USAGE),
    };
    let cache = hermetic::cache();
    for subject in subjects {
        if subject.is_installed(&cache) {
            print_text(&format!("{} is installed\n", subject.full_name()));
            continue;
        }
        eprintln!("installing {} into {}", subject.full_name(), subject.folder(&cache).display());
        if let Err(error) = bundled::install(subject, &cache) {
            return fail(&format!("{}: {error}", subject.full_name()), NO_VERDICT);
        }
        print_text(&format!("{} is installed\n", subject.full_name()));
    }
    ExitCode::SUCCESS
}
