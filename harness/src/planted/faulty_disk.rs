//! A disk with one fault. With it a planted bug is inside the core, as a real bug would be. Only
//! [`DiskFault::Mode`], [`DiskFault::NeverSyncs`] and [`DiskFault::Unlocked`] affect the store; all others
//! affect the files of projects.

use crate::history::InjectedEvent;
use crate::inject::Injector;
use crate::sandbox::Sandbox;
use crate::subject::HookedDisk;
use herma_core::disk::{Access, Disk, ListedEntry, LockGuard, Sharing, Stat, Stream, SystemDisk};
use herma_core::ignore::IGNORE_BYTES_MAX;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The fault of a disk; the functions get the sandbox and the path where they need them.
#[derive(Clone, Copy)]
pub enum DiskFault {
    /// Replaces the content that is read from a file.
    Read(fn(&Path, Vec<u8>) -> Vec<u8>),
    /// Replaces the target that is read from a link.
    Link(fn(Vec<u8>) -> Vec<u8>),
    /// Selects the names in a directory that are found.
    List(fn(&Sandbox, &Path, &OsStr) -> bool),
    /// Replaces the content of ignore files; every directory has one, empty by default.
    Ignores(fn(&Sandbox, &Path, Vec<u8>) -> Vec<u8>),
    /// Replaces the metadata of a path.
    Stat(fn(Stat) -> Stat),
    /// Selects the paths that cannot be inspected or read.
    Fails(fn(Stat) -> bool),
    /// Replaces the permission bits of files and directories that are made or changed.
    Mode(fn(&Sandbox, &Path, u32) -> u32),
    /// Does not sync the selected paths.
    NeverSyncs(fn(&Path) -> bool),
    /// Reads files in two pieces, and mistakes two versions for one.
    ReadsInPieces,
    /// Pretends to take the selected locks of the store.
    Unlocked(fn(&Path) -> bool),
    /// Follows links on the way to a path that appeared after it was inspected.
    FollowsLinks,
}

/// The disk of an ordinary user with a fault.
pub struct FaultyDisk {
    disk: HookedDisk,
    sandbox: Sandbox,
    fault: DiskFault,
    /// The metadata of files before they were edited during a request.
    remembered: Mutex<BTreeMap<PathBuf, Stat>>,
}

impl FaultyDisk {
    /// The disk of that sandbox.
    pub fn new(sandbox: &Sandbox, fault: DiskFault) -> Self {
        let sandbox = Sandbox::adopt(sandbox.root().to_owned());
        let disk = HookedDisk::of_an_ordinary_user();
        FaultyDisk { disk, sandbox, fault, remembered: Mutex::default() }
    }

    /// The injector of this disk.
    pub fn injector(&self) -> Arc<Injector> {
        self.disk.injector()
    }

    fn read_in_pieces(&self, path: &Path) -> io::Result<(Vec<u8>, Stat)> {
        let (first, stat) = self.disk.read(path, u64::MAX)?;
        let half = first.len() / 2;
        let (second, _) = self.disk.read(path, u64::MAX)?;
        let rest = second.get(half..).unwrap_or_default();
        Ok(([&first[..half], rest].concat(), self.reported(path, stat)))
    }

    fn remembered(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Stat>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn never_syncs(&self, path: &Path) -> bool {
        matches!(self.fault, DiskFault::NeverSyncs(is_selected) if is_selected(path))
    }

    /// Makes a call, and if it fails once links may have appeared on the way to the path, follows them.
    fn following<T>(&self, path: &Path, call: impl Fn(&Path) -> io::Result<T>) -> io::Result<T> {
        let result = call(path);
        let follows = matches!(self.fault, DiskFault::FollowsLinks)
            && self.is_in_project(path)
            && self.disk.injector().happens() == Some((InjectedEvent::Hold, true));
        match path.canonicalize() {
            Ok(canonical) if follows && result.is_err() => call(&canonical),
            _ => result,
        }
    }

    fn is_in_project(&self, path: &Path) -> bool {
        !path.starts_with(self.sandbox.base())
    }

    fn check_access(&self, path: &Path) -> io::Result<()> {
        match (self.fault, SystemDisk.stat(path)) {
            (DiskFault::Fails(fails), Ok(stat)) if self.is_in_project(path) && fails(stat) => {
                Err(ErrorKind::Other.into())
            }
            _ => Ok(()),
        }
    }

    fn reported(&self, path: &Path, stat: Stat) -> Stat {
        match self.fault {
            // Nothing shows that the file has changed meanwhile.
            DiskFault::ReadsInPieces | DiskFault::FollowsLinks if self.is_in_project(path) => {
                self.metadata_before_edits(path, stat)
            }
            DiskFault::Stat(change) if self.is_in_project(path) => change(stat),
            _ => stat,
        }
    }

    /// The metadata of a path as it was before files were edited during this request.
    fn metadata_before_edits(&self, path: &Path, stat: Stat) -> Stat {
        let mut remembered = self.remembered();
        match self.disk.injector().happens() {
            Some((InjectedEvent::Hold, true)) => {
                return remembered.get(path).copied().unwrap_or(stat);
            }
            Some((InjectedEvent::Hold, false)) => drop(remembered.insert(path.to_owned(), stat)),
            _ => remembered.clear(),
        }
        stat
    }

    fn mode(&self, path: &Path, mode: u32) -> u32 {
        match self.fault {
            DiskFault::Mode(change) => change(&self.sandbox, path, mode),
            _ => mode,
        }
    }
}

/// The guard of a lock that was never taken.
struct NoLock;

impl LockGuard for NoLock {}

impl Disk for FaultyDisk {
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.check_access(path)?;
        Ok(self.reported(path, self.following(path, |path| self.disk.stat(path))?))
    }

