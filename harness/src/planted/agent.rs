//! Bugs of who carries an agent beside its files.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use super::intercepted::{Intercepted, created, none_taken, with_target};
use herma_model::agent::{Action, AgentEvent, Part};
use herma_model::answer::CheckpointOutcome;
use herma_model::{Answer, ByteString, Code, Request, rules};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "a-part-alone-is-no-change",
        rule: &rules::AGENT_PARTS,
        about: "Where no file changed nothing is taken, whatever became of the agent's state.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            let Request::Checkpoint { dir, .. } = request else { return subject.ask(request) };
            let diff = Request::Diff { dir: dir.clone(), target: "1".into() };
            match subject.core_answer(&diff) {
                Answer::Diffed { entries, .. } if entries.is_empty() => {
                    none_taken(CheckpointOutcome::Unchanged)
                }
                _ => subject.ask(request),
            }
        }),
    },
    PlantedBug {
        name: "one-part-is-not-restored",
        rule: &rules::AGENT_ALL_OR_NONE,
        about: "A restore leaves the goal as it is.",
        operations_min: 6,
        flaw: Intercept(|subject, request| {
            let before = subject.core_answer(&Request::GetState { part: Part::Goal });
            let answer = subject.ask(request);
            if let (Answer::State(value), Answer::Restored(_)) = (before, &answer) {
                set(subject, Part::Goal, value);
            }
            answer
        }),
    },
    PlantedBug {
        name: "a-refused-restore-restores-the-parts",
        rule: &rules::AGENT_ALL_OR_NONE,
        about: "A restore brings the parts back before it finds out that it cannot go on.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let answer = subject.ask(request);
            if let (Request::Restore { .. }, Answer::Refused { .. }) = (request, &answer) {
                for (part, value) in values_set(subject, |_| true).into_iter().rev() {
                    set(subject, part, value);
                }
            }
            answer
        }),
    },
    PlantedBug {
        name: "an-ambiguous-label-takes-the-first",
        rule: &rules::AGENT_ALL_OR_NONE,
        about: "Of several checkpoints with a label, the one that got it first is restored.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            let answer = subject.ask(request);
            let Answer::Refused { code: Code::AmbiguousCheckpoint, .. } = &answer else {
                return answer;
            };
            let Some(target) = request.target() else { return answer };
            match labelled(subject, request, Some(target)).first() {
                Some(id) => subject.ask(&with_target(request, id.as_str())),
                None => answer,
            }
        }),
    },
    PlantedBug {
        name: "external-actions-are-hidden",
        rule: &rules::AGENT_EXTERNAL_LISTED,
        about: "A restore does not say what the agent did outside since.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let mut answer = subject.ask(request);
            if let Answer::Restored(said) = &mut answer {
                said.external = said.external.take().map(|_| Vec::new());
            }
            answer
        }),
    },
    PlantedBug {
        name: "a-restore-compensates",
        rule: &rules::AGENT_EXTERNAL_LISTED,
        about: "A restore runs the compensations of what it leaves behind.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let answer = subject.ask(request);
            if let Answer::Restored(_) = &answer {
                subject.core_answer(&Request::Compensate);
            }
            answer
        }),
    },
    PlantedBug {
        name: "a-compensation-runs-again",
        rule: &rules::AGENT_COMPENSATION,
        about: "What was compensated is compensated again when it is asked for again.",
        operations_min: 6,
        flaw: Intercept(|subject, request| {
            let ran = |(_, answer): &(Request, Answer)| match answer {
                Answer::Compensated(said) => said.compensated.clone(),
                _ => Vec::new(),
            };
            let again: Vec<Action> = subject.log.iter().flat_map(ran).collect();
            let answer = subject.ask(request);
            if *request == Request::Compensate {
                // Where nothing can be written the bug does not show.
                let _ = again.iter().try_for_each(|action| append(subject, action));
            }
            answer
        }),
    },
    PlantedBug {
        name: "accepted-actions-are-compensated",
        rule: &rules::AGENT_COMPENSATION,
        about: "That an action stays is not noted.",
        operations_min: 6,
        flaw: Intercept(|subject, request| match request {
            Request::Accept => Answer::Done,
            _ => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "a-label-pins-nothing",
        rule: &rules::AGENT_PINNED,
        about: "A limit drops a labelled checkpoint like any other.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            let answer = subject.ask(request);
            if let (Request::Label { dir, .. }, Some(id)) = (request, created(&answer)) {
                let unpin = Request::Unpin { dir: dir.clone(), target: id.into() };
                subject.core_answer(&unpin);
            }
            answer
        }),
    },
    PlantedBug {
        name: "a-prune-forgets-pins",
        rule: &rules::AGENT_PINNED,
        about: "What was pinned is not any more once somebody pruned.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            if let Request::Prune { .. } = request {
                let labels: Vec<Request> = subject.log.iter().map(|(one, _)| one.clone()).collect();
                for one in labels.iter().filter(|one| matches!(one, Request::Label { .. })) {
                    for id in labelled(subject, one, None) {
                        let dir = one.dir().cloned().unwrap_or_default();
                        subject.core_answer(&Request::Unpin { dir, target: id.as_str().into() });
                    }
                }
            }
            subject.ask(request)
        }),
    },
    PlantedBug {
        name: "a-sub-agents-state-comes-back",
        rule: &rules::AGENT_COMPOSES,
        about: "A restore brings back what a sub-agent was the first to set.",
        operations_min: 8,
        flaw: Intercept(|subject, request| {
            let before = Part::ALL.map(|part| subject.core_answer(&Request::GetState { part }));
            let answer = subject.ask(request);
            if let Answer::Restored(_) = &answer {
                let spawned = subject.log.iter().position(|(one, _)| *one == Request::Spawn);
                let by_another = |at| spawned.is_some_and(|spawned| at > spawned);
                let first = values_set(subject, by_another).into_iter().rev();
                // What it was before, who restores nothing has as well.
                for (part, value) in
                    first.filter(|(_, one)| !before.contains(&Answer::State(one.clone())))
                {
                    set(subject, part, value);
                }
            }
            answer
        }),
    },
    PlantedBug {
        name: "nothing-is-risky",
        rule: &rules::AGENT_TRIGGERS,
        about: "No checkpoint is taken before what is high-risk.",
        operations_min: 2,
        flaw: Intercept(|subject, request| match request {
            Request::Event { event: AgentEvent::HighRisk { .. }, .. } => {
                none_taken(CheckpointOutcome::NotDue)
            }
            _ => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "an-event-counts-again",
        rule: &rules::AGENT_TRIGGERS,
        about: "A milestone that was passed is passed again each time it is told.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let answer = subject.ask(request);
            match (request, &answer) {
                (
                    Request::Event { dir, event: AgentEvent::Milestone { from, to } },
                    Answer::Taken { outcome: CheckpointOutcome::NotDue, .. },
                ) if from < to && subject.settings.enabled => {
                    let (dir, reason) = (dir.clone(), "again".to_owned());
                    subject.core_answer(&Request::Checkpoint { dir, reason })
                }
                _ => answer,
            }
        }),
    },
];

