//! What a restore does to units: all files of a unit are restored, or all are kept.
//!
//! Every path of an affected unit is judged here and nowhere else: as long as the files of a unit are from
//! different moments, it means nothing that one of them is right or wrong.

use super::restore_outcome::{RestoreOutcome, names};
use crate::allowed::AllowedRestore;
use crate::bytes::ByteString;
use crate::capture::{Captured, CapturedUnit, reports_in_use};
use crate::files::{Files, Node};
use crate::observation::{Observation, Rows};
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::unit::{self, PathContent, Role, Unit};
use crate::verdict::{Checks, Judge, Kind, Mismatch};
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};

/// A unit that a restore affects, with every path of it before, afterwards or in the checkpoint.
pub(super) struct AffectedUnit {
    unit: Unit,
    paths: BTreeSet<ByteString>,
    /// Whether the checkpoint left it out.
    left_out: bool,
    /// The nodes of its members at the checkpoint, as far as they are known.
    nodes: BTreeMap<ByteString, Node>,
}

/// The effect of a restore on a unit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UnitChange {
    /// Nothing of it changed.
    Untouched,
    /// It is as in the checkpoint, without any other file.
    Restored,
    /// It is neither.
    Torn,
}

/// Every unit of a checkpoint or of the files before a restore, for an implementation with units.
pub(crate) fn units(world: &World, target: &Captured, before: &Captured) -> Vec<Unit> {
    if !world.has("capture.units") {
        return Vec::new();
    }
    let recognized = unit::units_among(unit::paths_of_tree(&target.tree));
    let captured = target.units.iter().chain(&before.units).map(|captured| captured.unit.clone());
    let mut units: Vec<Unit> = Vec::new();
    for unit in captured.chain(recognized) {
        if !units.contains(&unit) {
            units.push(unit);
        }
    }
    units
}

/// The unit as a capture found it.
pub(crate) fn captured<'a>(captured: &'a Captured, unit: &Unit) -> Option<&'a CapturedUnit> {
    captured.units.iter().find(|captured_unit| captured_unit.unit == *unit)
}

/// The units that a restore affects: of the requested ones, each that the checkpoint recorded or left
/// out, and each that is to be removed.
pub(super) fn affected(
    world: &World,
    allowed: &AllowedRestore,
    after: &Files,
    is_requested: &dyn Fn(&[u8]) -> bool,
) -> Vec<AffectedUnit> {
    let mut affected = Vec::new();
    if !world.has("capture.units") {
        return affected;
    }
    let current = || unit::paths_of_files(&world.files, &allowed.project);
    let current_units = unit::units_among(current());
    let mut units = units(world, &allowed.target, &allowed.before);
    // A restored file joins a unit on the disk whose other members are ignored, and so in no capture, or of
    // which only the restored content shows that it is a unit.
    let is_recorded = |unit: &Unit| allowed.target.tree.keys().any(|path| unit.has(path));
    let unread = current().map(|(path, _)| (path, PathContent::Unreadable));
    let merged = unread.chain(unit::paths_of_tree(&allowed.target.tree));
    for unit in current_units.iter().cloned().chain(unit::units_among(merged)) {
        if !units.contains(&unit) && is_recorded(&unit) {
            units.push(unit);
        }
    }
    for unit in units {
        let captured_unit = captured(&allowed.target, &unit);
        // A file that was left out may have become part of a unit since.
        let unrecorded = || allowed.target.unrecorded.iter().filter(|(path, _)| unit.has(path));
        let left_out = match captured_unit {
            Some(captured_unit) => !captured_unit.is_captured,
            None => world.has("checkpoint.left_out") && unrecorded().next().is_some(),
        };
        let is_recorded = allowed.target.tree.keys().any(|path| unit.role(path).is_some());
        let in_files = |files: &Files| {
            let paths = unit::paths_of_files(files, &allowed.project).map(|(path, _)| path);
            let paths = paths.filter(|path| unit.role(path).is_some());
            paths.map(ByteString::from).collect::<BTreeSet<_>>()
        };
        let recorded = allowed.target.tree.keys().filter(|path| unit.role(path).is_some()).cloned();
        let mut paths: BTreeSet<ByteString> = recorded.collect();
        paths.extend(in_files(&world.files));
        paths.extend(in_files(after));
        paths.extend(captured_unit.iter().flat_map(|unit| unit.members.keys().cloned()));
        // The files of a unit that was left out, and is not a unit any more, are ordinary files.
        let is_unit_now = current_units.contains(&unit);
        let is_affected = is_recorded || left_out || allowed.exact && !allowed.is_forced();
        let is_affected = is_affected && (is_unit_now || !left_out);
        if is_affected && paths.iter().any(|path| is_requested(path)) {
            let unrecorded = || unrecorded().map(|(path, node)| (path.clone(), node.clone()));
            let nodes =
                captured_unit.map_or_else(|| unrecorded().collect(), |unit| unit.members.clone());
            affected.push(AffectedUnit { unit, paths, left_out, nodes });
        }
    }
    affected
}

