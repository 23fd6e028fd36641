//! A disk on which a missing right to read is felt by everyone.
//!
//! The system lets root read every file, so that a test run as root would never see an unreadable
//! one. This disk looks at the permission bits itself.

use herma_core::disk::{Disk, Held, Sharing, Stat, SystemDisk};
use std::ffi::OsString;
use std::io;
use std::path::Path;

/// The file system of this machine as an ordinary user sees it.
#[derive(Clone, Copy, Debug, Default)]
pub struct OrdinaryUserDisk;

const OWNER_READS: u32 = 0o400;

impl Disk for OrdinaryUserDisk {
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        SystemDisk.stat(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        if SystemDisk.stat(path)?.mode & OWNER_READS == 0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        SystemDisk.list(path)
    }

    fn read(&self, path: &Path, limit: u64) -> io::Result<(Vec<u8>, Stat)> {
        let read = SystemDisk.read(path, limit)?;
        if read.1.mode & OWNER_READS == 0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(read)
    }

    fn read_link(&self, path: &Path) -> io::Result<Vec<u8>> {
        SystemDisk.read_link(path)
    }

    fn write_new(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        SystemDisk.write_new(path, content, mode)
    }

    fn make_link(&self, target: &[u8], path: &Path) -> io::Result<()> {
        SystemDisk.make_link(target, path)
    }

    fn make_directory(&self, path: &Path, mode: u32) -> io::Result<()> {
        SystemDisk.make_directory(path, mode)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        SystemDisk.rename(from, to)
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        SystemDisk.set_mode(path, mode)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        SystemDisk.remove_file(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        SystemDisk.remove_directory(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        SystemDisk.sync_directory(path)
    }

    fn try_lock(&self, path: &Path, sharing: Sharing) -> io::Result<Option<Box<dyn Held>>> {
        SystemDisk.try_lock(path, sharing)
    }
}
