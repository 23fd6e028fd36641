//! Translates between the model's answers and the contents of a reply, in both directions. It adds and
//! repairs nothing.

use super::fault::Fault;
use super::message::{ErrorCode, Reply};
use herma_model::answer::{
    Answer, Code, Compensated, Counts, DiffEntry, Listed, ProjectStatus, Protected, Restored,
    Stats, SweepOutcome, Taken,
};
use herma_model::configuration::Configuration;
use herma_model::request::Answered;
use herma_model::{ByteString, Request};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, to_value};

/// The project of a file, as an absolute path; `None` if it has none.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProjectAnswer")]
pub(super) struct Project {
    /// The project.
    project: Option<ByteString>,
}

/// Whether a command changes files.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ClassifyAnswer")]
pub(super) struct Classified {
    /// Whether it does, as far as its words tell.
    changes_files: bool,
}

/// What was done before a tool ran.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProtectAnswer")]
pub(super) struct AllProtected {
    /// Each project of which a checkpoint was due or tried.
    projects: Vec<Protected>,
}

/// The checkpoints of a project.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ListAnswer")]
pub(super) struct Checkpoints {
    /// Newest first.
    checkpoints: Vec<Listed>,
}

/// The checkpoints of a project, and what is printed for a person.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PrintAnswer")]
pub(super) struct Printed {
    /// Newest first.
    checkpoints: Vec<Listed>,
    /// All that is printed, with its lines.
    printed: String,
}

/// What changed since a checkpoint.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DiffAnswer")]
pub(super) struct Diffed {
    /// The changed paths.
    entries: Vec<DiffEntry>,
    /// Their lines; only who claims `diff.stats` is held to them.
    #[serde(default)]
    stats: Stats,
}

/// The outcome of a sweep or a prune.
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

/// The value of a part of the agent's state.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StateAnswer")]
pub(super) struct State {
    /// The value; null where there is none.
    value: Value,
}

/// The answer that a reply to `request` stands for.
///
/// # Errors
/// [`Fault::BadAnswer`].
pub fn answer(request: &Request, reply: Reply) -> Result<Answer, Fault> {
    if let Some(refusal) = reply.err {
        let code = match refusal.code {
            ErrorCode::Refused(code) => code,
            // Only requests within its capabilities are made, and these must be served.
            ErrorCode::Unsupported(_) => Code::Internal,
        };
        return Ok(Answer::Refused { code, message: refusal.message, changed: refusal.changed });
    }
    let value = reply.ok.unwrap_or_default();
    let answer = read(request.kind().answered, value);
    answer.map_err(|error| Fault::BadAnswer { op: request.name().into(), why: error.to_string() })
}

fn read(answered: Answered, value: Value) -> Result<Answer, serde_json::Error> {
    Ok(match answered {
        Answered::Done => Answer::Done,
        Answered::Project => Answer::Project(Project::deserialize(value)?.project),
        Answered::Classified => {
            let Classified { changes_files } = Classified::deserialize(value)?;
            Answer::Classified { changes_files }
        }
        Answered::Protected => Answer::Protected(AllProtected::deserialize(value)?.projects),
        Answered::Taken => {
            let Taken { outcome, skipped } = Taken::deserialize(value)?;
            Answer::Taken { outcome, skipped }
        }
        Answered::Listed => Answer::Listed(Checkpoints::deserialize(value)?.checkpoints),
        Answered::Printed => {
            let Printed { checkpoints, printed } = Printed::deserialize(value)?;
            Answer::Printed { checkpoints, printed }
        }
        Answered::Diffed => {
            let Diffed { entries, stats } = Diffed::deserialize(value)?;
            Answer::Diffed { entries, stats }
        }
        Answered::Restored => Answer::Restored(Restored::deserialize(value)?),
        Answered::Swept => {
            let Swept { outcome, counts } = Swept::deserialize(value)?;
            Answer::Swept { outcome, counts }
        }
        Answered::Status => {
            let Status { projects, archives } = Status::deserialize(value)?;
            Answer::Status { projects, archives }
        }
        Answered::Configured => Answer::Configured(Configuration::deserialize(value)?),
        Answered::State => Answer::State(State::deserialize(value)?.value),
        Answered::Compensated => Answer::Compensated(Compensated::deserialize(value)?),
    })
}

/// The reply with number `id` and this answer.
pub fn reply(id: u64, answer: Answer) -> Value {
    let ok = match answer {
        Answer::Refused { code, message, changed } => {
            let err = json!({ "code": code, "message": message, "changed": changed });
            return json!({ "id": id, "err": err });
        }
        Answer::Crashed(why) => {
            return json!({ "id": id, "err": { "code": Code::Internal, "message": why } });
        }
        Answer::Done => Ok(json!({})),
        Answer::Project(project) => to_value(Project { project }),
        Answer::Classified { changes_files } => to_value(Classified { changes_files }),
        Answer::Protected(projects) => to_value(AllProtected { projects }),
        Answer::Taken { outcome, skipped } => to_value(Taken { outcome, skipped }),
        Answer::Listed(checkpoints) => to_value(Checkpoints { checkpoints }),
        Answer::Printed { checkpoints, printed } => to_value(Printed { checkpoints, printed }),
        Answer::Diffed { entries, stats } => to_value(Diffed { entries, stats }),
        Answer::Restored(restored) => to_value(restored),
        Answer::Swept { outcome, counts } => to_value(Swept { outcome, counts }),
        Answer::Status { projects, archives } => to_value(Status { projects, archives }),
        Answer::Configured(configuration) => to_value(configuration),
        Answer::State(value) => to_value(State { value }),
        Answer::Compensated(compensated) => to_value(compensated),
    };
    json!({ "id": id, "ok": ok.expect("an answer holds only what JSON can say") })
}
