//! What a restore does to units: all files of a unit are brought back, or all stay.
//!
//! Every path of a unit that a restore is about is judged here and nowhere else: which of its files
//! is wrong says nothing while it is not the unit of one moment.

use super::restore::Outcome;
use crate::allowed::AllowedRestore;
use crate::bytes::ByteString;
use crate::capture::{Captured, CapturedUnit, says_in_use};
use crate::files::{Files, Node};
use crate::observation::{Observation, Rows};
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::unit::{self, Role, Unit};
use crate::verdict::{Checks, Judge, Kind, Mismatch};
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};

/// A unit that a restore is about, with every path of it before, afterwards or in the checkpoint.
pub(super) struct Affected {
    unit: Unit,
    paths: BTreeSet<ByteString>,
    /// Whether the checkpoint left it out.
    left_out: bool,
    /// What its members were then, as far as anything saw it.
    then: BTreeMap<ByteString, Node>,
}

/// What became of a unit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Became {
    /// Nothing of it changed.
    Untouched,
    /// It is as the checkpoint has it, without any other file.
    Restored,
    /// Neither.
    Torn,
}

/// Every unit of a checkpoint or of the files before a restore, for whoever claims to know units.
pub(crate) fn units(world: &World, target: &Captured, now: &Captured) -> Vec<Unit> {
    if !world.has("capture.units") {
        return Vec::new();
    }
    let recognized = unit::units(&unit::paths_of_tree(&target.tree));
    let captured = target.units.iter().chain(&now.units).map(|one| one.unit.clone());
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
    captured.units.iter().find(|one| one.unit == *unit)
}

/// The units that a restore decides about: of those that are asked for, each that the checkpoint
/// recorded or left out, and each that is to be removed.
pub(super) fn affected(
    world: &World,
    due: &AllowedRestore,
    after: &Files,
    is_asked: &dyn Fn(&[u8]) -> bool,
) -> Vec<Affected> {
    let mut affected = Vec::new();
    let units_now = unit::units(&unit::paths_of_files(&world.files, &due.project));
    let mut units = units(world, &due.target, &due.before);
    // A restored file joins a unit on the disk whose other members are ignored, and so in no capture.
    let is_recorded = |unit: &Unit| due.target.tree.keys().any(|path| unit.has(path));
    let joined = units_now.iter().filter(|unit| !units.contains(unit) && is_recorded(unit));
    let joined: Vec<Unit> = joined.filter(|_| world.has("capture.units")).cloned().collect();
    units.extend(joined);
    for unit in units {
        let then = captured(&due.target, &unit);
        // What was left out as a file of its own may have become part of a unit since.
        let unrecorded = || due.target.unrecorded.iter().filter(|(path, _)| unit.has(path));
        let left_out = match then {
            Some(one) => !one.is_captured,
            None => world.has("checkpoint.left_out") && unrecorded().next().is_some(),
        };
        let is_recorded = due.target.tree.keys().any(|path| unit.role(path).is_some());
        let in_files = |files: &Files| {
            let paths = unit::paths_of_files(files, &due.project);
            let paths = paths.into_keys().filter(|path| unit.role(path).is_some());
            paths.map(ByteString::from).collect::<BTreeSet<_>>()
        };
        let recorded = due.target.tree.keys().filter(|path| unit.role(path).is_some()).cloned();
        let mut paths: BTreeSet<ByteString> = recorded.collect();
        paths.extend(in_files(&world.files));
        paths.extend(in_files(after));
        paths.extend(then.iter().flat_map(|one| one.members.keys().cloned()));
        // What is left of one that was left out, and is none any more, is files like any other.
        let is_one = units_now.contains(&unit);
        let is_decided = is_recorded || left_out || due.exact && !due.is_forced();
        let is_decided = is_decided && (is_one || !left_out);
        if is_decided && paths.iter().any(|path| is_asked(path)) {
            let unrecorded = || unrecorded().map(|(path, node)| (path.clone(), node.clone()));
            let then = then.map_or_else(|| unrecorded().collect(), |one| one.members.clone());
            affected.push(Affected { unit, paths, left_out, then });
        }
    }
    affected
}

impl Affected {
    /// Whether a path is one of this unit.
    pub(super) fn has(&self, path: &ByteString) -> bool {
        self.unit.role(path).is_some()
    }
}

