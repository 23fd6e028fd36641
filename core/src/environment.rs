//! The inputs that a caller gives to a [`crate::Manager`]: directories, a clock and the configuration.
//! The manager itself reads nothing of its process.

use crate::policy::Policy;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The directories of the user's machine.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The home directory, an absolute path.
    pub home: PathBuf,
    /// The directory that relative paths start from, an absolute path.
    pub current_directory: PathBuf,
    /// The checkpoint base, an absolute path; usually `$HERMES_HOME/checkpoints`.
    pub base: PathBuf,
}

impl Environment {
    /// The environment of a process; `variable` looks up a variable. The home is `HOME`, the base lies
    /// below `HERMES_HOME`, or below `~/.hermes` where that is not set. A tilde may be there that no shell expanded.
    pub fn from_variables(
        variable: impl Fn(&str) -> Option<PathBuf>,
        current_directory: PathBuf,
    ) -> Option<Self> {
        let filled = |name| variable(name).filter(|path| !path.as_os_str().is_empty());
        let home = filled("HOME").filter(|home| home.is_absolute())?;
        let hermes = filled("HERMES_HOME").unwrap_or_else(|| "~/.hermes".into());
        let environment = Environment { home, current_directory, base: PathBuf::new() };
        let base = environment.absolute(&hermes).join("checkpoints");
        Some(Environment { base, ..environment })
    }

    /// Expands a leading tilde and makes a relative path absolute.
    pub(crate) fn absolute(&self, typed: &Path) -> PathBuf {
        match typed.strip_prefix("~") {
            Ok(rest) => self.home.join(rest),
            Err(_) => self.current_directory.join(typed),
        }
    }

    /// The folder with the agent state, next to the base; where it does not exist, an agent has no state
    /// besides its files.
    pub fn agent_folder(&self) -> PathBuf {
        self.base.with_file_name("agent")
    }

    /// The configuration file, next to the base.
    pub fn configuration_file(&self) -> PathBuf {
        self.base.with_file_name("config.yaml")
    }
}

/// Whether a path that was typed depends on the current directory.
pub fn is_relative(typed: &Path) -> bool {
    typed.is_relative() && !typed.starts_with("~")
}

/// A source of the current time.
pub trait Clock: Send + Sync {
    /// Seconds since the epoch.
    fn seconds(&self) -> i64;
}

/// The clock of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn seconds(&self) -> i64 {
        since_epoch(SystemTime::now())
    }
}

/// Seconds since the epoch, negative before it.
fn since_epoch(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(duration) => duration.as_secs() as i64,
        Err(error) => -(error.duration().as_secs() as i64),
    }
}

/// Bytes in a megabyte.
pub(crate) const MEBIBYTE: u64 = 1024 * 1024;
/// Seconds in an hour.
pub(crate) const HOUR_SECONDS: u64 = 60 * 60;
/// Seconds in a day.
pub(crate) const DAY_SECONDS: u64 = 24 * HOUR_SECONDS;

/// The configuration (behaviour: Base and configuration).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Whether automatic checkpoints are taken.
    pub enabled: bool,
    /// How many checkpoints of a project can be listed and restored, at least 1.
    pub max_snapshots: usize,
    /// Files larger than this many bytes are not captured; 0 is no bound.
    pub max_file_bytes: u64,
    /// Directories with more captured files than this are not checkpointed.
    pub max_files: usize,
    /// Above this many bytes the store evicts its oldest checkpoints; 0 is no bound.
    pub max_total_bytes: u64,
    /// Whether sweeps run automatically.
    pub auto_prune: bool,
    /// A sweep removes projects not touched for this many seconds; 0 is no bound.
    pub retention_seconds: u64,
    /// Whether a sweep removes projects whose directories are gone.
    pub delete_orphans: bool,
    /// The minimum number of seconds between two sweeps.
    pub min_interval_seconds: u64,
    /// Patterns of paths that are captured although the default excludes name them.
    pub include: Vec<String>,
    /// The policy: which events of an agent cause a checkpoint.
    pub policy: Policy,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            enabled: false,
            max_snapshots: 20,
            max_file_bytes: 10 * MEBIBYTE,
            max_files: 50_000,
            max_total_bytes: 500 * MEBIBYTE,
            auto_prune: true,
            retention_seconds: 7 * DAY_SECONDS,
            delete_orphans: true,
            min_interval_seconds: 24 * HOUR_SECONDS,
            include: Vec::new(),
            policy: Policy::default(),
        }
    }
}

impl Config {
    /// The defaults without any limit: for what rescues files while the configuration cannot be known.
    pub fn without_limits() -> Self {
        Config {
            max_snapshots: usize::MAX,
            max_file_bytes: 0,
            max_files: usize::MAX,
            max_total_bytes: 0,
            auto_prune: false,
            retention_seconds: 0,
            ..Config::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn from_variables_expands_the_tilde_of_hermes_home_and_makes_it_absolute() {
        let base = |hermes_home: &str| {
            let variable = |name: &str| match name {
                "HOME" => Some("/home/u".into()),
                _ => Some(hermes_home.into()),
            };
            Environment::from_variables(variable, "/here".into()).unwrap().base
        };
        for (hermes_home, hermes) in [
            ("", "/home/u/.hermes"),
            ("~", "/home/u"),
            ("~/x", "/home/u/x"),
            ("~x", "/here/~x"),
            ("x", "/here/x"),
            ("/x", "/x"),
        ] {
            assert_eq!(base(hermes_home), Path::new(hermes).join("checkpoints"), "{hermes_home}");
        }
    }

    #[test]
    fn since_epoch_is_negative_before_the_epoch() {
        assert_eq!(since_epoch(UNIX_EPOCH + Duration::from_secs(5)), 5);
        assert_eq!(since_epoch(UNIX_EPOCH - Duration::from_secs(5)), -5);
    }
}
