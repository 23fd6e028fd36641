//! The calls that change what is on a disk or read it, and which of their arguments say where.

use super::notify::Waiting;
use herma_harness::inject::Calls;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// One call of the system.
pub struct Call {
    /// Its number.
    pub number: i64,
    /// What people call it.
    pub name: &'static str,
    /// Which file it is about.
    place: Place,
    /// What it does there.
    pub does: Does,
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// It opens a file, which some flags make a change that needs space on the disk.
    Opens(Flags),
    /// It changes something, for which the disk needs space.
    Fills,
    /// It changes something else.
    Changes,
    /// It waits until changes are durable.
    Syncs,
    /// It reads.
    Reads,
}

/// Where the flags are with which a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flags {
    /// They are this argument.
    At(usize),
    /// They are in a structure, at which this argument points.
    Behind(usize),
    /// It always creates.
    Creates,
}

/// Arguments that say where.
enum Place {
    /// An open file.
    Open(usize),
    /// A path, from where the process is.
    Path(usize),
    /// A path, from an open directory.
    From(usize, usize),
    /// No single file.
    Everywhere,
}

const fn call(number: i64, name: &'static str, place: Place, does: Does) -> Call {
    Call { number, name, place, does }
}

/// Every call that is told of.
pub const CALLS: &[Call] = &[
    call(libc::SYS_openat, "open", Place::From(0, 1), Does::Opens(Flags::At(2))),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_open, "open", Place::Path(0), Does::Opens(Flags::At(1))),
    call(libc::SYS_openat2, "open", Place::From(0, 1), Does::Opens(Flags::Behind(2))),
    call(libc::SYS_write, "write", Place::Open(0), Does::Fills),
    call(libc::SYS_pwrite64, "write", Place::Open(0), Does::Fills),
    call(libc::SYS_writev, "write", Place::Open(0), Does::Fills),
    call(libc::SYS_pwritev, "write", Place::Open(0), Does::Fills),
    call(libc::SYS_pwritev2, "write", Place::Open(0), Does::Fills),
    call(libc::SYS_sendfile, "copy", Place::Open(0), Does::Fills),
    call(libc::SYS_copy_file_range, "copy", Place::Open(2), Does::Fills),
    call(libc::SYS_fallocate, "allocate", Place::Open(0), Does::Fills),
    call(libc::SYS_truncate, "truncate", Place::Path(0), Does::Changes),
    call(libc::SYS_ftruncate, "truncate", Place::Open(0), Does::Changes),
    call(libc::SYS_renameat2, "rename", Place::From(2, 3), Does::Changes),
    call(libc::SYS_unlinkat, "remove", Place::From(0, 1), Does::Changes),
    call(libc::SYS_mkdirat, "mkdir", Place::From(0, 1), Does::Fills),
    call(libc::SYS_linkat, "link", Place::From(2, 3), Does::Fills),
    call(libc::SYS_symlinkat, "symlink", Place::From(1, 2), Does::Fills),
    call(libc::SYS_fchmod, "chmod", Place::Open(0), Does::Changes),
    call(libc::SYS_fchmodat, "chmod", Place::From(0, 1), Does::Changes),
    call(libc::SYS_fsync, "sync", Place::Open(0), Does::Syncs),
    call(libc::SYS_fdatasync, "sync", Place::Open(0), Does::Syncs),
    call(libc::SYS_syncfs, "sync", Place::Open(0), Does::Syncs),
    call(libc::SYS_sync, "sync", Place::Everywhere, Does::Syncs),
    call(libc::SYS_msync, "sync", Place::Everywhere, Does::Syncs),
    call(libc::SYS_read, "read", Place::Open(0), Does::Reads),
    call(libc::SYS_pread64, "read", Place::Open(0), Does::Reads),
    call(libc::SYS_readv, "read", Place::Open(0), Does::Reads),
    call(libc::SYS_preadv, "read", Place::Open(0), Does::Reads),
    call(libc::SYS_sendfile, "read", Place::Open(1), Does::Reads),
    call(libc::SYS_copy_file_range, "read", Place::Open(0), Does::Reads),
    call(libc::SYS_getdents64, "list", Place::Open(0), Does::Reads),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_creat, "open", Place::Path(0), Does::Opens(Flags::Creates)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_rename, "rename", Place::Path(1), Does::Changes),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_renameat, "rename", Place::From(2, 3), Does::Changes),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_unlink, "remove", Place::Path(0), Does::Changes),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_rmdir, "remove", Place::Path(0), Does::Changes),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_mkdir, "mkdir", Place::Path(0), Does::Fills),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_link, "link", Place::Path(1), Does::Fills),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_symlink, "symlink", Place::Path(1), Does::Fills),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_chmod, "chmod", Place::Path(0), Does::Changes),
];

/// The flags that make opening a file a change.
pub const CREATING: u32 = (libc::O_CREAT | libc::O_TRUNC) as u32;

impl Call {
    /// The call that waits, where it is one of those.
    pub fn of(waiting: &Waiting, calls: Calls) -> Option<&'static Call> {
        let creates = |flags: u64| flags & u64::from(CREATING) != 0;
        let is_changing = |call: &Call| match call.does {
            Does::Reads => false,
            Does::Fills | Does::Changes | Does::Syncs | Does::Opens(Flags::Creates) => true,
            Does::Opens(Flags::At(at)) => creates(waiting.arguments[at]),
            Does::Opens(Flags::Behind(at)) => {
                waiting.number_at(waiting.arguments[at]).is_some_and(creates)
            }
        };
        let mut all = CALLS.iter().filter(|call| call.number == waiting.number);
        all.find(|call| match calls {
            Calls::Changing => is_changing(call),
            Calls::Reading => !is_changing(call),
            Calls::All => true,
        })
    }

    /// Whether the disk needs space for it, where it is one that changes something.
    pub fn takes_space(&self) -> bool {
        matches!(self.does, Does::Opens(_) | Does::Fills)
    }

    /// The path that the call is about; none where that is none that is known.
    pub fn path(&self, waiting: &Waiting) -> Option<PathBuf> {
        let place = |folder: &str, path: usize| {
            let path = PathBuf::from(OsString::from_vec(waiting.text(waiting.arguments[path])?));
            if path.is_absolute() {
                return Some(path);
            }
            Some(fs::read_link(waiting.file(folder)).ok()?.join(path))
        };
        let descriptor = |at: usize| waiting.arguments[at] as i32;
        let path = match self.place {
            Place::Open(at) => fs::read_link(waiting.open_file(at)).ok()?,
            Place::Path(path) => place("cwd", path)?,
            Place::From(folder, path) if descriptor(folder) == libc::AT_FDCWD => {
                place("cwd", path)?
            }
            Place::From(folder, path) => place(&format!("fd/{}", descriptor(folder)), path)?,
            Place::Everywhere => return None,
        };
        Some(whole(path))
    }

    /// Which argument says which open file it is about, where one does.
    pub fn open_file(&self) -> Option<usize> {
        match self.place {
            Place::Open(at) => Some(at),
            Place::Path(_) | Place::From(..) | Place::Everywhere => None,
        }
    }
}

/// The same place, whatever is on the way.
fn whole(path: PathBuf) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}
