//! Planted bugs: deliberately broken subjects, each a wrapper around the core that breaks one
//! named rule. The suite must find every one, name the rule and reach the shortest history.

mod keepers;
mod list_in_wrong_order;
mod no_dedup_in_a_turn;
mod restore_leaves_one_file;

use crate::generate::{self, Options};
use crate::oracle::Divergence;
use crate::runner::RunError;
use crate::sandbox::{Sandbox, Scratch};
use crate::shrink::{self, Shrunk};
use crate::subject::Subject;
use crate::trial::trial;
use herma_model::Settings;
use herma_model::rules::RuleRef;
use std::time::{Duration, Instant};

/// One planted bug.
pub struct PlantedBug {
    /// What it is called.
    pub name: &'static str,
    /// The rule it breaks.
    pub rule: RuleRef,
    /// The fewest operations that show it.
    pub operations_min: usize,
    /// Opens the broken subject.
    pub open: fn(&Sandbox, &Settings, i64) -> Box<dyn Subject>,
}

/// Every planted bug.
pub fn catalogue() -> &'static [PlantedBug] {
    const ALL: [PlantedBug; 8] = {
        let [one, two, three, four, five] = keepers::BUGS;
        let (first, second) = (no_dedup_in_a_turn::BUG, restore_leaves_one_file::BUG);
        [first, second, list_in_wrong_order::BUG, one, two, three, four, five]
    };
    &ALL
}

/// How many histories may pass before a bug counts as missed.
const HISTORIES_MAX: u64 = 1_000;

/// How a bug was found.
pub struct Score {
    /// The first failure, with its shortest history; none where the bug was missed.
    pub found: Option<(Divergence, Shrunk)>,
    /// Histories run until it showed.
    pub histories: u64,
    /// Time until it was found and shrunk.
    pub elapsed: Duration,
}

/// Runs the histories of `seed` on a planted bug until one fails, and shrinks that.
///
/// # Errors
/// A run that could not be made.
pub fn hunt(bug: &PlantedBug, seed: u64, scratch: &Scratch) -> Result<Score, RunError> {
    let started = Instant::now();
    for number in 0..HISTORIES_MAX {
        let history = generate::draw(&Options::default(), seed, number);
        let outcome = trial(&history, &bug.open, scratch)?;
        if let Some(divergence) = outcome.run.divergences.into_iter().next() {
            let budget = shrink::BUDGET_DEFAULT;
            let shrunk = shrink::shrink(&history, &divergence, &bug.open, scratch, budget);
            let found = Some((divergence, shrunk));
            return Ok(Score { found, histories: number + 1, elapsed: started.elapsed() });
        }
    }
    Ok(Score { found: None, histories: HISTORIES_MAX, elapsed: started.elapsed() })
}

impl Score {
    /// Whether the bug was found, blamed on its rule and shrunk to its minimum.
    pub fn is_right(&self, bug: &PlantedBug) -> bool {
        self.found.as_ref().is_some_and(|(divergence, shrunk)| {
            *divergence.rule == *bug.rule && shrunk.history.operations.len() == bug.operations_min
        })
    }

    /// The headings of the scoreboard.
    pub fn header() -> String {
        format!(
            "{:<24} {:<18} {:<18} {:>9} {:>10} {:>10} {:>9}\n",
            "bug", "rule", "blamed", "histories", "executions", "operations", "seconds"
        )
    }

    /// One line of the scoreboard.
    pub fn line(&self, bug: &PlantedBug) -> String {
        let (blamed, executions, operations) = match &self.found {
            None => ("MISSED", "-".into(), "-".into()),
            Some((divergence, shrunk)) => (
                divergence.rule.id,
                shrunk.executions.to_string(),
                format!("{} of {}", shrunk.history.operations.len(), bug.operations_min),
            ),
        };
        format!(
            "{:<24} {:<18} {blamed:<18} {:>9} {executions:>10} {operations:>10} {:>9.2}\n",
            bug.name,
            bug.rule.id,
            self.histories,
            self.elapsed.as_secs_f64()
        )
    }
}
