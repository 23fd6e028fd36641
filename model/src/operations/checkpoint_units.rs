//! Judges how a checkpoint reports the units that it left out.

use crate::allowed::AllowedCheckpoint;
use crate::answer::Remark;
use crate::bytes::ByteString;
use crate::capture::{Captured, reports_in_use};
use crate::plain::plain;
use crate::rules;
use crate::verdict::{Checks, Judge, Kind, Mismatch};
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};

/// Compares the files of units that are reported as left out with those that must be. A unit that
/// could be captured may be left out as well where it is reported to change or to be in use.
///
/// Implements [`rules::UNIT_CAPTURED`].
pub(super) fn compare(world: &World, captured: &Captured, skipped: &[Remark], checks: &mut Checks) {
    let reported: BTreeMap<&ByteString, &str> =
        skipped.iter().map(|remark| (&remark.path, &remark.why[..])).collect();
    for unit in &captured.units {
        let reported_members = || unit.members.keys().filter(|path| reported.contains_key(path));
        let missing = unit.unnamed.iter().find(|path| !reported.contains_key(path));
        let is_complete = reported_members().count() == unit.members.len();
        let in_use = || {
            unit.members
                .keys()
                .all(|path| reported.get(path).is_some_and(|why| reports_in_use(why)))
        };
        let (holds, symptom) = match unit.is_captured {
            true => (
                reported_members().count() == 0 || is_complete && in_use(),
                "left out in part, or for no reason",
            ),
            false => (missing.is_none() || !world.has("take.skipped"), "left out, not reported"),
        };
        checks.check(Judge::Answer, &rules::UNIT_CAPTURED, holds, || {
            let expected = match unit.is_captured {
                true => format!("no file of {} left out, or all as in use", unit.unit.anchor),
                false => format!("left out: {}", plain(&unit.unnamed)),
            };
            let found = plain(&reported_members().collect::<BTreeSet<_>>());
            Mismatch::new(symptom, expected, format!("left out: {found}")).kind(Kind::Dishonest)
        });
    }
}

/// Whether nothing changed since the newest checkpoint except units that are reported as left out.
pub(super) fn is_unchanged(
    world: &World,
    expected: &AllowedCheckpoint,
    skipped: &[Remark],
) -> bool {
    let reported: BTreeSet<&ByteString> = skipped.iter().map(|remark| &remark.path).collect();
    let newest = world.newest(&expected.project).and_then(|newest| newest.captured.as_ref());
    let (Some(captured), Some(newest)) = (&expected.captured, newest) else { return false };
    !reported.is_empty() && captured.without_units(&reported).tree == newest.tree
}
