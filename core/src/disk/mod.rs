//! Access to the disk: this crate reads and writes every file through [`Disk`], so that a test can
//! make any step fail.
//!
//! No method follows a symbolic link, in any component of a path: what must follow one asks for the
//! canonical path first. What needs several of these calls, for any file or folder, is in the
//! modules below.

pub(crate) mod atomic_write;
mod canonical;
pub(crate) mod folder;
mod place;
mod system;

pub use system::SystemDisk;

pub(crate) use crate::io_error::{is_absence, is_another_kind, is_unreadable};
pub(crate) use canonical::canonical;

use rustix::fs::{FileType, RawMode};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// What is at a path.
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

/// What the file system knows about a path without opening it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// Bytes.
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

/// More than the resolution of the coarsest timestamps in use, 2 seconds.
const OTHER_CLOCK_SECONDS: i64 = 3;

impl Stat {
    /// Whether the owner may execute it.
    pub fn executable(&self) -> bool {
        self.mode & 0o100 != 0
    }

    /// What tells one file or directory from every other one, whatever its name: device and inode.
    pub fn identity(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// Whether this file was last changed in an earlier tick of its clock than `clock`, a file
    /// just made. On another device, whose clock may be coarser or a little off, it must have been
    /// seconds earlier.
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

/// Whether two paths lead to one thing, also where that is mounted at both.
pub(crate) fn is_same(disk: &dyn Disk, one: &Path, other: &Path) -> bool {
    let identity = |path| disk.stat(path).ok().map(|stat| stat.identity());
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

/// Who may do what with a file or directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The permission bits.
    pub bits: u32,
    /// The group that they are about; none where that is not known.
    pub group: Option<u32>,
    /// The access list, where there is one.
    pub list: Option<Vec<u8>>,
}

/// Permission bits that give a group nothing that not everybody has: what is left of them in another
/// group.
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

/// A name in a directory, and what it is, if that can be seen.
pub type Entry = (OsString, io::Result<Stat>);

/// The bytes of a file, one after the other.
pub type Stream = Box<dyn Read>;

/// Everything this crate asks of a file system.
pub trait Disk: Send + Sync {
    /// What is at `path` itself: a link is not followed.
    fn stat(&self, path: &Path) -> io::Result<Stat>;
    /// The names in a directory, sorted.
    fn list(&self, path: &Path) -> io::Result<Vec<OsString>>;
    /// The names in a directory, sorted, with what each is.
    fn entries(&self, path: &Path) -> io::Result<Vec<Entry>> {
        let with_stat = |name: OsString| {
            let stat = self.stat(&path.join(&name));
            (name, stat)
        };
        Ok(self.list(path)?.into_iter().map(with_stat).collect())
    }
    /// The bytes of a regular file from the one at `offset` on, to be read one after the other, and
    /// what it was when it was opened.
    fn open_at(&self, path: &Path, offset: u64) -> io::Result<(Stream, Stat)>;
    /// All its bytes.
    fn open(&self, path: &Path) -> io::Result<(Stream, Stat)> {
        self.open_at(path, 0)
    }
    /// At most `limit` bytes of a regular file, and what it was when it was opened.
    fn read(&self, path: &Path, limit: u64) -> io::Result<(Vec<u8>, Stat)> {
        let (stream, stat) = self.open(path)?;
        let mut content = Vec::new();
        // A size may be more than there is memory for, which would end the process.
        content.try_reserve(stat.size.min(limit) as usize)?;
        stream.take(limit).read_to_end(&mut content)?;
        Ok((content, stat))
    }
    /// What tells the file system of a directory from others that were mounted under the same number;
    /// 0 where nothing does.
    fn file_system(&self, directory: &Path) -> io::Result<u64>;
    /// Bytes that are free to its user on the file system of a directory.
    fn free_bytes(&self, directory: &Path) -> io::Result<u64>;
    /// What a symbolic link points at.
    fn read_link(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// Writes a new file with exactly these permission bits and waits until it is durable; only its
    /// owner may read it before. Fails where something is already, which it leaves alone, and leaves
    /// nothing of its own where it fails.
    fn write_new(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()>;
    /// The same without waiting until it is durable.
    fn write_soon(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()>;
    /// The same of what is read from a stream, however much that is.
    fn write_from(&self, path: &Path, content: &mut dyn Read, mode: u32) -> io::Result<()>;
    /// Waits until what a file holds is durable.
    fn sync_file(&self, path: &Path) -> io::Result<()>;
    /// Waits until all is durable on the file system that this file is on.
    fn sync_file_system(&self, path: &Path) -> io::Result<()>;
    /// Adds to the end of a file, an existing or new empty one, in one step and without waiting
    /// until that is durable.
    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// Makes a symbolic link.
    fn make_link(&self, target: &[u8], path: &Path) -> io::Result<()>;
    /// Makes one directory; its parent is there.
    fn make_directory(&self, path: &Path, mode: u32) -> io::Result<()>;
    /// Moves a file or link onto `to` in one step, replacing what is there, or a directory to where
    /// nothing is.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Renames where nothing is at `to`; fails as *already existing* where something is, and as
    /// *unsupported* where the file system cannot tell.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Lets two names change places in one step; *unsupported* where the file system cannot.
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()>;
    /// The access list of a file, as the system gives it; none where it has permission bits alone.
    fn access_list(&self, path: &Path) -> io::Result<Option<Vec<u8>>>;
    /// Gives a file or directory that was made just now to the group that it is to have, with its access
    /// list, and then its permission bits. Where it cannot get one of these it stays as it is: the bits
    /// would let others in.
    fn permit(&self, path: &Path, access: &Access) -> io::Result<()>;
    /// Sets the permission bits of a directory.
    fn permit_directory(&self, path: &Path, mode: u32) -> io::Result<()>;
    /// Removes a file or link.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_directory(&self, path: &Path) -> io::Result<()>;
    /// Waits until the entries of a directory are durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
    /// Takes the lock on `path`, a directory, or an existing or new empty file; none if another
    /// holds it.
    fn try_lock(&self, path: &Path, sharing: Sharing) -> io::Result<Option<Box<dyn LockGuard>>>;
    /// Takes the write lock that processes agree on by `fcntl` on some bytes of an existing file, which it
    /// may have or not; of all that follow where `length` is 0. None if another process holds one on any
    /// of them; *unsupported* where the system has no such lock that belongs to a handle.
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
    fn what_everybody_may_is_left_of_what_a_group_may() {
        for (bits, left) in [(0o660, 0o600), (0o664, 0o644), (0o750, 0o700), (0o755, 0o755)] {
            assert_eq!(of_any_group(bits), left, "{bits:o}");
        }
    }

    #[test]
    fn a_file_is_settled_once_its_clock_has_moved_on() {
        let clock = stat(1, 100, 500);
        assert!(stat(1, 100, 499).is_settled_before(&clock));
        assert!(!stat(1, 100, 500).is_settled_before(&clock));
        // A device that stamps whole seconds may stamp another change the same.
        assert!(!stat(2, 100, 0).is_settled_before(&clock));
        assert!(!stat(2, 97, 0).is_settled_before(&clock));
        assert!(stat(2, 96, 0).is_settled_before(&clock));
    }
}
