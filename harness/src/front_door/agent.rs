//! A real agent behind its adapter: the process, its requests, and a home and a scripted model of its own.

use super::leftovers::marked;
use super::story::StoryCall;
use crate::protocol::fault::Fault;
use crate::protocol::process::{Adapter, Limits};
use crate::scripted_model::{Server, ToolCall};
use rustix::process::{Signal, kill_process};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// For an installation.
const INSTALL_LIMIT: Duration = Duration::from_secs(1200);
/// For any other request.
const LIMITS: Limits = Limits {
    reply: Duration::from_secs(240),
    end: Duration::from_secs(20),
    grace: Duration::from_secs(5),
};

/// How the adapter of an agent is started.
#[derive(Clone, Debug)]
pub struct DoorCommand {
    /// Its program and arguments.
    pub command: Vec<OsString>,
    /// Which of the agent's doors; the adapter has a default.
    pub door: Option<String>,
    /// The folder with installed packages.
    pub cache: PathBuf,
    /// Where homes and projects are made.
    pub scratch: PathBuf,
}

/// What an agent can do at its front door.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoorCapabilities(pub BTreeSet<String>);

impl DoorCapabilities {
    /// Whether it has this capability.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Whether checkpoints are documented to hold what the call changes.
    pub fn covers(&self, call: &StoryCall) -> bool {
        call.is_edit_tool() || self.has("shell-covered")
    }
}

/// What an adapter says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoorHello {
    /// The agent.
    pub agent: String,
    /// Its version.
    pub version: String,
    /// Its licence.
    #[serde(default)]
    pub licence: String,
    /// Which of its doors is used.
    #[serde(default)]
    pub door: String,
    /// What it can do.
    pub capabilities: DoorCapabilities,
    /// Why it cannot do something.
    #[serde(default)]
    pub notes: BTreeMap<String, String>,
}

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DoorCode {
    /// The agent refused it.
    Refused,
    /// The agent has no such operation.
    Unsupported,
    /// The agent broke.
    Agent,
    /// The agent cannot be had on this machine.
    Infrastructure,
}

/// An operation that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct DoorError {
    /// Why.
    pub code: DoorCode,
    /// In words.
    pub text: String,
}

#[derive(Deserialize)]
struct DoorReply {
    ok: bool,
    code: Option<DoorCode>,
    error: Option<String>,
    #[serde(flatten)]
    answer: Map<String, Value>,
}

/// An entry of an agent's list of checkpoints.
#[derive(Deserialize)]
struct DoorCheckpoint {
    /// What a restore takes.
    id: String,
}

/// The steps that spell one tool call; all but the last prepare it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Spelling {
    Steps { steps: Vec<ToolCall> },
    Call(ToolCall),
}

/// A running adapter.
pub struct AgentProcess {
    adapter: Adapter,
    server: Arc<Server>,
    home: TempDir,
    /// The project of each story; the agent may still be in the folder of the first.
    projects: Vec<TempDir>,
    start: DoorCommand,
    hello: DoorHello,
}

impl AgentProcess {
    /// Starts the adapter with a home and a scripted model of its own.
    ///
    /// # Errors
    /// The adapter, the home or the model cannot be had.
    pub fn start(start: &DoorCommand) -> Result<Self, DoorError> {
        let home = tempfile::Builder::new().prefix("agent-home-").tempdir_in(&start.scratch);
        let home = home.map_err(infrastructure)?;
        fs::create_dir(home.path().join("tmp")).map_err(infrastructure)?;
        let environment = environment(home.path());
        let mut process = launch(start, &environment, home)?;
        process.greet(LIMITS.reply)?;
        Ok(process)
    }

    /// Installs the agent if it is missing, in the environment of the user, who may have configured a registry.
    ///
    /// # Errors
    /// The agent cannot be had.
    pub fn install(start: &DoorCommand) -> Result<DoorHello, DoorError> {
        let home = tempfile::Builder::new().prefix("agent-home-").tempdir_in(&start.scratch);
        let home = home.map_err(infrastructure)?;
        let environment: Vec<_> = std::env::vars_os().collect();
        let mut process = launch(start, &environment, home)?;
        process.greet(INSTALL_LIMIT)?;
        let hello = process.hello.clone();
        process.end();
        Ok(hello)
    }

