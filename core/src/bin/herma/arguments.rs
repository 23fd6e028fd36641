//! The command line: its arguments, and the task that they ask for.
//!
//! The core decides whether a checkpoint or a file exists, so targets and files stay the bytes that
//! were typed.

use crate::doctor;
use crate::manual;
use crate::text::shell_word;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use herma_core::RestoreOptions;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Examples:
  herma checkpoint                take a checkpoint of the project you are in
  herma rollback                  list its checkpoints
  herma rollback diff 1           see what changed since the newest
  herma rollback 1                restore it
  herma checkpoints               see what the store holds and costs
  herma checkpoints prune         make it smaller
  herma classify -- 'rm a > b'    does this command change files?
  herma doctor                    can checkpoints work here?

Environment:
  HERMES_HOME                     the store is in $HERMES_HOME/checkpoints [~/.hermes/checkpoints]
  NO_COLOR                        no colours, if it is set to anything

Configuration, below \"checkpoints:\" in $HERMES_HOME/config.yaml [~/.hermes/config.yaml]:
  enabled: false                  whether checkpoints are also taken automatically
  max_snapshots: 20               checkpoints kept of a project, at least 1
  max_file_size_mb: 10            larger files are left out; 0 means no limit
  max_total_size_mb: 500          of the whole store; 0 means no limit
  auto_prune: true                whether the store is swept automatically
  min_interval_hours: 24          the least time between two sweeps
  retention_days: 7               days until an unused project is removed; 0 keeps it
  delete_orphans: true            whether to remove projects whose directory is gone

Exit codes:
  0  done, also when there was nothing to do
  1  declined: you were asked and said no
  2  failed, with a stable code in brackets at the end of the message, or invalid arguments";

const CHECKPOINT_EXAMPLES: &str = "\
The project of the current directory is the nearest directory from there upwards that holds
.git, Cargo.toml, package.json, Makefile or the like, else the current directory itself.

Examples:
  herma checkpoint
  herma checkpoint --reason 'before the big refactoring'
  herma checkpoint ~/code/experiments --json
  herma checkpoint -- --odd-name  a directory whose name begins with dashes

Exit codes: 0 done, also when nothing changed; 2 failed.";

const ROLLBACK_USAGE: &str = "\
herma rollback [--dir DIR]
       herma rollback diff N [--dir DIR]
       herma rollback N [--exact] [--force] [--dir DIR]
       herma rollback N FILE [--dir DIR]";

/// To clap all words are one argument, so it cannot describe them itself.
const ROLLBACK_TEMPLATE: &str = "\
{about}

{usage-heading} {usage}

Arguments:
  N     A number of the list, or 4 to 64 digits of an id
  FILE  A file of the checkpoint, relative to the project's directory; after --, also one
        whose name looks like an option

Options:
{options}{after-help}";

const ROLLBACK_EXAMPLES: &str = "\
Examples:
  herma rollback                  list the checkpoints, newest first
  herma rollback diff 1           what changed since checkpoint 1: a summary, then the patch
  herma rollback 1                restore all of checkpoint 1, leave files created since
  herma rollback 4270a8c --exact  the same by id, and remove files created since
  herma rollback 1 src/main.py    restore one file and touch no other
  herma rollback 1 -- --odd       a file whose name begins with dashes

A restore first takes a checkpoint of the present state, and prints how to undo the restore.

Exit codes: 0 done; 2 failed, or some paths could not be restored or stayed, since no checkpoint
holds what is there.";

const CHECKPOINTS_EXAMPLES: &str = "\
Examples:
  herma checkpoints
  herma checkpoints status --json
  herma checkpoints verify
  herma checkpoints prune --retention-days 3 --max-size-mb 200
  herma checkpoints clear-legacy

Exit codes: 0 done; 1 declined; 2 failed.";

const PRUNE_EXAMPLES: &str = "\
Removes projects whose directory is gone, if its parent directory still exists, and projects,
legacy archives and v1 repositories that were not used for longer than the retention. Then frees
unneeded space, and removes the oldest checkpoints while the store is larger than its limit; the
newest of each project stays. Limits that are not given are as configured.

Examples:
  herma checkpoints prune
  herma checkpoints prune --retention-days 3 --max-size-mb 200
  herma checkpoints prune --retention-days 0 --keep-orphans  only free space

Exit codes: 0 done, also when there was nothing to do; 2 failed, or a part could not be done.";

const VERIFY_EXAMPLES: &str = "\
Changes nothing. A checkpoint that is damaged in part can still be restored but for the files
that are named; the next checkpoint stores again what the project still has.

Examples:
  herma checkpoints verify
  herma checkpoints verify --json

Exit codes: 0 everything is whole; 2 something is damaged, or the store cannot be read.";

const CLEAR_EXAMPLES: &str = "\
Files in the checkpoint base that belong to neither the store nor an archive stay.

Examples:
  herma checkpoints clear           asks first, on standard error
  herma checkpoints clear --force

