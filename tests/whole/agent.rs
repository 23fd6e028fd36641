//! The fixture of the agent-state tests: a project, a folder with the parts of the agent's state, and managers
//! for them.

use crate::bad_input::machine::Machine;
use herma_core::disk::Disk;
use herma_core::state::{Compensation, Compensations, External, FilePart, Part, PartKind, State};
use herma_core::{ActionNote, Config, Manager, Occasion, Outcome, SystemClock, Taken, Trigger};
use herma_harness::subject::HookedDisk;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub struct Agent {
    pub machine: Machine,
}

/// A stand-in for closing a pull request: appends a line to a file of the test.
struct ClosePullRequest(PathBuf);

impl Compensation for ClosePullRequest {
    fn run(&self, action: &ActionNote) -> Result<(), String> {
        let file = fs::OpenOptions::new().create(true).append(true).open(&self.0);
        let mut file = file.map_err(|error| error.to_string())?;
        writeln!(file, "{action}").map_err(|error| error.to_string())
    }
}

/// The contents of all parts and project files on the disk, by name.
pub type DiskState = BTreeMap<String, Vec<u8>>;

impl Agent {
    pub fn new() -> Self {
        let agent = Agent { machine: Machine::new() };
        fs::create_dir(agent.folder()).unwrap();
        agent.set("kanban", r#"{"cards": [{"id": "c1", "state": "doing"}]}"#);
        agent.set("goal", r#"{"active": "Ship it", "progress": 0.25}"#);
        agent
    }

    pub fn folder(&self) -> PathBuf {
        self.machine.root().join("agent")
    }

    pub fn closed(&self) -> Vec<String> {
        let text = fs::read_to_string(self.machine.root().join("closed")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub fn set(&self, part: &str, text: &str) {
        fs::write(self.folder().join(format!("{part}.json")), text).unwrap();
    }

    pub fn unset(&self, part: &str) {
        fs::remove_file(self.folder().join(format!("{part}.json"))).unwrap();
    }

    pub fn state_on(&self, disk: &Arc<dyn Disk>) -> State {
        let part = |kind| {
            let part: Arc<dyn Part> = Arc::new(FilePart::new(disk.clone(), kind, &self.folder()));
            part
        };
        let close: Arc<dyn Compensation> =
            Arc::new(ClosePullRequest(self.machine.root().join("closed")));
        let compensations = Compensations::from([("github.pr.opened".to_owned(), close)]);
        let clock = Arc::new(SystemClock);
        let external = External::new(disk.clone(), clock, &self.folder(), compensations);
        State::of(PartKind::ALL.map(part)).with_external(Arc::new(external))
    }

    /// A manager on that disk, which also stores the parts of the state.
    pub fn manager_with(&self, disk: impl Fn() -> HookedDisk, config: Config) -> Manager {
        let shared: Arc<dyn Disk> = Arc::new(disk());
        self.machine.manager_with(disk(), config).with_state(self.state_on(&shared))
    }

    pub fn manager(&self) -> Manager {
        self.manager_with(HookedDisk::of_an_ordinary_user, Config::default())
    }

    #[track_caller]
    pub fn take(&self, reason: &str) -> String {
        let occasion = Occasion::new(Trigger::Manual, reason);
        created_id(&self.manager().checkpoint_for(&self.project(), &occasion).unwrap())
    }

    pub fn project(&self) -> PathBuf {
        self.machine.project()
    }

    pub fn disk_state(&self) -> DiskState {
        let mut found = DiskState::new();
        gather(&self.project(), "project", &mut found);
        for kind in PartKind::ALL {
            let path = self.folder().join(format!("{}.json", kind.name()));
            found.extend(fs::read(path).ok().map(|bytes| (kind.name().to_owned(), bytes)));
        }
        found
    }
}

#[track_caller]
pub fn created_id(taken: &Taken) -> String {
    match &taken.outcome {
        Outcome::Created { id } => id.clone(),
        outcome => panic!("{outcome:?}"),
    }
}

fn gather(folder: &Path, name: &str, found: &mut DiskState) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{name}/{}", entry.file_name().to_str().unwrap());
        match entry.file_type().unwrap().is_dir() {
            true => gather(&entry.path(), &name, found),
            false => drop(found.insert(name, fs::read(entry.path()).unwrap())),
        }
    }
}
