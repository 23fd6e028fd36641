//! Bugs of what stands around a restore: its pre-rollback checkpoint, refusals, the turn that it
//! undoes, and projects that are gone.

use super::after_restore::{afterwards, saying};
use super::intercepted::{Intercepted, created, none_taken, refused, restores, with_target};
use super::stored::EMPTY_TREE;
use super::{Flaw, PlantedBug};
use crate::sandbox::manifest::on_disk;
use crate::subject::Subject;
use herma_model::answer::{CheckpointOutcome, Restored};
use herma_model::{Answer, Code, Request, rules};
use std::fs::OpenOptions;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "a-refusal-takes-a-checkpoint",
        rule: &rules::RESTORE_REFUSAL_CHANGES_NOTHING,
        about: "The pre-rollback checkpoint is taken before it is known whether anything follows.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            let answer = host.ask(request);
            if restores(request) && matches!(answer, Answer::Refused { .. }) {
                take_before(host, request);
            }
            answer
        }),
    },
    PlantedBug {
        name: "a-missing-file-is-made-empty",
        rule: &rules::RESTORE_REFUSAL_CHANGES_NOTHING,
        about: "The file is opened for writing before the checkpoint is asked for it.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            let answer = host.ask(request);
            if let (Some(project), Request::RestoreFile { path, .. }) =
                (host.project(request), request)
                && matches!(answer, Answer::Refused { code: Code::NotInCheckpoint, .. })
                && !path.split(|byte| *byte == b'/').any(|name| name == b".git" || name == b"..")
            {
                let full = on_disk(&project, path);
                if host.is_inside(&full) {
                    // Where it cannot be made the refusal is as it should be.
                    let _ = OpenOptions::new().write(true).create_new(true).open(full);
                }
            }
            answer
        }),
    },
    PlantedBug {
        name: "no-checkpoint-before-a-restore",
        rule: &rules::RESTORE_SAFETY_CHECKPOINT,
        about: "Nothing is taken before a restore.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| without_safety(host, request, true)),
    },
    PlantedBug {
        name: "no-checkpoint-before-one-file",
        rule: &rules::RESTORE_SAFETY_CHECKPOINT,
        about: "Nothing is taken before a single file is restored.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            let applies = matches!(request, Request::RestoreFile { .. });
            without_safety(host, request, applies)
        }),
    },
    PlantedBug {
        name: "a-used-slot-spares-the-checkpoint",
        rule: &rules::RESTORE_SAFETY_CHECKPOINT,
        about: "Nothing is taken before a restore in a turn that has its checkpoint.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            let used = host.had(request, |answer| created(answer).is_some());
            without_safety(host, request, used)
        }),
    },
    PlantedBug {
        name: "a-rollback-uses-the-slot",
        rule: &rules::RESTORE_SAFETY_OUTSIDE_TURN,
        about: "The pre-rollback checkpoint is the one that the project may have in a turn.",
        operations_min: 5,
        flaw: Flaw::Intercepted(|host, request| {
            let takes = |(before, answer): &(Request, Answer)| {
                before.dir() == request.dir()
                    && matches!(answer, Answer::Restored(Restored { safety: Some(_), .. }))
            };
            let used = host.turn().iter().any(takes);
            if used && host.settings.enabled && matches!(request, Request::EnsureCheckpoint { .. })
            {
                return none_taken(CheckpointOutcome::Deduped);
            }
            host.ask(request)
        }),
    },
    PlantedBug {
        name: "every-rollback-takes-a-checkpoint",
        rule: &rules::RESTORE_SAFETY_SKIPPED,
        about: "A pre-rollback checkpoint is taken though the newest one holds the same.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            let there = host.project(request).is_some();
            with_another(host, request, |host, history, said| {
                let needless = there && said.safety.is_none() && !said.forced_past;
                let tree = host.tree_of(history).ok()?;
                let id = needless.then(|| host.commit(history, &tree, history))?.ok()?;
                said.safety = Some(id);
                Some(())
            })
        }),
    },
    PlantedBug {
        name: "a-project-that-is-gone-is-captured",
        rule: &rules::RESTORE_SAFETY_SKIPPED,
        about: "Before a project that is gone comes back, a checkpoint of nothing is taken.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            let gone = host.project(request).is_none();
            with_another(host, request, |host, history, said| {
                let id = gone.then(|| host.commit(history, EMPTY_TREE, history))?.ok()?;
                said.safety = Some(id);
                Some(())
            })
        }),
    },
    PlantedBug {
        name: "the-target-is-evicted",
        rule: &rules::RESTORE_SAFETY_KEEPS_TARGET,
        about: "The pre-rollback checkpoint makes room for itself first, by dropping the oldest.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            let listed = host.listed(request);
            let oldest = listed.last().map(|one| one.id.clone());
            let is_full = listed.len() >= host.settings.max_snapshots;
            match host.named(request) {
                Some(id) if restores(request) && is_full && oldest.as_ref() == Some(&id) => {
                    take_before(host, request);
                    host.ask(&with_target(request, &id[..]))
                }
                _ => host.ask(request),
            }
        }),
    },
    PlantedBug {
        name: "a-restore-goes-on-without-its-checkpoint",
        rule: &rules::RESTORE_SAFETY_REQUIRED,
        about: "Where no pre-rollback checkpoint can be taken, every restore goes on as if forced.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| host.ask(&forced(request, true))),
    },
    PlantedBug {
        name: "that-it-was-forced-is-not-said",
        rule: &rules::RESTORE_SAFETY_REQUIRED,
        about: "A forced restore does not say that there is no way back.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            saying(host, request, |said| said.forced_past = false)
        }),
    },
    PlantedBug {
        name: "force-is-not-heard",
        rule: &rules::RESTORE_SAFETY_REQUIRED,
        about: "Where no pre-rollback checkpoint can be taken, a forced restore is refused as well.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| host.ask(&forced(request, false))),
    },
    PlantedBug {
        name: "the-way-back-is-taken-too-late",
        rule: &rules::RESTORE_UNDO,
        about: "The pre-rollback checkpoint holds what the restore left, not what it found.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            let target = host.named(request);
            with_another(host, request, |host, history, said| {
                let (safety, tree) = (said.safety.as_mut()?, host.tree_of(&target?).ok()?);
                *safety = host.commit(history, &tree, &format!("{safety}^")).ok()?;
                Some(())
            })
        }),
    },
    PlantedBug {
        name: "the-way-back-is-the-last-checkpoint-again",
        rule: &rules::RESTORE_UNDO,
        about: "The pre-rollback checkpoint holds what the one before it does.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            with_another(host, request, |host, history, said| {
                let safety = said.safety.as_mut()?;
                let tree = host.tree_of(&format!("{safety}^")).ok()?;
                *safety = host.commit(history, &tree, &format!("{safety}^")).ok()?;
                Some(())
            })
        }),
    },
    PlantedBug {
        name: "one-file-undoes-the-turn",
        rule: &rules::RESTORE_UNDOES_TURN,
        about: "A single file that is restored undoes the last turn of the conversation.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            saying(host, request, |said| said.undoes_turn = true)
        }),
    },
    PlantedBug {
        name: "the-turn-is-not-undone",
        rule: &rules::RESTORE_UNDOES_TURN,
        about: "After a full restore the conversation still speaks of what is no longer so.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            saying(host, request, |said| said.undoes_turn = false)
        }),
    },
    PlantedBug {
        name: "a-project-that-is-gone-stays-gone",
        rule: &rules::RESTORE_DELETED_PROJECT,
        about: "A project whose directory was deleted cannot be restored.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            if restores(request) && host.project(request).is_none() && host.named(request).is_some()
            {
                return refused(Code::MissingDirectory, "no such directory");
            }
            host.ask(request)
        }),
    },
    PlantedBug {
        name: "a-project-that-is-gone-lists-nothing",
        rule: &rules::RESTORE_DELETED_PROJECT,
        about: "A project whose directory was deleted has no checkpoints any more.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| match request {
            Request::List { .. } if host.project(request).is_none() => Answer::Listed(Vec::new()),
            _ => host.ask(request),
        }),
    },
];

