//! Doing what was asked: one method per command, from the arguments to the bytes of the answer.

use crate::arguments::{About, Asked, Task};
use crate::classify;
use crate::pages;
use crate::programs::{self, InProject};
use crate::text::Style;
use crate::whole;
use herma_core::configuration::{self, Configured, Warning};
use herma_core::disk::{Disk, SystemDisk};
use herma_core::{
    Clock, Code, Environment, Error, Manager, Occasion, SystemClock, Trigger, project_directory,
    project_of_file,
};
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Why something was not done.
#[derive(Debug)]
pub struct Failure {
    /// Its stable code.
    pub code: Code,
    /// What happened, what was not changed, and what to do.
    pub message: String,
}

impl Failure {
    /// There is no home directory to go by.
    pub fn no_home() -> Self {
        let message = "HOME is not set to an absolute path, so it is not known where the home \
                       directory and the store are; nothing was changed: set HOME";
        Failure { code: "no_home", message: message.to_owned() }
    }

    /// There is no current directory to start from.
    pub fn no_current_directory(error: io::Error) -> Self {
        let message = format!(
            "the current directory cannot be found ({error}); nothing was changed: change to one \
             that is there, and name a deleted project with --dir"
        );
        Failure { code: "no_current_directory", message }
    }

    /// A session cannot begin in that directory.
    pub fn no_such_directory(directory: &Path) -> Self {
        let message = format!("{directory:?} is no directory; nothing was changed: make it first");
        Failure { code: "not_a_directory", message }
    }

    /// The lines of a session cannot be read.
    pub fn unreadable(file: &Path, error: &io::Error) -> Self {
        let message = format!("{file:?} cannot be read ({error}); nothing was changed");
        Failure { code: "unreadable", message }
    }

    /// It was done, but the answer could not be written.
    pub fn unheard(error: &io::Error) -> Self {
        let message = format!("what was asked for was done, but not all could be said: {error}");
        Failure { code: "unheard", message }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure { code: error.code(), message: error.to_string() }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        let message = format!("what was asked for was done, but JSON cannot say it: {error}");
        Failure { code: "unheard", message }
    }
}

/// What came of a command.
pub struct Answer {
    /// For standard output.
    pub bytes: Vec<u8>,
    /// How it ended.
    pub ending: Ending,
    /// Whether the last turn of a conversation is to be undone along with it.
    pub undoes_turn: bool,
    /// The turn that was rolled back to, if it is known by an id, and whether that stays.
    pub turn: Option<(String, bool)>,
}

impl Answer {
    /// The answer of what was done.
    pub fn done(bytes: Vec<u8>) -> Self {
        Answer { bytes, ending: Ending::Done, undoes_turn: false, turn: None }
    }
}

/// How a command that has an answer ended.
#[derive(Debug)]
pub enum Ending {
    /// It was done, or there was nothing to do.
    Done,
    /// The person was asked and said no.
    Declined,
    /// A part of it was not done.
    Incomplete(Failure),
}

/// Everything a command needs.
pub struct Herma {
    pub(crate) json: bool,
    pub(crate) style: Style,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) environment: Environment,
    pub(crate) manager: Manager,
    /// Whether a rollback is to end before it is done.
    pub(crate) interrupt: Arc<AtomicBool>,
    /// What is wrong with the agent's compensations, if anything.
    unusable: Option<Failure>,
}

impl Herma {
    /// Everything for this machine with its configuration file, and the warnings about that file.
    ///
    /// # Errors
    /// A file that cannot be read or understood.
    pub fn new(
        environment: Environment,
        json: bool,
        style: Style,
    ) -> Result<(Self, Vec<Warning>), Failure> {
        let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
        let clock = Arc::new(SystemClock);
        let Configured { config, warnings } =
            configuration::read(disk.as_ref(), &environment.configuration_file())?;
        let manager = Manager::new(disk.clone(), clock, environment.clone(), config);
        let mut manager = manager.answering_first();
        let (state, unusable) = whole::state(&disk, &environment);
        manager.set_state(state.unwrap_or_default());
        let interrupt = Arc::default();
        let herma = Herma { json, style, disk, environment, manager, interrupt, unusable };
        Ok((herma, warnings))
    }

