//! The outline of a folder: every file with its size, and refs and metadata with a hash of their bytes. It shows
//! whether a request changed a store that it had to leave.
//!
//! As an observation of the files, it reads again only what changed.

use super::manifest::{FOLDER, Manifest, digest, names, on_disk, path_in};
use super::settled::{Settled, StatData};
use herma_model::ByteString;
use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The files and folders whose bytes say what the history of a project is, relative to the base.
const POINTERS: [&[u8]; 3] = [b"store/refs/", b"store/projects/", b"store/packed-refs"];

/// What was found below a folder at one moment.
#[derive(Debug)]
pub struct Outline {
    /// The files, each with its size or, for a pointer, a hash of its bytes.
    files: BTreeMap<ByteString, (StatData, u64)>,
    /// The names in each folder, and the folder's own stat data.
    folders: BTreeMap<ByteString, (StatData, Vec<ByteString>)>,
    settled: Settled,
}

impl Outline {
    /// Nothing observed yet, on the file system of another observation.
    pub fn none(beside: &Manifest) -> Self {
        Outline::begun(beside.settled)
    }

    fn begun(settled: Settled) -> Self {
        Outline { files: BTreeMap::new(), folders: BTreeMap::new(), settled }
    }

    /// The outline of everything below `root` as it is now; empty if `root` does not exist.
    ///
    /// # Errors
    /// Something cannot be read.
    pub fn again(&self, root: &Path) -> io::Result<Self> {
        let mut now = Outline::begun(self.settled.now());
        let top = match rustix::fs::open(root, FOLDER, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(now),
            top => top?,
        };
        let mut pending = vec![(ByteString::default(), StatData::of(&rustix::fs::fstat(&top)?))];
        while let Some((directory, stat)) = pending.pop() {
            let names = self.names(&top, &directory, &stat)?;
            for name in &names {
                let path = path_in(&directory, name);
                let found = rustix::fs::statat(&top, &path[..], AtFlags::SYMLINK_NOFOLLOW)?;
                let found = StatData::of(&found);
                if found.is_folder() {
                    pending.push((path, found));
                } else {
                    let value = self.value(root, &path, &found)?;
                    now.files.insert(path, (found, value));
                }
            }
            now.folders.insert(directory, (stat, names));
        }
        Ok(now)
    }

    /// The names in a folder with this stat data. They are listed only if it changed.
    fn names(
        &self,
        top: &OwnedFd,
        directory: &[u8],
        stat: &StatData,
    ) -> io::Result<Vec<ByteString>> {
        match self.folders.get(directory) {
            Some((earlier, names)) if self.settled.is_unchanged(earlier, stat) => Ok(names.clone()),
            _ => names(top, directory),
        }
    }

    fn value(&self, root: &Path, path: &[u8], stat: &StatData) -> io::Result<u64> {
        // A history may have replaced the file with a link or a fifo, which is not followed.
        if !stat.is_file() || !POINTERS.iter().any(|pointer| path.starts_with(pointer)) {
            return Ok(stat.size as u64);
        }
        match self.files.get(path) {
            Some((earlier, value)) if self.settled.is_unchanged(earlier, stat) => Ok(*value),
            _ => Ok(digest(&fs::read(on_disk(root, path))?)),
        }
    }

    /// Every path in which a later outline differs. An empty folder is neither size nor history.
    pub fn changes(&self, later: &Outline) -> Vec<ByteString> {
        let value = |outline: &Outline, path| outline.files.get(path).map(|(_, value)| *value);
        let paths: BTreeSet<&ByteString> = self.files.keys().chain(later.files.keys()).collect();
        let changed = paths.into_iter().filter(|path| value(self, *path) != value(later, *path));
        changed.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Scratch;

    #[test]
    fn again_finds_every_change_of_sizes_and_of_the_bytes_of_refs() {
        let folder = Scratch::in_default_directory().temporary().unwrap();
        let root = folder.path();
        let refs = root.join("store/refs/hermes");
        fs::create_dir_all(&refs).unwrap();
        fs::write(refs.join("a"), "1").unwrap();
        fs::write(root.join("other"), "1").unwrap();
        let none = Outline::none(&Manifest::none(root).unwrap());
        let mut last = none.again(root).unwrap();
        let mut changes = |change: &dyn Fn()| {
            change();
            let now = last.again(root).unwrap();
            let found = last.changes(&now);
            assert_eq!(found, last.changes(&none.again(root).unwrap()));
            last = now;
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let no_change = Vec::<String>::new();
        assert_eq!(changes(&|| ()), no_change);
        assert_eq!(changes(&|| fs::write(refs.join("a"), "2").unwrap()), ["store/refs/hermes/a"]);
        assert_eq!(changes(&|| fs::write(root.join("other"), "2").unwrap()), no_change);
        assert_eq!(changes(&|| fs::write(root.join("other"), "22").unwrap()), ["other"]);
        assert_eq!(changes(&|| fs::create_dir(root.join("empty")).unwrap()), no_change);
        assert_eq!(changes(&|| fs::write(root.join("empty/b"), "").unwrap()), ["empty/b"]);
        assert_eq!(changes(&|| fs::remove_dir_all(&refs).unwrap()), ["store/refs/hermes/a"]);
        assert_eq!(none.again(&root.join("absent")).unwrap().files.len(), 0);
    }
}
