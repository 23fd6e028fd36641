//! Checkpoints that have a label or are pinned: whether they may be, and whether they stay.

use super::target::UNLISTED;
use crate::allowed::{Allowed, CheckpointKind};
use crate::bytes::ByteString;
use crate::place::{Place, Standing};
use crate::plain::plain;
use crate::rules;
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;

impl World {
    /// A manual checkpoint that a label names. Where nothing changed, it may be that of the newest.
    ///
    /// Implements [`rules::AGENT_PINNED`].
    pub(super) fn allows_label(&self, dir: &[u8]) -> Allowed {
        match self.allows_manual(dir) {
            Allowed::Checkpoint(mut due) if due.kind == CheckpointKind::Unchanged => {
                (due.kind, due.rule) = (CheckpointKind::Created, &rules::AGENT_PINNED);
                due.may_be_unchanged = true;
                Allowed::Checkpoint(due)
            }
            allowed => allowed,
        }
    }

    /// Pinning a checkpoint, or unpinning it.
    pub(super) fn allows_pin(&self, dir: &[u8], text: &[u8]) -> Allowed {
        let place = self.locate(dir);
        // Of what is gone nobody need say whether it can be pinned.
        let stands = matches!(place, Place::Inside(_, Standing::Directory));
        if !stands || self.is_doubtful(&place, text) {
            return Allowed::Unknown;
        }
        match self.find(&place, text) {
            // Whether what is not listed can be pinned is for the implementation to choose.
            Ok((UNLISTED, _)) => Allowed::Unknown,
            Ok(_) => Allowed::Done,
            Err(refusal) => self.refuses_target(&place, refusal),
        }
    }
}

/// Compares a list with what is pinned.
///
/// Implements [`rules::AGENT_PINNED`].
pub(super) fn compare_listed(
    world: &World,
    project: &ByteString,
    ids: &[&String],
    checks: &mut Checks,
) {
    for pinned in world.listed(project).iter().filter(|one| one.carried.pinned) {
        checks.check(Judge::Answer, &rules::AGENT_PINNED, ids.contains(&&pinned.id), || {
            Mismatch::new("pinned, and not listed", plain(&pinned.id), plain(ids))
        });
    }
}
