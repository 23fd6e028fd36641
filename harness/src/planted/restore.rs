//! Bugs in restores: wrong refusals, a missing or wrong checkpoint before a restore, and a damaged list after it.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use super::after_restore::with_report;
use super::intercepted::{Intercepted, checkpoint_answer, refused, with_target};
use crate::sandbox::manifest::on_disk;
use crate::subject::Subject;
use herma_model::answer::{CheckpointOutcome, Listed, Restored};
use herma_model::store::UNLISTED;
use herma_model::{Answer, ByteString, Code, Node, Request, Settings, rules};
use std::fs::{self, OpenOptions};
use std::io;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "a-refusal-takes-a-checkpoint",
        rule: &rules::RESTORE_REFUSAL_CHANGES_NOTHING,
        about: "The pre-restore checkpoint is taken before the restore is checked, even if it is then refused.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            let answer = subject.ask(request);
            // An undo that is refused has no target, and is checked elsewhere.
            if request.target().is_some()
                && request.restores()
                && matches!(answer, Answer::Refused { .. })
            {
                take_pre_restore_checkpoint(subject, request);
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
                let absolute = on_disk(&project, path);
                if subject.is_inside(&absolute) {
                    // If the file cannot be made, the refusal stays correct.
                    let _ = OpenOptions::new().write(true).create_new(true).open(absolute);
                }
            }
            answer
        }),
    },
    PlantedBug {
        name: "a-link-stops-a-restore",
        rule: &rules::RESTORE_HAPPENS,
        about: "A full restore is refused if there is a link among the files of the project.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            if let Request::Restore { target, .. } = request
                && is_newest_without_limit(subject, request, target)
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
            with_changed_history(subject, request, |subject, history, report| {
                let id = report.safety.take()?;
                subject.git(&["update-ref", history, &format!("{id}^")]).ok()
            })
        }),
    },
    PlantedBug {
        name: "a-rollback-uses-the-slot",
        rule: &rules::RESTORE_SAFETY_OUTSIDE_TURN,
        about: "The pre-restore checkpoint counts as the automatic checkpoint of the turn.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            let used = subject.turn().iter().any(|(earlier, answer)| {
                earlier.dir() == request.dir()
                    && matches!(answer, Answer::Restored(Restored { safety: Some(_), .. }))
            });
            let is_automatic = matches!(request, Request::EnsureCheckpoint { .. });
            if used && is_automatic && subject.settings.enabled {
                return checkpoint_answer(CheckpointOutcome::Deduped);
            }
            subject.ask(request)
        }),
    },
    PlantedBug {
        name: "every-rollback-takes-a-checkpoint",
        rule: &rules::RESTORE_SAFETY_SKIPPED,
        about: "A pre-restore checkpoint is taken even if the newest checkpoint holds the same files.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            let exists = subject.project(request).is_some();
            with_changed_history(subject, request, |subject, history, report| {
                let needless = exists && report.safety.is_none() && !report.forced_past;
                let tree = subject.tree_of(history).ok().filter(|_| needless)?;
                report.safety = Some(subject.commit(history, &tree, Some(history)).ok()?);
                None
            })
        }),
    },
    PlantedBug {
        name: "the-target-is-evicted",
        rule: &rules::RESTORE_SAFETY_KEEPS_TARGET,
        about: "The oldest checkpoint is evicted before the pre-restore checkpoint is taken, even if it is the target.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let listed = subject.listed(request);
            let oldest = listed.last().map(|entry| entry.id.clone());
            let is_full = listed.len() >= subject.settings.max_snapshots;
            match subject.target_id(request) {
                Some(id) if request.restores() && is_full && oldest.as_ref() == Some(&id) => {
                    take_pre_restore_checkpoint(subject, request);
                    subject.ask(&with_target(request, &id[..]))
                }
                _ => subject.ask(request),
            }
        }),
    },
    PlantedBug {
        name: "a-rollback-pushes-the-oldest-out",
        rule: &rules::RESTORE_KEEPS_HISTORY,
        about: "After a restore, the limit evicts checkpoints as after any other checkpoint.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let answer = subject.ask(request);
            let rolled_back =
                matches!(&answer, Answer::Restored(report) if report.safety.is_some());
            let max = subject.settings.max_snapshots;
            let listed = if rolled_back { subject.listed(request) } else { Vec::new() };
            if let Some(last_kept) = listed.get(max - 1).filter(|_| listed.len() > max) {
                // If the bug cannot act, the restore stays correct.
                let _ = end_history(subject, &last_kept.id);
            }
            answer
        }),
    },
    PlantedBug {
        name: "a-rollback-drops-the-undo-of-the-one-before",
        rule: &rules::RESTORE_KEEPS_UNDO,
        about: "In a full list only the pre-restore checkpoint of the last restore is kept.",
        operations_min: 6,
        flaw: Intercept(|subject, request| {
            let answer = subject.ask(request);
            if matches!(&answer, Answer::Restored(report) if report.safety.is_some()) {
                // If the bug cannot act, the restore stays correct.
                let _ = drop_unlisted(subject);
            }
            answer
        }),
    },
    PlantedBug {
        name: "an-undo-undoes-itself",
        rule: &rules::RESTORE_UNDO_REDO,
        about: "An undo restores the newest pre-restore checkpoint exactly, which after an undo is its own.",
        operations_min: 5,
        flaw: Intercept(|subject, request| undo_as_restore(subject, request, true)),
    },
    PlantedBug {
        name: "an-undo-leaves-what-the-rollback-brought",
        rule: &rules::RESTORE_UNDO_REDO,
        about: "An undo restores the newest pre-restore checkpoint, and leaves the files that came back.",
        operations_min: 5,
        flaw: Intercept(|subject, request| undo_as_restore(subject, request, false)),
    },
    PlantedBug {
        name: "an-undo-is-of-the-project-restored-last",
        rule: &rules::RESTORE_UNDO_REDO,
        about: "An undo undoes the last restore of any project.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            let mut request = request.clone();
            if let Request::Undo { dir } = &mut request {
                let restored = |(logged, answer): &(Request, Answer)| {
                    let is_restored = matches!(answer, Answer::Restored(_));
                    logged.dir().filter(|_| is_restored).cloned()
                };
                let last = subject.log.iter().rev().find_map(restored);
                *dir = last.unwrap_or_else(|| dir.clone());
            }
            subject.ask(&request)
        }),
    },
    PlantedBug {
        name: "a-restore-goes-on-without-its-checkpoint",
        rule: &rules::RESTORE_SAFETY_REQUIRED,
        about: "If no pre-restore checkpoint can be taken, every restore continues as if it were forced.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            with_full_options(subject, request, |_, force| *force = true)
        }),
    },
    PlantedBug {
        name: "the-way-back-is-taken-too-late",
        rule: &rules::RESTORE_UNDO,
        about: "The pre-restore checkpoint is taken after the restore, not before it.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let target = subject.target_id(request);
            with_changed_history(subject, request, |subject, history, report| {
                let safety = report.safety.as_mut()?;
                let tree = subject.tree_of(&target?).ok()?;
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
            with_report(subject, request, |report| report.undoes_turn = false)
        }),
    },
    PlantedBug {
        name: "a-project-that-is-gone-lists-nothing",
        rule: &rules::RESTORE_DELETED_PROJECT,
        about: "The checkpoints of a project whose directory was deleted are not listed.",
        operations_min: 4,
        flaw: Intercept(|subject, request| match request {
            Request::List { .. } if subject.project(request).is_none() => {
                Answer::Listed(Vec::new())
            }
            _ => subject.ask(request),
        }),
    },
];

