//! The record of the restores of a project, for `undo` and `redo`: which checkpoint holds the state before
//! each. It is written once a restore has ended; one that was interrupted is in [`super::restoring`] until
//! then.

use crate::disk::atomic_write::write_atomically;
use crate::disk::{Disk, folder};
use crate::error::{Error, Result};
use crate::store::oid::Oid;
use crate::store::repository::make_private;
use crate::store::snapshot::{Item, Mode};
use crate::store::{Store, restoring};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// How many restores can be undone one after the other.
const STEPS_MAX: usize = 20;
/// Of at most so many files it is recorded that a restore brought them; of more, its checkpoint shows it.
pub const BROUGHT_MAX: usize = 1_000;
/// Size limit of a record in bytes; a larger one is not read.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A step to another state: back before a restore, or forward again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Back before the newest restore.
    Undo,
    /// Back before the newest undo.
    Redo,
}

impl Direction {
    /// The direction that is typed instead of the name of a checkpoint.
    pub fn parse(typed: &[u8]) -> Option<Self> {
        match typed {
            b"undo" => Some(Direction::Undo),
            b"redo" => Some(Direction::Redo),
            _ => None,
        }
    }

    /// The word that is typed.
    pub fn word(self) -> &'static str {
        match self {
            Direction::Undo => "undo",
            Direction::Redo => "redo",
        }
    }
}

/// A restore that ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollback {
    /// The checkpoint that holds the state before, by its full id; `None` where no checkpoint does.
    pub before: Option<String>,
    /// The restored checkpoint, by its full id.
    pub target: String,
    /// The path, if only a single file was restored.
    pub path: Option<Vec<u8>>,
    /// The files and folders, if only some were restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<Vec<Vec<u8>>>,
    /// The files that had not been there, unless there were too many; limits may evict the checkpoint.
    pub brought: Option<Vec<Brought>>,
    /// When it began, in seconds since the epoch; `None` if it was interrupted, or recorded by an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<i64>,
    /// Whether it undid what changed since the newest checkpoint, such as the turn of an agent, or undid such an
    /// undo.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_turn: bool,
}

/// A file that a restore brought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brought {
    /// Its path relative to the project.
    pub path: Vec<u8>,
    /// Git's number of its mode.
    pub mode: u32,
    /// Its blob, by its full id.
    pub blob: String,
}

impl Brought {
    /// The file as a snapshot has it; `None` where the record makes no sense.
    pub fn item(&self) -> Option<(Vec<u8>, Item)> {
        let item = Item { mode: Mode::from_bits(self.mode)?, blob: Oid::parse(&self.blob)? };
        Some((self.path.clone(), item))
    }
}

impl From<restoring::Record> for Rollback {
    fn from(restoring::Record { target, before, below, .. }: restoring::Record) -> Self {
        Rollback { before, target, below, ..Rollback::default() }
    }
}

/// The restores of a project, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollbacks {
    undo: Vec<Rollback>,
    redo: Vec<Rollback>,
}

