//! The commands `run` with its presets, `replay`, `shrink`, `project` and `rules`, from arguments to
//! exit code.

use crate::arguments::HistoryArguments;
use crate::ending::{
    BROKEN, NO_VERDICT, NoVerdict, TOO_LITTLE, UNSTABLE, USAGE, no_verdict, print_text, scratch,
};
use crate::run_arguments::{
    ConcurrentArguments, CostArguments, DamageArguments, FaultsArguments, RunArguments,
};
use crate::running;
use crate::subjects::{ChosenSubject, quoted};
use herma_harness::cases;
use herma_harness::divergence::Divergence;
use herma_harness::generate::{
    Options, damages, damages_of_any_store, judges_memory, measured, scenarios,
};
use herma_harness::history::{CallPosition, History};
use herma_harness::large;
use herma_harness::report;
use herma_harness::results::enough::{HISTORIES_OF_CORE, too_little, too_little_for};
use herma_harness::results::{github, kept_histories, text};
use herma_harness::runner::{Run, Until};
use herma_harness::sandbox::Scratch;
use herma_harness::shrink::{self as shrinking, FailingHistory};
use herma_harness::suite::{Plan, Verdict};
use herma_harness::transcript::transcript;
use herma_harness::trial::trial;
use herma_harness::workspace;
use herma_model::{Excuse, rules};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// One of so many histories sends requests to several processes at the same time.
const HISTORIES_PER_CONCURRENT_ONE: u32 = 30;

/// `herma-conform rules`.
pub fn rules(json: bool) -> ExitCode {
    print_text(&if json { report::rules_json() } else { report::rules_text() });
    ExitCode::SUCCESS
}

/// `herma-conform run`.
///
/// # Errors
/// There is no verdict.
pub fn run(arguments: &RunArguments) -> Result<ExitCode, NoVerdict> {
    let subject = ChosenSubject::new(&arguments.common.subject)?;
    let subject = if arguments.processes.is_some() { subject.in_a_process()? } else { subject };
    let injects =
        arguments.inject || arguments.every_call.is_some() || arguments.processes.is_some();
    let subject = if injects { subject.supervised()? } else { subject };
    let subject = if arguments.every_damage { subject.damageable() } else { subject };
    let options = options(arguments)?;
    let paths = arguments.common.execution.paths(&subject);
    let plan = Plan {
        seeds: vec![arguments.seed.unwrap_or_else(fresh_seed)],
        histories: arguments.histories.unwrap_or_else(|| histories(&subject, &options)),
        kept: kept_histories(&paths.keep).map_err(|error| (error.to_string(), USAGE))?,
        cases: match options.workspace.is_none() && arguments.processes.is_none() {
            true => running::cases(arguments.cases_of.as_deref())?,
            false => Vec::new(),
        },
        cases_of: arguments.cases_of.clone(),
        preset: preset(arguments),
        options,
        jobs: arguments.common.execution.jobs(),
        shrink_budget: subject.shrink_budget(),
        time_budget: arguments.common.time_budget.map(Duration::from_secs),
        known: BTreeSet::new(),
        share: arguments.common.execution.shard,
    };
    let fixed = fixed_histories(arguments, plan.seeds[0]);
    let is_fixed = fixed.is_some();
    let plan = match fixed {
        None => plan,
        Some(kept) => Plan { histories: 0, kept, cases: Vec::new(), ..plan },
    };
    let replay = replay_command(arguments, &plan, &subject);
    let (results, findings) = running::run(&plan, &subject, &paths, replay)?;
    if arguments.common.json {
        print_text(&text::json(&results));
    } else {
        print_text(&text::report(&results, arguments.common.style()));
        print_text(&format!("results: {}\n", paths.results.display()));
    }
    if std::env::var_os(crate::hermetic::GITHUB).is_some() {
        print_text(&github::annotations(&results));
    }
    if findings.any(Verdict::Broken) {
        return Ok(ExitCode::from(BROKEN));
    }
    if findings.is_unstable() {
        return Err(("a failure was not reproduced: there is no result".into(), UNSTABLE));
    }
    let too_little = match arguments {
        RunArguments { measure: Some(mebibytes), .. } if judges_memory(mebibytes << 20) => {
            too_little_for(&[&rules::COST_MEMORY, &rules::COST_UNCHANGED], &findings)
        }
        RunArguments { measure: Some(_), .. } => {
            too_little_for(&[&rules::COST_UNCHANGED], &findings)
        }
        RunArguments { processes: Some(_), .. } => {
            too_little_for(&[&rules::CONCURRENT_SERIAL, &rules::CONCURRENT_KEEPS], &findings)
        }
        _ if is_fixed || plan.cases_of.is_some() || !plan.share.is_whole() => None,
        _ => too_little(&plan, &findings),
    };
    too_little.map_or(Ok(ExitCode::SUCCESS), |message| Err((message, TOO_LITTLE)))
}

