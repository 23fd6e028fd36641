//! Bugs of restores: what comes back, what stays, which checkpoint is taken before, and what is
//! reported.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use super::after_restore::{afterwards, saying};
use super::intercepted::{Intercepted, none_taken, refused, with_target};
use crate::sandbox::manifest::on_disk;
use crate::subject::Subject;
use herma_model::answer::{Change, CheckpointOutcome, Restored};
use herma_model::store::UNLISTED;
use herma_model::{Answer, ByteString, Code, Node, Request, Settings, rules};
use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "a-refusal-takes-a-checkpoint",
        rule: &rules::RESTORE_REFUSAL_CHANGES_NOTHING,
        about: "The pre-rollback checkpoint is taken before it is known whether the restore will be refused.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            let answer = subject.ask(request);
            if request.restores() && matches!(answer, Answer::Refused { .. }) {
                take_before(subject, request);
            }
            answer
        }),
    },
    PlantedBug {
        name: "a-missing-file-is-made-empty",
        rule: &rules::RESTORE_REFUSAL_CHANGES_NOTHING,
        about: "The file is opened for writing before it is looked up in the checkpoint.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            let answer = subject.ask(request);
            if let (Some(project), Request::RestoreFile { path, .. }) =
                (subject.project(request), request)
                && matches!(answer, Answer::Refused { code: Code::NotInCheckpoint, .. })
                && !path.split(|byte| *byte == b'/').any(|name| name == b".git" || name == b"..")
            {
                let full = on_disk(&project, path);
                if subject.is_inside(&full) {
                    // If it cannot be made, the refusal stays correct.
                    let _ = OpenOptions::new().write(true).create_new(true).open(full);
                }
            }
            answer
        }),
    },
    PlantedBug {
        name: "a-link-stops-a-restore",
        rule: &rules::RESTORE_HAPPENS,
        about: "A full restore gives up where a link stands among the files of the project.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            if let Request::Restore { target, .. } = request
                && is_newest_in_reach(subject, request, target)
                && has_link(subject, request)
            {
                return refused(Code::Io, "a link is in the way");
            }
            subject.ask(request)
        }),
    },
    PlantedBug {
        name: "no-checkpoint-before-a-restore",
        rule: &rules::RESTORE_SAFETY_CHECKPOINT,
        about: "No checkpoint is taken before a restore.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            with_history(subject, request, |subject, history, said| {
                let id = said.safety.take()?;
                subject.git(&["update-ref", history, &format!("{id}^")]).ok()
            })
        }),
    },
    PlantedBug {
        name: "a-rollback-uses-the-slot",
        rule: &rules::RESTORE_SAFETY_OUTSIDE_TURN,
        about: "The pre-rollback checkpoint counts as the automatic one of the turn.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            let used = subject.turn().iter().any(|(before, answer)| {
                before.dir() == request.dir()
                    && matches!(answer, Answer::Restored(Restored { safety: Some(_), .. }))
            });
            let is_automatic = matches!(request, Request::EnsureCheckpoint { .. });
            if used && is_automatic && subject.settings.enabled {
                return none_taken(CheckpointOutcome::Deduped);
            }
            subject.ask(request)
        }),
    },
    PlantedBug {
        name: "every-rollback-takes-a-checkpoint",
        rule: &rules::RESTORE_SAFETY_SKIPPED,
        about: "A pre-rollback checkpoint is taken though the newest one holds the same.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            let is_there = subject.project(request).is_some();
            with_history(subject, request, |subject, history, said| {
                let needless = is_there && said.safety.is_none() && !said.forced_past;
                let tree = subject.tree_of(history).ok().filter(|_| needless)?;
                said.safety = Some(subject.commit(history, &tree, Some(history)).ok()?);
                None
            })
        }),
    },
    PlantedBug {
        name: "the-target-is-evicted",
        rule: &rules::RESTORE_SAFETY_KEEPS_TARGET,
        about: "The pre-rollback checkpoint makes room for itself first, by dropping the oldest.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let listed = subject.listed(request);
            let oldest = listed.last().map(|one| one.id.clone());
            let is_full = listed.len() >= subject.settings.max_snapshots;
            match subject.named(request) {
                Some(id) if request.restores() && is_full && oldest.as_ref() == Some(&id) => {
                    take_before(subject, request);
                    subject.ask(&with_target(request, &id[..]))
                }
                _ => subject.ask(request),
            }
        }),
    },
    PlantedBug {
        name: "a-rollback-pushes-the-oldest-out",
        rule: &rules::RESTORE_KEEPS_HISTORY,
        about: "After a restore only as many checkpoints are kept as after any other checkpoint.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let answer = subject.ask(request);
            let rolled_back = matches!(&answer, Answer::Restored(said) if said.safety.is_some());
            let most = subject.settings.max_snapshots;
            let listed = if rolled_back { subject.listed(request) } else { Vec::new() };
            if let Some(end) = listed.get(most - 1).filter(|_| listed.len() > most) {
                // If the bug cannot act, the restore stays correct.
                let _ = end_history(subject, &end.id);
            }
            answer
        }),
    },
    PlantedBug {
        name: "a-rollback-drops-the-undo-of-the-one-before",
        rule: &rules::RESTORE_KEEPS_UNDO,
        about: "In a full list only the pre-restore checkpoint of the last rollback is kept.",
        operations_min: 6,
        flaw: Intercept(|subject, request| {
            let answer = subject.ask(request);
            if matches!(&answer, Answer::Restored(said) if said.safety.is_some()) {
                // If the bug cannot act, the restore stays correct.
                let _ = drop_unlisted(subject);
            }
            answer
        }),
    },
    PlantedBug {
        name: "a-restore-goes-on-without-its-checkpoint",
        rule: &rules::RESTORE_SAFETY_REQUIRED,
        about: "Where no pre-rollback checkpoint can be taken, every restore goes on as if forced.",
        operations_min: 4,
        flaw: Intercept(|subject, request| full_as(subject, request, |_, force| *force = true)),
    },
    PlantedBug {
        name: "the-way-back-is-taken-too-late",
        rule: &rules::RESTORE_UNDO,
        about: "The pre-rollback checkpoint holds what the restore left, not what it found.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let target = subject.named(request);
            with_history(subject, request, |subject, history, said| {
                let (safety, tree) = (said.safety.as_mut()?, subject.tree_of(&target?).ok()?);
                let parent = format!("{safety}^");
                *safety = subject.commit(history, &tree, Some(&parent)).ok()?;
                None
            })
        }),
    },
    PlantedBug {
        name: "the-turn-is-not-undone",
        rule: &rules::RESTORE_UNDOES_TURN,
        about: "A full restore does not undo the last conversation turn.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            saying(subject, request, |said| said.undoes_turn = false)
        }),
    },
    PlantedBug {
        name: "a-project-that-is-gone-lists-nothing",
        rule: &rules::RESTORE_DELETED_PROJECT,
        about: "A project whose directory was deleted has no checkpoints any more.",
        operations_min: 4,
        flaw: Intercept(|subject, request| match request {
            Request::List { .. } if subject.project(request).is_none() => {
                Answer::Listed(Vec::new())
            }
            _ => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "restore-leaves-one-file",
        rule: &rules::RESTORE_BYTES,
        about: "A restore leaves the last file that it should bring back as it was.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            afterwards(subject, request, |outcome| {
                let changed = |path: &&ByteString| match (outcome.before(path), outcome.after(path))
                {
                    (Some(Node::File { content, .. }), Some(Node::File { content: now, .. })) => {
                        content != now
                    }
                    _ => false,
                };
                let last = outcome.said.restored.iter().rev().find(changed);
                last.map_or(Ok(()), |path| outcome.put_back(path))
            })
        }),
    },
    PlantedBug {
        name: "a-missing-program-comes-back-as-a-text",
        rule: &rules::RESTORE_EXECUTABLE,
        about: "A restored file is never executable, whatever was recorded.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            afterwards(subject, request, |outcome| {
                outcome.each_restored(|outcome, path| match outcome.after(path) {
                    Some(Node::File { executable: true, .. }) => {
                        fs::set_permissions(outcome.on_disk(path), Permissions::from_mode(0o644))
                    }
                    _ => Ok(()),
                })
            })
        }),
    },
    PlantedBug {
        name: "a-link-comes-back-as-a-file",
        rule: &rules::RESTORE_TYPE,
        about: "A link comes back as a file that holds the name of what the link points at.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            afterwards(subject, request, |outcome| {
                outcome.each_restored(|outcome, path| match outcome.after(path) {
                    Some(Node::Link { target }) => {
                        fs::remove_file(outcome.on_disk(path))?;
                        fs::write(outcome.on_disk(path), target)
                    }
                    _ => Ok(()),
                })
            })
        }),
    },
    PlantedBug {
        name: "a-file-is-written-through-a-link",
        rule: &rules::RESTORE_TYPE,
        about: "A file is written through a link in its place, to a file inside the project, by a full restore.",
        operations_min: 5,
        flaw: Intercept(|subject, request| match request {
            Request::RestoreFile { .. } => subject.ask(request),
            _ => afterwards(subject, request, |outcome| {
                outcome.each_restored(|outcome, path| outcome.follow(path, true))
            }),
        }),
    },
    PlantedBug {
        name: "one-file-is-written-through-the-link-in-its-place",
        rule: &rules::RESTORE_FILE_ONLY,
        about: "A single file is written through a link in its place; a full restore replaces the link.",
        operations_min: 5,
        flaw: Intercept(|subject, request| match request {
            Request::RestoreFile { .. } => afterwards(subject, request, |outcome| {
                outcome.each_restored(|outcome, path| outcome.follow(path, true))
            }),
            _ => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "a-directory-in-the-way-is-left",
        rule: &rules::RESTORE_TYPE,
        about: "A file or link is not restored where there is now a directory with files.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            afterwards(subject, request, |outcome| {
                outcome.each_restored(|outcome, path| match outcome.before(path) {
                    Some(Node::Directory) => outcome.put_back(path),
                    _ => Ok(()),
                })
            })
        }),
    },
    PlantedBug {
        name: "files-created-since-are-removed",
        rule: &rules::RESTORE_LEAVES_NEW,
        about: "A restore removes files created since, without being asked to.",
        operations_min: 4,
        flaw: Intercept(|subject, request| full_as(subject, request, |exact, _| *exact = true)),
    },
    PlantedBug {
        name: "exact-removes-nothing",
        rule: &rules::RESTORE_EXACT,
        about: "An exact restore leaves files created since like any other.",
        operations_min: 4,
        flaw: Intercept(|subject, request| full_as(subject, request, |exact, _| *exact = false)),
    },
    PlantedBug {
        name: "one-restored-path-is-not-said",
        rule: &rules::RESTORE_HONEST,
        about: "The report of a restore leaves out the last restored path.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            saying(subject, request, |said| drop(said.restored.pop()))
        }),
    },
    PlantedBug {
        name: "what-was-kept-is-overwritten",
        rule: &rules::RESTORE_PROTECTS,
        about: "What no checkpoint holds is overwritten: a file over the cap, a directory of ignored files.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            let named = subject.named(request).filter(|_| request.restores());
            afterwards(subject, request, |outcome| {
                let tree = named.map(|id| outcome.subject.tree(&id)).unwrap_or_default();
                for remark in std::mem::take(&mut outcome.said.kept) {
                    let full = outcome.on_disk(&remark.path);
                    let Some(Node::File { content, .. }) = tree.get(&remark.path) else {
                        outcome.said.kept.push(remark);
                        continue;
                    };
                    if outcome.after(&remark.path) == Some(&Node::Directory) {
                        fs::remove_dir_all(&full)?;
                    }
                    fs::write(full, content)?;
                    outcome.said.restored.push(remark.path);
                }
                Ok(())
            })
        }),
    },
    PlantedBug {
        name: "exact-removes-ignored-files",
        rule: &rules::RESTORE_PROTECTS,
        about: "An exact restore removes everything that the checkpoint does not hold.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let exact = matches!(request, Request::Restore { exact: true, .. });
            let named = subject.named(request).filter(|_| exact);
            afterwards(subject, request, |outcome| {
                let Some(tree) = named.map(|id| outcome.subject.tree(&id)) else { return Ok(()) };
                let files = outcome.files().into_iter().filter(|path| !tree.contains_key(path));
                files.map(|path| outcome.on_disk(&path)).try_for_each(fs::remove_file)
            })
        }),
    },
    PlantedBug {
        name: "exact-cleans-by-the-restored-ignore-file",
        rule: &rules::RESTORE_PROTECTS,
        about: "An exact restore removes what was ignored until it brought the ignore file back.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            let exact = matches!(request, Request::Restore { exact: true, .. });
            let named = subject.named(request).filter(|_| exact);
            afterwards(subject, request, |outcome| {
                let (Some(id), Some(dir)) = (named, request.dir().cloned()) else { return Ok(()) };
                let look = Request::Diff { dir, target: id.as_str().into() };
                let now = outcome.subject.another().ask(&look);
                let Answer::Diffed { entries, .. } = now else { return Ok(()) };
                let said = &*outcome.said;
                let unseen = entries.iter().filter(|one| {
                    one.change == Change::Added
                        && !said.left.contains(&one.path)
                        && said.kept.iter().all(|kept| kept.path != one.path)
                });
                unseen.map(|one| outcome.on_disk(&one.path)).try_for_each(fs::remove_file)
            })
        }),
    },
    PlantedBug {
        name: "a-link-out-of-the-project-is-followed",
        rule: &rules::RESTORE_CONTAINED,
        about: "A file is written through a link in its place, to a file outside the project.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            afterwards(subject, request, |outcome| {
                outcome.each_restored(|outcome, path| outcome.follow(path, false))
            })
        }),
    },
];

