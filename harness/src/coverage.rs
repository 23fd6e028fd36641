//! Which behaviours a run covered: the class of state in which each operation was requested, and its
//! outcome.
//!
//! A rule that held is not verified for situations that never occurred. The classes are coarse on
//! purpose: few enough to recur often, and each a distinct situation.

use herma_model::request::Effect;
use herma_model::verdict::word;
use herma_model::{Answer, Node, Request, World};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One behaviour: a class of state, an operation and an outcome.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Behaviour {
    /// The class of the state before the request.
    pub state: String,
    /// The requested operation.
    pub operation: String,
    /// Its outcome.
    pub outcome: String,
}

/// How often each behaviour occurred.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(pub BTreeMap<Behaviour, u64>);

impl Coverage {
    /// Counts one behaviour.
    pub fn add(&mut self, state: String, request: &Request, answer: &Answer) {
        if request.kind().effect == Effect::Tells {
            return;
        }
        let operation = operation(request);
        let outcome = outcome(answer);
        *self.0.entry(Behaviour { state, operation, outcome }).or_default() += 1;
    }

    /// Adds the counts of another run.
    pub fn join(&mut self, coverage: Coverage) {
        for (behaviour, times) in coverage.0 {
            *self.0.entry(behaviour).or_default() += times;
        }
    }
}

/// The class of the state in which a request is made.
pub fn state(world: &World, request: &Request) -> String {
    if let Request::ProjectOf { .. } | Request::Classify { .. } | Request::Configured = request {
        return "anywhere".into();
    }
    let Some(dir) = request.dir() else { return state_of_store(world) };
    let Some(project) = world.canonical(dir) else { return "out of sight".into() };
    if !world.may_be_project(&project) {
        return "at home or the base".into();
    }
    let existence = match world.files.get(&project) {
        Some(Node::Directory) => "there",
        Some(_) => "not a directory",
        None => "gone",
    };
    let count = world.history(&project).len();
    let checkpoints = match count {
        0 => "no checkpoint",
        1 => "one checkpoint",
        _ if count > world.settings.max_snapshots => "some dropped",
        _ if count == world.settings.max_snapshots => "as many as may stay",
        _ => "several checkpoints",
    };
    let damage = if world.damaged().contains(&project) { ", damaged" } else { "" };
    format!("{existence}, {checkpoints}{damage}")
}

fn state_of_store(world: &World) -> String {
    let projects = match world.histories().count() {
        0 => "no project",
        1 => "one project",
        _ => "several projects",
    };
    let is_gone = |path| !matches!(world.files.get(path), Some(Node::Directory));
    let mut state = projects.to_owned();
    for (holds, label) in [
        (world.histories().any(|(path, _)| is_gone(path)), ", one gone"),
        (!world.repositories().is_empty(), ", v1 repositories"),
        (!world.archives().is_empty(), ", archives"),
        (!world.damaged().is_empty(), ", damage"),
    ] {
        if holds {
            state.push_str(label);
        }
    }
    state
}

fn operation(request: &Request) -> String {
    let name = request.name();
    match request {
        Request::Restore { exact: true, .. } => format!("{name}, exact"),
        _ => name.to_owned(),
    }
}

/// The kind of an answer, without its amounts.
fn outcome(answer: &Answer) -> String {
    let parts: Vec<(bool, &str)> = match answer {
        Answer::Taken { skipped, .. } => vec![(!skipped.is_empty(), "some left out")],
        Answer::Protected(projects) => vec![
            (projects.is_empty(), "nothing"),
            (projects.len() > 1, "several"),
            (projects.iter().any(|project| project.taken.is_none()), "some failed"),
        ],
        Answer::Listed(listed) => vec![(listed.is_empty(), "nothing")],
        Answer::Diffed { entries, .. } => vec![(entries.is_empty(), "nothing")],
        Answer::Restored(restored) => vec![
            (restored.restored.is_empty(), "nothing written"),
            (!restored.removed.is_empty(), "some removed"),
            (!restored.left.is_empty(), "some left"),
            (!restored.kept.is_empty(), "some kept"),
            (restored.safety.is_some(), "undoable"),
            (restored.forced_past, "forced"),
        ],
        Answer::Swept { counts, .. } => vec![
            (counts.orphans > 0, "orphans"),
            (counts.stale > 0, "stale"),
            (counts.errors > 0, "errors"),
        ],
        _ => Vec::new(),
    };
    let mut outcome = word(answer);
    for (_, part) in parts.iter().filter(|(holds, _)| *holds) {
        outcome.push_str(", ");
        outcome.push_str(part);
    }
    outcome
}
