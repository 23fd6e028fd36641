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
mod overdue;
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

const EXIT_CODES: &str = "\
Exit codes:
  0  every modelled rule held and enough ran; a gate holds
  1  a rule is broken; a gate found a failure that is not expected
  2  the command line or a file is wrong
  3  a failure did not show again (unstable), or the expectations of a gate need work
  4  the harness, an adapter or this machine failed; no verdict
  5  too little ran: a modelled rule was not tested
  6  the suite missed a bug that it must find";

const EXAMPLES: &str = "\
Examples:
  herma-conform                                judge the reference implementation
  herma-conform run --seed 7 --histories 2000  a longer run of chosen histories
  herma-conform run --workspace ~/src/project  histories on a copy of a real project
  herma-conform replay herma-failures/turn-once-created-not-deduped.yaml
  herma-conform adapters install hermes-agent@0.19.0
  herma-conform run hermes-agent@0.19.0        judge a real package
  herma-conform run -- python3 adapter.py      judge the implementation behind an adapter
  herma-conform gate --expect expected.toml -- python3 adapter.py
  herma-conform compare hermes-agent@0.13.0 hermes-agent@0.19.0
  herma-conform adapter new --for git > adapter.py
  herma-conform rules                          the rule book";

#[derive(Parser)]
#[command(name = "herma-conform", version, about, long_about = None)]
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
    /// Run one history from a file and say how it ends
    Replay(HistoryArguments),
    /// Look for a shorter history that fails in the same way
    Shrink(HistoryArguments),
    /// Print a script for bash that drives the adapter alone through a history; exits with 1 if it fails
    Export {
        #[command(flatten)]
        history: HistoryArguments,
        /// Without the hostile git configuration of a history's home
        #[arg(long)]
        plain: bool,
    },
    /// Run the plan of the expectations; fail unless exactly the expected failures occur
    #[command(after_help = EXIT_CODES)]
    Gate(GateArguments),
    /// Run the plan of the expectations, and write them anew
    Update {
        #[command(flatten)]
        gate: GateArguments,
        /// Also list failures that are not expected yet
        #[arg(long)]
        allow_new: bool,
    },
    /// Run the same histories on two subjects and print where they differ
    Compare(CompareArguments),
    /// Print the results of an earlier run in another form
    #[command(after_help = EXIT_CODES)]
    Report {
        /// The results.jsonl of a run
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
        /// The form
        #[arg(long = "as", value_enum, default_value_t = Form::Text)]
        form: Form,
        /// As text: the verdict on every rule, not a line for each area of the rule book
        #[arg(long)]
        rules: bool,
    },
    /// Put the results of all parts of one run together
    #[command(after_help = EXIT_CODES)]
    Merge {
        /// The results of each part
        #[arg(required = true)]
        parts: Vec<PathBuf>,
        /// Where the results of the whole are written
        #[arg(long, value_name = "FILE")]
        into: PathBuf,
    },
    /// Make a large project to run histories on, in a new folder: many, deep, long-named, large files
    Project {
        /// The folder, which is not there yet
        folder: PathBuf,
    },
    /// Run the suite on deliberately broken subjects and print how each is found
    #[command(after_help = EXIT_CODES)]
    Bugs(BugsArguments),
    /// List, begin and check written cases
    #[command(subcommand, after_help = EXIT_CODES)]
    Case(CaseCommand),
    /// List what an adapter can claim: what it means, what it is asked, which rules wait for it
    Capabilities {
        /// Print them as one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Write and check adapters, which drive implementations in any language
    #[command(subcommand)]
    Adapter(AdapterCommand),
    /// List and install the subjects whose adapters are bundled
    #[command(subcommand)]
    Adapters(AdaptersCommand),
    /// Change a bundled subject's source in one small way at a time, and count what its gate notices
    Power(power::PowerArguments),
    /// Damage every file of a few small stores in every way: the same as `run --every-damage`
    #[command(after_help = format!("{}\n\n{EXIT_CODES}", commands::DAMAGE_EXAMPLES))]
    Damage(DamageArguments),
    /// Let something happen at every call of every short story: the same as `run --every-call 2`
    #[command(after_help = EXIT_CODES)]
    Faults(FaultsArguments),
    /// Let several processes use one store at the same time: the same as `run --processes 4`
    #[command(after_help = EXIT_CODES)]
    Concurrent(ConcurrentArguments),
    /// Measure what requests take where one file is large, and where nothing changed: `run --measure`
    #[command(after_help = EXIT_CODES)]
    Cost(CostArguments),
    /// Run a command whose every changing call is noted, and at one of which something happens
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
        /// As JSON, for programs
        #[arg(long)]
        json: bool,
    },
}

