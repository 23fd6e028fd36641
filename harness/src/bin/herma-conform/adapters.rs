//! What the `adapter` commands do.

use crate::ending::{NO_VERDICT, NoVerdict, USAGE, fail, say, scratch};
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
pub fn check(command: &[OsString], place: Option<PathBuf>) -> Result<ExitCode, NoVerdict> {
    let here = std::env::current_dir()
        .map_err(|error| (format!("no current directory: {error}"), NO_VERDICT))?;
    let probed = probe(command, &here, &scratch(place), Limits::default())
        .map_err(|error| (format!("no sandbox: {error}; nothing was run"), NO_VERDICT))?;
    let mut kept = true;
    for one in probed {
        match one.wrong {
            None => say(&format!("ok      {}\n", one.probe)),
            Some(wrong) => {
                kept = false;
                say(&format!("FAILED  {}\n        {wrong}\n", one.probe));
            }
        }
        one.hints.iter().for_each(|hint| say(&format!("  hint  {hint}\n")));
    }
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::from(NO_VERDICT) })
}

/// `herma-conform adapter serve`.
pub fn serve(name: Option<&str>) -> ExitCode {
    let broken = match name.map(broken).transpose() {
        Ok(broken) => broken,
        Err(message) => return fail(&message, USAGE),
    };
    let (input, output) = (std::io::stdin().lock(), std::io::stdout());
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
    Err(format!("there is no planted bug and no null subject `{name}`; see `bugs`"))
}

/// `herma-conform adapters list`.
pub fn list() -> ExitCode {
    let cache = hermetic::cache();
    for one in bundled::catalogue() {
        let installed = if one.is_installed(&cache) { "installed" } else { "-" };
        say(&format!("{:<28} {installed:<10} {}\n", one.full_name(), one.what));
    }
    ExitCode::SUCCESS
}

/// `herma-conform adapters install`.
pub fn install(names: &[String]) -> ExitCode {
    let found: Result<Vec<_>, _> = names.iter().map(|name| bundled::find(name)).collect();
    let found = match found {
        Ok(found) => found,
        Err(message) => return fail(&format!("{message}; nothing was installed"), USAGE),
    };
    let cache = hermetic::cache();
    for one in found {
        if one.is_installed(&cache) {
            say(&format!("{} is installed\n", one.full_name()));
            continue;
        }
        eprintln!("installing {} into {}", one.full_name(), one.folder(&cache).display());
        if let Err(error) = bundled::install(one, &cache) {
            return fail(&format!("{}: {error}", one.full_name()), NO_VERDICT);
        }
        say(&format!("{} is installed\n", one.full_name()));
    }
    ExitCode::SUCCESS
}
