//! The command line: its arguments, and the request that they are parsed into.
//!
//! Targets and file names stay the bytes that the user typed, because the core decides whether such a
//! checkpoint or file exists.

use crate::help;
use crate::hook;
use crate::init::InitArguments;
use crate::look::{CatArguments, DiffArguments, LogArguments};
use crate::request::{StoreRequest, Task};
use crate::rollback_arguments::{
    ProjectArguments, RollbackArguments, ShowArguments, UndoArguments,
};
use crate::run::RunArguments;
use crate::store_arguments::{ActionsCommand, StoreCommand};
use crate::text::shell_word;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use herma_core::rollback_line::{self, Line, SyntaxError};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Take checkpoints of project directories, and restore them
#[derive(Debug, Parser)]
// Narrower terminals are `layout::wrapped_help`'s.
#[command(name = "herma", version, after_help = help::AFTER_HELP, term_width = 100)]
struct Arguments {
    /// Answer in JSON, for programs; errors too
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Take a manual checkpoint
    #[command(after_help = help::CHECKPOINT)]
    Checkpoint(CheckpointArguments),
    /// List the checkpoints of a project, preview one, or restore it
    #[command(
        after_help = help::ROLLBACK,
        override_usage = help::ROLLBACK_USAGE,
        help_template = help::ROLLBACK_TEMPLATE
    )]
    Rollback(RollbackArguments),
    /// Show what changed since a checkpoint, or between two
    #[command(after_help = help::DIFF)]
    Diff(DiffArguments),
    /// Print a file as a checkpoint holds it
    #[command(after_help = help::CAT)]
    Cat(CatArguments),
    /// List the checkpoints that changed a file
    #[command(after_help = help::LOG)]
    Log(LogArguments),
    /// List the checkpoints of a project
    #[command(after_help = help::LIST)]
    List(ProjectArguments),
    /// Show what a checkpoint holds besides its files
    #[command(after_help = help::SHOW)]
    Show(ShowArguments),
    /// Restore a checkpoint, or some of its files and folders
    #[command(
        after_help = help::RESTORE,
        override_usage = help::RESTORE_USAGE,
        help_template = help::ROLLBACK_TEMPLATE
    )]
    Restore(RollbackArguments),
    /// Undo what happened last: a rollback, or all changes since the newest checkpoint
    #[command(after_help = help::UNDO)]
    Undo(UndoArguments),
    /// Redo the rollback that was undone last
    #[command(after_help = help::UNDO)]
    Redo(UndoArguments),
    #[command(flatten)]
    Other(OtherCommand),
    /// Show the contents and size of the checkpoint store, verify it, or make it smaller
    #[command(after_help = help::CHECKPOINTS)]
    Checkpoints {
        #[command(subcommand)]
        command: Option<StoreCommand>,
    },
    /// Pin a checkpoint, so that no limit removes it
    #[command(after_help = help::PIN)]
    Pin(PinArguments),
    /// Unpin a checkpoint, so that the limits may remove it again
    #[command(after_help = help::PIN)]
    Unpin(PinArguments),
    /// List what an agent did outside the project, and undo or accept it
    #[command(after_help = help::ACTIONS)]
    Actions {
        #[command(subcommand)]
        command: Option<ActionsCommand>,
    },
    /// Tell whether a shell command changes files, and why
    #[command(after_help = help::CLASSIFY)]
    Classify {
        /// A line of shell, or a program and its arguments
        #[arg(last = true, required = true, value_name = "COMMAND")]
        words: Vec<String>,
    },
}

// The commands that prepare what they need themselves: some work without a home, a configuration and a store.
#[derive(Debug, Subcommand)]
pub enum OtherCommand {
    /// Have an agent take a checkpoint before each turn's first change
    #[command(after_help = help::INIT)]
    Init(InitArguments),
    /// Take the checkpoint of a turn: what an agent runs before each of its tools
    #[command(after_help = help::HOOK)]
    Hook {
        /// The agent
        #[arg(value_parser = hook::agent_name)]
        agent: String,
    },
    /// Take a checkpoint, run a command, and tell what it changed
    #[command(after_help = help::RUN)]
    Run(RunArguments),
    /// Play an agent's session, typed or from a file, with checkpoints before its tools
    #[command(after_help = help::SESSION)]
    Session(SessionArguments),
    /// Check whether checkpoints work here, and if not, tell what to do
    #[command(after_help = help::DOCTOR, display_order = 100)]
    Doctor,
    /// Print the script that lets a shell complete the arguments of this command
    #[command(after_help = help::COMPLETIONS, display_order = 101)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Show the man page of herma or of one of its subcommands
    #[command(after_help = help::MAN, display_order = 102)]
    Man {
        /// A subcommand, such as rollback; checkpoints-prune for `herma checkpoints prune`
        page: Option<String>,
    },
}

