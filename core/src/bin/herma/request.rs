//! Requests to the store, and what follows from the kind of a request. `arguments` makes them from words.

use crate::arguments::CheckpointArguments;
use crate::look::{CatArguments, DiffArguments, LogArguments};
use crate::pages::dir_option;
use crate::store_arguments::{ActionsCommand, StoreCommand};
use crate::text::shell_word;
use herma_core::{ListName, is_relative, rollback_line};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A request to the store.
#[derive(Debug)]
pub struct StoreRequest {
    /// Whether to answer in JSON.
    pub json: bool,
    /// The project's directory, if one was named.
    pub dir: Option<PathBuf>,
    /// What to do.
    pub task: Task,
    /// Whether `undo` and `redo` are also about what followed the newest checkpoint: `herma undo` and `herma redo` are,
    /// and `rollback undo` is about rollbacks alone.
    pub undoes_turns: bool,
}

/// What to do.
#[derive(Debug)]
pub enum Task {
    /// Take a checkpoint.
    Take(CheckpointArguments),
    /// Pin or unpin a checkpoint.
    Pin {
        /// The number, label or id of the checkpoint.
        target: OsString,
        /// Whether to pin it.
        is_pinned: bool,
    },
    /// Show or settle external actions.
    Actions(ActionsCommand),
    /// Show what changed since a checkpoint, or between two.
    Diff(DiffArguments),
    /// Print a file of a checkpoint.
    Cat(CatArguments),
    /// List the checkpoints that changed a file.
    Log(LogArguments),
    /// List the checkpoints, or show, compare or restore a checkpoint.
    Rollback(rollback_line::Task),
    /// Show what the store holds, or make it smaller.
    Store(StoreCommand),
    /// Report whether this shell command changes files.
    Classify(String),
}

impl StoreRequest {
    /// The request of a parsed line that begins with `rollback`.
    pub fn from_line(parsed: rollback_line::ParsedRollback, json: bool) -> Self {
        let dir = parsed.dir.map(|dir| PathBuf::from(OsStr::from_bytes(&dir)));
        let json = json || parsed.json;
        StoreRequest { json, dir, task: Task::Rollback(parsed.task), undoes_turns: false }
    }

    /// Whether it changes the files of a project.
    pub fn restores(&self) -> bool {
        use rollback_line::Task::Restore;
        matches!(self.task, Task::Rollback(Restore { dry_run: false, .. }))
    }

