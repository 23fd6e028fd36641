//! `herma run -- COMMAND`: a checkpoint, the command, and what it changed; for agents without hooks, and for whatever
//! else changes many files.

use crate::commands::{Answer, Ending, Failure, Herma};
use crate::maintenance::is_confirmed;
use crate::pages;
use crate::request::{StoreRequest, Task};
use crate::rollback_arguments::ProjectArguments;
use crate::rollback_pages::ROWS_MAX;
use crate::text::shell_word;
use clap::Args;
use herma_core::agent::shortened;
use herma_core::rollback_line;
use herma_core::{Outcome, RestoreOptions};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

/// The arguments.
#[derive(Debug, Args)]
pub struct RunArguments {
    #[command(flatten)]
    pub project: ProjectArguments,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    words: Vec<OsString>,
}

impl Herma {
    /// Runs the command between a checkpoint and a summary; returns its exit code.
    ///
    /// # Errors
    /// No checkpoint can be taken, the command cannot be started, or what changed cannot be told.
    pub fn run_command(&self, arguments: &RunArguments) -> Result<u8, Failure> {
        let project = self.project(arguments.project.dir.as_deref());
        let words: Vec<String> =
            arguments.words.iter().map(|word| shell_word(word.as_bytes())).collect();
        let reason = shortened(&format!("before run: {}", words.join(" ")));
        let taken = self.manager.checkpoint(&project, &reason)?;
        let before = match taken.outcome {
            Outcome::Created { id } => Some(id),
            _ => self.manager.list(&project)?.into_iter().next().map(|newest| newest.id),
        };
        let (program, rest) =
            arguments.words.split_first().ok_or_else(|| cannot_run("no command was given"))?;
        let status = Command::new(program).args(rest).status();
        let status =
            status.map_err(|error| cannot_run(&format!("{program:?} cannot be run: {error}")))?;
        // The command has run: its code counts, whatever can be told.
        let told = match before {
            Some(before) => {
                self.tell_changes(&project, &before).err().map(|failure| failure.message)
            }
            None => {
                Some("the project was empty, so there is no checkpoint to go back to".to_owned())
            }
        };
        if let Some(message) = told {
            let _ = writeln!(std::io::stderr(), "herma: {message}");
        }
        let signal = || status.signal().map_or(1, |signal| 128 + signal);
        Ok(status.code().unwrap_or_else(signal) as u8)
    }

    /// Tells what changed since a checkpoint, and offers to roll it back. The output is the command's, so this goes to
    /// standard error.
    fn tell_changes(&self, project: &Path, before: &str) -> Result<(), Failure> {
        let diff = self.manager.diff(project, before.as_bytes())?;
        let mut error = std::io::stderr();
        // There is no way to tell that it cannot be told.
        let _ = error.write_all(pages::changed(self.style, project, &diff, ROWS_MAX).as_bytes());
        let is_asked = !diff.entries.is_empty() && std::io::stdin().is_terminal();
        if is_asked && is_confirmed("Roll this back? [y/N] ") {
            let task = rollback_line::Task::Restore {
                target: before.as_bytes().to_vec(),
                paths: Vec::new(),
                options: RestoreOptions { exact: true, force: false },
                dry_run: false,
                token: None,
            };
            let dir = Some(project.to_owned());
            let task = Task::Rollback(task);
            let request = StoreRequest { json: false, dir, task, undoes_turns: false };
            let Answer { bytes, ending, .. } = self.run(&request)?;
            let _ = error.write_all(&bytes);
            if let Ending::Incomplete(failure) = ending {
                return Err(failure);
            }
        }
        Ok(())
    }
}

fn cannot_run(message: &str) -> Failure {
    Failure::new("cannot_run", message)
}
