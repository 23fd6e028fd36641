//! The command `bugs`: runs the suite on every planted bug, and prints how each was found.

use crate::arguments::BugsArguments;
use crate::ending::{NO_VERDICT, NoVerdict, SELF_CHECK, USAGE, no_verdict, print_text, scratch};
use crate::progress;
use crate::run_arguments::cores;
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
/// A search could not be made, or the page could not be written.
pub fn bugs(arguments: &BugsArguments) -> Result<ExitCode, NoVerdict> {
    let bugs = named_bugs(&arguments.names)?;
    let started = Instant::now();
    let scratch = scratch(None);
    let jobs = arguments.jobs.unwrap_or_else(cores);
    let hunt = |bug: &&PlantedBug| hunt::hunt(bug, arguments.seed, &scratch);
    let scores = progress::try_map(&bugs, "planted bugs", jobs, hunt).map_err(no_verdict)?;
    let results: Vec<_> = bugs.into_iter().zip(scores).collect();
    if let Some(file) = &arguments.page {
        std::fs::write(file, kill_matrix::page(&results, &running::cases(None)?))
            .map_err(|error| (format!("cannot write {file:?}: {error}"), NO_VERDICT))?;
    }
    let mut wrong = Vec::new();
    print_text(&Score::header());
    for (bug, score) in &results {
        print_text(&score.line(bug));
        wrong.extend(score.wrong(bug));
        let is_shown = arguments.show || score.wrong(bug).is_some();
        if let Some((_, shrunk)) = score.found.as_ref().filter(|_| is_shown) {
            print_text(&report::counterexample(&shrunk.history, &shrunk.divergence));
        }
    }
    let median =
        median(results.iter().filter_map(|(_, score)| Some(score.found.as_ref()?.1.executions)));
    let correct = results.len() - wrong.len();
    print_text(&format!(
        "seed {}: {correct} of {} found, blamed on their rule and shrunk to their minimum; a \
         median of {median} executions to shrink; {:.0} s\n",
        arguments.seed,
        results.len(),
        started.elapsed().as_secs_f64()
    ));
    if arguments.names.is_empty() && median > MEDIAN_EXECUTIONS_MAX {
        wrong.push(format!(
            "a median of {median} executions to shrink; at most {MEDIAN_EXECUTIONS_MAX} are allowed"
        ));
    }
    wrong.iter().for_each(|wrong| print_text(&format!("WRONG: {wrong}\n")));
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(SELF_CHECK) })
}

fn named_bugs(names: &[String]) -> Result<Vec<&'static PlantedBug>, NoVerdict> {
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
