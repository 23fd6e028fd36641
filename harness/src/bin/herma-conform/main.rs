//! The `herma-conform` command: judges an implementation and says which rules hold.
//!
//! This file reads the command line and hands over; what is done is in the library.

mod adapters;
mod commands;
mod hermetic;
mod progress;

use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

const EXIT_CODES: &str = "\
Exit codes:
  0  every modelled rule held and enough ran
  1  a rule is broken
  2  the command line or a file is wrong
  4  the harness or this machine failed; no verdict
  5  too little ran: a modelled rule was not put to the test";

const EXAMPLES: &str = "\
Examples:
  herma-conform                                judge the reference implementation
  herma-conform run --seed 7 --histories 2000  a longer run of chosen histories
  herma-conform run --workspace ~/src/project  histories on a copy of a real project
  herma-conform replay herma-failures/turn-once.yaml
  herma-conform adapter new --lang python > adapter.py
  herma-conform adapter check -- python3 adapter.py
  herma-conform rules                          the rule book";

/// Where failing histories are kept unless another folder is named.
const KEEP_DEFAULT: &str = "herma-failures";

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
    Replay {
        /// A history as a YAML file
        file: PathBuf,
        /// Where sandboxes are made
        #[arg(long)]
        scratch: Option<PathBuf>,
    },
    /// Look for a shorter history that fails in the same way
    Shrink {
        /// A failing history as a YAML file
        file: PathBuf,
        /// Where sandboxes are made
        #[arg(long)]
        scratch: Option<PathBuf>,
    },
    /// Run the suite on deliberately broken subjects and print how each is found
    Bugs {
        /// The seed of the first history
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Print the shortest history of each
        #[arg(long)]
        show: bool,
    },
    /// Write and check adapters, by which implementations in any language are driven
    #[command(subcommand)]
    Adapter(AdapterCommand),
    /// Print the rule book with what is modelled of it
    Rules {
        /// As JSON, for programs
        #[arg(long)]
        json: bool,
    },
}

/// What can be done with adapters.
#[derive(Subcommand)]
pub enum AdapterCommand {
    /// Print a complete adapter to start from
    New {
        /// The language it is written in
        #[arg(long, value_enum)]
        lang: Language,
    },
    /// Be the core behind an adapter, on standard input and output
    Serve,
    /// Probe whether an adapter keeps the protocol; judges no rule
    Check {
        /// Where sandboxes are made
        #[arg(long)]
        scratch: Option<PathBuf>,
        /// How the adapter is started; never through a shell
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
}

/// The languages there is a template for.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Language {
    /// Python 3, nothing beside its standard library.
    Python,
}

/// What `run` can be told.
#[derive(clap::Args)]
pub struct RunArguments {
    /// Which histories are drawn; a fresh one each time by default
    #[arg(long)]
    seed: Option<u64>,
    /// How many histories; 600 by default, 6 with a workspace
    #[arg(long)]
    histories: Option<u64>,
    /// The most operations of one history
    #[arg(long, default_value_t = 60)]
    operations: usize,
    /// A real directory, a copy of which is the project of every history
    #[arg(long)]
    workspace: Option<PathBuf>,
    /// How many histories run at the same time; one for each core by default
    #[arg(long)]
    jobs: Option<usize>,
    /// Where failing histories are kept, and read from to be run first
    #[arg(long, default_value = KEEP_DEFAULT)]
    keep: PathBuf,
    /// Where sandboxes are made; in memory by default
    #[arg(long)]
    scratch: Option<PathBuf>,
    /// As JSON, for programs
    #[arg(long)]
    json: bool,
    /// How an adapter is started; the core is judged in-process where none is given
    #[arg(last = true)]
    command: Vec<OsString>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let command = arguments.command.unwrap_or_else(|| {
        let defaults = Arguments::parse_from(["herma-conform", "run"]);
        defaults.command.expect("run is a command")
    });
    if let Command::Rules { json } = command {
        return commands::rules(json);
    }
    match command {
        Command::Adapter(AdapterCommand::New { lang }) => return adapters::new(lang),
        Command::Adapter(AdapterCommand::Serve) => return adapters::serve(),
        _ => {}
    }
    // Everything else runs a subject, and that never sees the user's own environment.
    if let Some(code) = hermetic::enter() {
        return code;
    }
    match command {
        Command::Run(arguments) => commands::run(&arguments),
        Command::Replay { file, scratch } => commands::replay(&file, scratch),
        Command::Shrink { file, scratch } => commands::shrink(&file, scratch),
        Command::Bugs { seed, show } => commands::bugs(seed, show),
        Command::Adapter(AdapterCommand::Check { scratch, command }) => {
            adapters::check(&command, scratch)
        }
        Command::Adapter(AdapterCommand::New { lang }) => adapters::new(lang),
        Command::Adapter(AdapterCommand::Serve) => adapters::serve(),
        Command::Rules { json } => commands::rules(json),
    }
}
