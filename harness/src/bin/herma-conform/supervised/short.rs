//! A short write: half of the bytes are written in the place of the process, which is told so. A
//! program that looks at what it is told writes the rest.

use super::notify::Waiting;
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::{pwrite, write};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::fs;
use std::os::fd::OwnedFd;

/// More pieces than any program writes at once.
const PIECES_MAX: u64 = 1024;
/// More bytes than a piece of half a write needs to hold.
const BYTES_MAX: usize = 1 << 20;

/// Writes half of what the call that waits is to write, and returns how many bytes that is. None
/// where it is no such call, or where there is nothing to be divided.
pub fn half(waiting: &Waiting) -> Option<i64> {
    let [_, address, count, offset, ..] = waiting.arguments;
    let (bytes, offset) = match waiting.number {
        libc::SYS_write => (whole(waiting, address, count)?, None),
        libc::SYS_pwrite64 => (whole(waiting, address, count)?, Some(offset)),
        libc::SYS_writev => (pieces(waiting, address, count)?, None),
        libc::SYS_pwritev => (pieces(waiting, address, count)?, Some(offset)),
        _ => return None,
    };
    let half = &bytes[..bytes.len() / 2];
    if half.is_empty() {
        return None;
    }
    let file = open_file(waiting)?;
    // What is appended goes to the end, wherever it is said to go.
    let appends = fcntl_getfl(&file).ok()?.contains(OFlags::APPEND);
    let written = match offset.filter(|_| !appends) {
        Some(offset) => pwrite(&file, half, offset),
        None => write(&file, half),
    };
    i64::try_from(written.ok()?).ok()
}

fn whole(waiting: &Waiting, address: u64, count: u64) -> Option<Vec<u8>> {
    let count = usize::try_from(count).ok()?;
    waiting.bytes(address, count.min(BYTES_MAX))
}

/// The bytes of all pieces, one after the other.
fn pieces(waiting: &Waiting, address: u64, count: u64) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    for piece in 0..count.min(PIECES_MAX) {
        let at = address + 16 * piece;
        all.extend(whole(waiting, waiting.number_at(at)?, waiting.number_at(at + 8)?)?);
    }
    Some(all)
}

/// The very file that the process has open, with its position.
fn open_file(waiting: &Waiting) -> Option<OwnedFd> {
    let status = fs::read_to_string(waiting.file("status")).ok()?;
    let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    let process = Pid::from_raw(group.trim().parse().ok()?)?;
    let process = pidfd_open(process, PidfdFlags::empty()).ok()?;
    pidfd_getfd(process, waiting.arguments[0] as i32, PidfdGetfdFlags::empty()).ok()
}
