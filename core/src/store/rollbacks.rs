//! The pre-restore checkpoints of a project that are not its newest, each with a ref of its own:
//! `refs/rollbacks/<hash>/<number>-<parent>`, where later ones have larger numbers. The parent is the
//! newest checkpoint before it that is no such one, so that its place is known where it is damaged.
//!
//! Those that the list has no room for, and that are kept all the same, have theirs in
//! `refs/unlisted`: only their ids name them.
//!
//! They stand beside the history, so that one of them can be dropped without changing another
//! checkpoint. See docs/decisions/0016-rollbacks-beside-the-history.md.

use crate::disk::Disk;
use crate::error::Result;
use crate::store::refs;
use git2::Oid;
use std::path::Path;

/// Where the refs of all projects are: of listed checkpoints, and of those that are not.
pub const FOLDERS: [&str; 2] = [LISTED, UNLISTED];
const LISTED: &str = "refs/rollbacks";
const UNLISTED: &str = "refs/unlisted";

/// The place of a pre-rollback checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Its number among those of its project.
    pub number: u64,
    /// The newest checkpoint before it that is no such one.
    pub parent: Option<Oid>,
    /// Whether it is in the list.
    pub is_listed: bool,
}

impl Place {
    fn name(self, hash: &str) -> String {
        let parent = self.parent.unwrap_or(Oid::ZERO_SHA1);
        let folder = if self.is_listed { LISTED } else { UNLISTED };
        format!("{folder}/{hash}/{}-{parent}", self.number)
    }

    fn of_name(folder: &str, name: &str) -> Option<Self> {
        let (number, parent) = name.split_once('-')?;
        let parent = Some(Oid::from_str(parent).ok()?).filter(|parent| *parent != Oid::ZERO_SHA1);
        Some(Place { number: number.parse().ok()?, parent, is_listed: folder == LISTED })
    }
}

/// Those of the project with their places, newest first. A damaged ref costs the checkpoint that it is of.
// rule: maintenance/damage
pub fn all(disk: &dyn Disk, store: &Path, hash: &str) -> Result<Vec<(Place, Oid)>> {
    let mut places = Vec::new();
    for folder in FOLDERS {
        let names = refs::names_below(disk, store, &format!("{folder}/{hash}"))?;
        places.extend(names.iter().filter_map(|name| Place::of_name(folder, name)));
    }
    places.sort_unstable();
    let mut found = Vec::with_capacity(places.len());
    for place in places.into_iter().rev() {
        match refs::read(disk, store, &place.name(hash)) {
            Ok(id) => found.extend(id.map(|id| (place, id))),
            Err(error) if error.is_damage() => {
                tracing::debug!("a pre-rollback checkpoint of {hash} is lost: {error}");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Adds a checkpoint, unless it is there. The caller holds the project's lock.
pub fn add(disk: &dyn Disk, store: &Path, hash: &str, place: Place, id: Oid) -> Result<()> {
    refs::set(disk, store, &place.name(hash), id)
}

/// Drops the one at that place. The caller holds the project's lock.
pub fn remove(disk: &dyn Disk, store: &Path, hash: &str, place: Place) -> Result<()> {
    refs::remove(disk, store, &place.name(hash))
}

/// Drops all of the project, damaged ones too. The caller holds the project's lock.
pub fn remove_all(disk: &dyn Disk, store: &Path, hash: &str) -> Result<()> {
    let remove = |folder| refs::remove_below(disk, store, &format!("{folder}/{hash}"));
    FOLDERS.into_iter().try_for_each(remove)
}

/// Whether that is the path of such a ref in the store.
pub fn has(store: &Path, path: &Path) -> bool {
    FOLDERS.iter().any(|folder| path.starts_with(store.join(folder)))
}
