//! A core with code around it that may change its requests, its answers and what it leaves behind.
//! Most planted bugs are built on it. Access to the store is in `stored`.

use crate::inject::{Injected, Point};
use crate::sandbox::{Sandbox, edits, manifest};
use crate::subject::{CoreSubject, HookedDisk, Subject};
use herma_core::Environment;
use herma_core::disk::SystemDisk;
use herma_model::answer::{Changed, CheckpointOutcome};
use herma_model::edit::Change;
use herma_model::request::{Answered, Effect};
use herma_model::{Answer, ByteString, Code, Files, Request, Settings};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// A core, and what a bug may need to know about it.
pub struct Intercepted {
    pub(super) core: CoreSubject,
    second: Option<CoreSubject>,
    /// Where it works.
    pub sandbox: Sandbox,
    /// What it is configured with.
    pub settings: Settings,
    /// When it is, in seconds since the epoch.
    pub seconds: i64,
    /// Every request to the core, with its answer.
    pub log: Vec<(Request, Answer)>,
    aside: Option<TempDir>,
}

impl Intercepted {
    /// A core in a sandbox.
    pub fn new(sandbox: &Sandbox, settings: &Settings, seconds: i64) -> Self {
        let core = CoreSubject::new(sandbox, settings, seconds);
        let (sandbox, settings) = (Sandbox::adopt(sandbox.root().to_owned()), settings.clone());
        let (log, second, aside) = (Vec::new(), None, None);
        Intercepted { core, second, sandbox, settings, seconds, log, aside }
    }

    /// Asks the correct core.
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

    /// Asks the bug while something happens at a call of the core in it.
    ///
    /// # Errors
    /// It cannot be made to happen.
    pub fn ask_injected(
        &mut self,
        request: &Request,
        point: &Point,
        ask: fn(&mut Intercepted, &Request) -> Answer,
    ) -> io::Result<Option<Injected>> {
        self.core.arm(point)?;
        let answer = ask(self, request);
        let injected = self.core.disarm(point, answer)?;
        if injected.came && point.what.ends_process() {
            self.log.push((Request::Reopen, Answer::Done));
        }
        Ok(Some(injected))
    }

    /// Asks the correct core for the bug's own purposes: nobody is told.
    pub fn core_answer(&mut self, request: &Request) -> Answer {
        self.core.ask(request)
    }

    /// Asks a second core on the same store instead, with settings of its own from its first
    /// request on. It lives as long as the first and keeps turns of its own.
    pub fn ask_second(
        &mut self,
        request: &Request,
        configure: impl FnOnce(&mut Environment, &mut Settings),
    ) -> Answer {
        let mut second = self.second.take().unwrap_or_else(|| {
            let mut environment = CoreSubject::environment_in(&self.sandbox);
            let mut settings = self.settings.clone();
            configure(&mut environment, &mut settings);
            let disk = Arc::new(HookedDisk::of_an_ordinary_user());
            CoreSubject::in_environment(disk, environment, &settings, self.seconds)
        });
        let answer = second.ask(request);
        self.second = Some(second);
        self.log.push((request.clone(), answer.clone()));
        answer
    }

    /// Asks the core while the entries of the base that `is_hidden` selects are moved away.
    pub fn ask_without(&mut self, request: &Request, is_hidden: fn(&Path) -> bool) -> Answer {
        // What cannot be moved stays, and then the bug does not show.
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

    /// Another process with the same settings, on the same store and at the same time.
    pub fn another(&self) -> CoreSubject {
        CoreSubject::new(&self.sandbox, &self.settings, self.seconds)
    }

    /// The requests of this turn and process, with their answers.
    pub fn turn(&self) -> &[(Request, Answer)] {
        let begins = |(request, _): &(Request, Answer)| {
            matches!(request, Request::NewTurn | Request::Reopen)
        };
        let start = self.log.iter().rposition(begins).map_or(0, |at| at + 1);
        &self.log[start..]
    }

    /// Whether an automatic checkpoint of the request's project had such an answer in this turn and
    /// process.
    pub fn had(&self, request: &Request, what: impl Fn(&Answer) -> bool) -> bool {
        self.turn().iter().any(|(before, answer)| {
            matches!(before, Request::EnsureCheckpoint { .. })
                && before.dir() == request.dir()
                && what(answer)
        })
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

    /// The canonical directory of a request, if it is inside the sandbox; a bug never reaches
    /// further.
    pub fn project(&self, request: &Request) -> Option<PathBuf> {
        let project = self.path(request.dir()?).canonicalize().ok()?;
        project.starts_with(self.sandbox.root()).then_some(project)
    }

    /// The same, relative to the root of the sandbox.
    pub fn project_inside(&self, request: &Request) -> Option<ByteString> {
        let project = self.project(request)?;
        let inside = project.strip_prefix(self.sandbox.root()).ok()?;
        Some(ByteString::from(inside.as_os_str().as_bytes()))
    }

    /// The canonical directory of a request, which need not exist.
    pub fn directory(&self, request: &Request) -> Option<PathBuf> {
        let typed = manifest::on_disk(Path::new(""), request.dir()?);
        let environment = CoreSubject::environment_in(&self.sandbox);
        Some(herma_core::project_directory(&SystemDisk, &environment, &typed))
    }

    /// Every file of the sandbox but the store.
    pub fn files(&self) -> Files {
        let files = manifest::read(self.sandbox.root(), &self.sandbox.base(), None);
        files.map(|manifest| manifest.files).unwrap_or_default()
    }

    /// Restores a path, relative to the root of the sandbox, to what it was in `files`.
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
                if let Some(bits) = files.permissions(path) {
                    edits::apply(root, &Change::SetPermissions(path.clone(), bits))?;
                }
            }
        }
        Ok(())
    }

    /// Whether something made at an absolute path would be in the sandbox, whatever links are on
    /// the way.
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

/// Whether every process gets this request.
fn is_for_all(request: &Request) -> bool {
    matches!(request, Request::NewTurn | Request::Reopen | Request::SetClock { .. })
}

/// The id of the checkpoint that an answer says was taken.
pub fn created(answer: &Answer) -> Option<&str> {
    match answer {
        Answer::Taken { outcome: CheckpointOutcome::Created { id }, .. } => Some(id),
        _ => None,
    }
}

/// The answer that no checkpoint was taken.
pub fn none_taken(outcome: CheckpointOutcome) -> Answer {
    Answer::Taken { outcome, skipped: Vec::new() }
}

/// The answer that one checkpoint was taken of everything.
pub fn taken(id: String) -> Answer {
    none_taken(CheckpointOutcome::Created { id })
}

/// A refusal that changed nothing.
pub fn refused(code: Code, message: &str) -> Answer {
    Answer::Refused { code, message: message.to_owned(), changed: Changed::None }
}

/// Whether a request is for a checkpoint, automatic or not.
pub fn takes(request: &Request) -> bool {
    let kind = request.kind();
    kind.effect == Effect::Stores && matches!(kind.answered, Answered::Taken | Answered::Protected)
}

/// The same request with the checkpoint named otherwise.
pub fn with_target(request: &Request, named: impl Into<ByteString>) -> Request {
    let mut request = request.clone();
    if let Some(target) = request.target_mut() {
        *target = named.into();
    }
    request
}

/// The same request about another directory.
pub fn about(request: &Request, directory: &Path) -> Request {
    let mut request = request.clone();
    if let Some(dir) = request.dir_mut() {
        *dir = ByteString::from(directory.as_os_str().as_bytes());
    }
    request
}

/// The names in a folder, sorted; empty if there is no folder.
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

/// Changes the text of a file, and keeps its permissions.
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
