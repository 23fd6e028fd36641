//! The agent of the core's subject: parts of its state in files, what it did outside, the events that it
//! tells, and sub-agents. Nothing is added to what the core does with them, and nothing repaired.

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

/// What compensates each action, by its kind and id.
type Registered = Arc<Mutex<BTreeMap<(String, Option<String>), Compensation>>>;

/// Who decides about external actions.
const WHO: &str = "suite";

/// What the agent has beside its checkpoints.
pub(super) struct Agent {
    /// Where its parts are, in a place that no history looks at.
    folder: PathBuf,
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    registered: Registered,
    kinds: Compensations,
    /// Those that wait for a sub-agent.
    parents: Vec<CheckpointManager>,
    turns: u64,
}

impl Agent {
    pub fn new(base: &Path, disk: Arc<dyn Disk>, clock: Arc<dyn Clock>) -> Self {
        let (registered, kinds, parents) = Default::default();
        Agent { folder: base.join("agent"), disk, clock, registered, kinds, parents, turns: 0 }
    }

    /// What checkpoints carry of it.
    pub fn state(&self) -> State {
        let part = |kind| -> Arc<dyn state::Part> {
            Arc::new(FilePart::new(self.disk.clone(), kind, &self.folder))
        };
        State::of(PartKind::ALL.map(part)).with_external(Arc::new(self.external()))
    }

    fn external(&self) -> External {
        let (disk, clock) = (self.disk.clone(), self.clock.clone());
        External::new(disk, clock, &self.folder, self.kinds.clone())
    }

    fn place(&self, part: Part) -> PathBuf {
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

    /// The agent's own work changes a part.
    pub fn set(&self, part: Part, value: &Value) -> io::Result<()> {
        self.make_folder()?;
        fs::write(self.place(part), value.to_string())
    }

    pub fn get(&self, part: Part) -> io::Result<Value> {
        match fs::read(self.place(part)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Value::Null),
            read => Ok(serde_json::from_slice(&read?)?),
        }
    }

    /// The agent did something outside; returns whether what it can compensate is other than before.
    pub fn did(
        &mut self,
        action: &Action,
        compensation: Option<&Compensation>,
    ) -> Result<bool, Error> {
        // What cannot be made fails again where it is written to.
        let _ = self.make_folder();
        self.external().record(&action.kind, action.id.as_deref(), action.to.as_deref())?;
        let Some(compensation) = compensation else { return Ok(false) };
        let key = (action.kind.clone(), action.id.clone());
        let mut registered = self.registered.lock().unwrap_or_else(PoisonError::into_inner);
        registered.insert(key, compensation.clone());
        let appends: Arc<dyn state::Compensation> = Arc::new(Appends(self.registered.clone()));
        Ok(self.kinds.insert(action.kind.clone(), appends).is_none())
    }

    pub fn compensate(&self) -> Result<Compensated, Error> {
        let _ = self.make_folder();
        let mut said = Compensated::default();
        for one in self.external().compensate(WHO, false)? {
            let list = if one.failure.is_none() { &mut said.compensated } else { &mut said.failed };
            list.push(action(&one.note));
        }
        Ok(said)
    }

    pub fn accept(&self) -> Result<(), Error> {
        let _ = self.make_folder();
        self.external().accept(WHO).map(drop)
    }

    /// What the core is told of an event.
    pub fn event<'a>(&mut self, event: &'a AgentEvent) -> Event<'a> {
        match event {
            AgentEvent::HighRisk { command } => Event::Command(command),
            AgentEvent::Milestone { from, to } => {
                let part = |percent: u8| f64::from(percent) / 100.0;
                Event::Progress { goal: "goal", from: part(*from), to: part(*to) }
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

    /// A sub-agent begins, and its parent waits.
    pub fn spawn(&mut self, parent: CheckpointManager) {
        self.parents.push(parent);
    }

    /// The parent that waited last.
    pub fn join(&mut self) -> Option<CheckpointManager> {
        self.parents.pop()
    }

    /// The process ends, and all agents with it.
    pub fn end(&mut self) {
        self.parents.clear();
    }
}

/// Appends a line for each action that it compensates.
struct Appends(Registered);

impl state::Compensation for Appends {
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

/// An action as the protocol has it.
pub(super) fn action(note: &ActionNote) -> Action {
    Action { kind: note.kind.clone(), id: note.id.clone(), to: note.to.clone() }
}
