//! Writes paths of a checkpoint: as temporary files, which are made durable and then moved to the paths,
//! so that each path is complete at every moment and other hard links to a file keep their bytes.
//!
//! No path is written through a symbolic link: the disk follows none.

use crate::disk::atomic_write::make_new_named;
use crate::disk::{Disk, Kind, Stat, folder, is_absence, of_any_group};
use crate::error::{Context, Error, Result};
use crate::path::{ancestors, on_disk, parent};
use crate::shared::Shared;
use crate::store::content::Content;
use crate::store::permissions::{Permissions, SPECIAL};
use crate::store::snapshot::{Mode, Snapshot};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Up to so many files are made durable one by one; more of them by syncing the file system, which
/// takes as long as a few.
const ONE_BY_ONE_MAX: usize = 16;

/// The temporary files of a restore, each with the reason if it could not be removed.
pub type Staged = Shared<BTreeMap<PathBuf, Option<String>>>;

/// A project to write into.
pub struct Placement<'a> {
    /// The disk the project is on.
    pub disk: &'a dyn Disk,
    /// The project's canonical directory.
    pub root: &'a Path,
    /// The recorded permissions, for paths where no file exists.
    pub permissions: &'a Permissions,
    /// The prefix of the names of temporary files.
    pub temporary: &'a str,
    /// The snapshot to restore, whose names no temporary file is given.
    pub target: &'a Snapshot,
    /// The temporary files so far.
    pub staged: &'a Staged,
}

/// A temporary file or link that is to be moved to its destination.
pub struct Draft {
    pub(super) destination: PathBuf,
    pub(super) temporary: PathBuf,
    stat: Stat,
    pub(super) was_free: bool,
}

impl Draft {
    /// How many bytes it takes on the disk.
    pub fn bytes(&self) -> u64 {
        self.stat.size
    }
}

/// Whether the file at a path may be removed, since a checkpoint holds it.
pub type MayRemove<'a> = &'a dyn Fn(&Path) -> io::Result<bool>;

