//! Oracles for hostile input: any input from a user or a damaged store to the core, and the properties that
//! hold for all input. Fuzz targets and property tests only call these oracles.

pub mod arguments;
pub mod stored_tree;

use crate::history::History;
use crate::sandbox::manifest::{self, Manifest};
use crate::sandbox::{Sandbox, Scratch};
use crate::subject::{CoreSubject, Subject};
use herma_model::bytes::below;
use herma_model::{Answer, ByteString, Request};
use std::os::unix::ffi::OsStrExt;

/// A sandbox with the core and two checkpoints of its first project.
struct Fixture {
    sandbox: Sandbox,
    subject: CoreSubject,
    ids: Vec<String>,
}

impl Fixture {
    fn new(scratch: &Scratch) -> std::io::Result<Self> {
        let history = History::default();
        let sandbox = Sandbox::new(scratch, &history)?;
        let seconds = crate::runner::FIRST_SECOND;
        let mut subject = CoreSubject::new(&sandbox, &history.settings, seconds);
        let mut ids = Vec::new();
        let project = sandbox.root().join("work/alpha");
        for content in ["one\n", "two\n"] {
            std::fs::create_dir_all(project.join("src"))?;
            std::fs::write(project.join("a.txt"), content)?;
            std::fs::write(project.join("src/main.rs"), content)?;
            let dir = ByteString::from(project.as_os_str().as_bytes());
            let request = Request::Checkpoint { dir, reason: "ground".into() };
            if let Answer::Taken { outcome, .. } = subject.ask(&request)
                && let herma_model::answer::CheckpointOutcome::Created { id } = outcome
            {
                ids.push(id);
            }
        }
        Ok(Fixture { sandbox, subject, ids })
    }

    fn project(&self) -> ByteString {
        ByteString::from(self.sandbox.root().join("work/alpha").as_os_str().as_bytes())
    }

    fn manifest(&self) -> std::io::Result<Manifest> {
        manifest::read(self.sandbox.root(), &self.sandbox.base(), None)
    }
}

/// The first changed path that lies outside the project or in the project's own repository.
fn escaped(before: &Manifest, after: &Manifest) -> Option<ByteString> {
    let old = &before.files;
    let new = &after.files;
    let is_forbidden = |path: &&ByteString| match below(b"work/alpha", path) {
        None => true,
        Some(inside) => inside == b".git" || inside.starts_with(b".git/"),
    };
    let is_changed = |path: &&ByteString| {
        old.get(path) != new.get(path) || before.modified.get(*path) != after.modified.get(*path)
    };
    let mut paths = old.iter().chain(new.iter()).map(|(path, _)| path);
    paths.find(|path| is_forbidden(path) && is_changed(path)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_finds_changes_outside_the_project_or_in_its_repository_only() {
        let fixture = Fixture::new(&Scratch::in_default_directory()).expect("a sandbox");
        let root = fixture.sandbox.root();
        let before = fixture.manifest().expect("a manifest");
        std::fs::write(root.join("work/alpha/a.txt"), "other\n").expect("a write");
        assert_eq!(escaped(&before, &fixture.manifest().expect("a manifest")), None);
        for path in ["outside/secret.txt", "work/alpha/.git/HEAD", "work/beta/new"] {
            let before = fixture.manifest().expect("a manifest");
            std::fs::write(root.join(path), "harm\n").expect("a write");
            let found = escaped(&before, &fixture.manifest().expect("a manifest"));
            assert_eq!(found, Some(path.into()));
        }
    }
}
