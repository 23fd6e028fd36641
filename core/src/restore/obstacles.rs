//! Finds the files that are in the way of a path to write, and decides whether they may be removed.

use super::Restore;
use crate::disk::{Kind as FileKind, is_unreadable};
use crate::path::{ancestors, join, on_disk};
use crate::unit::Role;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;

impl Restore<'_> {
    /// The files that must be removed before `path` can be written; `None` if removing them would lose
    /// content, or if there is no permission to find out.
    pub(super) fn removable_obstacles(&self, path: &[u8]) -> io::Result<Option<Vec<Vec<u8>>>> {
        // What was captured lies in none of them.
        if !self.current.contains_key(path) && self.is_in_own_folder(path) {
            return Ok(None);
        }
        match self.obstacles(path) {
            Err(error) if is_unreadable(&error) => Ok(None),
            obstacles => obstacles,
        }
    }

    // rule: restore/protects
    fn obstacles(&self, path: &[u8]) -> io::Result<Option<Vec<Vec<u8>>>> {
        Ok(match self.kind(path)? {
            None => match self.not_a_directory_above(path)? {
                None => Some(Vec::new()),
                Some(above) => {
                    // A unit is removed completely; the unit of a folder lies entirely in the folder.
                    let unit = self.units.of_path(above);
                    let files = unit.and_then(|unit| self.unit_files(unit).ok());
                    let mut obstacles = files.map(|files| files.present).unwrap_or_default();
                    obstacles.retain(|path| path != above);
                    obstacles.push(above.to_vec());
                    obstacles.iter().all(|path| self.is_expendable(path)).then_some(obstacles)
                }
            },
            Some(FileKind::Directory) => {
                let content = self.content(path)?;
                content.iter().all(|path| self.is_expendable(path)).then_some(content)
            }
            Some(_) => self.current.contains_key(path).then(Vec::new),
        })
    }

    /// Whether the file at `path` may be removed: the pre-restore checkpoint holds it, and the
    /// target neither left it out nor covers it by its ignore files.
    // rule: restore/protects: decides
    fn is_expendable(&self, path: &[u8]) -> bool {
        match self.units.of_path(path) {
            Some(unit) if unit.role_of(path) == Some(Role::Derived) => true,
            _ => {
                self.current.contains_key(path)
                    && !self.was_excluded(path)
                    && self.why_left_out(path).is_none()
            }
        }
    }

    /// Whether the path lies in a folder that belongs to no project.
    // rule: scope/base-not-captured
    pub(super) fn is_in_own_folder(&self, path: &[u8]) -> bool {
        let full = on_disk(self.root, path);
        let path_and_parents = full.ancestors().take_while(|above| *above != self.root);
        self.own_folders.has_any(self.disk, path_and_parents)
    }

    /// The first ancestor of `path` that exists and is not a directory.
    pub(super) fn not_a_directory_above<'b>(&self, path: &'b [u8]) -> io::Result<Option<&'b [u8]>> {
        for ancestor in ancestors(path) {
            match self.kind(ancestor) {
                Ok(None) => break,
                // Nothing has a name that is longer than names can be.
                Err(error) if error.kind() == ErrorKind::InvalidFilename => break,
                Ok(Some(FileKind::Directory)) => {}
                Ok(Some(_)) => return Ok(Some(ancestor)),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// All files below `path`, without directories and without what interrupted restores left there.
    pub(super) fn content(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        let mut found = Vec::new();
        let mut pending = vec![path.to_vec()];
        while let Some(directory) = pending.pop() {
            for name in self.disk.list(&on_disk(self.root, &directory))? {
                let path = join(&directory, name.as_bytes());
                match self.kind(&path)? {
                    None => {}
                    Some(FileKind::Directory) => pending.push(path),
                    Some(_) if self.leftovers.binary_search(&path).is_ok() => {}
                    Some(_) => found.push(path),
                }
            }
        }
        Ok(found)
    }
}
