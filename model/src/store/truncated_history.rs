//! Truncated histories: whether limits evicted the correct checkpoints.

use super::pinned;
use crate::bytes::ByteString;
use crate::observation::Histories;
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;

/// Compares whether histories are too short, or rewritten where they were truncated. A history whose
/// oldest checkpoint has no parent was not truncated.
///
/// Implements [`rules::LIST_STABLE`], [`rules::LIMIT_NEWEST_REMAIN`] and
/// [`rules::RESTORE_KEEPS_HISTORY`].
pub(super) fn compare(world: &World, stored: &Histories, checks: &mut Checks) {
    pinned::compare(world, &stored.visible, checks);
    // A checkpoint after a damaged one may have an earlier parent, and with pinned checkpoints the evicted
    // ones need not be the oldest.
    let is_plain =
        |project: &[u8]| !world.is_partially_corrupted(project) && !world.has_pins(project);
    for (project, _) in world.histories().filter(|(project, _)| is_plain(project)) {
        let listed = world.listed(project).iter().rev();
        let expected: Vec<&String> = listed.map(|checkpoint| &checkpoint.id).collect();
        let found = stored.visible.get(&world.hash(project)).map_or(&[][..], Vec::as_slice);
        let same_length =
            found.len() == expected.len() && found.first() == expected.first().copied();
        let renamed = same_length
            && expected.iter().zip(found).any(|(expected_id, found_id)| *expected_id != found_id);
        checks.check(Judge::Git, &rules::LIST_STABLE, !renamed, || {
            Mismatch::new(
                "renamed",
                format!("{expected} of {project}", expected = plain(&expected)),
                plain(&found),
            )
        });
        let truncated = is_truncated(world, project, stored);
        let limit = world.settings.max_snapshots;
        let was_over_limit =
            world.was_complete(project) && expected.len() > limit && found.len() >= limit;
        let rule: RuleRef = if was_over_limit {
            &rules::RESTORE_KEEPS_HISTORY
        } else {
            &rules::LIMIT_NEWEST_REMAIN
        };
        checks.check(Judge::Git, rule, !truncated, || {
            let expected = expected.len();
            let found = found.len();
            let expected = format!("the newest {expected} checkpoints of {project}");
            Mismatch::new("evicted too early", expected, format!("the newest {found}"))
        });
    }
}

/// Whether the history of a project ends before the oldest checkpoint that must remain.
pub(super) fn is_truncated(world: &World, project: &ByteString, stored: &Histories) -> bool {
    let expected = world.listed(project).iter().rev();
    let found = stored.visible.get(&world.hash(project)).map_or(&[][..], Vec::as_slice);
    found.len() < expected.len()
        && found.last().is_some_and(|oldest| stored.continued.contains(oldest))
        && expected.zip(found).all(|(checkpoint, id)| checkpoint.id == *id)
}
