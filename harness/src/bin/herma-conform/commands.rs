//! What each command does, from arguments to exit code.

use crate::progress;
use crate::{KEEP_DEFAULT, RunArguments};
use herma_harness::generate::Options;
use herma_harness::history::{self, History};
use herma_harness::planted;
use herma_harness::protocol::process::Limits;
use herma_harness::report;
use herma_harness::runner::run as run_history;
use herma_harness::sandbox::{Sandbox, Scratch};
use herma_harness::shrink as shrinking;
use herma_harness::subject::{AdapterCommand, CoreSubject};
use herma_harness::suite::{Findings, Plan, Verdict, run_suite};
use herma_harness::workspace;
use herma_model::{Settings, rules};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

const BROKEN: u8 = 1;
const USAGE: u8 = 2;
/// The harness, an adapter or the machine failed.
pub const NO_VERDICT: u8 = 4;
const TOO_LITTLE: u8 = 5;

/// Prints to standard output; a reader that went away is no error of ours.
pub fn say(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Says what is wrong and answers the exit code.
pub fn fail(message: &str, code: u8) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::from(code)
}

/// The named place for sandboxes, or the default one.
pub fn scratch(place: Option<PathBuf>) -> Scratch {
    place.map_or_else(Scratch::default_place, Scratch::at)
}

/// `herma-conform rules`.
pub fn rules(json: bool) -> ExitCode {
    say(&if json { report::rules_json() } else { report::rules_text() });
    ExitCode::SUCCESS
}

/// `herma-conform run`.
pub fn run(arguments: &RunArguments) -> ExitCode {
    let seed = arguments.seed.unwrap_or_else(fresh_seed);
    let options = match options(arguments) {
        Ok(options) => options,
        Err(message) => return fail(&message, USAGE),
    };
    let kept = match kept_histories(&arguments.keep) {
        Ok(kept) => kept,
        Err(message) => return fail(&message, USAGE),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let plan = Plan {
        seed,
        histories: arguments.histories.unwrap_or(if options.workspace.is_some() { 6 } else { 600 }),
        options,
        kept,
        jobs: arguments.jobs.unwrap_or(cores),
        shrink_budget: shrinking::BUDGET_DEFAULT,
    };
    let scratch = scratch(arguments.scratch.clone());
    let bar = progress::bar(plan.histories + plan.kept.len() as u64, "histories");
    let progress = |done| bar.set_position(done);
    let findings = match adapter(arguments) {
        None => run_suite(&plan, &CoreSubject::boxed, &scratch, &progress),
        Some(start) => {
            let open = |sandbox: &Sandbox, settings: &Settings, seconds| {
                start.boxed(sandbox, settings, seconds)
            };
            run_suite(&plan, &open, &scratch, &progress)
        }
    };
    bar.finish_and_clear();
    let findings = match findings {
        Ok(findings) => findings,
        Err(error) => return fail(&format!("{error}; no verdict is given"), NO_VERDICT),
    };
    if let Err(error) = keep_failures(&arguments.keep, &findings) {
        return fail(&error, NO_VERDICT);
    }
    let replay = replay_command(arguments, seed, &plan);
    if arguments.json {
        say(&report::findings_json(&findings, seed, &replay));
    } else {
        let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        say(&report::findings_text(&findings, seed, &replay, &arguments.keep, colour));
    }
    if findings.any(Verdict::Broken) {
        ExitCode::from(BROKEN)
    } else if !enough_ran(&findings, plan.options.workspace.is_some()) {
        fail("too little ran: some modelled rules were not put to the test", TOO_LITTLE)
    } else {
        ExitCode::SUCCESS
    }
}

/// A run on generated projects puts every modelled rule to the test; one on a few copies of a real
/// project at least those that it is there for.
fn enough_ran(findings: &Findings, workspace: bool) -> bool {
    if !workspace {
        return !findings.any(Verdict::NotExercised);
    }
    [&rules::CAPTURE_BYTES, &rules::CAPTURE_HONEST, &rules::RESTORE_HONEST, &rules::LAYOUT_FSCK]
        .into_iter()
        .all(|rule| findings.verdict(rule) == Verdict::Held)
}

fn options(arguments: &RunArguments) -> Result<Options, String> {
    if arguments.operations == 0 {
        return Err("--operations must be at least 1; nothing was run".into());
    }
    let workspace = arguments.workspace.as_deref().map(workspace::sample).transpose();
    let workspace = workspace.map_err(|error| {
        format!("{:?} cannot be read: {error}; nothing was run", arguments.workspace)
    })?;
    Ok(Options { operations_max: arguments.operations, workspace })
}

fn adapter(arguments: &RunArguments) -> Option<AdapterCommand> {
    (!arguments.command.is_empty()).then(|| AdapterCommand {
        command: arguments.command.clone(),
        directory: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
        limits: Limits::default(),
    })
}

fn fresh_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Six digits are enough to be fresh and few enough to type.
    u64::from(since.subsec_nanos()) % 1_000_000
}

