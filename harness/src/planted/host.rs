//! What a planted bug is a part of: a core in its sandbox, with everything that was asked of it,
//! and the ways in which a bug reaches around it.

use crate::sandbox::{Sandbox, git_alone, manifest};
use crate::subject::{CoreSubject, HookedDisk, Subject};
use herma_core::Environment;
use herma_core::disk::SystemDisk;
use herma_model::answer::TakeOutcome;
use herma_model::{Answer, ByteString, Files, Request, Settings};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use tempfile::TempDir;

/// A core, and what a bug can know of it.
pub struct Host {
    core: CoreSubject,
    /// Where it works.
    pub sandbox: Sandbox,
    /// What it is configured with.
    pub settings: Settings,
    /// When it is, in seconds since the epoch.
    pub seconds: i64,
    /// Everything that the core was asked, and what it said.
    pub log: Vec<(Request, Answer)>,
    aside: Option<TempDir>,
}

impl Host {
    /// A core in a sandbox.
    pub fn new(sandbox: &Sandbox, settings: &Settings, seconds: i64) -> Self {
        let core = CoreSubject::new(sandbox, settings, seconds);
        let (sandbox, settings) = (Sandbox::adopt(sandbox.root().to_owned()), settings.clone());
        Host { core, sandbox, settings, seconds, log: Vec::new(), aside: None }
    }

    /// Asks the core, which does it right.
    pub fn ask(&mut self, request: &Request) -> Answer {
        if let Request::SetClock { seconds } = request {
            self.seconds = *seconds;
        }
        let answer = self.core.ask(request);
        self.log.push((request.clone(), answer.clone()));
        answer
    }

    /// Another process with these settings, on the same store and at the same time.
    pub fn another(&self, settings: &Settings) -> CoreSubject {
        CoreSubject::new(&self.sandbox, settings, self.seconds)
    }

    /// Another process in another environment and without a limit of files, on the same disk and at
    /// the same time.
    pub fn elsewhere(&self, change: impl FnOnce(&mut Environment)) -> CoreSubject {
        let mut environment = self.environment();
        change(&mut environment);
        let disk = Arc::new(HookedDisk::of_an_ordinary_user());
        let settings = Settings { max_files: usize::MAX, ..self.settings.clone() };
        CoreSubject::in_environment(disk, environment, &settings, self.seconds)
    }

    fn environment(&self) -> Environment {
        Environment {
            home: self.sandbox.home(),
            current_directory: self.sandbox.current_directory(),
            base: self.sandbox.base(),
        }
    }

    /// What was asked in this turn and process, and what the core said.
    pub fn turn(&self) -> &[(Request, Answer)] {
        let begins = |(request, _): &(Request, Answer)| {
            matches!(request, Request::NewTurn | Request::Reopen)
        };
        let start = self.log.iter().rposition(begins).map_or(0, |at| at + 1);
        &self.log[start..]
    }

    /// The path of a directory or file as typed.
    pub fn path(&self, typed: &ByteString) -> PathBuf {
        let relative = match typed.strip_prefix(b"~") {
            Some(rest) => {
                let rest = rest.iter().copied().skip_while(|byte| *byte == b'/');
                return manifest::on_disk(&self.sandbox.home(), &rest.collect::<Vec<u8>>());
            }
            None => typed,
        };
        manifest::on_disk(&self.sandbox.current_directory(), relative)
    }

    /// The canonical directory that a request is about, where it is inside the sandbox; a bug
    /// never reaches further.
    pub fn project(&self, request: &Request) -> Option<PathBuf> {
        let project = self.path(request.dir()?).canonicalize().ok()?;
        project.starts_with(self.sandbox.root()).then_some(project)
    }

    /// The canonical directory that a request is about, which need not be there.
    pub fn directory(&self, request: &Request) -> Option<PathBuf> {
        let typed = manifest::on_disk(Path::new(""), request.dir()?);
        Some(herma_core::project_directory(&SystemDisk, &self.environment(), &typed))
    }

    /// Every file of the sandbox but the store.
    pub fn files(&self) -> Files {
        let files = manifest::read(self.sandbox.root(), &self.sandbox.base(), false);
        files.map(|manifest| manifest.files).unwrap_or_default()
    }

