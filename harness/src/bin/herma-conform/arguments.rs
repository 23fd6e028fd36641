//! The command line: every command with its arguments and its help.
//!
//! The arguments of `run` and its presets are in [`crate::run_arguments`]; a command that has a file of its own
//! may define its arguments there.

use crate::agent::{self, AgentArguments};
use crate::levels::{self, LevelArguments};
use crate::model::{self, ModelArguments};
use crate::power::PowerArguments;
use crate::run_arguments::{
    ConcurrentArguments, CostArguments, DamageArguments, ExecutionArguments, FaultsArguments,
    RunArguments,
};
use crate::skeleton::{Language, StoreKind};
use crate::subjects::SubjectArguments;
use crate::supervised::SupervisedArguments;
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

const ABOUT: &str = "Judge stores of agent checkpoints: run histories and report which rules hold";

const EXIT_CODES: &str = "\
Exit codes:
  0  every modelled rule held and enough ran; a gate holds
  1  a rule is broken; a gate found an unexpected failure
  2  the command line or a file is wrong
  3  a failure was not reproduced (unstable), or the expectations of a gate need work
  4  the harness, an adapter or this machine failed; no verdict
  5  too little ran: a modelled rule was not tested
  6  the suite missed a bug that it must find";

const EXAMPLES: &str = "\
Examples:
  herma-conform                                judge the reference implementation
  herma-conform run --seed 7 --histories 2000  a longer run that can be repeated
  herma-conform run --workspace ~/src/project  histories on copies of a real project
  herma-conform replay herma-failures/turn-once-created-not-deduped.yaml
  herma-conform adapters install hermes-agent@0.19.0
  herma-conform run hermes-agent@0.19.0        judge a real package
  herma-conform run -- python3 adapter.py      judge the implementation behind an adapter
  herma-conform gate --expect expected.toml -- python3 adapter.py
  herma-conform compare hermes-agent@0.13.0 hermes-agent@0.19.0
  herma-conform adapter new --for git > adapter.py
  herma-conform rules                          print the rule book";

const DAMAGE_EXAMPLES: &str = "\
Examples:
  herma-conform damage                                 every damage, on the reference implementation
  herma-conform damage --damages 60                    60 of them, selected by the seed
  herma-conform damage --time-budget 900 hermes-agent@0.19.0";

