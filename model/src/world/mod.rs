//! The state of the world: everything a checkpoint system can see, and all it should have stored.
//!
//! This module holds the state and its queries. [`crate::operations`] decides what a request may do;
//! the world changes only in [`World::learn`], by observations, and by the edits of a history.

mod agent;
mod attribution;
mod costs;
mod damage;
mod history;
mod injected;
mod learn;
mod maintenance;
mod rollbacks;
mod scope;
mod undos;
mod violations;

pub use agent::Carried;
pub(crate) use agent::{ExternalAction, Origin, PartValue};
pub(crate) use attribution::ExternalEdit;
pub(crate) use costs::Figure;
pub use injected::BOUND_MET_MAX;
pub(crate) use maintenance::Marker;
pub use maintenance::Repository;

/// What marks a directory as the root of a project (behaviour: Scope and identity).
pub const MARKERS: &[&str] = &[
    ".git",
    ".hg",
    "pyproject.toml",
    "package.json",
    "Cargo.toml",
    "go.mod",
    "Makefile",
    "pom.xml",
    "Gemfile",
];

use crate::bytes::{self, ByteString};
use crate::capture::{Bounds, Captured, Capturer};
use crate::configuration::Configuration;
use crate::edit::{Change, Edit};
use crate::files::{Files, Node};
use agent::AgentState;
use attribution::Attribution;
use costs::Costs;
use damage::Damages;
use history::History;
use maintenance::Maintenance;
use rollbacks::Rollbacks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use undos::PreRestoreCheckpoints;

/// The configuration of a subject for one history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Whether automatic checkpoints are taken.
    pub enabled: bool,
    /// How many checkpoints of a project are listed, at least 1.
    pub max_snapshots: usize,
    /// Files larger than this many bytes are not captured; 0 is no bound.
    pub max_file_bytes: u64,
    /// Directories with more captured files than this are not checkpointed.
    pub max_files: usize,
    /// The oldest checkpoints are evicted if all together take more bytes; 0 is no bound.
    pub max_total_bytes: u64,
    /// Whether the store is swept at startup.
    pub auto_prune: bool,
    /// The days after which a sweep removes what was not used; 0 is no bound.
    pub retention_days: u64,
    /// Whether a sweep removes projects whose directory is gone.
    pub delete_orphans: bool,
    /// The least hours between two sweeps.
    pub min_interval_hours: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            enabled: true,
            max_snapshots: 20,
            max_file_bytes: 10 * 1024 * 1024,
            max_files: 50_000,
            max_total_bytes: 500 << 20,
            auto_prune: true,
            retention_days: 7,
            delete_orphans: true,
            min_interval_hours: 24,
        }
    }
}

/// The fixed paths of the world, relative to its root.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The world's root as an absolute path.
    pub root: ByteString,
    /// The home directory.
    pub home: ByteString,
    /// The working directory, from which relative paths are resolved.
    pub current: ByteString,
    /// The checkpoint base.
    pub base: ByteString,
}

/// One checkpoint of a project.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Its full id.
    pub id: String,
    /// Its content, and what was left out; `None` where its capture was not observed.
    pub captured: Option<Arc<Captured>>,
    /// Why it was taken, as it must be listed; `None` where no rule defines the wording.
    pub reason: Option<String>,
    /// When it was taken, in seconds since the epoch.
    pub time: i64,
    /// Whether it is a pre-restore checkpoint.
    pub safety: bool,
    /// What it holds in addition to the files.
    pub carried: Carried,
}

/// The state of a project's slot for the automatic checkpoint of the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// Free again since a new turn or process began.
    Renewed,
    /// Free although an attempt was made.
    AttemptFailed,
    /// Used by a checkpoint.
    Taken,
    /// Used by an attempt that found nothing to save.
    NothingToSave,
    /// No rule says whether it is used.
    Unclear,
}

/// The optional capabilities that an implementation claims.
pub type Capabilities = BTreeSet<&'static str>;