impl AffectedUnit {
    /// Whether a path belongs to this unit.
    pub(super) fn has(&self, path: &ByteString) -> bool {
        self.unit.role(path).is_some()
    }
}

impl RestoreOutcome<'_> {
    fn change_of(&self, affected: &AffectedUnit) -> UnitChange {
        // Where the checkpoint does not hold the unit, a derived file was an ordinary file then.
        let is_ordinary = |path: &ByteString| {
            self.allowed.target.tree.contains_key(path) && !self.is_recorded_member(affected, path)
        };
        if !affected.paths.iter().any(|path| self.changed(path) && !is_ordinary(path)) {
            return UnitChange::Untouched;
        }
        let is_gone =
            |path: &ByteString| matches!(self.node_after(path), None | Some(Node::Directory));
        let is_right = |path: &&ByteString| match self.allowed.target.tree.contains_key(*path) {
            true => self.is_as_recorded(path) || is_ordinary(path) && is_gone(path),
            false => is_gone(path),
        };
        let is_restored =
            affected.paths.iter().all(|path| is_right(&path)) && !self.was_right(affected);
        if is_restored { UnitChange::Restored } else { UnitChange::Torn }
    }

    fn is_recorded_member(&self, affected: &AffectedUnit, path: &ByteString) -> bool {
        affected.unit.has(path) && self.allowed.target.tree.contains_key(path)
    }

    /// The members that existed before.
    fn present<'a>(&self, affected: &'a AffectedUnit) -> impl Iterator<Item = &'a ByteString> {
        let existed =
            |path: &&ByteString| !matches!(self.node_before(path), None | Some(Node::Directory));
        let present: Vec<_> = affected.paths.iter().filter(existed).collect();
        present.into_iter().filter(|path| affected.unit.has(path))
    }

    /// The paths in which a unit differed from the checkpoint, or from what the checkpoint left out.
    fn differing<'a>(&self, affected: &'a AffectedUnit) -> BTreeSet<&'a ByteString> {
        let is_unchanged = |path: &ByteString| match self.allowed.target.tree.get(path) {
            Some(entry) => self.node_before(path) == Some(&entry.node()),
            None => {
                let node = affected.nodes.get(path).filter(|_| affected.left_out);
                node.is_some_and(|node| !self.differs_from(path, node))
            }
        };
        let recorded = affected.paths.iter().filter(|path| self.is_recorded_member(affected, path));
        recorded.chain(self.present(affected)).filter(|path| !is_unchanged(path)).collect()
    }

    fn was_right(&self, affected: &AffectedUnit) -> bool {
        !affected.left_out && self.differing(affected).is_empty()
    }

    /// Whether a unit that the checkpoint does not hold is to be removed.
    fn removes_unit(&self, affected: &AffectedUnit) -> bool {
        let is_derived = |path: &ByteString| affected.unit.role(path) == Some(Role::Derived);
        self.removes()
            && self.present(affected).all(|path| is_derived(path) || self.removes_path(path))
    }

    /// Whether a unit may be replaced or removed.
    ///
    /// Implements [`rules::UNIT_UNDO`].
    fn may_replace(&self, affected: &AffectedUnit) -> bool {
        let is_recorded = self.is_partly_recorded(affected);
        let has_room =
            |path: &ByteString| self.obstacles(path).iter().all(|path| self.is_expendable(path));
        let recorded =
            || affected.paths.iter().filter(|path| self.is_recorded_member(affected, path));
        !affected.left_out
            && (is_recorded || self.removes_unit(affected))
            && self.present(affected).all(|path| self.is_held(path))
            && recorded().all(|path| has_room(path) && !self.is_lost(path))
    }

    /// Whether a unit must be replaced or removed, unless it is in use.
    fn must_replace(&self, affected: &AffectedUnit) -> bool {
        let is_recorded = self.is_partly_recorded(affected);
        let tree = &self.allowed.target.tree;
        let is_complete = match is_recorded {
            true => affected.unit.is_complete(&unit::paths_of_tree(tree).collect()),
            false => {
                let ignored = |path| self.world.capturer.member_ignored_by(tree, path);
                !self.present(affected).any(|path| ignored(path))
            }
        };
        let is_free = |path: &ByteString| self.obstacles(path).is_empty();
        // A forced restore removes no file created since, since no checkpoint holds it.
        let is_new = |path: &ByteString| !self.is_recorded_member(affected, path);
        let would_lose = self.allowed.is_forced() && self.present(affected).any(is_new);
        self.may_replace(affected)
            && !would_lose
            && !self.was_right(affected)
            && is_complete
            && !self.allowed.damaged
            && affected
                .paths
                .iter()
                .filter(|path| self.is_recorded_member(affected, path))
                .all(is_free)
    }

    /// The wrong paths of units, each with the rule that it breaks.
    ///
    /// Implements [`rules::UNIT_RESTORED`].
    pub(super) fn unit_violations(&self) -> Vec<(RuleRef, ByteString)> {
        let rule: RuleRef = &rules::UNIT_RESTORED;
        let mut violations: Vec<(RuleRef, ByteString)> = Vec::new();
        for affected in &self.units {
            let is_lost = |path: &&ByteString| self.changed(path) && !self.is_held(path);
            let lost = self.present(affected).find(is_lost);
            let first = || {
                let differs = |path: &&ByteString| {
                    self.changed(path)
                        || self.node_after(path)
                            != self
                                .allowed
                                .target
                                .tree
                                .get(*path)
                                .map(|entry| entry.node())
                                .as_ref()
                };
                affected.paths.iter().find(differs).cloned().unwrap_or_default()
            };
            match self.change_of(affected) {
                UnitChange::Untouched
                    if self.must_replace(affected) && !self.is_in_use(affected) =>
                {
                    violations.push((rule, first()));
                }
                UnitChange::Untouched => {}
                UnitChange::Restored if self.may_replace(affected) => {}
                UnitChange::Restored | UnitChange::Torn => match lost {
                    Some(path) => violations.push((&rules::UNIT_UNDO, path.clone())),
                    None => violations.push((rule, first())),
                },
            }
        }
        violations
    }

    /// Whether the answer reports that a unit changes or is in use.
    fn is_in_use(&self, affected: &AffectedUnit) -> bool {
        let is_reported =
            |path: &&ByteString| self.remarks.get(*path).is_some_and(|why| reports_in_use(why));
        let differing = self.differing(affected);
        !differing.is_empty() && differing.iter().all(is_reported)
    }

    /// Whether a path is judged as a part of a unit.
    pub(super) fn is_in_unit(&self, path: &ByteString) -> bool {
        self.units.iter().any(|affected| affected.has(path))
    }

    /// Whether a path is derived from a database that is restored, which would be read with it.
    pub(super) fn is_derived(&self, path: &ByteString) -> bool {
        let before = unit::paths_of_tree(&self.allowed.before.tree);
        let merged = before.chain(unit::paths_of_tree(&self.allowed.target.tree));
        let is_derived = |unit: &Unit| {
            unit.role(path) == Some(Role::Derived)
                && self.allowed.target.tree.contains_key(&unit.anchor)
                && names(self.allowed, &unit.anchor)
        };
        self.world.has("capture.units") && unit::units_among(merged).iter().any(is_derived)
    }

    /// Whether a path belongs to a unit created since that the answer does not name at all: it may have
    /// been in use, and not captured.
    pub(super) fn is_left_unnamed(&self, path: &ByteString) -> bool {
        let mut units = self.all_units.iter().filter(|unit| unit.has(path));
        units.any(|unit| !self.reported.iter().any(|reported| unit.has(reported)))
    }

    /// Whether a path may be rewritten although it was as recorded, since its unit was restored.
    pub(super) fn is_of_restored_unit(&self, path: &ByteString) -> bool {
        let is_restored = |affected: &&AffectedUnit| {
            affected.has(path) && self.change_of(affected) == UnitChange::Restored
        };
        self.units.iter().any(|affected| is_restored(&affected))
    }

    /// Compares the report of units with what happened to them, and counts them.
    pub(super) fn compare_units(&self, checks: &mut Checks) {
        for affected in &self.units {
            let change = self.change_of(affected);
            if change == UnitChange::Restored {
                checks.held(&rules::UNIT_RESTORED, 1);
            }
            let is_kept = change == UnitChange::Untouched && !self.may_replace(affected);
            checks.held(&rules::UNIT_UNDO, u64::from(is_kept || self.allowed.undo));
            if change == UnitChange::Torn
                || self.was_right(affected)
                || !self.world.has("restore.report")
            {
                continue;
            }
            // A file removed with a restored unit may be one that the checkpoint left out separately.
            let is_in_unit = |path: &&&ByteString| {
                affected.has(path) && (change == UnitChange::Untouched || !self.was_left_out(path))
            };
            let named: BTreeSet<&ByteString> =
                self.reported.iter().filter(is_in_unit).copied().collect();
            let expected: BTreeSet<&ByteString> = match change {
                UnitChange::Untouched => self.differing(affected),
                _ => BTreeSet::new(),
            };
            // A kept file that was created since need not be named where it was not captured.
            let must_be_named = |path: &&&ByteString| {
                let before = &self.allowed.before.tree;
                affected.left_out && affected.nodes.contains_key(**path)
                    || self.allowed.target.tree.contains_key(**path)
                    || before.contains_key(**path)
                    || self.is_partly_recorded(affected)
            };
            let all_named = expected.iter().filter(must_be_named).all(|path| named.contains(path));
            let holds = all_named && (change == UnitChange::Untouched || named.is_empty());
            checks.check(Judge::Answer, &rules::UNIT_RESTORED, holds, || {
                let symptom = match change {
                    UnitChange::Untouched => "kept, not reported",
                    _ => "restored, reported as kept",
                };
                let expected = plain(&expected);
                let reported = plain(&named);
                Mismatch::new(symptom, format!("kept: {expected}"), format!("kept: {reported}"))
                    .kind(Kind::Dishonest)
            });
        }
    }

    /// Compares the rows that SQLite reads in real databases before and after.
    ///
    /// Implements [`rules::UNIT_ROWS`].
    pub(super) fn compare_rows(&self, seen: &Observation, checks: &mut Checks) {
        for (path, database) in &seen.databases {
            let holds = database.after == database.then || database.after == database.before;
            checks.check(Judge::Disk, &rules::UNIT_ROWS, holds, || {
                let symptom = match &database.after {
                    Rows::Absent => "no database",
                    Rows::Read { .. } => "other rows",
                    Rows::Broken(_) => "a broken database",
                };
                let recorded = plain(&database.then);
                let before = plain(&database.before);
                let expected =
                    format!("{path}: {recorded} as at the checkpoint, or {before} as before");
                Mismatch::new(symptom, expected, format!("{path}: {}", plain(&database.after)))
            });
        }
    }

    fn is_partly_recorded(&self, affected: &AffectedUnit) -> bool {
        affected.paths.iter().any(|path| self.is_recorded_member(affected, path))
    }
}
