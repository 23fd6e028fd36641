//! The state after a power loss: everything that was synced, and the part of the rest that a file system
//! may keep.
//!
//! The model is a file system with a journal. Names (created, renamed, removed) become durable in the order
//! in which they changed, at the latest with the next sync of any file. The bytes of a file become durable
//! only with a sync of that file. So three images are allowed:
//!
//! - all names with the synced bytes
//! - all names with some blocks of the unsynced bytes
//! - the names of the last sync

use crate::history::PowerLoss;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The size of a block, which becomes durable at once, in bytes.
const BLOCK: usize = 512;

/// The identity of a file, independent of its name: device, inode and creation time. The creation time
/// distinguishes it from a later file with the same inode number.
type Id = (u64, u64, Option<SystemTime>);

/// What a name refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NameTarget {
    Folder { mode: u32 },
    File { id: Id, mode: u32 },
    Link { target: PathBuf },
}

/// The durable state below some folders.
pub struct Durable {
    below: Vec<PathBuf>,
    /// The content of each file at its last sync.
    bytes: HashMap<Id, Vec<u8>>,
    /// Files of which every write is synced immediately.
    through: HashSet<Id>,
    /// All names at the last sync.
    names: BTreeMap<PathBuf, NameTarget>,
}

impl Durable {
    /// A state in which everything that exists now is durable.
    ///
    /// # Errors
    /// A folder or file cannot be read.
    pub fn all(below: &[PathBuf]) -> io::Result<Self> {
        let mut durable = Durable {
            below: below.to_vec(),
            bytes: HashMap::new(),
            through: HashSet::new(),
            names: BTreeMap::new(),
        };
        durable.sync_everything()?;
        Ok(durable)
    }

    /// Makes the content of a file durable, and all names.
    ///
    /// # Errors
    /// A folder or file cannot be read.
    pub fn sync(&mut self, file: &Path) -> io::Result<()> {
        let metadata = fs::metadata(file)?;
        if metadata.is_file() {
            self.bytes.insert(id(&metadata), fs::read(file)?);
        }
        self.names = names(&self.below)?;
        Ok(())
    }

    /// Syncs every write to a file immediately from now on.
    ///
    /// # Errors
    /// The file does not exist.
    pub fn write_through(&mut self, file: &Path) -> io::Result<()> {
        self.through.insert(id(&fs::metadata(file)?));
        Ok(())
    }

    /// Makes everything that exists now durable.
    ///
    /// # Errors
    /// A folder or file cannot be read.
    pub fn sync_everything(&mut self) -> io::Result<()> {
        self.names = names(&self.below)?;
        for (path, named) in &self.names {
            if let NameTarget::File { id, .. } = named
                && let Some(bytes) = unless_gone(fs::read(path))?
            {
                self.bytes.insert(*id, bytes);
            }
        }
        Ok(())
    }

    /// Changes the folders to a state that a power loss may leave. No other process may write there.
    ///
    /// # Errors
    /// The folders cannot be written.
    pub fn lose(&self, left: PowerLoss) -> io::Result<()> {
        match left {
            PowerLoss::Nothing => self.restore_names(),
            PowerLoss::Names => self.change_unsynced(|_, durable| durable.to_vec()),
            PowerLoss::Blocks => self.change_unsynced(torn),
        }
    }

    /// Changes every file to the bytes that `left` returns for its current and its synced bytes.
    fn change_unsynced(&self, left: impl Fn(&[u8], &[u8]) -> Vec<u8>) -> io::Result<()> {
        for (path, named) in names(&self.below)? {
            let NameTarget::File { id, .. } = named else { continue };
            if self.through.contains(&id) {
                continue;
            }
            let now = fs::read(&path)?;
            let durable = self.bytes.get(&id);
            let left = left(&now, durable.map_or(&[], |bytes| bytes));
            if left != now {
                rewrite(&path, &left)?;
            }
        }
        Ok(())
    }

    /// Restores the names of the last sync, with the synced bytes.
    fn restore_names(&self) -> io::Result<()> {
        let now = names(&self.below)?;
        // The entries of a folder come after it.
        for (path, named) in now.iter().rev() {
            let stays = match (named, self.names.get(path)) {
                (NameTarget::Folder { .. }, Some(NameTarget::Folder { .. })) => true,
                (NameTarget::File { id, .. }, Some(NameTarget::File { id: before, .. })) => {
                    id == before
                }
                (named, before) => Some(named) == before,
            };
            if !stays {
                let is_folder = matches!(named, NameTarget::Folder { .. });
                if is_folder { fs::remove_dir(path)? } else { fs::remove_file(path)? }
            }
        }
        for (path, named) in &self.names {
            match named {
                NameTarget::Folder { .. } if path.is_dir() => {}
                NameTarget::Folder { .. } => fs::create_dir(path)?,
                NameTarget::Link { target } if fs::symlink_metadata(path).is_err() => {
                    symlink(target, path)?;
                }
                NameTarget::Link { .. } => {}
                NameTarget::File { id, .. } if self.through.contains(id) && path.exists() => {}
                NameTarget::File { id, .. } => {
                    let synced = self.bytes.get(id).cloned().unwrap_or_default();
                    if unless_gone(fs::read(path))?.as_ref() != Some(&synced) {
                        rewrite(path, &synced)?;
                    }
                }
            }
        }
        for (path, named) in self.names.iter().rev() {
            if let NameTarget::Folder { mode } | NameTarget::File { mode, .. } = named {
                fs::set_permissions(path, Permissions::from_mode(*mode))?;
            }
        }
        Ok(())
    }
}