    fn greet(&mut self, limit: Duration) -> Result<(), DoorError> {
        let url = format!("http://127.0.0.1:{}", self.server.port());
        let start = &self.start;
        let mut request =
            json!({ "model_url": url, "cache": start.cache, "home": self.home.path() });
        if let Some(door) = &start.door {
            request["door"] = door.as_str().into();
        }
        let answer = self.ask_within("hello", request, limit)?;
        let read = serde_json::from_value(answer);
        self.hello = read.map_err(|error| broken(format!("its hello is unreadable: {error}")))?;
        Ok(())
    }

    /// What the adapter says about itself.
    pub fn hello(&self) -> &DoorHello {
        &self.hello
    }

    /// An empty folder for the project of a story.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new_project(&mut self) -> Result<PathBuf, DoorError> {
        let beside = self.home.path().parent().unwrap_or(self.home.path());
        let project = tempfile::Builder::new().prefix("agent-project-").tempdir_in(beside);
        let project = project.map_err(infrastructure)?;
        let path = project.path().to_owned();
        self.projects.push(project);
        Ok(path)
    }

    /// The text without the folders of this run and this machine.
    pub fn without_folders(&self, text: &str) -> String {
        let folders = self.projects.iter().map(|project| (project.path(), "PROJECT"));
        let folders = folders.chain([(self.home.path(), "HOME"), (&*self.start.cache, "CACHE")]);
        folders.fold(text.to_owned(), |text, (folder, name)| {
            text.replace(&*folder.to_string_lossy(), name)
        })
    }

    /// The scripted model.
    pub fn model(&self) -> &Server {
        &self.server
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// The operation failed.
    pub fn ask(&mut self, op: &str, request: Value) -> Result<Value, DoorError> {
        self.ask_within(op, request, LIMITS.reply)
    }

    fn ask_within(
        &mut self,
        op: &str,
        mut request: Value,
        limit: Duration,
    ) -> Result<Value, DoorError> {
        request["op"] = op.into();
        let line = format!("{request}\n").into_bytes();
        let reply = self.adapter.ask_line(op, line, limit).map_err(|fault| match fault {
            Fault::NotStarted(_) => infrastructure(fault),
            fault => broken(fault.to_string()),
        })?;
        let reply: DoorReply = serde_json::from_slice(&reply)
            .map_err(|error| broken(format!("the reply to `{op}` is unreadable: {error}")))?;
        if reply.ok {
            return Ok(Value::Object(reply.answer));
        }
        let text = reply.error.unwrap_or_else(|| format!("`{op}` failed"));
        Err(DoorError { code: reply.code.unwrap_or(DoorCode::Agent), text })
    }

    /// The checkpoints, newest first.
    ///
    /// # Errors
    /// The operation failed.
    pub fn list(&mut self) -> Result<Vec<String>, DoorError> {
        let mut answer = self.ask("list", json!({}))?;
        let read: Result<Vec<DoorCheckpoint>, _> =
            serde_json::from_value(answer["checkpoints"].take());
        let list = read.map_err(|error| broken(format!("its list is unreadable: {error}")))?;
        Ok(list.into_iter().map(|checkpoint| checkpoint.id).collect())
    }

    /// How the model of this agent makes a call.
    ///
    /// # Errors
    /// The adapter cannot spell it.
    pub fn spell(&mut self, call: Value) -> Result<Vec<ToolCall>, DoorError> {
        let answer = self.ask("spell", json!({ "call": call }))?;
        let read: Spelling = serde_json::from_value(answer)
            .map_err(|error| broken(format!("a spelled call is unreadable: {error}")))?;
        Ok(match read {
            Spelling::Steps { steps } => steps,
            Spelling::Call(call) => vec![call],
        })
    }

    /// Starts a second process of the agent in the project, has one turn there, and ends it. Returns the commands of
    /// what it left running.
    ///
    /// # Errors
    /// An operation of the second process failed.
    pub fn visit(&mut self, project: &Path, text: &str) -> Result<Vec<String>, DoorError> {
        let second = start_adapter(&self.start, self.home.path(), &environment(self.home.path()))?;
        let first = std::mem::replace(&mut self.adapter, second);
        let turn = self
            .greet(LIMITS.reply)
            .and_then(|()| self.ask("open", json!({ "project": project })))
            .and_then(|_| self.ask("say", json!({ "text": text, "approve": true })));
        let ended = turn.and_then(|_| self.close());
        // Its processes end with its input.
        let _ = std::mem::replace(&mut self.adapter, first).finish();
        ended
    }

    /// Ends the agent, as a user does, and the adapter; returns how many processes were left running, and killed.
    pub fn end(mut self) -> usize {
        let killed = self.close().map_or(0, |killed| killed.len());
        let AgentProcess { adapter, server, home, projects, .. } = self;
        // Whatever it says, the processes are looked for.
        let _ = adapter.finish();
        server.stop();
        let mut left = marked(home.path());
        let deadline = Instant::now() + LIMITS.grace;
        while !left.is_empty() && Instant::now() < deadline {
            sleep(Duration::from_millis(50));
            left = marked(home.path());
        }
        for pid in &left {
            // It may have ended meanwhile.
            let _ = kill_process(*pid, Signal::KILL);
        }
        drop((home, projects));
        killed + left.len()
    }

    /// Ends the agent, as a user does; returns the commands of what was left running, and killed.
    ///
    /// # Errors
    /// The agent cannot be ended.
    pub fn close(&mut self) -> Result<Vec<String>, DoorError> {
        let mut answer = self.ask("close", json!({}))?;
        Ok(serde_json::from_value(answer["killed"].take()).unwrap_or_default())
    }
}

