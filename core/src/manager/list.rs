//! Lists the checkpoints of a project, with the statistics of what each changed.

use super::diff::stored_bytes;
use super::{Manager, OpenProject, patch};
use crate::error::Result;
use crate::report::{Listed, Stats, Unlisted};
use crate::store::commit::Checkpoint;
use crate::store::objects::Objects;
use crate::store::snapshot::{self, Snapshot};
use crate::store::{Store, ref_recovery};
use std::cmp::Reverse;
use std::path::Path;

impl Manager {
    /// The checkpoints of a project, newest first.
    ///
    /// # Errors
    /// A damaged or busy store.
    pub fn list(&self, dir: &Path) -> Result<Vec<Listed>> {
        let project = self.project(dir);
        let Some(store) = Store::open(self.disk.as_ref(), &self.base())? else {
            return Ok(Vec::new());
        };
        let open = OpenProject::new(&store, &project);
        let objects = &open.objects;
        let lock = || store.lock_project(&project.hash);
        if let Err(error) = ref_recovery::repair(&store, objects, &project.hash, lock) {
            // The list is returned nevertheless; the next operation tries again.
            tracing::debug!("the lost ref of {} was not recovered: {error}", project.hash);
        }
        let mut history = self.history(&open)?;
        history.retain(|checkpoint| !checkpoint.is_unlisted());
        let envelopes = open.stored().envelopes(objects)?;
        let mut listed = Vec::with_capacity(history.len());
        let mut next = history.first().map(|newest| content(objects, newest)).transpose()?;
        // rule: list/newest-first
        for (index, checkpoint) in history.iter().enumerate() {
            let snapshot = next.take().unwrap_or(Err(String::new()));
            next = history.get(index + 1).map(|before| content(objects, before)).transpose()?;
            listed.push(Listed {
                number: index + 1,
                id: checkpoint.id.to_string(),
                // rule: list/time
                time: checkpoint.seconds,
                reason: checkpoint.reason.clone(),
                // rule: list/oldest-no-stats
                stats: match (&next, &snapshot) {
                    (Some(Ok(before)), Ok(after)) => stats(objects, before, after)?,
                    _ => None,
                },
                damage: snapshot.err(),
                label: envelopes.label(checkpoint)?,
                pinned: checkpoint.is_pinned,
            });
        }
        Ok(listed)
    }

    /// The pre-restore checkpoints of a project outside the list, newest first; only their ids name
    /// them.
    ///
    /// # Errors
    /// A damaged or busy store.
    // rule: restore/keeps-undo
    pub fn unlisted(&self, dir: &Path) -> Result<Vec<Unlisted>> {
        let project = self.project(dir);
        let Some(store) = Store::open(self.disk.as_ref(), &self.base())? else {
            return Ok(Vec::new());
        };
        let mut history = self.history(&OpenProject::new(&store, &project))?;
        history.retain(Checkpoint::is_unlisted);
        history.sort_by_key(|checkpoint| Reverse(checkpoint.rollback));
        let unlisted = |checkpoint: Checkpoint| Unlisted {
            id: checkpoint.id.to_string(),
            time: checkpoint.seconds,
            reason: checkpoint.reason,
        };
        Ok(history.into_iter().map(unlisted).collect())
    }
}

/// The files of a checkpoint, or how it is damaged, which must not affect other checkpoints.
// rule: maintenance/damage
fn content(
    objects: &Objects<'_>,
    checkpoint: &Checkpoint,
) -> Result<std::result::Result<Snapshot, String>> {
    let read = || snapshot::read(objects, checkpoint.id, checkpoint.tree);
    match checkpoint.intact().and_then(|_| read()) {
        Err(error) if error.is_damage() => Ok(Err(error.cause())),
        read => read.map(Ok),
    }
}

/// The statistics of the changes; `None` if a changed file is damaged.
// rule: list/stats
fn stats(objects: &Objects<'_>, before: &Snapshot, after: &Snapshot) -> Result<Option<Stats>> {
    let content = stored_bytes(objects);
    let mut entries = Vec::new();
    for (path, difference) in snapshot::differences(before, after) {
        match patch::compare(path, &difference, &content, &content) {
            Err(error) if error.is_damage() => return Ok(None),
            compared => entries.push(compared?.entry),
        }
    }
    Ok(Some(patch::total(entries.iter())))
}