#[derive(Debug, Args)]
struct PinArguments {
    /// A number of the list, a label, or 4 to 64 digits of an id
    #[arg(value_name = "N")]
    target: OsString,
    #[command(flatten)]
    project: ProjectArguments,
}

#[derive(Debug, Args)]
pub struct CheckpointArguments {
    /// The project's directory [default: the project of the current directory]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Why the checkpoint is taken, for the list
    #[arg(long, value_name = "TEXT", default_value = "manual")]
    pub reason: String,
    /// A name for the checkpoint, which also pins it
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,
    /// The turn of an agent: each turn takes at most one checkpoint
    #[arg(long, value_name = "ID", conflicts_with = "label")]
    pub turn: Option<String>,
}

#[derive(Debug, Args)]
pub struct SessionArguments {
    /// The directory in which tools run [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Read the lines from a file, instead of standard input
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    // It is refused, with a reason.
    #[arg(long = "json", id = "json", hide = true)]
    _json: bool,
    /// Stop a terminal command that takes longer
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub time_limit: u64,
}

/// A parsed command line, by what it needs.
#[derive(Debug)]
pub enum Request {
    /// Needs a home, a configuration and usually a store.
    Store(StoreRequest),
    /// Prepares what it needs itself.
    Other {
        /// Whether to answer in JSON.
        json: bool,
        /// What to do.
        command: OtherCommand,
    },
}

/// Why the arguments are not a request.
pub enum ParseError {
    /// Invalid arguments, or a request for help.
    Usage(clap::Error),
    /// The words after `rollback` are invalid or ambiguous.
    Rollback { line: Vec<u8>, misread: SyntaxError },
}

/// The definition of all arguments.
pub fn command() -> clap::Command {
    Arguments::command()
}

impl Request {
    /// Parses the words, of which the first is the name of the program.
    ///
    /// # Errors
    /// What is wrong with the words, or a request for help.
    pub fn read(words: &[OsString]) -> Result<Self, ParseError> {
        match rollback_words(words) {
            Some((line, json)) => match rollback_line::read(&line) {
                Ok(parsed) if parsed.help => Request::parse_with_clap(words),
                Ok(parsed) => {
                    let request = StoreRequest::from_line(parsed, json);
                    let command = command_of(words).and_then(OsStr::to_str);
                    let undoes_turns = matches!(command, Some("undo" | "redo"));
                    Ok(Request::Store(StoreRequest { undoes_turns, ..request }))
                }
                Err(misread) => Err(ParseError::Rollback { line: line.text, misread }),
            },
            None => Request::parse_with_clap(words),
        }
    }

    fn parse_with_clap(words: &[OsString]) -> Result<Self, ParseError> {
        let Arguments { json, command } = Arguments::try_parse_from(words)
            .map_err(|error| ParseError::Usage(with_tip(with_value_tip(error, words))))?;
        let (dir, task) = match command {
            Command::Checkpoint(arguments) => (arguments.dir.clone(), Task::Take(arguments)),
            Command::Diff(arguments) => (arguments.project.dir.clone(), Task::Diff(arguments)),
            Command::Cat(arguments) => (arguments.project.dir.clone(), Task::Cat(arguments)),
            Command::Log(arguments) => (arguments.project.dir.clone(), Task::Log(arguments)),
            Command::Pin(PinArguments { target, project }) => {
                (project.dir, Task::Pin { target, is_pinned: true })
            }
            Command::Unpin(PinArguments { target, project }) => {
                (project.dir, Task::Pin { target, is_pinned: false })
            }
            Command::Actions { command } => {
                (None, Task::Actions(command.unwrap_or(ActionsCommand::List)))
            }
            // `rollback_line` parsed it before, unless help was requested.
            Command::Rollback(_)
            | Command::List(_)
            | Command::Show(_)
            | Command::Restore(_)
            | Command::Undo(_)
            | Command::Redo(_) => (None, Task::Rollback(rollback_line::Task::List)),
            Command::Checkpoints { command } => {
                let command = command.unwrap_or(StoreCommand::Status);
                (command.project().map(Path::to_owned), Task::Store(command))
            }
            Command::Classify { words } => (None, Task::Classify(line(&words))),
            Command::Other(OtherCommand::Session(_) | OtherCommand::Run(_)) if json => {
                let message = "this prints text as it goes, so --json cannot be used";
                let error = Arguments::command().error(ErrorKind::ArgumentConflict, message);
                return Err(ParseError::Usage(error));
            }
            Command::Other(command) => return Ok(Request::Other { json, command }),
        };
        Ok(Request::Store(StoreRequest { json, dir, task, undoes_turns: false }))
    }
}