    /// The same with rollbacks that end once that is set.
    pub fn interrupted_by(self, interrupt: &Arc<AtomicBool>) -> Self {
        let manager = self.manager.interrupted_by(interrupt.clone());
        Herma { manager, interrupt: interrupt.clone(), ..self }
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// Whatever kept it from being done.
    pub fn run(&self, asked: &Asked) -> Result<Answer, Failure> {
        let project = self.project(asked.dir.as_deref());
        match &asked.task {
            Task::Take { reason, label } => self.take(&project, reason, label.as_deref()),
            Task::Pin { target, is_pinned } => self.pin(&project, target, *is_pinned),
            Task::Actions(about) => self.actions(*about),
            Task::Rollback(task) => self.roll_back(asked, task, &project),
            Task::Store(About::Status) => self.status(),
            Task::Store(About::Verify) => self.verify(),
            Task::Store(About::Prune(asked)) => self.prune(asked),
            Task::Store(About::Clear(consent)) => self.clear(consent.force),
            Task::Store(About::ClearLegacy(consent)) => self.clear_legacy(consent.force),
            Task::Classify(command) => {
                let bytes = classify::answer(command, self.json)?;
                Ok(Answer::done(bytes))
            }
        }
    }

    /// Undoes a rollback of the agent that died, before anything is asked of its projects; returns
    /// what is to be said of that, and of what is wrong with the agent.
    pub fn recovered(&self, asked: &Asked) -> Vec<String> {
        if matches!(asked.task, Task::Store(_) | Task::Classify(_)) {
            return Vec::new();
        }
        // What keeps the store from being used, whoever needs it says.
        let mut said = self.manager.recover().unwrap_or_default();
        said.extend(self.unusable.iter().map(|failure| failure.message.clone()));
        said
    }

    /// What is done once the answer was given, and what is to be said of that. Only taking a checkpoint
    /// prunes, so that a deleted project can still be restored.
    pub fn afterwards(&self, asked: &Asked) -> Option<String> {
        let evicted = self.manager.keep_up();
        if matches!(asked.task, Task::Take { .. }) {
            self.manager.sweep();
        }
        (evicted > 0).then(|| pages::evicted_for_size(evicted))
    }

    /// The named directory as it is, or the project that the current one belongs to.
    fn project(&self, named: Option<&Path>) -> PathBuf {
        let here = &self.environment.current_directory;
        let found = || project_of_file(self.disk.as_ref(), &self.environment, here);
        let typed = named.map(Path::to_owned).or_else(found).unwrap_or_else(|| here.clone());
        project_directory(self.disk.as_ref(), &self.environment, &typed)
    }

    pub(crate) fn is_there(&self, project: &Path) -> bool {
        self.disk.stat(project).is_ok()
    }

    fn take(&self, project: &Path, reason: &str, label: Option<&str>) -> Result<Answer, Failure> {
        let occasion = Occasion { label, ..Occasion::new(Trigger::Manual, reason) };
        let taken = self.manager.checkpoint_for(project, &occasion)?;
        self.done_in(project, &taken, || pages::taken(self.style, project, &taken))
    }

    fn status(&self) -> Result<Answer, Failure> {
        let status = self.manager.status()?;
        self.done(&status, || pages::status(self.style, &status, SystemClock.seconds()))
    }

    pub(crate) fn done_in(
        &self,
        project: &Path,
        answer: &impl Serialize,
        page: impl FnOnce() -> Vec<u8>,
    ) -> Result<Answer, Failure> {
        self.done(&InProject { project: &project.to_string_lossy(), answer }, page)
    }

    pub(crate) fn done(
        &self,
        data: &impl Serialize,
        page: impl FnOnce() -> Vec<u8>,
    ) -> Result<Answer, Failure> {
        let bytes = if self.json { programs::json(data)? } else { page() };
        Ok(Answer::done(bytes))
    }
}
