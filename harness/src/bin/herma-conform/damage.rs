//! `damage`: one file of a subject's store is damaged, and everything is asked.

use crate::commands::{cores, fresh_seed};
use crate::ending::{
    BROKEN, NO_CANARY, NO_VERDICT, NoVerdict, SELF_CHECK, TOO_LITTLE, no_verdict, say, scratch,
};
use crate::progress;
use crate::subjects::{Chosen, LaneArguments};
use herma_harness::damage::judge::Rule;
use herma_harness::damage::report::Report;
use herma_harness::damage::{DamageError, Opened, Outcome, canary, run};
use herma_harness::suite::introduce;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

pub const EXAMPLES: &str = "\
Examples:
  herma-conform damage --seed 1 --damages 200  the reference implementation
  herma-conform damage --seed 1 --only 17      one damage again, with all that is wrong
  herma-conform damage hermes-agent@0.19.0     a real package";

/// The arguments of `damage`.
#[derive(clap::Args)]
pub struct DamageArguments {
    /// The seed of the damages; a fresh one each time by default
    #[arg(long)]
    seed: Option<u64>,
    /// How many damages
    #[arg(long, default_value_t = 100)]
    damages: u64,
    /// Only the damage of this number, with all that is wrong
    #[arg(long, value_name = "NUMBER")]
    only: Option<u64>,
    #[command(flatten)]
    lane: LaneArguments,
}

/// `herma-conform damage`.
///
/// # Errors
/// There is no verdict.
pub fn damage(arguments: &DamageArguments) -> Result<ExitCode, NoVerdict> {
    let chosen = Chosen::new(&arguments.lane.subject)?;
    let (scratch, seed) =
        (scratch(arguments.lane.scratch.clone()), arguments.seed.unwrap_or_else(fresh_seed));
    let failed = |error: DamageError| (format!("{error}; no verdict is given"), NO_VERDICT);
    if !canary(&scratch).map_err(failed)?.contains(&Rule::NotStoredAgain) {
        return Err((NO_CANARY.into(), SELF_CHECK));
    }
    // A process of its own, since only that can be ended when it hangs.
    let start = chosen.in_a_process(Duration::from_secs(arguments.lane.deadline))?;
    let open = start.opener();
    let (subject, capabilities) = introduce(&open, &scratch).map_err(no_verdict)?;
    let opened = Opened { open: &open, subject, capabilities };
    if let Some(lacking) = opened.lacks() {
        say(&format!("not run: {} lacks `{lacking}`\n", opened.subject.name));
        return Ok(ExitCode::from(TOO_LITTLE));
    }
    let numbers: Vec<u64> =
        arguments.only.map_or_else(|| (0..arguments.damages).collect(), |only| vec![only]);
    let jobs = arguments.lane.jobs.unwrap_or_else(cores);
    let outcomes = progress::try_map(&numbers, "damages", jobs, |number| {
        match run(&opened, seed, *number, &scratch) {
            Ok(outcome) => Ok((*number, Ok(outcome))),
            Err(DamageError::NoPast(why)) => Ok((*number, Err(why))),
            Err(error) => {
                Err((format!("damage {number}: {error}; no verdict is given"), NO_VERDICT))
            }
        }
    })?;
    let replay =
        format!("herma-conform damage --seed {seed} --deadline {}", arguments.lane.deadline);
    let (damages, not_judged) = parted(outcomes);
    let (subject, spelled) = (opened.subject, chosen.spelled());
    let report = Report { subject, seed, damages, not_judged, replay, spelled };
    Ok(shown(&report, arguments))
}

/// The damages of which something can be said, and why nothing can of the others.
fn parted(outcomes: Vec<(u64, Result<Outcome, String>)>) -> (Vec<Outcome>, BTreeMap<u64, String>) {
    let (mut damages, mut not_judged) = (Vec::new(), BTreeMap::new());
    for (number, outcome) in outcomes {
        match outcome {
            Ok(outcome) => damages.push(outcome),
            Err(why) => drop(not_judged.insert(number, why)),
        }
    }
    (damages, not_judged)
}

fn shown(report: &Report, arguments: &DamageArguments) -> ExitCode {
    say(&if arguments.lane.json { report.json() } else { report.text(arguments.only.is_some()) });
    if !arguments.lane.json {
        let some = match arguments.only {
            Some(number) => format!("--only {number}"),
            None => format!("--damages {}", arguments.damages),
        };
        say(&format!("again: {} {some}{}\n", report.replay, report.spelled));
    }
    match report {
        report if report.is_broken() => ExitCode::from(BROKEN),
        report if report.damages.is_empty() => ExitCode::from(TOO_LITTLE),
        _ => ExitCode::SUCCESS,
    }
}
