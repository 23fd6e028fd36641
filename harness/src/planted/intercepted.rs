//! A core with code around it that may change its requests, its answers, and the files and the store after
//! a request. Most planted bugs are built on it. Access to the store is in `stored`.

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

/// A core, with its environment and a log of its requests.
pub struct Intercepted {
    pub(super) core: CoreSubject,
    /// A core on the same store with other settings, once a bug has used one.
    second: Option<CoreSubject>,
    /// The sandbox of both cores.
    pub sandbox: Sandbox,
    /// The settings of the first core.
    pub settings: Settings,
    /// The present time, in seconds since the epoch.
    pub seconds: i64,
    /// Every request to the core, with its answer.
    pub log: Vec<(Request, Answer)>,
    scratch: Option<TempDir>,
}

impl Intercepted {
    /// A core in a sandbox.
    pub fn new(sandbox: &Sandbox, settings: &Settings, seconds: i64) -> Self {
        let core = CoreSubject::new(sandbox, settings, seconds);
        let sandbox = Sandbox::adopt(sandbox.root().to_owned());
        let settings = settings.clone();
        Intercepted {
            core,
            second: None,
            sandbox,
            settings,
            seconds,
            log: Vec::new(),
            scratch: None,
        }
    }

    /// Asks the correct core.
    pub fn ask(&mut self, request: &Request) -> Answer {
        if let Request::SetClock { seconds } = request {
            self.seconds = *seconds;
        }
        if let (Some(second), true) = (&mut self.second, is_for_every_process(request)) {
            second.ask(request);
        }
        let answer = self.core.ask(request);
        self.log.push((request.clone(), answer.clone()));
        answer
    }

    /// Asks the bug under an injection into a call of its core.
    ///
    /// # Errors
    /// The injection cannot be set up.
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

    /// Asks the correct core without recording the request in the log.
    pub fn core_answer(&mut self, request: &Request) -> Answer {
        self.core.ask(request)
    }

    /// Asks a second core on the same store instead. `configure` changes its environment and settings when
    /// it is first asked; from then on it exists as long as the first core, with its own turns.
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

    /// Asks the core while the entries of the base that `is_hidden` selects are moved elsewhere.
    pub fn ask_without(&mut self, request: &Request, is_hidden: fn(&Path) -> bool) -> Answer {
        // An entry that cannot be moved stays, and the bug does not show.
        let hidden = self.hide(is_hidden).unwrap_or_default();
        let answer = self.ask(request);
        let base = self.sandbox.base();
        for (path, name) in hidden {
            let _ = fs::create_dir_all(&base).and_then(|()| fs::rename(path, base.join(name)));
        }
        answer
    }

    /// Moves entries of the base to the scratch folder; returns their new paths and their names.
    fn hide(&mut self, is_hidden: fn(&Path) -> bool) -> io::Result<Vec<(PathBuf, OsString)>> {
        let base = self.sandbox.base();
        let scratch = self.scratch_folder()?.to_owned();
        let mut hidden = Vec::new();
        for name in names(&base)?.into_iter().filter(|name| is_hidden(&base.join(name))) {
            let path = scratch.join(&name);
            fs::rename(base.join(&name), &path)?;
            hidden.push((path, name));
        }
        Ok(hidden)
    }

    /// Another process on the same store, with the same settings and time.
    pub fn another_process(&self) -> CoreSubject {
        CoreSubject::new(&self.sandbox, &self.settings, self.seconds)
    }

    /// The requests since this turn or process began, with their answers.
    pub fn turn(&self) -> &[(Request, Answer)] {
        let begins_turn = |(request, _): &(Request, Answer)| {
            matches!(request, Request::NewTurn | Request::Reopen)
        };
        let start = self.log.iter().rposition(begins_turn).map_or(0, |index| index + 1);
        &self.log[start..]
    }

