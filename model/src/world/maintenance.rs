//! The state of the base apart from the checkpoints, and the changes that a history makes to it without
//! a request.

use super::World;
use crate::bytes::ByteString;
use crate::object::Piece;
use crate::observation::Base;
use crate::store_edit::{Damage, StoreEdit, StoreFile};
use std::collections::{BTreeMap, BTreeSet};

/// When a project was used, as far as an implementation may have recorded it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    /// When a checkpoint was last requested, taken or not.
    pub(crate) touched: i64,
    /// When the project was last named in a request.
    pub(crate) latest: i64,
}

/// A v1 repository.
#[derive(Clone, Debug)]
pub struct Repository {
    /// The directory it keeps.
    pub project: ByteString,
    /// When it last changed.
    pub changed: i64,
    /// Whether the first use of the store must archive it.
    pub due: bool,
    /// The archive it is in, if it is archived.
    pub archive: Option<String>,
}

/// The content of the marker of the last sweep.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Marker {
    /// There is no marker, or it does not hold a time.
    #[default]
    Nothing,
    /// A time.
    At(i64),
    /// Unknown: a sweep was begun, and its end was not observed.
    Unknown,
}

/// The state of the base apart from the checkpoints.
#[derive(Clone, Debug, Default)]
pub(crate) struct Maintenance {
    pub(crate) uses: BTreeMap<ByteString, Use>,
    /// Projects whose metadata was damaged and not written since.
    pub(crate) damaged: BTreeSet<ByteString>,
    /// Projects with a folder in place of a file, which a file cannot replace and no implementation must
    /// remove.
    pub(crate) blocked: BTreeSet<ByteString>,
    /// Whether a file by which git recognizes a repository, or an index of a pack, was damaged.
    pub(crate) has_damaged_git_files: bool,
    /// Projects whose metadata was damaged and must be complete again.
    pub(crate) healed: BTreeSet<ByteString>,
    pub(crate) marker: Marker,
    /// Whether an injection interrupted a change of the store, and no sweep was made since.
    pub(crate) is_size_uncertain: bool,
    /// Whether a restore may have left the size limit to the next checkpoint.
    pub(crate) is_limit_left: bool,
    /// Projects without a new checkpoint since then. Only a checkpoint evicts what exceeds the limit.
    pub(crate) over_limit: BTreeSet<ByteString>,
    /// When a person last requested a prune, which may count as a sweep.
    pub(crate) pruned: Option<i64>,
    pub(crate) repositories: BTreeMap<String, Repository>,
    pub(crate) archives: BTreeMap<String, i64>,
    pub(crate) strays: BTreeSet<String>,
    pub(crate) lookalikes: BTreeSet<String>,
}

impl Maintenance {
    /// Forgets the archives and v1 repositories that the base lacks.
    pub(crate) fn forget_missing(&mut self, base: &Base) {
        let exists = |locations: &Vec<_>| !locations.is_empty();
        self.archives.retain(|name, _| base.archives.contains(name));
        self.repositories.retain(|name, _| base.repositories.get(name).is_some_and(exists));
    }

    pub(super) fn record_mention(&mut self, project: ByteString, now: i64) {
        let entry = self.uses.entry(project).or_insert(Use { touched: now, latest: now });
        entry.latest = entry.latest.max(now);
    }

    /// Records that a project with checkpoints was captured, which rewrites its metadata.
    pub(super) fn record_capture(&mut self, project: &ByteString, now: i64) {
        self.record_mention(project.clone(), now);
        if let Some(entry) = self.uses.get_mut(project) {
            entry.touched = now;
        }
        if !self.blocked.contains(project) && self.damaged.remove(project) {
            self.healed.insert(project.clone());
        }
    }
}

impl World {
    /// Records a change of the base that no request made.
    pub fn edit_store(&mut self, edit: &StoreEdit, store_exists: bool) {
        self.pre_restore.doubt();
        let maintenance = &mut self.maintenance;
        match edit.clone() {
            StoreEdit::Repository { name, project, changed } => {
                let due = !store_exists;
                let repository = Repository { project, changed, due, archive: None };
                maintenance.repositories.insert(name, repository);
            }
            StoreEdit::Archive { name, made } => {
                maintenance.archives.insert(name, made);
            }
            StoreEdit::Stray { name } => {
                maintenance.strays.insert(name);
            }
            StoreEdit::Lookalike { name, .. } => {
                maintenance.lookalikes.insert(name);
            }
            StoreEdit::Metadata { project, damage } => {
                if damage == Damage::Folder {
                    maintenance.blocked.insert(project.clone());
                }
                maintenance.healed.remove(&project);
                maintenance.damaged.insert(project);
            }
            // An index is only a cache.
            StoreEdit::Index { project, damage } => {
                if damage == Damage::Folder {
                    maintenance.blocked.insert(project);
                }
            }
            StoreEdit::Stored { piece: Piece::PackIndex, .. } => {
                maintenance.has_damaged_git_files = true;
            }
            StoreEdit::File { file, .. } => {
                maintenance.has_damaged_git_files = true;
                if file == StoreFile::Shallow {
                    self.lose_ends();
                }
            }
            StoreEdit::AnyFile { .. } => self.lose_anything(),
            // The effect of damage is observed in the store; `git gc` keeps everything that has a ref.
            StoreEdit::Stored { .. } | StoreEdit::Ref { .. } | StoreEdit::Collected => {}
            StoreEdit::Marker { says } => {
                maintenance.marker = says.map_or(Marker::Nothing, Marker::At);
            }
        }
    }

    /// v1 repositories, by name.
    pub fn repositories(&self) -> &BTreeMap<String, Repository> {
        &self.maintenance.repositories
    }

    /// v1 archives, by name, with when they were made.
    pub fn archives(&self) -> &BTreeMap<String, i64> {
        &self.maintenance.archives
    }

    /// Other files in the base.
    pub fn strays(&self) -> &BTreeSet<String> {
        &self.maintenance.strays
    }

    /// Unrelated folders that look like a part of the store.
    pub fn lookalikes(&self) -> &BTreeSet<String> {
        &self.maintenance.lookalikes
    }

    /// Projects whose metadata is damaged, and was not rewritten by a request since.
    pub fn damaged(&self) -> &BTreeSet<ByteString> {
        &self.maintenance.damaged
    }

    /// Whether damage may make maintenance fail.
    pub(crate) fn may_maintenance_fail(&self) -> bool {
        self.is_any_partially_corrupted()
            || self.has_damaged_git_files()
            || !self.maintenance.blocked.is_empty()
    }

    /// Whether a file by which git recognizes the repository, or an index of a pack, is damaged.
    pub(crate) fn has_damaged_git_files(&self) -> bool {
        self.maintenance.has_damaged_git_files
    }

    /// Records that, after an injection, space may be miscounted and limits may be exceeded.
    pub(crate) fn mark_size_uncertain(&mut self) {
        self.maintenance.is_size_uncertain = true;
        self.maintenance.over_limit = self.histories.keys().cloned().collect();
    }

    /// Whether the recorded size of the store may be too small.
    pub(crate) fn is_size_uncertain(&self) -> bool {
        self.maintenance.is_size_uncertain
    }

    /// Whether the project may have more checkpoints than its limit.
    pub(crate) fn may_be_over_limit(&self, project: &[u8]) -> bool {
        self.maintenance.over_limit.contains(project)
    }

    /// Projects whose metadata was damaged and rewritten since.
    pub fn healed(&self) -> &BTreeSet<ByteString> {
        &self.maintenance.healed
    }
}
