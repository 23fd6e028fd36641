//! Bugs of attribution: which of the replaced paths were last edited by anyone but the agent.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use herma_model::{Answer, rules};

/// The bugs.
pub static BUGS: &[PlantedBug] = &[PlantedBug {
    name: "every-hand-is-the-agents",
    rule: &rules::RESTORE_OTHER_HANDS,
    about: "Every path that a restore replaces is attributed to the agent.",
    operations_min: 5,
    flaw: Intercept(|subject, request| {
        let mut answer = subject.ask(request);
        if let Answer::Restored(report) = &mut answer {
            report.others = report.others.take().map(|_| Vec::new());
        }
        answer
    }),
}];
