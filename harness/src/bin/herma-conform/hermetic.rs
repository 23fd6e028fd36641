//! The environment of histories: a home of its own, hostile values in every git variable, and
//! nothing of the user's.
//!
//! A process cannot safely change its own environment, so it starts itself again in this environment
//! and afterwards checks that the user's own files are unchanged.

use crate::interruption;
use herma_harness::sandbox::hostility;
#[cfg(target_os = "linux")]
use rustix::process::{Signal, set_parent_process_death_signal};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Set in the inner process.
const INSIDE: &str = "HERMA_HERMETIC";
/// Names the folder that bundled subjects are installed in.
const CACHE: &str = "HERMA_CACHE";
/// Set by GitHub's runners, which read annotations from the output.
pub const GITHUB: &str = "GITHUB_ACTIONS";

/// The folder that bundled subjects are installed in: `HERMA_CACHE`, by default below the user's
/// cache folder.
pub fn cache() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let xdg = || variable("XDG_CACHE_HOME").map(|cache| PathBuf::from(cache).join("herma"));
    let home = || variable("HOME").map(|home| PathBuf::from(home).join(".cache/herma"));
    let named = variable(CACHE).map(PathBuf::from);
    named.or_else(xdg).or_else(home).unwrap_or_else(|| PathBuf::from("herma-cache"))
}

/// Paths below the home that a leaking store would change.
const WATCHED: &[&str] =
    &[".gitconfig", ".config/git", ".config/git/config", ".hermes", ".hermes/checkpoints"];

/// Whether this is the hermetic process.
pub fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Runs the rest in a hermetic process and returns its exit code; `None` inside that process.
pub fn enter() -> Option<ExitCode> {
    if is_inside() {
        // Who kills the process that was started means this one. Elsewhere than on Linux it goes on.
        #[cfg(target_os = "linux")]
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
        // The default permissions of new files are the same everywhere.
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
        return None;
    }
    match run_inside() {
        Ok(code) => Some(ExitCode::from(code)),
        Err(error) => {
            eprintln!("error: cannot start an isolated process: {error}; nothing was run");
            Some(ExitCode::from(4))
        }
    }
}

fn run_inside() -> std::io::Result<u8> {
    let home = tempfile::Builder::new().prefix("herma-home-").tempdir()?;
    let programs = home.path().join("hostile");
    hostility::plant(home.path(), &programs)?;
    let before = watched();
    let mut command = Command::new(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1)).env_clear().env(INSIDE, "1");
    command.env(CACHE, std::path::absolute(cache())?);
    for variable in
        ["PATH", "TERM", "NO_COLOR", "TMPDIR", "RUST_BACKTRACE", "LANG", "COLUMNS", GITHUB]
    {
        if let Some(value) = std::env::var_os(variable) {
            command.env(variable, value);
        }
    }
    let nowhere = home.path().join("nowhere");
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
        command.env(variable, &nowhere);
    }
    command
        .env("HOME", home.path())
        .env("XDG_CONFIG_HOME", home.path().join(".config"))
        .env("GIT_AUTHOR_NAME", "Hostile User")
        .env("GIT_AUTHOR_DATE", "1 +0000")
        .env("GIT_COMMITTER_DATE", "1 +0000")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.autocrlf")
        .env("GIT_CONFIG_VALUE_0", "true")
        .env("TZ", "UTC")
        .env("LC_ALL", "C.UTF-8");
    let status = interruption::wait_for(&mut command)?;
    if watched() != before {
        eprintln!("error: files in the user's home changed during the run; there is no verdict");
        return Ok(4);
    }
    if hostility::mark(&programs).exists() {
        eprintln!(
            "error: a program named in the user's git configuration was run (isolation/no-signing)"
        );
        return Ok(1);
    }
    // An end by a signal is neither a verdict nor a success.
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(4))
}

/// What a leak into the user's home would change: inode, size and modification time of the [`WATCHED`] paths.
fn watched() -> Vec<Option<(u64, u64, i64, i64)>> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let stat = |path: &Path| {
        let metadata = fs::symlink_metadata(path).ok()?;
        Some((metadata.ino(), metadata.size(), metadata.mtime(), metadata.mtime_nsec()))
    };
    let home = home.as_deref();
    WATCHED.iter().map(|name| home.and_then(|home| stat(&home.join(name)))).collect()
}