/// Whether a target is the newest checkpoint, and no limit on files stands in the way.
fn is_newest_in_reach(subject: &Intercepted, request: &Request, target: &ByteString) -> bool {
    let Some(dir) = request.dir().cloned() else { return false };
    let listed = subject.another().ask(&Request::List { dir });
    let unlimited = subject.settings.max_files >= Settings::default().max_files;
    let newest = match listed {
        Answer::Listed(listed) => listed.into_iter().next(),
        _ => None,
    };
    unlimited && newest.is_some_and(|one| **target == *b"1" || **target == *one.id.as_bytes())
}

fn has_link(subject: &Intercepted, request: &Request) -> bool {
    let project = subject.project_inside(request).unwrap_or_default();
    let is_link = |(_, node): (&ByteString, &Node)| matches!(node, Node::Link { .. });
    subject.files().below(&project).any(is_link)
}

/// Asks for a full restore with other options: exact or not, forced or not.
fn full_as(
    subject: &mut Intercepted,
    request: &Request,
    choose: fn(&mut bool, &mut bool),
) -> Answer {
    let mut request = request.clone();
    if let Request::Restore { exact, force, .. } = &mut request {
        choose(exact, force);
    }
    subject.ask(&request)
}

/// Lets another process take a checkpoint like the one before a restore.
fn take_before(subject: &Intercepted, request: &Request) {
    if let Some(dir) = request.dir().cloned() {
        let reason = "before rollback".into();
        subject.another().ask(&Request::Checkpoint { dir, reason });
    }
}

/// Drops what comes before that checkpoint.
fn end_history(subject: &Intercepted, id: &str) -> io::Result<()> {
    let path = subject.sandbox.store().join("shallow");
    let before = fs::read_to_string(&path).unwrap_or_default();
    fs::write(path, format!("{before}{id}\n"))
}

/// Drops every pre-restore checkpoint that the list has no room for.
fn drop_unlisted(subject: &Intercepted) -> io::Result<()> {
    let refs = subject.git(&["for-each-ref", "--format=%(refname)", UNLISTED])?;
    refs.lines().try_for_each(|name| subject.git(&["update-ref", "-d", name]).map(drop))
}

/// Restores, and then changes the project's history and the report; `change` returns `None` only to
/// give up early.
fn with_history(
    subject: &mut Intercepted,
    request: &Request,
    change: impl FnOnce(&Intercepted, &str, &mut Restored) -> Option<String>,
) -> Answer {
    let history = subject.history(request).filter(|_| request.restores());
    let mut answer = subject.ask(request);
    if let (Answer::Restored(said), Some(history)) = (&mut answer, history) {
        let _ = change(subject, &history, said);
    }
    answer
}
