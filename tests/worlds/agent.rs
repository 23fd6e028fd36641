//! The conditions of what an agent sends in generated histories: reasons, parts of its state, and undos.

use super::conditions::Occurrence::{self, In};
use super::conditions::any_request;
use herma_harness::history::{History, Operation};
use herma_model::Request;
use serde_json::Value;

fn any_reason(history: &History, is_match: impl Fn(&str) -> bool) -> bool {
    any_request(history, |request| {
        matches!(request, Request::Checkpoint { reason, .. } | Request::EnsureCheckpoint { reason, .. }
            if is_match(reason))
    })
}

fn any_value(history: &History, is_match: impl Fn(&Value) -> bool) -> bool {
    any_request(
        history,
        |request| matches!(request, Request::SetState { value, .. } if is_match(value)),
    )
}

/// Whether an undo comes after a restore of its project and a later restore of another one.
fn undoes_an_older_restore(history: &History) -> bool {
    let mut restored = Vec::new();
    history.operations.iter().any(|operation| {
        let Operation::Ask(request) = operation else { return false };
        if !request.restores() {
            return false;
        }
        let dir = request.dir();
        let is_older = restored.last() != Some(&dir) && restored.contains(&dir);
        restored.push(dir);
        is_older && matches!(request, Request::Undo { .. })
    })
}

pub const AGENT: &[(&str, Occurrence)] = &[
    (
        "a reason of more than 200 characters",
        In(|history| any_reason(history, |reason| reason.chars().count() > 200)),
    ),
    (
        "a reason with a blank line",
        In(|history| any_reason(history, |reason| reason.trim().contains("\n\n"))),
    ),
    (
        "a part of the state that is empty, zero or false",
        In(|history| {
            any_value(history, |value| {
                matches!(value.to_string().as_str(), "\"\"" | "0" | "false" | "[]" | "{}")
            })
        }),
    ),
    (
        "a part of the state with a value that is null",
        In(|history| any_value(history, |value| value.to_string().contains("null"))),
    ),
    (
        "a part of the state of more than 1,000 characters",
        In(|history| any_value(history, |value| value.to_string().len() > 1_000)),
    ),
    (
        "a part of the state that is not ASCII",
        In(|history| any_value(history, |value| !value.to_string().is_ascii())),
    ),
    (
        "a part of the state with a number that no float holds",
        In(|history| any_value(history, |value| value.to_string().contains("9007199254740993"))),
    ),
    ("an undo after a later restore of another project", In(undoes_an_older_restore)),
];
