//! A project and the store with its checkpoints, opened for one operation. What an operation does with
//! them is in the other files of this folder.

use crate::agent_state::Stored;
use crate::error::Result;
use crate::history;
use crate::project::Project;
use crate::restore::target;
use crate::store::commit::{self, Checkpoint};
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use crate::store::rollbacks::Direction;
use crate::store::{Store, shallow};

/// A project, the store and its objects. The operation decides whether it holds the project's lock.
pub(super) struct OpenProject<'a> {
    pub store: &'a Store<'a>,
    pub objects: Objects<'a>,
    pub project: &'a Project,
}

impl<'a> OpenProject<'a> {
    pub fn new(store: &'a Store<'a>, project: &'a Project) -> Self {
        OpenProject { store, objects: store.objects(), project }
    }

    /// The hash that names the project in the store.
    pub fn hash(&self) -> &'a str {
        &self.project.hash
    }

    /// The agent state in the store.
    pub fn stored(&self) -> Stored<'a> {
        Stored::of(self.store, self.hash())
    }

    /// At most so many checkpoints of the project, newest first.
    // rule: list/own-project
    // rule: list/at-most
    pub fn history(&self, most: usize) -> Result<Vec<Checkpoint>> {
        history::newest_first(self.store, &self.objects, self.hash(), most)
    }

    /// The checkpoint that a target names: by its name in the list, its label or digits of its id; `undo` and
    /// `redo` name the state before a restore.
    // rule: agent/all-or-none
    pub fn find<'l>(&self, listed: &'l [Checkpoint], target: &[u8]) -> Result<&'l Checkpoint> {
        if let Some(direction) = Direction::parse(target) {
            return self.before_rollback(listed, direction);
        }
        let envelopes = self.stored().envelopes(&self.objects)?;
        let label = |checkpoint: &Checkpoint| envelopes.label(checkpoint).ok().flatten();
        target::find_labelled(listed, label, target)
    }

    /// The newest checkpoint whose commit can be read, given the `tip` of the history. It becomes the
    /// parent of the next one, so that a damaged commit does not remain in the history.
    // rule: maintenance/damage
    pub fn newest_readable(&self, tip: Option<Oid>) -> Result<Option<Checkpoint>> {
        match tip.map(|tip| commit::read(&self.objects, tip)).transpose() {
            Err(error) if error.is_damage() => {
                tracing::debug!("the newest checkpoint of {} is damaged: {error}", self.hash());
                let is_readable = |checkpoint: &Checkpoint| {
                    checkpoint.damage.is_none() && !checkpoint.is_unlisted()
                };
                Ok(self.history(usize::MAX)?.into_iter().find(is_readable))
            }
            Ok(Some(newest)) if newest.rollback.is_some() => {
                // Its parent may have been evicted since.
                let is_end = shallow::read(self.store.disk, &self.store.path)?.contains(&newest.id);
                Ok(Some(Checkpoint { parent: newest.parent.filter(|_| !is_end), ..newest }))
            }
            newest => newest,
        }
    }
}
