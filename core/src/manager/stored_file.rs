//! The files of checkpoints: their names, the content of one, and which checkpoints changed it. Nothing is restored.

use super::literal_path::literal_path;
use super::{Manager, OpenProject};
use crate::error::{Error, Result};
use crate::path::{is_at_or_below, shown};
use crate::report::{Change, FileChange};
use crate::store::Store;
use crate::store::commit::Checkpoint;
use crate::store::object::{IN_MEMORY_BYTES_MAX, Kind};
use crate::store::snapshot::{self, Item};
use std::path::Path;

/// What a checkpoint holds at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// A file or a link.
    File,
    /// A folder with files somewhere in it.
    Folder,
}

impl Manager {
    /// The content of a file or the target of a link in a checkpoint.
    ///
    /// # Errors
    /// A target that names no checkpoint; a path that it does not hold, or whose content is damaged or too large
    /// for memory.
    pub fn stored_content(&self, dir: &Path, target: &[u8], typed: &[u8]) -> Result<Vec<u8>> {
        let project = self.project(dir);
        let path = literal_path(self.disk.as_ref(), &project, typed)?;
        self.on_target(dir, target, false, |open, checkpoint| {
            let item = item(open, checkpoint, &path)?;
            let Item { blob, .. } = item.ok_or_else(|| Error::NotInCheckpoint(shown(&path)))?;
            let content = open.objects.read_up_to(Kind::Blob, blob, IN_MEMORY_BYTES_MAX)?;
            content.ok_or_else(|| Error::BadPath {
                path: shown(&path),
                why: "is too large to be shown",
            })
        })
    }

    /// What a checkpoint holds at that path, if anything.
    ///
    /// # Errors
    /// A target that names no checkpoint, or one that is damaged; a path that is not one below the project.
    pub fn held(&self, dir: &Path, target: &[u8], typed: &[u8]) -> Result<Option<Held>> {
        let project = self.project(dir);
        let path = literal_path(self.disk.as_ref(), &project, typed)?;
        self.on_target(dir, target, false, |open, checkpoint| {
            let Checkpoint { id, tree, .. } = *checkpoint.intact()?;
            let snapshot = snapshot::read_around(&open.objects, id, tree, &path)?;
            Ok(match snapshot.contains_key(&path) {
                true => Some(Held::File),
                false => {
                    snapshot.keys().any(|held| is_at_or_below(held, &path)).then_some(Held::Folder)
                }
            })
        })
    }

    /// The paths of a checkpoint, sorted.
    ///
    /// # Errors
    /// A target that names no checkpoint, or one that is damaged.
    pub fn stored_paths(&self, dir: &Path, target: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.on_target(dir, target, false, |open, checkpoint| {
            let Checkpoint { id, tree, .. } = *checkpoint.intact()?;
            Ok(snapshot::read(&open.objects, id, tree)?.into_keys().collect())
        })
    }

    /// The checkpoints before which a file changed, newest first. Damaged checkpoints are left out.
    ///
    /// # Errors
    /// A path that is not one below the project; a damaged or busy store.
    pub fn file_changes(&self, dir: &Path, typed: &[u8]) -> Result<Vec<FileChange>> {
        let project = self.project(dir);
        let path = literal_path(self.disk.as_ref(), &project, typed)?;
        let Some(store) = Store::open(self.disk.as_ref(), &self.base())? else {
            return Ok(Vec::new());
        };
        let open = OpenProject::new(&store, &project);
        let listed = self.list(dir)?;
        let mut before: Option<Item> = None;
        let mut changes = Vec::new();
        let history = self.history(&open)?;
        for checkpoint in history.iter().rev() {
            let id = checkpoint.id.to_string();
            let Some(listed) = listed.iter().find(|listed| listed.id == id) else { continue };
            let now = match item(&open, checkpoint, &path) {
                Err(error) if error.is_damage() => continue,
                now => now?,
            };
            let change = match (before, now) {
                (None, Some(_)) => Some(Change::Added),
                (Some(_), None) => Some(Change::Deleted),
                (before, now) => (before != now).then_some(Change::Modified),
            };
            before = now;
            changes.extend(change.map(|change| FileChange { change, checkpoint: listed.clone() }));
        }
        changes.reverse();
        Ok(changes)
    }
}

fn item(open: &OpenProject<'_>, checkpoint: &Checkpoint, path: &[u8]) -> Result<Option<Item>> {
    let Checkpoint { id, tree, .. } = *checkpoint.intact()?;
    Ok(snapshot::read_around(&open.objects, id, tree, path)?.get(path).copied())
}
