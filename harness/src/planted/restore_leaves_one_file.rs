//! A full restore leaves the last file that it should bring back as it was, and says otherwise.

use super::PlantedBug;
use crate::sandbox::manifest::on_disk;
use crate::sandbox::{Sandbox, manifest};
use crate::subject::{CoreSubject, Subject};
use herma_model::bytes::below;
use herma_model::{Answer, ByteString, Files, Node, Request, rules};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The bug.
pub const BUG: PlantedBug = PlantedBug {
    name: "restore-leaves-one-file",
    rule: &rules::RESTORE_BYTES,
    operations_min: 4,
    open: |sandbox, settings, seconds| Box::new(LeavesOne::new(sandbox, settings, seconds)),
};

struct LeavesOne {
    core: CoreSubject,
    root: PathBuf,
    base: PathBuf,
}

impl LeavesOne {
    fn new(sandbox: &Sandbox, settings: &herma_model::Settings, seconds: i64) -> Self {
        LeavesOne {
            core: CoreSubject::new(sandbox, settings, seconds),
            root: sandbox.root().to_owned(),
            base: sandbox.base(),
        }
    }

    fn files(&self) -> Files {
        manifest::read(&self.root, &self.base, false)
            .map(|manifest| manifest.files)
            .unwrap_or_default()
    }

    /// Puts the last file that changed its bytes back to what it was.
    fn spoil(&self, before: &Files) {
        let content = |node: Option<&Node>| match node {
            Some(Node::File { content, .. }) => Some(content.clone()),
            _ => None,
        };
        let after = self.files();
        let mut changed: Vec<&ByteString> = after.iter().map(|(path, _)| path).collect();
        changed.retain(|path| {
            let (old, new) = (content(before.get(path)), content(after.get(path)));
            old.is_some() && new.is_some() && old != new
        });
        if let Some(path) = changed.last() {
            let old = content(before.get(path)).unwrap_or_default();
            // A bug that cannot be played is no bug; the suite then just does not find it.
            let _ = std::fs::write(on_disk(&self.root, path), old);
        }
    }
}

impl Subject for LeavesOne {
    fn ask(&mut self, request: &Request) -> Answer {
        let inside = |dir: &ByteString| below(self.root.as_os_str().as_bytes(), dir).is_some();
        match request {
            Request::Restore { dir, .. } if inside(dir) => {
                let before = self.files();
                let answer = self.core.ask(request);
                self.spoil(&before);
                answer
            }
            request => self.core.ask(request),
        }
    }
}
