//! Access to the disk: this crate reads and writes every file through [`Disk`], so that a test can
//! make any step fail. Only stored git objects are read by libgit2 itself.
//!
//! No method follows a symbolic link in the last component of a path. What needs several of these
//! calls, for any file or folder, is in the modules below.

pub(crate) mod atomic_write;
pub(crate) mod folder;

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
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

impl From<&fs::Metadata> for Stat {
    fn from(metadata: &fs::Metadata) -> Self {
        let kind = metadata.file_type();
        let kind = if kind.is_file() {
            Kind::File
        } else if kind.is_dir() {
            Kind::Directory
        } else if kind.is_symlink() {
            Kind::Link
        } else {
            Kind::Special
        };
        Stat {
            kind,
            mode: metadata.mode() & 0o7777,
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            device: metadata.dev(),
            inode: metadata.ino(),
            user: metadata.uid(),
            group: metadata.gid(),
        }
    }
}

/// Whether an error is about this one path, which can be left out: there is no permission, it
/// became something else, or it keeps changing. Any other error means that the disk fails.
pub(crate) fn is_unreadable(error: &io::Error) -> bool {
    use io::ErrorKind::{
        InvalidFilename, InvalidInput, NotADirectory, PermissionDenied, ResourceBusy,
    };
    // Links and sockets fail to open with codes of their own.
    let became_another = matches!(error.raw_os_error(), Some(libc::ELOOP | libc::ENXIO));
    became_another
        || matches!(
            error.kind(),
            InvalidFilename | InvalidInput | NotADirectory | PermissionDenied | ResourceBusy
        )
}

/// Whether an error says that nothing is at a path, rather than that it could not be seen.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
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

/// Everything this crate asks of a file system.
pub trait Disk: Send + Sync {
    /// What is at `path` itself: a link is not followed.
    fn stat(&self, path: &Path) -> io::Result<Stat>;
    /// The names in a directory, sorted.
    fn list(&self, path: &Path) -> io::Result<Vec<OsString>>;
    /// At most `limit` bytes of a regular file, and what it was when it was opened.
    fn read(&self, path: &Path, limit: u64) -> io::Result<(Vec<u8>, Stat)>;
    /// What a symbolic link points at.
    fn read_link(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// Writes a new file and waits until it is durable; fails where something is already, which it
    /// leaves alone, and leaves nothing of its own where it fails.
    fn write_new(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()>;
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
    /// Sets the permission bits of a file.
    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()>;
    /// Removes a file or link.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_directory(&self, path: &Path) -> io::Result<()>;
    /// Waits until the entries of a directory are durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
    /// Takes the lock on `path`, an existing or new empty file; none if another holds it.
    fn try_lock(&self, path: &Path, sharing: Sharing) -> io::Result<Option<Box<dyn LockGuard>>>;
}

/// Neither follows a link nor waits for the writer of a fifo: a file may have become one since its
/// stat.
const STRICT: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK;

/// The file system of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemDisk;

fn rename_with(from: &Path, to: &Path, flags: RenameFlags) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, flags) {
        // A file system that does not know the flag says that it is invalid.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            Err(io::ErrorKind::Unsupported.into())
        }
        renamed => Ok(renamed?),
    }
}

impl Disk for SystemDisk {
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        fs::symlink_metadata(path).map(|metadata| Stat::from(&metadata))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            names.push(entry?.file_name());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn read(&self, path: &Path, limit: u64) -> io::Result<(Vec<u8>, Stat)> {
        let mut file = OpenOptions::new().read(true).custom_flags(STRICT).open(path)?;
        let stat = Stat::from(&file.metadata()?);
        if stat.kind != Kind::File {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let mut content = Vec::with_capacity(stat.size.min(limit) as usize);
        Read::by_ref(&mut file).take(limit).read_to_end(&mut content)?;
        Ok((content, stat))
    }

    fn read_link(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read_link(path).map(|target| target.into_os_string().into_vec())
    }

    fn write_new(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        let written = file.write_all(content).and_then(|()| file.sync_all());
        if written.is_err() {
            // Half a file is useless, and that it stays would be no further harm.
            let _ = fs::remove_file(path);
        }
        written
    }

    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let options = options.append(true).create(true).mode(0o600).custom_flags(STRICT);
        options.open(path)?.write_all(content)
    }

    fn make_link(&self, target: &[u8], path: &Path) -> io::Result<()> {
        std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(target), path)
    }

    fn make_directory(&self, path: &Path, mode: u32) -> io::Result<()> {
        fs::DirBuilder::new().mode(mode).create(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        rename_with(from, to, RenameFlags::NOREPLACE)
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        rename_with(one, other, RenameFlags::EXCHANGE)
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn try_lock(&self, path: &Path, sharing: Sharing) -> io::Result<Option<Box<dyn LockGuard>>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)?;
        let taken = match sharing {
            Sharing::Shared => file.try_lock_shared(),
            Sharing::Exclusive => file.try_lock(),
        };
        match taken {
            Ok(()) => Ok(Some(Box::new(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
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
    fn nothing_is_read_or_appended_through_a_link_or_a_fifo() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, fifo] = ["file", "link", "fifo"].map(|name| folder.path().join(name));
        fs::write(&file, "one").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        for path in [&link, &fifo] {
            let read = SystemDisk.read(path, 10).unwrap_err();
            assert!(is_unreadable(&read), "{path:?}: {read}");
            SystemDisk.append(path, b"two").unwrap_err();
        }
        SystemDisk.append(&file, b"two").unwrap();
        assert_eq!(SystemDisk.read(&file, 4).unwrap().0, b"onet");
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
