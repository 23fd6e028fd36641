//! Where a history was truncated: whether what limits dropped from it is what they should have.

use super::pinned;
use crate::bytes::ByteString;
use crate::observation::Histories;
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;

/// Looks for histories that are too short, or written anew where they were truncated. Where a
/// history ends without saying what came before, nobody truncated it.
///
/// Implements [`rules::LIST_STABLE`], [`rules::LIMIT_NEWEST_REMAIN`] and
/// [`rules::RESTORE_KEEPS_HISTORY`].
pub(super) fn compare(world: &World, stored: &Histories, checks: &mut Checks) {
    pinned::compare(world, &stored.visible, checks);
    // Where one is damaged, what comes after it may stand on what came before it, and where some are
    // pinned, what goes need not be the oldest.
    let is_plain = |project: &[u8]| !world.is_disturbed(project) && !world.has_pins(project);
    for (project, _) in world.histories().filter(|(project, _)| is_plain(project)) {
        let due: Vec<&String> = world.listed(project).iter().rev().map(|one| &one.id).collect();
        let found = stored.visible.get(&world.hash(project)).map_or(&[][..], Vec::as_slice);
        let same_length = found.len() == due.len() && found.first() == due.first().copied();
        let renamed = same_length && due.iter().zip(found).any(|(one, other)| *one != other);
        checks.check(Judge::Git, &rules::LIST_STABLE, !renamed, || {
            Mismatch::new(
                "renamed",
                format!("{due} of {project}", due = plain(&due)),
                plain(&found),
            )
        });
        let truncated = is_truncated(world, project, stored);
        let limit = world.settings.max_snapshots;
        let spared = world.was_whole(project) && due.len() > limit && found.len() >= limit;
        let rule: RuleRef =
            if spared { &rules::RESTORE_KEEPS_HISTORY } else { &rules::LIMIT_NEWEST_REMAIN };
        checks.check(Judge::Git, rule, !truncated, || {
            let (due, found) = (due.len(), found.len());
            let due = format!("the newest {due} checkpoints of {project}");
            Mismatch::new("dropped too early", due, format!("the newest {found}"))
        });
    }
}

/// Whether the history of a project ends before the oldest checkpoint that must remain.
pub(super) fn is_truncated(world: &World, project: &ByteString, stored: &Histories) -> bool {
    let due = world.listed(project).iter().rev();
    let found = stored.visible.get(&world.hash(project)).map_or(&[][..], Vec::as_slice);
    found.len() < due.len()
        && found.last().is_some_and(|oldest| stored.continued.contains(oldest))
        && due.zip(found).all(|(one, id)| one.id == *id)
}
