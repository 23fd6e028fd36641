//! The state of the world and how a request changes it.
//!
//! This file holds the state and the way from a request to the transition that decides it; the
//! transitions have a file each.

mod checkpoint;
mod listing;
mod maintenance;
mod restore;
#[cfg(test)]
mod tests;

pub use checkpoint::MARKERS;

use crate::bytes::{self, ByteString};
use crate::capture::{Bounds, Captured, Capturer};
use crate::dialect::Dialect;
use crate::edit::{Change, Edit};
use crate::expected::{Expected, Refusal};
use crate::files::Files;
use crate::place::{self, Place, Standing};
use crate::request::Request;
use crate::rules::{self, RuleRef};
use crate::world::maintenance::Maintenance;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a subject is configured with for one history.
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
    /// The oldest checkpoints are dropped where all together take more bytes; 0 is no bound.
    pub max_total_bytes: u64,
    /// Whether the store is swept by itself.
    pub auto_prune: bool,
    /// A sweep removes what was not used for longer; 0 is no bound.
    pub retention_days: u64,
    /// Whether a sweep removes projects whose directory is gone.
    pub delete_orphans: bool,
    /// At least so many hours lie between one sweep and the next.
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

/// Where the fixed points of the world are; paths are relative to its root.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The world's root as an absolute path.
    pub root: ByteString,
    /// The home directory.
    pub home: ByteString,
    /// The directory that relative paths start from.
    pub current: ByteString,
    /// The checkpoint base.
    pub base: ByteString,
}

/// One checkpoint of a project.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Its full id, once the subject has said it.
    pub id: Option<String>,
    /// What it holds, and what was left out.
    pub captured: Arc<Captured>,
    /// Why it was taken, as it must be listed; none while no rule says how it is worded.
    pub reason: Option<String>,
    /// When, in seconds since the epoch.
    pub time: i64,
    /// Whether it was taken to undo a restore.
    pub safety: bool,
}

/// Whether a project's slot of the turn is free, and what happened to it last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// Free again since a new turn or process began.
    Renewed,
    /// Free although an attempt was made.
    AttemptFailed,
    /// Used by a checkpoint.
    Taken,
    /// Used by an attempt that found nothing to save.
    NothingToSave,
}

/// Everything a checkpoint system can see, and all it should have stored.
#[derive(Clone)]
pub struct World {
    /// The files.
    pub files: Files,
    /// The settings of this history.
    pub settings: Settings,
    layout: Layout,
    seconds: i64,
    slots: BTreeMap<ByteString, Slot>,
    /// Projects that had a pre-rollback checkpoint since the turn began.
    rolled_back: BTreeSet<ByteString>,
    histories: BTreeMap<ByteString, Vec<Checkpoint>>,
    /// Directories that were there when something was asked about them.
    known: BTreeSet<ByteString>,
    maintenance: Maintenance,
    dialect: Dialect,
    capturer: Capturer,
}

impl World {
    /// A world with these files and nothing stored, for an implementation of this dialect.
    pub fn new(
        files: Files,
        layout: Layout,
        settings: Settings,
        dialect: Dialect,
        seconds: i64,
    ) -> Self {
        World {
            files,
            settings,
            layout,
            seconds,
            slots: BTreeMap::new(),
            rolled_back: BTreeSet::new(),
            histories: BTreeMap::new(),
            known: BTreeSet::new(),
            maintenance: Maintenance::default(),
            capturer: Capturer::new(&dialect),
            dialect,
        }
    }

    /// Applies an edit and answers what it takes on a disk.
    pub fn edit(&mut self, edit: &Edit) -> Vec<Change> {
        edit.apply(&mut self.files)
    }

    /// What a correct subject may answer to `request`; afterwards the world is as such a subject
    /// leaves it, but for the ids it chooses.
    pub fn step(&mut self, request: &Request) -> Expected {
        if let Some(Place::Inside(path, Standing::Directory)) =
            request.dir().map(|dir| self.locate(dir))
        {
            self.known.insert(path);
        }
        if let Some(project) = request.dir().and_then(|dir| self.canonical(dir)) {
            self.maintenance.mention(project, self.seconds);
        }
        match request {
            Request::NewTurn | Request::Reopen => {
                self.slots.values_mut().for_each(|slot| *slot = Slot::Renewed);
                self.rolled_back.clear();
                Expected::Done
            }
            Request::SetClock { seconds } => {
                self.seconds = *seconds;
                Expected::Done
            }
            Request::ProjectOf { file } => self.project_of(file),
            Request::EnsureCheckpoint { dir, reason } => self.ensure(dir, reason),
            Request::Checkpoint { dir, reason } => self.checkpoint_manually(dir, reason),
            Request::List { dir } => self.list(dir),
            Request::Diff { dir, target } => self.diff(dir, target),
            Request::Restore { dir, target, exact, force } => {
                self.restore(dir, target, *exact, *force)
            }
            Request::RestoreFile { dir, target, path } => self.restore_file(dir, target, path),
            Request::Sweep
            | Request::Prune { .. }
            | Request::Status
            | Request::ClearLegacy
            | Request::Clear => self.maintenance(request),
        }
    }

    /// Takes in the id that the subject gave to the newest checkpoint of `project`.
    pub fn learn_id(&mut self, project: &ByteString, id: &str) {
        if let Some(newest) = self.histories.get_mut(project).and_then(|all| all.last_mut()) {
            newest.id = Some(id.to_owned());
        }
    }

