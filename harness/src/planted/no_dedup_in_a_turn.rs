//! Every automatic checkpoint acts as if a turn had just begun.

use super::PlantedBug;
use crate::subject::{CoreSubject, Subject};
use herma_model::{Answer, Request, rules};

/// The bug.
pub const BUG: PlantedBug = PlantedBug {
    name: "no-dedup-in-a-turn",
    rule: &rules::TURN_ONCE,
    operations_min: 3,
    open: |sandbox, settings, seconds| {
        Box::new(NoDedup(CoreSubject::new(sandbox, settings, seconds)))
    },
};

struct NoDedup(CoreSubject);

impl Subject for NoDedup {
    fn ask(&mut self, request: &Request) -> Answer {
        if matches!(request, Request::EnsureCheckpoint { .. }) {
            self.0.ask(&Request::NewTurn);
        }
        self.0.ask(request)
    }
}