/// The histories that a run executes instead of generated ones.
fn fixed_histories(arguments: &RunArguments, seed: u64) -> Option<Vec<(String, History)>> {
    if let Some(length) = arguments.every_call {
        return Some(scenarios(
            length,
            arguments.calls.map_or(CallPosition::Every, CallPosition::Spread),
        ));
    }
    if let Some(mebibytes) = arguments.measure {
        return Some(measured(mebibytes << 20));
    }
    if !arguments.every_damage {
        return None;
    }
    // The subject's capabilities decide which of the two it is.
    let both = [damages(), damages_of_any_store()];
    let spread = |candidates| evenly_spread(candidates, arguments.damages, seed);
    Some(both.into_iter().flat_map(spread).collect())
}

/// So many of the histories, evenly spread; the seed selects the first.
fn evenly_spread(
    candidates: Vec<(String, History)>,
    count: Option<usize>,
    seed: u64,
) -> Vec<(String, History)> {
    let count = count.unwrap_or(candidates.len()).clamp(1, candidates.len());
    let first = (seed % candidates.len().div_ceil(count) as u64) as usize;
    let numbers = (0..count).map(|number| first + number * candidates.len() / count);
    numbers.filter_map(|number| candidates.get(number).cloned()).collect()
}

/// `herma-conform faults`: a run of every short scenario.
///
/// # Errors
/// There is no verdict.
pub fn faults(arguments: &FaultsArguments) -> Result<ExitCode, NoVerdict> {
    let FaultsArguments { requests, calls, common } = arguments.clone();
    run(&RunArguments { every_call: Some(requests), calls, ..RunArguments::preset(common) })
}

/// `herma-conform damage`: a run of every damage.
///
/// # Errors
/// There is no verdict.
pub fn damage(arguments: &DamageArguments) -> Result<ExitCode, NoVerdict> {
    let DamageArguments { seed, damages, common } = arguments.clone();
    run(&RunArguments { seed, every_damage: true, damages, ..RunArguments::preset(common) })
}

/// `herma-conform concurrent`: a run of several processes at the same time.
///
/// # Errors
/// There is no verdict.
pub fn concurrent(arguments: &ConcurrentArguments) -> Result<ExitCode, NoVerdict> {
    let ConcurrentArguments { seed, histories, processes, common } = arguments.clone();
    let histories = Some(histories);
    let processes = Some(processes);
    run(&RunArguments { seed, histories, processes, ..RunArguments::preset(common) })
}

/// `herma-conform cost`: a run of all measuring histories.
///
/// # Errors
/// There is no verdict.
pub fn cost(arguments: &CostArguments) -> Result<ExitCode, NoVerdict> {
    let CostArguments { large, common } = arguments.clone();
    run(&RunArguments { measure: Some(large), ..RunArguments::preset(common) })
}

/// How many histories are enough for a verdict on every rule.
fn histories(subject: &ChosenSubject, options: &Options) -> u64 {
    match subject {
        _ if options.workspace.is_some() => 6,
        ChosenSubject::Core => HISTORIES_OF_CORE,
        // Each operation of a real package costs several processes.
        ChosenSubject::Adapter { .. } => 60,
    }
}

/// `herma-conform project`.
///
/// # Errors
/// The folder exists, or cannot be written.
pub fn project(folder: &Path) -> Result<ExitCode, NoVerdict> {
    let project = large::make(folder).map_err(|error| {
        (format!("cannot create the project {}: {error}", quoted(folder)), NO_VERDICT)
    })?;
    let files = project.files;
    let bytes = project.bytes;
    print_text(&format!(
        "{files} files with {bytes} bytes\nuse it: herma-conform run --workspace {}\n",
        quoted(folder)
    ));
    Ok(ExitCode::SUCCESS)
}

fn options(arguments: &RunArguments) -> Result<Options, NoVerdict> {
    if arguments.operations == 0 {
        return Err(("--operations must be at least 1; nothing was run".into(), USAGE));
    }
    let workspace = arguments.workspace.as_deref().map(workspace::sample).transpose();
    let workspace = workspace.map_err(|error| {
        let path = arguments.workspace.as_deref().unwrap_or(Path::new("."));
        (format!("{path:?} cannot be read: {error}; nothing was run"), USAGE)
    })?;
    let defaults = Options::default();
    let injections = if arguments.inject { 1 } else { defaults.injections };
    let (together, processes) = match arguments.processes {
        Some(count) => (1, count - 1..=count - 1),
        None => (HISTORIES_PER_CONCURRENT_ONE, defaults.processes.clone()),
    };
    let options =
        Options { operations_max: arguments.operations, workspace, injections, ..defaults };
    Ok(Options { together, processes, ..options })
}

/// A seed that differs from those of recent runs.
pub fn fresh_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Six digits are enough to differ and few enough to type.
    u64::from(since.subsec_nanos()) % 1_000_000
}

