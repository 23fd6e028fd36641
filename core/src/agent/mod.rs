//! For authors of agents: checkpoints before tools change files, which never get in the way of the
//! agent.
//!
//! [`CheckpointManager`] is asked before each [`Tool`] runs, and told afterwards. What goes wrong there is logged, told
//! once, and changes nothing else; what a person asks for (a list, a difference, a restore) is
//! answered with an error that says what to do. How tools are run is up to the agent.

mod conversation;
mod tool;

pub use crate::policy::{Decision, Event, Policy};
pub use conversation::{Conversation, Turn};
pub use tool::Tool;

use crate::configuration::{self, Configured};
use crate::disk::{Disk, SystemDisk};
use crate::environment::{Clock, Config, Environment, SystemClock};
use crate::error::{Code, Error, Result};
use crate::manager::{Extent, Look, Manager, Occasion};
use crate::project::{project_directory, project_of_tool};
use crate::report::{Diff, Listed, Outcome, Preview, Restored, Taken};
use crate::state::State;
use crate::token::Token;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
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
/// let tool = Tool::Terminal { command: "rm Makefile", directory: &project };
/// checkpoints.before(&tool);
/// std::fs::remove_file(project.join("Makefile")).unwrap();
/// checkpoints.after(&tool);
///
/// let listed = checkpoints.list(&project).unwrap();
/// assert_eq!(listed[0].reason, "before terminal: rm Makefile");
/// assert_eq!(checkpoints.diff(&project, b"1").unwrap().stats.removed, 1);
/// let all = Extent::All(RestoreOptions::default());
/// let restored = checkpoints.restore(&project, b"1", all, None).unwrap();
/// assert!(restored.undoes_turn && project.join("Makefile").exists());
/// assert_eq!(restored.others, Some(Vec::new()), "nobody else changed anything since");
/// ```
pub struct CheckpointManager {
    /// None where the configuration cannot be read, and why.
    manager: std::result::Result<Manager, String>,
    disk: Arc<dyn Disk>,
    environment: Environment,
    untold: Vec<String>,
    told: BTreeSet<Code>,
    /// What was captured of projects before the tool that runs now, of which only that can tell what
    /// it writes.
    looks: BTreeMap<PathBuf, Look>,
    /// The events that had their one checkpoint.
    had: BTreeSet<String>,
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
        let manager = Manager::new(disk.clone(), clock, environment.clone(), config);
        let manager = Ok(manager.answering_first());
        let (untold, told, looks, had) = Default::default();
        CheckpointManager { manager, disk, environment, untold, told, looks, had }
    }

    /// The same for an agent with that state beside its files: every checkpoint carries it, and a full
    /// restore brings it back.
    // rule: agent/parts
    pub fn with_state(self, state: State) -> Self {
        let manager = self.manager.map(|manager| manager.with_state(state));
        CheckpointManager { manager, ..self }
    }

    /// What the policy says of an event, and what was taken for it: nothing where it says so, where
    /// checkpoints are switched off, or where it failed, which [`CheckpointManager::trouble`] tells.
    // rule: agent/triggers
    pub fn happens(&mut self, dir: &Path, event: &Event<'_>) -> (Decision, Option<Taken>) {
        let decision = self.explain(event);
        let is_new = decision.once.as_ref().is_none_or(|key| !self.had.contains(key));
        let Some(trigger) = decision.trigger.filter(|_| is_new && self.is_enabled()) else {
            return (decision, None);
        };
        let why = decision.why.clone();
        let occasion = Occasion::new(trigger, &why);
        let taken = match (&mut self.manager, &decision.once) {
            (Ok(manager), None) => manager.ensure_for(dir, &occasion),
            (Ok(manager), Some(_)) => manager.checkpoint_for(dir, &occasion),
            (Err(_), _) => return (decision, None),
        };
        match taken {
            Ok(taken) => {
                self.had.extend(decision.once.clone());
                (decision, Some(taken))
            }
            Err(error) => {
                self.note(&error);
                (decision, None)
            }
        }
    }

    /// The agent was rolled back: what happened since may happen again, and counts again.
    pub fn rolled_back(&mut self) {
        self.had.clear();
    }

    /// What the policy says of an event; nothing is taken.
    pub fn explain(&self, event: &Event<'_>) -> Decision {
        match &self.manager {
            Ok(manager) => manager.config().policy.decide(event),
            Err(why) => Decision { trigger: None, why: why.clone(), once: None },
        }
    }

    /// Whether checkpoints are taken before tools run.
    pub fn is_enabled(&self) -> bool {
        self.manager.as_ref().is_ok_and(|manager| manager.config().enabled)
    }

    /// A conversation turn begins: every project may have one automatic checkpoint again.
    pub fn new_turn(&mut self) {
        self.keep_up();
        if let Ok(manager) = &mut self.manager {
            manager.new_turn();
        }
    }

    /// Takes the checkpoints that a tool needs before it runs, and looks at what stands where it is about
    /// to write; [`CheckpointManager::after`] looks again. It never fails.
    pub fn before(&mut self, tool: &Tool<'_>) -> Vec<Protected> {
        let protected = self.protect(tool);
        if self.is_enabled() {
            self.tell_begin(tool);
        }
        protected
    }

    /// Takes the checkpoints that a tool needs before it runs, for an agent that does not say when the
    /// tool has ended: one for each project in which it may change files, at most one for each in a
    /// turn. It never fails.
    // rule: turn/triggers
    pub fn protect(&mut self, tool: &Tool<'_>) -> Vec<Protected> {
        if !self.is_enabled() {
            return Vec::new();
        }
        let (reason, projects) = (tool.reason(), self.projects(tool, &tool.files()));
        let protect = |project: PathBuf| {
            let taken = self.ensure_checkpoint(&project, &reason);
            Protected { project, taken }
        };
        projects.into_keys().map(protect).collect()
    }

    /// To be called once that tool has run: what it wrote counts as the agent's, and what changes
    /// otherwise as another hand's, which a restore then tells apart. It never fails.
    // rule: restore/other-hands
    pub fn after(&mut self, tool: &Tool<'_>) {
        for (project, look) in std::mem::take(&mut self.looks) {
            self.try_to(|manager| manager.tool_changed(&project, &look));
        }
        if self.is_enabled() {
            for (project, paths) in self.projects(tool, &tool.named_files()) {
                self.try_to(|manager| manager.tool_wrote(&project, &borrowed(&paths)));
            }
        }
        self.keep_up();
    }

    /// Frees the space of checkpoints that were pushed out, for which no tool has waited; also done
    /// after each tool and at the begin of a turn.
    pub fn keep_up(&self) {
        if let Ok(manager) = &self.manager {
            manager.keep_up();
        }
    }

    /// What stands where a tool is about to write; in all of a project where nobody knows.
    fn tell_begin(&mut self, tool: &Tool<'_>) {
        for (project, paths) in self.projects(tool, &tool.named_files()) {
            self.try_to(|manager| manager.tool_writes(&project, &borrowed(&paths)));
        }
        self.looks.clear();
        if let Tool::Terminal { directory, .. } = tool {
            for project in self.projects(tool, &[directory.to_path_buf()]).into_keys() {
                let look = self.try_to(|manager| manager.look(&project)).flatten();
                self.looks.extend(look.map(|look| (project, look)));
            }
        }
    }

    /// The projects of these files, each with their paths in it.
    fn projects(&self, tool: &Tool<'_>, files: &[PathBuf]) -> BTreeMap<PathBuf, Vec<Vec<u8>>> {
        let disk = self.disk.as_ref();
        let mut found: BTreeMap<PathBuf, Vec<Vec<u8>>> = BTreeMap::new();
        for file in files {
            let project = project_of_tool(disk, &self.environment, tool.directory(), file);
            // Where nothing is, nothing can be lost.
            let Some(project) = project.filter(|project| disk.stat(project).is_ok()) else {
                continue;
            };
            let file = project_directory(disk, &self.environment, file);
            let file = inside(&file, &project);
            found.entry(project).or_default().extend(file);
        }
        found
    }

    /// Asks something of which a failure must not disturb the agent.
    fn try_to<T>(&self, ask: impl FnOnce(&Manager) -> Result<T>) -> Option<T> {
        let asked = ask(self.manager.as_ref().ok()?);
        asked.inspect_err(|error| tracing::debug!("whose hand it was is not known: {error}")).ok()
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
        self.manager()?.restore_extent(dir, target, extent, token)
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

/// The path of a file relative to the project that it is in.
fn inside(file: &Path, project: &Path) -> Option<Vec<u8>> {
    file.strip_prefix(project).ok().map(|path| path.as_os_str().as_bytes().to_vec())
}

fn borrowed(paths: &[Vec<u8>]) -> Vec<&[u8]> {
    paths.iter().map(Vec::as_slice).collect()
}

#[cfg(test)]
mod tests;
