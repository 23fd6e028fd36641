//! Between the model's answers and what stands in a reply, in both directions.
//!
//! Nothing is added and nothing repaired on the way.

use super::fault::Fault;
use super::message::{ErrorCode, Reply, operation};
use herma_model::answer::{
    Answer, CheckpointOutcome, Code, Counts, DiffEntry, Listed, ProjectStatus, Remark, Restored,
    Stats, SweepOutcome,
};
use herma_model::{ByteString, Request};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The project of a file, as an absolute path; none where there is none.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProjectAnswer")]
pub(super) struct Project {
    /// The project.
    project: Option<ByteString>,
}

/// What a request for a checkpoint came to, and what was left out.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TakeAnswer")]
pub(super) struct Taken {
    #[serde(flatten)]
    outcome: CheckpointOutcome,
    /// Paths that were left out, and why.
    #[serde(default)]
    skipped: Vec<Remark>,
}

/// The checkpoints of a project.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ListAnswer")]
pub(super) struct Checkpoints {
    /// Newest first.
    checkpoints: Vec<Listed>,
}

/// What changed since a checkpoint.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DiffAnswer")]
pub(super) struct Diffed {
    /// The changed paths.
    entries: Vec<DiffEntry>,
    /// Their lines.
    stats: Stats,
}

/// What a sweep or a prune came to.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SweepAnswer")]
pub(super) struct Swept {
    #[serde(flatten)]
    outcome: SweepOutcome,
    /// What it counted.
    #[serde(default)]
    counts: Counts,
}

/// What the store holds.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StatusAnswer")]
pub(super) struct Status {
    /// Its projects, in any order.
    projects: Vec<ProjectStatus>,
    /// The v1 archives, by name.
    #[serde(default)]
    archives: Vec<String>,
}

/// The answer that a reply to `request` stands for.
///
/// # Errors
/// [`Fault::BadAnswer`].
pub fn answer(request: &Request, reply: Reply) -> Result<Answer, Fault> {
    if let Some(refusal) = reply.err {
        let code = match refusal.code {
            ErrorCode::Refused(code) => code,
            // What is claimed must be served; what is not claimed is not asked.
            ErrorCode::Unsupported(_) => Code::Internal,
        };
        return Ok(Answer::Refused { code, message: refusal.message, changed: refusal.changed });
    }
    let value = reply.ok.unwrap_or_default();
    let read = match request {
        Request::NewTurn
        | Request::Reopen
        | Request::SetClock { .. }
        | Request::ClearLegacy
        | Request::Clear => Ok(Answer::Done),
        Request::Sweep | Request::Prune { .. } => serde_json::from_value(value)
            .map(|one: Swept| Answer::Swept { outcome: one.outcome, counts: one.counts }),
        Request::Status => serde_json::from_value(value)
            .map(|one: Status| Answer::Status { projects: one.projects, archives: one.archives }),
        Request::ProjectOf { .. } => {
            serde_json::from_value(value).map(|one: Project| Answer::Project(one.project))
        }
        Request::EnsureCheckpoint { .. } | Request::Checkpoint { .. } => {
            serde_json::from_value(value).map(|taken: Taken| Answer::Taken {
                outcome: taken.outcome,
                skipped: taken.skipped,
            })
        }
        Request::List { .. } => {
            serde_json::from_value(value).map(|all: Checkpoints| Answer::Listed(all.checkpoints))
        }
        Request::Diff { .. } => serde_json::from_value(value)
            .map(|diff: Diffed| Answer::Diffed { entries: diff.entries, stats: diff.stats }),
        Request::Restore { .. } | Request::RestoreFile { .. } => {
            serde_json::from_value(value).map(|done: Restored| Answer::Restored(done))
        }
    };
    read.map_err(|error| Fault::BadAnswer { op: operation(request), why: error.to_string() })
}

/// The reply with number `id` that says `answer`.
pub fn reply(id: u64, answer: Answer) -> Value {
    let ok = |value: Value| json!({ "id": id, "ok": value });
    let of = |value: Result<Value, serde_json::Error>| {
        value.expect("an answer holds only what JSON can say")
    };
    match answer {
        Answer::Done => ok(json!({})),
        Answer::Project(project) => ok(of(serde_json::to_value(Project { project }))),
        Answer::Taken { outcome, skipped } => {
            ok(of(serde_json::to_value(Taken { outcome, skipped })))
        }
        Answer::Listed(checkpoints) => ok(of(serde_json::to_value(Checkpoints { checkpoints }))),
        Answer::Diffed { entries, stats } => {
            ok(of(serde_json::to_value(Diffed { entries, stats })))
        }
        Answer::Restored(restored) => ok(of(serde_json::to_value(restored))),
        Answer::Swept { outcome, counts } => {
            ok(of(serde_json::to_value(Swept { outcome, counts })))
        }
        Answer::Status { projects, archives } => {
            ok(of(serde_json::to_value(Status { projects, archives })))
        }
        Answer::Refused { code, message, changed } => {
            json!({ "id": id, "err": { "code": code, "message": message, "changed": changed } })
        }
        Answer::Crashed(why) => {
            json!({ "id": id, "err": { "code": Code::Internal, "message": why } })
        }
    }
}
