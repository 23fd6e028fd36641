//! The system's disk with a hook that runs before every call and may make the call fail, or change the disk
//! first. If there is also an injector (which carries out an injection), it runs after the hook and before
//! the call itself.

use super::{Injector, Syncs, is_torn};
use herma_core::disk::{
    Access, Birth, Disk, ListedEntry, LockGuard, ReadAt, Sharing, Stat, Stream, SystemDisk,
};
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// A call to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// [`Disk::stat`].
    Stat,
    /// [`Disk::is_mount_point`], which is true where the hook fails as busy.
    IsMountPoint,
    /// [`Disk::list`].
    List,
    /// [`Disk::open_at`] or [`Disk::open_to_read_at`].
    Read,
    /// [`Disk::free_bytes`].
    FreeBytes,
    /// [`Disk::read_link`].
    ReadLink,
    /// [`Disk::write_new`], [`Disk::write_soon`] or [`Disk::write_from`].
    WriteNew,
    /// [`Disk::append`].
    Append,
    /// [`Disk::make_link`].
    MakeLink,
    /// [`Disk::make_directory`].
    MakeDirectory,
    /// [`Disk::rename`], [`Disk::rename_new`] or [`Disk::exchange`], with the source path.
    Rename,
    /// [`Disk::permit`] or [`Disk::permit_directory`].
    Permit,
    /// [`Disk::remove_file`].
    RemoveFile,
    /// [`Disk::remove_directory`].
    RemoveDirectory,
    /// [`Disk::sync_file`] or [`Disk::sync_file_system`].
    SyncFile,
    /// [`Disk::sync_directory`].
    SyncDirectory,
    /// [`Disk::try_lock`].
    TryLock,
}

/// The function that runs before each call.
pub type Hook = dyn Fn(Call, &Path) -> io::Result<()> + Send + Sync;

/// The file system of this machine, with a hook.
pub struct HookedDisk {
    hook: Option<Box<Hook>>,
    exchanges: bool,
    refuses_unreadable: bool,
    is_for_many_threads: bool,
    injector: Arc<Injector>,
}

impl HookedDisk {
    /// A disk on which `hook` runs before each call; an error of the hook becomes the error of the call.
    pub fn new(hook: impl Fn(Call, &Path) -> io::Result<()> + Send + Sync + 'static) -> Self {
        HookedDisk { hook: Some(Box::new(hook)), ..HookedDisk::unhooked() }
    }

    fn unhooked() -> Self {
        HookedDisk {
            hook: None,
            exchanges: true,
            refuses_unreadable: false,
            is_for_many_threads: false,
            injector: Arc::default(),
        }
    }

    /// The same disk, but like a file system that cannot exchange two names or rename without overwriting.
    pub fn without_exchange(self) -> Self {
        HookedDisk { exchanges: false, ..self }
    }

    /// The same disk, but called by several threads, so that the order of its calls is not always the same.
    pub fn for_many_threads(self) -> Self {
        HookedDisk { is_for_many_threads: true, ..self }
    }

    /// The injector of this disk.
    pub fn injector(&self) -> Arc<Injector> {
        self.injector.clone()
    }

    fn require_exchange(&self) -> io::Result<()> {
        if self.exchanges { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
    }

    /// A disk that refuses unreadable files to everyone. The system lets root read every file, so a
    /// run as root would never see an unreadable one.
    pub fn of_an_ordinary_user() -> Self {
        HookedDisk { refuses_unreadable: true, ..HookedDisk::unhooked() }
    }

    /// What an ordinary user gets instead of this result of a read; `mode` finds the permissions of what was
    /// read.
    fn as_permitted<T>(
        &self,
        read: io::Result<T>,
        mode: impl FnOnce(&io::Result<T>) -> io::Result<u32>,
    ) -> io::Result<T> {
        let is_missing = read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        let is_checked = self.refuses_unreadable && !is_missing;
        if is_checked && mode(&read).is_ok_and(|mode| mode & 0o400 == 0) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        read
    }

    fn run_hook(&self, call: Call, path: &Path) -> io::Result<()> {
        self.hook.as_ref().map_or(Ok(()), |hook| hook(call, path))
    }

    /// Makes a call that does not make anything durable.
    fn call<T>(
        &self,
        call: Call,
        path: &Path,
        operation: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        self.syncing(Syncs::Nothing, call, path, operation)
    }

    fn syncing<T>(
        &self,
        syncs: Syncs,
        call: Call,
        path: &Path,
        operation: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        self.run_hook(call, path)?;
        self.injector.before(call, path)?;
        let result = operation()?;
        self.injector.after(path, syncs)?;
        Ok(result)
    }

    /// Writes a new file; a process that is killed half-way leaves half of the file.
    fn write(&self, syncs: Syncs, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        let written = self.syncing(syncs, Call::WriteNew, path, || match syncs {
            Syncs::Nothing => SystemDisk.write_soon(path, content, mode),
            _ => SystemDisk.write_new(path, content, mode),
        });
        if written.as_ref().is_err_and(is_torn) {
            SystemDisk.write_soon(path, &content[..content.len() / 2], 0o600)?;
        }
        written
    }
}

impl Disk for HookedDisk {
    fn is_for_many_threads(&self) -> bool {
        self.is_for_many_threads
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.call(Call::Stat, path, || SystemDisk.stat(path))
    }

