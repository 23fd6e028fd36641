//! Executes commands: one method per command, from the arguments to the bytes of the answer.

use crate::agent_folder;
use crate::arguments::CheckpointArguments;
use crate::classify;
use crate::maintenance_pages;
use crate::pages;
use crate::programs::{self, InProject};
use crate::request::{StoreRequest, Task};
use crate::store_arguments::StoreCommand;
use crate::text::{Style, short_id};
use crate::whole;
use herma_core::configuration::{self, Configured, Warning};
use herma_core::disk::{Disk, SystemDisk};
use herma_core::state::State;
use herma_core::{
    Clock, Code, Config, Direction, Environment, Error, FileProgress, Manager, Occasion, Outcome,
    Restored, SessionTurn, SystemClock, Trigger, project_directory, project_of_file,
};
use serde::Serialize;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Why a command was not done.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// Its stable code.
    pub code: Code,
    /// What happened, what was not changed, and what to do.
    pub message: String,
}

impl Failure {
    /// A failure with that code and message.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Failure { code, message: message.into() }
    }

    /// The same for a command that only reads, which does not say that nothing was changed.
    pub fn of_reading(self) -> Self {
        Failure { message: self.message.replacen("; nothing was changed", "", 1), ..self }
    }

    /// The same with what was probably meant, if a word that is not a checkpoint or a directory stands for one.
    fn with_hint(self, request: &StoreRequest) -> Self {
        let hint = match self.code {
            "bad_target" if !self.message.contains("did you mean") => request.hint(),
            "missing_directory" => request.reason_hint(),
            _ => None,
        };
        match hint {
            Some(hint) => Failure { message: format!("{}; {hint}", self.message), ..self },
            None => self,
        }
    }

    /// The command was done, but its answer could not be written.
    pub fn answer_not_written(error: &io::Error) -> Self {
        Failure::new(
            "unheard",
            format!("the command was executed, but its output could not be written: {error}"),
        )
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::new(error.code(), error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Failure::new(
            "unheard",
            format!(
                "the command was executed, but its answer cannot be converted to JSON: {error}"
            ),
        )
    }
}

/// The answer of a command.
pub struct Answer {
    /// For standard output.
    pub bytes: Vec<u8>,
    /// How the command ended.
    pub ending: Ending,
    /// The restore, with which a conversation may have to go back.
    pub rollback: Option<Rollback>,
}

/// A restore that was done.
pub struct Rollback {
    /// Its report.
    pub restored: Restored,
    /// Whether it undid another restore, or redid it.
    pub direction: Option<Direction>,
}

impl Answer {
    /// The answer of a command that was done.
    pub fn done(bytes: Vec<u8>) -> Self {
        Answer { bytes, ending: Ending::Done, rollback: None }
    }

    /// The same in JSON for programs, or as a page for people.
    pub fn of<P: Into<Vec<u8>>>(
        json: bool,
        data: &impl Serialize,
        page: impl FnOnce() -> P,
    ) -> Result<Self, Failure> {
        Ok(Answer::done(if json { programs::json(data)? } else { page().into() }))
    }

    /// The same answer of a command of which a part was not done.
    pub fn incomplete(self, code: Code, message: impl Into<String>) -> Self {
        Answer { ending: Ending::Incomplete(Failure::new(code, message)), ..self }
    }
}

/// How a command that has an answer ended.
#[derive(Debug)]
pub enum Ending {
    /// It was done, or there was nothing to do.
    Done,
    /// The user was asked and declined.
    Declined,
    /// A part was not done.
    Incomplete(Failure),
}

/// Everything a command needs.
pub struct Herma {
    pub(crate) json: bool,
    pub(crate) style: Style,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) environment: Environment,
    pub(crate) manager: Manager,
    /// Ends a rollback early once it is set.
    pub(crate) interrupt: Arc<AtomicBool>,
    /// Warnings about the configuration file.
    pub(crate) warnings: Vec<Warning>,
    /// What is wrong with the agent's compensations, if anything.
    compensations_failure: Option<Failure>,
}

