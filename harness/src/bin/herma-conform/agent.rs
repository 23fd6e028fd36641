//! `herma-conform agent`: judges a real coding agent through its front door.

use crate::commands::fresh_seed;
use crate::ending::{
    BROKEN, NO_VERDICT, NoVerdict, TOO_LITTLE, UNSTABLE, USAGE, exit_code_of, fail, print_text,
};
use crate::hermetic;
use crate::interruption::{Interruption, wait_for};
use crate::progress::Progress;
use crate::subjects::quoted;
use clap::Args;
use herma_harness::front_door::{
    AgentProcess, Bench, DOOR_RULES, DoorCode, DoorCommand, DoorError, DoorPlan, DoorResults,
    DoorVerdict, Story, Told, merged, page, rules_text, run, write_adapters,
};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// For the help of the command.
pub const EXAMPLES: &str = "\
The agent is installed at a pinned version if it is missing, and runs with a home of its own.

Examples:
  herma-conform agent opencode --seed 7 --turns 300 --isolated
  herma-conform agent opencode --story herma-failures/opencode/undo-gives-back.yaml
  herma-conform agent stand-in -- --herma target/debug/herma
  herma-conform agent --page docs/agents.md herma-failures/*/results-*.json";

/// More stories than this share in percent may not end without a verdict.
const UNJUDGED_PERCENT_MAX: usize = 10;
/// Set in the process that has no network but the loopback interface.
const ISOLATED: &str = "HERMA_ISOLATED";
/// Nothing is installed if this is set.
const OFFLINE: &str = "HERMA_OFFLINE";

#[derive(Debug, Args)]
pub struct AgentArguments {
    /// The agent, such as hermes-agent or opencode; with --page the results of runs
    #[arg(required_unless_present = "rules", value_name = "NAME")]
    names: Vec<PathBuf>,
    /// How many stories: of those with up to three turns, then generated ones
    #[arg(long, default_value_t = 60)]
    stories: usize,
    /// The seed that selects the stories; random by default
    #[arg(long)]
    seed: Option<u64>,
    /// Tell this story only, a YAML file
    #[arg(long, value_name = "FILE")]
    story: Option<PathBuf>,
    /// Begin no story after this many turns
    #[arg(long)]
    turns: Option<usize>,
    /// Begin no story after two thirds of this time, and no repeat of a failure after all of it
    #[arg(long, value_name = "SECONDS")]
    time_budget: Option<u64>,
    /// How many stories at the same time
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// The folder that agents are installed in; by default in the user's cache
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// The folder with the adapters; by default those that the command contains
    #[arg(long, value_name = "DIR")]
    adapters: Option<PathBuf>,
    /// Which of the agent's doors, such as classic for hermes-agent
    #[arg(long, value_name = "NAME")]
    door: Option<String>,
    /// Run where there is no network but the loopback interface, once the agent is installed
    #[arg(long)]
    isolated: bool,
    /// Print the results as one JSON document
    #[arg(long)]
    json: bool,
    /// The folder for the results and the failing stories; by default one in herma-failures
    #[arg(long, value_name = "FOLDER")]
    save: Option<PathBuf>,
    /// Write the page of these results to this file, and judge nothing; runs of the same agent add up
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Print the rules, and judge nothing
    #[arg(long, conflicts_with = "names")]
    rules: bool,
    /// Arguments of the adapter
    #[arg(last = true)]
    adapter: Vec<OsString>,
}

/// A home for the adapters and all that they make.
struct Workshop {
    start: DoorCommand,
    folder: TempDir,
}

impl AgentArguments {
    fn name(&self) -> Result<String, NoVerdict> {
        match &self.names[..] {
            [name] => Ok(name.display().to_string()),
            _ => Err(("one agent at a time".to_owned(), USAGE)),
        }
    }

    fn workshop(&self) -> Result<Workshop, NoVerdict> {
        let failed = |error: std::io::Error| (error.to_string(), NO_VERDICT);
        let absolute = |path: &Path| std::path::absolute(path).map_err(failed);
        let name = self.name()?;
        let folder = tempfile::Builder::new().prefix("herma-agent-").tempdir().map_err(failed)?;
        let adapters = match &self.adapters {
            Some(adapters) => absolute(adapters)?,
            None => {
                let adapters = folder.path().join("adapters");
                fs::create_dir(&adapters)
                    .and_then(|()| write_adapters(&adapters))
                    .map_err(failed)?;
                adapters
            }
        };
        let adapter = adapters.join(format!("{}.py", name.replace('-', "_")));
        if !adapter.is_file() {
            return Err((format!("there is no adapter for `{name}`"), USAGE));
        }
        let scratch = folder.path().join("run");
        fs::create_dir(&scratch).map_err(failed)?;
        let cache = match &self.cache {
            Some(cache) => absolute(cache)?,
            None => absolute(&hermetic::cache())?.join("agents"),
        };
        let mut command: Vec<OsString> = vec!["python3".into(), "-B".into(), adapter.into()];
        command.extend(self.adapter.iter().cloned());
        Ok(Workshop {
            start: DoorCommand { command, door: self.door.clone(), cache, scratch },
            folder,
        })
    }
}

fn not_run(error: DoorError) -> NoVerdict {
    match error.code {
        DoorCode::Infrastructure => (format!("not run: {error}"), NO_VERDICT),
        _ => (format!("the agent cannot be started: {error}; no verdict is given"), NO_VERDICT),
    }
}

/// What is done in the user's environment: printing, and installing, which reads the settings of registries. The rest
/// follows unless this returns an exit code.
pub fn prepare(arguments: &AgentArguments) -> Option<ExitCode> {
    if arguments.rules {
        print_text(&rules_text());
        return Some(ExitCode::SUCCESS);
    }
    if let Some(file) = &arguments.page {
        return Some(exit_code_of(write_page(file, &arguments.names)));
    }
    if hermetic::is_inside() {
        return None;
    }
    if std::env::var_os(OFFLINE).is_none()
        && let Err((message, code)) = install(arguments)
    {
        return Some(fail(&message, code));
    }
    let is_outside = arguments.isolated && std::env::var_os(ISOLATED).is_none();
    is_outside.then(|| exit_code_of(isolate()))
}

fn install(arguments: &AgentArguments) -> Result<(), NoVerdict> {
    let workshop = arguments.workshop()?;
    let folder = workshop.folder.path().to_owned();
    let _interruption = Interruption::received_by(move || {
        // The adapter ends at the end of its input.
        let _ = fs::remove_dir_all(&folder);
        std::process::exit(NO_VERDICT.into());
    })
    .map_err(|error| (error.to_string(), NO_VERDICT))?;
    AgentProcess::install(&workshop.start).map(drop).map_err(not_run)
}

/// Runs this command again where there is no network but the loopback interface.
fn isolate() -> Result<ExitCode, NoVerdict> {
    let failed =
        |error: std::io::Error| (format!("cannot isolate the network: {error}"), NO_VERDICT);
    let namespace = if rustix::process::geteuid().is_root() { "--net" } else { "-rn" };
    let mut command = Command::new("unshare");
    command
        .args([namespace, "--", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"])
        .arg(std::env::current_exe().map_err(failed)?)
        .args(std::env::args_os().skip(1))
        .env(ISOLATED, "1")
        .env(OFFLINE, "1");
    let status = wait_for(&mut command).map_err(failed)?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(NO_VERDICT)))
}

fn write_page(file: &Path, results: &[PathBuf]) -> Result<ExitCode, NoVerdict> {
    let read = |path: &PathBuf| -> Result<DoorResults, NoVerdict> {
        let failed = |error: &dyn std::fmt::Display| (format!("{path:?}: {error}"), USAGE);
        let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
        serde_json::from_str(&text).map_err(|error| failed(&error))
    };
    let runs = results.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    fs::write(file, page(&merged(runs))).map_err(|error| (format!("{file:?}: {error}"), USAGE))?;
    Ok(ExitCode::SUCCESS)
}

/// Judges the agent.
///
/// # Errors
/// There is no verdict.
pub fn judge(arguments: &AgentArguments) -> Result<ExitCode, NoVerdict> {
    let workshop = arguments.workshop()?;
    let story = arguments
        .story
        .as_ref()
        .map(|path| Story::read(path).map_err(|error| (format!("{path:?}: {error}"), USAGE)));
    let chosen = story.transpose()?.map(|story| vec![story]);
    let plan = DoorPlan {
        seed: arguments.seed.unwrap_or_else(fresh_seed),
        stories: arguments.stories,
        turns: arguments.turns,
        time_budget: arguments.time_budget.map(Duration::from_secs),
        jobs: arguments.jobs,
    };
    let door = arguments.door.as_ref().map(|door| format!(" --door {door}")).unwrap_or_default();
    let replay = format!("herma-conform agent {}{door}", arguments.name()?);
    eprintln!("seed {}: {replay} --seed {} --stories {}", plan.seed, plan.seed, plan.stories);
    let count = chosen.as_ref().map_or(plan.stories, Vec::len);
    let progress = Progress::new(count as u64, "stories");
    let step = |_: &Story, told: &Told| {
        told.breaches.iter().for_each(|breach| eprintln!("{}: {}", breach.rule, breach.text));
        progress.step();
    };
    let bench = Arc::new(Bench::new(workshop.start.clone()));
    let stopped = Arc::clone(&bench);
    let _interruption = Interruption::received_by(move || stopped.stop())
        .map_err(|error| (error.to_string(), NO_VERDICT))?;
    let results = run(&bench, &plan, chosen, &step);
    drop(progress);
    let mut results = results.map_err(not_run)?;
    results.date = jiff::Zoned::now().date().to_string();
    let saved = save(arguments, &results)?;
    if arguments.json {
        let json = serde_json::to_string_pretty(&results)
            .map_err(|error| (error.to_string(), NO_VERDICT))?;
        print_text(&(json + "\n"));
    } else {
        print_text(&results.text());
        saved.iter().for_each(|file| print_text(&format!("\n{replay} --story {}\n", quoted(file))));
    }
    if bench.is_stopped() {
        return Err((
            "the run was stopped; the results are of a part of it".to_owned(),
            NO_VERDICT,
        ));
    }
    Ok(ExitCode::from(code(&results)))
}

/// Writes the results and the failing stories, and returns the files of the stories.
fn save(arguments: &AgentArguments, results: &DoorResults) -> Result<Vec<PathBuf>, NoVerdict> {
    let folder = match &arguments.save {
        Some(folder) => folder.clone(),
        None => {
            let door = arguments.door.as_ref().map(|door| format!("-{door}")).unwrap_or_default();
            Path::new("herma-failures").join(arguments.name()? + &door)
        }
    };
    let failed = |error: std::io::Error| (format!("{folder:?}: {error}"), NO_VERDICT);
    fs::create_dir_all(&folder).map_err(failed)?;
    let json =
        serde_json::to_string_pretty(results).map_err(|error| (error.to_string(), NO_VERDICT))?;
    let seeds: String = results.seeds.iter().map(|seed| format!("-{seed}")).collect();
    fs::write(folder.join(format!("results{seeds}.json")), json + "\n").map_err(failed)?;
    let write = |rule: &str, story: &Story| {
        let name = rule.rsplit('/').next().unwrap_or(rule);
        let file = folder.join(format!("{name}.yaml"));
        fs::write(&file, story.to_yaml()).map(|()| file)
    };
    let findings = results.findings.iter();
    findings
        .map(|finding| write(&finding.rule, &finding.story))
        .collect::<Result<_, _>>()
        .map_err(failed)
}

fn code(results: &DoorResults) -> u8 {
    let has = |verdict| DOOR_RULES.iter().any(|rule| results.verdict(rule.id) == verdict);
    match () {
        () if has(DoorVerdict::Broken) => BROKEN,
        () if has(DoorVerdict::Doubtful) => UNSTABLE,
        () if results.unjudged_stories() * 100 > results.stories * UNJUDGED_PERCENT_MAX => {
            TOO_LITTLE
        }
        () if results.stories == 0 => TOO_LITTLE,
        () => 0,
    }
}
