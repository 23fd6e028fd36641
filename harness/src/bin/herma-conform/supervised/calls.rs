//! The calls that change what is on a disk, and which of their arguments say where.

use super::notify::Waiting;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One call of the system.
pub struct Call {
    /// Its number.
    pub number: i64,
    /// What people call it.
    pub name: &'static str,
    /// Where it changes something.
    place: Place,
    /// Which argument says whether it may change something; none where it always may.
    pub flags: Option<usize>,
    /// Whether it needs space on the disk.
    pub takes_space: bool,
}

/// Arguments that say where.
enum Place {
    /// An open file.
    Open(usize),
    /// A path, from where the process is.
    Path(usize),
    /// A path, from an open directory.
    From(usize, usize),
}

const fn call(number: i64, name: &'static str, place: Place, takes_space: bool) -> Call {
    Call { number, name, place, flags: None, takes_space }
}

/// Where the flags of `openat2` are, in a structure.
const OPENAT2: i64 = libc::SYS_openat2;

/// Every call that is told of.
pub const CALLS: &[Call] = &[
    Call {
        number: libc::SYS_openat,
        name: "open",
        place: Place::From(0, 1),
        flags: Some(2),
        takes_space: true,
    },
    #[cfg(target_arch = "x86_64")]
    Call {
        number: libc::SYS_open,
        name: "open",
        place: Place::Path(0),
        flags: Some(1),
        takes_space: true,
    },
    call(OPENAT2, "open", Place::From(0, 1), true),
    call(libc::SYS_write, "write", Place::Open(0), true),
    call(libc::SYS_pwrite64, "write", Place::Open(0), true),
    call(libc::SYS_writev, "write", Place::Open(0), true),
    call(libc::SYS_pwritev, "write", Place::Open(0), true),
    call(libc::SYS_pwritev2, "write", Place::Open(0), true),
    call(libc::SYS_sendfile, "write", Place::Open(0), true),
    call(libc::SYS_copy_file_range, "write", Place::Open(2), true),
    call(libc::SYS_fallocate, "allocate", Place::Open(0), true),
    call(libc::SYS_truncate, "truncate", Place::Path(0), false),
    call(libc::SYS_ftruncate, "truncate", Place::Open(0), false),
    call(libc::SYS_renameat2, "rename", Place::From(2, 3), false),
    call(libc::SYS_unlinkat, "remove", Place::From(0, 1), false),
    call(libc::SYS_mkdirat, "mkdir", Place::From(0, 1), true),
    call(libc::SYS_linkat, "link", Place::From(2, 3), true),
    call(libc::SYS_symlinkat, "symlink", Place::From(1, 2), true),
    call(libc::SYS_fchmod, "chmod", Place::Open(0), false),
    call(libc::SYS_fchmodat, "chmod", Place::From(0, 1), false),
    call(libc::SYS_fsync, "sync", Place::Open(0), false),
    call(libc::SYS_fdatasync, "sync", Place::Open(0), false),
    call(libc::SYS_syncfs, "sync", Place::Open(0), false),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_creat, "open", Place::Path(0), true),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_rename, "rename", Place::Path(1), false),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_renameat, "rename", Place::From(2, 3), false),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_unlink, "remove", Place::Path(0), false),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_rmdir, "remove", Place::Path(0), false),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_mkdir, "mkdir", Place::Path(0), true),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_link, "link", Place::Path(1), true),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_symlink, "symlink", Place::Path(1), true),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_chmod, "chmod", Place::Path(0), false),
];

/// The call that waits, and the path that it changes; none where it changes none that is known.
pub fn changed(waiting: &Waiting) -> Option<(&'static Call, PathBuf)> {
    let call = CALLS.iter().find(|call| call.number == waiting.number)?;
    let changing = (libc::O_CREAT | libc::O_TRUNC) as u64;
    if call.number == OPENAT2 && waiting.number_at(waiting.arguments[2])? & changing == 0 {
        return None;
    }
    let place = |folder: &str, path: usize| {
        let path = PathBuf::from(OsString::from_vec(waiting.text(waiting.arguments[path])?));
        if path.is_absolute() {
            return Some(path);
        }
        Some(
            fs::read_link(Path::new("/proc").join(waiting.thread.to_string()).join(folder))
                .ok()?
                .join(path),
        )
    };
    let descriptor = |at: usize| waiting.arguments[at] as i32;
    let path = match call.place {
        Place::Open(at) => {
            fs::read_link(format!("/proc/{}/fd/{}", waiting.thread, descriptor(at))).ok()?
        }
        Place::Path(path) => place("cwd", path)?,
        Place::From(folder, path) if descriptor(folder) == libc::AT_FDCWD => place("cwd", path)?,
        Place::From(folder, path) => place(&format!("fd/{}", descriptor(folder)), path)?,
    };
    Some((call, whole(path)))
}

/// The same place, whatever is on the way.
fn whole(path: PathBuf) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}
