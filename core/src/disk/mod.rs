//! Access to the disk: this crate reads and writes every file through [`Disk`], so that a test can
//! make any step fail.
//!
//! No method follows a symbolic link in any component of a path: callers that must follow links
//! resolve the canonical path first. Operations that need several of these calls are in the modules
//! below.

pub(crate) mod atomic_write;
#[cfg(target_os = "linux")]
mod attributes;
mod canonical;
pub(crate) mod folder;
mod owner;
pub(crate) mod parallel;
mod place;
mod system;

pub use system::SystemDisk;

pub(crate) use crate::io_error::{is_absence, is_another_kind, is_unreadable};
pub(crate) use canonical::canonical;

use rustix::fs::{FileType, OFlags, RawMode};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Does not wait for the writer of a fifo: a file may have become one since its stat.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK);

/// The kind of file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A fifo, socket or device.
    Special,
}

/// The stat data of a path, as the file system reports it without opening the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The kind of file.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// Size in bytes.
    pub size: u64,
    /// When the content changed last: seconds and nanoseconds since the epoch.
    pub modified: (i64, i64),
    /// When the inode changed last: seconds and nanoseconds since the epoch.
    pub changed: (i64, i64),
    /// The device it is on.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
    /// Its owner.
    pub user: u32,
    /// Its group.
    pub group: u32,
}

/// What identifies a file or directory under any name and whatever it contains: its inode, and when it was made,
/// since inodes are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Birth {
    /// Its inode.
    pub inode: u64,
    /// When it was made: seconds and nanoseconds since the epoch.
    pub made: (i64, u32),
}

/// More than the resolution of the coarsest timestamps in use, 2 seconds.
const OTHER_CLOCK_SECONDS: i64 = 3;

impl Stat {
    /// Whether the owner may execute it.
    pub fn executable(&self) -> bool {
        self.mode & 0o100 != 0
    }

    /// Device and inode, which identify a file or directory regardless of its name.
    pub fn identity(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// Whether this file was last changed in an earlier clock tick than the one in which `clock`, a new
    /// file, was made. On another device, whose clock may be coarser or a little off, it must have been
    /// changed seconds earlier.
    pub fn is_settled_before(&self, clock: &Stat) -> bool {
        let last = self.modified.max(self.changed);
        if self.device == clock.device {
            last < clock.modified
        } else {
            last.0 + OTHER_CLOCK_SECONDS < clock.modified.0
        }
    }
}

#[expect(clippy::unnecessary_cast, reason = "the fields have other types on other systems")]
impl From<&rustix::fs::Stat> for Stat {
    fn from(stat: &rustix::fs::Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode as RawMode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Link,
            _ => Kind::Special,
        };
        Stat {
            kind,
            mode: (stat.st_mode & 0o7777) as u32,
            size: stat.st_size as u64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            user: stat.st_uid,
            group: stat.st_gid,
        }
    }
}

/// At most `limit` bytes of a stream of about `size` bytes.
fn content(stream: impl Read, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    // A stated size may exceed the memory; a failed allocation would end the process.
    content.try_reserve(size.min(limit) as usize)?;
    stream.take(limit).read_to_end(&mut content)?;
    Ok(content)
}

/// Whether two paths lead to the same file or directory, also if it is mounted at both.
pub(crate) fn is_same(disk: &dyn Disk, left: &Path, right: &Path) -> bool {
    let identity = |path| disk.stat(path).ok().map(|stat| stat.identity());
    identity(left).is_some_and(|left| identity(right) == Some(left))
}

/// The permissions of a file or directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The permission bits.
    pub bits: u32,
    /// The group that they are about; `None` if unknown.
    pub group: Option<u32>,
    /// The access list, if there is one.
    pub list: Option<Vec<u8>>,
}

/// The permission bits without those for the group that not everybody has: what remains of the bits if
/// the file gets another group.
pub(crate) fn of_any_group(bits: u32) -> u32 {
    bits & !0o070 | bits & (bits & 0o007) << 3
}

/// How a lock is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Any number of holders.
    Shared,
    /// One holder only.
    Exclusive,
}

/// Holds a lock until it is dropped, or its process dies.
pub trait LockGuard: Send {}