/// The options that choose the histories, but for those that the plan names itself.
fn preset(arguments: &RunArguments) -> String {
    let RunArguments { every_call, calls, every_damage, damages, measure, processes, .. } =
        arguments;
    let mut options = if *every_damage { " --every-damage" } else { "" }.to_owned();
    let numbers = [
        ("every-call", every_call.map(|requests| requests as u64)),
        ("calls", *calls),
        ("measure", *measure),
        ("processes", processes.map(u64::from)),
        ("damages", damages.map(|damages| damages as u64)),
    ];
    for (option, number) in numbers {
        options += &number.map_or_else(String::new, |number| format!(" --{option} {number}"));
    }
    if let Some(workspace) = &arguments.workspace {
        options.push_str(&format!(" --workspace {}", quoted(workspace)));
    }
    options
}

fn replay_command(arguments: &RunArguments, plan: &Plan, subject: &ChosenSubject) -> String {
    let RunArguments { every_call, every_damage, measure, processes, .. } = arguments;
    let mut command = "herma-conform run".to_owned();
    let is_fixed = every_call.is_some() || measure.is_some();
    if !is_fixed {
        command += &format!(" --seed {}", plan.seeds[0]);
    }
    if !is_fixed && !every_damage {
        let histories = plan.histories;
        let operations = plan.options.operations_max;
        command += &format!(" --histories {histories}");
        if processes.is_none() {
            command += &format!(" --operations {operations}");
        }
    }
    command.push_str(&plan.preset);
    for (option, path) in [
        ("scratch", &arguments.common.execution.scratch),
        ("keep", &arguments.common.execution.keep),
    ] {
        if let Some(path) = path {
            command.push_str(&format!(" --{option} {}", quoted(path)));
        }
    }
    if let Some(text) = &arguments.cases_of {
        command.push_str(&format!(" --cases-of {}", quoted(text)));
    }
    if arguments.inject {
        command.push_str(" --inject");
    }
    command + &subject.spelling()
}

/// Loads a history from a file.
pub fn load(file: &Path) -> Result<History, NoVerdict> {
    cases::load_history(file).map_err(|error| (error.to_string(), USAGE))
}

/// `herma-conform replay`.
///
/// # Errors
/// There is no verdict.
pub fn replay(arguments: &HistoryArguments) -> Result<ExitCode, NoVerdict> {
    let history = load(&arguments.file)?;
    let subject = ChosenSubject::new(&arguments.subject)?.damageable();
    let injects = history.injections().next().is_some();
    let subject = if injects { subject.supervised()? } else { subject };
    let scratch = scratch(arguments.scratch.clone());
    let ReplayedHistory { operations, excused, divergences } =
        run_history(&history, &subject, &scratch)?;
    let Some(first) = divergences.first() else {
        print_text(&format!("{operations} operations, every rule held\n"));
        for ((rule, excuse), times) in excused {
            print_text(&format!("{times} comparisons of {rule} excused: {}\n", excuse.words()));
        }
        return Ok(ExitCode::SUCCESS);
    };
    let until = shrinking::until(first);
    let history = history.at_call(first.call);
    let recording = transcript(&history, &subject.opener(), &scratch, until).map_err(no_verdict)?;
    for divergence in &divergences {
        print_text(&report::difference(recording.own(divergence)));
    }
    print_text("requests (>) and replies (<):\n");
    recording.lines.iter().for_each(|line| print_text(&format!("    {line}\n")));
    Ok(ExitCode::from(BROKEN))
}

/// The result of a history from a file.
struct ReplayedHistory {
    operations: usize,
    excused: BTreeMap<(&'static str, Excuse), u64>,
    divergences: Vec<Divergence>,
}

fn run_history(
    history: &History,
    subject: &ChosenSubject,
    scratch: &Scratch,
) -> Result<ReplayedHistory, NoVerdict> {
    let open = subject.opener();
    let outcome = trial(history, &open, scratch, Until::Disagreement).map_err(no_verdict)?;
    let Run { operations, excused, divergences, .. } = outcome.run;
    let divergences = divergences.into_iter().chain(outcome.plain).collect();
    Ok(ReplayedHistory { operations, excused, divergences })
}

/// `herma-conform shrink`.
///
/// # Errors
/// There is no verdict, or nothing to shrink.
pub fn shrink(arguments: &HistoryArguments) -> Result<ExitCode, NoVerdict> {
    let history = load(&arguments.file)?;
    let subject = ChosenSubject::new(&arguments.subject)?;
    let scratch = scratch(arguments.scratch.clone());
    let replayed = run_history(&history, &subject, &scratch)?;
    let Some(divergence) = replayed.divergences.first() else {
        return Err(("the history does not fail; there is nothing to shrink".into(), USAGE));
    };
    let open = subject.opener();
    let budget = subject.shrink_budget();
    let failing = FailingHistory { history: &history, divergence };
    let shrunk = shrinking::shrink(failing, &open, &scratch, &budget.into());
    print_text(&report::counterexample(&shrunk.history, &shrunk.divergence));
    Ok(ExitCode::from(BROKEN))
}
