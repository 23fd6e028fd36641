//! What the command does about an agent's state beside its files: it finds it, shows what a checkpoint
//! carries, pins, and settles what was done outside.

use crate::arguments::Actions;
use crate::commands::{Answer, Ending, Failure, Herma};
use crate::{pages, shell, text, whole_pages};
use herma_core::disk::{Disk, SystemDisk};
use herma_core::state::{Action, Compensation, Compensations, External, Standing, State};
use herma_core::{
    ActionNote, Clock, Config, Environment, Extent, LeftOut, Manager, Remark, SystemClock,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// More bytes than anyone registers.
const BYTES_MAX: u64 = 1024 * 1024;
/// A compensation that takes longer is stopped: until it ends no other can run.
const LIMIT: Duration = Duration::from_secs(300);
/// Which compensation there is for which kind of action.
pub const COMPENSATIONS: &str = "compensations.json";

/// A line of shell that undoes one kind of action.
struct CommandCompensation(String);

impl Compensation for CommandCompensation {
    fn run(&self, action: &ActionNote) -> Result<(), String> {
        let mut command = shell::line(&self.0);
        command
            .env("HERMA_KIND", &action.kind)
            .env("HERMA_ID", action.id.as_deref().unwrap_or_default())
            .env("HERMA_TO", action.to.as_deref().unwrap_or_default());
        let ran = shell::run(command, LIMIT)
            .map_err(|error| format!("{:?} was not run: {error}", self.0))?;
        match ran.is_good {
            true => Ok(()),
            false => {
                let said = String::from_utf8_lossy(&ran.output).trim().to_owned();
                let said = if said.is_empty() { said } else { format!(": {said}") };
                Err(format!("{:?}: {}{said}", self.0, ran.how))
            }
        }
    }
}

/// The state of the agent that has its folder in that environment, if one has, and what is wrong with
/// the compensations that are registered: without them nothing can be undone, and all else works.
pub fn state(disk: &Arc<dyn Disk>, environment: &Environment) -> (Option<State>, Option<Failure>) {
    let folder = environment.agent_folder();
    if !folder.is_dir() {
        return (None, None);
    }
    in_folder(disk, folder)
}

/// What changes the state of the agent in that environment, whatever its configuration says.
pub fn state_manager(environment: &Environment) -> Manager {
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    let (found, _) = state(&disk, environment);
    let manager = Manager::new(disk, Arc::new(SystemClock), environment.clone(), Config::default());
    manager.with_state(found.unwrap_or_default())
}

fn in_folder(disk: &Arc<dyn Disk>, folder: PathBuf) -> (Option<State>, Option<Failure>) {
    let folder = std::fs::canonicalize(&folder).unwrap_or(folder);
    let (registered, failure) = match registered(disk.as_ref(), &folder) {
        Ok(registered) => (registered, None),
        Err(failure) => (BTreeMap::new(), Some(failure)),
    };
    let compensation = |(kind, command): (String, String)| {
        let compensation: Arc<dyn Compensation> = Arc::new(CommandCompensation(command));
        (kind, compensation)
    };
    let compensations: Compensations = registered.into_iter().map(compensation).collect();
    (Some(State::in_files(disk, Arc::new(SystemClock), &folder, compensations)), failure)
}

/// What is registered: for each kind of action a line of shell.
///
/// # Errors
/// A file that cannot be read.
pub fn registered(disk: &dyn Disk, folder: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let path = folder.join(COMPENSATIONS);
    let unreadable = |why: String| Failure {
        code: "bad_state",
        message: format!("{path:?} cannot be read ({why}); nothing was changed: mend or remove it"),
    };
    match disk.read(&path, BYTES_MAX) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(unreadable(error.to_string())),
        Ok((bytes, _)) => {
            serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))
        }
    }
}

#[derive(Serialize)]
struct Shown<'a, T> {
    id: &'a str,
    envelope: T,
    left_out: &'a [Remark],
}

#[derive(Serialize)]
struct Pinned<'a> {
    id: &'a str,
    pinned: bool,
}

#[derive(Serialize)]
struct Settled<T> {
    actions: T,
}

impl Herma {
    /// Shows why a checkpoint was taken, and what it carries beside its files.
    pub fn show(&self, project: &Path, target: &[u8]) -> Result<Answer, Failure> {
        let (id, envelope) = self.manager.envelope(project, target)?;
        let listed = self.manager.list(project)?.into_iter().find(|one| one.id == id);
        let left_out: Vec<Remark> =
            self.manager.left_out(project, id.as_bytes())?.iter().map(LeftOut::remark).collect();
        let data = Shown { id: &id, envelope: &envelope, left_out: &left_out };
        self.done_in(project, &data, || {
            let page = whole_pages::envelope(&id, listed.as_ref(), envelope.as_ref());
            (page + &whole_pages::left_out(&left_out)).into_bytes()
        })
    }

