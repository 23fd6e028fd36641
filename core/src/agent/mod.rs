//! For authors of agents: checkpoints before tools change files, which never get in the way of the
//! agent.
//!
//! [`CheckpointManager`] is asked before each [`Tool`] runs. What goes wrong there is logged, told
//! once, and changes nothing else; what a person asks for (a list, a difference, a restore) is
//! answered with an error that says what to do. How tools are run is up to the agent.

mod conversation;
mod tool;

pub use conversation::{Conversation, Turn};
pub use tool::Tool;

use crate::configuration::{self, Configured};
use crate::disk::{Disk, SystemDisk};
use crate::environment::{Clock, Config, Environment, SystemClock};
use crate::error::{Code, Error, Result};
use crate::manager::{Extent, Manager};
use crate::project::project_of_tool;
use crate::report::{Diff, Listed, Outcome, Preview, Restored, Taken};
use crate::restore::Token;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What was done for one project before a tool ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protected {
    /// The directory of the project.
    pub project: PathBuf,
    /// What came of it; none where it failed, which [`CheckpointManager::trouble`] tells.
    pub taken: Option<Taken>,
}

/// Checkpoints for an agent.
///
/// ```
/// use herma_core::agent::{CheckpointManager, Tool};
/// use herma_core::{Config, Environment, Extent, RestoreOptions};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let home = std::fs::canonicalize(folder.path()).unwrap();
/// let project = home.join("project");
/// std::fs::create_dir(&project).unwrap();
/// std::fs::write(project.join("Makefile"), "all:\n").unwrap();
/// let environment = Environment {
///     base: home.join(".hermes/checkpoints"),
///     current_directory: project.clone(),
///     home,
/// };
/// let config = Config { enabled: true, ..Config::default() };
/// let mut checkpoints = CheckpointManager::with(environment, config);
///
/// checkpoints.new_turn();
/// checkpoints.before(&Tool::Terminal { command: "rm Makefile", directory: &project });
/// std::fs::remove_file(project.join("Makefile")).unwrap();
///
/// let listed = checkpoints.list(&project).unwrap();
/// assert_eq!(listed[0].reason, "before terminal: rm Makefile");
/// assert_eq!(checkpoints.diff(&project, b"1").unwrap().stats.removed, 1);
/// let all = Extent::All(RestoreOptions::default());
/// let restored = checkpoints.restore(&project, b"1", all, None).unwrap();
/// assert!(restored.undoes_turn && project.join("Makefile").exists());
/// ```
pub struct CheckpointManager {
    /// None where the configuration cannot be read, and why.
    manager: std::result::Result<Manager, String>,
    disk: Arc<dyn Disk>,
    environment: Environment,
    untold: Vec<String>,
    told: BTreeSet<Code>,
}

impl CheckpointManager {
    /// As the configuration file says. One that cannot be read switches checkpoints off.
    pub fn configured(environment: Environment) -> Self {
        let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
        match configuration::read(disk.as_ref(), &environment.configuration_file()) {
            Ok(Configured { config, warnings }) => {
                let mut all = Self::with(environment, config);
                all.untold.extend(warnings.iter().map(ToString::to_string));
                all
            }
            Err(error) => {
                let mut all = Self::with(environment, Config::default());
                all.manager = Err(error.to_string());
                all.note(&error);
                all
            }
        }
    }

    /// On this machine's disk and by its clock, configured like that.
    pub fn with(environment: Environment, config: Config) -> Self {
        Self::on(Arc::new(SystemDisk), Arc::new(SystemClock), environment, config)
    }

    /// On any disk and by any clock.
    pub fn on(
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        environment: Environment,
        config: Config,
    ) -> Self {
        let manager = Ok(Manager::new(disk.clone(), clock, environment.clone(), config));
        let (untold, told) = (Vec::new(), BTreeSet::new());
        CheckpointManager { manager, disk, environment, untold, told }
    }

    /// Whether checkpoints are taken before tools run.
    pub fn is_enabled(&self) -> bool {
        self.manager.as_ref().is_ok_and(|manager| manager.config().enabled)
    }

    /// A conversation turn begins: every project may have one automatic checkpoint again.
    pub fn new_turn(&mut self) {
        if let Ok(manager) = &mut self.manager {
            manager.new_turn();
        }
    }