Exit codes: 0 done, also when there was nothing to do; 1 declined, and nothing was changed;
2 failed.";

const CLEAR_LEGACY_EXAMPLES: &str = "\
A legacy archive holds the repositories of v1, one for each directory. Git can read them
until they are removed.

Examples:
  herma checkpoints clear-legacy    asks first, on standard error
  herma checkpoints clear-legacy --force

Exit codes: 0 done, also when there was nothing to do; 1 declined, and nothing was changed;
2 failed.";

const CLASSIFY_EXAMPLES: &str = "\
The command is read as a shell reads it; nothing is run, and no file is looked at. What cannot be
known, such as a program that a variable names, counts as changing files.

Examples:
  herma classify -- 'make clean && ls > log'   one word is a line of shell
  herma classify -- git -C src checkout main   several are a program and its arguments
  herma classify --json -- rm -r build

Exit codes: 0 done, whatever the answer is; 2 failed.";

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
    /// Show what the checkpoint store holds and costs, or make it smaller
    #[command(after_help = CHECKPOINTS_EXAMPLES)]
    Checkpoints {
        #[command(subcommand)]
        about: Option<About>,
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
}

#[derive(Debug, Args)]
struct RollbackArguments {
    #[arg(hide = true)]
    words: Vec<OsString>,
    #[arg(last = true, hide = true)]
    literal: Vec<OsString>,
    /// The project's directory [default: the project of the current directory]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Also remove files created since the checkpoint; the one taken first holds them
    #[arg(long)]
    exact: bool,
    /// Go on even if no checkpoint of the present state can be taken
    #[arg(long)]
    force: bool,
}

/// What was asked, by what is needed to do it.
#[derive(Debug)]
pub enum Request {
    /// A home, a configuration and mostly a store.
    Usual(Asked),
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
    Take { reason: String },
    /// List the checkpoints.
    List,
    /// Show what changed since one.
    Diff { target: OsString },
    /// Restore all of one.
    Restore { target: OsString, options: RestoreOptions },
    /// Restore one file of one.
    RestoreFile { target: OsString, file: OsString },
    /// Show what the store holds, or make it smaller.
    Store(About),
    /// Say whether this line of shell changes files.
    Classify(String),
}

/// All that can be typed.
pub fn command() -> clap::Command {
    Arguments::command()
}

impl Request {
    /// Parses the words, the command's own name first.
    ///
    /// # Errors
    /// As clap reports them: invalid arguments, or a call for help.
    pub fn read(typed: &[OsString]) -> Result<Self, clap::Error> {
        let Arguments { json, command } = Arguments::try_parse_from(typed)?;
        let (dir, task) = match command {
            Command::Checkpoint(asked) => (asked.dir, Task::Take { reason: asked.reason }),
            Command::Rollback(asked) => (asked.dir.clone(), asked.task()?),
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
    /// Whether it depends on the current directory which project it is about.
    pub fn is_about_here(&self) -> bool {
        let is_whole = |dir: &Path| dir.is_absolute() || dir.starts_with("~");
        !matches!(self.task, Task::Store(_) | Task::Classify(_))
            && !self.dir.as_deref().is_some_and(is_whole)
    }
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

impl RollbackArguments {
    /// The task that the words mean; an error for too few or too many, or options that do not go
    /// with them.
    fn task(&self) -> Result<Task, clap::Error> {
        // After the dashes `diff` is a name like any other.
        let is_diff = self.words.first().is_some_and(|word| word == "diff");
        let words = self.words.iter().chain(&self.literal).skip(usize::from(is_diff));
        let words: Vec<&OsString> = words.collect();
        let options = RestoreOptions { exact: self.exact, force: self.force };
        let plain = options == RestoreOptions::default();
        match (is_diff, words.as_slice()) {
            (true, []) => Err(usage(
                ErrorKind::MissingRequiredArgument,
                "diff needs the number or id of a checkpoint",
            )),
            (true, [target]) if plain => Ok(Task::Diff { target: (*target).clone() }),
            (false, []) if plain => Ok(Task::List),
            (false, [target]) => Ok(Task::Restore { target: (*target).clone(), options }),
            (false, [target, file]) if plain => {
                Ok(Task::RestoreFile { target: (*target).clone(), file: (*file).clone() })
            }
            (false, []) | (true, [_]) | (false, [_, _]) => Err(usage(
                ErrorKind::ArgumentConflict,
                "--exact and --force go with a whole checkpoint: herma rollback N",
            )),
            (true, _) => Err(usage(ErrorKind::TooManyValues, "diff takes one checkpoint")),
            (false, _) => Err(usage(
                ErrorKind::TooManyValues,
                "at most a checkpoint and one file of it can be named",
            )),
        }
    }
}

fn usage(kind: ErrorKind, message: &str) -> clap::Error {
    let mut whole = Arguments::command();
    whole.build();
    match whole.find_subcommand_mut("rollback") {
        Some(rollback) => rollback.error(kind, message),
        None => whole.error(kind, message),
    }
}
