//! Bugs of subjects that keep agent state with the files.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use super::intercepted::{Intercepted, checkpoint_answer, created_id, with_target};
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
        about: "No checkpoint is taken if no file changed, even if the agent state changed.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            let Request::Checkpoint { dir, .. } = request else { return subject.ask(request) };
            let newest = subject.listed(request).into_iter().next().map(|newest| newest.id);
            let target = newest.unwrap_or_default().as_str().into();
            let diff = Request::Diff { dir: dir.clone(), target };
            match subject.core_answer(&diff) {
                Answer::Diffed { entries, .. } if entries.is_empty() => {
                    checkpoint_answer(CheckpointOutcome::Unchanged)
                }
                _ => subject.ask(request),
            }
        }),
    },
    PlantedBug {
        name: "one-part-is-not-restored",
        rule: &rules::AGENT_ALL_OR_NONE,
        about: "A restore does not restore the goal.",
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
        name: "a-long-value-is-cut",
        rule: &rules::AGENT_PARTS,
        about: "Only the first 200 characters of a text in the agent state are kept.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            let mut request = request.clone();
            if let Request::SetState { value, .. } = &mut request {
                cut(value);
            }
            subject.ask(&request)
        }),
    },
    PlantedBug {
        name: "a-value-that-counts-as-false-is-not-restored",
        rule: &rules::AGENT_ALL_OR_NONE,
        about: "A restore does not restore a part whose value is empty, zero or false.",
        operations_min: 6,
        flaw: Intercept(|subject, request| {
            let value = |subject: &mut Intercepted, part| match subject
                .core_answer(&Request::GetState { part })
            {
                Answer::State(value) => value,
                _ => Value::Null,
            };
            let before = Part::ALL.map(|part| value(subject, part));
            let answer = subject.ask(request);
            if let Answer::Restored(_) = answer {
                for (part, before) in Part::ALL.into_iter().zip(before) {
                    if counts_as_false(&value(subject, part)) {
                        set(subject, part, before);
                    }
                }
            }
            answer
        }),
    },
    PlantedBug {
        name: "a-refused-restore-restores-the-parts",
        rule: &rules::AGENT_ALL_OR_NONE,
        about: "A refused restore restores the parts of the agent state.",
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
        about: "Of several checkpoints with the same label, the oldest is restored.",
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
        about: "A restore does not list the external actions since the checkpoint.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let mut answer = subject.ask(request);
            if let Answer::Restored(report) = &mut answer {
                report.external = report.external.take().map(|_| Vec::new());
            }
            answer
        }),
    },
    PlantedBug {
        name: "a-restore-compensates",
        rule: &rules::AGENT_EXTERNAL_LISTED,
        about: "A restore runs the compensations of the external actions that it leaves behind.",
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
        about: "A second request compensates actions again that were already compensated.",
        operations_min: 6,
        flaw: Intercept(|subject, request| {
            let compensated_by = |(_, answer): &(Request, Answer)| match answer {
                Answer::Compensated(report) => report.compensated.clone(),
                _ => Vec::new(),
            };
            let compensated: Vec<Action> = subject.log.iter().flat_map(compensated_by).collect();
            let answer = subject.ask(request);
            if *request == Request::Compensate {
                // If the log cannot be written, the bug does not show.
                let _ = compensated.iter().try_for_each(|action| append(subject, action));
            }
            answer
        }),
    },
    PlantedBug {
        name: "accepted-actions-are-compensated",
        rule: &rules::AGENT_COMPENSATION,
        about: "It is not recorded that an action was accepted.",
        operations_min: 6,
        flaw: Intercept(|subject, request| match request {
            Request::Accept => Answer::Done,
            _ => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "a-label-pins-nothing",
        rule: &rules::AGENT_PINNED,
        about: "A limit evicts labelled checkpoints like any others.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            let answer = subject.ask(request);
            if let (Request::Label { dir, .. }, Some(id)) = (request, created_id(&answer)) {
                let unpin = Request::Unpin { dir: dir.clone(), target: id.into() };
                subject.core_answer(&unpin);
            }
            answer
        }),
    },
    PlantedBug {
        name: "a-prune-forgets-pins",
        rule: &rules::AGENT_PINNED,
        about: "A prune unpins all labelled checkpoints.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            if let Request::Prune { .. } = request {
                let requests: Vec<Request> =
                    subject.log.iter().map(|(logged, _)| logged.clone()).collect();
                for label in
                    requests.iter().filter(|logged| matches!(logged, Request::Label { .. }))
                {
                    for id in labelled(subject, label, None) {
                        let dir = label.dir().cloned().unwrap_or_default();
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
        about: "A restore sets parts of the agent state to the values that a sub-agent set first.",
        operations_min: 8,
        flaw: Intercept(|subject, request| {
            let before = Part::ALL.map(|part| subject.core_answer(&Request::GetState { part }));
            let answer = subject.ask(request);
            if let Answer::Restored(_) = &answer {
                let spawned = subject.log.iter().position(|(logged, _)| *logged == Request::Spawn);
                let joined = subject.log.iter().position(|(logged, _)| *logged == Request::Join);
                let is_by_sub_agent = |index| {
                    spawned.is_some_and(|spawned| index > spawned)
                        && joined.is_none_or(|joined| index < joined)
                };
                let first = values_set(subject, is_by_sub_agent).into_iter().rev();
                // A value that the part already had would also be there if nothing were restored.
                for (part, value) in
                    first.filter(|(_, value)| !before.contains(&Answer::State(value.clone())))
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
        about: "No checkpoint is taken before high-risk actions.",
        operations_min: 2,
        flaw: Intercept(|subject, request| match request {
            Request::Event { event: AgentEvent::HighRisk { .. }, .. } => {
                checkpoint_answer(CheckpointOutcome::NotDue)
            }
            _ => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "an-event-counts-again",
        rule: &rules::AGENT_TRIGGERS,
        about: "A milestone that was already passed causes a checkpoint every time it is reported.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let answer = subject.ask(request);
            match (request, &answer) {
                (
                    Request::Event { dir, event: AgentEvent::Milestone { from, to } },
                    Answer::Taken { outcome: CheckpointOutcome::NotDue, .. },
                ) if from < to && subject.settings.enabled => {
                    let dir = dir.clone();
                    let reason = "again".to_owned();
                    subject.core_answer(&Request::Checkpoint { dir, reason })
                }
                _ => answer,
            }
        }),
    },
];

fn set(subject: &mut Intercepted, part: Part, value: Value) {
    // A part that was never set stays unset.
    if !value.is_null() {
        subject.core_answer(&Request::SetState { part, value });
    }
}

/// Whether a language with such a notion takes the value for false.
fn counts_as_false(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// Cuts each text of a value to 200 characters.
fn cut(value: &mut Value) {
    match value {
        Value::String(text) => *text = text.chars().take(200).collect(),
        Value::Array(values) => values.iter_mut().for_each(cut),
        Value::Object(fields) => fields.values_mut().for_each(cut),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The values that parts were set to by the logged requests whose index is selected, in order.
fn values_set(subject: &Intercepted, is_selected: impl Fn(usize) -> bool) -> Vec<(Part, Value)> {
    let requests = subject.log.iter().enumerate().filter(|(index, _)| is_selected(*index));
    requests
        .filter_map(|(_, (request, _))| match request {
            Request::SetState { part, value } => Some((*part, value.clone())),
            _ => None,
        })
        .collect()
}

/// The checkpoints of the request's project that were labelled, with `label` if it is given; in order.
fn labelled(subject: &Intercepted, about: &Request, label: Option<&ByteString>) -> Vec<String> {
    let is_labelling = |request: &Request| match request {
        Request::Label { dir, label: given } => {
            Some(dir) == about.dir() && label.is_none_or(|label| **label == *given.as_bytes())
        }
        _ => false,
    };
    let labellings = subject.log.iter().filter(|(request, _)| is_labelling(request));
    labellings.filter_map(|(_, answer)| created_id(answer).map(str::to_owned)).collect()
}

/// Runs the compensation of an action: appends a line to its log.
fn append(subject: &Intercepted, action: &Action) -> io::Result<()> {
    let log = subject.log.iter().find_map(|(request, _)| match request {
        Request::External { action: logged, compensation: Some(compensation) }
            if logged == action =>
        {
            Some(OsStr::from_bytes(&compensation.log).to_owned())
        }
        _ => None,
    });
    let Some(log) = log else { return Ok(()) };
    let mut file = OpenOptions::new().create(true).append(true).open(log)?;
    writeln!(file, "{}", action.line())
}
