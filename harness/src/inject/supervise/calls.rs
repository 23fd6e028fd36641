//! The system calls that change or read files, and which of their arguments name the file.

use super::notify::PendingCall;
use crate::inject::Calls;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// A system call.
pub struct Call {
    /// Its number.
    pub number: i64,
    /// Its name in reports.
    pub name: &'static str,
    /// Which arguments name its file.
    file: FileArgument,
    /// What it does to the file.
    pub effect: Effect,
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It opens a file, which is a change that needs disk space if some flags are set.
    Opens(OpenFlags),
    /// It changes something and needs disk space.
    Fills,
    /// It changes something and needs no disk space.
    Changes,
    /// It waits until changes are durable.
    Syncs,
    /// It reads.
    Reads,
}

/// Where the flags of an opening call are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenFlags {
    /// In this argument.
    Argument(usize),
    /// In a structure that this argument points to.
    Behind(usize),
    /// Nowhere: the call always creates the file.
    Creates,
}

/// The arguments that name the file of a call.
enum FileArgument {
    /// A file descriptor.
    Open(usize),
    /// A path, relative to the current directory.
    Path(usize),
    /// The descriptor of a directory, and a path relative to it.
    From(usize, usize),
    /// No single file.
    Everywhere,
}

const fn call(number: i64, name: &'static str, file: FileArgument, effect: Effect) -> Call {
    Call { number, name, file, effect }
}

/// Every call that can be reported.
pub const CALLS: &[Call] = &[
    call(libc::SYS_openat, "open", FileArgument::From(0, 1), Effect::Opens(OpenFlags::Argument(2))),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_open, "open", FileArgument::Path(0), Effect::Opens(OpenFlags::Argument(1))),
    call(libc::SYS_openat2, "open", FileArgument::From(0, 1), Effect::Opens(OpenFlags::Behind(2))),
    call(libc::SYS_write, "write", FileArgument::Open(0), Effect::Fills),
    call(libc::SYS_pwrite64, "write", FileArgument::Open(0), Effect::Fills),
    call(libc::SYS_writev, "write", FileArgument::Open(0), Effect::Fills),
    call(libc::SYS_pwritev, "write", FileArgument::Open(0), Effect::Fills),
    call(libc::SYS_pwritev2, "write", FileArgument::Open(0), Effect::Fills),
    call(libc::SYS_sendfile, "copy", FileArgument::Open(0), Effect::Fills),
    call(libc::SYS_copy_file_range, "copy", FileArgument::Open(2), Effect::Fills),
    call(libc::SYS_fallocate, "allocate", FileArgument::Open(0), Effect::Fills),
    call(libc::SYS_truncate, "truncate", FileArgument::Path(0), Effect::Changes),
    call(libc::SYS_ftruncate, "truncate", FileArgument::Open(0), Effect::Changes),
    call(libc::SYS_renameat2, "rename", FileArgument::From(2, 3), Effect::Changes),
    call(libc::SYS_unlinkat, "remove", FileArgument::From(0, 1), Effect::Changes),
    call(libc::SYS_mkdirat, "mkdir", FileArgument::From(0, 1), Effect::Fills),
    call(libc::SYS_linkat, "link", FileArgument::From(2, 3), Effect::Fills),
    call(libc::SYS_symlinkat, "symlink", FileArgument::From(1, 2), Effect::Fills),
    call(libc::SYS_fchmod, "chmod", FileArgument::Open(0), Effect::Changes),
    call(libc::SYS_fchmodat, "chmod", FileArgument::From(0, 1), Effect::Changes),
    call(libc::SYS_fsync, "sync", FileArgument::Open(0), Effect::Syncs),
    call(libc::SYS_fdatasync, "sync", FileArgument::Open(0), Effect::Syncs),
    call(libc::SYS_syncfs, "sync", FileArgument::Open(0), Effect::Syncs),
    call(libc::SYS_sync, "sync", FileArgument::Everywhere, Effect::Syncs),
    call(libc::SYS_msync, "sync", FileArgument::Everywhere, Effect::Syncs),
    call(libc::SYS_read, "read", FileArgument::Open(0), Effect::Reads),
    call(libc::SYS_pread64, "read", FileArgument::Open(0), Effect::Reads),
    call(libc::SYS_readv, "read", FileArgument::Open(0), Effect::Reads),
    call(libc::SYS_preadv, "read", FileArgument::Open(0), Effect::Reads),
    call(libc::SYS_sendfile, "read", FileArgument::Open(1), Effect::Reads),
    call(libc::SYS_copy_file_range, "read", FileArgument::Open(0), Effect::Reads),
    call(libc::SYS_getdents64, "list", FileArgument::Open(0), Effect::Reads),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_creat, "open", FileArgument::Path(0), Effect::Opens(OpenFlags::Creates)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_rename, "rename", FileArgument::Path(1), Effect::Changes),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_renameat, "rename", FileArgument::From(2, 3), Effect::Changes),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_unlink, "remove", FileArgument::Path(0), Effect::Changes),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_rmdir, "remove", FileArgument::Path(0), Effect::Changes),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_mkdir, "mkdir", FileArgument::Path(0), Effect::Fills),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_link, "link", FileArgument::Path(1), Effect::Fills),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_symlink, "symlink", FileArgument::Path(1), Effect::Fills),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_chmod, "chmod", FileArgument::Path(0), Effect::Changes),
];

