//! What `run`, `replay`, `shrink` and `rules` do, from arguments to exit code.

use crate::ending::{
    BROKEN, NO_VERDICT, NoVerdict, TOO_LITTLE, UNSTABLE, USAGE, colour, no_verdict, say, scratch,
};
use crate::running::{self, Place, kept_histories};
use crate::subjects::{Chosen, quoted};
use crate::{
    CommonArguments, ConcurrentArguments, CostArguments, DamageArguments, FaultsArguments,
    HistoryArguments, PlaceArguments, RunArguments,
};
use herma_harness::cases;
use herma_harness::divergence::Divergence;
use herma_harness::generate::{Options, damages, measured, stories};
use herma_harness::history::{At, History};
use herma_harness::large;
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::protocol::known::MEASUREMENT;
use herma_harness::report;
use herma_harness::results::{github, text};
use herma_harness::sandbox::Scratch;
use herma_harness::shrink as shrinking;
use herma_harness::suite::{Findings, Plan, Verdict};
use herma_harness::transcript::transcript;
use herma_harness::trial::trial;
use herma_harness::workspace;
use herma_model::rules::{self, RuleRef};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// This many histories put every rule to the test in any run.
const HISTORIES_OF_CORE: u64 = 600;

/// This many behaviours are covered by that many histories, whatever the seed; only ever raised.
const BEHAVIOURS_FLOOR: usize = 580;

/// One history of so many asks several processes at the same time.
const TOGETHER: u32 = 30;

/// Where failing histories and results are kept unless another folder is named.
const KEEP_DEFAULT: &str = "herma-failures";

impl PlaceArguments {
    /// Where a run on a subject is made and what it leaves.
    pub fn of(&self, chosen: &Chosen) -> Place {
        let keep = match (&self.keep, chosen) {
            (Some(folder), _) => folder.clone(),
            (None, Chosen::Core) => PathBuf::from(KEEP_DEFAULT),
            (None, Chosen::Adapter { spelled, .. }) => {
                let name = if spelled.starts_with("--") { "adapter" } else { spelled };
                Path::new(KEEP_DEFAULT).join(name)
            }
        };
        let results = self.results.clone().unwrap_or_else(|| keep.join("results.jsonl"));
        Place { scratch: self.scratch.clone(), keep, results }
    }

    /// How many histories run at the same time.
    pub fn jobs(&self) -> usize {
        self.jobs.unwrap_or_else(cores)
    }
}

/// `herma-conform rules`.
pub fn rules(json: bool) -> ExitCode {
    say(&if json { report::rules_json() } else { report::rules_text() });
    ExitCode::SUCCESS
}

/// The examples of `damage`.
pub const DAMAGE_EXAMPLES: &str = "\
Examples:
  herma-conform damage                                 every damage of the reference implementation
  herma-conform damage --damages 60                    some of them, which the seed chooses
  herma-conform damage --time-budget 900 hermes-agent@0.19.0";

/// `herma-conform run`.
///
/// # Errors
/// There is no verdict.
pub fn run(arguments: &RunArguments) -> Result<ExitCode, NoVerdict> {
    let chosen = Chosen::new(&arguments.common.subject)?;
    let chosen = if arguments.processes.is_some() { chosen.in_a_process()? } else { chosen };
    let injects =
        arguments.inject || arguments.every_call.is_some() || arguments.processes.is_some();
    let chosen = if injects { chosen.supervised()? } else { chosen };
    let chosen = if arguments.every_damage { chosen.damageable() } else { chosen };
    let options = options(arguments)?;
    let place = arguments.common.place.of(&chosen);
    let plan = Plan {
        seeds: vec![arguments.seed.unwrap_or_else(fresh_seed)],
        histories: arguments.histories.unwrap_or_else(|| histories(&chosen, &options)),
        kept: kept_histories(&place.keep)?,
        cases: match options.workspace.is_none() && arguments.processes.is_none() {
            true => running::cases()?,
            false => Vec::new(),
        },
        options,
        jobs: arguments.common.place.jobs(),
        shrink_budget: chosen.shrink_budget(),
        time_budget: arguments.common.time_budget.map(Duration::from_secs),
        known: BTreeSet::new(),
        share: arguments.common.place.shard,
    };
    let fixed = fixed(arguments, plan.seeds[0]);
    let is_fixed = fixed.is_some();
    let plan = match fixed {
        None => plan,
        Some(kept) => Plan { histories: 0, kept, cases: Vec::new(), ..plan },
    };
    let replay = replay_command(arguments, &plan, &chosen);
    let (results, findings) = running::run(&plan, &chosen, &place, replay)?;
    if arguments.common.json {
        say(&text::json(&results));
    } else {
        say(&text::report(&results, colour()));
        say(&format!("results: {}\n", place.results.display()));
    }
    if std::env::var_os(crate::hermetic::GITHUB).is_some() {
        say(&github::annotations(&results));
    }
    if findings.any(Verdict::Broken) {
        return Ok(ExitCode::from(BROKEN));
    }
    if findings.is_unstable() {
        return Err(("a failure did not show again: there is no result".into(), UNSTABLE));
    }
    let wanted: &[RuleRef] = match arguments {
        RunArguments { measure: Some(_), .. } => &[&rules::COST_MEMORY, &rules::COST_UNCHANGED],
        RunArguments { processes: Some(_), .. } => {
            &[&rules::CONCURRENT_SERIAL, &rules::CONCURRENT_KEEPS]
        }
        _ => &[],
    };
    if let [first, ..] = wanted {
        let is_held = |rule: &RuleRef| findings.verdict(rule) == Verdict::Held;
        let message = format!("too little ran: {} and its like were not judged", first.id);
        return match wanted.iter().all(is_held) {
            true => Ok(ExitCode::SUCCESS),
            false => Err((message, TOO_LITTLE)),
        };
    }
    if !plan.share.is_whole() || is_fixed {
        return Ok(ExitCode::SUCCESS);
    }
    let met = findings.coverage.0.len();
    if is_a_full_run(&plan, &findings) && met < BEHAVIOURS_FLOOR {
        let message = format!(
            "too little ran: {met} behaviours were covered, and a full run has {BEHAVIOURS_FLOOR}"
        );
        return Err((message, TOO_LITTLE));
    }
    if !enough_ran(&findings, plan.options.workspace.is_some()) {
        let message = "too little ran: some modelled rules were not put to the test";
        return Err((message.into(), TOO_LITTLE));
    }
    Ok(ExitCode::SUCCESS)
}