impl Herma {
    /// Everything for this machine with its configuration file.
    ///
    /// # Errors
    /// The file cannot be read, or is invalid.
    pub fn new(environment: Environment, json: bool, style: Style) -> Result<Self, Failure> {
        let file = environment.configuration_file();
        let Configured { config, warnings } = configuration::read(&SystemDisk, &file)?;
        Ok(Herma { warnings, ..Herma::with_config(environment, json, style, config) })
    }

    /// As [`Herma::new`], with this configuration instead of that of the file.
    pub fn with_config(environment: Environment, json: bool, style: Style, config: Config) -> Self {
        let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
        let clock = Arc::new(SystemClock);
        let manager = Manager::new(disk.clone(), clock, environment.clone(), config);
        let mut manager = manager.deferring_collection();
        let (state, compensations_failure) = whole::state(&disk, &environment);
        manager.set_state(state.unwrap_or_default());
        let interrupt = Arc::default();
        let warnings = Vec::new();
        Herma {
            json,
            style,
            disk,
            environment,
            manager,
            interrupt,
            warnings,
            compensations_failure,
        }
    }

    /// The same for the project of a request, without the state of an agent of other projects.
    pub fn in_project_of(self, request: &StoreRequest) -> Self {
        let project = self.project(request.dir.as_deref());
        if matches!(request.task, Task::Actions(_)) { self } else { self.in_project(&project) }
    }

    /// The same for a project, without the state of an agent of other projects.
    pub fn in_project(self, project: &Path) -> Self {
        if agent_folder::belongs_to(&self.environment, project) {
            return self;
        }
        Herma { manager: self.manager.with_state(State::default()), ..self }
    }

    /// The same with rollbacks that end early once `interrupt` is set.
    pub fn interrupted_by(self, interrupt: &Arc<AtomicBool>) -> Self {
        let manager = self.manager.interrupted_by(interrupt.clone());
        Herma { manager, interrupt: interrupt.clone(), ..self }
    }

    /// The same with checkpoints and rollbacks that record how far they are.
    pub fn showing(self, progress: &Arc<FileProgress>) -> Self {
        Herma { manager: self.manager.showing(progress.clone()), ..self }
    }

    /// Executes a request.
    pub fn run(&self, request: &StoreRequest) -> Result<Answer, Failure> {
        let project = self.project(request.dir.as_deref());
        let answer = self.execute(request, &project);
        let answer = answer.map_err(|failure| self.elsewhere(&project, failure));
        answer.map_err(|failure| match request.only_reads() {
            true => failure.with_hint(request).of_reading(),
            false => failure.with_hint(request),
        })
    }

    fn execute(&self, request: &StoreRequest, project: &Path) -> Result<Answer, Failure> {
        match &request.task {
            Task::Take(arguments) => self.take(project, arguments),
            Task::Pin { target, is_pinned } => {
                let target = self.named_checkpoint(project, target.as_bytes())?;
                self.pin(project, &target, *is_pinned)
            }
            Task::Actions(command) => self.actions(*command, "herma actions"),
            Task::Diff(arguments) => self.look_at_diff(project, arguments),
            Task::Cat(arguments) => self.print_file(project, arguments),
            Task::Log(arguments) => self.log_file(project, arguments),
            Task::Rollback(task) => self.roll_back(request, task, project),
            Task::Store(StoreCommand::Status) => self.status(),
            Task::Store(StoreCommand::Verify) => self.verify(),
            Task::Store(StoreCommand::Excluded { paths, .. }) => self.excluded(project, *paths),
            Task::Store(StoreCommand::Prune(arguments)) => self.prune(arguments),
            Task::Store(StoreCommand::Move { old, new }) => self.move_history(old, new),
            Task::Store(StoreCommand::Clear(consent)) => self.clear(consent.force),
            Task::Store(StoreCommand::ClearLegacy(consent)) => self.clear_legacy(consent.force),
            Task::Classify(command) => classify::answer(command, self.json, self.style),
        }
    }

