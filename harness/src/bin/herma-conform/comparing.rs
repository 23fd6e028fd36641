//! `compare`: the same histories on two subjects.

use crate::arguments::CompareArguments;
use crate::commands::fresh_seed;
use crate::ending::{BROKEN, NO_VERDICT, NoVerdict, print_text, scratch};
use crate::progress::Progress;
use crate::run_arguments::cores;
use crate::subjects::ChosenSubject;
use herma_harness::compare::{Comparison, Differing};
use herma_harness::generate::Options;
use herma_harness::history::file::to_yaml;
use herma_harness::suite::introduce;
use std::process::ExitCode;

/// `herma-conform compare`.
///
/// # Errors
/// Nothing is compared.
pub fn compare(arguments: &CompareArguments) -> Result<ExitCode, NoVerdict> {
    let left = ChosenSubject::named(&arguments.one)?;
    let right = ChosenSubject::named(&arguments.other)?;
    let open_left = left.opener();
    let open_right = right.opener();
    let scratch = scratch(arguments.scratch.clone());
    let no_verdict = |error| (format!("{error}; nothing is compared"), NO_VERDICT);
    let (_, capabilities) = introduce(&open_left, &scratch).map_err(no_verdict)?;
    let (_, right_capabilities) = introduce(&open_right, &scratch).map_err(no_verdict)?;
    let comparison = Comparison {
        one: &open_left,
        other: &open_right,
        capabilities: capabilities.in_common(&right_capabilities),
        scratch: &scratch,
    };
    let seed = arguments.seed.unwrap_or_else(fresh_seed);
    let options = Options { operations_max: arguments.operations, ..Options::default() };
    let options = options.within(&comparison.capabilities);
    let progress = Progress::new(arguments.histories, "histories");
    let jobs = arguments.jobs.unwrap_or_else(cores);
    let tick = || progress.step();
    let differences = comparison.run(&options, seed, arguments.histories, jobs, &tick);
    drop(progress);
    let differences = differences.map_err(no_verdict)?;
    for differing in &differences {
        print_text(&described(differing, &arguments.one, &arguments.other));
    }
    print_text(&format!(
        "{} and {}: {} histories of seed {seed}, {} differences\n",
        arguments.one,
        arguments.other,
        arguments.histories,
        differences.len()
    ));
    Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(BROKEN) })
}

fn described(differing: &Differing, left: &str, right: &str) -> String {
    let difference = &differing.difference;
    format!(
        "{}: {}, in {} histories, first in history {}, at operation {}\n  request: {}\n  {left}: {}\n  \
         {right}: {}\n{}\n",
        difference.rule.id,
        difference.symptom,
        differing.histories,
        differing.number,
        difference.step + 1,
        difference.request,
        difference.one,
        difference.other,
        to_yaml(&differing.history)
    )
}
