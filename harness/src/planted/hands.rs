//! Bugs of who tells the agent's work from that of others.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use herma_model::{Answer, Request, rules};

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "only-the-last-hand-counts",
        rule: &rules::RESTORE_OTHER_HANDS,
        about: "What stood there before the agent wrote is not looked at.",
        operations_min: 6,
        flaw: Intercept(|subject, request| match request {
            Request::ToolWrites { .. } => Answer::Done,
            _ => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "every-hand-is-the-agents",
        rule: &rules::RESTORE_OTHER_HANDS,
        about: "What a restore replaces counts as the agent's, whoever wrote it.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            let mut answer = subject.ask(request);
            if let Answer::Restored(said) = &mut answer {
                said.others = said.others.take().map(|_| Vec::new());
            }
            answer
        }),
    },
    PlantedBug {
        name: "every-hand-is-another",
        rule: &rules::RESTORE_OTHER_HANDS,
        about: "That the agent wrote is forgotten as soon as it ends.",
        operations_min: 6,
        flaw: Intercept(|subject, request| {
            let mut answer = subject.ask(request);
            if let Answer::Restored(said) = &mut answer
                && said.others.is_some()
            {
                said.others = Some(said.restored.clone());
            }
            answer
        }),
    },
];
