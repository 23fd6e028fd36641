//! Bugs of what a restore does to files beside what they hold: files that need not be written,
//! permissions, and other names.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use super::after_restore::{Outcome, afterwards};
use crate::sandbox::manifest;
use crate::sandbox::manifest::on_disk;
use herma_model::bytes::join;
use herma_model::{ByteString, Node, rules};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "every-file-is-written-again",
        rule: &rules::RESTORE_UNTOUCHED,
        about: "A restore writes files that already are as recorded.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            afterwards(subject, request, |outcome| {
                let is_same = |path: &&ByteString| {
                    let node = outcome.before(path);
                    matches!(node, Some(Node::File { .. })) && node == outcome.after(path)
                };
                outcome.files().iter().filter(is_same).try_for_each(|path| {
                    let place = outcome.on_disk(path);
                    let copy = place.with_file_name(".written-again");
                    fs::copy(&place, &copy)?;
                    fs::rename(copy, place)
                })
            })
        }),
    },
    PlantedBug {
        name: "what-comes-back-is-open-to-all",
        rule: &rules::RESTORE_PERMISSIONS,
        about: "A file that was deleted comes back with the permissions of any new file.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            afterwards(subject, request, |outcome| {
                outcome.each_restored(|outcome, path| match outcome.before(path) {
                    None => usual_permissions(outcome, path),
                    Some(_) => Ok(()),
                })
            })
        }),
    },
    PlantedBug {
        name: "what-is-replaced-is-open-to-all",
        rule: &rules::RESTORE_PERMISSIONS,
        about: "A file whose bytes are restored loses the permissions that it had.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            afterwards(subject, request, |outcome| {
                outcome.each_restored(|outcome, path| {
                    match (outcome.before(path), outcome.after(path)) {
                        (
                            Some(Node::File { content, .. }),
                            Some(Node::File { content: now, .. }),
                        ) if content != now => usual_permissions(outcome, path),
                        _ => Ok(()),
                    }
                })
            })
        }),
    },
    PlantedBug {
        name: "a-file-is-written-where-it-stands",
        rule: &rules::RESTORE_HARD_LINKS,
        about: "A file is opened and truncated where it stands, whatever other names it has.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let seen = manifest::read(subject.sandbox.root(), &subject.sandbox.base(), None);
            let names = seen.map(|seen| seen.names).unwrap_or_default();
            let project = subject.project_inside(request).unwrap_or_default();
            afterwards(subject, request, |outcome| {
                outcome.each_restored(|outcome, path| {
                    let full = ByteString(join(&project, path));
                    let others = names.get(&full).into_iter().flatten();
                    others
                        .cloned()
                        .try_for_each(|other| write_where_it_stood(outcome, &project, path, &other))
                })
            })
        }),
    },
];

/// What a file gets whose maker gave it no thought.
fn usual_permissions(outcome: &Outcome<'_>, path: &ByteString) -> io::Result<()> {
    let mode = match outcome.after(path) {
        Some(Node::File { executable: true, .. }) => 0o755,
        Some(Node::File { .. }) => 0o644,
        _ => return Ok(()),
    };
    fs::set_permissions(outcome.on_disk(path), Permissions::from_mode(mode))
}

/// Makes a restored file one with another of its names again, as if it had never been replaced.
fn write_where_it_stood(
    outcome: &Outcome<'_>,
    project: &ByteString,
    path: &ByteString,
    other: &ByteString,
) -> io::Result<()> {
    let (Some(Node::File { .. }), Some(Node::File { content, .. })) =
        (outcome.before(path), outcome.after(path))
    else {
        return Ok(());
    };
    // Another name that was restored as well is a file of its own by now.
    if outcome.said.restored.iter().any(|path| join(project, path) == **other) {
        return Ok(());
    }
    let place = outcome.on_disk(path);
    let other = on_disk(outcome.subject.sandbox.root(), other);
    fs::write(&other, content)?;
    fs::remove_file(&place)?;
    fs::hard_link(other, place)
}
