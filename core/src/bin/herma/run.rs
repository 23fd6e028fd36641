//! `herma run -- COMMAND`: a checkpoint, the command, and what it changed; for agents without hooks, and for whatever
//! else changes many files.

use crate::commands::{Answer, Ending, Failure, Herma};
use crate::maintenance::is_confirmed;
use crate::pages::{self, NamedRows};
use crate::request::{StoreRequest, Task};
use crate::rollback_arguments::ProjectArguments;
use crate::rollback_pages::ROWS_MAX;
use crate::text::shell_word;
use clap::Args;
use herma_core::agent::shortened;
use herma_core::rollback_line;
use herma_core::{Outcome, RestoreOptions};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// The time between two looks at the command.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The arguments.
#[derive(Debug, Args)]
pub struct RunArguments {
    #[command(flatten)]
    pub project: ProjectArguments,
    // It is refused, with a reason.
    #[arg(long = "json", id = "json", hide = true)]
    _json: bool,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    words: Vec<OsString>,
}

impl Herma {
    /// Runs the command between a checkpoint and a summary; returns its exit code. SIGTERM, which `terminated` tells,
    /// is passed on: a supervisor sends it to this process alone. While `interrupted` is set, a signal ends this process.
    ///
    /// # Errors
    /// No checkpoint can be taken, the command cannot be started, or what changed cannot be told.
    pub fn run_command(
        &self,
        arguments: &RunArguments,
        interrupted: &AtomicBool,
        terminated: &AtomicBool,
    ) -> Result<u8, Failure> {
        let dir = arguments.project.dir.as_deref();
        let project = self.project(dir);
        let words: Vec<String> =
            arguments.words.iter().map(|word| shell_word(word.as_bytes())).collect();
        let reason = shortened(&format!("before run: {}", words.join(" ")));
        let taken = self.manager.checkpoint(&project, &reason)?;
        tell(&pages::set_aside(self.style, &taken));
        let before = match taken.outcome {
            Outcome::Created { id } => Some(id),
            Outcome::Unchanged { id } => id,
            Outcome::Deduped | Outcome::Disabled => None,
        };
        let (program, rest) =
            arguments.words.split_first().ok_or_else(|| cannot_run("no command was given"))?;
        let child = Command::new(program).args(rest).spawn();
        let status = child.and_then(|mut child| wait(&mut child, terminated));
        let status =
            status.map_err(|error| cannot_run(&format!("{program:?} cannot be run: {error}")))?;
        // The command has run: its code counts, whatever can be told.
        let told = match before {
            Some(before) => self
                .tell_changes(&project, &before, dir, interrupted)
                .err()
                .map(|failure| failure.message),
            None => {
                let message = "the project had no files before, so no checkpoint was taken and this cannot be \
                               undone: remove new files yourself";
                Some(message.to_owned())
            }
        };
        if let Some(message) = told {
            tell(&format!("herma: {message}\n"));
        }
        let signal = || status.signal().map_or(1, |signal| 128 + signal);
        Ok(status.code().unwrap_or_else(signal) as u8)
    }

    /// Tells what changed since a checkpoint, and offers to roll it back.
    fn tell_changes(
        &self,
        project: &Path,
        before: &str,
        dir: Option<&Path>,
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let diff = self.manager.diff(project, before.as_bytes())?;
        tell(&pages::changed(self.style, project, &diff, NamedRows { max: ROWS_MAX, dir }));
        let is_asked = !diff.entries.is_empty() && std::io::stdin().is_terminal();
        // Ctrl-C is an answer, too.
        interrupted.store(true, Ordering::Relaxed);
        let is_confirmed = is_asked && is_confirmed("Roll this back? [y/N] ");
        interrupted.store(false, Ordering::Relaxed);
        if is_confirmed {
            let task = rollback_line::Task::Restore {
                target: before.as_bytes().to_vec(),
                paths: Vec::new(),
                options: RestoreOptions { exact: true, force: false },
                dry_run: false,
                token: None,
            };
            let dir = dir.map(Path::to_owned);
            let task = Task::Rollback(task);
            let request = StoreRequest { json: false, dir, task, undoes_turns: false };
            let Answer { bytes, ending, .. } = self.run(&request)?;
            let _ = std::io::stderr().write_all(&bytes);
            if let Ending::Incomplete(failure) = ending {
                return Err(failure);
            }
        }
        Ok(())
    }
}

/// Prints a text. The output is the command's, so it goes to standard error; there is no way to tell that it cannot be
/// told.
fn tell(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Waits for the command to end, and passes SIGTERM on to it meanwhile.
fn wait(child: &mut Child, terminated: &AtomicBool) -> io::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if terminated.swap(false, Ordering::Relaxed) {
            let _ = kill_process(Pid::from_child(child), Signal::TERM);
        }
        sleep(POLL_INTERVAL);
    }
}

fn cannot_run(message: &str) -> Failure {
    Failure::new("cannot_run", message)
}
