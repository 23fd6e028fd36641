//! What a planted bug is a part of: a core in its sandbox, with everything that was asked of it,
//! and the ways in which a bug reaches around it.

use crate::sandbox::{Sandbox, git_alone, manifest};
use crate::subject::{CoreSubject, Subject};
use herma_model::answer::TakeOutcome;
use herma_model::{Answer, ByteString, Files, Request, Settings};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A core, and what a bug can know of it.
pub struct Host {
    core: CoreSubject,
    second: Option<CoreSubject>,
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
        let (log, second, aside) = (Vec::new(), None, None);
        Host { core, second, sandbox, settings, seconds, log, aside }
    }

    /// Asks the core, which does it right.
    pub fn ask(&mut self, request: &Request) -> Answer {
        if let Request::SetClock { seconds } = request {
            self.seconds = *seconds;
        }
        if let (Some(second), true) = (&mut self.second, is_for_all(request)) {
            second.ask(request);
        }
        let answer = self.core.ask(request);
        self.log.push((request.clone(), answer.clone()));
        answer
    }

    /// Asks a second core on the same store instead, which was configured otherwise when it was
    /// first asked. It lives as long as the first and keeps turns of its own.
    pub fn ask_second(&mut self, request: &Request, configure: fn(&mut Settings)) -> Answer {
        let mut second = self.second.take().unwrap_or_else(|| {
            let mut settings = self.settings.clone();
            configure(&mut settings);
            self.another(&settings)
        });
        let answer = second.ask(request);
        self.second = Some(second);
        self.log.push((request.clone(), answer.clone()));
        answer
    }

    /// Asks the core while everything in the base of such a name is out of its way.
    pub fn ask_without(&mut self, request: &Request, is_hidden: fn(&Path) -> bool) -> Answer {
        // What cannot be moved stays in the way, and the bug just does not show.
        let hidden = self.hide(is_hidden).unwrap_or_default();
        let answer = self.ask(request);
        let base = self.sandbox.base();
        for (place, name) in hidden {
            let _ = fs::create_dir_all(&base).and_then(|()| fs::rename(place, base.join(name)));
        }
        answer
    }

    fn hide(&mut self, is_hidden: fn(&Path) -> bool) -> io::Result<Vec<(PathBuf, OsString)>> {
        let (base, aside) = (self.sandbox.base(), self.aside()?.to_owned());
        let mut hidden = Vec::new();
        for name in names(&base)?.into_iter().filter(|name| is_hidden(&base.join(name))) {
            let place = aside.join(&name);
            fs::rename(base.join(&name), &place)?;
            hidden.push((place, name));
        }
        Ok(hidden)
    }

    /// Another process with these settings, on the same store and at the same time.
    pub fn another(&self, settings: &Settings) -> CoreSubject {
        CoreSubject::new(&self.sandbox, settings, self.seconds)
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

    /// Every file of the sandbox but the store.
    pub fn files(&self) -> Files {
        let files = manifest::read(self.sandbox.root(), &self.sandbox.base(), false);
        files.map(|manifest| manifest.files).unwrap_or_default()
    }

    /// Plain git on the store: what it printed. What it writes is for the owner only, as it must be.
    ///
    /// # Errors
    /// Git is not there or fails.
    pub fn git(&self, arguments: &[&str]) -> io::Result<String> {
        let output = git_alone()
            .arg("-C")
            .arg(self.sandbox.store())
            .args(["-c", "core.sharedRepository=0600"])
            .args(arguments)
            .output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
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

/// Whether every process is told this.
fn is_for_all(request: &Request) -> bool {
    matches!(request, Request::NewTurn | Request::Reopen | Request::SetClock { .. })
}

/// The names in a folder, sorted; none where there is no folder.
///
/// # Errors
/// It cannot be read.
pub fn names(folder: &Path) -> io::Result<Vec<OsString>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names =
        entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<OsString>>>()?;
    names.sort();
    Ok(names)
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
