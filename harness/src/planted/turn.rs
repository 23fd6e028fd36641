//! Bugs of turns: who has its automatic checkpoint, and who gets one.

use super::intercepted::{Intercepted, created, none_taken};
use super::{Flaw, PlantedBug};
use crate::subject::Subject;
use herma_model::answer::CheckpointOutcome;
use herma_model::{Answer, Request, rules};

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "no-dedup-in-a-turn",
        rule: &rules::TURN_ONCE,
        about: "A project that had its automatic checkpoint in this turn gets another one.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            let had_one = host.had(request, |answer| created(answer).is_some());
            manual_if_deduped(host, request, had_one)
        }),
    },
    PlantedBug {
        name: "a-new-turn-is-not-noticed",
        rule: &rules::TURN_RESET,
        about: "Nobody is told that a new turn begins.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| match request {
            Request::NewTurn => Answer::Done,
            _ => host.ask(request),
        }),
    },
    PlantedBug {
        name: "projects-share-the-slot",
        rule: &rules::TURN_PER_PROJECT,
        about: "Once one project had its automatic checkpoint, no other gets one in that turn.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            let used = host.turn().iter().any(|(before, answer)| {
                matches!(before, Request::EnsureCheckpoint { .. }) && was_looked_for(answer)
            });
            if used && matches!(request, Request::EnsureCheckpoint { .. }) {
                return none_taken(CheckpointOutcome::Deduped);
            }
            host.ask(request)
        }),
    },
    PlantedBug {
        name: "a-failed-attempt-uses-the-slot",
        rule: &rules::TURN_FAILURE_KEEPS_SLOT,
        about: "A project is marked as done before its checkpoint is taken, and stays so where that fails.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            let failed = |answer: &Answer| matches!(answer, Answer::Refused { .. });
            let by_itself = matches!(request, Request::EnsureCheckpoint { .. });
            if by_itself && host.had(request, failed) {
                return none_taken(CheckpointOutcome::Deduped);
            }
            host.ask(request)
        }),
    },
    PlantedBug {
        name: "nothing-to-save-keeps-the-slot",
        rule: &rules::TURN_NOTHING_USES_SLOT,
        about: "An attempt that found nothing to save is made again in the same turn.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            let unchanged = |answer: &Answer| *answer == none_taken(CheckpointOutcome::Unchanged);
            let found_nothing = host.had(request, unchanged);
            manual_if_deduped(host, request, found_nothing)
        }),
    },
    PlantedBug {
        name: "disabled-still-makes-the-store",
        rule: &rules::TURN_DISABLED,
        about: "The store is made before anybody asks whether checkpoints are enabled.",
        operations_min: 1,
        flaw: Flaw::Intercepted(|host, request| {
            let answer = host.ask(request);
            if answer == none_taken(CheckpointOutcome::Disabled)
                && let Ok(nothing) = host.aside().map(|aside| aside.as_os_str().to_owned())
            {
                // A checkpoint of an empty directory makes the store and nothing else.
                let dir = nothing.as_encoded_bytes().into();
                let request = Request::Checkpoint { dir, reason: String::new() };
                host.another(&host.settings).ask(&request);
            }
            answer
        }),
    },
    PlantedBug {
        name: "disabled-is-not-asked",
        rule: &rules::TURN_DISABLED,
        about: "Automatic checkpoints are taken whatever is configured.",
        operations_min: 2,
        flaw: Flaw::Configured(|settings| settings.enabled = true),
    },
    PlantedBug {
        name: "manual-only-if-enabled",
        rule: &rules::TURN_MANUAL,
        about: "With automatic checkpoints off there are none by hand either.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| match request {
            Request::Checkpoint { .. } if !host.settings.enabled => {
                none_taken(CheckpointOutcome::Disabled)
            }
            _ => host.ask(request),
        }),
    },
    PlantedBug {
        name: "manual-only-once-in-a-turn",
        rule: &rules::TURN_MANUAL,
        about: "A checkpoint asked for by hand is one more automatic one.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            let manual = matches!(request, Request::Checkpoint { .. });
            if manual && host.had(request, was_looked_for) {
                return none_taken(CheckpointOutcome::Deduped);
            }
            host.ask(request)
        }),
    },
];

/// Whether a checkpoint was taken, or there was nothing to take.
fn was_looked_for(answer: &Answer) -> bool {
    created(answer).is_some() || *answer == none_taken(CheckpointOutcome::Unchanged)
}

/// Takes a checkpoint although the core says that the turn has one, where `again`.
fn manual_if_deduped(host: &mut Intercepted, request: &Request, again: bool) -> Answer {
    let answer = host.ask(request);
    match request {
        Request::EnsureCheckpoint { dir, reason }
            if again && answer == none_taken(CheckpointOutcome::Deduped) =>
        {
            let (dir, reason) = (dir.clone(), reason.clone());
            host.ask(&Request::Checkpoint { dir, reason })
        }
        _ => answer,
    }
}
