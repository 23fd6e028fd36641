//! The plan of a restore: what it would do to each path. The restore follows it, and a preview shows
//! it.
//!
//! Nothing is written here. What fails or changes during the restore is known only to the restore.

use super::{EXCLUDED, KEPT, Restore};
use crate::agent_state::PathState;
use crate::ignore::{EntryKind, Exclusion};
use crate::path::on_disk;
use crate::report::{Remark, Restored};
use crate::store::content::Content;
use crate::store::snapshot::Item;
use crate::token::Token;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io;

const MOUNTED: &str = "something is mounted there, and cannot be replaced";

/// What is to be done so that a path is as recorded.
pub(super) enum PlanStep {
    /// It is written, after these obstacles are removed.
    Write(Vec<Vec<u8>>),
    /// It is already as recorded, though no checkpoint holds it.
    InPlace,
    /// It is kept, since writing it would lose content.
    Keep(Remark),
}

/// What is done with a path that the target does not have.
pub(super) enum Surplus {
    /// Nothing: it was not created since, but the target left it out.
    LeftOut,
    Leave,
    Keep(Remark),
    Remove,
}

impl Restore<'_> {
    /// The recorded paths to write: those that are not captured as recorded.
    // rule: restore/untouched
    pub(super) fn to_write(&self) -> impl Iterator<Item = (&Vec<u8>, &Item)> {
        let differs = |(path, item): &(&Vec<u8>, &Item)| self.current.get(*path) != Some(*item);
        self.target.iter().filter(move |entry| differs(entry) && self.covers(entry.0))
    }

    pub(super) fn step(&self, path: &[u8], item: &Item) -> io::Result<PlanStep> {
        Ok(match self.removable_obstacles(path)? {
            Some(obstacles) => PlanStep::Write(obstacles),
            None if self.is_in_place(path, item) => PlanStep::InPlace,
            None => PlanStep::Keep(Remark::new(path, KEPT.into())),
        })
    }

    /// What is done with a path that the target does not have.
    pub(super) fn surplus(&self, path: &[u8], exact: bool) -> Surplus {
        if self.why_left_out(path).is_some() {
            // rule: restore/left-out: decides
            Surplus::LeftOut
        } else if !exact || !self.may_undo(path) {
            // rule: restore/leaves-new
            // rule: restore/undo-redo
            Surplus::Leave
        } else if let Some(exclusion) = self.exclusion(path) {
            Surplus::Keep(Remark::new(path, format!("{EXCLUDED} {exclusion}")))
        } else {
            // rule: restore/exact
            Surplus::Remove
        }
    }

    /// Whether a path may be removed as far as it matters which restore is undone: it is as that made it.
    pub(super) fn may_undo(&self, path: &[u8]) -> bool {
        self.made.is_none_or(|made| made.get(path) == self.current.get(path))
    }

    /// The report of a full restore, if nothing fails or changes meanwhile.
    pub fn plan(&self, exact: bool) -> Restored {
        let mut report = Restored::default();
        let mut removed = BTreeSet::new();
        for (path, item) in self.to_write() {
            if self.units.of_path(path).is_some() {
                continue;
            }
            match self.step(path, item) {
                // The restore itself sees it when it replaces the path.
                Ok(PlanStep::Write(_)) if self.disk.is_mount_point(&on_disk(self.root, path)) => {
                    report.failed.push(Remark::new(path, MOUNTED.into()));
                }
                Ok(PlanStep::Write(obstacles)) => match Content::of(self.objects, item.blob) {
                    Ok(_) => {
                        removed.extend(obstacles);
                        report.restored.push(path.clone());
                    }
                    Err(error) => report.failed.push(Remark::new(path, error.cause())),
                },
                Ok(PlanStep::InPlace) => {}
                Ok(PlanStep::Keep(remark)) => report.kept.push(remark),
                Err(error) => report.failed.push(Remark::new(path, error.to_string())),
            }
        }
        self.plan_units(self.covered_units(), exact, &mut report, &mut removed);
        for path in self.current.keys().filter(|path| !self.target.contains_key(*path)) {
            if !self.covers(path) || removed.contains(path) || self.units.of_path(path).is_some() {
                continue;
            }
            match self.surplus(path, exact) {
                Surplus::LeftOut => {}
                Surplus::Leave => report.left.push(path.clone()),
                Surplus::Keep(remark) => report.kept.push(remark),
                Surplus::Remove => {
                    removed.insert(path.clone());
                }
            }
        }
        self.unrecorded().add_to(&mut report);
        report.kept.retain(|remark| !removed.contains(&remark.path));
        report.removed = removed.into_iter().collect();
        report.sort();
        report.undoes_turn = report.failed.is_empty() && self.below.is_none();
        report
    }

    /// The report of a restore of one path.
    ///
    /// # Errors
    /// As [`Restore::check_path`].
    pub fn plan_path(&self, path: &[u8]) -> crate::error::Result<Restored> {
        if let Some(unit) = self.unit_to_restore(path)? {
            let mut report = Restored::default();
            let mut removed = BTreeSet::new();
            self.plan_units(std::iter::once(unit), self.made.is_some(), &mut report, &mut removed);
            let mut report = Restored { removed: removed.into_iter().collect(), ..report };
            report.sort();
            return Ok(report);
        }
        if self.is_undone_wholly(path) {
            let removed =
                self.is_removed_by_undo(path).then(|| path.to_vec()).into_iter().collect();
            return Ok(Restored { removed, ..Restored::default() });
        }
        let item = self.check_path(path)?;
        if self.current.get(path) == Some(&item) {
            return Ok(Restored::default());
        }
        Ok(match self.disk.is_mount_point(&on_disk(self.root, path)) {
            true => {
                let failed = vec![Remark::new(path, MOUNTED.into())];
                Restored { failed, ..Restored::default() }
            }
            false => Restored { restored: vec![path.to_vec()], ..Restored::default() },
        })
    }

    /// The state of a path when the target was taken, as far as the target holds it.
    pub fn recorded(&self, path: &[u8]) -> PathState {
        match self.target.get(path) {
            Some(item) => PathState::Known(Some(*item)),
            None if self.was_excluded(path) || self.why_left_out(path).is_some() => {
                PathState::Unknown
            }
            None => PathState::Known(None),
        }
    }

    /// Whether the ignore files of the target exclude the file at `path`.
    pub(super) fn was_excluded(&self, path: &[u8]) -> bool {
        self.exclusion(path).is_some()
    }

    /// The pattern by which the target excludes the file at `path`.
    pub(super) fn exclusion(&self, path: &[u8]) -> Option<Exclusion> {
        let is_member = self.units.of_path(path).is_some();
        let kind = if is_member { EntryKind::Member } else { EntryKind::File };
        self.ignores.exclusion(path, kind)
    }

    /// The token of a plan. Files that are left do not count: they stay, however they change.
    pub fn token(&self, plan: &Restored) -> Token {
        let mut hash = Sha256::new();
        let mut add = |label: &[u8], path: &[u8]| {
            hash.update((label.len() as u64).to_be_bytes());
            hash.update(label);
            hash.update((path.len() as u64).to_be_bytes());
            hash.update(path);
        };
        let description =
            |item: Option<&Item>| item.map(|Item { mode, blob }| format!("{mode:?} {blob}"));
        for path in &plan.restored {
            for item in [self.target.get(path), self.current.get(path)] {
                add(description(item).unwrap_or_default().as_bytes(), path);
            }
        }
        for path in &plan.removed {
            add(description(self.current.get(path)).unwrap_or_default().as_bytes(), path);
        }
        for remark in plan.kept.iter().chain(&plan.missing).chain(&plan.failed) {
            add(b"stays", &remark.path);
        }
        Token::of(hash)
    }
}
