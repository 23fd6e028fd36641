//! Whether checkpoints can work here, and if not, why and what to do: one finding for each thing that
//! has to be right.
//!
//! It changes nothing, so that it can be asked anywhere, and waits for no other process for longer
//! than a moment. Whether what is stored is whole is said by [`crate::Manager::verify`].

mod agent;
mod base;
mod letter_case;
mod locks;
mod machine;
mod project;
mod surroundings;
#[cfg(test)]
mod tests;

pub use machine::{Machine, Space, SystemMachine};

use crate::disk::{Disk, canonical};
use crate::environment::{Clock, Environment};
use crate::error::Error;
use serde::Serialize;
use std::path::PathBuf;

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The home directory, and the variables that name it and the store's place.
    Home,
    /// The configuration file.
    Configuration,
    /// Whether checkpoints are taken automatically.
    Automatic,
    /// The checkpoint base and the store in it, or where they would be made.
    Base,
    /// Who else may look into the base.
    Privacy,
    /// What is free on the file system of the base.
    Space,
    /// The clock.
    Clock,
    /// Locks that somebody holds or left behind.
    Locks,
    /// The project of the current directory.
    Project,
    /// Whether names that differ in letter case only are one file.
    LetterCase,
    /// What an agent has beside its files, and rollbacks of it that died.
    Agent,
}

/// How a finding is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is as it should be.
    Ok,
    /// Checkpoints work, but somebody may expect something else.
    Notice,
    /// Checkpoints do not work, or not safely.
    Trouble,
}

/// What one look found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub check: Check,
    /// What it means.
    pub verdict: Verdict,
    /// What was found, for people.
    pub found: String,
    /// What to do, for people, where something can be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl Finding {
    fn ok(check: Check, found: impl Into<String>) -> Self {
        Finding { check, verdict: Verdict::Ok, found: found.into(), advice: None }
    }

    fn notice(check: Check, found: impl Into<String>, advice: impl Into<String>) -> Self {
        let (found, advice) = (found.into(), Some(advice.into()));
        Finding { check, verdict: Verdict::Notice, found, advice }
    }

    fn trouble(check: Check, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Finding { verdict: Verdict::Trouble, ..Finding::notice(check, found, advice) }
    }

    /// The trouble that a checkpoint would be refused for. A refusal says what to do at its end; where
    /// it does not, that is `otherwise`.
    fn refusal(check: Check, error: &Error, otherwise: &str) -> Self {
        let message = error.to_string();
        let parts =
            ["; nothing was changed", "; no checkpoint was taken", "; no checkpoint was lost"];
        let parted = parts.iter().find_map(|part| message.split_once(part));
        let (found, rest) = parted.unwrap_or((message.as_str(), ""));
        let advice = rest.strip_prefix(": ").unwrap_or(otherwise);
        Finding::trouble(check, found, advice)
    }
}

/// All that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Examined {
    /// The worst of the verdicts.
    pub verdict: Verdict,
    /// One finding for each thing that could be looked at, in the order in which they matter.
    pub findings: Vec<Finding>,
}

/// What is looked at, as the process was given it.
pub struct Surroundings<'a> {
    /// The disk.
    pub disk: &'a dyn Disk,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// What else the system knows.
    pub machine: &'a dyn Machine,
    /// `HOME`, whatever it is set to.
    pub home: Option<PathBuf>,
    /// `HERMES_HOME`, whatever it is set to.
    pub hermes_home: Option<PathBuf>,
    /// The current directory; none where it is gone.
    pub current_directory: Option<PathBuf>,
}

impl Surroundings<'_> {
    /// The directories that checkpoints go by; none where they refuse to work at all.
    fn environment(&self) -> Option<Environment> {
        let variable = |name: &str| match name {
            "HOME" => self.home.clone(),
            _ => self.hermes_home.clone(),
        };
        // Where it is gone, nothing may depend on it.
        let directory = match &self.current_directory {
            None if self.is_relative() => return None,
            None => PathBuf::from("/"),
            Some(directory) => directory.clone(),
        };
        Environment::from_variables(variable, directory)
    }

    /// Whether the place of the base depends on the current directory.
    fn is_relative(&self) -> bool {
        let given = |path: &PathBuf| !path.as_os_str().is_empty() && path.is_relative();
        self.hermes_home.as_ref().is_some_and(given)
    }
}

/// Looks at everything. Without a home nobody knows where the store is, and what depends on it is left
/// out.
pub fn examine(given: &Surroundings<'_>) -> Examined {
    let (disk, machine, now) = (given.disk, given.machine, given.clock.seconds());
    let mut findings = vec![surroundings::home(given)];
    if let Some(environment) = given.environment() {
        let (configuration, config) = surroundings::configuration(disk, &environment);
        findings.push(configuration);
        findings
            .extend(config.as_ref().map(|config| surroundings::automatic(config, &environment)));
        let config = config.unwrap_or_default();
        let base = canonical(disk, &environment.base);
        findings.push(base::place(disk, machine, &environment.base));
        findings.push(base::privacy(disk, &base, &canonical(disk, &environment.home)));
        findings.push(base::space(disk, machine, &base, &config));
        findings.push(surroundings::clock(disk, now, Some(&base)));
        findings.push(locks::look(disk, &base, now));
        let here = given.current_directory.as_ref();
        let project = here.map(|here| project::directory(disk, &environment, here));
        findings.push(match &project {
            Some(project) => project::look(disk, &environment, &config, project),
            None => Finding::trouble(
                Check::Project,
                "the current directory is gone",
                "change to one that is there",
            ),
        });
        findings.extend(
            project.as_deref().and_then(|project| project::interrupted(disk, &base, project)),
        );
        findings.push(letter_case::look(disk, &base, project.as_deref()));
        findings.extend(agent::look(disk, &base, &environment.agent_folder()));
    } else {
        findings.push(surroundings::clock(disk, now, None));
    }
    let verdict = findings.iter().map(|one| one.verdict).max().unwrap_or(Verdict::Ok);
    Examined { verdict, findings }
}
