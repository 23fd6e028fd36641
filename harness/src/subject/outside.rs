//! Making something happen at one call of another process, from outside: a command that supervises any
//! program (`herma-conform supervised`) tells of its calls below some folders, and does it there.

use crate::history::{At, What};
use crate::inject::hold::Hold;
use crate::inject::{Calls, Point, sort_of};
use crate::protocol::message::Open;
use crate::sandbox::Scratch;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io, thread};
use tempfile::TempDir;

/// One process that is supervised.
pub struct Supervised {
    point: Point,
    below: Vec<PathBuf>,
    folder: TempDir,
}

impl Supervised {
    /// A process with that store, of which calls about it and the projects count, or about the projects
    /// alone where somebody edits these. What is noted stands beside the sandbox.
    ///
    /// # Errors
    /// There is no place to note its calls.
    pub fn new(point: &Point, open: &Open) -> io::Result<Self> {
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        let (store, projects) = (path(&open.store), path(&open.current_directory));
        let place = projects.ancestors().nth(2).unwrap_or(&projects).to_owned();
        let below = if point.what == What::Hold { vec![projects] } else { vec![store, projects] };
        Ok(Supervised { point: point.clone(), below, folder: Scratch::at(place).temporary()? })
    }

    /// The command that supervises `command`, where `supervisor` is that without its arguments.
    pub fn command(&self, supervisor: &[OsString], command: &[OsString]) -> Vec<OsString> {
        let what = serde_json::to_string(&self.point.what).unwrap_or_default();
        let calls = Calls::of(self.point.what).name();
        let mut all = supervisor.to_vec();
        for folder in &self.below {
            all.extend(["--below".into(), folder.into()]);
        }
        all.extend(["--points".into(), self.points().into(), "--calls".into(), calls.into()]);
        all.extend(["--what".into(), what.into()]);
        if let At::Call(at) = self.point.call {
            all.extend(["--at".into(), at.to_string().into()]);
        }
        all.push("--".into());
        all.extend_from_slice(command);
        all
    }

    /// Does some work while the process may come to be held at its call: then the gate says so.
    ///
    /// # Errors
    /// It cannot be told to go on.
    pub fn beside<T>(&self, work: impl FnOnce() -> T) -> io::Result<T> {
        let (hold, is_over) = (Hold::beside(&self.points()), AtomicBool::new(false));
        thread::scope(|scope| {
            let other = self.point.what.waits().then(|| {
                scope.spawn(|| {
                    if hold.wait(&|| is_over.load(Ordering::SeqCst)) {
                        self.point.gate.hold();
                    }
                    hold.release()
                })
            });
            let done = work();
            is_over.store(true, Ordering::SeqCst);
            let died = || Err(io::Error::other("who waits for the call died"));
            other.map_or(Ok(()), |other| other.join().unwrap_or_else(|_| died()))?;
            Ok(done)
        })
    }

    /// Its calls up to the one at which it happens, and whether it came so far. Where the process before it
    /// came to no end it was never started, and made none.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn calls(&self) -> io::Result<(Vec<String>, bool)> {
        let noted = match fs::read(self.points()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok((Vec::new(), false));
            }
            noted => noted?,
        };
        let lines = noted.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let call = |line: &[u8]| {
            let tab = line.iter().position(|byte| *byte == b'\t').unwrap_or(line.len());
            let path = line.get(tab + 1..).unwrap_or_default();
            let name = String::from_utf8_lossy(&line[..tab]).into_owned();
            format!("{name} {}", sort_of(Path::new(OsStr::from_bytes(path))))
        };
        let mut calls: Vec<String> = lines.map(call).collect();
        let At::Call(at) = self.point.call else { return Ok((calls, true)) };
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let came = calls.len() >= at;
        calls.truncate(at);
        Ok((calls, came))
    }

    fn points(&self) -> PathBuf {
        self.folder.path().join("points")
    }
}
