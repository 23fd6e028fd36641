//! Writes paths of a checkpoint: beside their places, made durable, and then moved onto them, so that
//! each path is whole at every moment and other hard links to a file keep their bytes.
//!
//! No path is written through a symbolic link: the disk follows none.

use crate::disk::atomic_write::make_new_named;
use crate::disk::{Access, Disk, Kind, Stat, folder, is_absence, of_any_group};
use crate::error::{Context, Error, Result};
use crate::path::{ancestors, on_disk, parent};
use crate::store::content::Content;
use crate::store::permissions::Permissions;
use crate::store::snapshot::{Mode, Snapshot};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// So many files are made durable one by one; more of them with all else on their file system, which
/// takes as long as a few.
const ONE_BY_ONE_MAX: usize = 16;

/// What was put beside its place, each with why it could not be removed where it could not.
pub type Beside = RefCell<BTreeMap<PathBuf, Option<String>>>;

/// A project to write into.
pub struct Placement<'a> {
    /// The disk the project is on.
    pub disk: &'a dyn Disk,
    /// The project's canonical directory.
    pub root: &'a Path,
    /// What comes back where nothing stands.
    pub permissions: &'a Permissions,
    /// How the name of a file begins on its way into or out of the project.
    pub temporary: &'a str,
    /// What is to stand in the project in the end, so that no other file has such a name meanwhile.
    pub target: &'a Snapshot,
    /// What was put beside its place so far.
    pub beside: &'a Beside,
}

/// A file or link beside the place that it is to take.
pub struct Draft {
    pub(super) place: PathBuf,
    pub(super) temporary: PathBuf,
    own: Stat,
    pub(super) was_free: bool,
}

impl Draft {
    /// How many bytes it takes on the disk.
    pub fn bytes(&self) -> u64 {
        self.own.size
    }
}

/// Whether what is at a path may go, since a checkpoint holds it.
pub type MayGo<'a> = &'a dyn Fn(&Path) -> io::Result<bool>;