    /// Pins or unpins a checkpoint.
    pub fn pin(&self, project: &Path, target: &[u8], pinned: bool) -> Result<Answer, Failure> {
        let id = match pinned {
            true => self.manager.pin(project, target)?,
            false => self.manager.unpin(project, target)?,
        };
        self.done_in(project, &Pinned { id: &id, pinned }, || {
            let mut page = pages::Page::default();
            let id = herma_core::printed::short(self.style, &id);
            match pinned {
                true => {
                    page.line(format_args!("No limit drops checkpoint {id} until it is unpinned"))
                }
                false => page.line(format_args!("Checkpoint {id} goes with the others of its age")),
            }
            page.0.into_bytes()
        })
    }

    /// Shows or settles what the agent did outside.
    // rule: agent/compensation
    pub fn actions(&self, about: Actions) -> Result<Answer, Failure> {
        let Some(external) = self.manager.state().external() else {
            let folder = self.environment.agent_folder();
            let message = format!("no agent has its state in {folder:?}; nothing was changed");
            return Err(Failure { code: "no_agent", message });
        };
        self.settle(external, about, "herma actions")
    }

    /// The same on behalf of somebody.
    pub fn settle(
        &self,
        external: &External,
        about: Actions,
        who: &str,
    ) -> Result<Answer, Failure> {
        match about {
            Actions::List => {
                let all = external.all()?;
                self.done(&Settled { actions: &all }, || {
                    whole_pages::actions(self.style, &all, external.is_compensating())
                })
            }
            Actions::Audit => {
                let all = external.audit()?;
                self.done(&Settled { actions: &all }, || whole_pages::audit(&all))
            }
            Actions::Accept => {
                let all = external.accept(who)?;
                self.done(&Settled { actions: &all }, || whole_pages::accepted(self.style, &all))
            }
            Actions::Compensate { again } => {
                let all = external.compensate(who, again)?;
                let failed = all.iter().filter(|one| one.failure.is_some()).count();
                let data = Settled { actions: &all };
                let waiting = external.all()?.iter().filter(|one| is_waiting(one)).count();
                let waiting = if failed == 0 { waiting } else { 0 };
                let answer =
                    self.done(&data, || whole_pages::compensated(self.style, &all, waiting))?;
                let ending = match failed {
                    0 => Ending::Done,
                    failed => Ending::Incomplete(Failure {
                        code: "compensation_failed",
                        message: format!(
                            "{} failed, and will not be tried again unasked: mend the cause, then \
                             compensate --again, or accept",
                            text::count(failed, "compensation", "compensations")
                        ),
                    }),
                };
                Ok(Answer { ending, ..answer })
            }
        }
    }
}

impl Herma {
    /// The state of an agent whose folder was made since, and what is wrong with it.
    pub fn find_state(&mut self) -> (Option<State>, Option<Failure>) {
        let (found, failure) = state(&self.disk, &self.environment);
        if let Some(state) = &found {
            self.manager.set_state(state.clone());
        }
        (found, failure)
    }

    /// Makes the folder of an agent whose state is to come back, if it is not there: should the rollback
    /// die, who finds the folder undoes it.
    pub fn make_agent_folder(&self) -> Option<PathBuf> {
        let folder = self.environment.agent_folder();
        self.disk.make_directory(&folder, 0o700).ok()?;
        let _ = self.disk.sync_directory(folder.parent().unwrap_or(&folder));
        Some(folder)
    }

    /// What restores that much of a checkpoint where the agent's folder was removed, and the checkpoint
    /// carries what was in it: files and state come back, or neither.
    // rule: agent/all-or-none
    pub fn of_removed_agent(
        &self,
        project: &Path,
        target: &[u8],
        extent: Extent<'_>,
    ) -> Option<Manager> {
        if !self.manager.state().is_empty() || matches!(extent, Extent::One(_)) {
            return None;
        }
        // What is wrong with the target the restore itself says.
        let (_, envelope) = self.manager.envelope(project, target).ok()?;
        envelope.filter(|envelope| !envelope.parts.is_empty())?;
        let (state, _) = in_folder(&self.disk, self.environment.agent_folder());
        let (disk, environment) = (self.disk.clone(), self.environment.clone());
        let config = self.manager.config().clone();
        let manager = Manager::new(disk, Arc::new(SystemClock), environment, config);
        Some(manager.with_state(state?).interrupted_by(self.interrupt.clone()))
    }
}

/// Whether an action was left behind, and its compensation only runs again where that is asked for.
fn is_waiting(action: &Action) -> bool {
    let is_stuck = matches!(action.standing, Standing::Failed { .. } | Standing::Compensating);
    is_stuck && action.left_by.is_some()
}

/// When something was, for people.
pub fn since(seconds: i64) -> String {
    text::ago(seconds, SystemClock.seconds())
}