/// What can be done with adapters.
#[derive(Subcommand)]
pub enum AdapterCommand {
    /// Print a complete adapter to start from; it runs as it is
    New {
        /// The language it is written in
        #[arg(long, value_enum, default_value_t = Language::Python)]
        lang: Language,
        /// What is most like the store that it will drive
        #[arg(long = "for", value_enum, value_name = "STORE", default_value_t = StoreKind::Copies)]
        kept: StoreKind,
    },
    /// Act as an adapter for the core, on standard input and output
    Serve {
        /// The name of a planted bug or null subject to serve instead of the core
        #[arg(long)]
        bug: Option<String>,
    },
    /// Probe whether an adapter keeps the protocol; judges no rule
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
    /// Print a case made from a history, with the needed capabilities and the found bugs filled in
    New {
        /// Its name, which must be that of its file
        id: String,
        /// A rule that it tests, the main one first; may be repeated
        #[arg(long = "rule", required = true)]
        rules: Vec<String>,
        /// The real failure that it comes from, with a public link where there is one
        #[arg(long)]
        origin: String,
        /// The history
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
    },
    /// Check that cases are described correctly and find the bugs that they name
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
    /// As on a terminal
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
    /// The seed of the histories; a fresh one each time by default
    #[arg(long)]
    seed: Option<u64>,
    /// How many histories; 600 by default, 60 behind an adapter, 6 with a workspace
    #[arg(long)]
    histories: Option<u64>,
    /// The most operations of one history
    #[arg(long, default_value_t = 60)]
    operations: usize,
    /// A real directory; every history runs on a copy of it
    #[arg(long)]
    workspace: Option<PathBuf>,
    /// Draw no histories: after every sequence of less than so many requests let each thing happen at each
    /// call of one more
    #[arg(long, value_name = "REQUESTS", conflicts_with_all = ["histories", "operations", "workspace"])]
    every_call: Option<usize>,
    /// At so many calls, evenly spread, instead of at each
    #[arg(long, requires = "every_call")]
    calls: Option<u64>,
    /// Generate no histories: damage every file of a few small stores in every way
    #[arg(long, conflicts_with_all = ["histories", "operations", "workspace", "every_call"])]
    every_damage: bool,
    /// So many damages, evenly spread, instead of all
    #[arg(long, requires = "every_damage")]
    damages: Option<usize>,
    /// Generate no histories: measure what requests take of files of up to so many MiB
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(80..=160), conflicts_with_all = ["histories", "operations", "workspace", "every_call", "every_damage"])]
    measure: Option<u64>,
    /// Draw only histories in which so many processes are asked at the same time: some order of the requests
    /// must say all answers
    #[arg(long, conflicts_with_all = ["operations", "workspace", "every_call", "every_damage", "measure"], value_parser = clap::value_parser!(u8).range(2..=64))]
    processes: Option<u8>,
    /// In every history let something happen at calls: kills, failed calls, power losses, edits of
    /// somebody else; in the process of an adapter, too, which needs Linux
    #[arg(long)]
    inject: bool,
    #[command(flatten)]
    common: CommonArguments,
}

/// What `run` and its presets have in common.
#[derive(Clone, clap::Args)]
pub struct CommonArguments {
    /// Begin no history after two thirds of so long, and no search for a short one after all of it; each
    /// failure is still run again
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
    /// How many requests a story has at most
    #[arg(long, default_value_t = 2)]
    requests: usize,
    /// At so many calls of each, evenly spread, instead of at each
    #[arg(long)]
    calls: Option<u64>,
    #[command(flatten)]
    common: CommonArguments,
}

/// The arguments of `damage`.
#[derive(Clone, clap::Args)]
pub struct DamageArguments {
    /// The seed that chooses some of them; a fresh one each time by default
    #[arg(long)]
    seed: Option<u64>,
    /// So many damages, evenly spread, instead of all
    #[arg(long)]
    damages: Option<usize>,
    #[command(flatten)]
    common: CommonArguments,
}

/// The arguments of `concurrent`.
#[derive(Clone, clap::Args)]
pub struct ConcurrentArguments {
    /// The seed of what is asked; a fresh one each time by default
    #[arg(long)]
    seed: Option<u64>,
    /// How many histories, each of up to four rounds
    #[arg(long, default_value_t = 100)]
    histories: u64,
    /// How many processes are asked at the same time
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(2..=64))]
    processes: u8,
    #[command(flatten)]
    common: CommonArguments,
}

/// The arguments of `cost`.
#[derive(Clone, clap::Args)]
pub struct CostArguments {
    /// How large the largest file is, in MiB
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
    /// Only this part of the histories, such as 1/4; `merge` puts the results of all parts together
    #[arg(long, default_value_t)]
    shard: Share,
    /// Where failing histories are kept, which the next run begins with; by default herma-failures,
    /// or for other subjects than the core a folder of their own in it
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Where the results are written; beside the failing histories by default
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
    /// Let something happen at a call in each history, and hold the failures that come of it
    #[arg(long, conflicts_with = "expect")]
    inject: bool,
    /// The expectations of the subject; those that come with it by default
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
    /// Judge the results of a run that was made already
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
    /// Print the shortest history of each
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
    /// Another one
    other: String,
    /// The seed of the histories; a fresh one each time by default
    #[arg(long)]
    seed: Option<u64>,
    /// How many histories
    #[arg(long, default_value_t = 60)]
    histories: u64,
    /// The most operations of one history
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
