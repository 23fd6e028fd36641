//! The list begins with the oldest checkpoint.

use super::PlantedBug;
use crate::subject::{CoreSubject, Subject};
use herma_model::{Answer, Request, rules};

/// The bug.
pub const BUG: PlantedBug = PlantedBug {
    name: "list-in-wrong-order",
    rule: &rules::LIST_NEWEST_FIRST,
    operations_min: 5,
    open: |sandbox, settings, seconds| {
        Box::new(OldestFirst(CoreSubject::new(sandbox, settings, seconds)))
    },
};

struct OldestFirst(CoreSubject);

impl Subject for OldestFirst {
    fn ask(&mut self, request: &Request) -> Answer {
        match self.0.ask(request) {
            Answer::Listed(mut listed) => {
                listed.reverse();
                Answer::Listed(listed)
            }
            answer => answer,
        }
    }
}
