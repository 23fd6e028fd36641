//! The outcome of a restore, for a bug to change: the files before and after, and the report.

use super::intercepted::Intercepted;
use crate::sandbox::manifest::on_disk;
use herma_model::answer::Restored;
use herma_model::{Answer, ByteString, Files, Node, Request, bytes};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// The outcome of a restore.
pub struct Outcome<'a> {
    /// The subject that restored.
    pub subject: &'a Intercepted,
    /// The project's directory, relative to the root of the sandbox.
    project: ByteString,
    /// The files before and after.
    before: Files,
    after: Files,
    /// The report of it.
    pub said: &'a mut Restored,
}

/// Asks the core, and if that restored something, changes the files.
pub fn afterwards(
    subject: &mut Intercepted,
    request: &Request,
    change: impl FnOnce(&mut Outcome<'_>) -> io::Result<()>,
) -> Answer {
    if !request.restores() {
        return subject.ask(request);
    }
    let before = subject.files();
    let mut answer = subject.ask(request);
    if let (Answer::Restored(said), Some(project)) = (&mut answer, subject.project_inside(request))
    {
        let after = subject.files();
        // If the bug cannot act, the restore stays correct.
        let _ = change(&mut Outcome { subject, project, before, after, said });
    }
    answer
}

/// Asks the core, and if that restored something, changes the report.
pub fn saying(
    subject: &mut Intercepted,
    request: &Request,
    change: impl FnOnce(&mut Restored),
) -> Answer {
    let mut answer = subject.ask(request);
    if let Answer::Restored(said) = &mut answer {
        change(said);
    }
    answer
}

impl Outcome<'_> {
    fn full(&self, path: &[u8]) -> ByteString {
        ByteString(bytes::join(&self.project, path))
    }

    /// Where a path of the project is on the disk.
    pub fn on_disk(&self, path: &[u8]) -> PathBuf {
        on_disk(self.subject.sandbox.root(), &self.full(path))
    }

    /// What was at a path of the project.
    pub fn before(&self, path: &[u8]) -> Option<&Node> {
        self.before.get(&self.full(path))
    }

    /// What a correct restore left there.
    pub fn after(&self, path: &[u8]) -> Option<&Node> {
        self.after.get(&self.full(path))
    }

    /// Restores a path to what it was before.
    pub fn put_back(&self, path: &[u8]) -> io::Result<()> {
        self.subject.put_back(&self.before, &self.full(path))
    }

    /// Changes something at every path that was restored.
    pub fn each_restored(
        &self,
        change: impl Fn(&Self, &ByteString) -> io::Result<()>,
    ) -> io::Result<()> {
        self.said.restored.iter().try_for_each(|path| change(self, path))
    }

    /// If a link was replaced by a file: puts the link back, and writes the file's bytes into the
    /// link's target, if that is a file in the project (`inside`) or outside of it.
    pub fn follow(&self, path: &[u8], inside: bool) -> io::Result<()> {
        let (Some(Node::Link { target }), Some(Node::File { content, .. })) =
            (self.before(path), self.after(path))
        else {
            return Ok(());
        };
        let link = self.on_disk(path);
        let end = self.on_disk(bytes::parent(path)).join(OsStr::from_bytes(target));
        let end = end.canonicalize()?;
        let root = self.subject.sandbox.root();
        let is_inside = end.starts_with(on_disk(root, &self.project));
        if !end.starts_with(root) || !end.is_file() || is_inside != inside || end == link {
            return Ok(());
        }
        fs::remove_file(&link)?;
        symlink(OsStr::from_bytes(target), &link)?;
        fs::write(end, content)
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
