//! Searches for a planted bug as the suite searches for any: runs histories until one fails, and
//! shrinks that one.

use super::PlantedBug;
use crate::divergence::Divergence;
use crate::generate::Options;
use crate::generate::source::{Drawn, Source};
use crate::history::History;
use crate::runner::RunError;
use crate::sandbox::Scratch;
use crate::shrink::{self, Shrunk};
use crate::trial::trial;
use std::time::{Duration, Instant};

/// How many histories may pass before a bug counts as missed.
const HISTORIES_MAX: u64 = 1_000;

/// How a bug was found.
pub struct Score {
    /// The first failure, with its shortest history; `None` if the bug was missed.
    pub found: Option<(Divergence, Shrunk)>,
    /// Histories run until it showed.
    pub histories: u64,
    /// Operations of the history that showed it.
    pub operations: usize,
    /// Time until it was found.
    pub finding: Duration,
    /// Time until that was shrunk.
    pub shrinking: Duration,
}

/// A history that shows a bug.
pub struct Found {
    /// The history.
    pub history: History,
    /// How it fails first.
    pub divergence: Divergence,
    /// How many histories were run.
    pub histories: u64,
    /// How many operations those applied.
    pub operations: usize,
}

/// Runs the histories of a source on a planted bug until one fails, at most so many.
///
/// # Errors
/// A run that could not be made.
pub fn find(
    bug: &PlantedBug,
    source: &mut dyn Source,
    histories_max: u64,
    scratch: &Scratch,
) -> Result<Option<Found>, RunError> {
    let open = bug.opener();
    let mut operations = 0;
    for histories in 1..=histories_max {
        let Some(history) = source.next() else { break };
        let run = trial(&history, &open, scratch)?.run;
        operations += run.operations;
        if let Some(divergence) = run.divergences.into_iter().next() {
            return Ok(Some(Found { history, divergence, histories, operations }));
        }
        source.learn(&history, run.coverage);
    }
    Ok(None)
}

/// Runs the histories of `seed` on a planted bug until one fails, and shrinks that.
///
/// # Errors
/// A run that could not be made.
pub fn hunt(bug: &PlantedBug, seed: u64, scratch: &Scratch) -> Result<Score, RunError> {
    let open = bug.opener();
    let started = Instant::now();
    let mut source = Drawn::new(Options::default(), seed);
    let found = find(bug, &mut source, HISTORIES_MAX, scratch)?;
    let finding = started.elapsed();
    let (histories, operations) = found
        .as_ref()
        .map_or((HISTORIES_MAX, 0), |found| (found.histories, found.history.operations.len()));
    let found = found.map(|Found { history, divergence, .. }| {
        let budget = shrink::BUDGET_DEFAULT;
        let shrunk = shrink::shrink(&history, &divergence, &open, scratch, budget);
        (divergence, shrunk)
    });
    let shrinking = started.elapsed() - finding;
    Ok(Score { found, histories, operations, finding, shrinking })
}

impl Score {
    /// What is wrong with how the bug was found, if anything.
    pub fn wrong(&self, bug: &PlantedBug) -> Option<String> {
        let Some((divergence, shrunk)) = &self.found else {
            return Some(format!("{} was missed", bug.name));
        };
        let (blamed, length) = (divergence.rule.id, shrunk.history.operations.len());
        if *divergence.rule != *bug.rule {
            return Some(format!("{} breaks {}, and {blamed} is blamed", bug.name, bug.rule.id));
        }
        (length > bug.operations_min).then(|| {
            let least = bug.operations_min;
            format!("{} was shrunk to {length} operations, and {least} is its minimum", bug.name)
        })
    }

    /// The headings of the scoreboard.
    pub fn header() -> String {
        format!(
            "{:<32} {:<28} {:<28} {:>9} {:>7} {:>10} {:>10} {:>7}\n",
            "bug", "rule", "blamed", "histories", "seconds", "operations", "executions", "seconds"
        )
    }

    /// One line of the scoreboard.
    pub fn line(&self, bug: &PlantedBug) -> String {
        let (blamed, executions, operations) = match &self.found {
            None => ("MISSED", "-".into(), "-".into()),
            Some((divergence, shrunk)) => (
                divergence.rule.id,
                shrunk.executions.to_string(),
                format!("{} to {}", self.operations, shrunk.history.operations.len()),
            ),
        };
        format!(
            "{:<32} {:<28} {blamed:<28} {:>9} {:>7.2} {operations:>10} {executions:>10} {:>7.2}\n",
            bug.name,
            bug.rule.id,
            self.histories,
            self.finding.as_secs_f64(),
            self.shrinking.as_secs_f64(),
        )
    }
}
