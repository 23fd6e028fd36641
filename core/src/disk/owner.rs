//! Who owns what root makes: the owner of the folder that it is made in, as if that user had made it. An agent that
//! runs as root in a container works on files of a user, who must be able to write them afterwards.
//!
//! Nothing here fails: what cannot be given to anybody stays root's, and only root gives anything away.

use super::place;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, FileType, Mode, OFlags, RawDir, Stat, Uid};
use std::ffi::OsStr;
use std::path::Path;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Gives a file that was just made in that folder to the owner of the folder.
pub fn give_file(folder: &OwnedFd, file: impl AsFd) {
    if is_root()
        && let Ok(Stat { st_uid, .. }) = fs::fstat(folder)
        && st_uid != 0
    {
        let _ = fs::fchown(file, Some(Uid::from_raw(st_uid)), None);
    }
}

/// As [`give_file`], for a directory, which is empty still: another one may have taken its place.
pub fn give_directory(folder: &OwnedFd, name: &OsStr) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if is_root()
        && let Ok(made) = fs::openat(folder, name, flags, Mode::empty())
        && is_empty(&made)
    {
        give_file(folder, made);
    }
}

/// Gives a file that was just made, and that no other name leads to, to that user.
pub fn give_to(path: &Path, user: u32) {
    if is_root()
        && let Ok(file) = place::open(path, OFlags::RDONLY | OFlags::NONBLOCK)
        && let Ok(stat) = fs::fstat(&file)
        && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && stat.st_nlink == 1
    {
        let _ = fs::fchown(file, Some(Uid::from_raw(user)), None);
    }
}

fn is_empty(directory: &OwnedFd) -> bool {
    let mut buffer = Vec::with_capacity(1024);
    let mut entries = RawDir::new(directory, buffer.spare_capacity_mut());
    let mut is_empty = true;
    while let Some(entry) = entries.next() {
        is_empty &= entry.is_ok_and(|entry| matches!(entry.file_name().to_bytes(), b"." | b".."));
    }
    is_empty
}