#[derive(Parser)]
#[command(name = "herma-conform", version, about = ABOUT, long_about = None)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Subcommand)]
pub enum Command {
    /// Run generated histories and the written cases, and print a verdict for every rule
    #[command(after_help = EXIT_CODES)]
    Run(RunArguments),
    /// Run one history from a file and print its failures
    Replay(HistoryArguments),
    /// Search for a shorter history that fails in the same way
    Shrink(HistoryArguments),
    /// Print a bash script that runs a history on the adapter alone; the script exits with 1 if it fails
    Export {
        #[command(flatten)]
        history: HistoryArguments,
        /// Omit the hostile git configuration of the home directory
        #[arg(long)]
        plain: bool,
    },
    /// Run the plan of the expectations file; fail unless exactly its failures occur
    #[command(after_help = EXIT_CODES)]
    Gate(GateArguments),
    /// Run the plan of the expectations file and rewrite the file
    Update {
        #[command(flatten)]
        gate: GateArguments,
        /// Also add failures that are not expected yet
        #[arg(long)]
        allow_new: bool,
    },
    /// Run the same histories on two subjects and print the differences
    Compare(CompareArguments),
    /// Print the results of an earlier run in another format
    #[command(after_help = EXIT_CODES)]
    Report(ReportArguments),
    /// Print which levels the results of an implementation earn; write, check and compare claims
    #[command(after_help = format!("{}\n\n{}", levels::EXAMPLES, levels::EXIT_CODES))]
    Level(LevelArguments),
    /// Combine the results of all parts of one run
    #[command(after_help = EXIT_CODES)]
    Merge(MergeArguments),
    /// Answer coding agents as a scripted language model, on the loopback interface
    #[command(after_help = model::EXAMPLES)]
    Model(ModelArguments),
    /// Judge a real coding agent through its front door, with a scripted language model
    #[command(after_help = format!("{}\n\n{EXIT_CODES}", agent::EXAMPLES))]
    Agent(AgentArguments),
    /// Create a large project for `run --workspace`: many files, deep folders, long names, large files
    Project {
        /// The folder to create
        folder: PathBuf,
    },
    /// Run the suite on deliberately broken subjects and print how each is found
    #[command(after_help = EXIT_CODES)]
    Bugs(BugsArguments),
    /// List, create and check written cases
    #[command(subcommand, after_help = EXIT_CODES)]
    Case(CaseCommand),
    /// List the capabilities that an adapter can claim, with their meaning, requests and rules
    Capabilities {
        /// Print the list as one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Write and check adapters, which drive implementations in any language
    #[command(subcommand)]
    Adapter(AdapterCommand),
    /// List and install bundled subjects: packages with adapters
    #[command(subcommand)]
    Adapters(AdaptersCommand),
    /// Make one small change at a time to a bundled subject's source; count those that its gate detects
    Power(PowerArguments),
    /// Damage every file of a few small stores in every way: the same as `run --every-damage`
    #[command(after_help = format!("{}\n\n{EXIT_CODES}", DAMAGE_EXAMPLES))]
    Damage(DamageArguments),
    /// Inject faults at every call of every short scenario: the same as `run --every-call 2`
    #[command(after_help = EXIT_CODES)]
    Faults(FaultsArguments),
    /// Let several processes use one store at the same time: the same as `run --processes 4`
    #[command(after_help = EXIT_CODES)]
    Concurrent(ConcurrentArguments),
    /// Measure memory and reads with a large file and without changes: the same as `run --measure 128`
    #[command(after_help = EXIT_CODES)]
    Cost(CostArguments),
    /// Run a command, record each changing call, and inject an event at one of these calls
    #[command(hide = true)]
    Supervised(SupervisedArguments),
    /// Run a command that can write in one folder only
    #[command(hide = true)]
    Confined {
        /// The folder
        folder: PathBuf,
        /// The command
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Print the JSON Schema of the adapter protocol
    Schema,
    /// Print the rule book, and which rules are modelled
    Rules {
        /// Print the rule book as one JSON document
        #[arg(long)]
        json: bool,
    },
}

/// What can be done with adapters.
#[derive(Subcommand)]
pub enum AdapterCommand {
    /// Print a complete, working adapter to start from
    New {
        /// The language of the adapter
        #[arg(long, value_enum, default_value_t = Language::Python)]
        lang: Language,
        /// The kind of store that is most like yours
        #[arg(long = "for", value_enum, value_name = "STORE", default_value_t = StoreKind::Copies)]
        kept: StoreKind,
    },
    /// Serve the core as an adapter, on standard input and output
    Serve {
        /// Serve this planted bug or null subject instead of the core
        #[arg(long)]
        bug: Option<String>,
    },
    /// Check that an adapter follows the protocol; judge no rule
    Check {
        /// Where sandboxes are made
        #[arg(long)]
        scratch: Option<PathBuf>,
        /// The command that starts the adapter; it does not go through a shell
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
}

/// What can be done with written cases.
#[derive(Subcommand)]
pub enum CaseCommand {
    /// Print every case with its rules
    List,
    /// Print a case made from a history, including the required capabilities and the detected bugs
    New {
        /// The name of the case and of its file
        id: String,
        /// A rule that the case tests; may be repeated, main rule first
        #[arg(long = "rule", required = true)]
        rules: Vec<String>,
        /// The real failure behind the case, with a public link if there is one
        #[arg(long)]
        origin: String,
        /// The history as a YAML file
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
    },
    /// Check that cases are valid and detect the bugs that they name
    Check {
        /// The case files; all bundled cases by default
        files: Vec<PathBuf>,
    },
}

/// What can be done with bundled adapters.
#[derive(Clone, Subcommand)]
pub enum AdaptersCommand {
    /// Print every bundled subject and whether it is installed
    List,
    /// Install packages from their public registries into the cache folder
    Install {
        /// The packages, such as hermes-agent@0.19.0
        #[arg(required = true)]
        names: Vec<String>,
    },
}

/// The forms of a report.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Form {
    /// Text, as `run` prints it
    Text,
    /// One JSON document
    Json,
    /// JUnit XML, a test case for each rule
    Junit,
    /// Annotations for GitHub
    Github,
    /// Markdown, for a step summary
    Markdown,
    /// Markdown, how many comparisons of each rule were excused and by what
    Excuses,
}

/// The arguments of `report`.
#[derive(clap::Args)]
pub struct ReportArguments {
    /// The results.jsonl of a run
    #[arg(long, value_name = "FILE", required_unless_present = "html")]
    pub from: Option<PathBuf>,
    /// The output format
    #[arg(long = "as", value_enum, default_value_t = Form::Text)]
    pub form: Form,
    /// As text: a verdict for each rule, not a line for each area of the rule book
    #[arg(long)]
    pub rules: bool,
    /// Judge the results by this expectations file, as `gate` does: what it expects is not a failure
    #[arg(long, value_name = "FILE", conflicts_with = "html")]
    pub expect: Option<PathBuf>,
    /// Write one HTML page about all RESULTS, which needs no network, to this file
    #[arg(long, value_name = "FILE", requires = "results", conflicts_with_all = ["from", "form", "rules"])]
    pub html: Option<PathBuf>,
    /// With --html: the results.jsonl of each run
    #[arg(requires = "html")]
    pub results: Vec<PathBuf>,
}

/// The arguments of `merge`.
#[derive(clap::Args)]
pub struct MergeArguments {
    /// The results.jsonl of each part
    #[arg(required = true)]
    pub parts: Vec<PathBuf>,
    /// The file for the combined results
    #[arg(long, value_name = "FILE")]
    pub into: PathBuf,
    /// Judge the combined results by this expectations file, as `gate` does
    #[arg(long, value_name = "FILE")]
    pub expect: Option<PathBuf>,
}

/// A history from a file, and a subject.
#[derive(clap::Args)]
pub struct HistoryArguments {
    /// A history as a YAML file
    pub file: PathBuf,
    /// Where sandboxes are made
    #[arg(long)]
    pub scratch: Option<PathBuf>,
    #[command(flatten)]
    pub subject: SubjectArguments,
}

/// The arguments of `gate` and `update`.
#[derive(clap::Args)]
pub struct GateArguments {
    /// Inject a fault at a call in each history, and compare the resulting failures
    #[arg(long, conflicts_with = "expect")]
    pub inject: bool,
    /// The expectations file; by default the one bundled with the subject
    #[arg(long, value_name = "FILE")]
    pub expect: Option<PathBuf>,
    /// Judge the results of an earlier run
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// End within this time; exit with 5 if not all histories of the plan ran
    #[arg(long, value_name = "SECONDS", conflicts_with = "from")]
    pub time_budget: Option<u64>,
    #[command(flatten)]
    pub execution: ExecutionArguments,
    #[command(flatten)]
    pub subject: SubjectArguments,
}

/// The arguments of `bugs`.
#[derive(clap::Args)]
pub struct BugsArguments {
    /// The names of bugs; all by default
    pub names: Vec<String>,
    /// The seed of the first history
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print the shortest history that finds each bug
    #[arg(long)]
    pub show: bool,
    /// How many bugs are searched for at the same time; one for each core by default
    #[arg(long)]
    pub jobs: Option<usize>,
    /// Write the kill matrix of these bugs to this file, as Markdown
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
}

/// The arguments of `compare`.
#[derive(clap::Args)]
pub struct CompareArguments {
    /// `core` or a bundled subject
    pub one: String,
    /// The other subject: `core` or a bundled subject
    pub other: String,
    /// The seed of the histories; random by default
    #[arg(long)]
    pub seed: Option<u64>,
    /// How many histories
    #[arg(long, default_value_t = 60)]
    pub histories: u64,
    /// The maximum number of operations per history
    #[arg(long, default_value_t = 60)]
    pub operations: usize,
    /// How many histories run at the same time; one for each core by default
    #[arg(long)]
    pub jobs: Option<usize>,
    /// Where sandboxes are made; in memory by default
    #[arg(long)]
    pub scratch: Option<PathBuf>,
}
