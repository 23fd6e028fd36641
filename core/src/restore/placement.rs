//! Writes one path of a checkpoint: beside its place and then moved onto it, so that the path is
//! whole at every moment and other hard links to the file keep their bytes.
//!
//! No path is written through a symbolic link: every directory on the way is checked first.

use crate::disk::atomic_write::make_new_named;
use crate::disk::{Disk, Kind, Stat, folder};
use crate::error::{Context, Error, Result};
use crate::path::{ancestors, on_disk};
use crate::store::permissions::Permissions;
use crate::store::snapshot::Mode;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A project to write into.
pub struct Placement<'a> {
    /// The disk the project is on.
    pub disk: &'a dyn Disk,
    /// The project's canonical directory.
    pub root: &'a Path,
    /// What comes back where nothing stands.
    pub permissions: &'a Permissions,
}

impl Placement<'_> {
    /// Puts a file or link at `path`, whose place is free or holds what may be replaced.
    pub fn put(&self, path: &[u8], mode: Mode, content: &[u8]) -> Result<()> {
        let full = on_disk(self.root, path);
        self.make_parents(path)?;
        let before = folder::stat(self.disk, &full)?;
        if before.is_some_and(|stat| stat.kind == Kind::Directory) {
            self.remove_empty_directories(&full)?;
        }
        let before = before.filter(|stat| stat.kind == Kind::File && mode != Mode::Link);
        let temporary = self.write_beside(&full, mode, content)?;
        let placed = self.place(&temporary, (path, &full), mode, before);
        if placed.is_err() {
            // The path is unchanged; a leftover beside it would only be one more file.
            let _ = self.disk.remove_file(&temporary);
        }
        placed
    }

    /// Makes the directories on the way. What exists must be a directory: a link would lead the
    /// path somewhere else.
    // rule: restore/contained
    fn make_parents(&self, path: &[u8]) -> Result<()> {
        // What stood above the project is not known, and is made as anybody makes a directory.
        let above = self.root.ancestors().skip(1).map(|above| (above.to_owned(), 0o777));
        let on_the_way = above.collect::<Vec<_>>().into_iter().rev();
        let inside = std::iter::once(&b""[..]).chain(ancestors(path));
        let inside =
            inside.map(|path| (on_disk(self.root, path), self.permissions.of_folder(path)));
        for (directory, bits) in on_the_way.chain(inside) {
            match self.disk.stat(&directory) {
                Ok(stat) if stat.kind == Kind::Directory => {}
                Ok(_) => {
                    let source = io::Error::from(ErrorKind::NotADirectory);
                    return Err(Error::Io { action: "entering", path: directory, source });
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    self.disk.make_directory(&directory, bits).context("making", &directory)?;
                }
                Err(error) => return Err(error).context("looking at", &directory),
            }
        }
        Ok(())
    }

    fn remove_empty_directories(&self, full: &Path) -> Result<()> {
        for name in self.disk.list(full).context("reading the directory", full)? {
            self.remove_empty_directories(&full.join(name))?;
        }
        self.disk.remove_directory(full).context("removing the directory", full)
    }

    /// A file is private to its owner until it has its own permissions.
    fn write_beside(&self, full: &Path, mode: Mode, content: &[u8]) -> Result<PathBuf> {
        let folder = full.parent().unwrap_or(self.root);
        // A short name, since that of the file may be as long as names can be.
        make_new_named(folder, ".herma-restore", |temporary| match mode {
            // rule: restore/type
            Mode::Link => self.disk.make_link(content, temporary),
            Mode::Plain | Mode::Executable => self.disk.write_new(temporary, content, 0o600),
        })
    }

    fn place(
        &self,
        temporary: &Path,
        (path, full): (&[u8], &Path),
        mode: Mode,
        before: Option<Stat>,
    ) -> Result<()> {
        if mode != Mode::Link {
            // A file that only its owner may read stays that way.
            // rule: restore/permissions
            let bits = match before {
                None => self.permissions.of_file(path, mode),
                // rule: restore/executable
                Some(stat) if mode == Mode::Executable => {
                    stat.mode | (stat.mode & 0o444) >> 2 | 0o100
                }
                Some(stat) => stat.mode & !0o111,
            };
            self.disk
                .set_mode(temporary, bits & 0o777)
                .context("setting the mode of", temporary)?;
        }
        // A link at the path is replaced by this, never followed, and so is one name of a file.
        // rule: restore/hard-links
        // rule: restore/type
        self.disk.rename(temporary, full).context("replacing", full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_is_put_through_what_came_to_stand_on_the_way() {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
        fs::create_dir(&root).unwrap();
        fs::create_dir(&outside).unwrap();
        symlink(&outside, root.join("link")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        let permissions = Permissions::default();
        let placement = Placement { disk: &SystemDisk, root: &root, permissions: &permissions };
        for path in [&b"link/x"[..], b"file/x", b"link/further/x"] {
            let refused = placement.put(path, Mode::Plain, b"x").unwrap_err();
            assert!(refused.to_string().contains("entering"), "{refused}");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        placement.put(b"made/on/the/way", Mode::Plain, b"x").unwrap();
        assert_eq!(fs::read(root.join("made/on/the/way")).unwrap(), b"x");
    }
}
