//! A checkpoint that is to be restored, as it is read from the store.

use super::OpenProject;
use super::scope::{LiteralScope, Scope};
use crate::agent_state::{Change, Kept};
use crate::error::Result;
use crate::restore::TargetIgnores;
use crate::store::commit;
use crate::store::commit::Checkpoint;
use crate::store::left_out::LeftOut;
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use crate::store::permissions::Permissions;
use crate::store::snapshot::{self, Snapshot};

/// A checkpoint that is to be restored, as it is read from the store.
pub(super) struct Wanted {
    pub id: Oid,
    /// When it was taken; 0 where that is not needed.
    pub seconds: i64,
    pub snapshot: Snapshot,
    pub permissions: Permissions,
    /// What it left out, sorted by path.
    pub left_out: Vec<LeftOut>,
    /// Whether it holds every unit completely.
    pub holds_units: bool,
    pub ignores: TargetIgnores,
    /// The changes by the agent and by restores since; `None` if no agent reports what it writes.
    pub changes: Option<Vec<Change>>,
    /// What it carries besides its files.
    pub envelope: Kept,
}

impl Wanted {
    /// Reads the checkpoint for a restore of that scope.
    ///
    /// # Errors
    /// Damage to what the restore needs.
    // rule: maintenance/damage
    pub fn read(
        open: &OpenProject<'_>,
        checkpoint: &Checkpoint,
        scope: &LiteralScope,
    ) -> Result<Self> {
        let objects = &open.objects;
        let Checkpoint { id, tree, seconds, .. } = *checkpoint.intact()?;
        let include = commit::include(objects, id)?;
        let read_all = || -> Result<(Snapshot, TargetIgnores)> {
            let snapshot = snapshot::read(objects, id, tree)?;
            let ignores = TargetIgnores::read(objects, &snapshot, &include)?;
            Ok((snapshot, ignores))
        };
        let (snapshot, ignores) = match (read_all(), scope) {
            // The ignore files, which may be lost, decide only what an exact restore removes.
            (Err(error), Scope::File(path)) if error.is_damage() => {
                let snapshot = snapshot::read_around(objects, id, tree, path)?;
                (snapshot, TargetIgnores::read(objects, &Snapshot::new(), &include)?)
            }
            (all, _) => all?,
        };
        let changes = open.stored().changes_since(id);
        let envelope = open.stored().envelopes(objects)?.get(checkpoint)?;
        let left_out = commit::left_out(objects, id)?;
        let wanted = Wanted::of(objects, id, snapshot, ignores)?;
        Ok(Wanted { seconds, left_out, changes, envelope, ..wanted })
    }

    /// The files of a checkpoint, without the other data that a restore reads.
    fn of(
        objects: &Objects<'_>,
        id: Oid,
        snapshot: Snapshot,
        ignores: TargetIgnores,
    ) -> Result<Self> {
        let permissions = commit::permissions(objects, id)?;
        let holds_units = commit::holds_units(objects, id)?;
        Ok(Wanted {
            id,
            seconds: 0,
            snapshot,
            permissions,
            left_out: Vec::new(),
            holds_units,
            ignores,
            changes: None,
            envelope: Kept::None,
        })
    }

    /// The files of the checkpoint of that id, or no files; its ignore files and what it left out do not
    /// count.
    pub fn by_id(objects: &Objects<'_>, id: Option<Oid>) -> Result<Self> {
        let ignores = |include: &[String]| TargetIgnores::read(objects, &Snapshot::new(), include);
        let Some(id) = id else {
            return Ok(Wanted {
                id: Oid::ZERO,
                seconds: 0,
                snapshot: Snapshot::new(),
                permissions: Permissions::default(),
                left_out: Vec::new(),
                holds_units: true,
                ignores: ignores(&[])?,
                changes: None,
                envelope: Kept::None,
            });
        };
        let snapshot = snapshot::read(objects, id, commit::read(objects, id)?.tree)?;
        Wanted::of(objects, id, snapshot, ignores(&commit::include(objects, id)?)?)
    }
}
