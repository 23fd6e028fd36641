//! The public interface: checkpoints of any number of projects in one store, for one process.
//!
//! It joins the other modules: it takes the locks and decides the order of steps. None of them
//! depends on it.

mod attribution;
mod captures;
mod checkpoint;
mod diff;
mod hunks;
mod interrupted;
mod list;
mod literal_path;
mod moved;
mod open_project;
mod owner;
mod patch;
mod preview;
mod recovery;
mod restore;
mod scope;
mod single;
mod stored_file;
mod turn;
mod undo;
mod upkeep;
mod wanted;

pub use attribution::Look;
pub use diff::Comparison;
pub use hunks::text_difference;
pub use owner::PartChanged;
pub use scope::{RestoreOptions, Scope};
pub use stored_file::Held;

use crate::agent_state::{Occasion, State};
use crate::capture;
use crate::disk::{Disk, canonical};
use crate::environment::{Clock, Config, Environment};
use crate::error::{Error, Result};
use crate::maintenance::prune::{Prune, PruneOptions, PruneStep};
use crate::maintenance::sweep::Sweep;
use crate::maintenance::{clear, status, verify};
use crate::own_folders::OwnFolders;
use crate::path::shown;
use crate::policy::Trigger;
use crate::progress::FileProgress;
use crate::project::Project;
use crate::report::{
    Cleared, ClearedLegacy, Excluded, Holdings, Outcome, Pruned, Status, Swept, Taken, Verified,
};
use crate::restore::target;
use crate::store::Store;
use crate::store::commit::Checkpoint;
use crate::store::rollbacks::{Direction, Rollbacks};
use open_project::OpenProject;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use upkeep::UpkeepTime;

/// Takes, lists, compares and restores checkpoints. It remembers which projects had their
/// automatic checkpoint in this turn, and nothing else.
pub struct Manager {
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    environment: Environment,
    config: Config,
    slots_used: BTreeSet<String>,
    upkeep_time: UpkeepTime,
    /// The agent state.
    state: State,
    /// Whether a restore is to end before it is complete.
    interrupt: Arc<AtomicBool>,
    progress: Arc<FileProgress>,
}

impl Manager {
    /// A new manager; it touches nothing yet.
    pub fn new(
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        environment: Environment,
        config: Config,
    ) -> Self {
        Manager {
            disk,
            clock,
            environment,
            config,
            slots_used: BTreeSet::new(),
            upkeep_time: UpkeepTime::default(),
            state: State::default(),
            interrupt: Arc::default(),
            progress: Arc::default(),
        }
    }

    /// The same with restores that end once `interrupt` is set: after the current path, with an answer
    /// that reports what was done and what was not.
    pub fn interrupted_by(self, interrupt: Arc<AtomicBool>) -> Self {
        Manager { interrupt, ..self }
    }

    /// The same with checkpoints and restores that record how far they are.
    pub fn showing(self, progress: Arc<FileProgress>) -> Self {
        Manager { progress, ..self }
    }

    /// The same with the state of an agent: every checkpoint carries it, and a full restore restores it.
    // rule: agent/parts
    pub fn with_state(mut self, state: State) -> Self {
        self.set_state(state);
        self
    }

    /// As [`Manager::with_state`], for a manager that is in use.
    pub fn set_state(&mut self, state: State) {
        state.use_store(self.disk.clone(), self.environment.base.clone());
        self.state = state;
    }

    /// The agent state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The agent state, to set the current turn.
    pub fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// A conversation turn begins: every project may have one automatic checkpoint again.
    pub fn new_turn(&mut self) {
        // rule: turn/reset
        self.slots_used.clear();
    }

    /// Takes the automatic checkpoint of this turn, unless the project has it already.
    ///
    /// # Errors
    /// Whatever is out of scope or cannot be stored; then the turn's slot stays free.
    pub fn ensure_checkpoint(&mut self, dir: &Path, reason: &str) -> Result<Taken> {
        self.ensure_for(dir, &Occasion::new(Trigger::PreTool, reason))
    }

    /// As [`Manager::ensure_checkpoint`], for any occasion.
    ///
    /// # Errors
    /// As [`Manager::ensure_checkpoint`].
    pub fn ensure_for(&mut self, dir: &Path, occasion: &Occasion<'_>) -> Result<Taken> {
        // rule: turn/disabled
        if !self.config.enabled {
            return Ok(Taken::without_checkpoint(Outcome::Disabled));
        }
        let project = self.project(dir);
        // rule: turn/once
        // rule: turn/per-project
        if self.slots_used.contains(&project.hash) {
            return Ok(Taken::without_checkpoint(Outcome::Deduped));
        }
        // rule: turn/failure-keeps-slot
        let taken = self.take(&project, occasion)?;
        // rule: turn/nothing-uses-slot
        self.slots_used.insert(project.hash);
        Ok(taken)
    }

    /// Takes a checkpoint that the user requested, regardless of `enabled` and of the turn.
    ///
    /// # Errors
    /// Whatever is out of scope or cannot be stored.
    // rule: turn/manual
    pub fn checkpoint(&self, dir: &Path, reason: &str) -> Result<Taken> {
        self.checkpoint_for(dir, &Occasion::new(Trigger::Manual, reason))
    }

    /// As [`Manager::checkpoint`], for any occasion that does not depend on the turn, and with a label.
    ///
    /// # Errors
    /// As [`Manager::checkpoint`], and [`Error::BadLabel`].
    pub fn checkpoint_for(&self, dir: &Path, occasion: &Occasion<'_>) -> Result<Taken> {
        self.take(&self.project(dir), occasion)
    }

