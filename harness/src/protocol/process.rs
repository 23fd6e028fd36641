//! An adapter as a process: started in its own process group, driven line by line, limited in time, and
//! ended together with every process that it started.

use super::fault::{Fault, shown};
use super::message::{Envelope, Message, Reply};
use crate::processes::{self, ProcessStat};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time limits.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For a reply.
    pub reply: Duration,
    /// For the process to end once its input has.
    pub end: Duration,
    /// For a process group to end after SIGTERM, before it is killed.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            reply: Duration::from_secs(60),
            end: Duration::from_secs(2),
            grace: Duration::from_secs(2),
        }
    }
}

/// The longest line in either direction, in bytes.
pub const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How many bytes of stderr are kept, from its end.
const COMPLAINT_BYTES_MAX: usize = 16 * 1024;
/// How often a process that should end is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// What the reading thread received.
enum Received {
    Line(Vec<u8>),
    /// The output ended, with this many bytes after the last newline.
    End(usize),
    TooLong,
}

/// A running adapter.
pub struct Adapter {
    child: Child,
    group: Pid,
    /// Lines to be written; a process that does not read them must not block the runner.
    input: Option<Sender<Vec<u8>>>,
    received: Receiver<Received>,
    complaint: Arc<Mutex<Vec<u8>>>,
    /// Reads stderr to its end.
    stderr_reader: Option<JoinHandle<()>>,
    limits: Limits,
    requests: u64,
    lines: u64,
    /// The last line that was read, unparsed.
    last_reply: String,
}

/// Kills a process and every process that it started.
#[derive(Clone, Copy, Debug)]
pub struct Killer(Pid);

impl Killer {
    /// Kills the process group. A group that has ended cannot be signalled, which is fine.
    pub fn kill(self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}

impl Adapter {
    /// The process itself.
    pub fn leader(&self) -> Pid {
        self.group
    }

    /// A handle that can kill the process while another thread waits for its reply.
    pub fn killer(&self) -> Killer {
        Killer(self.group)
    }

    /// Starts `command`, never through a shell, with no environment variables but `environment`.
    ///
    /// # Errors
    /// [`Fault::NotStarted`].
    pub fn start(
        command: &[OsString],
        directory: &Path,
        environment: &[(OsString, OsString)],
        limits: Limits,
    ) -> Result<Self, Fault> {
        let not_started = |why: &dyn std::fmt::Display| Fault::NotStarted(why.to_string());
        let (program, arguments) =
            command.split_first().ok_or_else(|| not_started(&"no command was given"))?;
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(directory)
            .env_clear()
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| not_started(&format!("`{}`: {error}", program.display())))?;
        let group = Pid::from_child(&child);
        let input = child.stdin.take().map(spawn_writer);
        let (sender, received) = sync_channel(64);
        if let Some(output) = child.stdout.take() {
            thread::spawn(move || send_lines(output, &sender));
        }
        let complaint = Arc::new(Mutex::new(Vec::new()));
        let stderr_reader = child.stderr.take().map(|errors| {
            let complaint = Arc::clone(&complaint);
            thread::spawn(move || keep_tail(errors, &complaint))
        });
        Ok(Adapter {
            child,
            group,
            input,
            received,
            complaint,
            stderr_reader,
            limits,
            requests: 0,
            lines: 0,
            last_reply: String::new(),
        })
    }

    /// Sends one message and waits for the reply.
    ///
    /// # Errors
    /// The fault of the reply; the adapter cannot be used any more then.
    pub fn ask(&mut self, message: &Message) -> Result<Reply, Fault> {
        self.ask_within(message, self.limits.reply)
    }

    /// As [`Adapter::ask`], with another limit for the reply.
    ///
    /// # Errors
    /// As [`Adapter::ask`].
    pub fn ask_within(&mut self, message: &Message, limit: Duration) -> Result<Reply, Fault> {
        self.requests += 1;
        let id = self.requests;
        let mut line = serde_json::to_vec(&Envelope { id, message })
            .expect("a message holds only what JSON can say");
        line.push(b'\n');
        let line = self.ask_line(message.name(), line, limit)?;
        self.read(id, &line)
    }

