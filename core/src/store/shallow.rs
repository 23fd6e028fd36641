//! Boundaries: git's list of commits that count as having no parents (`shallow`), with which the
//! oldest checkpoints are evicted without rewriting the others.
//!
//! The store has one list for all projects. See docs/decisions/0007-eviction-without-rewriting-history.md.

use crate::disk::atomic_write::replace_file;
use crate::disk::folder::{self, remove_file};
use crate::disk::{Disk, Sharing};
use crate::error::{Context, Result};
use crate::store::lock;
use crate::store::oid::Oid;
use crate::store::refs::take_git_lock;
use crate::store::repository::make_private;
use std::collections::BTreeSet;
use std::path::Path;

/// Size limit of the boundaries in bytes; no file is larger.
const SHALLOW_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Git's caches of parents, which it trusts more than the boundaries. Git can write them again.
const GRAPHS: [&str; 2] = ["objects/info/commit-graph", "objects/info/commit-graphs"];

/// The commits at which a history ends, whatever their parents are.
pub type Boundaries = BTreeSet<Oid>;

/// The boundaries of the store. Lines that are not an id are ignored; anything but a regular file
/// holds no boundaries.
// rule: maintenance/damage
pub fn read(disk: &dyn Disk, store: &Path) -> Result<Boundaries> {
    let content = folder::read_if_file(disk, &store.join("shallow"), SHALLOW_BYTES_MAX)?;
    let content = content.unwrap_or_default();
    let text = String::from_utf8_lossy(&content);
    Ok(text.lines().filter_map(Oid::parse).collect())
}

/// Changes the boundaries under their lock. If `edit` changes nothing, nothing is written.
// rule: list/stable
pub fn change(disk: &dyn Disk, store: &Path, edit: impl FnOnce(&mut Boundaries)) -> Result<()> {
    make_private(disk, &store.join("locks"))?;
    // Git's lock is not enough: it is taken over when it is held too long.
    let _lock = lock::take(disk, &store.join("locks/shallow"), Sharing::Exclusive)?;
    let before = read(disk, store)?;
    let mut boundaries = before.clone();
    edit(&mut boundaries);
    if boundaries == before {
        return Ok(());
    }
    // rule: layout/fsck
    for graph in GRAPHS {
        folder::remove(disk, &store.join(graph))?;
    }
    let path = store.join("shallow");
    let lock = store.join("shallow.lock");
    let content: String = boundaries.iter().map(|id| format!("{id}\n")).collect();
    take_git_lock(disk, &lock, |lock| disk.write_new(lock, content.as_bytes(), 0o600))?;
    if !folder::is_file_or_nothing(disk, &path)? {
        // A file cannot replace a folder; a folder that is not empty stays.
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

    const ID: &str = "1111111111111111111111111111111111111111";

    #[test]
    fn read_returns_what_change_wrote_and_the_file_is_removed_with_the_last_boundary() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path();
        assert!(read(&SystemDisk, store).unwrap().is_empty());
        let id = Oid::parse(ID).unwrap();
        change(&SystemDisk, store, |_| ()).unwrap();
        assert!(!store.join("shallow").exists(), "nothing was changed and something written");
        change(&SystemDisk, store, |boundaries| boundaries.extend([id])).unwrap();
        assert_eq!(fs::read_to_string(store.join("shallow")).unwrap(), format!("{ID}\n"));
        assert_eq!(read(&SystemDisk, store).unwrap(), Boundaries::from([id]));
        change(&SystemDisk, store, Boundaries::clear).unwrap();
        assert!(!store.join("shallow").exists());
        assert!(!store.join("shallow.lock").exists());
    }

    #[test]
    fn change_removes_the_commit_graphs_of_git() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path();
        fs::create_dir_all(store.join("objects/info/commit-graphs")).unwrap();
        let [graph, chain] = GRAPHS.map(|graph| store.join(graph));
        for file in [&graph, &chain.join("graph-1.graph")] {
            fs::write(file, "").unwrap();
        }
        change(&SystemDisk, store, |_| ()).unwrap();
        assert!(graph.exists());
        let id = Oid::parse(ID).unwrap();
        change(&SystemDisk, store, |boundaries| boundaries.extend([id])).unwrap();
        assert!(!graph.exists() && !chain.exists());
    }

    #[test]
    fn read_ignores_lines_that_are_not_an_id() {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("\nnothing\n1111\n{ID}\n{ID}0\n");
        fs::write(folder.path().join("shallow"), text).unwrap();
        let id = Oid::parse(ID).unwrap();
        assert_eq!(read(&SystemDisk, folder.path()).unwrap(), Boundaries::from([id]));
    }
}
