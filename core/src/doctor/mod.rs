//! Diagnoses whether checkpoints can work on this machine, and if not, why and what to do: one finding
//! for each precondition.
//!
//! The diagnosis changes nothing and waits only briefly for other processes. Whether stored objects are
//! intact is checked by [`crate::Manager::verify`].

mod agent;
mod base;
mod hooks;
mod letter_case;
mod locks;
mod machine;
mod project;
mod surroundings;
#[cfg(test)]
mod tests;

pub use machine::{Machine, Space, SystemMachine};

use crate::disk::{Disk, canonical};
use crate::environment::{Clock, Environment, is_relative};
use crate::error::Error;
use serde::Serialize;
use std::path::PathBuf;

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The home directory, and the variables that name it and the location of the store.
    Home,
    /// The configuration file.
    Configuration,
    /// Whether checkpoints are taken automatically.
    Automatic,
    /// The checkpoint base and the store in it, or the directory in which they would be made.
    Base,
    /// Which other users may read or change the base.
    Privacy,
    /// The free space on the file system of the base.
    Space,
    /// The clock.
    Clock,
    /// Locks that a process holds or left behind.
    Locks,
    /// The project of the current directory.
    Project,
    /// Whether names that differ only in letter case are one file.
    LetterCase,
    /// The state of an agent, and interrupted restores of it.
    Agent,
    /// When the hooks of agents were called last.
    Hooks,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing is wrong.
    Ok,
    /// Checkpoints work, but the user may expect something else.
    Notice,
    /// Checkpoints do not work, or not safely.
    Trouble,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was checked.
    pub check: Check,
    /// The severity.
    pub verdict: Verdict,
    /// What was found, for people.
    pub found: String,
    /// What to do, for people, if anything can be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl Check {
    fn finding(
        self,
        verdict: Verdict,
        found: impl Into<String>,
        advice: Option<String>,
    ) -> Finding {
        Finding { check: self, verdict, found: found.into(), advice }
    }

    fn ok(self, found: impl Into<String>) -> Finding {
        self.finding(Verdict::Ok, found, None)
    }

    fn notice(self, found: impl Into<String>, advice: impl Into<String>) -> Finding {
        self.finding(Verdict::Notice, found, Some(advice.into()))
    }

    fn trouble(self, found: impl Into<String>, advice: impl Into<String>) -> Finding {
        self.finding(Verdict::Trouble, found, Some(advice.into()))
    }

    /// The error for which a checkpoint would be refused. The advice is the end of its message, or
    /// `default_advice` if the message has none.
    fn refusal(self, error: &Error, default_advice: &str) -> Finding {
        let message = error.to_string();
        let separators =
            ["; nothing was changed", "; no checkpoint was taken", "; no checkpoint was lost"];
        let split = separators.iter().find_map(|separator| message.split_once(separator));
        let (found, rest) = split.unwrap_or((message.as_str(), ""));
        let advice = rest.strip_prefix(": ").unwrap_or(default_advice);
        self.trouble(found, advice)
    }
}

/// All findings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Examined {
    /// The most severe verdict of the findings.
    pub verdict: Verdict,
    /// One finding for each check that was possible, the most important first.
    pub findings: Vec<Finding>,
}

/// The environment of the process.
pub struct Surroundings<'a> {
    /// The disk.
    pub disk: &'a dyn Disk,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// The user, permissions and free space.
    pub machine: &'a dyn Machine,
    /// The value of `HOME`, valid or not.
    pub home: Option<PathBuf>,
    /// The value of `HERMES_HOME`, valid or not.
    pub hermes_home: Option<PathBuf>,
    /// The current directory; `None` if it was removed.
    pub current_directory: Option<PathBuf>,
}

impl Surroundings<'_> {
    /// The directories that checkpoints use; `None` if checkpoints refuse to work.
    fn environment(&self) -> Option<Environment> {
        let variable = |name: &str| match name {
            "HOME" => self.home.clone(),
            _ => self.hermes_home.clone(),
        };
        // If it was removed, no path may depend on it.
        let directory = match &self.current_directory {
            None if self.is_relative() => return None,
            None => PathBuf::from("/"),
            Some(directory) => directory.clone(),
        };
        Environment::from_variables(variable, directory)
    }

    /// Whether the path of the base depends on the current directory.
    fn is_relative(&self) -> bool {
        let is_set = |path: &&PathBuf| !path.as_os_str().is_empty();
        self.hermes_home.as_ref().filter(is_set).is_some_and(|path| is_relative(path))
    }
}

/// Makes all checks. Without a home directory the location of the store is unknown, and the checks that
/// depend on it are skipped.
pub fn examine(surroundings: &Surroundings<'_>) -> Examined {
    let disk = surroundings.disk;
    let machine = surroundings.machine;
    let now = surroundings.clock.seconds();
    let mut findings = vec![surroundings::home(surroundings)];
    if let Some(environment) = surroundings.environment() {
        let (configuration, config) = surroundings::configuration(disk, &environment);
        findings.push(configuration);
        findings.extend(
            config.as_ref().map(|config| surroundings::automatic(disk, config, &environment)),
        );
        let config = config.unwrap_or_default();
        let base = canonical(disk, &environment.base);
        findings.push(base::usability(disk, machine, &environment.base));
        findings.push(base::privacy(disk, &base, &canonical(disk, &environment.home)));
        findings.push(base::space(disk, machine, &base, &config));
        findings.push(surroundings::clock(disk, now, Some(&base)));
        findings.push(locks::check(disk, &base, now));
        let current = surroundings.current_directory.as_ref();
        let project = current.map(|current| project::directory(disk, &environment, current));
        findings.push(match &project {
            Some(project) => project::check(disk, &environment, &config, project),
            None => Check::Project.trouble(
                "the current directory no longer exists",
                "change to an existing directory",
            ),
        });
        findings.extend(
            project.as_deref().and_then(|project| project::interrupted(disk, &base, project)),
        );
        findings.push(letter_case::check(disk, &base, project.as_deref()));
        findings.extend(agent::check(disk, &base, &environment.agent_folder()));
        findings.extend(hooks::check(disk, &environment, now));
    } else {
        findings.push(surroundings::clock(disk, now, None));
    }
    let verdict = findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Ok);
    Examined { verdict, findings }
}