    /// Takes the checkpoints that a tool needs before it runs: one for each project in which it may
    /// change files, at most one for each in a turn. It never fails.
    // rule: turn/triggers
    pub fn before(&mut self, tool: &Tool<'_>) -> Vec<Protected> {
        if !self.is_enabled() {
            return Vec::new();
        }
        let (disk, environment) = (self.disk.clone(), self.environment.clone());
        let project = |file: &PathBuf| {
            let project = project_of_tool(disk.as_ref(), &environment, tool.directory(), file)?;
            // Where nothing is, nothing can be lost.
            disk.stat(&project).is_ok().then_some(project)
        };
        let projects: BTreeSet<PathBuf> = tool.files().iter().filter_map(project).collect();
        let reason = tool.reason();
        let protect = |project: PathBuf| {
            let taken = self.ensure_checkpoint(&project, &reason);
            Protected { project, taken }
        };
        projects.into_iter().map(protect).collect()
    }

    /// Takes the automatic checkpoint of this turn, unless the project has it already; none where
    /// that failed. It never fails otherwise.
    // rule: turn/no-backend
    pub fn ensure_checkpoint(&mut self, dir: &Path, reason: &str) -> Option<Taken> {
        let taken = match &mut self.manager {
            Ok(manager) => manager.ensure_checkpoint(dir, reason),
            Err(_) => return None,
        };
        match taken {
            Ok(taken) => {
                if let Outcome::Created { id } = &taken.outcome {
                    tracing::info!(project = %dir.display(), id, reason, "took a checkpoint");
                }
                Some(taken)
            }
            Err(error) => {
                self.note(&error);
                None
            }
        }
    }

    /// What went wrong and was not told yet; each kind of it is told once.
    pub fn trouble(&mut self) -> Vec<String> {
        std::mem::take(&mut self.untold)
    }

    fn note(&mut self, error: &Error) {
        tracing::warn!(code = error.code(), "no checkpoint: {error}");
        if self.told.insert(error.code()) {
            self.untold.push(error.to_string());
        }
    }

    /// The checkpoints of a project, newest first.
    ///
    /// # Errors
    /// As [`Manager::list`], and [`Error::SwitchedOff`].
    pub fn list(&self, dir: &Path) -> Result<Vec<Listed>> {
        self.manager()?.list(dir)
    }

    /// What changed in a project since a checkpoint.
    ///
    /// # Errors
    /// As [`Manager::diff`], and [`Error::SwitchedOff`].
    pub fn diff(&self, dir: &Path, target: &[u8]) -> Result<Diff> {
        self.manager()?.diff(dir, target)
    }

    /// What a restore would do; it changes nothing.
    ///
    /// # Errors
    /// As [`Manager::preview`], and [`Error::SwitchedOff`].
    pub fn preview(&self, dir: &Path, target: &[u8], extent: Extent<'_>) -> Result<Preview> {
        self.manager()?.preview(dir, target, extent)
    }

    /// Restores a checkpoint or a file of one; with the token of a preview only what that showed.
    /// Where the answer says that it undoes the turn, the last turn of the conversation goes as well.
    ///
    /// # Errors
    /// As [`Manager::restore`], and [`Error::SwitchedOff`].
    pub fn restore(
        &self,
        dir: &Path,
        target: &[u8],
        extent: Extent<'_>,
        token: Option<Token>,
    ) -> Result<Restored> {
        let manager = self.manager()?;
        match (extent, token) {
            (extent, Some(token)) => manager.restore_as_previewed(dir, target, extent, token),
            (Extent::All(options), None) => manager.restore(dir, target, options),
            (Extent::One(file), None) => manager.restore_file(dir, target, file),
        }
    }

    /// The manager that is asked, for what is not to be asked here.
    ///
    /// # Errors
    /// [`Error::SwitchedOff`].
    pub fn manager(&self) -> Result<&Manager> {
        self.manager.as_ref().map_err(|why| Error::SwitchedOff(why.clone()))
    }

    /// The same, to take checkpoints.
    ///
    /// # Errors
    /// [`Error::SwitchedOff`].
    pub fn manager_mut(&mut self) -> Result<&mut Manager> {
        self.manager.as_mut().map_err(|why| Error::SwitchedOff(why.clone()))
    }
}

#[cfg(test)]
mod tests;
