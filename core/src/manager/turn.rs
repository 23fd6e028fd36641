//! The checkpoint of a turn of which several processes know only the id, such as the hooks of an agent that
//! each run the command.

use super::Manager;
use crate::agent_state::Occasion;
use crate::error::Result;
use crate::project::Project;
use crate::report::{Outcome, Taken};
use crate::store::metadata::SessionTurn;
use crate::store::{Store, metadata};
use std::path::Path;

impl Manager {
    /// Takes a checkpoint, unless the newest request with a turn of this session for this project was for the same turn.
    /// So thirty edits of a turn take one checkpoint, of the state before the turn, and evict one at most.
    ///
    /// # Errors
    /// As [`Manager::checkpoint_for`]; a failed attempt does not use up the turn.
    // rule: turn/once
    // rule: turn/failure-keeps-slot
    // rule: turn/nothing-uses-slot
    pub fn checkpoint_of_turn(
        &self,
        dir: &Path,
        turn: &SessionTurn,
        occasion: &Occasion<'_>,
    ) -> Result<Taken> {
        let project = self.project(dir);
        let base = self.base();
        if let Some(store) = Store::open(self.disk.as_ref(), &base)?
            && has_turn(&store, &project, turn)?
        {
            return Ok(Taken::without_checkpoint(Outcome::Deduped));
        }
        self.take_in_turn(&project, occasion, Some(turn))
    }
}

/// Whether the newest request with a turn of its session was for this one.
///
/// # Errors
/// The disk fails.
pub(super) fn has_turn(store: &Store<'_>, project: &Project, turn: &SessionTurn) -> Result<bool> {
    let metadata = metadata::stored(store.disk, &store.path, &project.hash)?;
    Ok(metadata.is_some_and(|metadata| metadata.turns.contains(turn)))
}

/// Records the turn of a request. The project's lock is held.
pub(super) fn record_turn(store: &Store<'_>, project: &Project, turn: &SessionTurn) {
    let recorded = metadata::change(store.disk, &store.path, &project.hash, |metadata| {
        turn.record_in(&mut metadata.turns);
    });
    if let Err(error) = recorded {
        // The next request takes another checkpoint, which is no loss.
        tracing::debug!("the turn of {} was not recorded: {error}", project.hash);
    }
}
