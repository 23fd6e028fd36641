//! One owner of an agent's state at a time: several managers change its parts and roll back at once. Parts
//! that take no lock are the canary: what loses their cards or mixes them must be found.

use super::agent::{Agent, created};
use super::crashes::died;
use herma_core::disk::{Disk, Sharing, SystemDisk};
use herma_core::state::{FilePart, LOCK_FILE, Part, PartKind, State};
use herma_core::{Config, Manager, RestoreOptions};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// A part in a file whose processes take no turns.
struct Hasty(FilePart, Arc<Meeting>);

/// What makes hasty processes meet, however fast each of them is.
#[derive(Default)]
struct Meeting {
    /// How often each kind of part was written, by its name.
    written: Mutex<BTreeMap<String, usize>>,
    changed: Condvar,
}

/// Whether processes take turns at the parts or, where they meet, do not.
type Haste = Option<Arc<Meeting>>;

impl Meeting {
    /// Who is the first to write its second part waits until two others have written their last one: that part
    /// is another's then, and the last its own. Who waits in vain goes on after ten seconds.
    fn write(&self, kind: &str) {
        let mut written = self.written.lock().unwrap();
        let times = written.entry(kind.to_owned()).or_default();
        *times += 1;
        let is_first = *times == 1 && kind == PartKind::ALL[1].name();
        self.changed.notify_all();
        if is_first {
            let last = PartKind::ALL[PartKind::ALL.len() - 1].name();
            let is_alone = |written: &mut BTreeMap<_, _>| written.get(last).is_none_or(|n| *n < 2);
            drop(self.changed.wait_timeout_while(written, Duration::from_secs(10), is_alone));
        }
    }
}

impl Part for Hasty {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn describe(&self, state: &str) -> Vec<(String, Value)> {
        self.0.describe(state)
    }

    fn capture(&self) -> Result<String, String> {
        let captured = self.0.capture();
        // Longer than managers that begin together begin apart.
        thread::sleep(Duration::from_millis(25));
        captured
    }

    fn check(&self, state: &str) -> Result<(), String> {
        self.0.check(state)
    }

    fn restore(&self, state: &str) -> Result<(), String> {
        let restored = self.0.restore(state);
        self.1.write(self.name());
        restored
    }
}

fn manager(agent: &Agent, haste: &Haste) -> Manager {
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    let part = |kind| -> Arc<dyn Part> {
        let part = FilePart::new(disk.clone(), kind, &agent.folder());
        match haste {
            Some(meeting) => Arc::new(Hasty(part, meeting.clone())),
            None => Arc::new(part),
        }
    };
    let state = State::of(PartKind::ALL.map(part));
    agent.machine.with(SystemDisk, Config::default()).with_state(state)
}

