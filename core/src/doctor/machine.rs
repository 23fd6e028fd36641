//! What the system knows and no [`crate::disk::Disk`] is asked for: who runs this process, what it may
//! write, and how much is free.

use rustix::fs::{Access, AtFlags, CWD, accessat, statvfs};
use std::io;
use std::path::Path;

/// What is free on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes that a user without privileges may still write.
    pub bytes: u64,
    /// Files that may still be made; none where the file system has no such limit.
    pub files: Option<u64>,
}

/// What a system knows beside the files.
pub trait Machine {
    /// The number of the user whose permissions this process has.
    fn user(&self) -> u32;
    /// Whether this process may make and remove entries of a directory: the error that it would get.
    fn may_write(&self, directory: &Path) -> io::Result<()>;
    /// What is free where `path` is.
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
        let wanted = Access::WRITE_OK | Access::EXEC_OK;
        Ok(accessat(CWD, directory, wanted, AtFlags::EACCESS)?)
    }

    fn space(&self, path: &Path) -> io::Result<Space> {
        let found = statvfs(path)?;
        // Some have no fixed number of files, and say that it is 0.
        let files = (found.f_files > 0).then_some(found.f_favail);
        Ok(Space { bytes: found.f_bavail.saturating_mul(found.f_frsize), files })
    }
}
