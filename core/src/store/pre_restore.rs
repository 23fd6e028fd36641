//! The refs of the pre-restore checkpoints of a project. The newest checkpoint of a project is in the
//! history; each other pre-restore checkpoint has the ref `refs/rollbacks/<hash>/<number>-<parent>`.
//! Later ones have larger numbers. The parent is the newest earlier checkpoint that is not a
//! pre-restore checkpoint; it shows the position in the history even if the checkpoint itself is
//! damaged.
//!
//! Pre-restore checkpoints that are kept but do not fit in the list have their refs in `refs/unlisted`:
//! they can be named only by id.
//!
//! Since they are not part of the chain of the history, one can be evicted without changing another
//! checkpoint. See docs/decisions/0016-pre-restore-checkpoints-outside-the-history.md.

use crate::disk::Disk;
use crate::error::Result;
use crate::store::oid::Oid;
use crate::store::refs;
use std::path::Path;

/// The folders of the refs of all projects: of listed checkpoints, and of unlisted ones.
pub const FOLDERS: [&str; 2] = [LISTED, UNLISTED];
const LISTED: &str = "refs/rollbacks";
const UNLISTED: &str = "refs/unlisted";

/// The position of a pre-restore checkpoint in the history, which the name of its ref encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PreRestoreRef {
    /// Its number among the pre-restore checkpoints of its project.
    pub number: u64,
    /// The newest earlier checkpoint that is not a pre-restore checkpoint.
    pub parent: Option<Oid>,
    /// Whether it is in the list.
    pub is_listed: bool,
}

impl PreRestoreRef {
    fn name(self, hash: &str) -> String {
        let parent = self.parent.unwrap_or(Oid::ZERO);
        let folder = if self.is_listed { LISTED } else { UNLISTED };
        format!("{folder}/{hash}/{}-{parent}", self.number)
    }

    fn parse_name(folder: &str, name: &str) -> Option<Self> {
        let (number, parent) = name.split_once('-')?;
        let parent = Some(Oid::parse(parent)?).filter(|parent| *parent != Oid::ZERO);
        Some(PreRestoreRef { number: number.parse().ok()?, parent, is_listed: folder == LISTED })
    }
}

/// The pre-restore checkpoints of the project with their places, newest first. One with a damaged ref
/// is left out.
// rule: maintenance/damage
pub fn all(disk: &dyn Disk, store: &Path, hash: &str) -> Result<Vec<(PreRestoreRef, Oid)>> {
    let mut places = Vec::new();
    for folder in FOLDERS {
        let names = refs::names_below(disk, store, &format!("{folder}/{hash}"))?;
        places.extend(names.iter().filter_map(|name| PreRestoreRef::parse_name(folder, name)));
    }
    places.sort_unstable();
    let mut found = Vec::with_capacity(places.len());
    for place in places.into_iter().rev() {
        match refs::read(disk, store, &place.name(hash)) {
            Ok(id) => found.extend(id.map(|id| (place, id))),
            Err(error) if error.is_damage() => {
                tracing::debug!("a pre-restore checkpoint of {hash} is damaged: {error}");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Adds the ref of a checkpoint, unless it exists. The caller holds the project's lock.
pub fn add(disk: &dyn Disk, store: &Path, hash: &str, place: PreRestoreRef, id: Oid) -> Result<()> {
    refs::set(disk, store, &place.name(hash), id)
}

/// Removes the ref at that place. The caller holds the project's lock.
pub fn remove(disk: &dyn Disk, store: &Path, hash: &str, place: PreRestoreRef) -> Result<()> {
    refs::remove(disk, store, &place.name(hash))
}

/// Removes all such refs of the project, damaged ones too. The caller holds the project's lock.
pub fn remove_all(disk: &dyn Disk, store: &Path, hash: &str) -> Result<()> {
    let remove = |folder| refs::remove_below(disk, store, &format!("{folder}/{hash}"));
    FOLDERS.into_iter().try_for_each(remove)
}

/// Whether `path` is the path of the ref of a pre-restore checkpoint in the store.
pub fn has(store: &Path, path: &Path) -> bool {
    FOLDERS.iter().any(|folder| path.starts_with(store.join(folder)))
}
