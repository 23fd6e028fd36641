//! Bugs of turns: who has its automatic checkpoint, and who gets one.

use super::host::created;
use super::{Flaw, PlantedBug};
use herma_model::answer::TakeOutcome;
use herma_model::{Answer, Request, rules};

/// The bugs.
pub static BUGS: &[PlantedBug] = &[PlantedBug {
    name: "no-dedup-in-a-turn",
    rule: &rules::TURN_ONCE,
    about: "A project that had its automatic checkpoint in this turn gets another one.",
    operations_min: 3,
    flaw: Flaw::Asked(|host, request| {
        let had_one = host.turn().iter().any(|(before, answer)| {
            matches!(before, Request::EnsureCheckpoint { .. })
                && before.dir() == request.dir()
                && created(answer).is_some()
        });
        let answer = host.ask(request);
        match (request, &answer) {
            (
                Request::EnsureCheckpoint { dir, reason },
                Answer::Taken { outcome: TakeOutcome::Deduped, .. },
            ) if had_one => {
                let (dir, reason) = (dir.clone(), reason.clone());
                host.ask(&Request::Checkpoint { dir, reason })
            }
            _ => answer,
        }
    }),
}];
