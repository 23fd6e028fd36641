//! What the world knows of the base beside the checkpoints, and what a history does to it behind
//! everybody's back.

use super::World;
use crate::bytes::ByteString;
use crate::object::Piece;
use crate::store_edit::{Damage, StoreEdit, StoreFile};
use std::collections::{BTreeMap, BTreeSet};

/// When a project was used, as far as any implementation may have noted it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    /// When a checkpoint was last asked for, taken or not.
    pub(crate) touched: i64,
    /// The latest time at which anything was asked about it.
    pub(crate) latest: i64,
}

/// A v1 repository.
#[derive(Clone, Debug)]
pub struct Repository {
    /// The directory it keeps.
    pub project: ByteString,
    /// When it changed last.
    pub changed: i64,
    /// Whether the first use of the store must archive it.
    pub due: bool,
    /// The archive it is in, once it is.
    pub archive: Option<String>,
}

/// What the mark of the last sweep says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Marker {
    /// Nothing, or nothing that is a time.
    #[default]
    Nothing,
    /// A time.
    At(i64),
    /// Nobody knows: a sweep was begun, and its end not seen.
    Unknown,
}

/// What is known of the base beside the checkpoints.
#[derive(Clone, Debug, Default)]
pub(crate) struct Maintenance {
    pub(crate) uses: BTreeMap<ByteString, Use>,
    /// Projects whose metadata was damaged and not written since.
    pub(crate) damaged: BTreeSet<ByteString>,
    /// Those of which a folder stands in the place of a file, which no file can replace and nobody need
    /// remove.
    pub(crate) blocked: BTreeSet<ByteString>,
    /// Whether that was damaged by which git knows a repository, or finds what is in a pack.
    pub(crate) hindered: bool,
    /// Projects whose metadata was damaged and must be whole again.
    pub(crate) healed: BTreeSet<ByteString>,
    pub(crate) marker: Marker,
    /// Whether something was made to happen while the store changed, and nobody looked after it since.
    pub(crate) uncounted: bool,
    /// Projects without a new checkpoint since then. Only a checkpoint drops what exceeds the limit.
    pub(crate) over_limit: BTreeSet<ByteString>,
    /// When a person last asked for a prune, which may count as a sweep.
    pub(crate) pruned: Option<i64>,
    pub(crate) repositories: BTreeMap<String, Repository>,
    pub(crate) archives: BTreeMap<String, i64>,
    pub(crate) strays: BTreeSet<String>,
    pub(crate) lookalikes: BTreeSet<String>,
}

impl Maintenance {
    pub(super) fn mention(&mut self, project: ByteString, now: i64) {
        let entry = self.uses.entry(project).or_insert(Use { touched: now, latest: now });
        entry.latest = entry.latest.max(now);
    }

    /// A project with checkpoints was captured: whatever is noted of it is noted anew.
    pub(super) fn touch(&mut self, project: &ByteString, now: i64) {
        self.mention(project.clone(), now);
        if let Some(entry) = self.uses.get_mut(project) {
            entry.touched = now;
        }
        if !self.blocked.contains(project) && self.damaged.remove(project) {
            self.healed.insert(project.clone());
        }
    }
}

impl World {
    /// Takes in a change of the base that no request made.
    pub fn edit_store(&mut self, edit: &StoreEdit, there_is_a_store: bool) {
        self.undos.doubt();
        let maintenance = &mut self.maintenance;
        match edit.clone() {
            StoreEdit::Repository { name, project, changed } => {
                let due = !there_is_a_store;
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
            // An index only saves time.
            StoreEdit::Index { project, damage } => {
                if damage == Damage::Folder {
                    maintenance.blocked.insert(project);
                }
            }
            StoreEdit::Stored { piece: Piece::PackIndex, .. } => maintenance.hindered = true,
            StoreEdit::File { file, .. } => {
                maintenance.hindered = true;
                if file == StoreFile::Shallow {
                    self.lose_ends();
                }
            }
            // What these cost, the store shows; git keeps all that is named.
            StoreEdit::Stored { .. } | StoreEdit::Ref { .. } | StoreEdit::Collected => {}
            StoreEdit::Marker { says } => {
                maintenance.marker = says.map_or(Marker::Nothing, Marker::At);
            }
        }
    }

    /// Repositories of the v1, by name.
    pub fn repositories(&self) -> &BTreeMap<String, Repository> {
        &self.maintenance.repositories
    }

    /// v1 archives, by name, with when they were made.
    pub fn archives(&self) -> &BTreeMap<String, i64> {
        &self.maintenance.archives
    }

    /// What else stands in the base.
    pub fn strays(&self) -> &BTreeSet<String> {
        &self.maintenance.strays
    }

    /// Folders that only look like something of the store.
    pub fn lookalikes(&self) -> &BTreeSet<String> {
        &self.maintenance.lookalikes
    }

    /// Projects whose metadata is damaged, and nothing was asked since that heals it.
    pub fn damaged(&self) -> &BTreeSet<ByteString> {
        &self.maintenance.damaged
    }

    /// Whether something is damaged that nobody who looks after the store need get past.
    pub(crate) fn may_upkeep_fail(&self) -> bool {
        self.is_any_disturbed() || self.is_hindered() || !self.maintenance.blocked.is_empty()
    }

    /// Whether that is damaged by which git knows the repository, or finds what is in a pack.
    pub(crate) fn is_hindered(&self) -> bool {
        self.maintenance.hindered
    }

    /// After an injection, space may be miscounted and limits may be exceeded.
    pub(crate) fn doubt_upkeep(&mut self) {
        self.maintenance.uncounted = true;
        self.maintenance.over_limit = self.histories.keys().cloned().collect();
    }

    /// Whether what is noted of the size of the store may be too little.
    pub(crate) fn is_uncounted(&self) -> bool {
        self.maintenance.uncounted
    }

    /// Whether the project may have more checkpoints than its limit.
    pub(crate) fn may_be_over_limit(&self, project: &[u8]) -> bool {
        self.maintenance.over_limit.contains(&ByteString::from(project))
    }

    /// Projects whose metadata was damaged and healed since.
    pub fn healed(&self) -> &BTreeSet<ByteString> {
        &self.maintenance.healed
    }
}
