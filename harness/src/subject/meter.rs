//! What the processes of a group take while their answer is waited for: memory of their own, and bytes
//! read. The system reports it, where there is a `/proc`; nothing is asked of the processes.

use rustix::process::Pid;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Between two looks: memory that is taken and given back sooner is not seen.
const LOOK: Duration = Duration::from_millis(2);

/// Whether the system reports what processes take.
pub fn is_available() -> bool {
    Meter::of(rustix::process::getpid()).bytes_read().is_ok()
}

/// The processes of one group.
#[derive(Clone, Copy, Debug)]
pub struct Meter(Pid);

impl Meter {
    /// Of the group of that leader.
    pub fn of(leader: Pid) -> Self {
        Meter(leader)
    }

    /// What `work` comes to, and the most memory that the processes had meanwhile, all together, in
    /// bytes. Pages of files do not count: the system takes those back when it needs them.
    pub fn memory<T>(self, work: impl FnOnce() -> T) -> (T, u64) {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let watching = scope.spawn(|| {
                let mut most = 0;
                while !done.load(Ordering::Acquire) {
                    most = most.max(self.memory_now());
                    thread::sleep(LOOK);
                }
                most
            });
            let came = work();
            done.store(true, Ordering::Release);
            (came, watching.join().unwrap_or(0))
        })
    }

    /// How many bytes the leader has read since it began, and those that it started and waited for.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn bytes_read(self) -> io::Result<u64> {
        let path = format!("/proc/{}/io", self.0.as_raw_pid());
        let read = value(&fs::read_to_string(path)?, "rchar:");
        read.ok_or_else(|| io::Error::other("the system counts no bytes that are read"))
    }

    fn memory_now(self) -> u64 {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let memory = processes.filter(|process| self.has(&process.path())).filter_map(|process| {
            let status = fs::read_to_string(process.path().join("status")).ok()?;
            value(&status, "RssAnon:").map(|kibibytes| kibibytes * 1024)
        });
        memory.sum()
    }

    fn has(self, process: &Path) -> bool {
        // After the name, which may hold anything, come the state, the parent and the group.
        let group = fs::read_to_string(process.join("stat")).ok().and_then(|stat| {
            stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse::<i32>().ok()
        });
        group == Some(self.0.as_raw_pid())
    }
}

/// The number behind a name at the begin of a line.
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
    fn memory_and_bytes_of_a_child_that_is_waited_for_count() {
        let script =
            "echo; read go; head -c 4000000 /dev/zero | tail -c 4000000 | wc -c; echo; read go";
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = shell.spawn().unwrap();
        let meter = Meter::of(Pid::from_child(&child));
        let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        output.read_exact(&mut [0]).unwrap();
        let before = meter.bytes_read().unwrap();
        let ((), memory) = meter.memory(|| {
            input.write_all(b"\n").unwrap();
            // By the empty line all three were waited for.
            let mut counted = [0; 9];
            output.read_exact(&mut counted).unwrap();
            assert_eq!(&counted, b"4000000\n\n");
        });
        // Each of them reads all of it.
        assert!(meter.bytes_read().unwrap() - before >= 3 * 4_000_000);
        assert!(memory > 0);
        drop(input);
        child.wait().unwrap();
        assert!(meter.bytes_read().is_err());
    }
}
