//! Searches for a planted bug as the suite searches for any bug: runs histories until one fails, and
//! shrinks that history.

use super::PlantedBug;
use crate::divergence::Divergence;
use crate::generate::{Options, generate_history};
use crate::history::History;
use crate::runner::{RunError, Until};
use crate::sandbox::Scratch;
use crate::shrink::{self, FailingHistory, Shrunk};
use crate::trial::trial;
use std::time::{Duration, Instant};

/// After so many histories without a failure a bug counts as missed.
pub const HISTORIES_MAX: u64 = 1_000;

/// How a bug was found.
pub struct Score {
    /// The first failure, with its shortest history; `None` if the bug was missed.
    pub found: Option<(Divergence, Shrunk)>,
    /// Histories that ran until the bug showed.
    pub histories: u64,
    /// Operations of the history that showed the bug.
    pub operations: usize,
    /// Time until the bug was found.
    pub finding: Duration,
    /// Time to shrink the history.
    pub shrinking: Duration,
}

/// Options of histories about what the bug breaks: agent state, damage, databases, injections, cost, undo, or
/// anything else.
pub fn options(bug: &PlantedBug) -> Options {
    let agent = bug.rule.id.starts_with("agent/");
    let damage_rules =
        ["maintenance/damage", "maintenance/heals", "capture/stored", "restore/honest"];
    let damage = damage_rules.contains(&bug.rule.id);
    let databases = bug.rule.id.starts_with("unit/");
    let injection_rules =
        ["concurrent/", "crash/", "fault/", "lock/", "capture/steady", "capture/contained"];
    let injection_rules = injection_rules.iter().chain(&["restore/keeps-saves"]);
    let injections = injection_rules.into_iter().any(|prefix| bug.rule.id.starts_with(prefix));
    let injections = if injections { 2 } else { 0 };
    let measured = u32::from(bug.rule.subject() == "cost");
    let undo = bug.rule.needs.contains(&"restore.undo");
    Options { agent, damage, databases, injections, measured, undo, ..Options::default() }
}

/// Runs the histories of `seed` on a planted bug until one fails, and shrinks that history.
///
/// # Errors
/// A run that could not be made.
pub fn hunt(bug: &PlantedBug, seed: u64, scratch: &Scratch) -> Result<Score, RunError> {
    let open = bug.opener();
    let started = Instant::now();
    let options = options(bug);
    for number in 0..HISTORIES_MAX {
        let history = generate_history(&options, seed, number);
        let outcome = trial(&history, &open, scratch, Until::Disagreement)?;
        let Some(divergence) = outcome.run.divergences.into_iter().next() else { continue };
        let finding = started.elapsed();
        let budget = shrink::BUDGET_DEFAULT;
        let shrink = |history: &History, divergence: &Divergence| {
            let failing = FailingHistory { history, divergence };
            shrink::shrink(failing, &open, scratch, &budget.into())
        };
        let mut shrunk = shrink(&history, &divergence);
        // Without the operation that revealed the bug, it may still show by another symptom.
        let mut shorter = shrunk.history.clone();
        shorter.operations.pop();
        let mut remaining =
            trial(&shorter, &open, scratch, Until::Disagreement)?.run.divergences.into_iter();
        if let Some(failure) = remaining.find(|failure| *failure.rule == *divergence.rule) {
            let executions = shrunk.executions + 1;
            shrunk = shrink(&shorter, &failure);
            shrunk.executions += executions;
        }
        return Ok(Score {
            found: Some((divergence, shrunk)),
            histories: number + 1,
            operations: history.operations.len(),
            finding,
            shrinking: started.elapsed() - finding,
        });
    }
    Ok(Score {
        found: None,
        histories: HISTORIES_MAX,
        operations: 0,
        finding: started.elapsed(),
        shrinking: Duration::ZERO,
    })
}

impl Score {
    /// What is wrong with how the bug was found, if anything.
    pub fn wrong(&self, bug: &PlantedBug) -> Option<String> {
        let Some((divergence, shrunk)) = &self.found else {
            return Some(format!("{} was missed", bug.name));
        };
        let blamed = divergence.rule.id;
        let length = shrunk.history.operations.len();
        if *divergence.rule != *bug.rule {
            return Some(format!("{} breaks {}, and {blamed} is blamed", bug.name, bug.rule.id));
        }
        (length > bug.operations_min).then(|| {
            let minimum = bug.operations_min;
            format!("{} was shrunk to {length} operations, and {minimum} is its minimum", bug.name)
        })
    }

    /// The headings of the scoreboard.
    pub fn header() -> String {
        format!(
            "{:<32} {:<28} {:<28} {:>9} {:>7} {:>10} {:>10} {:>7}\n",
            "bug", "rule", "blamed", "histories", "seconds", "operations", "executions", "seconds"
        )
    }

    /// The blamed rule, the executions that shrinking took, and the remaining operations.
    pub fn figures(&self) -> [String; 3] {
        match &self.found {
            None => ["missed", "-", "-"].map(str::to_owned),
            Some((divergence, shrunk)) => [
                divergence.rule.id.to_owned(),
                shrunk.executions.to_string(),
                shrunk.history.operations.len().to_string(),
            ],
        }
    }

    /// One line of the scoreboard.
    pub fn line(&self, bug: &PlantedBug) -> String {
        let [blamed, executions, shortest] = self.figures();
        let operations = format!("{} to {shortest}", self.operations);
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