    /// Plain git on the store: what it printed, without the blanks around it.
    ///
    /// # Errors
    /// Git is not there or fails.
    pub fn git(&self, arguments: &[&str]) -> io::Result<String> {
        Ok(self.feed(arguments, "")?.trim().to_owned())
    }

    /// Plain git on the store, given something to read: what it printed. What it writes is private.
    ///
    /// # Errors
    /// As [`Host::git`].
    pub fn feed(&self, arguments: &[&str], input: &str) -> io::Result<String> {
        let mut git = git_alone();
        git.arg("-C").arg(self.sandbox.store()).args(["-c", "core.sharedRepository=0600"]);
        git.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = git.spawn()?;
        if let Some(mut pipe) = child.stdin.take() {
            pipe.write_all(input.as_bytes())?;
        }
        let output = child.wait_with_output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Puts another commit in the place of the checkpoint that an answer says was taken, made of
    /// that one's text; where none was taken, or it cannot be done, the answer stays as it is.
    pub fn retell(
        &self,
        answer: Answer,
        change: impl FnOnce(&Host, &str) -> io::Result<String>,
    ) -> Answer {
        let other = |id: &str| -> io::Result<String> {
            let text = change(self, &self.feed(&["cat-file", "commit", id], "")?)?;
            let other = self.feed(&["hash-object", "-t", "commit", "-w", "--stdin"], &text)?;
            let points = format!("--points-at={id}");
            let name = self.git(&["for-each-ref", "--format=%(refname)", &points])?;
            self.git(&["update-ref", &name, other.trim()])?;
            // It may be where its history was cut.
            let _ = rewrite(&self.sandbox.store().join("shallow"), |text| {
                text.replace(id, other.trim())
            });
            Ok(other.trim().to_owned())
        };
        match answer {
            Answer::Taken { outcome: TakeOutcome::Created { id }, skipped } => {
                let id = other(&id).unwrap_or(id);
                Answer::Taken { outcome: TakeOutcome::Created { id }, skipped }
            }
            answer => answer,
        }
    }

    /// A folder of the bug's own, outside the sandbox.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn aside(&mut self) -> io::Result<&Path> {
        let aside = match self.aside.take() {
            Some(aside) => aside,
            None => {
                let beside = self.sandbox.root().parent().unwrap_or(Path::new("/"));
                tempfile::Builder::new().prefix("herma-").tempdir_in(beside)?
            }
        };
        Ok(self.aside.insert(aside).path())
    }
}

/// The id of the checkpoint that an answer says was taken.
pub fn created(answer: &Answer) -> Option<&str> {
    match answer {
        Answer::Taken { outcome: TakeOutcome::Created { id }, .. } => Some(id),
        _ => None,
    }
}

/// Whether a request is for a checkpoint, automatic or not.
pub fn takes(request: &Request) -> bool {
    matches!(request, Request::Checkpoint { .. } | Request::EnsureCheckpoint { .. })
}

/// The answer to a request for a checkpoint that comes to nothing.
pub fn none_taken(outcome: TakeOutcome) -> Answer {
    Answer::Taken { outcome, skipped: Vec::new() }
}

/// The same request about another directory.
pub fn about(request: &Request, directory: &Path) -> Request {
    let mut request = request.clone();
    if let Request::EnsureCheckpoint { dir, .. }
    | Request::Checkpoint { dir, .. }
    | Request::List { dir }
    | Request::Diff { dir, .. }
    | Request::Restore { dir, .. }
    | Request::RestoreFile { dir, .. } = &mut request
    {
        *dir = ByteString::from(directory.as_os_str().as_bytes());
    }
    request
}

/// Gives a file another text, and leaves its permissions as they are.
///
/// # Errors
/// It cannot be read or written.
pub fn rewrite(path: &Path, change: impl FnOnce(String) -> String) -> io::Result<()> {
    fs::write(path, change(fs::read_to_string(path)?))
}

/// Writes a file that only its owner may read, in folders that only its owner may enter.
///
/// # Errors
/// It cannot be written.
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(content)
}
