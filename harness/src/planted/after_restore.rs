//! What a restore came to, for a bug to change: the files before and after, and what is said.

use super::intercepted::{Intercepted, restores};
use crate::sandbox::manifest::on_disk;
use herma_model::answer::Restored;
use herma_model::{Answer, ByteString, Files, Node, Request, bytes};
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// What a restore came to.
pub struct Came<'a> {
    /// Whose restore.
    pub host: &'a Intercepted,
    /// The project's directory, relative to the root of the sandbox.
    project: ByteString,
    /// The files before and after.
    before: Files,
    after: Files,
    /// What is said of it.
    pub said: &'a mut Restored,
}

/// Asks the core, and where it restored something, changes what came of that.
pub fn afterwards(
    host: &mut Intercepted,
    request: &Request,
    change: impl FnOnce(&mut Came<'_>) -> io::Result<()>,
) -> Answer {
    if !restores(request) {
        return host.ask(request);
    }
    let before = host.files();
    let mut answer = host.ask(request);
    if let (Answer::Restored(said), Some(project)) = (&mut answer, host.project_inside(request)) {
        let after = host.files();
        // A bug that cannot be played is no bug; the suite then just does not find it.
        let _ = change(&mut Came { host, project, before, after, said });
    }
    answer
}

/// Asks the core, and where it restored something, says something else.
pub fn saying(
    host: &mut Intercepted,
    request: &Request,
    change: impl FnOnce(&mut Restored),
) -> Answer {
    let mut answer = host.ask(request);
    if let Answer::Restored(said) = &mut answer {
        change(said);
    }
    answer
}

impl Came<'_> {
    fn full(&self, path: &[u8]) -> ByteString {
        ByteString(bytes::join(&self.project, path))
    }

    /// Where a path of the project is.
    pub fn on_disk(&self, path: &[u8]) -> PathBuf {
        on_disk(self.host.sandbox.root(), &self.full(path))
    }

    /// What stood at a path of the project.
    pub fn before(&self, path: &[u8]) -> Option<&Node> {
        self.before.get(&self.full(path))
    }

    /// What a correct restore left there.
    pub fn after(&self, path: &[u8]) -> Option<&Node> {
        self.after.get(&self.full(path))
    }

    /// Makes a path what it was before.
    pub fn put_back(&self, path: &[u8]) -> io::Result<()> {
        self.host.put_back(&self.before, &self.full(path))
    }

    /// Does something at every path that came back.
    pub fn each_restored(
        &self,
        change: impl Fn(&Self, &ByteString) -> io::Result<()>,
    ) -> io::Result<()> {
        self.said.restored.iter().try_for_each(|path| change(self, path))
    }

    /// Makes those paths that came back what they were, of which that is said.
    pub fn put_back_where(
        &self,
        is_left: impl Fn(Option<&Node>, Option<&Node>) -> bool,
    ) -> io::Result<()> {
        self.each_restored(|came, path| {
            if is_left(came.before(path), came.after(path)) { came.put_back(path) } else { Ok(()) }
        })
    }

    /// Whether a file was replaced by one with other bytes.
    pub fn changed_bytes(&self, path: &[u8]) -> bool {
        match (self.before(path), self.after(path)) {
            (Some(Node::File { content, .. }), Some(Node::File { content: now, .. })) => {
                content != now
            }
            _ => false,
        }
    }

    /// Says anew whether a file may be executed.
    ///
    /// # Errors
    /// It is not there.
    pub fn set_executable(&self, path: &[u8], executable: bool) -> io::Result<()> {
        let path = self.on_disk(path);
        let mode = fs::symlink_metadata(&path)?.permissions().mode();
        let mode = if executable { mode | 0o111 } else { mode & !0o111 };
        fs::set_permissions(path, Permissions::from_mode(mode))
    }

    /// Where a link was replaced by a file: puts the link back, and the bytes of the file into what
    /// the link points at, where that is a file inside the project, or outside.
    pub fn follow(&self, path: &[u8], inside: bool) -> io::Result<()> {
        let (Some(Node::Link { target }), Some(Node::File { content, .. })) =
            (self.before(path), self.after(path))
        else {
            return Ok(());
        };
        let Some(end) = self.end_of(path).filter(|end| end.is_file()) else { return Ok(()) };
        let link = self.on_disk(path);
        if self.is_in_project(&end) != inside || end == link {
            return Ok(());
        }
        fs::remove_file(&link)?;
        symlink(OsStr::from_bytes(target), &link)?;
        fs::write(end, content)
    }

    /// Where the link that stood at a path leads now, if that is in the sandbox.
    pub fn end_of(&self, path: &[u8]) -> Option<PathBuf> {
        let Some(Node::Link { target }) = self.before(path) else { return None };
        let folder = self.on_disk(bytes::parent(path));
        let end = folder.join(OsStr::from_bytes(target)).canonicalize().ok()?;
        end.starts_with(self.host.sandbox.root()).then_some(end)
    }

    /// Whether an absolute path is in the project.
    pub fn is_in_project(&self, path: &Path) -> bool {
        path.starts_with(on_disk(self.host.sandbox.root(), &self.project))
    }

    /// Every path of the project that is neither a directory nor part of a repository.
    pub fn files(&self) -> Vec<ByteString> {
        let below = self.after.below(&self.project);
        let files = below.filter(|(_, node)| **node != Node::Directory);
        let paths = files.filter_map(|(full, _)| bytes::below(&self.project, full));
        let is_own = |path: &&[u8]| !path.split(|byte| *byte == b'/').any(|name| name == b".git");
        paths.filter(is_own).map(ByteString::from).collect()
    }
}