fn set(subject: &mut Intercepted, part: Part, value: Value) {
    // What was never set stays so.
    if !value.is_null() {
        subject.core_answer(&Request::SetState { part, value });
    }
}

/// The values that parts were set to by the requests at such places, in their order.
fn values_set(subject: &Intercepted, is_meant: impl Fn(usize) -> bool) -> Vec<(Part, Value)> {
    let all = subject.log.iter().enumerate().filter(|(at, _)| is_meant(*at));
    all.filter_map(|(_, (request, _))| match request {
        Request::SetState { part, value } => Some((*part, value.clone())),
        _ => None,
    })
    .collect()
}

/// The checkpoints of the request's project that got a label, in their order.
fn labelled(subject: &Intercepted, about: &Request, label: Option<&ByteString>) -> Vec<String> {
    let is_it = |request: &Request| match request {
        Request::Label { dir, label: own } => {
            Some(dir) == about.dir() && label.is_none_or(|label| **label == *own.as_bytes())
        }
        _ => false,
    };
    let all = subject.log.iter().filter(|(request, _)| is_it(request));
    all.filter_map(|(_, answer)| created(answer).map(str::to_owned)).collect()
}

/// Does what the compensation of an action does.
fn append(subject: &Intercepted, action: &Action) -> io::Result<()> {
    let log = subject.log.iter().find_map(|(request, _)| match request {
        Request::External { action: own, compensation: Some(compensation) } if own == action => {
            Some(OsStr::from_bytes(&compensation.log).to_owned())
        }
        _ => None,
    });
    let Some(log) = log else { return Ok(()) };
    let mut file = OpenOptions::new().create(true).append(true).open(log)?;
    writeln!(file, "{}", action.line())
}
