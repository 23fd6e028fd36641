//! The interface for authors of agents: takes checkpoints before tools change files, and never stops
//! the agent if that fails.
//!
//! The agent calls [`CheckpointManager`] before and after each [`Tool`] runs. Failures of these calls
//! are logged, reported once, and change nothing else. Requests of a user (a list, a difference, a
//! restore) return an error that says what to do. The agent itself runs the tools.

mod conversation;
mod hook;
mod hook_log;
mod tool;

pub use crate::policy::{Decision, Event, Policy};
pub use conversation::{Conversation, Turn};
pub use hook::{HookCall, Moment, ToolCall, shortened};
pub use hook_log::{EarlierFailure, HookLog, LastCall, Removal};
pub use tool::Tool;

use crate::agent_state::{Occasion, State};
use crate::configuration::{self, Configured};
use crate::disk::{Disk, SystemDisk};
use crate::environment::{Clock, Config, Environment, SystemClock};
use crate::error::{Code, Error, Result};
use crate::manager::{Look, Manager, Scope};
use crate::project::{project_directory, project_of_tool};
use crate::report::{Diff, Listed, Outcome, Preview, Restored, Taken};
use crate::token::Token;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The checkpoint of one project before a tool ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protected {
    /// The directory of the project.
    pub project: PathBuf,
    /// The answer; `None` if it failed, which [`CheckpointManager::trouble`] reports.
    pub taken: Option<Taken>,
}

/// Checkpoints for an agent.
///
/// ```
/// use herma_core::agent::{CheckpointManager, Tool};
/// use herma_core::{Config, Environment, RestoreOptions, Scope};
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
/// let scope = Scope::All(RestoreOptions::default());
/// let restored = checkpoints.restore(&project, b"1", scope, None).unwrap();
/// assert!(restored.undoes_turn && project.join("Makefile").exists());
/// assert_eq!(restored.others, Some(Vec::new()), "nobody else changed anything since");
/// ```
pub struct CheckpointManager {
    /// The manager, or why the configuration cannot be read.
    manager: std::result::Result<Manager, String>,
    disk: Arc<dyn Disk>,
    environment: Environment,
    /// Failures that [`CheckpointManager::trouble`] has not returned yet.
    unreported: Vec<String>,
    /// The codes of the failures that were recorded, each once.
    recorded: BTreeSet<Code>,
    /// What was captured of projects before the running tool, whose changes only a comparison shows.
    looks: BTreeMap<PathBuf, Look>,
    /// The keys of the events that had their one checkpoint.
    used_keys: BTreeSet<String>,
}

impl CheckpointManager {
    /// With the configuration of the configuration file. One that cannot be read switches checkpoints off.
    pub fn configured(environment: Environment) -> Self {
        let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
        match configuration::read(disk.as_ref(), &environment.configuration_file()) {
            Ok(Configured { config, warnings }) => {
                let mut checkpoints = Self::with(environment, config);
                checkpoints.unreported.extend(warnings.iter().map(ToString::to_string));
                checkpoints
            }
            Err(error) => {
                let mut checkpoints = Self::with(environment, Config::default());
                checkpoints.manager = Err(error.to_string());
                checkpoints.record_failure(&error);
                checkpoints
            }
        }
    }

    /// With the given configuration, and with this machine's disk and clock.
    pub fn with(environment: Environment, config: Config) -> Self {
        Self::on(Arc::new(SystemDisk), Arc::new(SystemClock), environment, config)
    }

    /// With any disk and any clock.
    pub fn on(
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        environment: Environment,
        config: Config,
    ) -> Self {
        let manager = Manager::new(disk.clone(), clock, environment.clone(), config);
        let manager = Ok(manager.deferring_collection());
        CheckpointManager {
            manager,
            disk,
            environment,
            unreported: Vec::new(),
            recorded: BTreeSet::new(),
            looks: BTreeMap::new(),
            used_keys: BTreeSet::new(),
        }
    }

    /// The same with the state of the agent: every checkpoint carries it, and a full restore restores it.
    // rule: agent/parts
    pub fn with_state(self, state: State) -> Self {
        let manager = self.manager.map(|manager| manager.with_state(state));
        CheckpointManager { manager, ..self }
    }

