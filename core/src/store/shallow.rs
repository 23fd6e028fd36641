//! Boundaries: git's own list of commits that count as having no parents, so that the oldest
//! checkpoints are dropped without changing those that stay.
//!
//! The list holds for the whole store. See docs/decisions/0007-dropping-without-rewriting.md.

use crate::disk::atomic_write::replace_file;
use crate::disk::folder::{self, remove_file};
use crate::disk::{Disk, Sharing};
use crate::error::{Context, Result};
use crate::store::lock;
use crate::store::refs::take_git_lock;
use crate::store::repository::make_private;
use git2::Oid;
use std::collections::BTreeSet;
use std::path::Path;

/// More bytes than the boundaries of any store take.
const SHALLOW_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What git wrote down of all parents, and believes whatever the boundaries say. It makes them again.
const GRAPHS: [&str; 2] = ["objects/info/commit-graph", "objects/info/commit-graphs"];

/// The commits at which a history ends, whatever their parents are.
pub type Boundaries = BTreeSet<Oid>;

/// The boundaries of the store. Lines that are not an id are ignored; what is no file holds none.
// rule: maintenance/damage
pub fn read(disk: &dyn Disk, store: &Path) -> Result<Boundaries> {
    let content = folder::read_if_file(disk, &store.join("shallow"), SHALLOW_BYTES_MAX)?;
    let content = content.unwrap_or_default();
    let text = String::from_utf8_lossy(&content);
    Ok(text.lines().filter(|line| line.len() == 40).flat_map(Oid::from_str).collect())
}

/// Changes the boundaries under their lock. Where `work` changes nothing, nothing is written.
// rule: list/stable
pub fn change(disk: &dyn Disk, store: &Path, work: impl FnOnce(&mut Boundaries)) -> Result<()> {
    make_private(disk, &store.join("locks"))?;
    // Git's own lock is not enough: one that stays too long is taken over.
    let _lock = lock::take(disk, &store.join("locks/shallow"), Sharing::Exclusive)?;
    let before = read(disk, store)?;
    let mut boundaries = before.clone();
    work(&mut boundaries);
    if boundaries == before {
        return Ok(());
    }
    // rule: layout/fsck
    for graph in GRAPHS {
        folder::remove(disk, &store.join(graph))?;
    }
    let (path, lock) = (store.join("shallow"), store.join("shallow.lock"));
    let content: String = boundaries.iter().map(|id| format!("{id}\n")).collect();
    take_git_lock(disk, &lock, content.as_bytes())?;
    if !folder::is_file_or_nothing(disk, &path)? {
        // A file cannot take the place of a folder; one that is not empty stays.
        let _ = disk.remove_directory(&path);
    }
    if !boundaries.is_empty() {
        return replace_file(disk, &lock, &path);
    }
    // To git an empty list still means an incomplete store.
    let removed = remove_file(disk, &path);
    let _ = disk.remove_file(&lock);
    removed?;
    disk.sync_directory(store).context("removing a file in", store)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;
    use std::fs;

    const ONE: &str = "1111111111111111111111111111111111111111";

    #[test]
    fn boundaries_are_read_back_and_gone_with_the_last() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path();
        assert!(read(&SystemDisk, store).unwrap().is_empty());
        let one = Oid::from_str(ONE).unwrap();
        change(&SystemDisk, store, |_| ()).unwrap();
        assert!(!store.join("shallow").exists(), "nothing was changed and something written");
        change(&SystemDisk, store, |all| all.extend([one])).unwrap();
        assert_eq!(fs::read_to_string(store.join("shallow")).unwrap(), format!("{ONE}\n"));
        assert_eq!(read(&SystemDisk, store).unwrap(), Boundaries::from([one]));
        change(&SystemDisk, store, Boundaries::clear).unwrap();
        assert!(!store.join("shallow").exists());
        assert!(!store.join("shallow.lock").exists());
    }

    #[test]
    fn what_git_wrote_down_of_parents_goes_where_the_boundaries_change() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path();
        fs::create_dir_all(store.join("objects/info/commit-graphs")).unwrap();
        let [graph, chain] = GRAPHS.map(|graph| store.join(graph));
        for file in [&graph, &chain.join("graph-1.graph")] {
            fs::write(file, "").unwrap();
        }
        change(&SystemDisk, store, |_| ()).unwrap();
        assert!(graph.exists());
        change(&SystemDisk, store, |all| all.extend([Oid::from_str(ONE).unwrap()])).unwrap();
        assert!(!graph.exists() && !chain.exists());
    }

    #[test]
    fn a_line_that_is_no_id_is_no_boundary() {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("\nnothing\n1111\n{ONE}\n{ONE}0\n");
        fs::write(folder.path().join("shallow"), text).unwrap();
        let one = Oid::from_str(ONE).unwrap();
        assert_eq!(read(&SystemDisk, folder.path()).unwrap(), Boundaries::from([one]));
    }
}
