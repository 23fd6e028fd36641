//! What a power loss leaves: what was synced for certain, and of the rest what a file system may keep.
//!
//! The model is a file system with a journal. Names (what is created, renamed, removed) become durable
//! in the order in which they changed, at the latest with the next sync of anything; the bytes of a
//! file with a sync of that file only. So three images are allowed: all names with the bytes that
//! were synced, all names with some blocks of the others, and the names of the last sync.

use crate::history::Left;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// So many bytes of a file become durable together.
const BLOCK: usize = 512;

/// Which file it is, whatever it is called. The time of its birth tells it from another one that got
/// its number.
type Id = (u64, u64, Option<SystemTime>);

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Named {
    Folder { mode: u32 },
    File { id: Id, mode: u32 },
    Link { target: PathBuf },
}

/// What is durable below some folders.
pub struct Durable {
    below: Vec<PathBuf>,
    /// What each file held when it was synced.
    bytes: HashMap<Id, Vec<u8>>,
    /// Files of which every write is synced as it is made.
    through: HashSet<Id>,
    /// All names at the last sync.
    names: BTreeMap<PathBuf, Named>,
}

impl Durable {
    /// Everything that is there now.
    ///
    /// # Errors
    /// It cannot be read.
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

    /// What one file or folder holds is durable now, and so are all names.
    ///
    /// # Errors
    /// What is there cannot be read.
    pub fn sync(&mut self, file: &Path) -> io::Result<()> {
        let metadata = fs::metadata(file)?;
        if metadata.is_file() {
            self.bytes.insert(id(&metadata), fs::read(file)?);
        }
        self.names = names(&self.below)?;
        Ok(())
    }

    /// Every write to a file is synced as it is made.
    ///
    /// # Errors
    /// The file is not there.
    pub fn write_through(&mut self, file: &Path) -> io::Result<()> {
        self.through.insert(id(&fs::metadata(file)?));
        Ok(())
    }

    /// Everything that is there now is durable.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn sync_everything(&mut self) -> io::Result<()> {
        self.names = names(&self.below)?;
        for (path, named) in &self.names {
            if let Named::File { id, .. } = named
                && let Some(bytes) = unless_gone(fs::read(path))?
            {
                self.bytes.insert(*id, bytes);
            }
        }
        Ok(())
    }

    /// Leaves what a power loss may leave. Nobody may write there any more.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn lose(&self, left: Left) -> io::Result<()> {
        match left {
            Left::Nothing => self.back_to_names(),
            Left::Names => self.change_unsynced(|_, durable| durable.to_vec()),
            Left::Blocks => self.change_unsynced(torn),
        }
    }

    /// Gives every file what `left` says, of what it holds now and what it held when it was synced.
    fn change_unsynced(&self, left: impl Fn(&[u8], &[u8]) -> Vec<u8>) -> io::Result<()> {
        for (path, named) in names(&self.below)? {
            let Named::File { id, .. } = named else { continue };
            if self.through.contains(&id) {
                continue;
            }
            let (now, durable) = (fs::read(&path)?, self.bytes.get(&id));
            let left = left(&now, durable.map_or(&[], |bytes| bytes));
            if left != now {
                rewrite(&path, &left)?;
            }
        }
        Ok(())
    }

    /// The names of the last sync stand again, with the bytes that were synced.
    fn back_to_names(&self) -> io::Result<()> {
        let now = names(&self.below)?;
        // What is in a folder comes after it.
        for (path, named) in now.iter().rev() {
            let stays = match (named, self.names.get(path)) {
                (Named::Folder { .. }, Some(Named::Folder { .. })) => true,
                (Named::File { id, .. }, Some(Named::File { id: before, .. })) => id == before,
                (named, before) => Some(named) == before,
            };
            if !stays {
                let is_folder = matches!(named, Named::Folder { .. });
                if is_folder { fs::remove_dir(path)? } else { fs::remove_file(path)? }
            }
        }
        for (path, named) in &self.names {
            match named {
                Named::Folder { .. } if path.is_dir() => {}
                Named::Folder { .. } => fs::create_dir(path)?,
                Named::Link { target } if fs::symlink_metadata(path).is_err() => {
                    symlink(target, path)?;
                }
                Named::Link { .. } => {}
                Named::File { id, .. } if self.through.contains(id) && path.exists() => {}
                Named::File { id, .. } => {
                    let due = self.bytes.get(id).cloned().unwrap_or_default();
                    if unless_gone(fs::read(path))?.as_ref() != Some(&due) {
                        rewrite(path, &due)?;
                    }
                }
            }
        }
        for (path, named) in self.names.iter().rev() {
            if let Named::Folder { mode } | Named::File { mode, .. } = named {
                fs::set_permissions(path, Permissions::from_mode(*mode))?;
            }
        }
        Ok(())
    }
}

