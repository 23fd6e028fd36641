//! What a planted bug is a part of: a core in its sandbox, with everything that was asked of it,
//! and the ways in which a bug reaches around it.

use crate::sandbox::{Sandbox, git_alone, manifest};
use crate::subject::{CoreSubject, Subject};
use herma_model::answer::TakeOutcome;
use herma_model::{Answer, ByteString, Files, Request, Settings};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
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

    /// Plain git on the store: what it printed.
    ///
    /// # Errors
    /// Git is not there or fails.
    pub fn git(&self, arguments: &[&str]) -> io::Result<String> {
        self.git_given(arguments, b"")
    }

    /// The same, given these bytes. What it writes is for its owner only, as all of the store is.
    ///
    /// # Errors
    /// As [`Host::git`].
    pub fn git_given(&self, arguments: &[&str], given: &[u8]) -> io::Result<String> {
        let printed = self.git_bytes(arguments, given)?;
        Ok(String::from_utf8_lossy(&printed).trim_end_matches('\n').to_owned())
    }

    /// The same, as the bytes it printed.
    ///
    /// # Errors
    /// As [`Host::git`].
    pub fn git_bytes(&self, arguments: &[&str], given: &[u8]) -> io::Result<Vec<u8>> {
        let private = ["-c", "core.sharedRepository=0600"];
        let mut git = git_alone();
        git.arg("-C").arg(self.sandbox.store()).args(private).args(arguments);
        git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut git = git.spawn()?;
        if let Some(mut input) = git.stdin.take() {
            input.write_all(given)?;
        }
        let output = git.wait_with_output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr)));
        }
        Ok(output.stdout)
    }

    /// The name under which the history is kept whose newest checkpoint is `id`.
    ///
    /// # Errors
    /// As [`Host::git`].
    pub fn name_of(&self, id: &str) -> io::Result<String> {
        self.git(&["for-each-ref", "--format=%(refname)", &format!("--points-at={id}")])
    }

    /// Stores a commit that is one of the store with its text changed, as the newest checkpoint in
    /// the place of `newest`; answers its id.
    ///
    /// # Errors
    /// As [`Host::git`].
    pub fn commit_instead(
        &self,
        newest: &str,
        change: impl Fn(&str) -> String,
    ) -> io::Result<String> {
        let text = format!("{}\n", self.git(&["cat-file", "commit", newest])?);
        let written = ["hash-object", "-t", "commit", "-w", "--stdin"];
        let id = self.git_given(&written, change(&text).as_bytes())?;
        self.git(&["update-ref", &self.name_of(newest)?, &id])?;
        Ok(id)
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
