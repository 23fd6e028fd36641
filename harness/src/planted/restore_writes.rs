//! Bugs of restores: what they write, remove and keep.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use super::after_restore::{after_each_restored, after_restore, with_report};
use super::intercepted::Intercepted;
use super::restore::with_full_options;
use crate::subject::Subject;
use herma_model::answer::Change;
use herma_model::ignore::OWN_IGNORE_FILE;
use herma_model::{Answer, ByteString, Node, Request, rules};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "restore-leaves-one-file",
        rule: &rules::RESTORE_BYTES,
        about: "A restore does not restore the last file.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            after_restore(subject, request, |outcome| {
                let changed = |path: &&ByteString| match (outcome.before(path), outcome.after(path))
                {
                    (Some(Node::File { content, .. }), Some(Node::File { content: now, .. })) => {
                        content != now
                    }
                    _ => false,
                };
                let last = outcome.report.restored.iter().rev().find(changed);
                last.map_or(Ok(()), |path| outcome.put_back(path))
            })
        }),
    },
    PlantedBug {
        name: "a-read-only-file-is-skipped",
        rule: &rules::RESTORE_BYTES,
        about: "A restore does not write to a file that its owner may not write, and reports success.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            after_each_restored(subject, request, |outcome, path| {
                let bits = outcome.permissions_before(path);
                let is_read_only = bits.is_some_and(|bits| bits & 0o200 == 0);
                if is_read_only { outcome.put_back(path) } else { Ok(()) }
            })
        }),
    },
    PlantedBug {
        name: "a-missing-program-comes-back-as-a-text",
        rule: &rules::RESTORE_EXECUTABLE,
        about: "A restored file is never executable, whatever was recorded.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            after_each_restored(subject, request, |outcome, path| match outcome.after(path) {
                Some(Node::File { executable: true, .. }) => {
                    fs::set_permissions(outcome.on_disk(path), Permissions::from_mode(0o644))
                }
                _ => Ok(()),
            })
        }),
    },
    PlantedBug {
        name: "a-file-restored-alone-keeps-its-mode",
        rule: &rules::RESTORE_EXECUTABLE,
        about: "A restore of a single file keeps whether the existing file is executable.",
        operations_min: 4,
        flaw: Intercept(|subject, request| match request {
            Request::RestoreFile { .. } => {
                after_each_restored(subject, request, |outcome, path| {
                    let (Some(before), Some(Node::File { .. })) =
                        (outcome.permissions_before(path), outcome.after(path))
                    else {
                        return Ok(());
                    };
                    let file = outcome.on_disk(path);
                    let bits = file.metadata()?.permissions().mode() & !0o111 | before & 0o111;
                    fs::set_permissions(file, Permissions::from_mode(bits))
                })
            }
            _ => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "a-link-comes-back-as-a-file",
        rule: &rules::RESTORE_TYPE,
        about: "A link is restored as a file that contains the target of the link.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            after_each_restored(subject, request, |outcome, path| match outcome.after(path) {
                Some(Node::Link { target }) => {
                    fs::remove_file(outcome.on_disk(path))?;
                    fs::write(outcome.on_disk(path), target)
                }
                _ => Ok(()),
            })
        }),
    },
    PlantedBug {
        name: "a-file-is-written-through-a-link",
        rule: &rules::RESTORE_TYPE,
        about: "A full restore writes a file through a link at its path, to another file inside the project.",
        operations_min: 5,
        flaw: Intercept(|subject, request| match request {
            Request::RestoreFile { .. } => subject.ask(request),
            _ => after_each_restored(subject, request, |outcome, path| outcome.follow(path, true)),
        }),
    },
    PlantedBug {
        name: "one-file-is-written-through-the-link-in-its-place",
        rule: &rules::RESTORE_FILE_ONLY,
        about: "A restore of a single file writes through a link at its path; a full restore replaces the link.",
        operations_min: 5,
        flaw: Intercept(|subject, request| match request {
            Request::RestoreFile { .. } => {
                after_each_restored(subject, request, |outcome, path| outcome.follow(path, true))
            }
            _ => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "a-directory-in-the-way-is-left",
        rule: &rules::RESTORE_TYPE,
        about: "A file or link is not restored if there is now a directory with files at its path.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            after_each_restored(subject, request, |outcome, path| match outcome.before(path) {
                Some(Node::Directory) => outcome.put_back(path),
                _ => Ok(()),
            })
        }),
    },
    PlantedBug {
        name: "files-created-since-are-removed",
        rule: &rules::RESTORE_LEAVES_NEW,
        about: "A restore removes files created since, without the option to do so.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            with_full_options(subject, request, |exact, _| *exact = true)
        }),
    },
    PlantedBug {
        name: "exact-removes-nothing",
        rule: &rules::RESTORE_EXACT,
        about: "An exact restore leaves files created since, like any other restore.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            with_full_options(subject, request, |exact, _| *exact = false)
        }),
    },
    PlantedBug {
        name: "one-restored-path-is-not-said",
        rule: &rules::RESTORE_HONEST,
        about: "The report of a restore leaves out the last restored path.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            with_report(subject, request, |report| drop(report.restored.pop()))
        }),
    },
    PlantedBug {
        name: "what-was-kept-is-overwritten",
        rule: &rules::RESTORE_PROTECTS,
        about: "A restore overwrites content that is in no checkpoint: a file over the size limit, a directory of ignored files.",
        operations_min: 5,
        flaw: Intercept(|subject, request| overwriting_kept(subject, request, |_| true)),
    },
    PlantedBug {
        name: "a-repository-in-the-way-is-removed",
        rule: &rules::RESTORE_PROTECTS,
        about: "A restore of a file removes the folder in its place, with the repository in it.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            overwriting_kept(subject, request, |in_the_way| in_the_way.join(".git").exists())
        }),
    },
    PlantedBug {
        name: "exact-removes-ignored-files",
        rule: &rules::RESTORE_PROTECTS,
        about: "An exact restore removes everything that is not in the checkpoint.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let exact = matches!(request, Request::Restore { exact: true, .. });
            let target_id = subject.target_id(request).filter(|_| exact);
            after_restore(subject, request, |outcome| {
                let Some(tree) = target_id.map(|id| outcome.subject.tree(&id)) else {
                    return Ok(());
                };
                let files = outcome.files().into_iter().filter(|path| !tree.contains_key(path));
                files.map(|path| outcome.on_disk(&path)).try_for_each(fs::remove_file)
            })
        }),
    },
    PlantedBug {
        name: "exact-cleans-by-the-restored-ignore-file",
        rule: &rules::RESTORE_PROTECTS,
        about: "An exact restore removes files that were ignored before it restored an older ignore file.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            let exact = matches!(request, Request::Restore { exact: true, .. });
            let target_id = subject.target_id(request).filter(|_| exact);
            after_restore(subject, request, |outcome| {
                let (Some(id), Some(dir)) = (target_id, request.dir().cloned()) else {
                    return Ok(());
                };
                let diff = Request::Diff { dir, target: id.as_str().into() };
                let answer = outcome.subject.another_process().ask(&diff);
                let Answer::Diffed { entries, .. } = answer else { return Ok(()) };
                let report = &*outcome.report;
                let unseen = entries.iter().filter(|entry| {
                    entry.change == Change::Added
                        && !report.left.contains(&entry.path)
                        && report.kept.iter().all(|kept| kept.path != entry.path)
                });
                unseen.map(|entry| outcome.on_disk(&entry.path)).try_for_each(fs::remove_file)
            })
        }),
    },
    PlantedBug {
        name: "exact-cleans-what-the-own-ignore-file-excluded",
        rule: &rules::RESTORE_PROTECTS,
        about: "An exact restore removes files that the own ignore file of the checkpoint excludes.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            let exact = matches!(request, Request::Restore { exact: true, .. });
            let target_id = subject.target_id(request).filter(|_| exact);
            after_restore(subject, request, |outcome| {
                let tree = target_id.map(|id| outcome.subject.tree(&id));
                let is_own = |path: &ByteString| path[..] == *OWN_IGNORE_FILE.as_bytes();
                if !tree.is_some_and(|tree| tree.keys().any(is_own)) {
                    return Ok(());
                }
                for kept in std::mem::take(&mut outcome.report.kept) {
                    fs::remove_file(outcome.on_disk(&kept.path))?;
                    outcome.report.removed.push(kept.path);
                }
                Ok(())
            })
        }),
    },
    PlantedBug {
        name: "a-link-out-of-the-project-is-followed",
        rule: &rules::RESTORE_CONTAINED,
        about: "A restore writes a file through a link at its path, to a file outside the project.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            after_each_restored(subject, request, |outcome, path| outcome.follow(path, false))
        }),
    },
    PlantedBug {
        name: "a-created-file-is-removed-through-a-link",
        rule: &rules::RESTORE_CONTAINED,
        about: "A restore removes what was created only after it restored the links: through one that was a folder.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            after_restore(subject, request, |outcome| {
                let removed = outcome.report.removed.iter().map(|path| outcome.on_disk(path));
                removed
                    .filter(|file| file.symlink_metadata().is_ok_and(|found| !found.is_dir()))
                    .try_for_each(fs::remove_file)
            })
        }),
    },
];

/// Overwrites the paths that a restore kept, and that `is_overwritten` selects, with their recorded files.
fn overwriting_kept(
    subject: &mut Intercepted,
    request: &Request,
    is_overwritten: fn(&Path) -> bool,
) -> Answer {
    let target_id = subject.target_id(request).filter(|_| request.restores());
    after_restore(subject, request, |outcome| {
        let tree = target_id.map(|id| outcome.subject.tree(&id)).unwrap_or_default();
        for remark in std::mem::take(&mut outcome.report.kept) {
            let absolute = outcome.on_disk(&remark.path);
            let recorded = tree.get(&remark.path).filter(|_| is_overwritten(&absolute));
            let Some(Node::File { content, .. }) = recorded else {
                outcome.report.kept.push(remark);
                continue;
            };
            if outcome.after(&remark.path) == Some(&Node::Directory) {
                fs::remove_dir_all(&absolute)?;
            }
            fs::write(absolute, content)?;
            outcome.report.restored.push(remark.path);
        }
        Ok(())
    })
}