/// What people type who know other tools, and what it is called here.
const OTHER_NAMES: [(&str, &str); 9] = [
    ("save", "checkpoint"),
    ("snapshot", "checkpoint"),
    ("create", "checkpoint"),
    ("commit", "checkpoint"),
    ("ls", "list"),
    ("history", "list"),
    ("rewind", "rollback"),
    ("revert", "rollback"),
    ("version", "--version"),
];

/// The error with a tip how to pass the value of an option that begins with a dash, if that is what was typed.
fn with_value_tip(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidArg).cloned() else {
        return error;
    };
    let position = words.iter().position(|word| *word == *value).unwrap_or_default();
    let option = words[..position].last().and_then(|word| word.to_str()).unwrap_or_default();
    let command = command_of(words).and_then(OsStr::to_str).unwrap_or_default();
    let tip = match option {
        _ if command == "checkpoint" && value == "--dir" => {
            Some("the directory needs no option: herma checkpoint DIR".to_owned())
        }
        _ if command == "classify" && !value.starts_with("--") => {
            let typed = words.iter().skip_while(|word| *word != "classify").skip(1);
            let typed = typed.filter(|word| *word != "--json");
            let typed: Vec<String> = typed.map(|word| shell_word(word.as_bytes())).collect();
            Some(format!("put -- before the command: herma classify -- {}", typed.join(" ")))
        }
        "--label" => Some("a label cannot begin with a dash".to_owned()),
        "--reason" | "--turn" | "--dir" => {
            let word = shell_word(format!("{option}={value}"));
            Some(format!("to pass {value} as the value, use {word}"))
        }
        _ => None,
    };
    if let Some(tip) = tip {
        error.insert(ContextKind::TrailingArg, ContextValue::Bool(false));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// The error with the subcommand that was probably meant, if that is certain.
fn with_tip(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let store = Arguments::command().find_subcommand("checkpoints").cloned().unwrap_or_default();
    let meant = match OTHER_NAMES.iter().find(|(name, _)| name == typed) {
        Some((_, meant)) => (*meant).to_owned(),
        None if store.find_subcommand(typed).is_some() => format!("checkpoints {typed}"),
        None => return error,
    };
    error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![meant]));
    error
}

/// The subcommand that was typed, if any.
pub fn command_of(words: &[OsString]) -> Option<&OsStr> {
    words.iter().skip(1).find(|word| *word != "--json").map(OsString::as_os_str)
}

/// The words as a shell command line; a single word is such a line already.
fn line(words: &[String]) -> String {
    match words {
        [line] => line.clone(),
        words => words.iter().map(shell_word).collect::<Vec<_>>().join(" "),
    }
}

/// The words after `rollback`, if that is the subcommand, and whether `--json` precedes it; `undo`, `redo`, `list`
/// and `show` stand for `rollback undo` and so on, and `restore N` for `rollback N`.
fn rollback_words(words: &[OsString]) -> Option<(Line, bool)> {
    let json_options = words.iter().skip(1).take_while(|word| *word == "--json").count();
    let (command, arguments) = words.get(json_options + 1..)?.split_first()?;
    let words = match command.to_str() {
        Some("rollback") => arguments,
        // Without a checkpoint it would list them.
        Some("restore") if !arguments.is_empty() => arguments,
        Some("undo" | "redo" | "list" | "show") => &words[json_options + 1..],
        _ => return None,
    };
    Some((Line::of_words(words), json_options > 0))
}
