//! Bugs of lists and previews.

use super::{Flaw, PlantedBug};
use herma_model::{Answer, rules};

/// The bugs.
pub static BUGS: &[PlantedBug] = &[PlantedBug {
    name: "list-in-wrong-order",
    rule: &rules::LIST_NEWEST_FIRST,
    about: "The list begins with the oldest checkpoint.",
    operations_min: 5,
    flaw: Flaw::Asked(|host, request| match host.ask(request) {
        Answer::Listed(mut listed) => {
            listed.reverse();
            Answer::Listed(listed)
        }
        answer => answer,
    }),
}];
