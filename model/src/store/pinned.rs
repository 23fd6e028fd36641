//! Pinned checkpoints: no limit of any kind evicts them.

use crate::plain::plain;
use crate::rules;
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;
use std::collections::BTreeMap;

/// Compares whether every pinned checkpoint is stored, for each project with stored checkpoints, and
/// returns whether any is or was pinned.
///
/// Implements [`rules::AGENT_PINNED`].
pub(super) fn compare(
    world: &World,
    visible: &BTreeMap<String, Vec<String>>,
    checks: &mut Checks,
) -> bool {
    let mut has_pins = false;
    for (project, _) in world.histories().filter(|(project, _)| world.has_pins(project)) {
        has_pins = true;
        let Some(found) = visible.get(&world.hash(project)) else { continue };
        let pinned = world.listed(project).iter().filter(|checkpoint| checkpoint.carried.pinned);
        let lost: Vec<&String> =
            pinned.map(|checkpoint| &checkpoint.id).filter(|id| !found.contains(*id)).collect();
        checks.check(Judge::Git, &rules::AGENT_PINNED, lost.is_empty(), || {
            let lost = format!("{lost} of {project} evicted", lost = plain(&lost));
            Mismatch::new("pinned, and evicted", "every pinned checkpoint", lost)
        });
    }
    has_pins
}
