//! The commands about the agent state: they find it, show which parts of it a checkpoint contains, pin
//! checkpoints, and compensate or accept external actions.

use crate::agent_folder;
use crate::commands::{Answer, Failure, Herma};
use crate::store_arguments::ActionsCommand;
use crate::{pages, shell, text, whole_pages};
use herma_core::disk::{Disk, SystemDisk};
use herma_core::state::{Action, ActionStatus, Compensation, Compensations, State};
use herma_core::{
    ActionNote, Config, Environment, Error, LeftOut, Manager, Remark, Scope, SystemClock,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The size limit of the file of compensations, larger than any that users write.
const BYTES_MAX: u64 = 1024 * 1024;
/// A compensation that takes longer is stopped, since no other can run until it ends.
const LIMIT: Duration = Duration::from_secs(300);
/// The file that registers a compensation for each kind of action.
pub const COMPENSATIONS: &str = "compensations.json";

/// A shell command that undoes one kind of action.
struct CommandCompensation(String);

impl Compensation for CommandCompensation {
    fn run(&self, action: &ActionNote) -> Result<(), String> {
        let mut command = shell::line(&self.0);
        command
            .env("HERMA_KIND", &action.kind)
            .env("HERMA_ID", action.id.as_deref().unwrap_or_default())
            .env("HERMA_TO", action.to.as_deref().unwrap_or_default());
        let finished = shell::run(command, LIMIT)
            .map_err(|error| format!("{:?} was not run: {error}", self.0))?;
        match finished.is_success {
            true => Ok(()),
            false => {
                let output = String::from_utf8_lossy(&finished.output).trim().to_owned();
                let output = if output.is_empty() { output } else { format!(": {output}") };
                Err(format!("{:?}: {}{output}", self.0, finished.status))
            }
        }
    }
}

/// The state of the agent whose folder is in the environment, if there is one, and what is wrong with
/// the registered compensations: without them no action can be undone, and everything else works.
pub fn state(disk: &Arc<dyn Disk>, environment: &Environment) -> (Option<State>, Option<Failure>) {
    let folder = environment.agent_folder();
    if !folder.is_dir() {
        return (None, None);
    }
    in_folder(disk, folder)
}

/// A manager that changes the state of the environment's agent, whatever the configuration says.
pub fn state_manager(environment: &Environment) -> Manager {
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    let (state, _) = state(&disk, environment);
    let manager = Manager::new(disk, Arc::new(SystemClock), environment.clone(), Config::default());
    manager.with_state(state.unwrap_or_default())
}

fn in_folder(disk: &Arc<dyn Disk>, folder: PathBuf) -> (Option<State>, Option<Failure>) {
    let folder = std::fs::canonicalize(&folder).unwrap_or(folder);
    let (commands, failure) = match registered(disk.as_ref(), &folder) {
        Ok(commands) => (commands, None),
        Err(failure) => (BTreeMap::new(), Some(failure)),
    };
    let compensation = |(kind, command): (String, String)| {
        let compensation: Arc<dyn Compensation> = Arc::new(CommandCompensation(command));
        (kind, compensation)
    };
    let compensations: Compensations = commands.into_iter().map(compensation).collect();
    (Some(State::in_files(disk, Arc::new(SystemClock), &folder, compensations)), failure)
}

/// The registered compensations: a shell command for each kind of action.
///
/// # Errors
/// The file cannot be read.
pub fn registered(disk: &dyn Disk, folder: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let path = folder.join(COMPENSATIONS);
    let unreadable = |why: String| {
        let consequence = "so no action can be compensated: fix or remove it";
        Failure::new("bad_state", format!("{path:?} cannot be read ({why}), {consequence}"))
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
    /// Shows why a checkpoint was taken, and what it carries in addition to its files.
    pub fn show(&self, project: &Path, target: &[u8]) -> Result<Answer, Failure> {
        let (id, envelope) = self.manager.envelope(project, target)?;
        let listed = self.manager.list(project)?.into_iter().find(|checkpoint| checkpoint.id == id);
        let left_out: Vec<Remark> =
            self.manager.left_out(project, id.as_bytes())?.iter().map(LeftOut::remark).collect();
        let data = Shown { id: &id, envelope: &envelope, left_out: &left_out };
        self.answer_in_project(project, &data, || {
            let page = whole_pages::envelope(&id, listed.as_ref(), envelope.as_ref());
            page + &whole_pages::left_out(&left_out)
        })
    }

    /// Pins or unpins a checkpoint.
    pub fn pin(&self, project: &Path, target: &[u8], pinned: bool) -> Result<Answer, Failure> {
        let id = match pinned {
            true => self.manager.pin(project, target)?,
            false => self.manager.unpin(project, target)?,
        };
        // It is done, whether or not it can be told what is left.
        let is_gone = !pinned && self.lists(project, &id).is_ok_and(|is_listed| !is_listed);
        self.answer_in_project(project, &Pinned { id: &id, pinned }, || {
            let mut page = pages::Page::default();
            let id = herma_core::printed::short(self.style, &id);
            match pinned {
                true => writeln!(page, "Pinned checkpoint {id}: no limit removes it"),
                false if is_gone => writeln!(
                    page,
                    "Unpinned checkpoint {id}, and so it is gone: only the pin kept it beyond max_snapshots"
                ),
                false => writeln!(page, "Unpinned checkpoint {id}: the limits may remove it"),
            }
            page.0
        })
    }

    /// Whether the list of a project, or the line below it, names a checkpoint.
    fn lists(&self, project: &Path, id: &str) -> Result<bool, Error> {
        let is_listed = self.manager.list(project)?.iter().any(|listed| listed.id == id);
        Ok(is_listed || self.manager.unlisted(project)?.iter().any(|unlisted| unlisted.id == id))
    }

    /// Shows or settles the external actions of the agent on behalf of `actor`, which the audit names.
    // rule: agent/compensation
    pub fn actions(&self, command: ActionsCommand, actor: &str) -> Result<Answer, Failure> {
        let Some(external) = self.manager.state().external() else {
            let folder = self.environment.agent_folder();
            let message =
                format!("there is no agent state in {folder:?}, so there are no external actions");
            return Err(Failure::new("no_agent", message));
        };
        match command {
            ActionsCommand::List => {
                let actions = external.all()?;
                Answer::of(self.json, &Settled { actions: &actions }, || {
                    whole_pages::actions(self.style, &actions, external.is_compensating())
                })
            }
            ActionsCommand::Audit => {
                let decisions = external.audit()?;
                Answer::of(self.json, &Settled { actions: &decisions }, || {
                    whole_pages::audit(&decisions)
                })
            }
            ActionsCommand::Accept => {
                let accepted = external.accept(actor)?;
                Answer::of(self.json, &Settled { actions: &accepted }, || {
                    whole_pages::accepted(self.style, &accepted)
                })
            }
            ActionsCommand::Compensate { again } => {
                let compensated = external.compensate(actor, again)?;
                let failed = compensated.iter().filter(|action| action.failure.is_some()).count();
                let data = Settled { actions: &compensated };
                let waiting = external.all()?.iter().filter(|action| is_waiting(action)).count();
                let waiting = if failed == 0 { waiting } else { 0 };
                let answer = Answer::of(self.json, &data, || {
                    whole_pages::compensated(self.style, &compensated, waiting)
                })?;
                if failed == 0 {
                    return Ok(answer);
                }
                let failed = text::count(failed, "compensation", "compensations");
                let advice = "fix the cause and run compensate --again, or accept the actions";
                Ok(answer.incomplete("compensation_failed", format!("{failed} failed: {advice}")))
            }
        }
    }
}

impl Herma {
    /// The state of the agent, if it belongs to the project of the current directory, and what is wrong with
    /// its compensations.
    pub fn find_state(&mut self) -> (Option<State>, Option<Failure>) {
        let (state, failure) =
            match agent_folder::belongs_to(&self.environment, &self.project(None)) {
                true => state(&self.disk, &self.environment),
                false => (None, None),
            };
        self.manager.set_state(state.clone().unwrap_or_default());
        (state, failure)
    }

    /// Creates the folder of an agent whose state is to be restored, if it is missing: should the rollback
    /// die, the next process that finds the folder undoes it.
    pub fn create_agent_folder(&self) -> Option<PathBuf> {
        let folder = self.environment.agent_folder();
        self.disk.make_directory(&folder, 0o700).ok()?;
        let _ = self.disk.sync_directory(folder.parent().unwrap_or(&folder));
        Some(folder)
    }

    /// A manager that restores `scope` of a checkpoint where the agent's folder was removed and the
    /// checkpoint carries its state: files and state are restored, or neither.
    // rule: agent/all-or-none
    pub fn manager_of_removed_agent(
        &self,
        project: &Path,
        target: &[u8],
        scope: &Scope<&[u8]>,
    ) -> Option<Manager> {
        let is_removed = !self.environment.agent_folder().is_dir();
        if !is_removed || !matches!(scope, Scope::All(_)) {
            return None;
        }
        // The restore itself reports what is wrong with the target.
        let (_, envelope) = self.manager.envelope(project, target).ok()?;
        envelope.filter(|envelope| !envelope.parts.is_empty())?;
        let (state, _) = in_folder(&self.disk, self.environment.agent_folder());
        let disk = self.disk.clone();
        let environment = self.environment.clone();
        let config = self.manager.config().clone();
        let manager = Manager::new(disk, Arc::new(SystemClock), environment, config);
        Some(manager.with_state(state?).interrupted_by(self.interrupt.clone()))
    }
}

/// Whether an action was left behind whose compensation runs again only on request.
fn is_waiting(action: &Action) -> bool {
    let is_stuck =
        matches!(action.standing, ActionStatus::Failed { .. } | ActionStatus::Compensating);
    is_stuck && action.left_by.is_some()
}
