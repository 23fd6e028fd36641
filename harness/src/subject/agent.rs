//! The agent of the core's subject: parts of its state in files, external actions, events, and sub-agents.
//! It adds nothing to what the core does with them, and repairs nothing.

use herma_core::agent::{CheckpointManager, Event};
use herma_core::disk::Disk;
use herma_core::state::{self, Compensations, External, FilePart, PartKind, State};
use herma_core::{ActionNote, Clock, Error};
use herma_model::agent::{Action, AgentEvent, Compensation, Part};
use herma_model::answer::Compensated;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The compensation of each action, by its kind and id.
type Registered = Arc<Mutex<BTreeMap<(String, Option<String>), Compensation>>>;

/// The user who decides about external actions.
const USER: &str = "suite";

/// The state of the agent other than its checkpoints.
pub(super) struct Agent {
    /// The folder of its parts, which no history touches.
    folder: PathBuf,
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    registered: Registered,
    kinds: Compensations,
    /// The managers of agents that wait for a sub-agent.
    parents: Vec<CheckpointManager>,
    turns: u64,
}

impl Agent {
    pub fn new(base: &Path, disk: Arc<dyn Disk>, clock: Arc<dyn Clock>) -> Self {
        Agent {
            folder: base.join("agent"),
            disk,
            clock,
            registered: Default::default(),
            kinds: Default::default(),
            parents: Default::default(),
            turns: 0,
        }
    }

    /// The state that checkpoints contain.
    pub fn state(&self) -> State {
        let part = |kind| -> Arc<dyn state::Part> {
            Arc::new(FilePart::new(self.disk.clone(), kind, &self.folder))
        };
        State::of(PartKind::ALL.map(part)).with_external(Arc::new(self.external()))
    }

    fn external(&self) -> External {
        External::new(self.disk.clone(), self.clock.clone(), &self.folder, self.kinds.clone())
    }

    fn path(&self, part: Part) -> PathBuf {
        let kind = match part {
            Part::Kanban => PartKind::Kanban,
            Part::Goal => PartKind::Goal,
            Part::Memory => PartKind::Memory,
            Part::History => PartKind::History,
        };
        self.folder.join(format!("{}.json", kind.name()))
    }

    fn make_folder(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)
    }

    /// Changes a part as the agent's own work does.
    pub fn set(&self, part: Part, value: &Value) -> io::Result<()> {
        self.make_folder()?;
        fs::write(self.path(part), value.to_string())
    }

    pub fn get(&self, part: Part) -> io::Result<Value> {
        match fs::read(self.path(part)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Value::Null),
            read => Ok(serde_json::from_slice(&read?)?),
        }
    }

    /// Records an external action; returns whether its kind can be compensated for the first time.
    pub fn record(
        &mut self,
        action: &Action,
        compensation: Option<&Compensation>,
    ) -> Result<bool, Error> {
        // If the folder cannot be made, the write into it fails.
        let _ = self.make_folder();
        self.external().record(&action.kind, action.id.as_deref(), action.to.as_deref())?;
        let Some(compensation) = compensation else { return Ok(false) };
        let key = (action.kind.clone(), action.id.clone());
        let mut registered = self.registered.lock().unwrap_or_else(PoisonError::into_inner);
        registered.insert(key, compensation.clone());
        let append_line: Arc<dyn state::Compensation> =
            Arc::new(AppendLine(self.registered.clone()));
        Ok(self.kinds.insert(action.kind.clone(), append_line).is_none())
    }

    pub fn compensate(&self) -> Result<Compensated, Error> {
        let _ = self.make_folder();
        let mut outcome = Compensated::default();
        for result in self.external().compensate(USER, false)? {
            let list = if result.failure.is_none() {
                &mut outcome.compensated
            } else {
                &mut outcome.failed
            };
            list.push(action(&result.note));
        }
        Ok(outcome)
    }

    pub fn accept(&self) -> Result<(), Error> {
        let _ = self.make_folder();
        self.external().accept(USER).map(drop)
    }

    /// The event as it is reported to the core.
    pub fn event<'a>(&mut self, event: &'a AgentEvent) -> Event<'a> {
        match event {
            AgentEvent::HighRisk { command } => Event::Command(command),
            AgentEvent::Milestone { from, to } => {
                let fraction = |percent: u8| f64::from(percent) / 100.0;
                Event::Progress { goal: "goal", from: fraction(*from), to: fraction(*to) }
            }
            AgentEvent::Card { card, from, to } => Event::Card { id: card, from, to },
            AgentEvent::TurnBoundary => {
                self.turns += 1;
                Event::TurnEnded(self.turns)
            }
            AgentEvent::LongCall { seconds } => {
                Event::LongCall { what: "a tool", seconds: *seconds }
            }
        }
    }

    /// Starts a sub-agent; its parent waits.
    pub fn spawn(&mut self, parent: CheckpointManager) {
        self.parents.push(parent);
    }

    /// Returns to the parent that waits since the last `spawn`.
    pub fn join(&mut self) -> Option<CheckpointManager> {
        self.parents.pop()
    }

    /// Ends all agents, as the end of the process does.
    pub fn end(&mut self) {
        self.parents.clear();
    }
}

/// Appends a line for each action that it compensates.
struct AppendLine(Registered);

impl state::Compensation for AppendLine {
    fn run(&self, action: &ActionNote) -> Result<(), String> {
        let registered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let compensation = registered.get(&(action.kind.clone(), action.id.clone()));
        let compensation = compensation.ok_or("nothing is registered")?;
        let path = OsStr::from_bytes(&compensation.log);
        let file = OpenOptions::new().create(true).append(true).open(path);
        let line = self::action(action).line();
        file.and_then(|mut file| writeln!(file, "{line}")).map_err(|error| error.to_string())?;
        if compensation.fails { Err("it fails".to_owned()) } else { Ok(()) }
    }
}

/// An action in the form of the protocol.
pub(super) fn action(note: &ActionNote) -> Action {
    Action { kind: note.kind.clone(), id: note.id.clone(), to: note.to.clone() }
}
