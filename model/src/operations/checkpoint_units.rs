//! What is said of the units that a checkpoint left out.

use crate::allowed::AllowedCheckpoint;
use crate::answer::Remark;
use crate::bytes::ByteString;
use crate::capture::{Captured, says_in_use};
use crate::plain::plain;
use crate::rules;
use crate::verdict::{Checks, Judge, Kind, Mismatch};
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};

/// Compares the files of units that are said to be left out with those that must be. A unit that
/// could be captured may be left out as well where it is said to change or to be in use.
///
/// Implements [`rules::UNIT_CAPTURED`].
pub(super) fn compare(world: &World, captured: &Captured, skipped: &[Remark], checks: &mut Checks) {
    let said: BTreeMap<&ByteString, &str> =
        skipped.iter().map(|remark| (&remark.path, &remark.why[..])).collect();
    for unit in &captured.units {
        let named = || unit.members.keys().filter(|path| said.contains_key(path));
        let missing = unit.unnamed.iter().find(|path| !said.contains_key(path));
        let is_all = named().count() == unit.members.len();
        let in_use =
            || unit.members.keys().all(|path| said.get(path).is_some_and(|why| says_in_use(why)));
        let (holds, symptom) = match unit.is_captured {
            true => {
                (named().count() == 0 || is_all && in_use(), "left out in part, or for no reason")
            }
            false => (missing.is_none() || !world.has("take.skipped"), "left out unsaid"),
        };
        checks.check(Judge::Answer, &rules::UNIT_CAPTURED, holds, || {
            let due = match unit.is_captured {
                true => format!("no file of {} left out, or all as in use", unit.unit.anchor),
                false => format!("left out: {}", plain(&unit.unnamed)),
            };
            let found = plain(&named().collect::<BTreeSet<_>>());
            Mismatch::new(symptom, due, format!("left out: {found}")).kind(Kind::Dishonest)
        });
    }
}

/// Whether nothing changed since the newest checkpoint but units that are said to be left out.
pub(super) fn is_unchanged(world: &World, due: &AllowedCheckpoint, skipped: &[Remark]) -> bool {
    let named: BTreeSet<&ByteString> = skipped.iter().map(|remark| &remark.path).collect();
    let newest = world.newest(&due.project).and_then(|newest| newest.captured.as_ref());
    let (Some(captured), Some(newest)) = (&due.captured, newest) else { return false };
    !named.is_empty() && Captured::clone(captured).without_units(&named).tree == newest.tree
}
