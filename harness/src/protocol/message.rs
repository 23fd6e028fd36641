//! The messages between runner and adapter, one JSON object on a line each.

use super::VERSION;
use crate::sandbox::Sandbox;
use herma_model::answer::{Changed, Code};
use herma_model::{ByteString, Request, Settings};
use schemars::{JsonSchema, Schema};
use serde::ser::{Error, SerializeMap};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// One line to the adapter.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RequestLine")]
pub struct Envelope<'a> {
    /// Counts up from 1; the reply carries the same.
    pub id: u64,
    /// What is asked.
    #[serde(flatten)]
    pub message: &'a Message,
}

/// What an adapter is asked beside the requests to its subject.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Control {
    /// Who are you, and what can you do?
    Hello {
        /// The versions this runner speaks.
        protocol: Versions,
    },
    /// Work on this store from now on.
    Open(Open),
    /// The store is not used any more.
    Close,
    /// An operation that does not exist in any version; the right reply is `unsupported`.
    #[serde(rename = "x_no_such_operation")]
    NoSuchOperation,
}

impl Control {
    /// The hello of this runner.
    pub fn hello() -> Self {
        Control::Hello { protocol: Versions { min: VERSION, max: VERSION } }
    }
}

/// Which implementation, in which version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The commit, where the version does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

impl Identity {
    /// An implementation by its name, in this version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Identity { name: name.into(), version: version.into(), commit: None }
    }
}

/// Work on this store from now on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Open {
    /// An empty or existing folder for everything that the subject stores.
    pub store: ByteString,
    /// The home directory.
    pub home: ByteString,
    /// The directory that relative paths start from.
    pub current_directory: ByteString,
    /// How the subject is to be configured.
    pub settings: Settings,
}

impl Open {
    /// Opens the store of a sandbox.
    pub fn of(sandbox: &Sandbox, settings: Settings) -> Self {
        let bytes = |path: PathBuf| ByteString::from(path.as_os_str().as_bytes());
        Open {
            store: bytes(sandbox.base()),
            home: bytes(sandbox.home()),
            current_directory: bytes(sandbox.current_directory()),
            settings,
        }
    }
}

/// Every message to an adapter.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Message {
    /// About the adapter itself.
    Control(Control),
    /// To its subject.
    Request(
        #[serde(serialize_with = "write_by_op")]
        #[schemars(with = "Request")]
        Request,
    ),
}

impl Message {
    /// The name of its operation.
    pub fn name(&self) -> &'static str {
        match self {
            Message::Control(Control::Hello { .. }) => "hello",
            Message::Control(Control::Open(_)) => "open",
            Message::Control(Control::Close) => "close",
            Message::Control(Control::NoSuchOperation) => "x_no_such_operation",
            Message::Request(request) => request.name(),
        }
    }
}

/// Writes a request as a line has it: with its name among the fields, as `op`. A history has the name
/// before the fields.
fn write_by_op<S: Serializer>(request: &Request, serializer: S) -> Result<S::Ok, S::Error> {
    let written = serde_json::to_value(request).map_err(S::Error::custom)?;
    let mut line = serializer.serialize_map(None)?;
    line.serialize_entry("op", request.name())?;
    for (field, value) in
        written.get(request.name()).and_then(Value::as_object).into_iter().flatten()
    {
        line.serialize_entry(field, value)?;
    }
    line.end()
}

/// The request in a line; `None` if the line is no request. Other fields are ignored.
pub fn request(line: &Value) -> Option<Request> {
    let op = line["op"].as_str()?;
    serde_json::from_value(json!({ (op): line }))
        .or_else(|_| Request::deserialize(&line["op"]))
        .ok()
}

/// A range of protocol versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Versions {
    /// The oldest.
    pub min: u32,
    /// The newest.
    pub max: u32,
}

/// What an adapter says about itself.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[schemars(rename = "HelloAnswer")]
pub struct Hello {
    /// The version it speaks.
    pub protocol: u32,
    /// The implementation behind it.
    #[serde(rename = "impl")]
    pub implementation: Identity,
    /// Its capabilities, each by name, true or false; one that is not named is false. Instead of
    /// true, `settings.max_file_bytes` and `settings.max_total_bytes` may be a number: they can only
    /// be set to multiples of so many bytes. `capture.own_ignore_file` is the name of that file.
    #[serde(default)]
    pub capabilities: BTreeMap<String, Value>,
    /// What it needs of the sandbox: `repository`, where it keeps its store in the project's own
    /// git repository.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Its store is a git repository, or several: only then do the hints of failures speak of git. True
    /// in any case where it claims `layout` or needs `repository`.
    #[serde(default)]
    pub git: bool,
    /// The folder of a project that it keeps its store in, by name, if it does so: it is there before
    /// anything is asked, and what it holds is not compared.
    #[serde(default)]
    pub store_folder: Option<String>,
    /// Names of files and folders that it treats in a way of its own, such as leaving them out: no
    /// history uses them.
    #[serde(default)]
    pub avoids: Vec<String>,
    /// How many checkpoints of a project it keeps, where that is fixed: it lists so many, the newest.
    #[serde(default)]
    pub keeps: Option<usize>,
    /// After `close` it can be opened again, for another store and another home. It then lets go of
    /// all that it knew, and takes `HOME` from `open`. So one process serves many histories.
    #[serde(default)]
    pub reusable: bool,
}

/// One line from the adapter: either answered or refused. Unknown fields are ignored.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ReplyLine", transform = answers_or_refuses)]
pub struct Reply {
    /// Which request it answers.
    pub id: u64,
    /// The answer.
    #[serde(default)]
    pub ok: Option<Value>,
    /// The refusal.
    #[serde(default)]
    pub err: Option<Refusal>,
}

/// Adds to the schema of a reply what its type cannot say: it either answers or refuses.
fn answers_or_refuses(reply: &mut Schema) {
    let either = |required: &str, excluded: &str| {
        json!({
            "properties": { (required): { "not": { "type": "null" } }, (excluded): { "type": "null" } },
            "required": [required],
        })
    };
    reply.insert("oneOf".into(), json!([either("ok", "err"), either("err", "ok")]));
}

/// Why an adapter refuses.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Refusal {
    /// From the closed list.
    pub code: ErrorCode,
    /// For people.
    #[serde(default)]
    pub message: String,
    /// What was changed on the disk.
    #[serde(default)]
    pub changed: Changed,
}

/// As a person reads it.
impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            ErrorCode::Refused(code) => write!(formatter, "{code}")?,
            ErrorCode::Unsupported(_) => formatter.write_str("unsupported")?,
        }
        if self.message.is_empty() { Ok(()) } else { write!(formatter, " ({})", self.message) }
    }
}

/// The closed list of an adapter's codes: those of the rules, and one for what it does not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ErrorCode {
    /// The subject refused.
    Refused(Code),
    /// The adapter does not serve the operation.
    Unsupported(Unsupported),
}

/// The word for an operation that is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unsupported {
    /// `unsupported`.
    Unsupported,
}
