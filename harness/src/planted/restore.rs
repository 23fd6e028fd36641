//! Bugs of restores: what comes back, what stays, and what is said of it.

use super::host::Host;
use super::{Flaw, PlantedBug};
use crate::sandbox::manifest::on_disk;
use herma_model::{ByteString, Files, Node, Request, rules};

/// The bugs.
pub static BUGS: &[PlantedBug] = &[PlantedBug {
    name: "restore-leaves-one-file",
    rule: &rules::RESTORE_BYTES,
    about: "A full restore leaves the last file that it should bring back as it was.",
    operations_min: 4,
    flaw: Flaw::Asked(|host, request| {
        let restores = matches!(request, Request::Restore { .. });
        let before = if restores { host.files() } else { Files::default() };
        let answer = host.ask(request);
        if restores && host.project(request).is_some() {
            put_one_back(host, &before);
        }
        answer
    }),
}];

/// Puts the last file that changed its bytes back to what it was.
fn put_one_back(host: &Host, before: &Files) {
    let content = |node: Option<&Node>| match node {
        Some(Node::File { content, .. }) => Some(content.clone()),
        _ => None,
    };
    let after = host.files();
    let mut changed: Vec<&ByteString> = after.iter().map(|(path, _)| path).collect();
    changed.retain(|path| {
        let (old, new) = (content(before.get(path)), content(after.get(path)));
        old.is_some() && new.is_some() && old != new
    });
    if let Some(path) = changed.last() {
        let old = content(before.get(path)).unwrap_or_default();
        // A bug that cannot be played is no bug; the suite then just does not find it.
        let _ = std::fs::write(on_disk(host.sandbox.root(), path), old);
    }
}
