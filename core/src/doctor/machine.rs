//! Queries of the system that are not part of [`crate::disk::Disk`]: the user of this process, what it
//! may write, and the free space.

use rustix::fs::{Access, AtFlags, CWD, accessat, statvfs};
use std::io;
use std::path::Path;

/// The free space on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes that a user without privileges may still write.
    pub bytes: u64,
    /// Files that may still be made; `None` if the file system has no such limit.
    pub files: Option<u64>,
}

/// Queries of the system other than those of files.
pub trait Machine {
    /// The number of the user whose permissions this process has.
    fn user(&self) -> u32;
    /// Whether this process may make and remove entries of a directory; if not, the error it would get.
    fn may_write(&self, directory: &Path) -> io::Result<()>;
    /// The free space on the file system of `path`.
    fn space(&self, path: &Path) -> io::Result<Space>;
}

/// This machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemMachine;

impl Machine for SystemMachine {
    fn user(&self) -> u32 {
        rustix::process::geteuid().as_raw()
    }

    fn may_write(&self, directory: &Path) -> io::Result<()> {
        let access = Access::WRITE_OK | Access::EXEC_OK;
        Ok(accessat(CWD, directory, access, AtFlags::EACCESS)?)
    }

    fn space(&self, path: &Path) -> io::Result<Space> {
        let found = statvfs(path)?;
        // Some file systems have no fixed number of files, and report 0.
        let files = (found.f_files > 0).then_some(found.f_favail);
        Ok(Space { bytes: found.f_bavail.saturating_mul(found.f_frsize), files })
    }
}
