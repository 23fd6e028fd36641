//! Injections at a call of another process, from outside: a command that supervises any program
//! (`herma-conform supervised`) records its calls below some folders, and injects the event at one of them.

use crate::history::{CallPosition, InjectedEvent};
use crate::inject::hold::Hold;
use crate::inject::{Calls, Point, kind_of};
use crate::protocol::message::Open;
use crate::sandbox::Scratch;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io, thread};
use tempfile::TempDir;

/// A supervised process.
pub struct Supervised {
    point: Point,
    below: Vec<PathBuf>,
    folder: TempDir,
}

impl Supervised {
    /// A process with that store. Its calls below the store and the projects count, or only those below the
    /// projects while files are edited there. The calls are recorded in a folder next to the sandbox.
    ///
    /// # Errors
    /// The folder for its calls cannot be made.
    pub fn new(point: &Point, open: &Open) -> io::Result<Self> {
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        let store = path(&open.store);
        let projects = path(&open.current_directory);
        let parent = projects.ancestors().nth(2).unwrap_or(&projects).to_owned();
        let below =
            if point.what == InjectedEvent::Hold { vec![projects] } else { vec![store, projects] };
        Ok(Supervised { point: point.clone(), below, folder: Scratch::at(parent).temporary()? })
    }

    /// The command that supervises `command`; `supervisor` is the supervising command without arguments.
    pub fn command(&self, supervisor: &[OsString], command: &[OsString]) -> Vec<OsString> {
        let injection = serde_json::to_string(&self.point.what).unwrap_or_default();
        let calls = Calls::of(self.point.what).name();
        let mut arguments = supervisor.to_vec();
        for folder in &self.below {
            arguments.extend(["--below".into(), folder.into()]);
        }
        arguments.extend(["--points".into(), self.points().into(), "--calls".into(), calls.into()]);
        arguments.extend(["--what".into(), injection.into()]);
        if let CallPosition::Call(call) = self.point.call {
            arguments.extend(["--at".into(), call.to_string().into()]);
        }
        arguments.push("--".into());
        arguments.extend_from_slice(command);
        arguments
    }

    /// Runs `work` while the process may be held at its call; the gate is held as long as the process is.
    ///
    /// # Errors
    /// The process cannot be released.
    pub fn run_with_hold<T>(&self, work: impl FnOnce() -> T) -> io::Result<T> {
        let hold = Hold::beside(&self.points());
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let waiting = self.point.what.waits().then(|| {
                scope.spawn(|| {
                    if hold.wait(&|| is_over.load(Ordering::SeqCst)) {
                        self.point.gate.hold();
                    }
                    hold.release()
                })
            });
            let result = work();
            is_over.store(true, Ordering::SeqCst);
            let panicked = || Err(io::Error::other("who waits for the call died"));
            waiting.map_or(Ok(()), |waiting| waiting.join().unwrap_or_else(|_| panicked()))?;
            Ok(result)
        })
    }

    /// The calls up to the call of the injection, and whether that call was reached. If the process was never
    /// started, since the process before it did not end, there are no calls.
    ///
    /// # Errors
    /// The recorded calls cannot be read.
    pub fn calls(&self) -> io::Result<(Vec<String>, bool)> {
        let recorded = match fs::read(self.points()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok((Vec::new(), false));
            }
            recorded => recorded?,
        };
        let lines = recorded.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let call = |line: &[u8]| {
            let tab = line.iter().position(|byte| *byte == b'\t').unwrap_or(line.len());
            let path = line.get(tab + 1..).unwrap_or_default();
            let name = String::from_utf8_lossy(&line[..tab]).into_owned();
            format!("{name} {}", kind_of(Path::new(OsStr::from_bytes(path))))
        };
        let mut calls: Vec<String> = lines.map(call).collect();
        let CallPosition::Call(number) = self.point.call else { return Ok((calls, true)) };
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let has_happened = calls.len() >= number;
        calls.truncate(number);
        Ok((calls, has_happened))
    }

    fn points(&self) -> PathBuf {
        self.folder.path().join("points")
    }
}
