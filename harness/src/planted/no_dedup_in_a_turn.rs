//! A project that had its automatic checkpoint in this turn gets another one.

use super::PlantedBug;
use crate::subject::{CoreSubject, Subject};
use herma_model::answer::TakeOutcome;
use herma_model::{Answer, ByteString, Request, rules};
use std::collections::BTreeSet;

/// The bug.
pub const BUG: PlantedBug = PlantedBug {
    name: "no-dedup-in-a-turn",
    rule: &rules::TURN_ONCE,
    operations_min: 3,
    open: |sandbox, settings, seconds| {
        let core = CoreSubject::new(sandbox, settings, seconds);
        Box::new(NoDedup { core, taken: BTreeSet::new() })
    },
};

struct NoDedup {
    core: CoreSubject,
    /// Directories, as typed, that had their checkpoint in this turn.
    taken: BTreeSet<ByteString>,
}

impl Subject for NoDedup {
    fn ask(&mut self, request: &Request) -> Answer {
        if matches!(request, Request::NewTurn | Request::Reopen) {
            self.taken.clear();
        }
        let answer = self.core.ask(request);
        match (request, &answer) {
            (
                Request::EnsureCheckpoint { dir, .. },
                Answer::Taken { outcome: TakeOutcome::Created { .. }, .. },
            ) => {
                self.taken.insert(dir.clone());
                answer
            }
            (
                Request::EnsureCheckpoint { dir, reason },
                Answer::Taken { outcome: TakeOutcome::Deduped, .. },
            ) if self.taken.contains(dir) => {
                let (dir, reason) = (dir.clone(), reason.clone());
                self.core.ask(&Request::Checkpoint { dir, reason })
            }
            _ => answer,
        }
    }
}