/// The histories that a run makes instead of generating any.
fn fixed(arguments: &RunArguments, seed: u64) -> Option<Vec<(String, History)>> {
    if let Some(length) = arguments.every_call {
        return Some(stories(length, arguments.calls.map_or(At::Every, At::Spread)));
    }
    if let Some(mebibytes) = arguments.measure {
        return Some(measured(mebibytes << 20));
    }
    if !arguments.every_damage {
        return None;
    }
    let all = damages();
    let count = arguments.damages.unwrap_or(all.len()).clamp(1, all.len());
    let first = (seed % all.len().div_ceil(count) as u64) as usize;
    let numbers = (0..count).map(|number| first + number * all.len() / count);
    Some(numbers.filter_map(|number| all.get(number).cloned()).collect())
}

impl RunArguments {
    /// A run in which nothing is chosen yet.
    fn preset(common: CommonArguments) -> Self {
        RunArguments {
            seed: None,
            histories: None,
            operations: Options::default().operations_max,
            workspace: None,
            every_call: None,
            calls: None,
            every_damage: false,
            damages: None,
            measure: None,
            processes: None,
            inject: false,
            common,
        }
    }
}

/// `herma-conform faults`: a run of every short story.
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
    let (histories, processes) = (Some(histories), Some(processes));
    run(&RunArguments { seed, histories, processes, ..RunArguments::preset(common) })
}

/// `herma-conform cost`: a run of every history that measures.
///
/// # Errors
/// There is no verdict.
pub fn cost(arguments: &CostArguments) -> Result<ExitCode, NoVerdict> {
    let CostArguments { large, common } = arguments.clone();
    run(&RunArguments { measure: Some(large), ..RunArguments::preset(common) })
}

/// Whether the run is large enough for the floor of behaviours to apply.
fn is_a_full_run(plan: &Plan, findings: &Findings) -> bool {
    let usual = Options::default();
    plan.options.workspace.is_none()
        && plan.histories >= HISTORIES_OF_CORE
        && plan.options.operations_max >= usual.operations_max
        && plan.options.injections == usual.injections
        && findings.capabilities.without(MEASUREMENT) == Capabilities::of_the_core()
}

/// How many histories are enough for a verdict on every rule.
fn histories(chosen: &Chosen, options: &Options) -> u64 {
    match chosen {
        _ if options.workspace.is_some() => 6,
        Chosen::Core => HISTORIES_OF_CORE,
        // Each operation of a real package costs several processes.
        Chosen::Adapter { .. } => 60,
    }
}

/// One history at a time on each core.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// `herma-conform project`.
///
/// # Errors
/// The folder is there, or cannot be written.
pub fn project(folder: &Path) -> Result<ExitCode, NoVerdict> {
    let made = large::make(folder).map_err(|error| {
        (format!("no project was made in {}: {error}", quoted(folder)), NO_VERDICT)
    })?;
    let (files, bytes) = (made.files, made.bytes);
    say(&format!(
        "{files} files with {bytes} bytes\nuse it: herma-conform run --workspace {}\n",
        quoted(folder)
    ));
    Ok(ExitCode::SUCCESS)
}

/// A run on generated projects must put every modelled rule to the test; one on a few copies of a
/// real project only the rules that it is there for.
fn enough_ran(findings: &Findings, workspace: bool) -> bool {
    if !workspace {
        return !findings.any(Verdict::NotExercised);
    }
    [&rules::CAPTURE_BYTES, &rules::CAPTURE_HONEST, &rules::RESTORE_HONEST, &rules::LAYOUT_FSCK]
        .into_iter()
        .all(|rule| findings.verdict(rule) == Verdict::Held)
}

