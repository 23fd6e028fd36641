//! Opens a path without following symbolic links: a path through a directory that is or becomes a link
//! is refused, even if the directory is replaced at the same moment.

use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Opens a directory for path lookup only, which on Linux needs no permission to read it.
#[cfg(target_os = "linux")]
pub const ENTER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
pub const ENTER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// A name in a directory that is held open, so that no process can replace the directory meanwhile.
pub struct AnchoredPath<'a> {
    /// The directory.
    pub folder: OwnedFd,
    /// The name in it.
    pub name: &'a OsStr,
}

impl<'a> AnchoredPath<'a> {
    /// Opens the parent directory of `path`, whether or not `path` exists.
    ///
    /// # Errors
    /// *Not a directory* if a component of the parent is a link or a file.
    // rule: restore/contained, capture/contained
    pub fn of(path: &'a Path) -> io::Result<Self> {
        let folder = match path.parent() {
            Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
            Some(parent) => parent,
            None => return Ok(AnchoredPath { folder: enter(path)?, name: OsStr::new(".") }),
        };
        // The name of `..` would only be known by following it.
        let no_name =
            || io::Error::new(ErrorKind::InvalidInput, "the path does not end in a file name");
        Ok(AnchoredPath { folder: enter(folder)?, name: path.file_name().ok_or_else(no_name)? })
    }

    /// Opens the file or directory of that name; a link is an error.
    pub fn open(&self, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.folder, self.name, flags, mode)?)
    }
}

/// Opens a file or directory; a link to one, or on the way to it, is an error.
#[cfg(target_os = "linux")]
pub fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    let safe = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match path.file_name() {
        Some(_) => openat2(CWD, path, safe, Mode::empty(), ResolveFlags::NO_SYMLINKS),
        None => Err(Errno::LOOP),
    };
    match opened {
        // Which of the names is a link, or whether the system refuses this call, is found step by step.
        Err(Errno::LOOP | Errno::NOSYS | Errno::PERM) => open_in_folder(path, flags),
        opened => Ok(opened?),
    }
}

/// Opens a file or directory; a link to one, or on the way to it, is an error.
#[cfg(not(target_os = "linux"))]
pub fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    open_in_folder(path, flags)
}

fn open_in_folder(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    AnchoredPath::of(path)?.open(flags, Mode::empty())
}

fn enter(folder: &Path) -> io::Result<OwnedFd> {
    open_directory(folder, ENTER)
}

/// Opens a directory; a link to one, or on the way to it, is an error.
#[cfg(target_os = "linux")]
pub fn open_directory(folder: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    let cloexec = flags | OFlags::CLOEXEC;
    match openat2(CWD, folder, cloexec, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Err(Errno::LOOP) => Err(Errno::NOTDIR.into()),
        // An old kernel, or a sandbox that refuses the call.
        Err(Errno::NOSYS | Errno::PERM) => open_step_by_step(folder, flags),
        opened => Ok(opened?),
    }
}

/// Opens a directory; a link to one, or on the way to it, is an error.
#[cfg(not(target_os = "linux"))]
pub fn open_directory(folder: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    open_step_by_step(folder, flags)
}

fn open_step_by_step(folder: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let entered = enter_step_by_step(folder)?;
    if flags == ENTER {
        return Ok(entered);
    }
    Ok(openat(entered, ".", flags | OFlags::CLOEXEC, Mode::empty())?)
}

/// Opens one directory after the other, none of them through a link.
fn enter_step_by_step(folder: &Path) -> io::Result<OwnedFd> {
    let start = if folder.is_absolute() { "/" } else { "." };
    let mut entered = openat(CWD, start, ENTER, Mode::empty())?;
    for name in folder.components().map(|component| component.as_os_str()) {
        entered = match openat(&entered, name, ENTER | OFlags::NOFOLLOW, Mode::empty()) {
            Err(Errno::LOOP) => return Err(Errno::NOTDIR.into()),
            next => next?,
        };
    }
    Ok(entered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn enter_refuses_links_on_the_way_and_needs_no_permission_to_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("one/two")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        symlink("one", root.join("link")).unwrap();
        symlink("nothing", root.join("dangling")).unwrap();
        // Lookup in the directory is permitted, reading it is not.
        fs::set_permissions(root.join("one"), fs::Permissions::from_mode(0o311)).unwrap();
        for enter in [enter, enter_step_by_step] {
            let kind = |path: &str| enter(&root.join(path)).map(drop).map_err(|error| error.kind());
            assert_eq!(kind("one/two"), Ok(()));
            assert_eq!(kind("."), Ok(()));
            assert_eq!(kind("nothing/two"), Err(ErrorKind::NotFound));
            for path in ["link", "link/two", "dangling", "dangling/two", "file", "file/two"] {
                assert_eq!(kind(path), Err(ErrorKind::NotADirectory), "{path}");
            }
        }
        assert_eq!(AnchoredPath::of(Path::new("/")).unwrap().name, ".");
        assert_eq!(AnchoredPath::of(Path::new("name")).unwrap().name, "name");
        assert!(AnchoredPath::of(&root.join("one/..")).is_err());
    }
}
