//! The operations that faults come in.

use crate::damage::ground::{Ground, wrecked};
use crate::damage::past::Past;
use crate::damage::plan::file;
use crate::faults::fault::named;
use herma_model::{Request, Tree};
use std::fmt;
use std::str::FromStr;

/// The file that is brought back where only one is.
pub(super) const ONE: &str = "a.txt";

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// A checkpoint after an edit.
    Take,
    /// A restore of the oldest checkpoint.
    Restore,
    /// A restore of one file of it.
    RestoreFile,
    /// A prune in which nothing is due.
    Prune,
    /// What a process does for the store when it starts.
    Sweep,
    /// A list.
    List,
    /// A preview of the oldest checkpoint.
    Diff,
}

/// What there is to say of an operation: its name, its words, and what a subject must be able to for
/// it beside what every subject is.
struct Row(Operation, &'static str, &'static str, Option<&'static str>);

const ROWS: [Row; 7] = [
    Row(Operation::Take, "take", "a checkpoint after an edit", None),
    Row(Operation::Restore, "restore", "a restore of the oldest checkpoint", None),
    Row(Operation::RestoreFile, "restore-file", "a restore of one file", Some("restore.file")),
    Row(Operation::Prune, "prune", "a prune", Some("prune")),
    Row(Operation::Sweep, "sweep", "a sweep", Some("sweep")),
    Row(Operation::List, "list", "a list", None),
    Row(Operation::Diff, "diff", "a preview of the oldest checkpoint", Some("diff")),
];

impl Operation {
    /// All of them.
    pub const ALL: [Operation; ROWS.len()] = {
        let mut all = [Operation::Take; ROWS.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = ROWS[at].0;
            at += 1;
        }
        all
    };

    fn row(self) -> &'static Row {
        let row = ROWS.iter().find(|row| row.0 == self);
        row.expect("every operation has a row: the test looks")
    }

    /// As it is spelled on a command line.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// In words.
    pub fn words(self) -> &'static str {
        self.row().2
    }

    /// What a subject must be able to for it; nothing where every subject is.
    pub fn needs(self) -> Option<&'static str> {
        self.row().3
    }

    /// Whether it changes files of the project.
    pub(super) fn restores(self) -> bool {
        matches!(self, Operation::Restore | Operation::RestoreFile)
    }

    /// What the project holds when it is asked for.
    pub fn before(self, past: &Past, project: usize) -> Tree {
        match self {
            Operation::Take => {
                let mut edited = past.now(project).clone();
                let number = past.projects[project].checkpoints.len();
                let text = format!("edited before the fault, after {number} checkpoints\n");
                edited.insert(ONE.into(), file(text));
                edited.insert("src/new.txt".into(), file("new before the fault\n"));
                edited
            }
            _ if self.restores() => wrecked(&past.projects[project].checkpoints[0].tree),
            _ => past.now(project).clone(),
        }
    }

    /// The request for it.
    pub fn request(self, ground: &Ground<'_>, past: &Past, project: usize) -> Request {
        let one = &past.projects[project];
        let dir = one.dir.clone();
        let oldest = || one.checkpoints[0].id.as_str().into();
        match self {
            Operation::Take => ground.take(past, project),
            Operation::Restore => {
                let exact = !ground.capabilities().has("restore.leaves_new");
                Request::Restore { dir, target: oldest(), exact, force: false }
            }
            Operation::RestoreFile => {
                Request::RestoreFile { dir, target: oldest(), path: ONE.into() }
            }
            Operation::Prune => {
                Request::Prune { retention_days: 0, max_total_bytes: 0, delete_orphans: true }
            }
            Operation::Sweep => Request::Sweep,
            Operation::List => Request::List { dir },
            Operation::Diff => Request::Diff { dir, target: oldest() },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_called_by_its_name() {
        for operation in Operation::ALL {
            assert_eq!(operation.name().parse(), Ok(operation));
        }
    }
}