/// Every name below some folders.
fn names(below: &[PathBuf]) -> io::Result<BTreeMap<PathBuf, NameTarget>> {
    let mut names = BTreeMap::new();
    for folder in below.iter().filter(|folder| folder.is_dir()) {
        add_names(folder, &mut names)?;
    }
    Ok(names)
}

fn add_names(folder: &Path, names: &mut BTreeMap<PathBuf, NameTarget>) -> io::Result<()> {
    for entry in unless_gone(fs::read_dir(folder))?.into_iter().flatten() {
        let path = entry?.path();
        let Some(metadata) = unless_gone(fs::symlink_metadata(&path))? else { continue };
        let mode = metadata.mode() & 0o7777;
        if metadata.is_dir() {
            add_names(&path, names)?;
            names.insert(path, NameTarget::Folder { mode });
        } else if metadata.is_symlink() {
            let Some(target) = unless_gone(fs::read_link(&path))? else { continue };
            names.insert(path, NameTarget::Link { target });
        } else if metadata.is_file() {
            names.insert(path, NameTarget::File { id: id(&metadata), mode });
        }
    }
    Ok(())
}

fn id(metadata: &Metadata) -> Id {
    (metadata.dev(), metadata.ino(), metadata.created().ok())
}

/// Reverts every second changed block: to the synced bytes, or to zeros where there were none.
fn torn(now: &[u8], durable: &[u8]) -> Vec<u8> {
    let mut left = now.to_vec();
    let blocks = left.chunks_mut(BLOCK).enumerate();
    let before =
        |offset: usize| &durable[durable.len().min(offset)..durable.len().min(offset + BLOCK)];
    let changed = blocks
        .map(|(number, block)| (before(number * BLOCK), block))
        .filter(|(before, block)| before != block);
    for (before, block) in changed.step_by(2) {
        let length = before.len().min(block.len());
        block[..length].copy_from_slice(&before[..length]);
        block[length..].fill(0);
    }
    left
}

/// Writes new bytes into a file; keeps its permissions and modification time.
fn rewrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let before = unless_gone(fs::metadata(path))?;
    if before.is_some() {
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
    }
    fs::write(path, bytes)?;
    let Some(before) = before else { return Ok(()) };
    File::open(path)?.set_modified(before.modified()?)?;
    fs::set_permissions(path, before.permissions())
}

/// `None` if the path does not exist; another process may remove it at any moment.
fn unless_gone<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn torn_keeps_some_new_blocks_and_loses_no_synced_block() {
        let old = vec![1; 4 * BLOCK];
        let new = [vec![1; BLOCK], vec![2; 2 * BLOCK + 9]].concat();
        let torn = torn(&new, &old);
        assert_eq!(torn.len(), new.len());
        assert_eq!(torn[..2 * BLOCK], old[..2 * BLOCK]);
        assert_eq!(torn[2 * BLOCK..3 * BLOCK], new[2 * BLOCK..3 * BLOCK]);
        assert_eq!(torn[3 * BLOCK..], old[..9]);
        assert_eq!(super::torn(b"new", b""), [0, 0, 0]);
        assert_eq!(super::torn(b"same", b"same"), b"same");
    }

    /// The paths and contents below a folder after a power loss.
    fn after(left: PowerLoss) -> Vec<(String, String)> {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("a")).unwrap();
        fs::write(root.join("a/old"), "old").unwrap();
        fs::write(root.join("gone"), "gone").unwrap();
        symlink("old", root.join("a/link")).unwrap();
        let durable = Durable::all(&[root.to_owned()]).unwrap();
        fs::write(root.join("a/old"), "changed").unwrap();
        fs::rename(root.join("gone"), root.join("a/new")).unwrap();
        fs::remove_file(root.join("a/link")).unwrap();
        fs::create_dir(root.join("b")).unwrap();
        fs::write(root.join("b/new"), "new").unwrap();
        durable.lose(left).unwrap();
        let names = names(&[root.to_owned()]).unwrap();
        let shown = |(path, named): (&PathBuf, &NameTarget)| {
            let text = match named {
                NameTarget::Folder { .. } => "folder".into(),
                NameTarget::Link { target } => target.display().to_string(),
                NameTarget::File { .. } => fs::read_to_string(path).unwrap(),
            };
            (path.strip_prefix(root).unwrap().display().to_string(), text)
        };
        names.iter().map(shown).collect()
    }

    fn pairs(entries: &[(&str, &str)]) -> Vec<(String, String)> {
        entries.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn lose_takes_only_bytes_and_names_that_were_not_synced() {
        let names_stay = |old, new| {
            pairs(&[
                ("a", "folder"),
                ("a/new", "gone"),
                ("a/old", old),
                ("b", "folder"),
                ("b/new", new),
            ])
        };
        assert_eq!(after(PowerLoss::Names), names_stay("old", ""));
        assert_eq!(after(PowerLoss::Blocks), names_stay("old\0\0\0\0", "\0\0\0"));
        let before = [("a", "folder"), ("a/link", "old"), ("a/old", "old"), ("gone", "gone")];
        assert_eq!(after(PowerLoss::Nothing), pairs(&before));
    }
}