/// Every name below some folders.
fn names(below: &[PathBuf]) -> io::Result<BTreeMap<PathBuf, Named>> {
    let mut names = BTreeMap::new();
    for folder in below.iter().filter(|folder| folder.is_dir()) {
        add_names(folder, &mut names)?;
    }
    Ok(names)
}

fn add_names(folder: &Path, names: &mut BTreeMap<PathBuf, Named>) -> io::Result<()> {
    for entry in unless_gone(fs::read_dir(folder))?.into_iter().flatten() {
        let path = entry?.path();
        let Some(metadata) = unless_gone(fs::symlink_metadata(&path))? else { continue };
        let mode = metadata.mode() & 0o7777;
        if metadata.is_dir() {
            add_names(&path, names)?;
            names.insert(path, Named::Folder { mode });
        } else if metadata.is_symlink() {
            let Some(target) = unless_gone(fs::read_link(&path))? else { continue };
            names.insert(path, Named::Link { target });
        } else if metadata.is_file() {
            names.insert(path, Named::File { id: id(&metadata), mode });
        }
    }
    Ok(())
}

fn id(metadata: &Metadata) -> Id {
    (metadata.dev(), metadata.ino(), metadata.created().ok())
}

/// Every second changed block is as it was: what was there before, or zeros where nothing was.
fn torn(now: &[u8], durable: &[u8]) -> Vec<u8> {
    let mut left = now.to_vec();
    let blocks = left.chunks_mut(BLOCK).enumerate();
    let before = |at: usize| &durable[durable.len().min(at)..durable.len().min(at + BLOCK)];
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

/// Gives a file other bytes; it keeps its permissions and times.
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

/// None where there is nothing; somebody may remove it at any moment.
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
    fn a_torn_file_has_some_of_its_new_blocks_and_none_of_its_synced_ones_is_lost() {
        let (old, new) = (vec![1; 4 * BLOCK], [vec![1; BLOCK], vec![2; 2 * BLOCK + 9]].concat());
        let torn = torn(&new, &old);
        assert_eq!(torn.len(), new.len());
        assert_eq!(torn[..2 * BLOCK], old[..2 * BLOCK]);
        assert_eq!(torn[2 * BLOCK..3 * BLOCK], new[2 * BLOCK..3 * BLOCK]);
        assert_eq!(torn[3 * BLOCK..], old[..9]);
        assert_eq!(super::torn(b"new", b""), [0, 0, 0]);
        assert_eq!(super::torn(b"same", b"same"), b"same");
    }

    /// What is below a folder, and what is there after a power loss.
    fn after(left: Left) -> Vec<(String, String)> {
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
        let shown = |(path, named): (&PathBuf, &Named)| {
            let text = match named {
                Named::Folder { .. } => "folder".into(),
                Named::Link { target } => target.display().to_string(),
                Named::File { .. } => fs::read_to_string(path).unwrap(),
            };
            (path.strip_prefix(root).unwrap().display().to_string(), text)
        };
        names.iter().map(shown).collect()
    }

    fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn a_power_loss_takes_bytes_or_names_that_were_not_synced_and_nothing_else() {
        let names_stay = |old, new| {
            pairs(&[
                ("a", "folder"),
                ("a/new", "gone"),
                ("a/old", old),
                ("b", "folder"),
                ("b/new", new),
            ])
        };
        assert_eq!(after(Left::Names), names_stay("old", ""));
        assert_eq!(after(Left::Blocks), names_stay("old\0\0\0\0", "\0\0\0"));
        let before = [("a", "folder"), ("a/link", "old"), ("a/old", "old"), ("gone", "gone")];
        assert_eq!(after(Left::Nothing), pairs(&before));
    }
}
