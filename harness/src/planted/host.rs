//! What a planted bug is a part of: a core in its sandbox, with everything that was asked of it,
//! and the ways in which a bug reaches around it.

use crate::history::concrete::hash_of;
use crate::sandbox::{Sandbox, edits, git_alone, manifest};
use crate::subject::{CoreSubject, Subject};
use herma_model::answer::{Listed, TakeOutcome};
use herma_model::edit::Change;
use herma_model::{Answer, ByteString, Files, Node, Request, Settings};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Fewer digits are no id.
const SHORT_ID_MIN: usize = 4;

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
        let printed = self.git_bytes(arguments)?;
        Ok(String::from_utf8_lossy(&printed).trim().to_owned())
    }

    /// The same, byte for byte.
    ///
    /// # Errors
    /// As [`Host::git`].
    pub fn git_bytes(&self, arguments: &[&str]) -> io::Result<Vec<u8>> {
        let output = git_alone().arg("-C").arg(self.sandbox.store()).args(arguments).output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr)));
        }
        Ok(output.stdout)
    }

    /// The ref that holds the history of the project that a request is about.
    pub fn history(&self, request: &Request) -> Option<String> {
        let project = self.project(request).or_else(|| Some(self.path(request.dir()?)))?;
        Some(format!("refs/hermes/{}", hash_of(project.as_os_str().as_bytes())))
    }

    /// The checkpoints of the project that a request is about, as a correct list has them.
    pub fn listed(&self, request: &Request) -> Vec<Listed> {
        let Some(dir) = request.dir().cloned() else { return Vec::new() };
        match self.another(&self.settings).ask(&Request::List { dir }) {
            Answer::Listed(listed) => listed,
            _ => Vec::new(),
        }
    }

    /// The id of the checkpoint that a request names by its number or id.
    pub fn named(&self, request: &Request) -> Option<String> {
        let text = String::from_utf8_lossy(target(request)?).to_lowercase();
        let number = text.parse().unwrap_or(0);
        let names = |one: &Listed| {
            one.number == number || text.len() >= SHORT_ID_MIN && one.id.starts_with(&text)
        };
        self.listed(request).into_iter().find(names).map(|one| one.id)
    }

    /// What a stored checkpoint holds.
    pub fn tree(&self, id: &str) -> BTreeMap<ByteString, Node> {
        let listed = self.git_bytes(&["ls-tree", "-r", "-z", "--full-tree", id]);
        let node = |record: &[u8]| {
            let (head, path) = record.split_at(record.iter().position(|byte| *byte == b'\t')?);
            let head = String::from_utf8_lossy(head);
            let (mode, blob) = (head.get(..6)?, head.rsplit(' ').next()?);
            let content = self.git_bytes(&["cat-file", "blob", blob]).ok()?.into();
            let executable = mode == "100755";
            let node = match mode {
                "120000" => Node::Link { target: content },
                _ => Node::File { content, executable, readable: true },
            };
            Some((ByteString::from(path.get(1..)?), node))
        };
        listed.unwrap_or_default().split(|byte| *byte == 0).filter_map(node).collect()
    }

    /// Stores a commit of that tree as a checkpoint made now, and makes it the newest of a history.
    ///
    /// # Errors
    /// As [`Host::git`].
    pub fn commit(&self, history: &str, tree: &str, parent: &str) -> io::Result<String> {
        let time = format!("{} +0000", self.seconds);
        let mut git = git_alone();
        git.env("GIT_AUTHOR_DATE", &time).env("GIT_COMMITTER_DATE", &time);
        git.args(["-c", "user.name=Hermes", "-c", "user.email=hermes@localhost", "-C"]);
        git.arg(self.sandbox.store()).args(["commit-tree", "-m", "before rollback"]);
        let output = git.args(["-p", parent, tree]).output()?;
        let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        self.git(&["update-ref", history, &id])?;
        Ok(id)
    }

    /// Makes a path, relative to the root of the sandbox, what it was in `files`.
    ///
    /// # Errors
    /// Its place is no longer there, or leads out of the sandbox.
    pub fn put_back(&self, files: &Files, path: &ByteString) -> io::Result<()> {
        let root = self.sandbox.root();
        let full = manifest::on_disk(root, path);
        if let Some(parent) = full.parent() {
            fs::create_dir_all(parent)?;
        }
        if !self.is_inside(&full) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        if full.symlink_metadata().is_ok() {
            edits::apply(root, &Change::Remove(path.clone()))?;
        }
        let below = files.below(path).map(|(path, node)| (path, Some(node)));
        for (path, node) in std::iter::once((path, files.get(path))).chain(below) {
            if let Some(node) = node {
                edits::apply(root, &Change::Make(path.clone(), node.clone()))?;
            }
        }
        Ok(())
    }

    /// Whether what is made at an absolute path is made in the sandbox, whatever links are on the
    /// way.
    pub fn is_inside(&self, path: &Path) -> bool {
        let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
        parent.is_some_and(|parent| parent.starts_with(self.sandbox.root()))
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

/// How a request names a checkpoint, where it names one.
pub fn target(request: &Request) -> Option<&ByteString> {
    match request {
        Request::Diff { target, .. }
        | Request::Restore { target, .. }
        | Request::RestoreFile { target, .. } => Some(target),
        _ => None,
    }
}

/// The same request with the checkpoint named otherwise.
pub fn with_target(request: &Request, named: impl Into<ByteString>) -> Request {
    let mut request = request.clone();
    if let Request::Diff { target, .. }
    | Request::Restore { target, .. }
    | Request::RestoreFile { target, .. } = &mut request
    {
        *target = named.into();
    }
    request
}

/// Whether a request is for a restore, full or not.
pub fn restores(request: &Request) -> bool {
    matches!(request, Request::Restore { .. } | Request::RestoreFile { .. })
}
