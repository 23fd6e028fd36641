//! The command line: its arguments, and the task that they ask for.
//!
//! The core decides whether a checkpoint or a file exists, so targets and files stay the bytes that
//! were typed.

use crate::doctor;
use crate::help::{
    ACTIONS_EXAMPLES, AFTER_HELP, CHECKPOINT_EXAMPLES, CHECKPOINTS_EXAMPLES, CLASSIFY_EXAMPLES,
    CLEAR_EXAMPLES, CLEAR_LEGACY_EXAMPLES, PIN_EXAMPLES, PRUNE_EXAMPLES, ROLLBACK_EXAMPLES,
    ROLLBACK_TEMPLATE, ROLLBACK_USAGE, SESSION_EXAMPLES, VERIFY_EXAMPLES,
};
use crate::manual;
use crate::text::shell_word;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use herma_core::rollback_line::{self, Line, Misread};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Take checkpoints of project directories, and restore them
#[derive(Debug, Parser)]
#[command(name = "herma", version, after_help = AFTER_HELP)]
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
    #[command(after_help = CHECKPOINT_EXAMPLES)]
    Checkpoint(CheckpointArguments),
    /// List the checkpoints of a project, preview one, or restore it
    #[command(
        after_help = ROLLBACK_EXAMPLES,
        override_usage = ROLLBACK_USAGE,
        help_template = ROLLBACK_TEMPLATE
    )]
    Rollback(RollbackArguments),
    /// Play an agent's session by hand or from a file, with checkpoints before its tools
    #[command(after_help = SESSION_EXAMPLES)]
    Session(SessionArguments),
    /// Show what the checkpoint store holds and costs, or make it smaller
    #[command(after_help = CHECKPOINTS_EXAMPLES)]
    Checkpoints {
        #[command(subcommand)]
        about: Option<About>,
    },
    /// Keep a checkpoint whatever the limits say
    #[command(after_help = PIN_EXAMPLES)]
    Pin(PinArguments),
    /// Let a checkpoint go with the others of its age
    #[command(after_help = PIN_EXAMPLES)]
    Unpin(PinArguments),
    /// Show what an agent did outside, and decide what becomes of it
    #[command(after_help = ACTIONS_EXAMPLES)]
    Actions {
        #[command(subcommand)]
        about: Option<Actions>,
    },
    /// Say whether a terminal command changes files, and by which of its words
    #[command(after_help = CLASSIFY_EXAMPLES)]
    Classify {
        /// A line of shell, or a program and its arguments
        #[arg(last = true, required = true, value_name = "COMMAND")]
        words: Vec<String>,
    },
    /// Say whether checkpoints can work here, and if not, what to do
    #[command(after_help = doctor::EXAMPLES)]
    Doctor,
    /// Print what a shell needs to complete the words of this command
    #[command(after_help = manual::COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print a man page: that of herma, or of one of its subcommands
    #[command(after_help = manual::MAN_EXAMPLES)]
    Man {
        /// A subcommand, such as rollback, or checkpoints-prune for one below another
        page: Option<String>,
    },
}

// What is asked about the store as a whole.
// rule: maintenance/commands
#[derive(Debug, Subcommand)]
pub enum About {
    /// Sizes and projects of the store (what bare `herma checkpoints` shows)
    #[command(visible_alias = "list")]
    Status,
    /// Remove projects that are gone or long unused, and free space
    #[command(after_help = PRUNE_EXAMPLES)]
    Prune(PruneArguments),
    /// Remove every checkpoint of every project, and all archives
    #[command(after_help = CLEAR_EXAMPLES)]
    Clear(Consent),
    /// Read everything that is stored, and say what is damaged
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify,
    /// Remove the legacy archives, and no checkpoint
    #[command(after_help = CLEAR_LEGACY_EXAMPLES)]
    ClearLegacy(Consent),
}

// What is asked about actions outside.
// rule: agent/compensation
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum Actions {
    /// What was done, and how it stands (what bare `herma actions` shows)
    #[command(after_help = ACTIONS_EXAMPLES)]
    List,
    /// Undo what rollbacks left behind, newest first and each once
    #[command(after_help = ACTIONS_EXAMPLES)]
    Compensate {
        /// Also what failed before, or was interrupted
        #[arg(long)]
        again: bool,
    },
    /// Record that what rollbacks left behind stays
    #[command(after_help = ACTIONS_EXAMPLES)]
    Accept,
    /// Show who decided what, and when
    #[command(after_help = ACTIONS_EXAMPLES)]
    Audit,
}

