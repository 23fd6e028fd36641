//! What `bugs` does: runs the suite on every planted bug, and prints how it found each.

use crate::BugsArguments;
use crate::commands::cores;
use crate::ending::{NO_VERDICT, NoVerdict, SELF_CHECK, USAGE, no_verdict, say, scratch};
use crate::progress;
use crate::running;
use herma_harness::cases::kill_matrix;
use herma_harness::planted::hunt::{self, Score};
use herma_harness::planted::{self, PlantedBug};
use herma_harness::report;
use std::process::ExitCode;
use std::time::Instant;

/// The highest acceptable median of the executions of all searches for a shortest history.
const MEDIAN_EXECUTIONS_MAX: usize = 50;

/// `herma-conform bugs`.
///
/// # Errors
/// A search could not be made, or the page not be written.
pub fn bugs(arguments: &BugsArguments) -> Result<ExitCode, NoVerdict> {
    let bugs = chosen(&arguments.names)?;
    let started = Instant::now();
    let (scratch, jobs) = (scratch(None), arguments.jobs.unwrap_or_else(cores));
    let hunt = |bug: &&PlantedBug| hunt::hunt(bug, arguments.seed, &scratch);
    let scores = progress::try_map(&bugs, "planted bugs", jobs, hunt).map_err(no_verdict)?;
    let found: Vec<_> = bugs.into_iter().zip(scores).collect();
    if let Some(file) = &arguments.page {
        std::fs::write(file, kill_matrix::page(&found, &running::cases()?))
            .map_err(|error| (format!("cannot write {file:?}: {error}"), NO_VERDICT))?;
    }
    let mut wrong = Vec::new();
    say(&Score::header());
    for (bug, score) in &found {
        say(&score.line(bug));
        wrong.extend(score.wrong(bug));
        let shown = arguments.show || score.wrong(bug).is_some();
        if let Some((_, shrunk)) = score.found.as_ref().filter(|_| shown) {
            say(&report::counterexample(&shrunk.history, &shrunk.divergence));
        }
    }
    let median =
        median(found.iter().filter_map(|(_, score)| Some(score.found.as_ref()?.1.executions)));
    let right = found.len() - wrong.len();
    say(&format!(
        "seed {}: {right} of {} found, blamed on their rule and shrunk to their minimum; a \
         median of {median} executions to shrink; {:.0} s\n",
        arguments.seed,
        found.len(),
        started.elapsed().as_secs_f64()
    ));
    if arguments.names.is_empty() && median > MEDIAN_EXECUTIONS_MAX {
        wrong.push(format!(
            "a median of {median} executions to shrink, and {MEDIAN_EXECUTIONS_MAX} are the most"
        ));
    }
    wrong.iter().for_each(|wrong| say(&format!("WRONG: {wrong}\n")));
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(SELF_CHECK) })
}

fn chosen(names: &[String]) -> Result<Vec<&'static PlantedBug>, NoVerdict> {
    if names.is_empty() {
        return Ok(planted::catalogue().collect());
    }
    let named = |name: &String| {
        let missing = || (format!("there is no planted bug `{name}`; nothing was run"), USAGE);
        planted::find(name).ok_or_else(missing)
    };
    names.iter().map(named).collect()
}

/// The median; 0 if there are no numbers.
fn median(numbers: impl Iterator<Item = usize>) -> usize {
    let mut numbers: Vec<usize> = numbers.collect();
    numbers.sort_unstable();
    numbers.get(numbers.len() / 2).copied().unwrap_or_default()
}
