//! Runs shell commands, with all processes that they start, within a time limit.

use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// At most so many bytes of a command's output are kept.
const OUTPUT_BYTES_MAX: u64 = 64 * 1024;
/// How often to check whether a command has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How long to wait for output after a command has ended: processes that it left running may hold the
/// pipe open.
const DRAIN_TIME: Duration = Duration::from_millis(200);

/// How a command ended, and its output.
pub struct Finished {
    /// Its standard output and standard error, in the order of arrival.
    pub output: Vec<u8>,
    /// How it ended, for people.
    pub status: String,
    /// Whether it ended with exit code 0.
    pub is_success: bool,
}

/// The command that runs a line in a shell.
pub fn line(text: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", text]);
    command
}

/// Runs a command, with all processes that it starts, for at most `limit`.
pub fn run(mut command: Command, limit: Duration) -> io::Result<Finished> {
    let (reader, writer) = io::pipe()?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .spawn()?;
    // The command holds the other end of the pipe.
    drop(command);
    let (sender, pieces) = channel();
    thread::spawn(move || {
        let mut reader = reader;
        let mut piece = [0; 4096];
        while let Ok(bytes) = reader.read(&mut piece)
            && bytes > 0
            && sender.send(piece[..bytes].to_vec()).is_ok()
        {}
    });
    let mut output = Vec::new();
    let exit = wait(&mut child, limit, &pieces, &mut output)?;
    if exit.is_none() {
        kill(&child);
        child.wait()?;
    }
    let deadline = Instant::now() + DRAIN_TIME;
    while let Ok(piece) = pieces.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        append(&mut output, &piece);
    }
    let status = match exit.map(|status| (status.code(), status.signal())) {
        None => format!("stopped after {} s", limit.as_secs()),
        Some((Some(code), _)) => format!("exit {code}"),
        Some((None, Some(signal))) => format!("killed by signal {signal}"),
        Some((None, None)) => "ended".to_owned(),
    };
    Ok(Finished { output, status, is_success: exit.is_some_and(|status| status.success()) })
}

/// Waits for the exit status, and collects the output meanwhile; `None` after `limit`.
fn wait(
    child: &mut Child,
    limit: Duration,
    pieces: &Receiver<Vec<u8>>,
    output: &mut Vec<u8>,
) -> io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + limit;
    loop {
        while let Ok(piece) = pieces.try_recv() {
            append(output, &piece);
        }
        match child.try_wait()? {
            Some(status) => return Ok(Some(status)),
            None if Instant::now() >= deadline => return Ok(None),
            None => thread::sleep(POLL_INTERVAL),
        }
    }
}

/// Appends as much of a piece as the limit of the output allows.
fn append(output: &mut Vec<u8>, piece: &[u8]) {
    let room = OUTPUT_BYTES_MAX.saturating_sub(output.len() as u64);
    output.extend(piece.iter().take(usize::try_from(room).unwrap_or_default()));
}

/// Kills the process group of the command, which contains the processes that it started.
fn kill(child: &Child) {
    if let Ok(number) = i32::try_from(child.id())
        && let Some(group) = rustix::process::Pid::from_raw(number)
    {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_stops_a_command_after_its_time_limit_with_all_processes_that_it_started() {
        let started = Instant::now();
        let finished = run(line("echo begun; sleep 60 & sleep 60"), Duration::from_secs(1));
        let finished = finished.unwrap();
        assert!(started.elapsed() < Duration::from_secs(30) && !finished.is_success);
        assert_eq!(finished.output, b"begun\n");
    }
}
