//! What happened on one store, as it is written down: every call with its answer and the order in
//! which calls began and were answered, so that the same is judged again without a subject.

use crate::protocol::capabilities::Capabilities;
use crate::protocol::known::known;
use crate::subject::Identity;
use herma_model::files::Node;
use herma_model::world::Layout;
use herma_model::{Answer, ByteString, Files, Request, Settings};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The files of one project: what each holds.
pub type Contents = BTreeMap<ByteString, ByteString>;

/// What happened on one store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Who was asked.
    pub subject: Identity,
    /// What it can be asked.
    pub capabilities: Vec<String>,
    /// What it was configured with.
    pub settings: Settings,
    /// Where the sandbox was.
    pub root: ByteString,
    /// The seed.
    pub seed: u64,
    /// Which store of that seed.
    pub store: u64,
    /// What happened in each round.
    pub rounds: Vec<Round>,
}

/// Calls of several processes, between two moments at which nothing runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Round {
    /// What the clock says, where it can be set.
    pub seconds: i64,
    /// What the projects hold at its begin, by their paths below the sandbox.
    pub files: BTreeMap<String, Contents>,
    /// Whether git packed the store and removed garbage meanwhile.
    pub git_collects: bool,
    /// The calls, in the order in which they began.
    pub calls: Vec<Call>,
}

/// One call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Call {
    /// The process that was asked, from 0; none for one that was asked when nothing else ran.
    pub process: Option<usize>,
    /// What it was asked.
    pub request: Request,
    /// What it answered; nothing where it was killed before.
    pub answer: Option<Answer>,
    /// When it was asked, as the runner counts.
    pub begin: u64,
    /// When it had answered.
    pub end: Option<u64>,
    /// What its project held afterwards, where something was restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Contents>,
}

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be read.
    #[error("{0}")]
    Unreadable(#[from] std::io::Error),
    /// It holds something else.
    #[error("it is no record of calls: {0}")]
    Malformed(#[from] serde_json::Error),
    /// It is of another version.
    #[error("there is no capability `{0}`")]
    UnknownCapability(String),
}

impl Record {
    /// Reads a record.
    ///
    /// # Errors
    /// It is not there, or is none.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        let record: Record = serde_json::from_slice(&fs::read(path)?)?;
        let unknown = |name: &&String| known().all(|(known, _)| known != name.as_str());
        match record.capabilities.iter().find(unknown) {
            Some(name) => Err(RecordError::UnknownCapability(name.clone())),
            None => Ok(record),
        }
    }

    /// As it is written to a file.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("a record holds only what JSON can say") + "\n"
    }

    /// What the subject can be asked.
    pub fn able_to(&self) -> Capabilities {
        self.capabilities.iter().fold(Capabilities::none(), |all, name| all.with(name))
    }

    /// The fixed places of the sandbox.
    pub fn layout(&self) -> Layout {
        Layout {
            root: self.root.clone(),
            home: "home".into(),
            current: "work".into(),
            base: "home/.hermes/checkpoints".into(),
        }
    }

    /// How many calls were made.
    pub fn calls(&self) -> usize {
        self.rounds.iter().map(|round| round.calls.len()).sum()
    }
}

/// Makes a project hold exactly this.
pub fn fill(files: &mut Files, project: &[u8], contents: &Contents) {
    files.remove(project);
    files.make_parents(project);
    files.insert(project, Node::Directory);
    for (path, content) in contents {
        let path = [project, b"/", &path[..]].concat();
        files.make_parents(&path);
        let content = content.0.clone().into();
        files.insert(&path, Node::File { content, executable: false, readable: true });
    }
}

/// A call in a line.
pub fn told(call: &Call) -> String {
    let name = |dir: &ByteString| {
        let name = dir.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        format!(" {}", name.escape_ascii())
    };
    let who = call.process.map_or("alone".to_owned(), |process| format!("process {process}"));
    let target = call.request.target().map(|target| format!(" {:.10}", target.to_string()));
    format!(
        "{who}: {}{}{}",
        call.request.name(),
        call.request.dir().map(name).unwrap_or_default(),
        target.unwrap_or_default()
    )
}