impl Placement<'_> {
    /// Writes a draft of `path`, which is free or may be replaced. No other draft of this restore has
    /// the same `number`.
    pub fn draft(
        &self,
        path: &[u8],
        mode: Mode,
        content: &Content<'_>,
        number: usize,
    ) -> Result<Draft> {
        let destination = on_disk(self.root, path);
        self.make_parents(path)?;
        let before = folder::stat(self.disk, &destination)?;
        if before.is_some_and(|stat| stat.kind == Kind::Directory) {
            self.remove_empty_directories(&destination)?;
        }
        let replaced = before.filter(|stat| stat.kind == Kind::File && mode != Mode::Link);
        let access = self.access(path, mode, replaced);
        // Only the file's group may have more rights than everybody, and the group is not set yet.
        let bits = of_any_group(access.bits);
        let folder = destination.parent().unwrap_or(self.root);
        // A short name, since that of the file may be as long as names can be.
        let name = format!("{}-{number}", self.temporary);
        let temporary = match content {
            // rule: restore/type
            Content::Read(target) if mode == Mode::Link => {
                self.make_staged(folder, &name, |path| self.disk.make_link(target, path))
            }
            Content::Read(bytes) => {
                self.make_staged(folder, &name, |path| self.disk.write_soon(path, bytes, bits))
            }
            // A stored content is too large to be the target of a link on any system.
            Content::Stored(objects, blob) => {
                let mut stream = objects.stream(*blob)?;
                let mut write = |path: &Path| self.disk.write_from(path, &mut stream, bits);
                self.make_staged(folder, &name, |path| write(path))
            }
        }?;
        if mode != Mode::Link && (bits != access.bits || access.list.is_some()) {
            let permitted = self.disk.permit(&temporary, &access);
            let permitted = permitted.inspect_err(|_| self.remove_staged(&temporary));
            permitted.context("permitting", &temporary)?;
        }
        if replaced.is_some() {
            // They are no content: a file system without them, or without the right to set them, stops no restore.
            let _ = self.disk.copy_attributes(&destination, &temporary);
        }
        let stat = self.disk.stat(&temporary);
        let stat = stat.inspect_err(|_| self.remove_staged(&temporary));
        let stat = stat.context("looking at", &temporary)?;
        // rule: restore/permissions
        if let Some(replaced) = replaced
            && (stat.user, stat.group) != (replaced.user, replaced.group)
        {
            self.disk.give(&temporary, replaced.user, replaced.group);
        }
        let was_free = before.is_none_or(|stat| stat.kind == Kind::Directory);
        Ok(Draft { destination, temporary, stat, was_free })
    }

    /// Waits until drafts are durable, so that no power loss leaves half a file at a path.
    pub fn sync(&self, drafts: &[&Draft]) -> Result<()> {
        let files: Vec<&&Draft> =
            drafts.iter().filter(|draft| draft.stat.kind == Kind::File).collect();
        if files.len() <= ONE_BY_ONE_MAX {
            return files.iter().try_for_each(|file| {
                self.disk.sync_file(&file.temporary).context("waiting for", &file.temporary)
            });
        }
        let mut synced_devices = BTreeSet::new();
        for file in files {
            if synced_devices.insert(file.stat.device) {
                let synced = self.disk.sync_file_system(&file.temporary);
                synced.context("waiting for", &file.temporary)?;
            }
        }
        Ok(())
    }

    /// Moves a draft to its destination. The replaced file is examined again where no other process can
    /// reach it: returns false, with the path as it was, if the file may not be removed, since it was
    /// saved in the meantime.
    // rule: restore/protects
    pub fn settle(&self, draft: &Draft, may_remove: MayRemove<'_>) -> Result<bool> {
        let Draft { destination, stat, was_free, .. } = draft;
        let temporary = self.ready(draft).inspect_err(|_| self.discard(draft))?;
        let placed = self
            .swap_in(&temporary, destination, *was_free, may_remove)
            .context("replacing", destination);
        if !matches!(placed, Ok(true)) {
            self.discard_at(&temporary, stat);
        }
        placed
    }

    /// Renames a draft before it is exchanged with a file of the project: under its first name there is
    /// never anything but a draft, or a part of one.
    fn ready(&self, draft: &Draft) -> Result<PathBuf> {
        let Draft { destination, temporary, was_free, .. } = draft;
        if *was_free {
            return Ok(temporary.clone());
        }
        let folder = destination.parent().unwrap_or(self.root);
        let rename = |ready: &Path| self.disk.rename_new(temporary, ready);
        match self.make_staged(folder, self.temporary, rename) {
            // Such a file system cannot exchange two names either.
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::Unsupported => {
                Ok(temporary.clone())
            }
            ready => ready,
        }
    }

    /// Removes a draft that was not moved to its destination. A different file under its name may have
    /// been saved in the meantime, and is left.
    pub fn discard(&self, draft: &Draft) {
        self.discard_at(&draft.temporary, &draft.stat);
    }

    fn discard_at(&self, temporary: &Path, draft: &Stat) {
        let is_draft = |stat: Stat| stat.identity() == draft.identity();
        match self.disk.stat(temporary) {
            Ok(stat) if is_draft(stat) => self.remove_staged(temporary),
            Ok(_) => {}
            Err(error) => self.record_leftover(temporary, &error),
        }
    }

    pub(super) fn remove_staged(&self, temporary: &Path) {
        if let Err(error) = self.disk.remove_file(temporary) {
            self.record_leftover(temporary, &error);
        }
    }

    /// Records why a temporary file may still exist.
    fn record_leftover(&self, temporary: &Path, error: &io::Error) {
        self.staged.lock().insert(temporary.to_owned(), Some(error.to_string()));
    }

    /// Removes the file or link at `path` if that is allowed; returns whether it was removed.
    // rule: restore/protects
    pub fn remove_path(&self, path: &[u8], may_remove: MayRemove<'_>) -> Result<bool> {
        let full = on_disk(self.root, path);
        let folder = full.parent().unwrap_or(self.root);
        let rename = |away: &Path| self.disk.rename_new(&full, away);
        let away = match self.make_staged(folder, self.temporary, rename) {
            // On such a file system the file can only be examined directly before its removal.
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::Unsupported => {
                return match may_remove(&full) {
                    Ok(true) => self.disk.remove_file(&full).map(|()| true),
                    kept => kept,
                }
                .context("removing", &full);
            }
            away => away?,
        };
        let removed = match may_remove(&away) {
            Ok(true) => self.disk.remove_file(&away).map(|()| true),
            kept => kept,
        };
        if !matches!(removed, Ok(true)) {
            // If another file was saved at the path since, both are left.
            let _ = self.disk.rename_new(&away, &full);
        }
        removed.context("removing", &full)
    }

    /// Creates a temporary file in `folder`, under a name with that prefix that the target does not have.
    pub(super) fn make_staged(
        &self,
        folder: &Path,
        prefix: &str,
        mut make: impl FnMut(&Path) -> io::Result<()>,
    ) -> Result<PathBuf> {
        let made = make_new_named(folder, prefix, |full| {
            let path = full.strip_prefix(self.root).unwrap_or(full);
            match self.target.contains_key(path.as_os_str().as_bytes()) {
                true => Err(ErrorKind::AlreadyExists.into()),
                false => make(full),
            }
        })?;
        self.staged.lock().insert(made.clone(), None);
        Ok(made)
    }

    /// Moves `temporary` to `full`; returns false if a file exists there that may not be removed, which
    /// then is still there.
    // rule: restore/keeps-saves
    fn swap_in(
        &self,
        temporary: &Path,
        full: &Path,
        was_free: bool,
        may_remove: MayRemove<'_>,
    ) -> io::Result<bool> {
        if was_free {
            return match self.disk.rename_new(temporary, full) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
                // The file system cannot check that: the path is examined directly before.
                Err(error) if error.kind() == ErrorKind::Unsupported => {
                    match self.disk.stat(full) {
                        Err(error) if is_absence(&error) => {
                            self.disk.rename(temporary, full).map(|()| true)
                        }
                        existing => existing.map(|_| false),
                    }
                }
                moved => moved.map(|()| true),
            };
        }
        // This replaces a link at the path and never follows it, and replaces only one name of a file.
        // rule: restore/hard-links
        // rule: restore/type
        match self.disk.exchange(temporary, full) {
            // The file is gone: then its path is free.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return self.swap_in(temporary, full, true, may_remove);
            }
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                return match may_remove(full) {
                    Ok(true) => self.disk.rename(temporary, full).map(|()| true),
                    kept => kept,
                };
            }
            exchanged => exchanged?,
        }
        let may_be_removed = may_remove(temporary);
        if !matches!(may_be_removed, Ok(true)) {
            self.disk.exchange(temporary, full)?;
            return may_be_removed;
        }
        // The path is as recorded; a checkpoint holds the file that it replaced.
        self.remove_staged(temporary);
        Ok(true)
    }

    /// Creates the directories above a path. Existing ones must be directories: a link would lead the
    /// path somewhere else.
    // rule: restore/contained: decides
    fn make_parents(&self, path: &[u8]) -> Result<()> {
        let nearest = on_disk(self.root, parent(path));
        if self.disk.stat(&nearest).is_ok_and(|stat| stat.kind == Kind::Directory) {
            return Ok(());
        }
        // The directories above the project may have hidden it; their permissions are not recorded.
        let above = self.root.ancestors().skip(1).map(|above| (above.to_owned(), 0o700));
        let outside = above.collect::<Vec<_>>().into_iter().rev();
        let inside = std::iter::once(&b""[..]).chain(ancestors(path));
        let inside =
            inside.map(|path| (on_disk(self.root, path), self.permissions.of_folder(path)));
        for (directory, bits) in outside.chain(inside) {
            match self.disk.stat(&directory) {
                Ok(stat) if stat.kind == Kind::Directory => {}
                Ok(_) => {
                    let source = io::Error::from(ErrorKind::NotADirectory);
                    return Err(Error::Io { action: "entering", path: directory, source });
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    self.make_directory(&directory, bits).context("making", &directory)?;
                }
                Err(error) => return Err(error).context("looking at", &directory),
            }
        }
        Ok(())
    }

    // rule: restore/folder-permissions
    fn make_directory(&self, directory: &Path, bits: u32) -> io::Result<()> {
        // Without its sticky bit, whoever may write in a folder may delete the files of others.
        let later = if bits & SPECIAL == 0 { 0 } else { SPECIAL | 0o022 };
        let first_bits = of_any_group(bits) & !later;
        self.disk.make_directory(directory, first_bits)?;
        let is_done = first_bits == bits;
        if is_done { Ok(()) } else { self.disk.permit(directory, &self.recorded(bits)) }
    }

    fn remove_empty_directories(&self, full: &Path) -> Result<()> {
        for name in self.disk.list(full).context("reading the directory", full)? {
            self.remove_empty_directories(&full.join(name))?;
        }
        self.disk.remove_directory(full).context("removing the directory", full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// Calls `check` with a placement of files below `root`.
    fn with_placement(root: &Path, check: impl FnOnce(&Placement<'_>)) {
        check(&Placement {
            disk: &SystemDisk,
            root,
            permissions: &Permissions::default(),
            temporary: ".own",
            target: &Snapshot::new(),
            staged: &Shared::default(),
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn draft_has_the_attributes_of_the_file_that_it_replaces() {
        use rustix::fs::{XattrFlags, getxattr, setxattr};
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let path = root.join("a");
        fs::write(&path, "now").unwrap();
        if let Err(error) = setxattr(&path, "user.herma", b"mine", XattrFlags::empty()) {
            return println!("not run: this file system keeps no attributes: {error}");
        }
        with_placement(&root, |placement| {
            let then = Content::Read(b"then".to_vec());
            let draft = placement.draft(b"a", Mode::Plain, &then, 0).unwrap();
            assert!(placement.settle(&draft, &|_| Ok(true)).unwrap());
        });
        assert_eq!(fs::read(&path).unwrap(), b"then");
        let mut value = [0; 16];
        let length = getxattr(&path, "user.herma", &mut value[..]).unwrap();
        assert_eq!(&value[..length], b"mine");
    }

    #[test]
    fn draft_refuses_a_path_that_leads_through_a_link_or_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        let outside = folder.path().join("outside");
        fs::create_dir(&root).unwrap();
        fs::create_dir(&outside).unwrap();
        symlink(&outside, root.join("link")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        with_placement(&root, |placement| {
            let x = Content::Read(b"x".to_vec());
            for path in [&b"link/x"[..], b"file/x", b"link/further/x"] {
                let refused = placement.draft(path, Mode::Plain, &x, 0).err().unwrap().to_string();
                assert!(refused.contains("entering"), "{refused}");
            }
            assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
            let draft = placement.draft(b"made/on/the/way", Mode::Plain, &x, 0).unwrap();
            assert!(placement.settle(&draft, &|_| Ok(true)).unwrap());
        });
        assert_eq!(fs::read(root.join("made/on/the/way")).unwrap(), b"x");
    }
}
