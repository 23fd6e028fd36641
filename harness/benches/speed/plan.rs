//! What is measured: the operations, in which order, on which projects.

use std::fmt;

/// A project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// So many source files of 2 to 5 kB.
    Source(usize),
    /// So many files of 7 MB.
    Large(usize),
}

impl Shape {
    /// How many files it has.
    pub fn files(self) -> usize {
        match self {
            Shape::Source(files) | Shape::Large(files) => files,
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Source(files) => write!(formatter, "{files} files"),
            Shape::Large(files) => write!(formatter, "{files} files of 7 MB"),
        }
    }
}

/// An operation that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The first checkpoint.
    First,
    /// A checkpoint after nothing changed.
    Unchanged,
    /// A checkpoint after one file changed.
    One,
    /// A checkpoint after 100 files changed.
    Hundred,
    /// A checkpoint after every second file changed.
    Half,
    /// The list of all checkpoints.
    List,
    /// What changed since the newest checkpoint.
    Diff,
    /// One file as it was before.
    RestoreOne,
    /// Every second file as it was before.
    RestoreHalf,
    /// Freeing space.
    Prune,
}

impl Step {
    /// Its name in tables.
    pub fn title(self) -> &'static str {
        match self {
            Step::First => "first checkpoint",
            Step::Unchanged => "nothing changed",
            Step::One => "one file changed",
            Step::Hundred => "100 files changed",
            Step::Half => "every second file changed",
            Step::List => "list",
            Step::Diff => "diff",
            Step::RestoreOne => "restore of one file",
            Step::RestoreHalf => "restore of every second file",
            Step::Prune => "prune",
        }
    }
}

/// How many of so many files change.
type Changes = fn(usize) -> usize;

/// The operations of a round in order: how often each, and how many files change before it.
pub const PLAN: &[(Step, usize, Changes)] = &[
    (Step::First, 1, |_| 0),
    (Step::Unchanged, 3, |_| 0),
    (Step::One, 10, |_| 1),
    (Step::Hundred, 3, |files| files.min(100)),
    (Step::Half, 2, |files| files / 2),
    (Step::List, 3, |_| 0),
    (Step::Diff, 3, |_| 1),
    (Step::RestoreOne, 3, |_| 1),
    (Step::RestoreHalf, 1, |_| 0),
    (Step::Prune, 1, |_| 0),
];

/// A step of a round on a project of so many files, and how many of them change before it.
pub fn steps(files: usize) -> impl Iterator<Item = (Step, usize)> {
    let repeated = move |(step, repeats, changes): &(Step, usize, Changes)| {
        std::iter::repeat_n((*step, changes(files)), *repeats)
    };
    PLAN.iter().flat_map(repeated)
}