/// Lets each of so many managers do something at the same time.
fn together<T: Send>(
    agent: &Agent,
    haste: &Haste,
    work: [&(dyn Fn(&Manager) -> T + Sync); 3],
) -> Vec<T> {
    let begin = Barrier::new(work.len());
    thread::scope(|scope| {
        let begun = work.map(|work| {
            let begin = &begin;
            scope.spawn(move || {
                let manager = manager(agent, haste);
                begin.wait();
                work(&manager)
            })
        });
        begun.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

/// How many of 30 cards are lost that three managers add with `change_part`, or refused.
fn cards_lost(haste: &Haste) -> usize {
    let agent = Agent::new();
    agent.set("kanban", r#"{"cards": []}"#);
    let add = |manager: &Manager| {
        let add = |cards: &mut Value| cards["cards"].as_array_mut().unwrap().push(json!("card"));
        (0..10).filter(|_| manager.change_part("kanban", add).is_err()).count()
    };
    let refused: usize = together(&agent, haste, [&add, &add, &add]).into_iter().sum();
    let text = fs::read(agent.folder().join("kanban.json")).unwrap();
    let board: Value = serde_json::from_slice(&text).unwrap();
    30 - board["cards"].as_array().unwrap().len() + refused
}

/// How often rollbacks of three projects at once are refused, or leave the parts of no single one.
fn mixed(haste: &Haste) -> usize {
    let agent = Agent::new();
    let project = |name: &str| agent.project().with_file_name(name);
    for name in ["p1", "p2", "p3"] {
        fs::create_dir(project(name)).unwrap();
        fs::write(project(name).join("a.txt"), name).unwrap();
        PartKind::ALL.iter().for_each(|kind| agent.set(kind.name(), &format!("\"{name}\"")));
        created(&manager(&agent, &None).checkpoint(&project(name), name).unwrap());
        fs::write(project(name).join("a.txt"), "since").unwrap();
    }
    let roll_back = |name: &'static str| {
        let directory = project(name);
        move |manager: &Manager| {
            manager.restore(&directory, b"1", RestoreOptions::default()).is_ok()
        }
    };
    let (p1, p2, p3) = (roll_back("p1"), roll_back("p2"), roll_back("p3"));
    let done = together(&agent, haste, [&p1, &p2, &p3]);
    let part = |kind: PartKind| {
        fs::read_to_string(agent.folder().join(format!("{}.json", kind.name()))).unwrap()
    };
    let parts = PartKind::ALL.map(part);
    let is_mixed = parts.iter().any(|text| *text != parts[0]);
    done.iter().filter(|done| !**done).count() + usize::from(is_mixed)
}

// rule: agent/all-or-none
#[test]
fn change_part_of_several_managers_at_once_loses_nothing_but_of_parts_without_a_lock_file() {
    assert_eq!(cards_lost(&None), 0);
    assert!(cards_lost(&Some(Arc::default())) > 0, "the canary is not found");
}

// rule: agent/all-or-none
#[test]
fn a_restore_of_several_projects_at_once_mixes_nothing_but_parts_without_a_lock_file() {
    assert_eq!((0..3).map(|_| mixed(&None)).sum::<usize>(), 0);
    assert!(mixed(&Some(Arc::default())) > 0, "the canary is not found");
}

fn lock_file(agent: &Agent) -> PathBuf {
    agent.folder().join(LOCK_FILE)
}

// rule: agent/all-or-none
#[test]
fn while_another_process_owns_the_state_a_restore_is_busy_and_a_checkpoint_holds_the_files() {
    let agent = Agent::new();
    let project = agent.project();
    agent.take("before");
    fs::write(project.join("a.txt"), "since\n").unwrap();
    let owner = SystemDisk.try_lock(&lock_file(&agent), Sharing::Exclusive).unwrap().unwrap();
    let manager = agent.manager();
    let refused = manager.restore(&project, b"1", RestoreOptions::default()).unwrap_err();
    assert_eq!(refused.code(), "busy");
    assert_eq!(manager.change_part("goal", |_| ()).unwrap_err().code(), "busy");
    let taken = manager.checkpoint(&project, "beside").unwrap();
    let id = created(&taken);
    assert!(taken.notices[0].contains("the agent's state is in no checkpoint"), "{taken:?}");
    let (_, envelope) = manager.envelope(&project, id.as_bytes()).unwrap();
    assert_eq!(envelope.unwrap().parts, []);
    drop(owner);
    manager.restore(&project, b"2", RestoreOptions::default()).unwrap();
    assert_eq!(fs::read_to_string(project.join("a.txt")).unwrap(), "one\n");
}

// rule: agent/all-or-none
#[test]
fn a_rollback_that_dies_while_its_lock_is_waited_for_is_undone_before_change_part_changes_anything()
{
    let round = died(|_| ());
    let note = fs::read_dir(round.notes()).unwrap().next().unwrap().unwrap().path();
    let aside = note.with_extension("aside");
    // It appears, and its process dies, while the lock is held.
    fs::rename(&note, &aside).unwrap();
    let owner = SystemDisk.try_lock(&lock_file(&round.agent), Sharing::Exclusive).unwrap();
    let manager = round.agent.manager();
    let changed = thread::scope(|scope| {
        let change = || manager.change_part("goal", |goal| goal["active"] = json!("Since"));
        let changed = scope.spawn(change);
        thread::sleep(Duration::from_millis(200));
        fs::rename(&aside, &note).unwrap();
        drop(owner);
        changed.join().unwrap().unwrap()
    });
    assert!(changed.notices[0].contains("was interrupted, and is undone"), "{changed:?}");
    let goal = fs::read(round.agent.folder().join("goal.json")).unwrap();
    let goal: Value = serde_json::from_slice(&goal).unwrap();
    assert_eq!(goal["active"], "Since");
    let mut expected = round.before.clone();
    let mut found = round.agent.everything();
    assert!(expected.remove("goal").is_some() && found.remove("goal").is_some());
    assert_eq!(found, expected);
}
