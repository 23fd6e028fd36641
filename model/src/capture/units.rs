//! The units of a capture: either all members of a unit are captured, or none is.

use super::Captured;
use crate::bytes::{ByteString, join};
use crate::files::{Files, Node};
use crate::rules;
use crate::unit::Unit;
use std::collections::{BTreeMap, BTreeSet};

/// One unit that was there when a checkpoint was taken.
#[derive(Clone, Debug)]
pub struct CapturedUnit {
    /// The unit.
    pub unit: Unit,
    /// The members that existed, with their nodes.
    pub members: BTreeMap<ByteString, Node>,
    /// The members that must be reported as left out; empty where all were captured.
    pub unnamed: BTreeSet<ByteString>,
    /// Whether all members were captured.
    pub is_captured: bool,
}

impl Captured {
    /// Records the units, and leaves out every unit of which a member was left out. A unit whose members
    /// are all ignored is ignored like any file.
    ///
    /// Implements [`rules::UNIT_CAPTURED`].
    pub(super) fn record_units(&mut self, units: Vec<Unit>, files: &Files, project: &[u8]) {
        for unit in units {
            let captured: BTreeSet<ByteString> =
                self.tree.keys().filter(|path| unit.has(path)).cloned().collect();
            let left_out = self.left_out.iter().filter(|(path, _)| unit.has(path));
            let left_out: Vec<_> = left_out.map(|(path, rule)| (path.clone(), *rule)).collect();
            let excludes = [
                &rules::CAPTURE_GITIGNORE,
                &rules::CAPTURE_OWN_IGNORE_FILE,
                &rules::CAPTURE_SECRETS,
                &rules::CAPTURE_DEFAULT_EXCLUDES,
            ];
            let is_ignored = left_out.iter().all(|(_, rule)| excludes.contains(rule));
            if captured.is_empty() && is_ignored {
                continue;
            }
            let members = captured.iter().chain(left_out.iter().map(|(path, _)| path));
            let members = members
                .filter_map(|path| Some((path.clone(), files.get(&join(project, path))?.clone())));
            let mut captured_unit = CapturedUnit {
                members: members.collect(),
                unnamed: BTreeSet::new(),
                is_captured: left_out.is_empty(),
                unit,
            };
            self.tested.entry(rules::UNIT_CAPTURED.id).or_insert((&rules::UNIT_CAPTURED, 0)).1 += 1;
            if captured_unit.is_captured {
                for path in captured {
                    self.despite.entry(path).or_default().insert(0, &rules::UNIT_CAPTURED);
                }
            } else {
                self.leave_out(&mut captured_unit);
            }
            self.units.push(captured_unit);
        }
    }

    /// The same without the units whose members an implementation reports as left out, since they change
    /// or are in use.
    pub(crate) fn without_units(&self, reported: &BTreeSet<&ByteString>) -> Captured {
        let mut captured = self.clone();
        let mut units = std::mem::take(&mut captured.units);
        for unit in &mut units {
            if unit.is_captured && unit.members.keys().all(|path| reported.contains(path)) {
                captured.leave_out(unit);
            }
        }
        Captured { units, ..captured }
    }

    /// The same without the units that an earlier capture left out.
    pub(crate) fn without_units_left_out_by(&self, earlier: &Captured) -> Captured {
        let left_out = earlier.units.iter().filter(|unit| !unit.is_captured);
        let is_left_out = |path: &&ByteString| {
            let mut left_out = left_out.clone();
            left_out.any(|unit| unit.unit.has(path))
        };
        let reported = self.tree.keys().filter(is_left_out).collect();
        self.without_units(&reported)
    }

    fn leave_out(&mut self, unit: &mut CapturedUnit) {
        unit.is_captured = false;
        for path in unit.members.keys() {
            if let Some(entry) = self.tree.remove(path) {
                self.unrecorded.insert(path.clone(), entry.node());
                self.permissions.remove(path);
                self.despite.remove(path);
                self.left_out.insert(path.clone(), &rules::UNIT_CAPTURED);
                unit.unnamed.insert(path.clone());
            }
        }
    }
}

/// Whether a reason reports that a unit changes or is in use, so that it may be left out or kept though
/// nothing else prevents capturing or restoring it.
pub(crate) fn reports_in_use(why: &str) -> bool {
    const WORDS: [&str; 8] =
        ["chang", "in use", "using", "lock", "open", "busy", "process", "live"];
    let why = why.to_lowercase();
    WORDS.iter().any(|word| why.contains(word))
}