    fn free_bytes(&self, directory: &Path) -> io::Result<u64> {
        self.disk.free_bytes(directory)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let mut names = self.following(path, |path| self.disk.list(path))?;
        if let DiskFault::List(is_found) = self.fault
            && self.is_in_project(path)
        {
            names.retain(|name| is_found(&self.sandbox, path, name));
        }
        Ok(names)
    }

    fn entries(&self, path: &Path) -> io::Result<Vec<ListedEntry>> {
        let mut entries = self.entries_one_by_one(path)?;
        let ignores = matches!(self.fault, DiskFault::Ignores(_));
        if ignores && !entries.iter().any(|(name, _)| name == ".gitignore") {
            entries.push((".gitignore".into(), Err(ErrorKind::NotFound.into())));
        }
        Ok(entries)
    }

    fn read(&self, path: &Path, limit: u64) -> io::Result<(Vec<u8>, Stat)> {
        self.check_access(path)?;
        if matches!(self.fault, DiskFault::ReadsInPieces) && self.is_in_project(path) {
            return self.read_in_pieces(path);
        }
        let read = self.following(path, |path| self.disk.read(path, limit));
        let is_missing = matches!(&read, Err(error) if error.kind() == ErrorKind::NotFound);
        match self.fault {
            DiskFault::Ignores(change) if limit == IGNORE_BYTES_MAX => {
                let (text, stat) = match read {
                    Err(_) if is_missing => {
                        (Vec::new(), self.disk.stat(path.parent().unwrap_or(path))?)
                    }
                    read => read?,
                };
                Ok((change(&self.sandbox, path, text), stat))
            }
            DiskFault::Read(change) if self.is_in_project(path) => {
                read.map(|(content, stat)| (change(path, content), stat))
            }
            _ => read.map(|(content, stat)| (content, self.reported(path, stat))),
        }
    }

    fn open_at(&self, path: &Path, offset: u64) -> io::Result<(Stream, Stat)> {
        let (content, stat) = self.read(path, u64::MAX)?;
        let mut content = Cursor::new(content);
        content.set_position(offset);
        Ok((Box::new(content), stat))
    }

    fn file_system(&self, directory: &Path) -> io::Result<u64> {
        self.disk.file_system(directory)
    }

    fn read_link(&self, path: &Path) -> io::Result<Vec<u8>> {
        let target = self.disk.read_link(path)?;
        Ok(match self.fault {
            DiskFault::Link(change) if self.is_in_project(path) => change(target),
            _ => target,
        })
    }

    fn write_new(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        if self.never_syncs(path) {
            return self.disk.write_soon(path, content, mode);
        }
        self.disk.write_new(path, content, self.mode(path, mode))
    }

    fn write_soon(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        self.disk.write_soon(path, content, self.mode(path, mode))
    }

    fn write_from(&self, path: &Path, content: &mut dyn Read, mode: u32) -> io::Result<()> {
        self.disk.write_from(path, content, self.mode(path, mode))
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        if self.never_syncs(path) { Ok(()) } else { self.disk.sync_file(path) }
    }

    fn sync_file_system(&self, path: &Path) -> io::Result<()> {
        if self.never_syncs(path) { Ok(()) } else { self.disk.sync_file_system(path) }
    }

    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.disk.append(path, content)
    }

    fn make_link(&self, target: &[u8], path: &Path) -> io::Result<()> {
        self.disk.make_link(target, path)
    }

    fn make_directory(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.disk.make_directory(path, self.mode(path, mode))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename_new(from, to)
    }

    fn exchange(&self, first: &Path, second: &Path) -> io::Result<()> {
        self.disk.exchange(first, second)
    }

    fn access_list(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        self.disk.access_list(path)
    }

    fn permit(&self, path: &Path, access: &Access) -> io::Result<()> {
        let bits = self.mode(path, access.bits);
        self.disk.permit(path, &Access { bits, ..access.clone() })
    }

    fn copy_attributes(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.copy_attributes(from, to)
    }

    fn permit_directory(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.disk.permit_directory(path, self.mode(path, mode))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_file(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_directory(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        if self.never_syncs(path) { Ok(()) } else { self.disk.sync_directory(path) }
    }

    fn try_lock(&self, path: &Path, sharing: Sharing) -> io::Result<Option<Box<dyn LockGuard>>> {
        match self.fault {
            DiskFault::Unlocked(is_ignored) if is_ignored(path) => Ok(Some(Box::new(NoLock))),
            _ => self.disk.try_lock(path, sharing),
        }
    }

    fn try_lock_bytes(
        &self,
        path: &Path,
        start: u64,
        length: u64,
    ) -> io::Result<Option<Box<dyn LockGuard>>> {
        self.disk.try_lock_bytes(path, start, length)
    }
}
