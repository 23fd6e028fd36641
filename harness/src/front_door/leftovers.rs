//! Processes that agents have left running: whatever an agent starts has the path of its home in its environment.

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Asks every process to end that has a folder below this one in its environment.
pub fn end_processes(folder: &Path) {
    for pid in marked(folder) {
        // It may have ended meanwhile.
        let _ = kill_process(pid, Signal::TERM);
    }
}

/// The processes that have this folder in their environment.
pub fn marked(folder: &Path) -> Vec<Pid> {
    let folder = folder.as_os_str().as_bytes();
    let is_marked = |pid: &i32| {
        // A process of another user cannot be read, and is not ours.
        let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        variables.windows(folder.len()).any(|part| part == folder)
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(is_marked).filter_map(Pid::from_raw).collect()
}