    /// Takes back the newest checkpoint of `project`, which the subject rightly did not take.
    pub fn forget_newest(&mut self, project: &ByteString) {
        if let Some(all) = self.histories.get_mut(project) {
            all.pop();
        }
        self.histories.retain(|_, all| !all.is_empty());
    }

    /// The current time in seconds since the epoch.
    pub fn seconds(&self) -> i64 {
        self.seconds
    }

    /// All checkpoints ever taken of `project`, oldest first.
    pub fn history(&self, project: &[u8]) -> &[Checkpoint] {
        self.histories.get(&ByteString::from(project)).map_or(&[], Vec::as_slice)
    }

    /// Every project that has checkpoints, with all of them, oldest first.
    pub fn histories(&self) -> impl Iterator<Item = (&ByteString, &[Checkpoint])> {
        self.histories.iter().map(|(project, all)| (project, all.as_slice()))
    }

    /// Whether what is called `.git` is captured.
    pub fn captures_repositories(&self) -> bool {
        !self.dialect.leaves_out_repositories
    }

    /// Every directory that a subject may know of: those that were there when something was asked
    /// about them.
    pub fn known_directories(&self) -> &BTreeSet<ByteString> {
        &self.known
    }

    /// The canonical path a typed one means, relative to the world's root, if it is inside.
    pub fn canonical(&self, typed: &[u8]) -> Option<ByteString> {
        match self.locate(typed) {
            Place::Inside(path, _) => Some(path),
            Place::FileSystemRoot | Place::Elsewhere(_) => None,
        }
    }

    /// The absolute form of a path that is relative to the world's root.
    pub fn absolute(&self, path: &[u8]) -> ByteString {
        if path.is_empty() {
            return self.layout.root.clone();
        }
        ByteString(bytes::join(&self.layout.root, path))
    }

    /// Implements [`rules::SCOPE_IDENTITY`].
    fn locate(&self, typed: &[u8]) -> Place {
        if typed == b"~" || typed.starts_with(b"~/") {
            return self.follow(&[&self.layout.home[..], &typed[1..]].concat());
        }
        if !typed.starts_with(b"/") {
            return self.follow(&bytes::join(&self.layout.current, typed));
        }
        if typed.iter().all(|byte| *byte == b'/') {
            return Place::FileSystemRoot;
        }
        let inside = typed
            .strip_prefix(&self.layout.root[..])
            .filter(|rest| rest.is_empty() || rest.starts_with(b"/"));
        match inside {
            Some(path) => self.follow(path),
            None => Place::Elsewhere(ByteString::from(typed)),
        }
    }

    /// Where a path leads that is relative to the world's root.
    fn follow(&self, path: &[u8]) -> Place {
        place::resolve(&self.files, &self.layout.root, path)
    }

    /// Why no checkpoint may be taken of this place, whatever it holds.
    ///
    /// Implements [`rules::SCOPE_NEVER_ROOT`], [`rules::SCOPE_NEVER_HOME`],
    /// [`rules::SCOPE_NO_DIRECTORY`] and the half of [`rules::SCOPE_BASE_NOT_CAPTURED`] that is
    /// about the base itself.
    fn out_of_scope(&self, place: &Place) -> Option<Refusal> {
        use crate::answer::Code;
        let (codes, rule): (&'static [Code], RuleRef) = match place {
            Place::FileSystemRoot => (&[Code::ScopeRoot], &rules::SCOPE_NEVER_ROOT),
            Place::Inside(path, _) if *path == self.layout.home => {
                (&[Code::ScopeHome], &rules::SCOPE_NEVER_HOME)
            }
            Place::Inside(path, _) if self.in_base(path) => (
                &[Code::ScopeBase, Code::MissingDirectory, Code::NotADirectory],
                &rules::SCOPE_BASE_NOT_CAPTURED,
            ),
            Place::Elsewhere(_) => {
                (&[Code::MissingDirectory, Code::NotADirectory], &rules::SCOPE_NO_DIRECTORY)
            }
            Place::Inside(_, Standing::Nothing) => {
                (&[Code::MissingDirectory], &rules::SCOPE_NO_DIRECTORY)
            }
            Place::Inside(_, Standing::NoDirectory) => {
                (&[Code::NotADirectory], &rules::SCOPE_NO_DIRECTORY)
            }
            Place::Inside(_, Standing::Directory) => return None,
        };
        Some(Refusal { codes, rule })
    }

    /// Whether the rules leave it open that this place, relative to the world's root, is a project:
    /// it is not the home directory, and it neither is, holds nor lies in the base.
    pub fn may_be_project(&self, path: &[u8]) -> bool {
        let holds_base = bytes::below(path, &self.layout.base).is_some();
        *path != *self.layout.home && !self.in_base(path) && !holds_base
    }

    fn in_base(&self, path: &[u8]) -> bool {
        *path == *self.layout.base || bytes::below(&self.layout.base, path).is_some()
    }

    /// What a checkpoint of `project`, a directory, would hold now.
    pub fn capture(&self, project: &[u8]) -> Captured {
        let bounds =
            Bounds { file_bytes_max: self.settings.max_file_bytes, base: &self.layout.base };
        self.capturer.capture(&self.files, project, &bounds)
    }

    /// The checkpoints of `project` that can be listed and restored, oldest first.
    ///
    /// Implements [`rules::LIST_AT_MOST`].
    pub fn listed(&self, project: &[u8]) -> &[Checkpoint] {
        let all = self.history(project);
        &all[all.len().saturating_sub(self.settings.max_snapshots)..]
    }
}