impl LockGuard for File {}

/// A name in a directory, and its stat or why it cannot be read.
pub type ListedEntry = (OsString, io::Result<Stat>);

/// A stream of the bytes of a file.
pub type Stream = Box<dyn Read>;

/// A regular file that stays open, and is read at any position.
pub trait ReadAt: Send + Sync {
    /// Reads bytes from `offset` on, at most as many as fit, and returns how many; 0 at the end of the file.
    ///
    /// # Errors
    /// The file cannot be read.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        (&self[start..]).read(buffer)
    }
}

/// The operations of a file system that this crate needs.
pub trait Disk: Send + Sync {
    /// Whether several threads should share long work on it. The calls of a disk that counts them, or lets one
    /// fail, must come in the same order each time.
    fn is_for_many_threads(&self) -> bool {
        false
    }
    /// The stat of `path` itself: no link is followed, and none on the way to it.
    fn stat(&self, path: &Path) -> io::Result<Stat>;
    /// When the directory at `path` was made; `None` if the system does not tell.
    fn birth(&self, path: &Path) -> Option<Birth> {
        let _ = path;
        None
    }
    /// Whether another file or directory is mounted at `path`, as far as the system tells: it cannot be replaced.
    fn is_mount_point(&self, path: &Path) -> bool {
        let _ = path;
        false
    }
    /// The names in a directory, sorted.
    fn list(&self, path: &Path) -> io::Result<Vec<OsString>>;
    /// The names in a directory, sorted, with their stats.
    fn entries(&self, path: &Path) -> io::Result<Vec<ListedEntry>> {
        self.entries_one_by_one(path)
    }
    /// As [`Disk::entries`], with a call for each name.
    fn entries_one_by_one(&self, path: &Path) -> io::Result<Vec<ListedEntry>> {
        let with_stat = |name: OsString| {
            let stat = self.stat(&path.join(&name));
            (name, stat)
        };
        Ok(self.list(path)?.into_iter().map(with_stat).collect())
    }
    /// A stream of the bytes of a regular file from `offset` on, and its stat when it was opened.
    fn open_at(&self, path: &Path, offset: u64) -> io::Result<(Stream, Stat)>;
    /// A regular file to read at many positions.
    fn open_to_read_at(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(self.read(path, u64::MAX)?.0))
    }
    /// A stream of all bytes of a regular file, and its stat when it was opened.
    fn open(&self, path: &Path) -> io::Result<(Stream, Stat)> {
        self.open_at(path, 0)
    }
    /// At most `limit` bytes of a regular file, and its stat when it was opened.
    fn read(&self, path: &Path, limit: u64) -> io::Result<(Vec<u8>, Stat)> {
        let (stream, stat) = self.open(path)?;
        Ok((content(stream, stat.size, limit)?, stat))
    }
    /// As [`Disk::read`]; `None` if the file changed or was replaced while it was read.
    fn read_unchanged(&self, path: &Path, limit: u64) -> io::Result<Option<(Vec<u8>, Stat)>> {
        let (content, before) = self.read(path, limit)?;
        Ok((self.stat(path)? == before).then_some((content, before)))
    }
    /// The id of the file system of a directory, which distinguishes it from other file systems with the
    /// same device number; 0 if it has none.
    fn file_system(&self, directory: &Path) -> io::Result<u64>;
    /// Free bytes for this user on the file system of a directory.
    fn free_bytes(&self, directory: &Path) -> io::Result<u64>;
    /// The target of a symbolic link.
    fn read_link(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// Writes a new file with exactly these permission bits and waits until it is durable; until then
    /// only its owner may read it. Fails if anything exists at `path`, which stays as it is, and leaves
    /// no partial file when it fails.
    fn write_new(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()>;
    /// As [`Disk::write_new`], without waiting until the file is durable.
    fn write_soon(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()>;
    /// As [`Disk::write_soon`], with content from a stream of any length.
    fn write_from(&self, path: &Path, content: &mut dyn Read, mode: u32) -> io::Result<()>;
    /// Waits until the content of a file is durable.
    fn sync_file(&self, path: &Path) -> io::Result<()>;
    /// As [`Disk::sync_file`] for several files, which may be faster than one after the other.
    fn sync_files(&self, paths: &[&Path]) -> io::Result<()> {
        paths.iter().try_for_each(|path| self.sync_file(path))
    }
    /// Waits until everything on the file system of a file is durable.
    fn sync_file_system(&self, path: &Path) -> io::Result<()>;
    /// Appends to an existing or new file, in one step and without waiting until that is durable.
    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// Makes a symbolic link.
    fn make_link(&self, target: &[u8], path: &Path) -> io::Result<()>;
    /// Makes one directory, whose parent exists.
    fn make_directory(&self, path: &Path, mode: u32) -> io::Result<()>;
    /// Moves a file or link to `to` in one step, replacing an existing file or link, or a directory to
    /// a path that does not exist.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// As [`Disk::rename`], but fails as *already existing* if anything exists at `to`, and as
    /// *unsupported* if the file system cannot check that.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Swaps two names in one step; fails as *unsupported* if the file system cannot.
    fn exchange(&self, left: &Path, right: &Path) -> io::Result<()>;
    /// The access list of a file, as the system returns it; `None` if it has only permission bits.
    fn access_list(&self, path: &Path) -> io::Result<Option<Vec<u8>>>;
    /// Sets the group of a file or directory that was just made, then its access list, then its
    /// permission bits. If one of these cannot be set, the next ones are not set: the bits would give
    /// access to others.
    fn permit(&self, path: &Path, access: &Access) -> io::Result<()>;
    /// Gives a file that was just made the extended attributes that stay with the path of another file, such as
    /// those of users, as far as this process may set them.
    fn copy_attributes(&self, from: &Path, to: &Path) -> io::Result<()> {
        let _ = (from, to);
        Ok(())
    }
    /// Gives a file that was just made to that group, if this process may, and to that user, if it is root:
    /// otherwise, and if it fails, it stays.
    fn give(&self, path: &Path, user: u32, group: u32) {
        let _ = (path, user, group);
    }
    /// Sets the permission bits of a directory.
    fn permit_directory(&self, path: &Path, mode: u32) -> io::Result<()>;
    /// Removes a file or link.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_directory(&self, path: &Path) -> io::Result<()>;
    /// Waits until the entries of a directory are durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
    /// Takes the lock on `path`, a directory, or an existing or new empty file; `None` if another
    /// process holds it.
    fn try_lock(&self, path: &Path, sharing: Sharing) -> io::Result<Option<Box<dyn LockGuard>>>;
    /// Takes the `fcntl` write lock on a range of bytes of an existing file, which may be shorter; a
    /// `length` of 0 means all following bytes. `None` if another process holds a lock on any of them;
    /// *unsupported* if the system has no such lock for a handle.
    fn try_lock_bytes(
        &self,
        path: &Path,
        start: u64,
        length: u64,
    ) -> io::Result<Option<Box<dyn LockGuard>>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(device: u64, seconds: i64, nanoseconds: i64) -> Stat {
        let time = (seconds, nanoseconds);
        Stat {
            kind: Kind::File,
            mode: 0o644,
            size: 1,
            modified: time,
            changed: time,
            device,
            inode: 1,
            user: 0,
            group: 0,
        }
    }

    #[test]
    fn of_any_group_keeps_of_the_group_bits_only_what_everybody_has() {
        for (bits, kept) in [(0o660, 0o600), (0o664, 0o644), (0o750, 0o700), (0o755, 0o755)] {
            assert_eq!(of_any_group(bits), kept, "{bits:o}");
        }
    }

    #[test]
    fn is_settled_before_holds_once_the_clock_of_the_file_has_advanced() {
        let clock = stat(1, 100, 500);
        assert!(stat(1, 100, 499).is_settled_before(&clock));
        assert!(!stat(1, 100, 500).is_settled_before(&clock));
        // On a device with times in whole seconds, a later change may have the same time.
        assert!(!stat(2, 100, 0).is_settled_before(&clock));
        assert!(!stat(2, 97, 0).is_settled_before(&clock));
        assert!(stat(2, 96, 0).is_settled_before(&clock));
    }
}
