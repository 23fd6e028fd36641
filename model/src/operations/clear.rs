//! Requests that remove everything from the store, or only the v1 archives.

use crate::allowed::Cleared;
use crate::observation::Observation;
use crate::plain::plain;
use crate::rules;
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;

/// Compares what is left with what had to be removed.
///
/// Implements [`rules::MAINTENANCE_COMMANDS`].
pub(super) fn compare(world: &World, cleared: Cleared, seen: &Observation, checks: &mut Checks) {
    let Some(base) = &seen.base else { return };
    let mut left: Vec<&str> = base.archives.iter().map(String::as_str).collect();
    if cleared == Cleared::Everything {
        left.extend(base.store_exists.then_some("store"));
        let direct = base.repositories.iter();
        let direct = direct
            .filter(|(_, locations)| locations.iter().any(|location| location.archive.is_none()));
        left.extend(direct.map(|(name, _)| name.as_str()));
    }
    let rule = &rules::MAINTENANCE_COMMANDS;
    checks.check(Judge::Disk, rule, left.is_empty(), || {
        Mismatch::new(
            "not everything was cleared",
            format!("{} gone", cleared.words()),
            plain(&left),
        )
    });
    let lost =
        cleared == Cleared::Archives && world.histories().next().is_some() && !base.store_exists;
    checks.check(Judge::Disk, rule, !lost, || {
        Mismatch::new(
            "too much was cleared",
            format!("{} gone and nothing else", cleared.words()),
            "no store",
        )
    });
}
