//! Who owns what root makes: the owner of the folder that it is made in, as if that user had made it. An agent that
//! runs as root in a container works on files of a user, who must be able to write them afterwards.
//!
//! Nothing here fails: what cannot be given to a user stays root's, and only root gives anything to another user.

use super::place;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, FileType, Gid, Mode, OFlags, RawDir, Uid};
use std::ffi::OsStr;
use std::path::Path;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Gives a file that was just made in that folder to the owner of the folder.
pub fn give_file(folder: &OwnedFd, file: impl AsFd) {
    if let Some(owner) = other_owner(folder) {
        let _ = fs::fchown(file, Some(owner), None);
    }
}

/// As [`give_file`], for a directory, which is empty still: another one may have taken its place.
pub fn give_directory(folder: &OwnedFd, name: &OsStr) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if let Some(owner) = other_owner(folder)
        && let Ok(made) = fs::openat(folder, name, flags, Mode::empty())
        && is_empty(&made)
    {
        let _ = fs::fchown(made, Some(owner), None);
    }
}

/// Who owns the folder, if root makes something in it and it is not root's.
fn other_owner(folder: &OwnedFd) -> Option<Uid> {
    let owner = Uid::from_raw(is_root().then(|| fs::fstat(folder).ok())??.st_uid);
    (!owner.is_root()).then_some(owner)
}

/// Gives a file that was just made, and that no other name leads to, to that user and group.
pub fn give_to(path: &Path, user: u32, group: u32) {
    if let Ok(file) = place::open(path, OFlags::RDONLY | OFlags::NONBLOCK)
        && let Ok(stat) = fs::fstat(&file)
        && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && stat.st_nlink == 1
    {
        // Members of a group may give a file to it, and where users are mapped root may give to one but not the other.
        let _ = fs::fchown(&file, None, Some(Gid::from_raw(group)));
        if is_root() {
            let _ = fs::fchown(file, Some(Uid::from_raw(user)), None);
        }
    }
}

/// Whether a directory is there and empty. One that was removed meanwhile answers with the same error as often
/// as it is asked.
fn is_empty(directory: &OwnedFd) -> bool {
    let mut buffer = Vec::with_capacity(1024);
    let mut entries = RawDir::new(directory, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        if !entry.is_ok_and(|entry| matches!(entry.file_name().to_bytes(), b"." | b"..")) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_empty_ends_for_a_directory_that_was_removed() {
        let folder = tempfile::tempdir().unwrap();
        let opened = || OwnedFd::from(std::fs::File::open(folder.path()).unwrap());
        assert!(is_empty(&opened()));
        std::fs::write(folder.path().join("file"), "").unwrap();
        assert!(!is_empty(&opened()));
        std::fs::remove_file(folder.path().join("file")).unwrap();
        let directory = opened();
        folder.close().unwrap();
        assert!(!is_empty(&directory));
    }
}
