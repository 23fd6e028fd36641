//! The anonymous memory and the bytes read of a process group while it answers. The system reports them if
//! there is a `/proc`; the processes themselves do nothing for it.

use crate::processes;
use rustix::process::Pid;
use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The time between two measurements: memory that is allocated and freed in between is missed.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Whether the system reports memory and reads.
pub fn is_available() -> bool {
    Meter::of(rustix::process::getpid()).bytes_read().is_ok()
}

/// The processes of one group.
#[derive(Clone, Copy, Debug)]
pub struct Meter(Pid);

impl Meter {
    /// The meter of the group with that leader.
    pub fn of(leader: Pid) -> Self {
        Meter(leader)
    }

    /// Returns the result of `work`, and the peak of the total memory of the processes meanwhile, in bytes.
    /// Pages of files do not count: the system reclaims them when it needs memory.
    pub fn memory<T>(self, work: impl FnOnce() -> T) -> (T, u64) {
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            let watching = scope.spawn(|| {
                let mut peak = 0;
                while !is_done.load(Ordering::Acquire) {
                    peak = peak.max(self.memory_now());
                    thread::sleep(POLL_INTERVAL);
                }
                peak
            });
            let result = work();
            is_done.store(true, Ordering::Release);
            (result, watching.join().unwrap_or(0))
        })
    }

    /// The bytes read by the leader since it started, and by the processes that it started and waited for.
    ///
    /// # Errors
    /// The system does not report them.
    pub fn bytes_read(self) -> io::Result<u64> {
        let path = format!("/proc/{}/io", self.0.as_raw_pid());
        let read = value(&fs::read_to_string(path)?, "rchar:");
        read.ok_or_else(|| io::Error::other("the system counts no bytes that are read"))
    }

    fn memory_now(self) -> u64 {
        let processes = processes::all().into_iter().flatten();
        let memory = processes.filter(|process| process.group == self.0.as_raw_pid()).filter_map(
            |process| {
                let status = fs::read_to_string(format!("/proc/{}/status", process.id)).ok()?;
                value(&status, "RssAnon:").map(|kibibytes| kibibytes * 1024)
            },
        );
        memory.sum()
    }
}

/// The number after a name at the beginning of a line.
fn value(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    #[test]
    fn memory_and_bytes_read_include_a_child_that_is_waited_for() {
        let script =
            "echo; read go; head -c 4000000 /dev/zero | tail -c 4000000 | wc -c; echo; read go";
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = shell.spawn().unwrap();
        let meter = Meter::of(Pid::from_child(&child));
        let mut input = child.stdin.take().unwrap();
        let mut output = child.stdout.take().unwrap();
        output.read_exact(&mut [0]).unwrap();
        let before = meter.bytes_read().unwrap();
        let ((), memory) = meter.memory(|| {
            input.write_all(b"\n").unwrap();
            // Before the empty line, the shell has waited for all three.
            let mut counted = [0; 9];
            output.read_exact(&mut counted).unwrap();
            assert_eq!(&counted, b"4000000\n\n");
        });
        // Each of the three processes reads all bytes.
        assert!(meter.bytes_read().unwrap() - before >= 3 * 4_000_000);
        assert!(memory > 0);
        drop(input);
        child.wait().unwrap();
        assert!(meter.bytes_read().is_err());
    }
}