#[derive(Debug, Args)]
struct PinArguments {
    /// A number of the list, a label, or 4 to 64 digits of an id
    #[arg(value_name = "N")]
    target: OsString,
    /// The project's directory [default: that of the current directory]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

// Bounds of a prune; what is not given is as configured.
#[derive(Debug, Args)]
pub struct PruneArguments {
    /// Remove what was not used for more days than this; 0 means no limit
    #[arg(long, value_name = "N")]
    pub retention_days: Option<u64>,
    /// Drop the oldest checkpoints while the store is larger; 0 means no limit
    #[arg(long, value_name = "N")]
    pub max_size_mb: Option<u64>,
    /// Keep projects whose directory is gone
    #[arg(long)]
    pub keep_orphans: bool,
}

#[derive(Debug, Args)]
pub struct Consent {
    /// Do not ask
    #[arg(short, long)]
    pub force: bool,
}

#[derive(Debug, Args)]
struct CheckpointArguments {
    /// The project's directory [default: the project of the current directory]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The reason that the list shows
    #[arg(long, value_name = "TEXT", default_value = "manual")]
    reason: String,
    /// A name for it; it is kept until it is unpinned
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
}

#[derive(Debug, Args)]
pub struct SessionArguments {
    /// Where tools run [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Lines to do one after the other, instead of those that are typed
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// How long a command of the terminal may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub time_limit: u64,
}

#[derive(Debug, Args)]
struct RollbackArguments {
    // What is typed here `herma_core::rollback_line` reads; these describe it for the help.
    #[arg(hide = true)]
    _words: Vec<OsString>,
    #[arg(last = true, hide = true)]
    _literal: Vec<OsString>,
    /// The project's directory [default: that of the current directory]
    #[arg(long = "dir", value_name = "DIR")]
    _dir: Option<PathBuf>,
    /// Also remove files created since; the checkpoint taken first holds them
    #[arg(long = "exact")]
    _exact: bool,
    /// Go on even if no checkpoint of the present state can be taken
    #[arg(long = "force")]
    _force: bool,
    /// Say what a restore would do, and change nothing
    #[arg(long = "dry-run")]
    _dry_run: bool,
    /// Restore only if that does what the preview with this token showed
    #[arg(long = "as-previewed", value_name = "TOKEN")]
    _token: Option<String>,
}

/// What was asked, by what is needed to do it.
#[derive(Debug)]
pub enum Request {
    /// A home, a configuration and mostly a store.
    Usual(Asked),
    /// A session, which answers as it goes.
    Session(SessionArguments),
    /// None of them, so that it is done whatever is wrong there.
    Alone {
        /// Whether a program asked.
        json: bool,
        /// What to do.
        task: Alone,
    },
}

/// What to do without a home, a configuration and a store.
#[derive(Debug)]
pub enum Alone {
    /// Say whether checkpoints can work here.
    Doctor,
    /// Print completions.
    Completions(Shell),
    /// Print a man page.
    Page(Option<String>),
}

/// What was asked of the store.
#[derive(Debug)]
pub struct Asked {
    /// Whether a program asked.
    pub json: bool,
    /// The project's directory, if one was named.
    pub dir: Option<PathBuf>,
    /// What to do.
    pub task: Task,
}

/// What to do.
#[derive(Debug)]
pub enum Task {
    /// Take a checkpoint.
    Take {
        /// Why.
        reason: String,
        /// Its name, if it is to have one.
        label: Option<String>,
    },
    /// Pin or unpin one.
    Pin {
        /// Its number, label or id.
        target: Vec<u8>,
        /// Whether it is to be pinned.
        is_pinned: bool,
    },
    /// Show or settle what was done outside.
    Actions(Actions),
    /// List the checkpoints, show what changed since one, or restore it.
    Rollback(rollback_line::Task),
    /// Show what the store holds, or make it smaller.
    Store(About),
    /// Say whether this line of shell changes files.
    Classify(String),
}

/// Why the words ask for nothing.
pub enum Unasked {
    /// Invalid arguments, or a call for help.
    Usage(clap::Error),
    /// The words after `rollback` mean nothing, or more than one thing.
    Rollback { line: Vec<u8>, misread: Misread },
}

/// All that can be typed.
pub fn command() -> clap::Command {
    Arguments::command()
}

impl Request {
    /// Parses the words, the command's own name first.
    ///
    /// # Errors
    /// What is wrong with them, or a call for help.
    pub fn read(typed: &[OsString]) -> Result<Self, Unasked> {
        match rolled_back(typed) {
            Some((line, json)) => match rollback_line::read(&line) {
                Ok(asked) if asked.help => Request::described(typed),
                Ok(asked) => Ok(Request::Usual(Asked::from_line(asked, json))),
                Err(misread) => Err(Unasked::Rollback { line: line.text, misread }),
            },
            None => Request::described(typed),
        }
    }

