//! The `herma-conform` command: judges an implementation and reports which rules hold.
//!
//! This file reads the command line; the library does the work.

mod adapters;
mod bugs;
mod cases;
mod commands;
mod comparing;
mod confined;
mod ending;
mod gate;
mod hermetic;
mod power;
mod progress;
mod reporting;
mod running;
mod skeleton;
mod subjects;
mod supervised;

use clap::{Parser, Subcommand};
use ending::{exit_code_of, print_text};
use herma_harness::protocol::claims;
use herma_harness::share::Share;
use skeleton::{Language, StoreKind};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use subjects::SubjectArguments;

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

#[derive(Parser)]
#[command(name = "herma-conform", version, about = ABOUT, long_about = None)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Run generated histories and print a verdict for every rule
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
    Report {
        /// The results.jsonl of a run
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
        /// The output format
        #[arg(long = "as", value_enum, default_value_t = Form::Text)]
        form: Form,
        /// As text: a verdict for each rule, not a line for each area of the rule book
        #[arg(long)]
        rules: bool,
    },
    /// Combine the results of all parts of one run
    #[command(after_help = EXIT_CODES)]
    Merge {
        /// The results.jsonl of each part
        #[arg(required = true)]
        parts: Vec<PathBuf>,
        /// The file for the combined results
        #[arg(long, value_name = "FILE")]
        into: PathBuf,
    },
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
    Power(power::PowerArguments),
    /// Damage every file of a few small stores in every way: the same as `run --every-damage`
    #[command(after_help = format!("{}\n\n{EXIT_CODES}", commands::DAMAGE_EXAMPLES))]
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
    Supervised(supervised::SupervisedArguments),
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
}

/// The arguments of `run`.
#[derive(clap::Args)]
pub struct RunArguments {
    /// The seed of the histories; random by default
    #[arg(long)]
    seed: Option<u64>,
    /// How many histories; 600 by default, 60 with an adapter, 6 with a workspace
    #[arg(long)]
    histories: Option<u64>,
    /// The maximum number of operations per history
    #[arg(long, default_value_t = 60)]
    operations: usize,
    /// A real directory; every history runs on a copy of it
    #[arg(long)]
    workspace: Option<PathBuf>,
    /// Generate no histories: run all scenarios of up to REQUESTS requests, with every injection at every
    /// call of the last request
    #[arg(long, value_name = "REQUESTS", conflicts_with_all = ["histories", "operations", "workspace"])]
    every_call: Option<usize>,
    /// Inject at CALLS calls, evenly spread, instead of at each
    #[arg(long, requires = "every_call")]
    calls: Option<u64>,
    /// Generate no histories: damage every file of a few small stores in every way
    #[arg(long, conflicts_with_all = ["histories", "operations", "workspace", "every_call"])]
    every_damage: bool,
    /// Apply only DAMAGES of the damages, evenly spread
    #[arg(long, requires = "every_damage")]
    damages: Option<usize>,
    /// Generate no histories: measure memory and reads with files of up to MIB MiB
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(80..=160), conflicts_with_all = ["histories", "operations", "workspace", "every_call", "every_damage"])]
    measure: Option<u64>,
    /// Generate only histories with PROCESSES processes at the same time: some order of their requests must
    /// explain all replies
    #[arg(long, conflicts_with_all = ["operations", "workspace", "every_call", "every_damage", "measure"], value_parser = clap::value_parser!(u8).range(2..=64))]
    processes: Option<u8>,
    /// Inject into every history: kills, failed calls, power losses, edits by a user or another process; with
    /// an adapter this needs Linux
    #[arg(long)]
    inject: bool,
    #[command(flatten)]
    common: CommonArguments,
}

/// What `run` and its presets have in common.
#[derive(Clone, clap::Args)]
pub struct CommonArguments {
    /// Begin no history after two thirds of this time, and no shrinking after all of it; each failure is
    /// still run again
    #[arg(long, value_name = "SECONDS")]
    time_budget: Option<u64>,
    /// Print the verdict on every rule, not a line for each area of the rule book
    #[arg(long, conflicts_with = "json")]
    rules: bool,
    /// Print the results as one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    execution: ExecutionArguments,
    #[command(flatten)]
    subject: SubjectArguments,
}

/// The arguments of `faults`.
#[derive(Clone, clap::Args)]
pub struct FaultsArguments {
    /// The maximum number of requests per scenario
    #[arg(long, default_value_t = 2)]
    requests: usize,
    /// Inject at CALLS calls, evenly spread, instead of at each
    #[arg(long)]
    calls: Option<u64>,
    #[command(flatten)]
    common: CommonArguments,
}

/// The arguments of `damage`.
#[derive(Clone, clap::Args)]
pub struct DamageArguments {
    /// The seed that selects the damages of --damages; random by default
    #[arg(long)]
    seed: Option<u64>,
    /// Apply only DAMAGES of the damages, evenly spread
    #[arg(long)]
    damages: Option<usize>,
    #[command(flatten)]
    common: CommonArguments,
}

/// The arguments of `concurrent`.
#[derive(Clone, clap::Args)]
pub struct ConcurrentArguments {
    /// The seed of the requests; random by default
    #[arg(long)]
    seed: Option<u64>,
    /// How many histories, each of up to four rounds
    #[arg(long, default_value_t = 100)]
    histories: u64,
    /// How many processes use the store at the same time
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(2..=64))]
    processes: u8,
    #[command(flatten)]
    common: CommonArguments,
}

/// The arguments of `cost`.
#[derive(Clone, clap::Args)]
pub struct CostArguments {
    /// The size of the largest file, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 128, value_parser = clap::value_parser!(u64).range(80..=160))]
    large: u64,
    #[command(flatten)]
    common: CommonArguments,
}