    fn birth(&self, path: &Path) -> Option<Birth> {
        SystemDisk.birth(path)
    }

    fn is_mount_point(&self, path: &Path) -> bool {
        let refused = self.run_hook(Call::IsMountPoint, path);
        refused.is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        self.call(Call::List, path, || self.as_permitted(SystemDisk.list(path), |_| mode_of(path)))
    }

    fn entries(&self, path: &Path) -> io::Result<Vec<ListedEntry>> {
        if self.hook.is_none() && !self.injector.is_armed() {
            return self.as_permitted(SystemDisk.entries(path), |_| mode_of(path));
        }
        // Whatever happens at one of these calls happens before that call.
        self.entries_one_by_one(path)
    }

    fn open_to_read_at(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        self.call(Call::Read, path, || {
            self.as_permitted(SystemDisk.open_to_read_at(path), |_| mode_of(path))
        })
    }

    fn open_at(&self, path: &Path, offset: u64) -> io::Result<(Stream, Stat)> {
        let mode = |opened: &io::Result<(Stream, Stat)>| match opened {
            Ok((_, stat)) => Ok(stat.mode),
            Err(_) => Ok(SystemDisk.stat(path)?.mode),
        };
        self.call(Call::Read, path, || self.as_permitted(SystemDisk.open_at(path, offset), mode))
    }

    fn file_system(&self, directory: &Path) -> io::Result<u64> {
        self.call(Call::Stat, directory, || SystemDisk.file_system(directory))
    }

    fn free_bytes(&self, directory: &Path) -> io::Result<u64> {
        self.call(Call::FreeBytes, directory, || SystemDisk.free_bytes(directory))
    }

    fn read_link(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.call(Call::ReadLink, path, || SystemDisk.read_link(path))
    }

    fn write_new(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        self.write(Syncs::Path, path, content, mode)
    }

    fn write_soon(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        self.write(Syncs::Nothing, path, content, mode)
    }

    fn write_from(&self, path: &Path, content: &mut dyn Read, mode: u32) -> io::Result<()> {
        self.call(Call::WriteNew, path, || SystemDisk.write_from(path, content, mode))
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.syncing(Syncs::Path, Call::SyncFile, path, || SystemDisk.sync_file(path))
    }

    fn sync_file_system(&self, path: &Path) -> io::Result<()> {
        let sync = || SystemDisk.sync_file_system(path);
        self.syncing(Syncs::Everything, Call::SyncFile, path, sync)
    }

    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let appended = self.call(Call::Append, path, || SystemDisk.append(path, content));
        if appended.as_ref().is_err_and(is_torn) {
            SystemDisk.append(path, &content[..content.len() / 2])?;
        }
        appended
    }

    fn make_link(&self, target: &[u8], path: &Path) -> io::Result<()> {
        self.call(Call::MakeLink, path, || SystemDisk.make_link(target, path))
    }

    fn make_directory(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.call(Call::MakeDirectory, path, || SystemDisk.make_directory(path, mode))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call(Call::Rename, from, || SystemDisk.rename(from, to))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.require_exchange()?;
        self.call(Call::Rename, from, || SystemDisk.rename_new(from, to))
    }

    fn exchange(&self, left: &Path, right: &Path) -> io::Result<()> {
        self.require_exchange()?;
        self.call(Call::Rename, left, || SystemDisk.exchange(left, right))
    }

    fn access_list(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        self.call(Call::Stat, path, || SystemDisk.access_list(path))
    }

    fn permit(&self, path: &Path, access: &Access) -> io::Result<()> {
        self.call(Call::Permit, path, || SystemDisk.permit(path, access))
    }

    fn copy_attributes(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call(Call::Stat, from, || SystemDisk.copy_attributes(from, to))
    }

    fn permit_directory(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.call(Call::Permit, path, || SystemDisk.permit_directory(path, mode))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.call(Call::RemoveFile, path, || SystemDisk.remove_file(path))
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.call(Call::RemoveDirectory, path, || SystemDisk.remove_directory(path))
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.syncing(Syncs::Path, Call::SyncDirectory, path, || SystemDisk.sync_directory(path))
    }

    fn try_lock(&self, path: &Path, sharing: Sharing) -> io::Result<Option<Box<dyn LockGuard>>> {
        self.call(Call::TryLock, path, || SystemDisk.try_lock(path, sharing))
    }

    fn try_lock_bytes(
        &self,
        path: &Path,
        start: u64,
        length: u64,
    ) -> io::Result<Option<Box<dyn LockGuard>>> {
        self.call(Call::TryLock, path, || SystemDisk.try_lock_bytes(path, start, length))
    }
}

fn mode_of(path: &Path) -> io::Result<u32> {
    Ok(std::fs::symlink_metadata(path)?.mode())
}