/// The same request for a full restore, forced or not.
fn forced(request: &Request, wanted: bool) -> Request {
    let mut request = request.clone();
    if let Request::Restore { force, .. } = &mut request {
        *force = wanted;
    }
    request
}

/// Has another process take a checkpoint such as is taken before a restore.
fn take_before(host: &Intercepted, request: &Request) {
    if let Some(dir) = request.dir().cloned() {
        let reason = "before rollback".into();
        host.another(&host.settings).ask(&Request::Checkpoint { dir, reason });
    }
}

/// Restores, and where that applies takes the pre-rollback checkpoint back.
fn without_safety(host: &mut Intercepted, request: &Request, applies: bool) -> Answer {
    let history = host.history(request);
    afterwards(host, request, |came| {
        if let (Some(history), Some(id)) = (history, came.said.safety.take_if(|_| applies)) {
            came.host.git(&["update-ref", &history, &format!("{id}^")])?;
        }
        Ok(())
    })
}

/// Restores, and then changes the newest checkpoint of the project's history.
fn with_another(
    host: &mut Intercepted,
    request: &Request,
    change: impl FnOnce(&Intercepted, &str, &mut Restored) -> Option<()>,
) -> Answer {
    let history = host.history(request).filter(|_| restores(request));
    let mut answer = host.ask(request);
    if let (Answer::Restored(said), Some(history)) = (&mut answer, history) {
        // A bug that cannot be played is no bug; the suite then just does not find it.
        let _ = change(host, &history, said);
    }
    answer
}