/// Everything a checkpoint system can see, and all it should have stored.
#[derive(Clone)]
pub struct World {
    /// The files.
    pub files: Files,
    /// The settings of this history.
    pub settings: Settings,
    capabilities: Capabilities,
    layout: Layout,
    seconds: i64,
    slots: BTreeMap<ByteString, Slot>,
    /// Projects with a pre-restore checkpoint since the turn began.
    restored_in_turn: BTreeSet<ByteString>,
    histories: BTreeMap<ByteString, History>,
    pre_restore: PreRestoreCheckpoints,
    rollbacks: Rollbacks,
    /// Directories that existed when a request named them.
    known_directories: BTreeSet<ByteString>,
    attribution: Attribution,
    /// Files that were rewritten in place with their modification time kept.
    rewritten: BTreeSet<ByteString>,
    /// Paths whose file or directory was ever renamed.
    renamed: BTreeSet<ByteString>,
    pub(crate) agent: AgentState,
    damages: Damages,
    pub(crate) costs: Costs,
    pub(crate) maintenance: Maintenance,
    pub(crate) capturer: Capturer,
}

impl World {
    /// A world with these files and nothing stored, for an implementation with these capabilities.
    pub fn new(
        files: Files,
        layout: Layout,
        settings: Settings,
        capabilities: Capabilities,
        seconds: i64,
    ) -> Self {
        World {
            files,
            settings,
            layout,
            seconds,
            slots: BTreeMap::new(),
            restored_in_turn: BTreeSet::new(),
            histories: BTreeMap::new(),
            pre_restore: PreRestoreCheckpoints::default(),
            rollbacks: Rollbacks::default(),
            known_directories: BTreeSet::new(),
            attribution: Attribution::default(),
            rewritten: BTreeSet::new(),
            renamed: BTreeSet::new(),
            agent: AgentState::default(),
            damages: Damages::default(),
            costs: Costs::default(),
            maintenance: Maintenance::default(),
            capturer: Capturer::new(&|capability| capabilities.contains(capability)),
            capabilities,
        }
    }

    /// The same for an implementation whose own ignore files have this name.
    pub fn with_own_ignore_file(self, name: &ByteString) -> Self {
        World { capturer: self.capturer.with_own_ignore_file(name), ..self }
    }

    /// Whether the implementation claims this capability.
    pub fn has(&self, capability: &str) -> bool {
        self.capabilities.contains(capability)
    }

    /// Applies an edit and returns the changes to make on a disk.
    pub fn edit(&mut self, edit: &Edit) -> Vec<Change> {
        let before = self.files_around(edit);
        let changes = edit.apply(&mut self.files);
        let after = self.files_around(edit);
        self.attribution.record_changes(&before, &after, None);
        self.costs.settled = None;
        for change in &changes {
            match change {
                Change::Rewrite(path, _) => self.rewritten.insert(path.clone()),
                Change::Rename(from, _) => self.renamed.insert(from.clone()),
                _ => continue,
            };
        }
        changes
    }

    /// Whether a file or directory was ever renamed.
    pub(crate) fn was_renamed(&self, path: &[u8]) -> bool {
        self.renamed.contains(path)
    }

    /// Whether a file was ever rewritten with its modification time kept: an implementation that compares
    /// times may have missed the change.
    pub(crate) fn was_rewritten(&self, path: &[u8]) -> bool {
        self.rewritten.contains(path)
    }

    /// The current time in seconds since the epoch.
    pub fn seconds(&self) -> i64 {
        self.seconds
    }

    /// All checkpoints ever taken of `project`, oldest first.
    pub fn history(&self, project: &[u8]) -> &[Checkpoint] {
        let history = self.histories.get(project);
        history.map_or(&[], |history| &history.checkpoints)
    }

    /// Every project that has checkpoints, with all of them, oldest first.
    pub fn histories(&self) -> impl Iterator<Item = (&ByteString, &[Checkpoint])> {
        self.histories.iter().map(|(project, history)| (project, &history.checkpoints[..]))
    }

    /// The checkpoints of `project` that can be listed and restored, oldest first.
    ///
    /// Implements [`crate::rules::LIST_AT_MOST`] and [`crate::rules::LIMIT_NEWEST_REMAIN`].
    pub fn listed(&self, project: &[u8]) -> &[Checkpoint] {
        let history = self.histories.get(project);
        history.map_or(&[], |history| {
            &history.checkpoints[history.evicted_count(self.settings.max_snapshots)..]
        })
    }

    /// The newest listed checkpoint of `project`.
    pub fn newest(&self, project: &[u8]) -> Option<&Checkpoint> {
        self.listed(project).last()
    }

    /// Whether the list of `project` is full, so that a new checkpoint evicts the oldest or another one.
    pub fn is_full(&self, project: &[u8]) -> bool {
        self.listed(project).len() >= self.settings.max_snapshots
    }