/// Whether a target is the newest checkpoint, and the number of files is not limited.
fn is_newest_without_limit(subject: &Intercepted, request: &Request, target: &ByteString) -> bool {
    let Some(dir) = request.dir().cloned() else { return false };
    let listed = subject.another_process().ask(&Request::List { dir });
    let unlimited = subject.settings.max_files >= Settings::default().max_files;
    let newest = match listed {
        Answer::Listed(listed) => listed.into_iter().next(),
        _ => None,
    };
    unlimited && newest.is_some_and(|newest| **target == *b"1" || **target == *newest.id.as_bytes())
}

fn has_link(subject: &Intercepted, request: &Request) -> bool {
    let project = subject.project_inside(request).unwrap_or_default();
    let is_link = |(_, node): (&ByteString, &Node)| matches!(node, Node::Link { .. });
    subject.files().below(&project).any(is_link)
}

/// Asks the core, in a full restore with other options: exact or not, forced or not.
pub fn with_full_options(
    subject: &mut Intercepted,
    request: &Request,
    change: fn(&mut bool, &mut bool),
) -> Answer {
    let mut request = request.clone();
    if let Request::Restore { exact, force, .. } = &mut request {
        change(exact, force);
    }
    subject.ask(&request)
}

/// Lets another process take a checkpoint like a pre-restore checkpoint.
fn take_pre_restore_checkpoint(subject: &Intercepted, request: &Request) {
    if let Some(dir) = request.dir().cloned() {
        let reason = "before rollback".into();
        subject.another_process().ask(&Request::Checkpoint { dir, reason });
    }
}

/// Cuts off the history before that checkpoint.
fn end_history(subject: &Intercepted, id: &str) -> io::Result<()> {
    let path = subject.sandbox.store().join("shallow");
    let before = fs::read_to_string(&path).unwrap_or_default();
    fs::write(path, format!("{before}{id}\n"))
}

/// Removes every pre-restore checkpoint that is not listed.
fn drop_unlisted(subject: &Intercepted) -> io::Result<()> {
    let refs = subject.git(&["for-each-ref", "--format=%(refname)", UNLISTED])?;
    refs.lines().try_for_each(|name| subject.git(&["update-ref", "-d", name]).map(drop))
}

/// Asks the core, and after a restore changes the project's history and the report. `change` returns `None`
/// only to give up early.
fn with_changed_history(
    subject: &mut Intercepted,
    request: &Request,
    change: impl FnOnce(&Intercepted, &str, &mut Restored) -> Option<String>,
) -> Answer {
    let history = subject.history_ref(request).filter(|_| request.restores());
    let mut answer = subject.ask(request);
    if let (Answer::Restored(report), Some(history)) = (&mut answer, history) {
        let _ = change(subject, &history, report);
    }
    answer
}

/// Restores the newest pre-restore checkpoint where an undo is requested.
fn undo_as_restore(subject: &mut Intercepted, request: &Request, exact: bool) -> Answer {
    let Request::Undo { dir } = request else { return subject.ask(request) };
    let listed = subject.listed(request);
    // Which checkpoints make room depends on the restored one.
    let has_room = listed.len() + 1 < subject.settings.max_snapshots;
    match listed.iter().find(|listed| has_room && listed.number == 0) {
        Some(Listed { id, .. }) => {
            let target = id.as_str().into();
            let request = Request::Restore { dir: dir.clone(), target, exact, force: false };
            let mut answer = subject.ask(&request);
            if let Answer::Restored(report) = &mut answer {
                report.undoes_turn = false;
            }
            answer
        }
        None => subject.ask(request),
    }
}
