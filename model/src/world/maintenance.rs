//! Keeping the store: what a sweep removes and what it leaves, what is said of the store, and what
//! stands in the base beside it.
//!
//! Which checkpoints a bound on the total size leaves is the subject's choice within the rules; the
//! world learns it and holds the subject to it.

use super::{Checkpoint, World};
use crate::answer::ProjectState;
use crate::bytes::{self, ByteString};
use crate::expected::{Cleared, Disposition, Expected, ExpectedStatus, ExpectedSweep};
use crate::files::Node;
use crate::request::Request;
use crate::rules::{self, RuleRef};
use crate::store_edit::StoreEdit;
use std::collections::{BTreeMap, BTreeSet};

const HOUR: i64 = 60 * 60;
const DAY: i64 = 24 * HOUR;

/// When a project was used, as far as any implementation may have noted it.
#[derive(Clone, Copy, Debug)]
struct Use {
    /// When a checkpoint was last asked for, taken or not.
    touched: i64,
    /// The latest time at which anything was asked about it.
    latest: i64,
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
enum Marker {
    /// Nothing, or nothing that is a time.
    #[default]
    Nothing,
    /// A time.
    At(i64),
}

/// What is known of the base beside the checkpoints.
#[derive(Clone, Debug, Default)]
pub(super) struct Maintenance {
    uses: BTreeMap<ByteString, Use>,
    /// Projects whose metadata was damaged and not written since.
    damaged: BTreeSet<ByteString>,
    /// Projects whose metadata was damaged and must be whole again.
    healed: BTreeSet<ByteString>,
    marker: Marker,
    /// When a person last asked for a prune, which may count as a sweep.
    pruned: Option<i64>,
    repositories: BTreeMap<String, Repository>,
    archives: BTreeMap<String, i64>,
    strays: BTreeSet<String>,
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
        if self.damaged.remove(project) {
            self.healed.insert(project.clone());
        }
    }
}

/// What there is in the base, and what became of it.
impl World {
    /// Takes in a change of the base that no request made.
    pub fn edit_store(&mut self, edit: &StoreEdit, there_is_a_store: bool) {
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
            StoreEdit::Metadata { project, .. } => {
                maintenance.healed.remove(&project);
                maintenance.damaged.insert(project);
            }
            // An index only saves time.
            StoreEdit::Index { .. } => {}
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

    /// Projects whose metadata is damaged, and nothing was asked since that heals it.
    pub fn damaged(&self) -> &BTreeSet<ByteString> {
        &self.maintenance.damaged
    }

    /// Projects whose metadata was damaged and healed since.
    pub fn healed(&self) -> &BTreeSet<ByteString> {
        &self.maintenance.healed
    }

    /// The repository of that name was found in an archive.
    pub fn learn_archived(&mut self, name: &str, archive: &str) {
        let now = self.seconds;
        if let Some(repository) = self.maintenance.repositories.get_mut(name) {
            repository.archive = Some(archive.to_owned());
            self.maintenance.archives.entry(archive.to_owned()).or_insert(now);
        }
    }

    /// The project's checkpoints are gone, as they may be.
    pub fn learn_gone(&mut self, project: &ByteString) {
        self.histories.remove(project);
        self.maintenance.uses.remove(project);
        self.maintenance.damaged.remove(project);
        self.maintenance.healed.remove(project);
    }

    /// The repository of that name is gone, as it may be.
    pub fn learn_repository_gone(&mut self, name: &str) {
        self.maintenance.repositories.remove(name);
    }

    /// The archive is gone with what was in it, as it may be.
    pub fn learn_archive_gone(&mut self, name: &str) {
        self.maintenance.archives.remove(name);
        self.maintenance.repositories.retain(|_, one| one.archive.as_deref() != Some(name));
    }

    /// Only the newest checkpoints of the project are left, so many of them.
    pub fn learn_remaining(&mut self, project: &ByteString, count: usize) {
        if let Some(all) = self.histories.get_mut(project) {
            all.drain(..all.len().saturating_sub(count));
        }
    }

    /// A sweep was made.
    pub fn learn_swept(&mut self) {
        self.maintenance.marker = Marker::At(self.seconds);
    }

    /// Everything is gone.
    pub fn learn_cleared(&mut self) {
        self.histories.clear();
        self.maintenance = Maintenance::default();
    }
}

/// What a request about the whole store must come to.
impl World {
    pub(super) fn maintenance(&mut self, request: &Request) -> Expected {
        match request {
            Request::Prune { retention_days, max_total_bytes, delete_orphans } => {
                self.maintenance.pruned = Some(self.seconds);
                let due = (true, false);
                self.sweep(due, *retention_days, *max_total_bytes, *delete_orphans, true)
            }
            Request::ClearLegacy => Expected::Cleared(Cleared::Archives),
            Request::Clear => Expected::Cleared(Cleared::Everything),
            Request::Status => Expected::Status(self.status()),
            _ => {
                let settings = self.settings.clone();
                let due = self.is_due();
                let (days, bytes) = (settings.retention_days, settings.max_total_bytes);
                self.sweep(due, days, bytes, settings.delete_orphans, false)
            }
        }
    }

    /// Whether a sweep may be made now, and whether it may be left.
    ///
    /// Implements [`rules::SWEEP_INTERVAL`].
    fn is_due(&self) -> (bool, bool) {
        if !self.settings.auto_prune {
            return (false, true);
        }
        let interval = i64::try_from(self.settings.min_interval_hours).unwrap_or(i64::MAX);
        let interval = interval.saturating_mul(HOUR);
        let nothing = self.histories.is_empty() && self.maintenance.archives.is_empty();
        let recent = |at: i64| (0..interval).contains(&(self.seconds - at));
        let manual = self.maintenance.pruned.is_some_and(recent);
        match self.maintenance.marker {
            Marker::At(at) if recent(at) => (false, true),
            // Where there is nothing to sweep, nobody can tell; and a prune may count as a sweep.
            _ => (true, nothing || manual),
        }
    }

