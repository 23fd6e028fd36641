//! Bugs that show only under an injection: the process is killed, the power fails, the disk fails, files
//! are edited meanwhile, or processes overlap.

use super::Flaw::{Disk, Intercepted as Intercept};
use super::PlantedBug;
use super::faulty_disk::DiskFault;
use super::intercepted::{names, refused, takes_checkpoint, write_private};
use crate::history::InjectedEvent;
use herma_model::answer::CheckpointOutcome;
use herma_model::world::hash_of;
use herma_model::{Answer, Code, Request, rules};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "a-ref-is-written-where-it-stands",
        rule: &rules::CRASH_KILL,
        about: "A process that dies while it takes a checkpoint leaves no ref to the earlier checkpoints.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let answer = subject.ask(request);
            if subject.core.happened() == Some(InjectedEvent::Kill)
                && takes_checkpoint(request)
                && let Some(project) = subject.project(request)
            {
                let hash = hash_of(project.as_os_str().as_bytes());
                let store = subject.sandbox.store();
                // If neither file exists yet, nothing is lost.
                let _ = fs::write(store.join("refs/hermes").join(&hash), "");
                let _ = fs::write(store.join("projects").join(format!("{hash}.json")), "");
            }
            answer
        }),
    },
    PlantedBug {
        name: "half-a-pack-goes-after-it-was-made-whole",
        rule: &rules::CRASH_KILL,
        about: "The leftover of a pack is removed after the pack was written again under the same name.",
        operations_min: 9,
        flaw: Intercept(|subject, request| {
            // Git's lock remains only where the process died: after a mere failure it is removed.
            if !subject.sandbox.store().join("gc.pid").exists() {
                return subject.ask(request);
            }
            let folder = subject.sandbox.store().join("objects/pack");
            let has_index = |pack: &Path| pack.with_extension("idx").exists();
            let is_pack =
                |path: &Path| path.extension().is_some_and(|extension| extension == "pack");
            let files = names(&folder).unwrap_or_default();
            let mut without_index: Vec<PathBuf> =
                files.iter().map(|name| folder.join(name)).collect();
            without_index.retain(|path| is_pack(path) && !has_index(path));
            let answer = subject.ask(request);
            for pack in without_index.into_iter().filter(|pack| has_index(pack)) {
                let _ = fs::remove_file(pack);
            }
            answer
        }),
    },
    PlantedBug {
        name: "nothing-is-synced",
        rule: &rules::CRASH_POWER_LOSS,
        about: "A checkpoint is reported before any of its data is durable.",
        operations_min: 3,
        flaw: Disk(DiskFault::NeverSyncs(|_| true)),
    },
    PlantedBug {
        name: "a-ref-is-durable-before-its-objects",
        rule: &rules::CRASH_POWER_LOSS,
        about: "The ref of a checkpoint is synced, and the objects that it needs are not.",
        operations_min: 5,
        flaw: Disk(DiskFault::NeverSyncs(|path| {
            path.components().any(|folder| folder.as_os_str() == "objects")
        })),
    },
    PlantedBug {
        name: "an-error-is-an-empty-list",
        rule: &rules::FAULT_CLEAR_REFUSAL,
        about: "If the store cannot be read, the list is empty instead of an error.",
        operations_min: 4,
        flaw: Intercept(|subject, request| match (request, subject.ask(request)) {
            (Request::List { .. }, Answer::Refused { code: Code::Io, .. }) => {
                Answer::Listed(Vec::new())
            }
            (_, answer) => answer,
        }),
    },
    PlantedBug {
        name: "a-checkpoint-that-cannot-be-read-is-unknown",
        rule: &rules::FAULT_CLEAR_REFUSAL,
        about: "If a read fails while a checkpoint is compared or restored, there is no such checkpoint.",
        operations_min: 4,
        flaw: Intercept(|subject, request| match (request, subject.ask(request)) {
            (
                Request::Diff { .. } | Request::Restore { .. } | Request::RestoreFile { .. },
                Answer::Refused { code: Code::Io | Code::NoSafetyCheckpoint, .. },
            ) => refused(Code::UnknownCheckpoint, "there is no such checkpoint"),
            (_, answer) => answer,
        }),
    },
    PlantedBug {
        name: "a-refused-restore-brings-back-one-file",
        rule: &rules::FAULT_NAMES_HALF_RESTORED,
        about: "A restore that an error stopped leaves one file restored, and reports that nothing was restored.",
        operations_min: 7,
        flaw: Intercept(|subject, request| {
            let answer = subject.ask(request);
            if let (Request::Restore { dir, target, .. }, Answer::Refused { code, .. }) =
                (request, &answer)
                && [Code::Io, Code::NoSpace, Code::NoSafetyCheckpoint].contains(code)
                && !subject.core.is_dead()
            {
                let dir = dir.clone();
                let target = target.clone();
                let diff = Request::Diff { dir: dir.clone(), target: target.clone() };
                if let Answer::Diffed { entries, .. } = subject.core_answer(&diff)
                    && let [first, _, ..] = &entries[..]
                {
                    let path = first.path.clone();
                    subject.core_answer(&Request::RestoreFile { dir, target, path });
                }
            }
            answer
        }),
    },
    PlantedBug {
        name: "a-file-is-read-in-two-pieces",
        rule: &rules::CAPTURE_STEADY,
        about: "A file is read in two halves, and a change between them is not noticed.",
        operations_min: 3,
        flaw: Disk(DiskFault::ReadsInPieces),
    },
    PlantedBug {
        name: "a-folder-is-opened-by-its-path",
        rule: &rules::CAPTURE_CONTAINED,
        about: "A folder that was replaced by a link a moment ago is followed.",
        operations_min: 4,
        flaw: Disk(DiskFault::FollowsLinks),
    },
    PlantedBug {
        name: "an-undone-restore-undoes-a-save",
        rule: &rules::RESTORE_KEEPS_SAVES,
        about: "Undoing a restore overwrites files that were saved since the restore.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let before = request.restores().then(|| subject.files());
            let answer = subject.ask(request);
            if let (Some(before), Answer::Refused { .. }) = (before, &answer)
                && let Some(project) = subject.project_inside(request)
            {
                let after = subject.files();
                for (path, _) in before.below(&project) {
                    if before.get(path) != after.get(path) {
                        // If a path cannot be put back, the bug does not show.
                        let _ = subject.put_back(&before, path);
                    }
                }
            }
            answer
        }),
    },
    PlantedBug {
        name: "whoever-comes-second-reports-what-the-first-took",
        rule: &rules::CONCURRENT_SERIAL,
        about: "A checkpoint that another process took a moment before is reported as a new one.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            let Request::Checkpoint { dir, .. } = request else { return subject.ask(request) };
            let list = Request::List { dir: dir.clone() };
            let before = subject.core_answer(&list);
            let answer = subject.ask(request);
            if let Answer::Taken { outcome: CheckpointOutcome::Unchanged, skipped } = &answer
                && let (Answer::Listed(before), Answer::Listed(after)) =
                    (before, subject.core_answer(&list))
                && after.len() > before.len()
            {
                let outcome = CheckpointOutcome::Created { id: after[0].id.clone() };
                return Answer::Taken { outcome, skipped: skipped.clone() };
            }
            answer
        }),
    },
    PlantedBug {
        name: "no-lock-of-the-store-is-taken",
        rule: &rules::CONCURRENT_KEEPS,
        about: "Freeing space removes objects that another process has stored but not yet referenced.",
        // Five suffice at another call: shrinking removes an operation or changes a call, not both at once.
        operations_min: 6,
        flaw: Disk(DiskFault::Unlocked(|path| path.ends_with("locks/store"))),
    },
    PlantedBug {
        name: "a-lock-outlives-its-process",
        rule: &rules::LOCK_STALE,
        about: "If a lock file exists, its owner counts as alive.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let lock = subject.sandbox.base().join("taking.lock");
            if !takes_checkpoint(request) || !subject.sandbox.has_store() {
                return subject.ask(request);
            }
            if lock.exists() {
                return refused(Code::Busy, "a checkpoint is being taken");
            }
            let is_locked = write_private(&lock, b"").is_ok();
            let answer = subject.ask(request);
            if is_locked && !subject.core.is_dead() {
                // If the lock stays, the next checkpoint is refused because of it.
                let _ = fs::remove_file(lock);
            }
            answer
        }),
    },
];