    /// Sends a line, which ends with a newline, and returns the next line of the output; `op` names the request in a
    /// fault.
    ///
    /// # Errors
    /// As [`Adapter::ask`].
    pub fn ask_line(&mut self, op: &str, line: Vec<u8>, limit: Duration) -> Result<Vec<u8>, Fault> {
        let op = || op.to_owned();
        // Writing to a process that ended fails; reading shows why it ended.
        if let Some(input) = &self.input {
            let _ = input.send(line);
        }
        match self.received.recv_timeout(limit) {
            Ok(Received::Line(line)) => Ok(line),
            Ok(Received::TooLong) => Err(Fault::EndlessLine { limit: LINE_BYTES_MAX }),
            Ok(Received::End(0)) | Err(RecvTimeoutError::Disconnected) => Err(self.exited(op())),
            Ok(Received::End(_)) => Err(Fault::NoNewline { op: op() }),
            Err(RecvTimeoutError::Timeout) => Err(self.silent(op(), limit)),
        }
    }

    fn read(&mut self, id: u64, line: &[u8]) -> Result<Reply, Fault> {
        self.lines += 1;
        let number = self.lines;
        let text = shown(line);
        self.last_reply = String::from_utf8_lossy(line).trim_end().to_owned();
        let value: serde_json::Value = serde_json::from_slice(line)
            .map_err(|_| Fault::Noise { line: number, text: text.clone() })?;
        let reply: Reply = serde_json::from_value(value).map_err(|error| Fault::NotAReply {
            line: number,
            why: error.to_string(),
            text: text.clone(),
        })?;
        if reply.ok.is_some() == reply.err.is_some() {
            let why = "it needs either `ok` or `err`".into();
            return Err(Fault::NotAReply { line: number, why, text });
        }
        match reply.id {
            found if found == id => Ok(reply),
            found if (1..id).contains(&found) => Err(Fault::TwoAnswers { id: found }),
            found => Err(Fault::WrongId { expected: id, found }),
        }
    }

    /// Distinguishes an adapter that printed nothing from one that did not end its line.
    fn silent(&mut self, op: String, limit: Duration) -> Fault {
        self.kill();
        let rest = self.received.recv_timeout(self.limits.grace);
        match rest {
            Ok(Received::End(bytes)) if bytes > 0 => Fault::NoNewline { op },
            _ => Fault::Silent { op, limit },
        }
    }

