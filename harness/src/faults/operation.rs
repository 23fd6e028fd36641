//! The operations that faults come in.

use crate::damage::ground::{Ground, wrecked};
use crate::damage::past::Past;
use crate::damage::plan::file;
use crate::faults::fault::named;
use herma_model::{Request, Tree};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// A checkpoint after an edit.
    Take,
    /// A restore of the oldest checkpoint.
    Restore,
    /// A prune in which nothing is due.
    Prune,
}

impl Operation {
    /// All of them.
    pub const ALL: [Operation; 3] = [Operation::Take, Operation::Restore, Operation::Prune];

    /// As it is spelled on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Take => "take",
            Operation::Restore => "restore",
            Operation::Prune => "prune",
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Operation::Take => "a checkpoint after an edit",
            Operation::Restore => "a restore of the oldest checkpoint",
            Operation::Prune => "a prune",
        }
    }

    /// What a subject must be able to for it; nothing where every subject is.
    pub fn needs(self) -> Option<&'static str> {
        match self {
            Operation::Take | Operation::Restore => None,
            Operation::Prune => Some("prune"),
        }
    }

    /// What the project holds when it is asked for.
    pub fn before(self, past: &Past, project: usize) -> Tree {
        match self {
            Operation::Take => {
                let mut edited = past.now(project).clone();
                edited.insert("a.txt".into(), file("edited before the fault\n"));
                edited.insert("src/new.txt".into(), file("new before the fault\n"));
                edited
            }
            Operation::Restore => wrecked(&past.projects[project].checkpoints[0].tree),
            Operation::Prune => past.now(project).clone(),
        }
    }

    /// The request for it.
    pub fn request(self, ground: &Ground<'_>, past: &Past, project: usize) -> Request {
        let dir = past.projects[project].dir.clone();
        match self {
            Operation::Take => ground.take(past, project),
            Operation::Restore => {
                let target = past.projects[project].checkpoints[0].id.as_str().into();
                Request::Restore { dir, target, exact: false, force: false }
            }
            Operation::Prune => {
                Request::Prune { retention_days: 0, max_total_bytes: 0, delete_orphans: true }
            }
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Operation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        named("operation", text, &Operation::ALL, Operation::name)
    }
}
