//! `concurrent`: several processes of a subject use one store at the same time.

use crate::commands::{cores, fresh_seed};
use crate::ending::{
    BROKEN, NO_CANARY, NO_VERDICT, NoVerdict, SELF_CHECK, TOO_LITTLE, USAGE, no_verdict, say,
    scratch,
};
use crate::progress;
use crate::subjects::{Chosen, LaneArguments};
use herma_harness::concurrent::judge::{Judgement, judge};
use herma_harness::concurrent::record::Record;
use herma_harness::concurrent::report::{Failure, Figures, Report};
use herma_harness::concurrent::{Lane, ROUNDS, canary};
use herma_harness::concurrent::{LaneError, Opened};
use herma_harness::suite::introduce;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

pub const EXAMPLES: &str = "\
Examples:
  herma-conform concurrent --rounds 400 --processes 8   the reference implementation
  herma-conform concurrent --seed 1 --only 17           the rounds of one store again
  herma-conform concurrent --judge FILE                 what was recorded, judged again
  herma-conform concurrent hermes-agent@0.19.0          a real package";

/// The arguments of `concurrent`.
#[derive(clap::Args)]
pub struct ConcurrentArguments {
    /// The seed of what is asked; a fresh one each time by default
    #[arg(long)]
    seed: Option<u64>,
    /// How many rounds, of which a store serves eight
    #[arg(long, default_value_t = 80)]
    rounds: usize,
    /// How many processes are asked at the same time
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(2..=64))]
    processes: u8,
    /// Never let `git gc` work on the store beside the processes
    #[arg(long)]
    no_git_gc: bool,
    /// Only the store of this number
    #[arg(long, value_name = "NUMBER")]
    only: Option<u64>,
    /// How often rounds are run again that nothing explains
    #[arg(long, value_name = "TIMES", default_value_t = 5)]
    again: usize,
    /// Where is written down what happened in rounds that nothing explains
    #[arg(long, value_name = "FOLDER", default_value = "herma-concurrent")]
    records: PathBuf,
    /// Judge what was written down before, and ask nobody
    #[arg(long, value_name = "FILE")]
    judge: Option<PathBuf>,
    #[command(flatten)]
    lane: LaneArguments,
}

/// `herma-conform concurrent`.
///
/// # Errors
/// There is no verdict.
pub fn concurrent(arguments: &ConcurrentArguments) -> Result<ExitCode, NoVerdict> {
    if let Some(file) = &arguments.judge {
        return judged_again(file);
    }
    let chosen = Chosen::new(&arguments.lane.subject)?;
    let (scratch, seed) =
        (scratch(arguments.lane.scratch.clone()), arguments.seed.unwrap_or_else(fresh_seed));
    let unknown = |error| (format!("where is this program: {error}"), NO_VERDICT);
    let program: OsString = std::env::current_exe().map_err(unknown)?.into();
    if !canary(&program, &scratch).map_err(failed)? {
        return Err((NO_CANARY.into(), SELF_CHECK));
    }
    let start = chosen.in_a_process(Duration::from_secs(arguments.lane.deadline))?;
    let open = start.opener();
    let (subject, capabilities) = introduce(&open, &scratch).map_err(no_verdict)?;
    let opened = Opened { open: &open, subject, capabilities };
    let processes = usize::from(arguments.processes);
    let git_gc = !arguments.no_git_gc;
    let lane = Lane { opened: &opened, start: &start, seed, processes, git_gc };
    let jobs = arguments.lane.jobs.unwrap_or_else(cores);
    let outcomes = progress::try_map(&stores(arguments), "stores", jobs, |(store, rounds)| {
        let outcome = lane.run(*store, *rounds, &scratch);
        outcome
            .map_err(|error| (format!("store {store}: {error}; no verdict is given"), NO_VERDICT))
    })?;
    let replay = format!(
        "herma-conform concurrent --seed {seed} --processes {processes}{} --deadline {}",
        if git_gc { "" } else { " --no-git-gc" },
        arguments.lane.deadline
    );
    let mut figures = Figures::default();
    outcomes.iter().for_each(|outcome| figures.add(outcome));
    let mut failures = Failure::of_each_sort(outcomes.iter());
    for failure in &mut failures {
        let (rounds, again) = (failure.round, arguments.again);
        let shown = lane.again((failure.store, rounds), &failure.sort, again, &scratch);
        failure.again = Some((shown.map_err(failed)?, again));
        let outcome = outcomes.iter().find(|one| one.store == failure.store);
        failure.record =
            outcome.map(|one| write_down(&one.record, &arguments.records)).transpose()?;
    }
    let (subject, spelled) = (opened.subject.clone(), chosen.spelled());
    let report = Report { subject, seed, processes, figures, failures, replay, spelled };
    say(&if arguments.lane.json { report.json() } else { report.text() });
    if !arguments.lane.json {
        say(&format!("again: {} --rounds {}{}\n", report.replay, arguments.rounds, report.spelled));
    }
    Ok(match &report {
        report if report.is_broken() => ExitCode::from(BROKEN),
        report if !report.figures.is_any_judged() => ExitCode::from(TOO_LITTLE),
        _ => ExitCode::SUCCESS,
    })
}

/// The stores, each with the rounds that it serves.
fn stores(arguments: &ConcurrentArguments) -> Vec<(u64, usize)> {
    if let Some(store) = arguments.only {
        return vec![(store, ROUNDS)];
    }
    let all = arguments.rounds.div_ceil(ROUNDS);
    (0..all).map(|one| (one as u64, ROUNDS.min(arguments.rounds - one * ROUNDS))).collect()
}

/// Writes down what happened on a store, so that it can be judged again; returns where.
fn write_down(record: &Record, folder: &Path) -> Result<PathBuf, NoVerdict> {
    let file = folder.join(format!("seed-{}-store-{}.json", record.seed, record.store));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&file, record.text()))
        .map_err(|error| (format!("{}: {error}", file.display()), NO_VERDICT))?;
    Ok(file)
}

fn judged_again(file: &Path) -> Result<ExitCode, NoVerdict> {
    let record =
        Record::read(file).map_err(|error| (format!("{}: {error}", file.display()), USAGE))?;
    let judgement = judge(&record);
    for broken in &judgement.broken {
        say(&Failure::new(broken, record.store).text());
    }
    let (calls, steps) = (record.calls(), judgement.steps);
    Ok(match judgement {
        Judgement { broken, .. } if !broken.is_empty() => ExitCode::from(BROKEN),
        Judgement { unknown: Some(round), .. } => {
            say(&format!("could not look: the budget was spent on round {}\n", round + 1));
            ExitCode::from(TOO_LITTLE)
        }
        _ => {
            say(&format!("{calls} calls are explained, in {steps} steps\n"));
            ExitCode::SUCCESS
        }
    })
}

fn failed(error: LaneError) -> NoVerdict {
    (format!("{error}; no verdict is given"), NO_VERDICT)
}