impl Rollbacks {
    /// The restores that ended; none where the record cannot be read.
    pub fn ended(disk: &dyn Disk, store: &Path, hash: &str) -> Self {
        let bytes = folder::read_if_file(disk, &path(store, hash), BYTES_MAX).ok().flatten();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// The restores that ended, and one that was interrupted. An undo that was interrupted does not count, so that
    /// the same undo can be completed.
    pub fn all(disk: &dyn Disk, store: &Path, hash: &str) -> Self {
        let mut rollbacks = Rollbacks::ended(disk, store, hash);
        let interrupted = restoring::read(disk, store, hash);
        let interrupted = interrupted.filter(|record| record.direction.is_none());
        rollbacks.add(None, interrupted.map(Rollback::from));
        rollbacks
    }

    /// The restore that a step in that direction undoes.
    pub fn newest(&self, direction: Direction) -> Option<&Rollback> {
        match direction {
            Direction::Undo => self.undo.last(),
            Direction::Redo => self.redo.last(),
        }
    }

    /// The refusal where nothing was restored, which names the other direction if that helps.
    pub fn nothing(&self, direction: Direction) -> Error {
        let has_others = !self.undo.is_empty() || !self.redo.is_empty();
        Error::NothingToUndo(match (direction, has_others) {
            (Direction::Undo, false) => "there is no rollback to undo",
            (Direction::Undo, true) => {
                "there is no rollback to undo, but `herma redo` redoes the one that was undone last"
            }
            (Direction::Redo, false) => "there is no undone rollback to redo",
            (Direction::Redo, true) => {
                "there is no undone rollback to redo, but `herma undo` undoes what happened last"
            }
        })
    }

    /// Records of the newest restore, if it is of that checkpoint, that it undid what changed since.
    pub fn mark_turn(&mut self, target: &str) {
        if let Some(newest) = self.undo.last_mut().filter(|newest| newest.target == target) {
            newest.of_turn = true;
        }
    }

    /// Adds a restore; with a direction it undid the newest one of that direction. `None` where nothing
    /// changed.
    pub fn add(&mut self, direction: Option<Direction>, rollback: Option<Rollback>) {
        let (list, undone) = match direction {
            None if rollback.is_none() => return,
            None => {
                self.redo.clear();
                (&mut self.undo, None)
            }
            Some(Direction::Undo) => (&mut self.redo, self.undo.pop()),
            Some(Direction::Redo) => (&mut self.undo, self.redo.pop()),
        };
        let of_turn = undone.is_some_and(|undone| undone.of_turn);
        list.extend(rollback.map(|rollback| Rollback { of_turn, ..rollback }));
        list.drain(..list.len().saturating_sub(STEPS_MAX));
    }

    /// Writes the record. If that fails, the old record is removed: it would undo another restore. The
    /// project's lock is held.
    ///
    /// # Errors
    /// A disk that fails.
    pub fn write(&self, store: &Store<'_>, hash: &str) -> Result<()> {
        let path = path(&store.path, hash);
        self.try_write(store, hash, &path).or_else(|error| {
            tracing::debug!("the restores of {hash} were not recorded: {error}");
            remove(store, hash)
        })
    }

    fn try_write(&self, store: &Store<'_>, hash: &str, path: &Path) -> Result<()> {
        let folder = store.path.join("rollbacks");
        if folder::stat(store.disk, &folder)?.is_none() {
            make_private(store.disk, &folder)?;
        }
        let text = serde_json::to_vec(self);
        let text = text.map_err(|error| Error::unusable(path, error.to_string()))?;
        write_atomically(store.disk, &store.path, &format!("rollbacks-{hash}"), &text, path)
    }
}

/// Removes the record of a project.
///
/// # Errors
/// A disk that fails.
pub fn remove(store: &Store<'_>, hash: &str) -> Result<()> {
    folder::remove_path(store.disk, &path(&store.path, hash))
}

fn path(store: &Path, hash: &str) -> PathBuf {
    store.join("rollbacks").join(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rollback(target: &str) -> Rollback {
        Rollback { target: target.to_owned(), ..Rollback::default() }
    }

    #[test]
    fn add_moves_an_undone_restore_to_the_other_list_and_a_new_one_ends_redo() {
        let target = |rollbacks: &Rollbacks, direction| {
            rollbacks.newest(direction).map(|rollback| rollback.target.clone())
        };
        let mut rollbacks = Rollbacks::default();
        rollbacks.add(None, None);
        assert_eq!(rollbacks, Rollbacks::default());
        rollbacks.add(None, Some(rollback("first")));
        rollbacks.add(None, Some(rollback("second")));
        rollbacks.add(Some(Direction::Undo), Some(rollback("undo of second")));
        assert_eq!(target(&rollbacks, Direction::Undo).as_deref(), Some("first"));
        assert_eq!(target(&rollbacks, Direction::Redo).as_deref(), Some("undo of second"));
        rollbacks.add(Some(Direction::Redo), Some(rollback("redo of second")));
        assert_eq!(target(&rollbacks, Direction::Undo).as_deref(), Some("redo of second"));
        rollbacks.add(Some(Direction::Undo), None);
        assert_eq!(target(&rollbacks, Direction::Redo), None);
        rollbacks.add(Some(Direction::Undo), Some(rollback("undo of first")));
        rollbacks.add(None, Some(rollback("third")));
        assert_eq!(target(&rollbacks, Direction::Redo), None);
        for _ in 0..2 * STEPS_MAX {
            rollbacks.add(None, Some(rollback("more")));
        }
        assert_eq!(rollbacks.undo.len(), STEPS_MAX);
    }
}
