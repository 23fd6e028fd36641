//! The tools of a session: they write files and run commands, as those of an agent do.

use herma_core::triggers::patch::{self, FilePatch, Hunk};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
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

/// Writes a file and the directories it needs.
pub fn write_file(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, content)
}

/// Applies a patch to the files below a directory: all of it or nothing, but for errors of the disk.
/// Returns what was done.
pub fn apply_patch(directory: &Path, body: &[u8]) -> Result<Vec<String>, String> {
    let files = patch::read(body);
    if files.is_empty() {
        return Err("it names no file".to_owned());
    }
    let mut done = Vec::new();
    let mut writes = Vec::new();
    for file in &files {
        writes.push(applied(directory, file)?);
        done.push(match (&file.from, &file.to) {
            (Some(from), Some(to)) if from == to => format!("changed {}", shown(to)),
            (Some(from), Some(to)) => format!("moved {} to {}", shown(from), shown(to)),
            (None, Some(to)) => format!("made {}", shown(to)),
            (Some(from), None) => format!("removed {}", shown(from)),
            (None, None) => continue,
        });
    }
    for Write { to, gone } in writes {
        if let Some((path, content)) = to {
            write_file(&path, &content).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        if let Some(path) = gone {
            fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(done)
}

struct Write {
    to: Option<(PathBuf, Vec<u8>)>,
    gone: Option<PathBuf>,
}

/// What a patch makes of one file.
fn applied(directory: &Path, file: &FilePatch) -> Result<Write, String> {
    let full = |path: &Vec<u8>| directory.join(OsStr::from_bytes(path));
    let before = match &file.from {
        Some(from) => fs::read(full(from)).map_err(|error| format!("{}: {error}", shown(from)))?,
        None => Vec::new(),
    };
    let named = file.from.as_ref().or(file.to.as_ref()).map(|path| shown(path)).unwrap_or_default();
    let content =
        replaced(&before, &file.hunks).ok_or_else(|| format!("it does not fit {named}"))?;
    let gone = file.from.as_ref().filter(|from| file.to.as_ref() != Some(*from)).map(full);
    Ok(Write { to: file.to.as_ref().map(|to| (full(to), content)), gone })
}

/// The content after each hunk took the place of its old lines, which are looked for one after
/// the other; none where they are not there.
fn replaced(before: &[u8], hunks: &[Hunk]) -> Option<Vec<u8>> {
    let lines: Vec<&[u8]> = before.split_inclusive(|byte| *byte == b'\n').collect();
    let mut content = Vec::new();
    let mut at = 0;
    for hunk in hunks {
        let fits = |start: &usize| {
            let there = lines.get(*start..*start + hunk.old.len());
            there.is_some_and(|there| there.iter().zip(&hunk.old).all(|(there, old)| there == old))
        };
        let start = match hunk.old.is_empty() {
            true => lines.len(),
            false => (at..lines.len()).find(fits)?,
        };
        content.extend(lines.get(at..start)?.concat());
        content.extend(hunk.new.concat());
        at = start + hunk.old.len();
    }
    content.extend(lines.get(at..)?.concat());
    Some(content)
}

fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

/// How a command ended, and what it said.
pub struct Ended {
    /// Its output and its errors, as they came.
    pub output: Vec<u8>,
    /// How it ended, for a person.
    pub how: String,
    /// Whether it ended well.
    pub is_good: bool,
}

/// Runs a line of shell in a directory, with all that it starts, for no longer than that.
pub fn run(directory: &Path, command: &str, limit: Duration) -> io::Result<Ended> {
    let (reader, writer) = io::pipe()?;
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .spawn()?;
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
