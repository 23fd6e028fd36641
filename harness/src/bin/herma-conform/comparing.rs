//! `compare`: the same histories on two subjects.

use crate::CompareArguments;
use crate::commands::{cores, fresh_seed};
use crate::ending::{BROKEN, NO_VERDICT, NoVerdict, say, scratch};
use crate::progress::Progress;
use crate::subjects::Chosen;
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
    let (one, other) = (Chosen::named(&arguments.one)?, Chosen::named(&arguments.other)?);
    let (open_one, open_other) = (one.opener(), other.opener());
    let scratch = scratch(arguments.scratch.clone());
    let no_verdict = |error| (format!("{error}; nothing is compared"), NO_VERDICT);
    let (_, capabilities) = introduce(&open_one, &scratch).map_err(no_verdict)?;
    let (_, others) = introduce(&open_other, &scratch).map_err(no_verdict)?;
    let comparison = Comparison {
        one: &open_one,
        other: &open_other,
        capabilities: capabilities.in_common(&others),
        scratch: &scratch,
    };
    let seed = arguments.seed.unwrap_or_else(fresh_seed);
    let options = Options { operations_max: arguments.operations, ..Options::default() };
    let options = options.within(&comparison.capabilities);
    let progress = Progress::new(arguments.histories, "histories");
    let jobs = arguments.jobs.unwrap_or_else(cores);
    let tick = || progress.step();
    let found = comparison.run(&options, seed, arguments.histories, jobs, &tick);
    drop(progress);
    let found = found.map_err(no_verdict)?;
    for differing in &found {
        say(&shown(differing, &arguments.one, &arguments.other));
    }
    say(&format!(
        "{} and {}: {} histories of seed {seed}, {} ways to differ\n",
        arguments.one,
        arguments.other,
        arguments.histories,
        found.len()
    ));
    Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(BROKEN) })
}

fn shown(differing: &Differing, one: &str, other: &str) -> String {
    let difference = &differing.difference;
    format!(
        "{}: {}, in {} histories, first in history {}, at operation {}\n  asked: {}\n  {one}: {}\n  \
         {other}: {}\n{}\n",
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