    /// Whether the log of this turn has an automatic checkpoint of the request's project with an answer that
    /// `is_match` accepts.
    pub fn had_automatic_answer(
        &self,
        request: &Request,
        is_match: impl Fn(&Answer) -> bool,
    ) -> bool {
        self.turn().iter().any(|(earlier, answer)| {
            matches!(earlier, Request::EnsureCheckpoint { .. })
                && earlier.dir() == request.dir()
                && is_match(answer)
        })
    }

    /// The absolute path of a directory or file that a request names.
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

    /// The canonical directory of a request, if it is inside the sandbox: a bug never touches anything
    /// outside.
    pub fn project(&self, request: &Request) -> Option<PathBuf> {
        let project = self.path(request.dir()?).canonicalize().ok()?;
        project.starts_with(self.sandbox.root()).then_some(project)
    }

    /// The canonical directory of a request, relative to the root of the sandbox.
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

    /// Every file of the sandbox except the store.
    pub fn files(&self) -> Files {
        let files = manifest::read_all(&self.sandbox);
        files.map(|manifest| manifest.files).unwrap_or_default()
    }

    /// Restores a path, relative to the root of the sandbox, to its state in `files`.
    ///
    /// # Errors
    /// Its folder cannot be made, or leads out of the sandbox.
    pub fn put_back(&self, files: &Files, path: &ByteString) -> io::Result<()> {
        let root = self.sandbox.root();
        let absolute = manifest::on_disk(root, path);
        if let Some(parent) = absolute.parent() {
            fs::create_dir_all(parent)?;
        }
        if !self.is_inside(&absolute) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        if absolute.symlink_metadata().is_ok() {
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

    /// Whether a file made at an absolute path would be in the sandbox, through whatever links are on the
    /// way.
    pub fn is_inside(&self, path: &Path) -> bool {
        let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
        parent.is_some_and(|parent| parent.starts_with(self.sandbox.root()))
    }

    /// A temporary folder alongside the sandbox.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn scratch_folder(&mut self) -> io::Result<&Path> {
        let scratch = match self.scratch.take() {
            Some(scratch) => scratch,
            None => {
                let parent = self.sandbox.root().parent().unwrap_or(Path::new("/"));
                tempfile::Builder::new().prefix("herma-").tempdir_in(parent)?
            }
        };
        Ok(self.scratch.insert(scratch).path())
    }
}

/// Whether every process gets this request.
fn is_for_every_process(request: &Request) -> bool {
    matches!(request, Request::NewTurn | Request::Reopen | Request::SetClock { .. })
}

/// The id of the checkpoint that was taken, according to an answer.
pub fn created_id(answer: &Answer) -> Option<&str> {
    match answer {
        Answer::Taken { outcome: CheckpointOutcome::Created { id }, .. } => Some(id),
        _ => None,
    }
}

/// The answer to a request for a checkpoint, without skipped files.
pub fn checkpoint_answer(outcome: CheckpointOutcome) -> Answer {
    Answer::Taken { outcome, skipped: Vec::new() }
}

/// The answer that a checkpoint was taken, without skipped files.
pub fn created_answer(id: String) -> Answer {
    checkpoint_answer(CheckpointOutcome::Created { id })
}

/// A refusal that changed nothing.
pub fn refused(code: Code, message: &str) -> Answer {
    Answer::Refused { code, message: message.to_owned(), changed: Changed::None }
}

/// Whether a request is for a checkpoint, automatic or not.
pub fn takes_checkpoint(request: &Request) -> bool {
    let kind = request.kind();
    kind.effect == Effect::Stores && matches!(kind.answered, Answered::Taken | Answered::Protected)
}

/// The same request with another target.
pub fn with_target(request: &Request, new_target: impl Into<ByteString>) -> Request {
    let mut request = request.clone();
    if let Some(target) = request.target_mut() {
        *target = new_target.into();
    }
    request
}

/// The same request for another directory.
pub fn with_directory(request: &Request, directory: &Path) -> Request {
    let mut request = request.clone();
    if let Some(dir) = request.dir_mut() {
        *dir = ByteString::from(directory.as_os_str().as_bytes());
    }
    request
}

/// The names in a folder, sorted; none if the folder does not exist.
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

/// Changes the text of a file and keeps its permissions.
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
