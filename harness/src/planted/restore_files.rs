//! Bugs of what a restore does to files and folders besides their content: files that need not be written,
//! permissions, and hard links.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use super::after_restore::{RestoreOutcome, after_each_restored, after_restore};
use crate::sandbox::manifest;
use crate::sandbox::manifest::on_disk;
use herma_model::bytes::{ancestors, join};
use herma_model::{ByteString, Node, rules};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "every-file-is-written-again",
        rule: &rules::RESTORE_UNTOUCHED,
        about: "A restore rewrites files that already match the checkpoint.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            after_restore(subject, request, |outcome| {
                let is_same = |path: &&ByteString| {
                    let node = outcome.before(path);
                    matches!(node, Some(Node::File { .. })) && node == outcome.after(path)
                };
                outcome.files().iter().filter(is_same).try_for_each(|path| {
                    let file = outcome.on_disk(path);
                    let copy = file.with_file_name(".written-again");
                    fs::copy(&file, &copy)?;
                    fs::rename(copy, file)
                })
            })
        }),
    },
    PlantedBug {
        name: "what-comes-back-is-open-to-all",
        rule: &rules::RESTORE_PERMISSIONS,
        about: "A deleted file is restored with default permissions.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            after_each_restored(subject, request, |outcome, path| match outcome.before(path) {
                None => set_default_permissions(outcome, path),
                Some(_) => Ok(()),
            })
        }),
    },
    PlantedBug {
        name: "what-is-replaced-is-open-to-all",
        rule: &rules::RESTORE_PERMISSIONS,
        about: "A file whose content is restored loses its permissions.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            after_each_restored(subject, request, |outcome, path| {
                match (outcome.before(path), outcome.after(path)) {
                    (Some(Node::File { content, .. }), Some(Node::File { content: now, .. }))
                        if content != now =>
                    {
                        set_default_permissions(outcome, path)
                    }
                    _ => Ok(()),
                }
            })
        }),
    },
    PlantedBug {
        name: "a-folder-comes-back-open-to-all",
        rule: &rules::RESTORE_FOLDER_PERMISSIONS,
        about: "A deleted folder is restored with default permissions.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            after_each_restored(subject, request, |outcome, path| {
                let is_new = |folder: &&[u8]| {
                    let is_folder = |node: Option<&Node>| matches!(node, Some(Node::Directory));
                    !is_folder(outcome.before(folder)) && is_folder(outcome.after(folder))
                };
                ancestors(path).filter(is_new).try_for_each(|folder| {
                    fs::set_permissions(outcome.on_disk(folder), Permissions::from_mode(0o755))
                })
            })
        }),
    },
    PlantedBug {
        name: "a-file-is-written-where-it-stands",
        rule: &rules::RESTORE_HARD_LINKS,
        about: "A file is overwritten in place, which also changes its other hard links.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let manifest = manifest::read_all(&subject.sandbox);
            let names = manifest.map(|manifest| manifest.names).unwrap_or_default();
            let project = subject.project_inside(request).unwrap_or_default();
            after_each_restored(subject, request, |outcome, path| {
                let path_in_sandbox = ByteString::from(join(&project, path));
                let hard_links = names.get(&path_in_sandbox).into_iter().flatten();
                hard_links
                    .cloned()
                    .try_for_each(|hard_link| link_again(outcome, &project, path, &hard_link))
            })
        }),
    },
];

/// Sets the permissions that a new file has by default.
fn set_default_permissions(outcome: &RestoreOutcome<'_>, path: &ByteString) -> io::Result<()> {
    let mode = match outcome.after(path) {
        Some(Node::File { executable: true, .. }) => 0o755,
        Some(Node::File { .. }) => 0o644,
        _ => return Ok(()),
    };
    fs::set_permissions(outcome.on_disk(path), Permissions::from_mode(mode))
}

/// Links a restored file to its other name again, as if the file had been written in place.
fn link_again(
    outcome: &RestoreOutcome<'_>,
    project: &ByteString,
    path: &ByteString,
    hard_link: &ByteString,
) -> io::Result<()> {
    let (Some(Node::File { .. }), Some(Node::File { content, .. })) =
        (outcome.before(path), outcome.after(path))
    else {
        return Ok(());
    };
    // If the other name was restored, too, it is a separate file by now.
    if outcome.report.restored.iter().any(|path| join(project, path) == **hard_link) {
        return Ok(());
    }
    let restored = outcome.on_disk(path);
    let hard_link = on_disk(outcome.subject.sandbox.root(), hard_link);
    fs::write(&hard_link, content)?;
    fs::remove_file(&restored)?;
    fs::hard_link(hard_link, restored)
}
