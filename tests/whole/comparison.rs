//! What comes back of one history: by `git reset`, by recovering a step of a flow, and by a rollback of
//! the whole agent. The page that says so is written from what is found on the disk.

use super::agent::{Agent, Everything};
use crate::docs::is_current;
use herma_core::disk::{Disk, SystemDisk};
use herma_core::state::{Part, PartKind, State};
use herma_core::{Manager, Occasion, RestoreOptions};
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

/// A flow of declared steps, of which each keeps what it needs to be done again: all that a recovery at
/// the level of steps brings back.
struct Flow(PathBuf);

impl Flow {
    fn at(&self, step: &str) {
        fs::write(&self.0, format!("{{\"step\": \"{step}\"}}")).unwrap();
    }

    /// Recovers a step: the flow stands before it again.
    fn recover(&self, step: &str) {
        self.at(step);
    }
}

/// As a part of the agent, so that a rollback brings it back too.
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
struct World {
    agent: Agent,
    flow: Arc<Flow>,
}

/// What changes in the history, and where that is seen.
const THINGS: [(&str, &str); 8] = [
    ("a file that git tracks, changed", "project/a.txt"),
    ("a file that git tracks, deleted", "project/src/b.txt"),
    ("a file that git does not track, changed", "project/notes.txt"),
    ("a file that is new", "project/new.txt"),
    ("the board: a card became done", "kanban"),
    ("the goal and its progress", "goal"),
    ("the head of the memory index", "memory"),
    ("the step of the flow", "flow"),
];

impl World {
    /// Before the work: all of it committed but for the notes.
    fn new() -> Self {
        let agent = Agent::new();
        let world = World { flow: Arc::new(Flow(agent.folder().join("flow.json"))), agent };
        world.git(&["init", "--quiet"]);
        world.git(&["add", "."]);
        world.git(&["commit", "--quiet", "--message", "before"]);
        world.agent.machine.write("notes.txt", "before\n");
        world.agent.set("memory", r#"{"head": "mem_1"}"#);
        world.flow.at("migrate");
        world
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

    fn everything(&self) -> Everything {
        let mut all = self.agent.everything();
        all.retain(|name, _| !name.starts_with("project/.git/"));
        all.insert("flow".into(), fs::read(&self.flow.0).unwrap());
        all
    }
}

/// Whether each of the things is as before the work.
fn comes_back(recover: impl Fn(&World)) -> Vec<bool> {
    let world = World::new();
    let manager = world.manager();
    manager.checkpoint_for(&world.agent.project(), &Occasion::labelled("before")).unwrap();
    let before = world.everything();
    world.work();
    let worked = world.everything();
    assert!(THINGS.iter().all(|(_, name)| before.get(*name) != worked.get(*name)));
    recover(&world);
    let now = world.everything();
    THINGS.iter().map(|(_, name)| before.get(*name) == now.get(*name)).collect()
}

// rule: agent/composes
// rule: agent/parts
#[test]
fn the_page_says_what_each_of_the_three_brings_back() {
    let by_git = comes_back(|world| world.git(&["reset", "--quiet", "--hard"]));
    let by_step = comes_back(|world| world.flow.recover("migrate"));
    let by_rollback = comes_back(|world| {
        let options = RestoreOptions { exact: true, force: false };
        world.manager().restore(&world.agent.project(), b"before", options).unwrap();
    });
    assert!(by_rollback.iter().all(|back| *back), "{by_rollback:?}");
    assert_eq!(by_git.iter().filter(|back| **back).count(), 2);
    assert_eq!(by_step.iter().filter(|back| **back).count(), 1);
    let word = |back: bool| if back { "back" } else { "stays" };
    let mut page = String::from(
        "# What comes back\n\nOne history, three ways to undo it: a checkpoint labelled *before* is taken, \
         then everything in the\nfirst column changes. This page is written by the test that does it \
         (`tests/whole/comparison.rs`), from what is\nfound on the disk afterwards.\n\n\
         | what changed | `git reset --hard` | recovering a step of a flow | rollback of the whole agent |\n\
         |---|---|---|---|\n",
    );
    for (index, (thing, _)) in THINGS.iter().enumerate() {
        let [git, step, rollback] = [by_git[index], by_step[index], by_rollback[index]].map(word);
        page += &format!("| {thing} | {git} | {step} | {rollback} |\n");
    }
    page += "\nWhat was done outside the project and the agent, such as a pull request, none of them undoes. \
        The rollback\nlists it, and `/rollback-actions` runs the compensations that are registered.\n\n\
        Recovery at the level of steps is played by a stand-in: a flow that keeps, for each declared \
        step, what it needs\nto do that step again. That is the most the document claims for it. Registered \
        as a part (`state::Part`), the flow\ncomes back with a rollback too, so both can be used together.\n";
    is_current("what-comes-back.md", &page);
}
