//! Runs lines of shell, with all that they start, for a time that has an end.

use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of a command's output that are shown.
const OUTPUT_BYTES_MAX: u64 = 64 * 1024;
/// How often it is looked whether a command has ended.
const LOOK: Duration = Duration::from_millis(10);
/// How long output is waited for after a command has ended: what it left running may hold it open.
const AFTERWARDS: Duration = Duration::from_millis(200);

/// How a command ended, and what it said.
pub struct Ended {
    /// Its output and its errors, as they came.
    pub output: Vec<u8>,
    /// How it ended, for a person.
    pub how: String,
    /// Whether it ended well.
    pub is_good: bool,
}

/// A line of shell, to be run.
pub fn line(typed: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", typed]);
    command
}

/// Runs a command, with all that it starts, for no longer than that.
pub fn run(mut command: Command, limit: Duration) -> io::Result<Ended> {
    let (reader, writer) = io::pipe()?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .spawn()?;
    // It holds the other end of the pipe.
    drop(command);
    let (sender, output) = channel();
    thread::spawn(move || {
        let mut reader = reader;
        let mut piece = [0; 4096];
        while let Ok(bytes) = reader.read(&mut piece)
            && bytes > 0
            && sender.send(piece[..bytes].to_vec()).is_ok()
        {}
    });
    let mut said = Vec::new();
    let ended = wait(&mut child, limit, &output, &mut said)?;
    if ended.is_none() {
        kill(&child);
        child.wait()?;
    }
    let until = Instant::now() + AFTERWARDS;
    while let Ok(piece) = output.recv_timeout(until.saturating_duration_since(Instant::now())) {
        keep(&mut said, &piece);
    }
    let how = match ended {
        None => format!("stopped after {} s", limit.as_secs()),
        Some(status) => told(status),
    };
    Ok(Ended { output: said, how, is_good: ended.is_some_and(|status| status.success()) })
}

/// How it ended, or none where that takes too long. Its output is taken in meanwhile.
fn wait(
    child: &mut Child,
    limit: Duration,
    output: &Receiver<Vec<u8>>,
    said: &mut Vec<u8>,
) -> io::Result<Option<ExitStatus>> {
    let until = Instant::now() + limit;
    loop {
        while let Ok(piece) = output.try_recv() {
            keep(said, &piece);
        }
        match child.try_wait()? {
            Some(status) => return Ok(Some(status)),
            None if Instant::now() >= until => return Ok(None),
            None => thread::sleep(LOOK),
        }
    }
}

fn keep(said: &mut Vec<u8>, piece: &[u8]) {
    let room = OUTPUT_BYTES_MAX.saturating_sub(said.len() as u64);
    said.extend(piece.iter().take(usize::try_from(room).unwrap_or_default()));
}

/// Kills the command and what it started, which is a process group of its own.
fn kill(child: &Child) {
    if let Ok(number) = i32::try_from(child.id())
        && let Some(group) = rustix::process::Pid::from_raw(number)
    {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

fn told(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_end_is_stopped_with_all_that_it_started() {
        let begun = Instant::now();
        let ended = run(line("echo begun; sleep 60 & sleep 60"), Duration::from_secs(1));
        let ended = ended.unwrap();
        assert!(begun.elapsed() < Duration::from_secs(30) && !ended.is_good);
        assert_eq!(ended.output, b"begun\n");
    }
}