    /// Whether it is unknown which pre-restore checkpoints of `project` were evicted.
    pub fn is_eviction_undecided(&self, project: &[u8]) -> bool {
        self.histories.get(project).is_some_and(History::is_eviction_undecided)
    }

    /// Whether any checkpoint of a project is or was pinned, so that others than the oldest may be evicted.
    pub fn has_pins(&self, project: &[u8]) -> bool {
        self.histories.get(project).is_some_and(History::has_pins)
    }

    /// Whether a checkpoint of a project may have been evicted.
    pub(crate) fn may_be_evicted(&self, project: &[u8], id: &str) -> bool {
        let history = self.histories.get(project);
        history.is_some_and(|history| history.may_be_evicted(id))
    }

    /// Records which checkpoints of a project are left, newest first: which pre-restore checkpoints the
    /// implementation chose to evict, and whether all expected checkpoints are left.
    ///
    /// Implements [`crate::rules::RESTORE_KEEPS_HISTORY`].
    pub fn settle(&mut self, project: &[u8], ids: &[&String]) {
        let limit = self.settings.max_snapshots;
        if let Some(history) = self.histories.get_mut(project) {
            history.settle(ids, limit);
        }
    }

    /// Whether all expected checkpoints of `project` were left before it was restored.
    pub(crate) fn was_complete(&self, project: &[u8]) -> bool {
        let history = self.histories.get(project);
        history.is_some_and(|history| history.is_complete)
    }

    /// Settles every project by the ids that are stored for it, newest first.
    pub(crate) fn settle_all(&mut self, visible: &BTreeMap<String, Vec<String>>) {
        for project in self.histories.keys().cloned().collect::<Vec<_>>() {
            let ids = visible.get(&self.hash(&project)).map_or(&[][..], Vec::as_slice);
            self.settle(&project, &ids.iter().collect::<Vec<_>>());
        }
    }

    /// Every directory that a subject may know: those that existed when a request named them.
    pub fn known_directories(&self) -> &BTreeSet<ByteString> {
        &self.known_directories
    }

    /// The state of a project's slot in this turn, if anything happened to it.
    pub(crate) fn slot(&self, project: &[u8]) -> Option<Slot> {
        self.slots.get(project).copied()
    }

    /// Whether a project has had its automatic checkpoint in this turn, or nothing to save.
    pub(crate) fn uses_slot(&self, project: &[u8]) -> bool {
        matches!(self.slot(project), Some(Slot::Taken | Slot::NothingToSave))
    }

    /// Whether any project uses its slot.
    pub(crate) fn any_uses_slot(&self) -> bool {
        self.slots.keys().any(|project| self.uses_slot(project))
    }

    /// Whether the project had a pre-restore checkpoint since the turn began.
    pub(crate) fn was_restored_in_turn(&self, project: &ByteString) -> bool {
        self.restored_in_turn.contains(project)
    }

    /// The absolute form of a path that is relative to the world's root.
    pub fn absolute(&self, path: &[u8]) -> ByteString {
        if path.is_empty() {
            return self.layout.root.clone();
        }
        ByteString::from(bytes::join(&self.layout.root, path))
    }

    /// The configuration in the file next to the base; `None` where no rule defines its meaning.
    pub fn configuration(&self) -> Option<Configuration> {
        let file = bytes::join(bytes::parent(&self.layout.base), b"config.yaml");
        match self.files.get(&file) {
            None => Some(Configuration::default()),
            Some(Node::File { content, readable: true, .. }) => {
                Configuration::read(std::str::from_utf8(content).ok()?)
            }
            Some(_) => None,
        }
    }

    /// The hash that identifies a project in the store.
    ///
    /// Implements [`crate::rules::SCOPE_HASH`].
    pub fn hash(&self, project: &[u8]) -> String {
        hash_of(&self.absolute(project))
    }

    /// What a checkpoint of `project`, a directory, would hold now.
    pub fn capture(&self, project: &[u8]) -> Arc<Captured> {
        let bounds =
            Bounds { file_bytes_max: self.settings.max_file_bytes, base: &self.layout.base };
        self.capturer.capture(&self.files, project, &bounds)
    }
}

/// The hash that identifies the project at an absolute path.
pub fn hash_of(absolute: &[u8]) -> String {
    let digest = Sha256::digest(absolute);
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