impl Placement<'_> {
    /// Writes a file or link beside `path`, whose place is free or holds what may be replaced. No
    /// other draft of this restore has the same `number`.
    pub fn draft(
        &self,
        path: &[u8],
        mode: Mode,
        content: &Content<'_>,
        number: usize,
    ) -> Result<Draft> {
        let place = on_disk(self.root, path);
        self.make_parents(path)?;
        let before = folder::stat(self.disk, &place)?;
        if before.is_some_and(|stat| stat.kind == Kind::Directory) {
            self.remove_empty_directories(&place)?;
        }
        let replaced = before.filter(|stat| stat.kind == Kind::File && mode != Mode::Link);
        let access = self.access(path, mode, replaced);
        // More than everybody may only its own group, and that is not its group yet.
        let bits = of_any_group(access.bits);
        let folder = place.parent().unwrap_or(self.root);
        // A short name, since that of the file may be as long as names can be.
        let name = format!("{}-{number}", self.temporary);
        let temporary = match content {
            // rule: restore/type
            Content::Read(target) if mode == Mode::Link => {
                self.make_beside(folder, &name, |path| self.disk.make_link(target, path))
            }
            Content::Read(bytes) => {
                self.make_beside(folder, &name, |path| self.disk.write_soon(path, bytes, bits))
            }
            // As a link's target it is more than any system takes.
            Content::Stored(objects, blob) => {
                let mut stream = objects.stream(*blob)?;
                let mut write = |path: &Path| self.disk.write_from(path, &mut stream, bits);
                self.make_beside(folder, &name, |path| write(path))
            }
        }?;
        if mode != Mode::Link && (bits != access.bits || access.list.is_some()) {
            let permitted = self.disk.permit(&temporary, &access);
            let permitted = permitted.inspect_err(|_| self.remove_beside(&temporary));
            permitted.context("permitting", &temporary)?;
        }
        let own = self.disk.stat(&temporary);
        let own = own.inspect_err(|_| self.remove_beside(&temporary));
        let own = own.context("looking at", &temporary)?;
        let was_free = before.is_none_or(|stat| stat.kind == Kind::Directory);
        Ok(Draft { place, temporary, own, was_free })
    }

    /// Waits until drafts are durable, so that no power loss leaves half a file in a place.
    pub fn sync(&self, drafts: &[&Draft]) -> Result<()> {
        let files: Vec<&&Draft> = drafts.iter().filter(|one| one.own.kind == Kind::File).collect();
        if files.len() <= ONE_BY_ONE_MAX {
            return files.iter().try_for_each(|one| {
                self.disk.sync_file(&one.temporary).context("waiting for", &one.temporary)
            });
        }
        let mut done = BTreeSet::new();
        for file in files {
            if done.insert(file.own.device) {
                let synced = self.disk.sync_file_system(&file.temporary);
                synced.context("waiting for", &file.temporary)?;
            }
        }
        Ok(())
    }

    /// Puts a draft in its place. What was replaced is looked at once more where nobody else can
    /// reach it: answers false, with the path as it was, where that may not go, since it was saved
    /// in the meantime.
    // rule: restore/protects
    pub fn settle(&self, draft: &Draft, may_go: MayGo<'_>) -> Result<bool> {
        let Draft { place, own, was_free, .. } = draft;
        let temporary = self.ready(draft).inspect_err(|_| self.discard(draft))?;
        let placed = self.swap_in(&temporary, place, *was_free, may_go).context("replacing", place);
        if !matches!(placed, Ok(true)) {
            self.discard_at(&temporary, own);
        }
        placed
    }

    /// Gives a draft another name before it changes places with what somebody else wrote: under its
    /// first one there is never anything but a draft, or a part of one.
    fn ready(&self, draft: &Draft) -> Result<PathBuf> {
        let Draft { place, temporary, was_free, .. } = draft;
        if *was_free {
            return Ok(temporary.clone());
        }
        let folder = place.parent().unwrap_or(self.root);
        let rename = |ready: &Path| self.disk.rename_new(temporary, ready);
        match self.make_beside(folder, self.temporary, rename) {
            // Such a file system does not let two names change places either.
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::Unsupported => {
                Ok(temporary.clone())
            }
            ready => ready,
        }
    }

    /// Removes a draft that did not come to its place. What is there may have been saved in the
    /// meantime, and is left.
    pub fn discard(&self, draft: &Draft) {
        self.discard_at(&draft.temporary, &draft.own);
    }

    fn discard_at(&self, temporary: &Path, own: &Stat) {
        let is_own = |stat: Stat| stat.identity() == own.identity();
        match self.disk.stat(temporary) {
            Ok(stat) if is_own(stat) => self.remove_beside(temporary),
            Ok(_) => {}
            Err(error) => self.stays(temporary, &error),
        }
    }

    pub(super) fn remove_beside(&self, temporary: &Path) {
        if let Err(error) = self.disk.remove_file(temporary) {
            self.stays(temporary, &error);
        }
    }

    /// Notes why what is beside its place may be there still.
    fn stays(&self, temporary: &Path, why: &io::Error) {
        self.beside.borrow_mut().insert(temporary.to_owned(), Some(why.to_string()));
    }

    /// Removes the file or link at `path`, as far as it may go; answers whether it did.
    // rule: restore/protects
    pub fn take_away(&self, path: &[u8], may_go: MayGo<'_>) -> Result<bool> {
        let full = on_disk(self.root, path);
        let folder = full.parent().unwrap_or(self.root);
        let rename = |away: &Path| self.disk.rename_new(&full, away);
        let away = match self.make_beside(folder, self.temporary, rename) {
            // Such a file system tells nobody what it removes: it is looked at directly before.
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::Unsupported => {
                return match may_go(&full) {
                    Ok(true) => self.disk.remove_file(&full).map(|()| true),
                    kept => kept,
                }
                .context("removing", &full);
            }
            away => away?,
        };
        let removed = match may_go(&away) {
            Ok(true) => self.disk.remove_file(&away).map(|()| true),
            kept => kept,
        };
        if !matches!(removed, Ok(true)) {
            // Where something was saved in its place since, both are left.
            let _ = self.disk.rename_new(&away, &full);
        }
        removed.context("removing", &full)
    }

    /// Makes something in `folder` under a name that begins so and that nothing of the target has.
    pub(super) fn make_beside(
        &self,
        folder: &Path,
        name: &str,
        mut make: impl FnMut(&Path) -> io::Result<()>,
    ) -> Result<PathBuf> {
        let made = make_new_named(folder, name, |full| {
            let path = full.strip_prefix(self.root).unwrap_or(full);
            match self.target.contains_key(path.as_os_str().as_bytes()) {
                true => Err(ErrorKind::AlreadyExists.into()),
                false => make(full),
            }
        })?;
        self.beside.borrow_mut().insert(made.clone(), None);
        Ok(made)
    }

    /// Moves what is at `temporary` to `full`; answers false where something is there that may not
    /// go, which then is still there.
    fn swap_in(
        &self,
        temporary: &Path,
        full: &Path,
        was_free: bool,
        may_go: MayGo<'_>,
    ) -> io::Result<bool> {
        if was_free {
            return match self.disk.rename_new(temporary, full) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
                // The file system cannot tell: it is looked at directly before.
                Err(error) if error.kind() == ErrorKind::Unsupported => {
                    match self.disk.stat(full) {
                        Err(error) if is_absence(&error) => {
                            self.disk.rename(temporary, full).map(|()| true)
                        }
                        stands => stands.map(|_| false),
                    }
                }
                moved => moved.map(|()| true),
            };
        }
        // A link at the path is replaced by this, never followed, and so is one name of a file.
        // rule: restore/hard-links
        // rule: restore/type
        match self.disk.exchange(temporary, full) {
            // What stood there is gone: then its place is free.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return self.swap_in(temporary, full, true, may_go);
            }
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                return match may_go(full) {
                    Ok(true) => self.disk.rename(temporary, full).map(|()| true),
                    kept => kept,
                };
            }
            exchanged => exchanged?,
        }
        let goes = may_go(temporary);
        if !matches!(goes, Ok(true)) {
            self.disk.exchange(temporary, full)?;
            return goes;
        }
        // The path is as it is to be; what is left beside it a checkpoint holds.
        self.remove_beside(temporary);
        Ok(true)
    }

    /// Makes the directories on the way. What exists must be a directory: a link would lead the
    /// path somewhere else.
    // rule: restore/contained
    fn make_parents(&self, path: &[u8]) -> Result<()> {
        let nearest = on_disk(self.root, parent(path));
        if self.disk.stat(&nearest).is_ok_and(|stat| stat.kind == Kind::Directory) {
            return Ok(());
        }
        // What stood above the project may have hidden it, which is not known.
        let above = self.root.ancestors().skip(1).map(|above| (above.to_owned(), 0o700));
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
                    self.make_directory(&directory, bits).context("making", &directory)?;
                }
                Err(error) => return Err(error).context("looking at", &directory),
            }
        }
        Ok(())
    }

    fn make_directory(&self, directory: &Path, bits: u32) -> io::Result<()> {
        self.disk.make_directory(directory, of_any_group(bits))?;
        match of_any_group(bits) == bits {
            true => Ok(()),
            false => self.disk.permit(directory, &self.recorded(bits)),
        }
    }

    /// The recorded permission bits, of the group that they were recorded of.
    fn recorded(&self, bits: u32) -> Access {
        Access { bits, group: self.permissions.group(), list: None }
    }

    fn remove_empty_directories(&self, full: &Path) -> Result<()> {
        for name in self.disk.list(full).context("reading the directory", full)? {
            self.remove_empty_directories(&full.join(name))?;
        }
        self.disk.remove_directory(full).context("removing the directory", full)
    }

    /// Who may do what with the file that is to stand at `path`; `before` is the file that it replaces.
    // rule: restore/permissions
    fn access(&self, path: &[u8], mode: Mode, before: Option<Stat>) -> Access {
        let Some(before) = before else {
            let bits = self.permissions.of_file(path, mode) & !self.hidden(path);
            return self.recorded(bits & 0o777);
        };
        // A file that only its owner may read stays that way.
        let bits = match mode {
            // rule: restore/executable
            Mode::Executable => before.mode | (before.mode & 0o444) >> 2 | 0o100,
            _ => before.mode & !0o111,
        };
        let (bits, group) = (bits & 0o777, Some(before.group));
        match self.disk.access_list(&on_disk(self.root, path)) {
            Ok(list) => Access { bits, group, list },
            Err(_) => Access { bits, group: None, list: None },
        }
    }

    /// The permission bits of a file that nobody could use when it was captured, since a folder on the
    /// way let only its owner in, and stands open now.
    // rule: restore/permissions
    fn hidden(&self, path: &[u8]) -> u32 {
        let closed = |folder: &[u8]| {
            let was = self.permissions.of_folder(folder);
            if was & 0o011 == 0o011 {
                return 0;
            }
            let is = self.disk.stat(&on_disk(self.root, folder)).map_or(0, |stat| stat.mode);
            (is & !was & 0o011) * 0o7
        };
        std::iter::once(&b""[..])
            .chain(ancestors(path))
            .fold(0, |bits, folder| bits | closed(folder))
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
        let (disk, root, permissions) = (&SystemDisk, &root, &permissions);
        let (temporary, target) = (".own", &Snapshot::new());
        let beside = &RefCell::default();
        let placement = Placement { disk, root, permissions, temporary, target, beside };
        let x = Content::Read(b"x".to_vec());
        for path in [&b"link/x"[..], b"file/x", b"link/further/x"] {
            let refused = placement.draft(path, Mode::Plain, &x, 0).err().unwrap().to_string();
            assert!(refused.contains("entering"), "{refused}");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        let draft = placement.draft(b"made/on/the/way", Mode::Plain, &x, 0).unwrap();
        assert!(placement.settle(&draft, &|_| Ok(true)).unwrap());
        assert_eq!(fs::read(root.join("made/on/the/way")).unwrap(), b"x");
    }
}