    /// What the words ask as clap describes them.
    fn described(typed: &[OsString]) -> Result<Self, Unasked> {
        let Arguments { json, command } =
            Arguments::try_parse_from(typed).map_err(Unasked::Usage)?;
        let (dir, task) = match command {
            Command::Checkpoint(asked) => {
                (asked.dir, Task::Take { reason: asked.reason, label: asked.label })
            }
            Command::Pin(asked) => pin(asked, true),
            Command::Unpin(asked) => pin(asked, false),
            Command::Actions { about } => (None, Task::Actions(about.unwrap_or(Actions::List))),
            // It was read before, unless it calls for help.
            Command::Rollback(_) => (None, Task::Rollback(rollback_line::Task::List)),
            Command::Session(_) if json => {
                let kind = ErrorKind::ArgumentConflict;
                let refused = refusal(kind, "a session answers as it goes, and not in JSON");
                return Err(Unasked::Usage(refused));
            }
            Command::Session(asked) => return Ok(Request::Session(asked)),
            Command::Checkpoints { about } => (None, Task::Store(about.unwrap_or(About::Status))),
            Command::Classify { words } => (None, Task::Classify(line(&words))),
            Command::Doctor => return Ok(Request::Alone { json, task: Alone::Doctor }),
            Command::Completions { shell } => {
                return Ok(Request::Alone { json, task: Alone::Completions(shell) });
            }
            Command::Man { page } => {
                return Ok(Request::Alone { json, task: Alone::Page(page) });
            }
        };
        Ok(Request::Usual(Asked { json, dir, task }))
    }
}

impl Asked {
    /// What a line that begins with `rollback` asks.
    pub fn from_line(asked: rollback_line::Asked, json: bool) -> Self {
        let dir = asked.dir.map(|dir| PathBuf::from(OsStr::from_bytes(&dir)));
        Asked { json: json || asked.json, dir, task: Task::Rollback(asked.task) }
    }

    /// Whether it changes the files of a project.
    pub fn restores(&self) -> bool {
        use rollback_line::Task::Restore;
        matches!(self.task, Task::Rollback(Restore { dry_run: false, .. }))
    }

    /// Whether it depends on the current directory which project it is about.
    pub fn is_about_here(&self) -> bool {
        let is_whole = |dir: &Path| dir.is_absolute() || dir.starts_with("~");
        !matches!(self.task, Task::Store(_) | Task::Classify(_) | Task::Actions(_))
            && !self.dir.as_deref().is_some_and(is_whole)
    }
}

fn pin(asked: PinArguments, is_pinned: bool) -> (Option<PathBuf>, Task) {
    (asked.dir, Task::Pin { target: asked.target.as_bytes().to_vec(), is_pinned })
}

fn refusal(kind: ErrorKind, message: &str) -> clap::Error {
    Arguments::command().error(kind, message)
}

/// The words as a line of shell: one is a line already.
fn line(words: &[String]) -> String {
    match words {
        [line] => line.clone(),
        words => {
            let quoted: Vec<String> =
                words.iter().map(|word| shell_word(word.as_bytes())).collect();
            quoted.join(" ")
        }
    }
}

/// The words after `rollback`, if that is the command, and whether a program asks.
fn rolled_back(typed: &[OsString]) -> Option<(Line, bool)> {
    let before = typed.iter().skip(1).take_while(|word| *word == "--json").count();
    let (command, words) = typed.get(before + 1..)?.split_first()?;
    (command == "rollback").then(|| (Line::of_words(words), before > 0))
}