    /// What a checkpoint of a project would not hold because patterns exclude it. Neither the files nor the store
    /// are read.
    ///
    /// # Errors
    /// A directory out of scope, or that cannot be read.
    pub fn excluded(&self, dir: &Path) -> Result<Excluded> {
        let project = self.project(dir);
        project.check_scope(self.disk.as_ref(), &self.environment)?;
        let own_folders = OwnFolders::of(self.disk.as_ref(), &self.environment);
        let directory = &project.directory;
        let disk = self.disk.as_ref();
        let entries = capture::excluded(disk, directory, &own_folders, &self.config)?;
        Ok(Excluded::of(entries))
    }

    /// Every project of the store, and the size of the store.
    ///
    /// # Errors
    /// A damaged or busy store.
    pub fn status(&self) -> Result<Status> {
        status::of(self.disk.as_ref(), &self.base(), self.most())
    }

    /// Verifies everything that is stored, and reports the damage and the checkpoints that it affects.
    /// `progress` is called with the number of each project and how many there are.
    ///
    /// # Errors
    /// A path that is not a store, a store that stays busy, or a disk that fails. Damage is no error.
    pub fn verify(&self, progress: &mut dyn FnMut(usize, usize)) -> Result<Verified> {
        verify::verify(self.disk.as_ref(), &self.base(), progress)
    }

    /// Prunes as configured, if the interval has passed. Failures are logged and counted.
    pub fn sweep(&self) -> Swept {
        self.sweep_and_report(&mut |_| {})
    }

    /// As [`Manager::sweep`], and reports its progress.
    pub fn sweep_and_report(&self, progress: &mut dyn FnMut(PruneStep<'_>)) -> Swept {
        let sweep = Sweep {
            disk: self.disk.as_ref(),
            base: &self.base(),
            clock: self.clock.as_ref(),
            config: &self.config,
        };
        sweep.run(progress)
    }

    /// Removes projects and archives that are gone or were not used for long, whenever the last sweep
    /// was, and reports its progress. What it cannot remove is counted as an error.
    ///
    /// # Errors
    /// A base that cannot be read, a path that is not a store, or a store that stays busy; then nothing
    /// was changed.
    pub fn prune(
        &self,
        options: &PruneOptions,
        progress: &mut dyn FnMut(PruneStep<'_>),
    ) -> Result<Pruned> {
        if let Err(error) = self.tidy_interrupted() {
            tracing::debug!("leftovers of interrupted restores were not removed: {error}");
        }
        self.prune_as(options, progress, false)
    }

    /// What a prune would remove, with the projects that it names. It changes nothing. How much space becomes free,
    /// only the prune itself finds out.
    ///
    /// # Errors
    /// As [`Manager::prune`].
    pub fn preview_prune(
        &self,
        options: &PruneOptions,
        progress: &mut dyn FnMut(PruneStep<'_>),
    ) -> Result<Pruned> {
        self.prune_as(options, progress, true)
    }

    fn prune_as(
        &self,
        options: &PruneOptions,
        progress: &mut dyn FnMut(PruneStep<'_>),
        is_preview: bool,
    ) -> Result<Pruned> {
        let prune = Prune {
            disk: self.disk.as_ref(),
            base: &self.base(),
            now: self.clock.seconds(),
            options,
            is_preview,
            progress,
            pruned: Pruned::default(),
        };
        prune.run()
    }

    /// What a clear would remove.
    ///
    /// # Errors
    /// A base that cannot be read.
    pub fn holdings(&self) -> Result<Holdings> {
        clear::holdings(self.disk.as_ref(), &self.base())
    }

    /// Removes every checkpoint, every archive and all other entries of the store from the base,
    /// and the base if it is empty then.
    ///
    /// # Errors
    /// A store that stays busy, before anything is changed; [`Error::PartlyCleared`] after that.
    pub fn clear(&self) -> Result<Cleared> {
        clear::clear(self.disk.as_ref(), &self.base())
    }

    /// Removes the v1 archives, and nothing else.
    ///
    /// # Errors
    /// A base that cannot be read, or [`Error::PartlyCleared`].
    pub fn clear_legacy(&self) -> Result<ClearedLegacy> {
        clear::clear_legacy(self.disk.as_ref(), &self.base())
    }
}

/// Shared by the public operations.
impl Manager {
    /// How many checkpoints of a project are kept.
    fn most(&self) -> usize {
        self.config.max_snapshots.max(1)
    }

    fn base(&self) -> PathBuf {
        canonical(self.disk.as_ref(), &self.environment.base)
    }

    fn project(&self, dir: &Path) -> Project {
        Project::resolve(self.disk.as_ref(), &self.environment, dir)
    }

    /// Opens the store, in which `target` is to be found.
    ///
    /// # Errors
    /// Without a store, the refusal of the target.
    fn store_with(&self, target: &[u8]) -> Result<Store<'_>> {
        Store::open(self.disk.as_ref(), &self.base())?.ok_or_else(|| {
            // The same refusals as with an empty list, so that a malformed target is distinguished.
            let nothing =
                Direction::parse(target).map(|direction| Rollbacks::default().nothing(direction));
            let refusal = nothing.or_else(|| target::find(&[], target).err());
            refusal.unwrap_or_else(|| Error::UnknownCheckpoint(shown(target)))
        })
    }

    /// The checkpoints of an open project that the limit keeps, newest first.
    fn history(&self, open: &OpenProject<'_>) -> Result<Vec<Checkpoint>> {
        open.history(self.most())
    }
}
