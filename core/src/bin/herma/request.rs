//! Requests to the store, and what follows from the kind of a request. `arguments` makes them from words.

use crate::arguments::CheckpointArguments;
use crate::look::{CatArguments, DiffArguments, LogArguments};
use crate::store_arguments::{ActionsCommand, StoreCommand};
use herma_core::{is_relative, rollback_line};
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
    /// Whether `undo` also undoes what followed the newest checkpoint: `herma undo` does, and `rollback undo` is about
    /// rollbacks alone.
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
        use rollback_line::Task::Diff;
        matches!(self.task, Task::Cat(_) | Task::Diff(_) | Task::Rollback(Diff { .. }))
    }

    /// Whether its answer may be longer than a screen, and changes nothing.
    pub fn may_be_long(&self) -> bool {
        use rollback_line::Task::{Diff, List, Show};
        match &self.task {
            Task::Rollback(task) => matches!(task, List | Diff { .. } | Show { .. }),
            task => matches!(task, Task::Diff(_) | Task::Log(_)),
        }
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