/// How many histories run at a time, and where what they leave is.
#[derive(Clone, clap::Args)]
pub struct ExecutionArguments {
    /// How many histories run at the same time; one for each core by default
    #[arg(long)]
    jobs: Option<usize>,
    /// Run only this part of the histories, such as 1/4; `merge` combines the results of all parts
    #[arg(long, default_value_t)]
    shard: Share,
    /// The folder for failing histories, which the next run repeats first; by default herma-failures, or
    /// a folder in it for each subject other than the core
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Where the results are written; next to the failing histories by default
    #[arg(long)]
    results: Option<PathBuf>,
    /// Where sandboxes are made; in memory by default
    #[arg(long)]
    scratch: Option<PathBuf>,
}

/// A history from a file, and a subject.
#[derive(clap::Args)]
pub struct HistoryArguments {
    /// A history as a YAML file
    file: PathBuf,
    /// Where sandboxes are made
    #[arg(long)]
    scratch: Option<PathBuf>,
    #[command(flatten)]
    subject: SubjectArguments,
}

/// The arguments of `gate` and `update`.
#[derive(clap::Args)]
pub struct GateArguments {
    /// Inject a fault at a call in each history, and compare the resulting failures
    #[arg(long, conflicts_with = "expect")]
    inject: bool,
    /// The expectations file; by default the one bundled with the subject
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
    /// Judge the results of an earlier run
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    #[command(flatten)]
    execution: ExecutionArguments,
    #[command(flatten)]
    subject: SubjectArguments,
}

/// The arguments of `bugs`.
#[derive(clap::Args)]
pub struct BugsArguments {
    /// The names of bugs; all by default
    names: Vec<String>,
    /// The seed of the first history
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the shortest history that finds each bug
    #[arg(long)]
    show: bool,
    /// How many bugs are searched for at the same time; one for each core by default
    #[arg(long)]
    jobs: Option<usize>,
    /// Write the kill matrix of these bugs to this file, as Markdown
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// The arguments of `compare`.
#[derive(clap::Args)]
pub struct CompareArguments {
    /// `core` or a bundled subject
    one: String,
    /// The other subject: `core` or a bundled subject
    other: String,
    /// The seed of the histories; random by default
    #[arg(long)]
    seed: Option<u64>,
    /// How many histories
    #[arg(long, default_value_t = 60)]
    histories: u64,
    /// The maximum number of operations per history
    #[arg(long, default_value_t = 60)]
    operations: usize,
    /// How many histories run at the same time; one for each core by default
    #[arg(long)]
    jobs: Option<usize>,
    /// Where sandboxes are made; in memory by default
    #[arg(long)]
    scratch: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let command = arguments.command.unwrap_or_else(|| {
        let defaults = Arguments::parse_from(["herma-conform", "run"]);
        defaults.command.expect("run is a command")
    });
    match &command {
        Command::Rules { json } => return commands::rules(*json),
        Command::Schema => return reporting::schema(),
        Command::Capabilities { json } => {
            print_text(&if *json { claims::json() } else { claims::text() });
            return ExitCode::SUCCESS;
        }
        Command::Report { from, form, rules } => return reporting::report(from, *form, *rules),
        Command::Merge { parts, into } => return reporting::merge(parts, into),
        Command::Adapter(AdapterCommand::New { lang, kept }) => {
            return skeleton::print(*lang, *kept);
        }
        Command::Adapter(AdapterCommand::Serve { bug }) => return adapters::serve(bug.as_deref()),
        Command::Adapters(AdaptersCommand::List) => return adapters::list(),
        Command::Adapters(AdaptersCommand::Install { names }) => return adapters::install(names),
        Command::Confined { folder, command } => return confined::run(folder, command),
        Command::Supervised(arguments) => return supervised::run(arguments),
        Command::Power(arguments) => {
            // Installing reads the user's registry settings, so it happens in the user's environment.
            if let Err((message, code)) = power::prepare(arguments) {
                return ending::fail(&message, code);
            }
        }
        _ => {}
    }
    // Everything else runs a subject, which never sees the user's own environment.
    if let Some(code) = hermetic::enter() {
        return code;
    }
    exit_code_of(match &command {
        Command::Run(arguments) => commands::run(arguments),
        Command::Replay(arguments) => commands::replay(arguments),
        Command::Shrink(arguments) => commands::shrink(arguments),
        Command::Export { history, plain } => reporting::export(history, *plain),
        Command::Gate(arguments) => gate::gate(arguments),
        Command::Update { gate, allow_new } => gate::update(gate, *allow_new),
        Command::Case(command) => cases::case(command),
        Command::Compare(arguments) => comparing::compare(arguments),
        Command::Project { folder } => commands::project(folder),
        Command::Bugs(arguments) => bugs::bugs(arguments),
        Command::Power(arguments) => power::power(arguments),
        Command::Cost(arguments) => commands::cost(arguments),
        Command::Damage(arguments) => commands::damage(arguments),
        Command::Faults(arguments) => commands::faults(arguments),
        Command::Concurrent(arguments) => commands::concurrent(arguments),
        Command::Adapter(AdapterCommand::Check { scratch, command }) => {
            adapters::check(command, scratch.clone())
        }
        Command::Rules { .. }
        | Command::Schema
        | Command::Report { .. }
        | Command::Capabilities { .. }
        | Command::Merge { .. }
        | Command::Adapter(_)
        | Command::Confined { .. }
        | Command::Supervised(_)
        | Command::Adapters(_) => unreachable!("these were answered before"),
    })
}
