//! A short write: the supervisor writes half of the bytes instead of the process, and returns their
//! number. A program that checks this number writes the rest.

use super::notify::PendingCall;
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::{pwrite, write};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::fs;
use std::os::fd::OwnedFd;

/// More buffers than any program writes at once.
const BUFFERS_MAX: u64 = 1024;
/// At most so many bytes of each buffer are read; half a write needs no more.
const BYTES_MAX: usize = 1 << 20;

/// Writes half of the bytes of a pending call, and returns how many bytes that is. `None` if the call is
/// not a write, or has too few bytes to divide.
pub fn half(pending: &PendingCall) -> Option<i64> {
    let [_, address, count, offset, ..] = pending.arguments;
    let (bytes, offset) = match pending.number {
        libc::SYS_write => (buffer(pending, address, count)?, None),
        libc::SYS_pwrite64 => (buffer(pending, address, count)?, Some(offset)),
        libc::SYS_writev => (buffers(pending, address, count)?, None),
        libc::SYS_pwritev => (buffers(pending, address, count)?, Some(offset)),
        _ => return None,
    };
    let half = &bytes[..bytes.len() / 2];
    if half.is_empty() {
        return None;
    }
    let file = open_file(pending)?;
    // Appended bytes go to the end, whatever the offset is.
    let appends = fcntl_getfl(&file).ok()?.contains(OFlags::APPEND);
    let written = match offset.filter(|_| !appends) {
        Some(offset) => pwrite(&file, half, offset),
        None => write(&file, half),
    };
    i64::try_from(written.ok()?).ok()
}

fn buffer(pending: &PendingCall, address: u64, count: u64) -> Option<Vec<u8>> {
    let count = usize::try_from(count).ok()?;
    pending.bytes(address, count.min(BYTES_MAX))
}

/// The bytes of all buffers, one after the other.
fn buffers(pending: &PendingCall, address: u64, count: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for index in 0..count.min(BUFFERS_MAX) {
        let entry = address + 16 * index;
        bytes.extend(buffer(pending, pending.number_at(entry)?, pending.number_at(entry + 8)?)?);
    }
    Some(bytes)
}

/// A duplicate of the descriptor of the process, which shares its position.
fn open_file(pending: &PendingCall) -> Option<OwnedFd> {
    let status = fs::read_to_string(pending.file("status")).ok()?;
    let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    let process = Pid::from_raw(group.trim().parse().ok()?)?;
    let process = pidfd_open(process, PidfdFlags::empty()).ok()?;
    pidfd_getfd(process, pending.arguments[0] as i32, PidfdGetfdFlags::empty()).ok()
}
