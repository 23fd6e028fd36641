//! Labelled and pinned checkpoints: which requests are correct, and whether pinned ones are listed.

use super::target::UNLISTED;
use crate::allowed::{Allowed, CheckpointKind};
use crate::bytes::ByteString;
use crate::excuse::Excuse;
use crate::place::{Location, PathKind};
use crate::plain::plain;
use crate::rules;
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;

impl World {
    /// The manual checkpoint with a label. Where nothing changed, the label may name the newest checkpoint.
    ///
    /// Implements [`rules::AGENT_PINNED`].
    pub(super) fn allows_label(&self, dir: &[u8]) -> Allowed {
        match self.allows_manual(dir) {
            Allowed::Checkpoint(mut checkpoint) if checkpoint.kind == CheckpointKind::Unchanged => {
                (checkpoint.kind, checkpoint.rule) =
                    (CheckpointKind::Created, &rules::AGENT_PINNED);
                checkpoint.may_be_unchanged = Some(Excuse::NoRule);
                Allowed::Checkpoint(checkpoint)
            }
            allowed => allowed,
        }
    }

    /// Pinning a checkpoint, or unpinning it.
    pub(super) fn allows_pin(&self, dir: &[u8], text: &[u8]) -> Allowed {
        let location = self.locate(dir);
        // No rule says whether a checkpoint of a deleted project can be pinned.
        let exists = matches!(location, Location::Inside(_, PathKind::Directory));
        if !exists {
            return Allowed::Unknown(Excuse::NoRule);
        }
        if let Some(excuse) = self.doubt(&location, text) {
            return Allowed::Unknown(excuse);
        }
        match self.find(&location, text) {
            // The implementation chooses whether an unlisted checkpoint can be pinned.
            Ok((UNLISTED, _)) => Allowed::Unknown(Excuse::NoRule),
            Ok(_) => Allowed::Done,
            Err(refusal) => self.refuses_target(&location, refusal),
        }
    }
}

/// Compares whether every pinned checkpoint is listed.
///
/// Implements [`rules::AGENT_PINNED`].
pub(super) fn compare_listed(
    world: &World,
    project: &ByteString,
    ids: &[&String],
    checks: &mut Checks,
) {
    for pinned in world.listed(project).iter().filter(|checkpoint| checkpoint.carried.pinned) {
        checks.check(Judge::Answer, &rules::AGENT_PINNED, ids.contains(&&pinned.id), || {
            Mismatch::new("pinned, and not listed", plain(&pinned.id), plain(ids))
        });
    }
}
