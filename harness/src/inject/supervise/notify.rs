//! Receives the system calls of other processes before they are made: a Linux seccomp filter with a
//! listener. Only this module accesses memory that Rust does not manage.
#![allow(unsafe_code, reason = "no crate offers the listener of a seccomp filter")]

use super::calls::{CALLS, CREATING, Effect, OpenFlags};
use crate::inject::Calls;
use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const IS: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const HAS: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
/// A call keeps waiting for its answer although a signal arrived.
const WAIT_KILLABLE: libc::c_ulong = 1 << 5;
/// `_IOWR('!', 0, struct seccomp_notif)` and `_IOWR('!', 1, struct seccomp_notif_resp)`.
const RECEIVE: libc::c_ulong = 0xc050_2100;
const SEND: libc::c_ulong = 0xc018_2101;
const BYTES_OF_A_PATH_MAX: usize = 4096;

/// Receives calls.
pub struct Listener(OwnedFd);

/// A call that waits for an answer.
pub struct PendingCall {
    id: u64,
    /// The thread that makes the call.
    pub thread: u32,
    /// Its number.
    pub number: i64,
    /// Its arguments.
    pub arguments: [u64; 6],
}

/// What happens to a call.
pub enum Answer {
    /// It is made.
    GoOn,
    /// It fails with this error, and is not made.
    Fail(i32),
    /// It was made by the supervisor instead, and returns this value.
    Made(i64),
}

impl Listener {
    /// Installs the filter in this thread, and in all processes that it starts, so that they report `calls`.
    pub fn install(calls: Calls) -> io::Result<Self> {
        let mut filter = filter(calls);
        let program =
            libc::sock_fprog { len: filter.len() as libc::c_ushort, filter: filter.as_mut_ptr() };
        let install = |flags: libc::c_ulong| {
            // SAFETY: the kernel reads the program while the call runs, and `filter` outlives it.
            unsafe {
                let mode = libc::SECCOMP_SET_MODE_FILTER;
                libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program)
            }
        };
        // SAFETY: this takes numbers only.
        if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let listen = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER as libc::c_ulong;
        let mut listener = install(listen | WAIT_KILLABLE);
        if listener < 0 {
            listener = install(listen);
        }
        if listener < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just returned this descriptor, and nothing else owns it.
        Ok(Listener(unsafe { OwnedFd::from_raw_fd(listener as i32) }))
    }

    /// Waits some milliseconds for a call: `None` if no call came, `Err` if no more calls can come.
    pub fn receive(&self, milliseconds: i32) -> Result<Option<PendingCall>, Ended> {
        let mut ready = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: it is one structure, which outlives the call.
        let count = unsafe { libc::poll(&raw mut ready, 1, milliseconds) };
        if count <= 0 {
            return Ok(None);
        }
        if ready.revents & libc::POLLIN == 0 {
            return Err(Ended);
        }
        // SAFETY: a structure of numbers, for which zeros are a value; the kernel demands them.
        let mut notification: libc::seccomp_notif = unsafe { mem::zeroed() };
        // SAFETY: the kernel fills the structure, which outlives the call.
        if unsafe { libc::ioctl(self.0.as_raw_fd(), RECEIVE, &raw mut notification) } != 0 {
            // The thread was killed in the meantime.
            return Ok(None);
        }
        let libc::seccomp_notif { id, pid: thread, data, .. } = notification;
        let number = i64::from(data.nr);
        Ok(Some(PendingCall { id, thread, number, arguments: data.args }))
    }

    /// Answers a call; a failure is ignored, since then the thread is gone.
    pub fn answer(&self, pending: &PendingCall, answer: &Answer) {
        let (flags, error, val) = match answer {
            Answer::GoOn => (libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32, 0, 0),
            Answer::Fail(error) => (0, -error, 0),
            Answer::Made(returned) => (0, 0, *returned),
        };
        let mut response = libc::seccomp_notif_resp { id: pending.id, val, error, flags };
        // SAFETY: the kernel reads the structure, which outlives the call.
        unsafe { libc::ioctl(self.0.as_raw_fd(), SEND, &raw mut response) };
    }
}

/// Ignores SIGTERM, which the whole process group may get: the supervised command ends, and this process
/// waits for it. The command does not inherit the handler.
pub fn survive_sigterm() {
    extern "C" fn go_on(_: libc::c_int) {}
    let go_on: extern "C" fn(libc::c_int) = go_on;
    // SAFETY: the handler does nothing, which is safe at any moment.
    unsafe { libc::signal(libc::SIGTERM, go_on as libc::sighandler_t) };
}

/// No process is left that could make a call.
pub struct Ended;

impl PendingCall {
    /// A file below `/proc` about the process.
    pub fn file(&self, name: &str) -> PathBuf {
        Path::new("/proc").join(self.thread.to_string()).join(name)
    }

    /// The file below `/proc` for the descriptor in an argument.
    pub fn open_file(&self, argument: usize) -> PathBuf {
        self.file(&format!("fd/{}", self.arguments[argument] as i32))
    }

    /// Text in the memory of the process, up to its NUL; `None` if it cannot be read.
    pub fn text(&self, address: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; BYTES_OF_A_PATH_MAX];
        // Fewer bytes are read if the memory ends earlier.
        let length = File::open(self.file("mem")).ok()?.read_at(&mut bytes, address).ok()?;
        let end = bytes[..length].iter().position(|byte| *byte == 0)?;
        bytes.truncate(end);
        Some(bytes)
    }

    /// `length` bytes of the memory of the process.
    pub fn bytes(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        File::open(self.file("mem")).ok()?.read_exact_at(&mut bytes, address).ok()?;
        Some(bytes)
    }

    /// A number in the memory of the process.
    pub fn number_at(&self, address: u64) -> Option<u64> {
        Some(u64::from_ne_bytes(self.bytes(address, 8)?.try_into().ok()?))
    }
}

/// The filter: reports `calls`, disables io_uring, and allows everything else.
fn filter(calls: Calls) -> Vec<libc::sock_filter> {
    let step = |code, k| libc::sock_filter { code, jt: 0, jf: 0, k };
    let jump = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let number_at = mem::offset_of!(libc::seccomp_data, nr) as u32;
    let argument_at = |at: usize| (mem::offset_of!(libc::seccomp_data, args) + 8 * at) as u32;
    let no_call = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    let report = libc::SECCOMP_RET_USER_NOTIF;
    let allow = libc::SECCOMP_RET_ALLOW;
    let mut filter = vec![
        step(LOAD, number_at),
        jump(IS, libc::SYS_io_uring_setup as u32, 0, 1),
        step(RETURN, no_call),
    ];
    for call in CALLS {
        let number = call.number as u32;
        match call.effect {
            // Files are opened all the time; only calls that create or truncate them are reported.
            Effect::Opens(OpenFlags::Argument(at)) if calls == Calls::Changing => filter.extend([
                jump(IS, number, 0, 4),
                step(LOAD, argument_at(at)),
                jump(HAS, CREATING, 0, 1),
                step(RETURN, report),
                step(RETURN, allow),
            ]),
            Effect::Reads if calls == Calls::Changing => {}
            Effect::Fills | Effect::Changes | Effect::Syncs if calls == Calls::Reading => {}
            _ => filter.extend([jump(IS, number, 0, 1), step(RETURN, report)]),
        }
    }
    filter.push(step(RETURN, allow));
    filter
}
