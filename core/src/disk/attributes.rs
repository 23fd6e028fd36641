//! Extended attributes of files on Linux: the access list, and those that a replaced file keeps.

use super::READ;
use super::place::{self, AnchoredPath};
use rustix::buffer::spare_capacity;
use rustix::fd::OwnedFd;
use rustix::fs::{self, XattrFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// The extended attribute with the access list of a file.
const ACCESS_LIST: &str = "system.posix_acl_access";
/// The size limits of Linux, in bytes: of one attribute, and of the names of all.
const BYTES_MAX: usize = 64 * 1024;

/// Sets the access list of a file, or removes the list that it inherited from its folder.
pub fn set_access_list(file: &OwnedFd, list: Option<&[u8]>) -> io::Result<()> {
    let set = match list {
        Some(list) => fs::fsetxattr(file, ACCESS_LIST, list, XattrFlags::empty()),
        None => fs::fremovexattr(file, ACCESS_LIST),
    };
    match set {
        Err(Errno::NODATA | Errno::OPNOTSUPP) if list.is_none() => Ok(()),
        set => Ok(set?),
    }
}

/// The access list of a file.
pub fn access_list(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let anchored = AnchoredPath::of(path)?;
    // The path goes through the open folder: the system has no such call with a handle.
    let held = Path::new("/proc/self/fd").join(anchored.folder.as_raw_fd().to_string());
    let mut list = Vec::with_capacity(BYTES_MAX);
    match fs::lgetxattr(held.join(anchored.name), ACCESS_LIST, spare_capacity(&mut list)) {
        Ok(_) => Ok(Some(list)),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Copies the attributes that stay with a path whatever its content is.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let from = place::open(from, READ)?;
    let mut names = Vec::with_capacity(BYTES_MAX);
    fs::flistxattr(&from, spare_capacity(&mut names))?;
    let names = names.split_inclusive(|byte| *byte == 0);
    let mut names = names.filter_map(|name| CStr::from_bytes_with_nul(name).ok());
    let Some(first) = names.find(|name| stays(name)) else { return Ok(()) };
    let to = place::open(to, READ)?;
    for name in std::iter::once(first).chain(names.filter(|name| stays(name))) {
        let mut value = Vec::with_capacity(BYTES_MAX);
        if fs::fgetxattr(&from, name, spare_capacity(&mut value)).is_ok() {
            // Another user may set only some of them.
            let _ = fs::fsetxattr(&to, name, &value, XattrFlags::empty());
        }
    }
    Ok(())
}

/// Whether an attribute is one of a user, or a label of a security module. Rights of a program and signatures
/// were given to one content, and must not pass to another.
fn stays(name: &CStr) -> bool {
    const OF_THE_CONTENT: &[&[u8]] = &[b"security.capability", b"security.ima", b"security.evm"];
    let name = name.to_bytes();
    name.starts_with(b"user.") || name.starts_with(b"security.") && !OF_THE_CONTENT.contains(&name)
}
