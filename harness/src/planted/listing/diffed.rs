//! What becomes of the core's previews. A bug that cannot be played is no bug; the suite then just
//! does not find it.

use super::super::intercepted::Intercepted;
use crate::sandbox::manifest::on_disk;
use herma_model::answer::{Change, DiffEntry, Stats};
use herma_model::{Answer, ByteString, Node, Request, bytes};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The core's preview, changed by somebody who can see the project.
fn changed(
    host: &mut Intercepted,
    request: &Request,
    change: impl Fn(&Intercepted, &Path, &mut Vec<DiffEntry>, &mut Stats),
) -> Answer {
    let answer = host.ask(request);
    match (answer, host.project(request)) {
        (Answer::Diffed { mut entries, mut stats }, Some(project)) => {
            change(host, &project, &mut entries, &mut stats);
            Answer::Diffed { entries, stats }
        }
        (answer, _) => answer,
    }
}

pub fn backwards(host: &mut Intercepted, request: &Request) -> Answer {
    changed(host, request, |_, _, entries, stats| {
        for entry in entries {
            entry.change = match entry.change {
                Change::Added => Change::Deleted,
                Change::Deleted => Change::Added,
                Change::Modified => Change::Modified,
            };
        }
        std::mem::swap(&mut stats.added, &mut stats.removed);
    })
}

pub fn without_new_files(host: &mut Intercepted, request: &Request) -> Answer {
    changed(host, request, |_, _, entries, stats| {
        entries.retain(|entry| entry.change != Change::Added);
        stats.files = entries.len();
    })
}

pub fn with_ignored_files(host: &mut Intercepted, request: &Request) -> Answer {
    changed(host, request, |host, project, entries, stats| {
        let inside = project.strip_prefix(host.sandbox.root()).unwrap_or(project);
        let all = host.files();
        for (full, node) in all.iter() {
            let path = bytes::below(inside.as_os_str().as_bytes(), full);
            let ignored = path.filter(|path| path.starts_with(b"node_modules/"));
            if let (Some(path), Node::File { .. }) = (ignored, node) {
                entries.push(DiffEntry { path: ByteString::from(path), change: Change::Added });
                stats.files += 1;
            }
        }
    })
}

pub fn counting_binary_files(host: &mut Intercepted, request: &Request) -> Answer {
    changed(host, request, |_, project, entries, stats| {
        for entry in entries.iter().filter(|entry| entry.change == Change::Added) {
            let content = fs::read(on_disk(project, &entry.path)).unwrap_or_default();
            if content.contains(&0) {
                stats.added += content.split(|byte| *byte == b'\n').count();
            }
        }
    })
}

pub fn counting_backwards(host: &mut Intercepted, request: &Request) -> Answer {
    changed(host, request, |_, _, _, stats| std::mem::swap(&mut stats.added, &mut stats.removed))
}

pub fn storing_the_working_tree(host: &mut Intercepted, request: &Request) -> Answer {
    changed(host, request, |host, project, entries, _| {
        for entry in entries.iter() {
            if let Ok(content) = fs::read(on_disk(project, &entry.path)) {
                let _ = host.write("blob", &content);
            }
        }
    })
}