fn replay_command(arguments: &RunArguments, seed: u64, plan: &Plan) -> String {
    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', "'\\''"));
    let mut command = format!(
        "herma-conform run --seed {seed} --histories {} --operations {}",
        plan.histories, plan.options.operations_max
    );
    for (option, path) in [("workspace", &arguments.workspace), ("scratch", &arguments.scratch)] {
        if let Some(path) = path {
            command.push_str(&format!(" --{option} {}", quoted(path)));
        }
    }
    if arguments.keep != Path::new(KEEP_DEFAULT) {
        command.push_str(&format!(" --keep {}", quoted(&arguments.keep)));
    }
    if !arguments.command.is_empty() {
        command.push_str(" --");
    }
    for word in &arguments.command {
        command.push_str(&format!(" {}", quoted(Path::new(word))));
    }
    command
}

/// The failing histories of earlier runs, by name.
fn kept_histories(folder: &Path) -> Result<Vec<(String, History)>, String> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("cannot read {folder:?}: {error}; nothing was run")),
    };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    let load = |path: PathBuf| {
        let history = history::file::load(&path).map_err(|error| error.to_string())?;
        Ok((path.display().to_string(), history))
    };
    files.into_iter().map(load).collect()
}

fn keep_failures(folder: &Path, findings: &Findings) -> Result<(), String> {
    for (rule, failure) in &findings.failures {
        let path = folder.join(format!("{}.yaml", rule.replace('/', "-")));
        let shrunk = &failure.shrunk;
        let comment = format!("{rule}, found in {}", failure.origin);
        history::file::save(&path, &shrunk.history, &comment).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// `herma-conform replay`.
pub fn replay(file: &Path, place: Option<PathBuf>) -> ExitCode {
    let history = match history::file::load(file) {
        Ok(history) => history,
        Err(error) => return fail(&error.to_string(), USAGE),
    };
    match run_history(&history, &CoreSubject::boxed, &scratch(place)) {
        Err(error) => fail(&format!("{error}; no verdict is given"), NO_VERDICT),
        Ok(outcome) => match outcome.divergence {
            None => {
                say(&format!("{} operations, every rule held\n", outcome.operations));
                ExitCode::SUCCESS
            }
            Some(divergence) => {
                say(&report::counterexample(&history, &divergence));
                ExitCode::from(BROKEN)
            }
        },
    }
}

/// `herma-conform shrink`.
pub fn shrink(file: &Path, place: Option<PathBuf>) -> ExitCode {
    let history = match history::file::load(file) {
        Ok(history) => history,
        Err(error) => return fail(&error.to_string(), USAGE),
    };
    let scratch = scratch(place);
    let outcome = match run_history(&history, &CoreSubject::boxed, &scratch) {
        Ok(outcome) => outcome,
        Err(error) => return fail(&format!("{error}; no verdict is given"), NO_VERDICT),
    };
    let Some(divergence) = outcome.divergence else {
        return fail("the history does not fail; there is nothing to shrink", USAGE);
    };
    let budget = shrinking::BUDGET_DEFAULT;
    let shrunk = shrinking::shrink(&history, &divergence, &CoreSubject::boxed, &scratch, budget);
    say(&report::counterexample(&shrunk.history, &shrunk.divergence));
    ExitCode::from(BROKEN)
}

/// `herma-conform bugs`.
pub fn bugs(seed: u64, show: bool) -> ExitCode {
    let scratch = Scratch::default_place();
    let mut all_found = true;
    say(&planted::Score::header());
    for bug in planted::catalogue() {
        match planted::hunt(bug, seed, &scratch) {
            Ok(score) => {
                let right = score.is_right(bug);
                all_found &= right;
                if let Some((_, shrunk)) = score.found.as_ref().filter(|_| show || !right) {
                    say(&report::counterexample(&shrunk.history, &shrunk.divergence));
                }
                say(&score.line(bug));
            }
            Err(error) => return fail(&format!("{error}; no verdict is given"), NO_VERDICT),
        }
    }
    if all_found { ExitCode::SUCCESS } else { ExitCode::from(BROKEN) }
}