    /// What it does for long in a large project, for the user who waits; what shows its own progress is not told here.
    pub fn takes_long(&self) -> Option<&'static str> {
        match &self.task {
            Task::Rollback(rollback_line::Task::Show { .. })
            | Task::Classify(_)
            | Task::Store(_) => None,
            _ if self.restores() => Some("Saving the present files first"),
            Task::Take(_) => Some("Saving the files of the project"),
            _ => Some("Reading the files of the project"),
        }
    }

    /// Whether its answer has lines of files.
    pub fn prints_files(&self) -> bool {
        match &self.task {
            Task::Diff(arguments) => !arguments.stat,
            task => matches!(task, Task::Cat(_) | Task::Rollback(rollback_line::Task::Diff { .. })),
        }
    }

    /// Whether its answer may be longer than a screen, and changes nothing.
    pub fn may_be_long(&self) -> bool {
        self.only_reads() && !matches!(self.task, Task::Store(_) | Task::Cat(_))
    }

    /// Whether it only reads.
    pub fn only_reads(&self) -> bool {
        use StoreCommand::{Excluded, Status, Verify};
        use rollback_line::Task::{Diff, List, Show};
        match &self.task {
            Task::Rollback(task) => matches!(task, List | Diff { .. } | Show { .. }),
            Task::Store(command) => matches!(command, Status | Verify | Excluded { .. }),
            task => matches!(task, Task::Diff(_) | Task::Cat(_) | Task::Log(_)),
        }
    }

    /// What was probably meant, if a word is not a checkpoint.
    pub fn hint(&self) -> Option<String> {
        use rollback_line::Task::{Diff, Restore, Show};
        let dir = dir_option(self.dir.as_deref());
        match &self.task {
            Task::Rollback(Restore { target, paths, .. }) => match paths.first() {
                Some(number) if ListName::parse(number).is_some() => {
                    let words = [number, target].map(shell_word).join(" ");
                    Some(format!("the checkpoint comes first: `herma restore {words}{dir}`"))
                }
                Some(_) => meant(target),
                None => meant(target).or_else(|| {
                    let is_file = !target.starts_with(b"-")
                        && target.iter().any(|byte| matches!(byte, b'.' | b'/'));
                    let file = is_file.then(|| shell_word(target))?;
                    Some(format!("a file follows the checkpoint: `herma restore 1 {file}{dir}`"))
                }),
            },
            Task::Rollback(Diff { target } | Show { target }) => meant(target),
            Task::Pin { target, .. } => meant(target.as_bytes()),
            Task::Cat(arguments) => meant(arguments.target.as_bytes()),
            Task::Diff(arguments) => {
                let targets = arguments.targets.iter().map(|target| target.as_bytes());
                let is_number = |target: &&[u8]| ListName::parse(target).is_some();
                let (numbers, odd): (Vec<&[u8]>, Vec<&[u8]>) = targets.partition(is_number);
                let word = odd.first()?;
                meant(word).or_else(|| {
                    let numbers: String =
                        numbers.iter().map(|number| format!(" {}", shell_word(number))).collect();
                    let word = shell_word(word);
                    let is_last = odd.len() == 1 && arguments.paths.is_empty();
                    is_last
                        .then(|| format!("a path follows --: `herma diff{numbers}{dir} -- {word}`"))
                })
            }
            _ => None,
        }
    }

    /// What was probably meant, if the directory of a checkpoint does not exist: a reason has no slash.
    pub fn reason_hint(&self) -> Option<String> {
        let typed = self.dir.as_ref().filter(|_| matches!(self.task, Task::Take(_)))?;
        let typed = typed.as_os_str().as_bytes();
        let reason = (!typed.contains(&b'/')).then(|| shell_word(typed))?;
        Some(format!("if it is a reason: `herma checkpoint --reason {reason}`"))
    }

    /// Whether it finds or restores what is stored, which works whatever the configuration says.
    pub fn rescues(&self) -> bool {
        use StoreCommand::{Status, Verify};
        use Task::{Cat, Diff, Log, Rollback, Store};
        matches!(self.task, Rollback(_) | Diff(_) | Cat(_) | Log(_) | Store(Status | Verify))
    }

    /// Whether every failure has the exit code 2, as the commands of the model of the kind have it.
    // rule: maintenance/commands
    pub fn has_one_failure_code(&self) -> bool {
        use StoreCommand::{Clear, ClearLegacy, Prune, Status};
        matches!(self.task, Task::Store(Status | Prune(_) | Clear(_) | ClearLegacy(_)))
    }

    /// Whether the current directory determines the project.
    pub fn depends_on_current_directory(&self) -> bool {
        let is_about_project = match &self.task {
            Task::Store(command) => matches!(command, StoreCommand::Excluded { .. }),
            Task::Classify(_) | Task::Actions(_) => false,
            _ => true,
        };
        is_about_project && self.dir.as_deref().is_none_or(is_relative)
    }
}

/// What a word stands for that other tools have for a checkpoint, or for the help.
fn meant(word: &[u8]) -> Option<String> {
    match word.to_ascii_lowercase().as_slice() {
        b"latest" | b"newest" | b"last" | b"head" => Some("the newest checkpoint is 1".to_owned()),
        b"help" => Some("for the help, type `herma rollback --help`".to_owned()),
        _ => None,
    }
}