    fn sweep(
        &mut self,
        (may_run, may_decline): (bool, bool),
        retention_days: u64,
        max_total_bytes: u64,
        orphans: bool,
        manual: bool,
    ) -> Expected {
        let days = i64::try_from(retention_days).unwrap_or(i64::MAX);
        let judge = Judge { world: self, retention: days.saturating_mul(DAY), orphans };
        let projects = self.histories.iter();
        let projects = projects.map(|(path, all)| (path.clone(), judge.project(path, all)));
        let archives = self.maintenance.archives.iter();
        let archives = archives.map(|(name, made)| (name.clone(), judge.archive(*made)));
        let standing =
            self.maintenance.repositories.iter().filter(|(_, one)| one.archive.is_none());
        let repositories = standing.map(|(name, one)| (name.clone(), judge.repository(one)));
        Expected::Sweep(Box::new(ExpectedSweep {
            may_run,
            may_decline,
            projects: projects.collect(),
            archives: archives.collect(),
            repositories: repositories.collect(),
            max_total_bytes,
            manual,
        }))
    }

    /// Implements [`rules::MAINTENANCE_COMMANDS`].
    fn status(&self) -> ExpectedStatus {
        let mut projects = BTreeMap::new();
        for project in self.histories.keys() {
            let states = match self.evidence(project) {
                Evidence::There => vec![ProjectState::Live],
                Evidence::Gone => vec![ProjectState::Orphan],
                Evidence::None => vec![ProjectState::Orphan, ProjectState::Unknown],
                Evidence::Doubtful => {
                    vec![ProjectState::Live, ProjectState::Orphan, ProjectState::Unknown]
                }
            };
            let count = self.listed(project).len();
            projects.insert(self.absolute(project), (count, states));
        }
        let (damaged, healed) = (self.maintenance.damaged.iter(), self.maintenance.healed.iter());
        ExpectedStatus {
            projects,
            nameless: damaged.map(|project| self.absolute(project)).collect(),
            healed: healed.map(|project| self.absolute(project)).collect(),
            archives: self.maintenance.archives.keys().cloned().collect(),
        }
    }

    fn evidence(&self, project: &[u8]) -> Evidence {
        let parent = bytes::parent(project);
        match (self.files.get(project), self.files.get(parent)) {
            (Some(Node::Directory), _) => Evidence::There,
            (Some(_), _) => Evidence::Doubtful,
            (None, Some(Node::Directory)) => Evidence::Gone,
            (None, Some(_)) => Evidence::Doubtful,
            (None, None) => Evidence::None,
        }
    }
}

/// What there is to say that a directory is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Evidence {
    /// It is there.
    There,
    /// It is gone from a directory that is there.
    Gone,
    /// It cannot be seen, and neither can what it was in.
    None,
    /// Something else stands there, or in the place of what it was in.
    Doubtful,
}

/// Who judges what a sweep may do.
struct Judge<'a> {
    world: &'a World,
    /// Seconds; 0 is no bound.
    retention: i64,
    orphans: bool,
}

impl Judge<'_> {
    /// Whether something last used between these times may count as stale, and whether it must.
    fn stale(&self, earliest: i64, latest: i64) -> (bool, bool) {
        let age = |time: i64| self.world.seconds.saturating_sub(time);
        let bound = self.retention > 0;
        (bound && age(earliest) >= self.retention, bound && age(latest) > self.retention)
    }

    /// Implements [`rules::SWEEP_ORPHANS`], [`rules::SWEEP_STALE`] and [`rules::SWEEP_EVIDENCE`].
    fn project(&self, path: &ByteString, history: &[Checkpoint]) -> Disposition {
        let taken = history.last().map_or(i64::MIN, |newest| newest.time);
        let used = self.world.maintenance.uses.get(path);
        let touched = used.map_or(taken, |used| used.touched);
        let latest = used.map_or(taken, |used| used.latest).max(taken);
        let evidence = self.world.evidence(path);
        // Of a project whose metadata is damaged nobody need know the directory, or any time.
        let damaged = self.world.maintenance.damaged.contains(path);
        let evidence = if damaged { Evidence::None } else { evidence };
        let stale = self.stale(touched.min(taken), latest);
        self.disposition(evidence, (stale.0, stale.1 && !damaged))
    }

    fn repository(&self, one: &Repository) -> Disposition {
        self.disposition(self.world.evidence(&one.project), self.stale(one.changed, one.changed))
    }

    fn archive(&self, made: i64) -> Disposition {
        self.disposition(Evidence::There, self.stale(made, made))
    }

    fn disposition(
        &self,
        evidence: Evidence,
        (may_be_stale, is_stale): (bool, bool),
    ) -> Disposition {
        let is_orphan = self.orphans && evidence == Evidence::Gone;
        let rule: RuleRef = match evidence {
            _ if is_orphan => &rules::SWEEP_ORPHANS,
            // However little is known of its directory, it goes because of its age.
            _ if is_stale => &rules::SWEEP_STALE,
            Evidence::Gone => &rules::SWEEP_ORPHANS,
            Evidence::None => &rules::SWEEP_EVIDENCE,
            Evidence::There | Evidence::Doubtful => &rules::SWEEP_STALE,
        };
        Disposition {
            may_stay: !is_orphan && !is_stale,
            may_be_orphan: is_orphan || self.orphans && evidence == Evidence::Doubtful,
            may_be_stale: may_be_stale && !is_orphan,
            rule,
        }
    }
}