/// The flags that make opening a file a change.
pub const CREATING: u32 = (libc::O_CREAT | libc::O_TRUNC) as u32;

impl Call {
    /// The description of a pending call, if it is one of `calls`.
    pub fn of(pending: &PendingCall, calls: Calls) -> Option<&'static Call> {
        let creates = |flags: u64| flags & u64::from(CREATING) != 0;
        let is_changing = |call: &Call| match call.effect {
            Effect::Reads => false,
            Effect::Fills | Effect::Changes | Effect::Syncs | Effect::Opens(OpenFlags::Creates) => {
                true
            }
            Effect::Opens(OpenFlags::Argument(at)) => creates(pending.arguments[at]),
            Effect::Opens(OpenFlags::Behind(at)) => {
                pending.number_at(pending.arguments[at]).is_some_and(creates)
            }
        };
        let mut candidates = CALLS.iter().filter(|call| call.number == pending.number);
        candidates.find(|call| match calls {
            Calls::Changing => is_changing(call),
            Calls::Reading => !is_changing(call),
            Calls::All => true,
        })
    }

    /// Whether a call that changes something needs disk space.
    pub fn takes_space(&self) -> bool {
        matches!(self.effect, Effect::Opens(_) | Effect::Fills)
    }

    /// The path of the file of the call; `None` if it is unknown.
    pub fn path(&self, pending: &PendingCall) -> Option<PathBuf> {
        let absolute = |folder: &str, path: usize| {
            let path = PathBuf::from(OsString::from_vec(pending.text(pending.arguments[path])?));
            if path.is_absolute() {
                return Some(path);
            }
            Some(fs::read_link(pending.file(folder)).ok()?.join(path))
        };
        let descriptor = |at: usize| pending.arguments[at] as i32;
        let path = match self.file {
            FileArgument::Open(at) => fs::read_link(pending.open_file(at)).ok()?,
            FileArgument::Path(path) => absolute("cwd", path)?,
            FileArgument::From(folder, path) if descriptor(folder) == libc::AT_FDCWD => {
                absolute("cwd", path)?
            }
            FileArgument::From(folder, path) => {
                absolute(&format!("fd/{}", descriptor(folder)), path)?
            }
            FileArgument::Everywhere => return None,
        };
        Some(canonical(path))
    }

    /// The argument that is the descriptor of the file, if the call has one.
    pub fn open_file(&self) -> Option<usize> {
        match self.file {
            FileArgument::Open(at) => Some(at),
            FileArgument::Path(_) | FileArgument::From(..) | FileArgument::Everywhere => None,
        }
    }
}

/// The path with the symbolic links of its folder resolved.
fn canonical(path: PathBuf) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}