fn options(arguments: &RunArguments) -> Result<Options, NoVerdict> {
    if arguments.operations == 0 {
        return Err(("--operations must be at least 1; nothing was run".into(), USAGE));
    }
    let workspace = arguments.workspace.as_deref().map(workspace::sample).transpose();
    let workspace = workspace.map_err(|error| {
        let place = &arguments.workspace;
        (format!("{place:?} cannot be read: {error}; nothing was run"), USAGE)
    })?;
    let usual = Options::default();
    let injections = if arguments.inject { 1 } else { usual.injections };
    let (together, processes) = match arguments.processes {
        Some(all) => (1, all - 1..=all - 1),
        None => (TOGETHER, usual.processes.clone()),
    };
    let options = Options { operations_max: arguments.operations, workspace, injections, ..usual };
    Ok(Options { together, processes, ..options })
}

/// A seed that was not used a moment ago.
pub fn fresh_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Six digits are enough to be fresh and few enough to type.
    u64::from(since.subsec_nanos()) % 1_000_000
}

fn replay_command(arguments: &RunArguments, plan: &Plan, chosen: &Chosen) -> String {
    let RunArguments { every_call, calls, every_damage, damages, measure, processes, .. } =
        arguments;
    let mut command = "herma-conform run".to_owned();
    let is_fixed = every_call.is_some() || measure.is_some();
    if !is_fixed {
        command += &format!(" --seed {}", plan.seeds[0]);
    }
    if !is_fixed && !every_damage {
        let (histories, operations) = (plan.histories, plan.options.operations_max);
        command += &format!(" --histories {histories}");
        if processes.is_none() {
            command += &format!(" --operations {operations}");
        }
    }
    if *every_damage {
        command.push_str(" --every-damage");
    }
    let numbers = [
        ("every-call", every_call.map(|requests| requests as u64)),
        ("calls", *calls),
        ("measure", *measure),
        ("processes", processes.map(u64::from)),
        ("damages", damages.map(|damages| damages as u64)),
    ];
    for (option, number) in numbers {
        command += &number.map_or_else(String::new, |number| format!(" --{option} {number}"));
    }
    for (option, path) in [
        ("workspace", &arguments.workspace),
        ("scratch", &arguments.common.place.scratch),
        ("keep", &arguments.common.place.keep),
    ] {
        if let Some(path) = path {
            command.push_str(&format!(" --{option} {}", quoted(path)));
        }
    }
    if arguments.inject {
        command.push_str(" --inject");
    }
    command + &chosen.spelled()
}

/// A history from a file.
pub fn load(file: &Path) -> Result<History, NoVerdict> {
    cases::load_history(file).map_err(|error| (error.to_string(), USAGE))
}

/// `herma-conform replay`.
///
/// # Errors
/// There is no verdict.
pub fn replay(arguments: &HistoryArguments) -> Result<ExitCode, NoVerdict> {
    let history = load(&arguments.file)?;
    let chosen = Chosen::new(&arguments.subject)?.damageable();
    let injects = history.injections().next().is_some();
    let chosen = if injects { chosen.supervised()? } else { chosen };
    let scratch = scratch(arguments.scratch.clone());
    let (operations, divergences) = tried(&history, &chosen, &scratch)?;
    let Some(first) = divergences.first() else {
        say(&format!("{operations} operations, every rule held\n"));
        return Ok(ExitCode::SUCCESS);
    };
    let until = shrinking::until(first);
    let history = history.at_call(first.call);
    let asked = transcript(until, &history, &chosen.opener(), &scratch).map_err(no_verdict)?;
    for divergence in &divergences {
        say(&report::difference(asked.own(divergence)));
    }
    say("as asked (>) and answered (<):\n");
    asked.lines.iter().for_each(|line| say(&format!("    {line}\n")));
    Ok(ExitCode::from(BROKEN))
}

fn tried(
    history: &History,
    chosen: &Chosen,
    scratch: &Scratch,
) -> Result<(usize, Vec<Divergence>), NoVerdict> {
    let open = chosen.opener();
    let outcome = trial(history, &open, scratch).map_err(no_verdict)?;
    let divergences = outcome.run.divergences.into_iter().chain(outcome.plain).collect();
    Ok((outcome.run.operations, divergences))
}

/// `herma-conform shrink`.
///
/// # Errors
/// There is no verdict, or nothing to shrink.
pub fn shrink(arguments: &HistoryArguments) -> Result<ExitCode, NoVerdict> {
    let history = load(&arguments.file)?;
    let chosen = Chosen::new(&arguments.subject)?;
    let scratch = scratch(arguments.scratch.clone());
    let (_, divergences) = tried(&history, &chosen, &scratch)?;
    let Some(divergence) = divergences.first() else {
        return Err(("the history does not fail; there is nothing to shrink".into(), USAGE));
    };
    let open = chosen.opener();
    let budget = chosen.shrink_budget();
    let shrunk = shrinking::shrink(&history, divergence, &open, &scratch, &budget.into());
    say(&report::counterexample(&shrunk.history, &shrunk.divergence));
    Ok(ExitCode::from(BROKEN))
}
