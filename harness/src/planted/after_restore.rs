//! The outcome of a restore, which a planted bug changes: the files before and after, and the report.

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

/// The outcome of a restore in a project.
pub struct RestoreOutcome<'a> {
    /// The subject that restored.
    pub subject: &'a Intercepted,
    /// The project's directory, relative to the root of the sandbox.
    project: ByteString,
    /// The files before the restore.
    before: Files,
    /// The files after the restore.
    after: Files,
    /// The report of the restore.
    pub report: &'a mut Restored,
}

/// Asks the core, and changes the files if it restored something.
pub fn after_restore(
    subject: &mut Intercepted,
    request: &Request,
    change: impl FnOnce(&mut RestoreOutcome<'_>) -> io::Result<()>,
) -> Answer {
    if !request.restores() {
        return subject.ask(request);
    }
    let before = subject.files();
    let mut answer = subject.ask(request);
    if let (Answer::Restored(report), Some(project)) =
        (&mut answer, subject.project_inside(request))
    {
        let after = subject.files();
        // If the bug cannot act, the restore stays correct.
        let _ = change(&mut RestoreOutcome { subject, project, before, after, report });
    }
    answer
}

/// Asks the core, and applies a change to every path that it restored.
pub fn after_each_restored(
    subject: &mut Intercepted,
    request: &Request,
    change: impl Fn(&RestoreOutcome<'_>, &ByteString) -> io::Result<()>,
) -> Answer {
    after_restore(subject, request, |outcome| {
        outcome.report.restored.iter().try_for_each(|path| change(outcome, path))
    })
}

/// Asks the core, and changes the report if it restored something.
pub fn with_report(
    subject: &mut Intercepted,
    request: &Request,
    change: impl FnOnce(&mut Restored),
) -> Answer {
    let mut answer = subject.ask(request);
    if let Answer::Restored(report) = &mut answer {
        change(report);
    }
    answer
}

impl RestoreOutcome<'_> {
    fn in_sandbox(&self, path: &[u8]) -> ByteString {
        ByteString::from(bytes::join(&self.project, path))
    }

    /// The absolute path of a path of the project.
    pub fn on_disk(&self, path: &[u8]) -> PathBuf {
        on_disk(self.subject.sandbox.root(), &self.in_sandbox(path))
    }

    /// The node at a path of the project before the restore.
    pub fn before(&self, path: &[u8]) -> Option<&Node> {
        self.before.get(&self.in_sandbox(path))
    }

    /// The permission bits of a file of the project before the restore.
    pub fn permissions_before(&self, path: &[u8]) -> Option<u32> {
        self.before.permissions(&self.in_sandbox(path))
    }

    /// The node at a path of the project after the correct restore.
    pub fn after(&self, path: &[u8]) -> Option<&Node> {
        self.after.get(&self.in_sandbox(path))
    }

    /// Restores a path to its state before the restore.
    pub fn put_back(&self, path: &[u8]) -> io::Result<()> {
        self.subject.put_back(&self.before, &self.in_sandbox(path))
    }

    /// If a file replaced a link: puts the link back and writes the file's bytes into the link's target,
    /// if the target is a file inside the project (`inside`) or outside of it (not `inside`).
    pub fn follow(&self, path: &[u8], inside: bool) -> io::Result<()> {
        let (Some(Node::Link { target }), Some(Node::File { content, .. })) =
            (self.before(path), self.after(path))
        else {
            return Ok(());
        };
        let link = self.on_disk(path);
        let pointed_at = self.on_disk(bytes::parent(path)).join(OsStr::from_bytes(target));
        let pointed_at = pointed_at.canonicalize()?;
        let root = self.subject.sandbox.root();
        let is_inside = pointed_at.starts_with(on_disk(root, &self.project));
        if !pointed_at.starts_with(root)
            || !pointed_at.is_file()
            || is_inside != inside
            || pointed_at == link
        {
            return Ok(());
        }
        fs::remove_file(&link)?;
        symlink(OsStr::from_bytes(target), &link)?;
        fs::write(pointed_at, content)
    }

    /// Every path of the project that is not a directory and not part of a git repository.
    pub fn files(&self) -> Vec<ByteString> {
        let below = self.after.below(&self.project);
        let files = below.filter(|(_, node)| **node != Node::Directory);
        let paths = files.filter_map(|(path, _)| bytes::below(&self.project, path));
        let is_outside_git =
            |path: &&[u8]| !path.split(|byte| *byte == b'/').any(|name| name == b".git");
        paths.filter(is_outside_git).map(ByteString::from).collect()
    }
}