fn launch(
    start: &DoorCommand,
    environment: &[(OsString, OsString)],
    home: TempDir,
) -> Result<AgentProcess, DoorError> {
    let server = Server::bind(0, crate::scripted_model::Script::default(), None);
    let server = Arc::new(server.map_err(infrastructure)?);
    let serving = Arc::clone(&server);
    std::thread::spawn(move || serving.serve());
    let adapter = start_adapter(start, home.path(), environment)?;
    let start = start.clone();
    let hello = DoorHello::default();
    Ok(AgentProcess { adapter, server, home, projects: Vec::new(), start, hello })
}

fn start_adapter(
    start: &DoorCommand,
    home: &Path,
    environment: &[(OsString, OsString)],
) -> Result<Adapter, DoorError> {
    Adapter::start(&start.command, home, environment, LIMITS).map_err(infrastructure)
}

/// What an agent has in its environment: nothing of the user's but the search path.
fn environment(home: &Path) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<(OsString, OsString)> = vec![
        ("HOME".into(), home.into()),
        ("TMPDIR".into(), home.join("tmp").into()),
        ("TZ".into(), "UTC".into()),
        ("LC_ALL".into(), "C.UTF-8".into()),
        ("LANG".into(), "C.UTF-8".into()),
        ("PYTHONDONTWRITEBYTECODE".into(), "1".into()),
        // The packages are installed by now.
        ("HERMA_OFFLINE".into(), "1".into()),
    ];
    if let Some(path) = std::env::var_os("PATH") {
        variables.push(("PATH".into(), path));
    }
    variables
}

fn infrastructure(error: impl std::fmt::Display) -> DoorError {
    DoorError { code: DoorCode::Infrastructure, text: error.to_string() }
}

fn broken(text: String) -> DoorError {
    DoorError { code: DoorCode::Agent, text }
}

/// The bundled adapters of agents, each with its text.
static AGENTS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/agents.rs"));

/// Writes the bundled adapters into a folder.
///
/// # Errors
/// The folder cannot be written.
pub fn write_adapters(folder: &Path) -> std::io::Result<()> {
    AGENTS.iter().try_for_each(|(path, text)| {
        let name = Path::new(path).file_name().unwrap_or(OsStr::from_bytes(b"agent"));
        fs::write(folder.join(name), text)
    })
}
