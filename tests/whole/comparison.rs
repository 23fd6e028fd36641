//! Compares three ways to undo one history: `git reset`, the recovery of one step of a flow (a sequence of
//! steps that an agent follows), and a restore of the agent state. The generated page reports what the test
//! finds on the disk.

use super::agent::{Agent, DiskState};
use crate::docs::assert_page;
use herma_core::disk::{Disk, SystemDisk};
use herma_core::state::{Part, PartKind, State};
use herma_core::{Manager, Occasion, RestoreOptions};
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

/// A flow of declared steps, each of which keeps what is needed to repeat it: a step-level recovery restores
/// nothing else.
struct Flow(PathBuf);

impl Flow {
    fn at(&self, step: &str) {
        fs::write(&self.0, format!("{{\"step\": \"{step}\"}}")).unwrap();
    }

    /// Recovers a step: moves the flow back to before the step.
    fn recover(&self, step: &str) {
        self.at(step);
    }
}

/// The flow as a part of the agent state, so that a restore includes it.
impl Part for Flow {
    fn name(&self) -> &str {
        "flow"
    }

    fn describe(&self, state: &str) -> Vec<(String, Value)> {
        vec![("step".into(), state.into())]
    }

    fn capture(&self) -> Result<String, String> {
        fs::read_to_string(&self.0).map_err(|error| error.to_string())
    }

    fn check(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn restore(&self, state: &str) -> Result<(), String> {
        fs::write(&self.0, state).map_err(|error| error.to_string())
    }
}

/// An agent whose project is a git repository and that follows a flow.
struct FlowFixture {
    agent: Agent,
    flow: Arc<Flow>,
}

/// The changes of the history, and the file or part in which each is visible.
const CHANGES: [(&str, &str); 8] = [
    ("a file that git tracks, changed", "project/a.txt"),
    ("a file that git tracks, deleted", "project/src/b.txt"),
    ("a file that git does not track, changed", "project/notes.txt"),
    ("a file that is new", "project/new.txt"),
    ("the board: a card became done", "kanban"),
    ("the goal and its progress", "goal"),
    ("the head of the memory index", "memory"),
    ("the step of the flow", "flow"),
];

impl FlowFixture {
    /// The state before the work, committed to git except for the notes.
    fn new() -> Self {
        let agent = Agent::new();
        let fixture = FlowFixture { flow: Arc::new(Flow(agent.folder().join("flow.json"))), agent };
        fixture.git(&["init", "--quiet"]);
        fixture.git(&["add", "."]);
        fixture.git(&["commit", "--quiet", "--message", "before"]);
        fixture.agent.machine.write("notes.txt", "before\n");
        fixture.agent.set("memory", r#"{"head": "mem_1"}"#);
        fixture.flow.at("migrate");
        fixture
    }

    fn git(&self, words: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        assert!(git.args(words).current_dir(self.agent.project()).status().unwrap().success());
    }

    fn manager(&self) -> Manager {
        let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
        let file = |kind| {
            let part = herma_core::state::FilePart::new(disk.clone(), kind, &self.agent.folder());
            Arc::new(part) as Arc<dyn Part>
        };
        let flow: Arc<dyn Part> = self.flow.clone();
        let parts = PartKind::ALL.map(file).into_iter().chain([flow]);
        self.agent.machine.manager().with_state(State::of(parts))
    }

    /// The work that turns out to be wrong.
    fn work(&self) {
        self.agent.machine.write("a.txt", "wrong\n");
        fs::remove_file(self.agent.project().join("src/b.txt")).unwrap();
        self.agent.machine.write("notes.txt", "wrong\n");
        self.agent.machine.write("new.txt", "wrong\n");
        self.agent.set("kanban", r#"{"cards": [{"id": "c1", "state": "done"}]}"#);
        self.agent.set("goal", r#"{"active": "Ship it", "progress": 0.75}"#);
        self.agent.set("memory", r#"{"head": "mem_2"}"#);
        self.flow.at("deploy");
    }

    fn disk_state(&self) -> DiskState {
        let mut state = self.agent.disk_state();
        state.retain(|name, _| !name.starts_with("project/.git/"));
        state.insert("flow".into(), fs::read(&self.flow.0).unwrap());
        state
    }
}

/// Whether each change is undone after the recovery.
fn undone_by(recover: impl Fn(&FlowFixture)) -> Vec<bool> {
    let fixture = FlowFixture::new();
    let manager = fixture.manager();
    manager.checkpoint_for(&fixture.agent.project(), &Occasion::labelled("before")).unwrap();
    let before = fixture.disk_state();
    fixture.work();
    let worked = fixture.disk_state();
    assert!(CHANGES.iter().all(|(_, name)| before.get(*name) != worked.get(*name)));
    recover(&fixture);
    let now = fixture.disk_state();
    CHANGES.iter().map(|(_, name)| before.get(*name) == now.get(*name)).collect()
}

// rule: agent/composes
// rule: agent/parts
#[test]
fn docs_what_comes_back_md_lists_what_reset_recovery_and_restore_undo() {
    let by_git = undone_by(|fixture| fixture.git(&["reset", "--quiet", "--hard"]));
    let by_step = undone_by(|fixture| fixture.flow.recover("migrate"));
    let by_restore = undone_by(|fixture| {
        let options = RestoreOptions { exact: true, force: false };
        fixture.manager().restore(&fixture.agent.project(), b"before", options).unwrap();
    });
    assert!(by_restore.iter().all(|is_undone| *is_undone), "{by_restore:?}");
    assert_eq!(by_git.iter().filter(|is_undone| **is_undone).count(), 2);
    assert_eq!(by_step.iter().filter(|is_undone| **is_undone).count(), 1);
    let word = |is_undone: bool| if is_undone { "restored" } else { "unchanged" };
    let mut page = String::from(
        "# What is restored\n\nOne history, three ways to undo it: a checkpoint labelled *before* is taken, then \
         everything in the\nfirst column changes. The test `tests/whole/comparison.rs` runs this history and \
         writes this page from\nthe files that it finds afterwards.\n\n\
         | change | `git reset --hard` | recovering a step of a flow | restore with agent state |\n\
         |---|---|---|---|\n",
    );
    for (index, (change, _)) in CHANGES.iter().enumerate() {
        let [git, step, restore] = [by_git[index], by_step[index], by_restore[index]].map(word);
        page += &format!("| {change} | {git} | {step} | {restore} |\n");
    }
    page += "\nNone of them undoes actions outside the project and the agent, such as a pull request. The \
        restore lists\nsuch actions, and `/rollback-actions` runs the registered compensations.\n\n\
        Recovery of a step is represented by a stand-in: a flow that keeps, for each declared step, what it \
        needs to\nrepeat that step. Registered as a part of the agent state (`state::Part`), the flow is restored \
        by a restore,\ntoo, so both can be used together.\n";
    assert_page("what-comes-back.md", &page);
}
