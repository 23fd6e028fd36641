//! Requests about a single checkpoint: pinning it, and what it holds in addition to its files.

use super::{Manager, OpenProject};
use crate::agent_state::Envelope;
use crate::error::Result;
use crate::store::Store;
use crate::store::commit::{self, Checkpoint};
use crate::store::left_out::LeftOut;
use git2::Oid;
use std::path::Path;

impl Manager {
    /// Pins a checkpoint: no limit evicts it until it is unpinned. Returns its full id.
    ///
    /// # Errors
    /// A target that names no checkpoint; a damaged or busy store.
    // rule: agent/pinned
    pub fn pin(&self, dir: &Path, target: &[u8]) -> Result<String> {
        self.change_target(dir, target, |open, id| open.stored().pin(id))
    }

    /// Unpins a checkpoint: limits evict it with the others of its age. Returns its full id.
    ///
    /// # Errors
    /// As [`Manager::pin`].
    // rule: agent/pinned
    pub fn unpin(&self, dir: &Path, target: &[u8]) -> Result<String> {
        self.change_target(dir, target, |open, id| open.stored().unpin(id).map(drop))
    }

    /// The envelope of a checkpoint, with the full id of the checkpoint; `None` if it carries nothing.
    ///
    /// # Errors
    /// As [`Manager::pin`], and an envelope that cannot be read.
    // rule: agent/parts
    pub fn envelope(&self, dir: &Path, target: &[u8]) -> Result<(String, Option<Envelope>)> {
        self.read_target(dir, target, |open, checkpoint| {
            let envelope = open.stored().envelopes(&open.objects)?.intact(checkpoint)?;
            Ok((checkpoint.id.to_string(), envelope))
        })
    }

    /// What a checkpoint left out of its project though no ignore rule names it, and why; sorted by
    /// path. Empty for a checkpoint of another tool, or if its commit is damaged.
    ///
    /// # Errors
    /// As [`Manager::pin`].
    pub fn left_out(&self, dir: &Path, target: &[u8]) -> Result<Vec<LeftOut>> {
        self.read_target(dir, target, |open, checkpoint| {
            match commit::left_out(&open.objects, checkpoint.id) {
                Err(error) if error.is_damage() => Ok(Vec::new()),
                left_out => left_out,
            }
        })
    }

    fn read_target<T>(
        &self,
        dir: &Path,
        target: &[u8],
        read: impl FnOnce(&OpenProject<'_>, &Checkpoint) -> Result<T>,
    ) -> Result<T> {
        let project = self.project(dir);
        let missing = || super::no_checkpoint(target);
        let store = Store::open(self.disk.as_ref(), &self.base())?.ok_or_else(missing)?;
        let open = OpenProject::new(&store, &project);
        let listed = self.history(&open)?;
        read(&open, open.find(&listed, target)?)
    }

    fn change_target(
        &self,
        dir: &Path,
        target: &[u8],
        work: impl FnOnce(&OpenProject<'_>, Oid) -> Result<()>,
    ) -> Result<String> {
        let project = self.project(dir);
        let missing = || super::no_checkpoint(target);
        let store = Store::open(self.disk.as_ref(), &self.base())?.ok_or_else(missing)?;
        let open = OpenProject::new(&store, &project);
        let _lock = store.lock_project(&project.hash)?;
        let mut listed = self.history(&open)?;
        listed.retain(|checkpoint| !checkpoint.is_unlisted());
        let id = open.find(&listed, target)?.id;
        work(&open, id).map(|()| id.to_string())
    }
}