    fn exited(&mut self, op: String) -> Fault {
        let deadline = Instant::now() + self.limits.grace;
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.child.try_wait() {
                let crash_signals =
                    [Signal::SEGV, Signal::BUS, Signal::ABORT, Signal::ILL, Signal::FPE];
                let signal = status.signal().and_then(Signal::from_named_raw);
                let by_itself = signal.is_some_and(|signal| crash_signals.contains(&signal));
                let complaint = self.last_complaint(deadline);
                return Fault::Exited { op, status: status.to_string(), by_itself, complaint };
            }
            thread::sleep(POLL_INTERVAL);
        }
        let complaint = self.complaint();
        Fault::Exited { op, status: "its output ended".into(), by_itself: false, complaint }
    }

    /// Closes the input and waits until the process and every process that it started have ended.
    ///
    /// # Errors
    /// [`Fault::Lingers`], [`Fault::LeavesAChild`], and [`Fault::TwoAnswers`] or
    /// [`Fault::Noise`] for what was printed after the last reply.
    pub fn finish(mut self) -> Result<(), Fault> {
        drop(self.input.take());
        let deadline = Instant::now() + self.limits.end;
        loop {
            match self.child.try_wait() {
                Ok(Some(_)) => break,
                _ if Instant::now() >= deadline => {
                    return Err(Fault::Lingers { limit: self.limits.end });
                }
                _ => thread::sleep(POLL_INTERVAL),
            }
        }
        if has_living(self.group) {
            return Err(Fault::LeavesAChild);
        }
        let requests = self.requests;
        match self.received.recv_timeout(self.limits.grace) {
            Ok(Received::Line(line)) => match self.read(requests + 1, &line) {
                Err(fault) => Err(fault),
                Ok(reply) => Err(Fault::WrongId { expected: requests, found: reply.id }),
            },
            _ => Ok(()),
        }
    }

    /// The last reply line.
    pub fn replied(&self) -> &str {
        &self.last_reply
    }

    /// [`Adapter::complaint`] once stderr is read to its end, but no later than `deadline`.
    fn last_complaint(&self, deadline: Instant) -> String {
        let is_read = || self.stderr_reader.as_ref().is_none_or(JoinHandle::is_finished);
        while !is_read() && Instant::now() < deadline {
            thread::sleep(POLL_INTERVAL);
        }
        self.complaint()
    }

    /// The end of what the adapter printed to stderr.
    pub fn complaint(&self) -> String {
        let kept = self.complaint.lock().expect("no thread panics while it holds this");
        String::from_utf8_lossy(&kept).into_owned()
    }

    /// Ends the process group: sends SIGTERM first, then SIGKILL.
    fn kill(&mut self) {
        // A group that has ended cannot be signalled, which is fine.
        let _ = kill_process_group(self.group, Signal::TERM);
        let deadline = Instant::now() + self.limits.grace;
        while Instant::now() < deadline {
            let ended = matches!(self.child.try_wait(), Ok(Some(_)));
            if ended && !has_living(self.group) {
                return;
            }
            thread::sleep(POLL_INTERVAL);
        }
        let _ = kill_process_group(self.group, Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Whether a process of the group lives. One that ended stays until it is waited for, which the first process of a
/// container may never do.
fn has_living(group: Pid) -> bool {
    let is_living =
        |process: ProcessStat| process.group == group.as_raw_pid() && !process.has_ended;
    // Where the system does not tell, each counts.
    let lives = || processes::all().map_or(true, |mut all| all.any(is_living));
    test_kill_process_group(group).is_ok() && lives()
}

impl Drop for Adapter {
    fn drop(&mut self) {
        drop(self.input.take());
        let ended = matches!(self.child.try_wait(), Ok(Some(_)));
        if !ended || has_living(self.group) {
            self.kill();
        }
    }
}

/// Starts a thread that writes lines until the sender is dropped, and then closes the input.
fn spawn_writer(mut input: ChildStdin) -> Sender<Vec<u8>> {
    let (sender, lines) = channel::<Vec<u8>>();
    thread::spawn(move || {
        for line in lines {
            if input.write_all(&line).and_then(|()| input.flush()).is_err() {
                return;
            }
        }
    });
    sender
}

fn send_lines(mut output: impl Read, sender: &SyncSender<Received>) {
    let mut line = Vec::new();
    let mut chunk = [0; 64 * 1024];
    // Once sending fails, the receiver is gone.
    loop {
        let read = match output.read(&mut chunk) {
            Ok(0) | Err(_) => break,
            Ok(read) => read,
        };
        for byte in &chunk[..read] {
            if *byte != b'\n' {
                line.push(*byte);
            } else if sender.send(Received::Line(std::mem::take(&mut line))).is_err() {
                return;
            }
        }
        if line.len() > LINE_BYTES_MAX {
            let _ = sender.send(Received::TooLong);
            return;
        }
    }
    let _ = sender.send(Received::End(line.len()));
}

fn keep_tail(mut errors: impl Read, tail: &Mutex<Vec<u8>>) {
    let mut chunk = [0; 4096];
    while let Ok(read) = errors.read(&mut chunk) {
        if read == 0 {
            return;
        }
        let mut tail = tail.lock().expect("no thread panics while it holds this");
        tail.extend_from_slice(&chunk[..read]);
        let excess = tail.len().saturating_sub(COMPLAINT_BYTES_MAX);
        tail.drain(..excess);
    }
}