impl Outcome<'_> {
    fn became(&self, one: &Affected) -> Became {
        // Where the checkpoint does not show the unit, what is derived was a file of its own then.
        let is_own = |path: &ByteString| {
            self.due.target.tree.contains_key(path) && !self.is_recorded_member(one, path)
        };
        if !one.paths.iter().any(|path| self.changed(path) && !is_own(path)) {
            return Became::Untouched;
        }
        let is_gone = |path: &ByteString| matches!(self.is(path), None | Some(Node::Directory));
        let is_right = |path: &&ByteString| match self.due.target.tree.contains_key(*path) {
            true => self.is_as_recorded(path) || is_own(path) && is_gone(path),
            false => is_gone(path),
        };
        let is_restored = one.paths.iter().all(|path| is_right(&path)) && !self.was_right(one);
        if is_restored { Became::Restored } else { Became::Torn }
    }

    fn is_recorded_member(&self, one: &Affected, path: &ByteString) -> bool {
        one.unit.has(path) && self.due.target.tree.contains_key(path)
    }

    /// The members that were there before.
    fn present<'a>(&self, one: &'a Affected) -> impl Iterator<Item = &'a ByteString> {
        let stood = |path: &&ByteString| !matches!(self.was(path), None | Some(Node::Directory));
        let present: Vec<_> = one.paths.iter().filter(stood).collect();
        present.into_iter().filter(|path| one.unit.has(path))
    }

    /// The paths in which a unit differed from the checkpoint, or from what that left out.
    fn differing<'a>(&self, one: &'a Affected) -> BTreeSet<&'a ByteString> {
        let is_as_then = |path: &ByteString| match self.due.target.tree.get(path) {
            Some(entry) => self.was(path) == Some(&entry.node()),
            None => {
                let then = one.then.get(path).filter(|_| one.left_out);
                then.is_some_and(|then| !self.differs_from(path, then))
            }
        };
        let recorded = one.paths.iter().filter(|path| self.is_recorded_member(one, path));
        recorded.chain(self.present(one)).filter(|path| !is_as_then(path)).collect()
    }

    fn was_right(&self, one: &Affected) -> bool {
        !one.left_out && self.differing(one).is_empty()
    }

    /// Whether a unit may be replaced or removed.
    ///
    /// Implements [`rules::UNIT_UNDO`].
    fn may_replace(&self, one: &Affected) -> bool {
        let is_recorded = self.is_partly_recorded(one);
        let room =
            |path: &ByteString| self.obstacles(path).iter().all(|path| self.is_expendable(path));
        let recorded = || one.paths.iter().filter(|path| self.is_recorded_member(one, path));
        !one.left_out
            && (is_recorded || self.removes())
            && self.present(one).all(|path| self.is_held(path))
            && recorded().all(|path| room(path) && !self.is_lost(path))
    }

    /// Whether it must be, unless it is in use.
    fn must_replace(&self, one: &Affected) -> bool {
        let is_recorded = self.is_partly_recorded(one);
        let tree = &self.due.target.tree;
        let is_complete = match is_recorded {
            true => one.unit.is_complete(&unit::paths_of_tree(tree)),
            false => {
                let ignored = |path| self.world.capturer.member_ignored_by(tree, path);
                !self.present(one).any(|path| ignored(path))
            }
        };
        let is_free = |path: &ByteString| self.obstacles(path).is_empty();
        // A forced restore removes nothing that came since, since nothing holds it.
        let is_new = |path: &ByteString| !self.is_recorded_member(one, path);
        let would_lose = self.due.is_forced() && self.present(one).any(is_new);
        self.may_replace(one)
            && !would_lose
            && !self.was_right(one)
            && is_complete
            && !self.due.damaged
            && one.paths.iter().filter(|path| self.is_recorded_member(one, path)).all(is_free)
    }

    /// The paths of units that are wrong, each with the rule that says so.
    ///
    /// Implements [`rules::UNIT_RESTORED`].
    pub(super) fn wrong_units(&self) -> Vec<(RuleRef, ByteString)> {
        let rule: RuleRef = &rules::UNIT_RESTORED;
        let mut wrong: Vec<(RuleRef, ByteString)> = Vec::new();
        for one in &self.units {
            let is_lost = |path: &&ByteString| self.changed(path) && !self.is_held(path);
            let lost = self.present(one).find(is_lost);
            let first = || {
                let differs = |path: &&ByteString| {
                    self.changed(path)
                        || self.is(path)
                            != self.due.target.tree.get(*path).map(|entry| entry.node()).as_ref()
                };
                one.paths.iter().find(differs).cloned().unwrap_or_default()
            };
            match self.became(one) {
                Became::Untouched if self.must_replace(one) && !self.is_in_use(one) => {
                    wrong.push((rule, first()));
                }
                Became::Untouched => {}
                Became::Restored if self.may_replace(one) => {}
                Became::Restored | Became::Torn => match lost {
                    Some(path) => wrong.push((&rules::UNIT_UNDO, path.clone())),
                    None => wrong.push((rule, first())),
                },
            }
        }
        wrong
    }

    /// Whether the answer says of a unit that it changes or is in use.
    fn is_in_use(&self, one: &Affected) -> bool {
        let says = |path: &&ByteString| self.remarks.get(*path).is_some_and(|why| says_in_use(why));
        let differing = self.differing(one);
        !differing.is_empty() && differing.iter().all(says)
    }

    /// Whether a path is judged as a part of a unit.
    pub(super) fn is_of_unit(&self, path: &ByteString) -> bool {
        self.units.iter().any(|one| one.has(path))
    }

    /// Whether a path is derived from a database that is brought back, which would be read by it.
    pub(super) fn is_derived(&self, path: &ByteString) -> bool {
        let mut together = self.due.before.tree.clone();
        together.extend(self.due.target.tree.clone());
        let is_it = |unit: &Unit| {
            unit.role(path) == Some(Role::Derived)
                && self.due.target.tree.contains_key(&unit.anchor)
        };
        self.world.has("capture.units")
            && unit::units(&unit::paths_of_tree(&together)).iter().any(is_it)
    }

    /// Whether a path is of a unit created since that the answer does not name at all: it may have been
    /// in use, and captured by nobody.
    pub(super) fn is_left_unnamed(&self, path: &ByteString) -> bool {
        let of = self.known_units.iter().filter(|unit| unit.has(path));
        of.into_iter().any(|unit| !self.said.iter().any(|said| unit.has(said)))
    }

    /// Whether a path was as recorded and may be written again with the unit that it belongs to.
    pub(super) fn is_of_restored_unit(&self, path: &ByteString) -> bool {
        let of = |one: &&Affected| one.has(path) && self.became(one) == Became::Restored;
        self.units.iter().any(|one| of(&one))
    }

    /// Compares what is said of units with what became of them, and counts them.
    pub(super) fn compare_units(&self, checks: &mut Checks) {
        for one in &self.units {
            let became = self.became(one);
            if became == Became::Restored {
                checks.held(&rules::UNIT_RESTORED, 1);
            }
            let is_kept = became == Became::Untouched && !self.may_replace(one);
            checks.held(&rules::UNIT_UNDO, u64::from(is_kept || self.due.undo));
            if became == Became::Torn || self.was_right(one) || !self.world.has("restore.report") {
                continue;
            }
            // What went with a restored unit may have been a file of its own that the checkpoint left out.
            let is_of_unit = |path: &&&ByteString| {
                one.has(path) && (became == Became::Untouched || !self.was_left_out(path))
            };
            let named: BTreeSet<&ByteString> =
                self.said.iter().filter(is_of_unit).copied().collect();
            let expected: BTreeSet<&ByteString> = match became {
                Became::Untouched => self.differing(one),
                _ => BTreeSet::new(),
            };
            // What is kept of what was created since need not be named where nothing captured it.
            let must_be = |path: &&&ByteString| {
                let before = &self.due.before.tree;
                one.left_out && one.then.contains_key(**path)
                    || self.due.target.tree.contains_key(**path)
                    || before.contains_key(**path)
                    || self.is_partly_recorded(one)
            };
            let is_named = expected.iter().filter(must_be).all(|path| named.contains(path));
            let holds = is_named && (became == Became::Untouched || named.is_empty());
            checks.check(Judge::Answer, &rules::UNIT_RESTORED, holds, || {
                let symptom = match became {
                    Became::Untouched => "kept unsaid",
                    _ => "restored, said to be kept",
                };
                let (due, said) = (plain(&expected), plain(&named));
                Mismatch::new(symptom, format!("kept: {due}"), format!("kept: {said}"))
                    .kind(Kind::Dishonest)
            });
        }
    }

    /// Compares what SQLite reads in real databases with what it read in them.
    ///
    /// Implements [`rules::UNIT_ROWS`].
    pub(super) fn compare_rows(&self, seen: &Observation, checks: &mut Checks) {
        for (path, read) in &seen.databases {
            let holds = read.after == read.then || read.after == read.before;
            checks.check(Judge::Disk, &rules::UNIT_ROWS, holds, || {
                let symptom = match &read.after {
                    Rows::Absent => "no database",
                    Rows::Read { .. } => "other rows",
                    Rows::Broken(_) => "a broken database",
                };
                let (then, before) = (plain(&read.then), plain(&read.before));
                let due = format!("{path}: {then} as at the checkpoint, or {before} as before");
                Mismatch::new(symptom, due, format!("{path}: {}", plain(&read.after)))
            });
        }
    }

    fn is_partly_recorded(&self, one: &Affected) -> bool {
        one.paths.iter().any(|path| self.is_recorded_member(one, path))
    }
}
