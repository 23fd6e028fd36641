//! The arguments of `run` and its presets, and what follows from them.

use crate::ending::colour;
use crate::running::RunPaths;
use crate::subjects::{ChosenSubject, SubjectArguments};
use herma_harness::generate::Options;
use herma_harness::results::text;
use herma_harness::share::Share;
use std::path::{Path, PathBuf};

/// Where failing histories and results are kept unless another folder is named.
const KEEP_DEFAULT: &str = "herma-failures";

/// The arguments of `run`.
#[derive(clap::Args)]
pub struct RunArguments {
    /// The seed of the histories; random by default
    #[arg(long)]
    pub seed: Option<u64>,
    /// How many histories are generated; 600 by default, 60 with an adapter, 6 with a workspace. The written
    /// cases run in addition, except with a workspace or with PROCESSES
    #[arg(long)]
    pub histories: Option<u64>,
    /// The maximum number of operations per history
    #[arg(long, default_value_t = 60)]
    pub operations: usize,
    /// A real directory; every history runs on a copy of it
    #[arg(long)]
    pub workspace: Option<PathBuf>,
    /// Generate no histories: run all scenarios of up to REQUESTS requests, with every injection at every
    /// call of the last request
    #[arg(long, value_name = "REQUESTS", conflicts_with_all = ["histories", "operations", "workspace"])]
    pub every_call: Option<usize>,
    /// Inject at CALLS calls, evenly spread, instead of at each
    #[arg(long, requires = "every_call")]
    pub calls: Option<u64>,
    /// Generate no histories: damage every file of a few small stores in every way
    #[arg(long, conflicts_with_all = ["histories", "operations", "workspace", "every_call"])]
    pub every_damage: bool,
    /// Apply only DAMAGES of the damages, evenly spread
    #[arg(long, requires = "every_damage")]
    pub damages: Option<usize>,
    /// Generate no histories: measure memory and reads with files of up to MIB MiB; below 80 only reads
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(4..=160), conflicts_with_all = ["histories", "operations", "workspace", "every_call", "every_damage"])]
    pub measure: Option<u64>,
    /// Generate only histories with PROCESSES processes at the same time: some order of their requests must
    /// explain all replies
    #[arg(long, conflicts_with_all = ["operations", "workspace", "every_call", "every_damage", "measure"], value_parser = clap::value_parser!(u8).range(2..=64))]
    pub processes: Option<u8>,
    /// Of the written cases, run only those whose name or rules contain TEXT, such as `restore/`
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["workspace", "every_call", "every_damage", "measure", "processes"])]
    pub cases_of: Option<String>,
    /// Inject into every history: kills, failed calls, power losses, edits by a user or another process; with
    /// an adapter this needs Linux
    #[arg(long)]
    pub inject: bool,
    #[command(flatten)]
    pub common: CommonArguments,
}

/// What `run` and its presets have in common.
#[derive(Clone, clap::Args)]
pub struct CommonArguments {
    /// End within this time: if a history failed, none begins after 60 % of it, no shrinking after 80 %, and
    /// no failure is run again after all of it
    #[arg(long, value_name = "SECONDS")]
    pub time_budget: Option<u64>,
    /// Print the verdict on every rule, not a line for each area of the rule book
    #[arg(long, conflicts_with = "json")]
    pub rules: bool,
    /// Print the results as one JSON document
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub execution: ExecutionArguments,
    #[command(flatten)]
    pub subject: SubjectArguments,
}

/// The arguments of `faults`.
#[derive(Clone, clap::Args)]
pub struct FaultsArguments {
    /// The maximum number of requests per scenario
    #[arg(long, default_value_t = 2)]
    pub requests: usize,
    /// Inject at CALLS calls, evenly spread, instead of at each
    #[arg(long)]
    pub calls: Option<u64>,
    #[command(flatten)]
    pub common: CommonArguments,
}

/// The arguments of `damage`.
#[derive(Clone, clap::Args)]
pub struct DamageArguments {
    /// The seed that selects the damages of --damages; random by default
    #[arg(long)]
    pub seed: Option<u64>,
    /// Apply only DAMAGES of the damages, evenly spread
    #[arg(long)]
    pub damages: Option<usize>,
    #[command(flatten)]
    pub common: CommonArguments,
}

/// The arguments of `concurrent`.
#[derive(Clone, clap::Args)]
pub struct ConcurrentArguments {
    /// The seed of the requests; random by default
    #[arg(long)]
    pub seed: Option<u64>,
    /// How many histories, each of up to four rounds
    #[arg(long, default_value_t = 100)]
    pub histories: u64,
    /// How many processes use the store at the same time
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(2..=64))]
    pub processes: u8,
    #[command(flatten)]
    pub common: CommonArguments,
}

/// The arguments of `cost`.
#[derive(Clone, clap::Args)]
pub struct CostArguments {
    /// The size of the largest file, in MiB; below 80, only reads are judged
    #[arg(long, value_name = "MIB", default_value_t = 128, value_parser = clap::value_parser!(u64).range(4..=160))]
    pub large: u64,
    #[command(flatten)]
    pub common: CommonArguments,
}

/// How many histories run at a time, and where what they leave is.
#[derive(Clone, clap::Args)]
pub struct ExecutionArguments {
    /// How many histories run at the same time; one for each core by default
    #[arg(long)]
    pub jobs: Option<usize>,
    /// Run only this part of the histories, such as 1/4; `merge` combines the results of all parts
    #[arg(long, default_value_t)]
    pub shard: Share,
    /// The folder for failing histories, which the next run repeats first; by default herma-failures, or
    /// a folder in it for each subject other than the core
    #[arg(long)]
    pub keep: Option<PathBuf>,
    /// Where the results are written; next to the failing histories by default
    #[arg(long)]
    pub results: Option<PathBuf>,
    /// Where sandboxes are made; in memory by default
    #[arg(long)]
    pub scratch: Option<PathBuf>,
}

impl ExecutionArguments {
    /// The paths of a run on a subject.
    pub fn paths(&self, subject: &ChosenSubject) -> RunPaths {
        let keep = match (&self.keep, subject) {
            (Some(folder), _) => folder.clone(),
            (None, ChosenSubject::Core) => PathBuf::from(KEEP_DEFAULT),
            (None, ChosenSubject::Adapter { spelling, .. }) => {
                let name = if spelling.starts_with("--") { "adapter" } else { spelling };
                Path::new(KEEP_DEFAULT).join(name)
            }
        };
        let results = self.results.clone().unwrap_or_else(|| keep.join("results.jsonl"));
        RunPaths { scratch: self.scratch.clone(), keep, results }
    }

    /// How many histories run at the same time.
    pub fn jobs(&self) -> usize {
        self.jobs.unwrap_or_else(cores)
    }
}

impl CommonArguments {
    /// How the results are printed.
    pub fn style(&self) -> text::Style {
        text::Style { colour: colour(), rules: self.rules }
    }
}

impl RunArguments {
    /// A run with default options.
    pub fn preset(common: CommonArguments) -> Self {
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
            cases_of: None,
            inject: false,
            common,
        }
    }
}

/// The number of cores, each of which runs one history at a time.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