    /// Undoes an agent's rollback that died, before a request to its projects is executed; returns
    /// messages about that, and about what is wrong with the agent.
    pub fn recover(&self, request: &StoreRequest) -> Vec<String> {
        if matches!(request.task, Task::Store(_) | Task::Classify(_)) {
            return Vec::new();
        }
        // A request that needs the store reports why the store cannot be used.
        let mut messages = self.manager.recover().unwrap_or_default();
        messages.extend(self.compensations_failure.iter().map(|failure| failure.message.clone()));
        messages
    }

    /// Maintains the store after the answer was printed; returns messages about that. Only taking a
    /// checkpoint prunes, so that a deleted project can still be restored.
    pub fn afterwards(&self, request: &StoreRequest) -> Vec<String> {
        let mut messages = pages::for_size(self.manager.collect_deferred());
        if matches!(request.task, Task::Take(_)) {
            self.manager
                .sweep_and_report(&mut |step| messages.extend(maintenance_pages::swept(&step)));
        }
        messages
    }

    /// The named directory itself, or the project that the current directory belongs to.
    pub(crate) fn project(&self, named: Option<&Path>) -> PathBuf {
        let current_directory = &self.environment.current_directory;
        let detected = || project_of_file(self.disk.as_ref(), &self.environment, current_directory);
        let directory = named
            .map(Path::to_owned)
            .or_else(detected)
            .unwrap_or_else(|| current_directory.clone());
        project_directory(self.disk.as_ref(), &self.environment, &directory)
    }

    fn take(&self, project: &Path, arguments: &CheckpointArguments) -> Result<Answer, Failure> {
        let CheckpointArguments { reason, label, turn, .. } = arguments;
        let label = label.as_deref();
        // A hook whose variable is not set has no turn.
        let mut taken = match turn.as_ref().filter(|turn| !turn.is_empty()) {
            Some(turn) => {
                let occasion = Occasion::new(Trigger::PreTool, reason);
                self.manager.checkpoint_of_turn(project, &SessionTurn::new("", turn), &occasion)?
            }
            None => {
                let occasion = Occasion { label, ..Occasion::new(Trigger::Manual, reason) };
                self.manager.checkpoint_for(project, &occasion)?
            }
        };
        taken.notices.extend(label.and_then(|label| self.shared_label(project, label)));
        let outer = project_of_file(self.disk.as_ref(), &self.environment, &project.join("file"));
        // Only the first checkpoint tells of a project around it that has no marker.
        let is_new = matches!(taken.outcome, Outcome::Created { .. });
        let is_first = || self.manager.count(project).is_ok_and(|count| count == 1);
        let around = || match is_new && is_first() {
            true => self.around(project).map(|around| around.to_path_buf()),
            false => None,
        };
        if let Some(outer) = outer.filter(|outer| outer != project).or_else(around) {
            taken.notices.push(format!(
                "{project:?} is a folder of the project {outer:?}: a checkpoint of that holds its files, too"
            ));
        }
        self.answer_in_project(project, &taken, || pages::taken(self.style, project, &taken))
    }

    /// A notice that a label no longer names a checkpoint, being that of several.
    fn shared_label(&self, project: &Path, label: &str) -> Option<String> {
        let listed = self.manager.list(project).unwrap_or_default();
        let named = listed.iter().filter(|listed| listed.label.as_deref() == Some(label));
        let ids: Vec<&str> = named.map(|listed| short_id(&listed.id)).collect();
        (ids.len() > 1).then(|| {
            let ids = ids.join(", ");
            format!("the label {label:?} is that of {ids}: name each of them by its id")
        })
    }

    fn status(&self) -> Result<Answer, Failure> {
        let status = self.manager.status()?;
        Answer::of(self.json, &status, || pages::status(self.style, &status, SystemClock.seconds()))
    }

    pub(crate) fn answer_in_project<P: Into<Vec<u8>>>(
        &self,
        project: &Path,
        answer: &impl Serialize,
        page: impl FnOnce() -> P,
    ) -> Result<Answer, Failure> {
        Answer::of(self.json, &InProject { project: &project.to_string_lossy(), answer }, page)
    }
}