    /// Returns the policy's decision about an event, and the checkpoint taken for it: none if the policy
    /// decides so, if checkpoints are off, or on failure, which [`CheckpointManager::trouble`] reports.
    // rule: agent/triggers
    pub fn happens(&mut self, dir: &Path, event: &Event<'_>) -> (Decision, Option<Taken>) {
        let decision = self.explain(event);
        let is_new = decision.once.as_ref().is_none_or(|key| !self.used_keys.contains(key));
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
                self.used_keys.extend(decision.once.clone());
                (decision, Some(taken))
            }
            Err(error) => {
                self.record_failure(&error);
                (decision, None)
            }
        }
    }

    /// To be called after a restore of the agent: events since then may happen again, and count again.
    pub fn rolled_back(&mut self) {
        self.used_keys.clear();
    }

    /// Returns the policy's decision about an event; takes no checkpoint.
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
        self.collect_deferred();
        if let Ok(manager) = &mut self.manager {
            manager.new_turn();
        }
    }

    /// Takes the checkpoints that a tool needs before it runs, and records what exists at the paths that it
    /// is about to write; [`CheckpointManager::after`] does so again. It never fails.
    pub fn before(&mut self, tool: &Tool<'_>) -> Vec<Protected> {
        let protected = self.protect(tool);
        if self.is_enabled() {
            self.record_begin(tool);
        }
        protected
    }

    /// Takes the checkpoints that a tool needs before it runs, for an agent that does not report the end of
    /// the tool: one for each project in which it may change files, at most one per project and turn. It
    /// never fails.
    // rule: turn/triggers
    pub fn protect(&mut self, tool: &Tool<'_>) -> Vec<Protected> {
        if !self.is_enabled() {
            return Vec::new();
        }
        let reason = tool.reason();
        let projects = self.projects(tool, &tool.files());
        let protect = |project: PathBuf| {
            let taken = self.ensure_checkpoint(&project, &reason);
            Protected { project, taken }
        };
        projects.into_keys().map(protect).collect()
    }

    /// To be called after the tool has run: what it wrote is attributed to the agent, and all other changes
    /// to others, which a restore reports separately. It never fails.
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
        self.collect_deferred();
    }

    /// Frees the space of evicted checkpoints, for which no tool has waited; also done after each tool and
    /// at the beginning of a turn.
    pub fn collect_deferred(&self) {
        if let Ok(manager) = &self.manager {
            manager.collect_deferred();
        }
    }

    /// Records what exists at the paths that a tool is about to write; in the entire project if the paths
    /// are not known.
    fn record_begin(&mut self, tool: &Tool<'_>) {
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

    /// The projects of these files, each with the paths of its files.
    fn projects(&self, tool: &Tool<'_>, files: &[PathBuf]) -> BTreeMap<PathBuf, Vec<Vec<u8>>> {
        let disk = self.disk.as_ref();
        let mut found: BTreeMap<PathBuf, Vec<Vec<u8>>> = BTreeMap::new();
        for file in files {
            let project = project_of_tool(disk, &self.environment, tool.directory(), file);
            // A project that does not exist has nothing to lose.
            let Some(project) = project.filter(|project| disk.stat(project).is_ok()) else {
                continue;
            };
            let file = project_directory(disk, &self.environment, file);
            let file = inside(&file, &project);
            found.entry(project).or_default().extend(file);
        }
        found
    }

    /// Makes a request whose failure must not disturb the agent.
    fn try_to<T>(&self, request: impl FnOnce(&Manager) -> Result<T>) -> Option<T> {
        let answer = request(self.manager.as_ref().ok()?);
        answer
            .inspect_err(|error| tracing::debug!("a change could not be attributed: {error}"))
            .ok()
    }

    /// Takes the automatic checkpoint of this turn, unless the project has it already; returns `None` if
    /// that failed.
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
                self.record_failure(&error);
                None
            }
        }
    }

    /// Returns the failures that were not reported yet; each kind of failure is reported once.
    pub fn trouble(&mut self) -> Vec<String> {
        std::mem::take(&mut self.unreported)
    }

    fn record_failure(&mut self, error: &Error) {
        tracing::warn!(code = error.code(), "no checkpoint: {error}");
        if self.recorded.insert(error.code()) {
            self.unreported.push(error.to_string());
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

    /// Returns what a restore would do; it changes nothing.
    ///
    /// # Errors
    /// As [`Manager::preview`], and [`Error::SwitchedOff`].
    pub fn preview(&self, dir: &Path, target: &[u8], scope: Scope<&[u8]>) -> Result<Preview> {
        self.manager()?.preview(dir, target, scope)
    }

    /// Restores a checkpoint or one of its files; with the token of a preview only what that showed.
    /// If the answer has `undoes_turn`, the last turn of the conversation is to be removed as well.
    ///
    /// # Errors
    /// As [`Manager::restore`], and [`Error::SwitchedOff`].
    pub fn restore(
        &self,
        dir: &Path,
        target: &[u8],
        scope: Scope<&[u8]>,
        token: Option<Token>,
    ) -> Result<Restored> {
        self.manager()?.restore_scope(dir, target, scope, token)
    }

    /// The underlying manager, for requests that this type does not offer.
    ///
    /// # Errors
    /// [`Error::SwitchedOff`].
    pub fn manager(&self) -> Result<&Manager> {
        self.manager.as_ref().map_err(|why| Error::SwitchedOff(why.clone()))
    }

    /// The underlying manager, to take checkpoints.
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
