//! Requests about a single checkpoint: pinning it, and what it holds in addition to its files.

use super::{Manager, OpenProject};
use crate::agent_state::{Envelope, Kept};
use crate::error::{Error, Result};
use crate::store::commit::{self, Checkpoint};
use crate::store::left_out::LeftOut;
use std::path::Path;

impl Manager {
    /// Pins a checkpoint: no limit evicts it until it is unpinned. Returns its full id.
    ///
    /// # Errors
    /// A target that names no checkpoint; a damaged or busy store.
    // rule: agent/pinned
    pub fn pin(&self, dir: &Path, target: &[u8]) -> Result<String> {
        self.on_target(dir, target, true, |open, Checkpoint { id, .. }| {
            open.stored().pin(*id).map(|()| id.to_string())
        })
    }

    /// Unpins a checkpoint: limits evict it with the others of its age. Returns its full id.
    ///
    /// # Errors
    /// As [`Manager::pin`].
    // rule: agent/pinned
    pub fn unpin(&self, dir: &Path, target: &[u8]) -> Result<String> {
        self.on_target(dir, target, true, |open, Checkpoint { id, .. }| {
            open.stored().unpin(*id).map(|_| id.to_string())
        })
    }

    /// The envelope of a checkpoint, with the full id of the checkpoint; `None` if it carries nothing.
    ///
    /// # Errors
    /// As [`Manager::pin`], and an envelope that cannot be read.
    // rule: agent/parts
    pub fn envelope(&self, dir: &Path, target: &[u8]) -> Result<(String, Option<Envelope>)> {
        self.on_target(dir, target, false, |open, checkpoint| {
            let id = checkpoint.id.to_string();
            match open.stored().envelopes(&open.objects)?.get(checkpoint)? {
                Kept::None => Ok((id, None)),
                Kept::Intact(envelope) => Ok((id, Some(*envelope))),
                Kept::Unreadable(why) => Err(Error::CorruptCheckpoint { id, why }),
            }
        })
    }

    /// What a checkpoint left out of its project though no ignore rule names it, and why; sorted by
    /// path. Empty for a checkpoint of another tool, or if its commit is damaged.
    ///
    /// # Errors
    /// As [`Manager::pin`].
    pub fn left_out(&self, dir: &Path, target: &[u8]) -> Result<Vec<LeftOut>> {
        self.on_target(dir, target, false, |open, checkpoint| {
            match commit::left_out(&open.objects, checkpoint.id) {
                Err(error) if error.is_damage() => Ok(Vec::new()),
                left_out => left_out,
            }
        })
    }

    /// Runs `work` on the checkpoint that `target` names. A change holds the project's lock, and is not made
    /// to a checkpoint outside the list.
    pub(super) fn on_target<T>(
        &self,
        dir: &Path,
        target: &[u8],
        is_change: bool,
        work: impl FnOnce(&OpenProject<'_>, &Checkpoint) -> Result<T>,
    ) -> Result<T> {
        let project = self.project(dir);
        let store = self.store_with(target)?;
        let open = OpenProject::new(&store, &project);
        let _lock = is_change.then(|| store.lock_project(&project.hash)).transpose()?;
        let mut listed = self.history(&open)?;
        listed.retain(|checkpoint| !is_change || !checkpoint.is_unlisted());
        work(&open, open.find(&listed, target)?)
    }
}
