//! Exclusive ownership of agent state: several managers change its parts and restore at the same time. Parts
//! without a lock are the canary: the tests must find that they lose cards or get mixed.

use super::agent::{Agent, created_id};
use super::crashes::killed_restore;
use herma_core::disk::{Disk, Sharing, SystemDisk};
use herma_core::state::{FilePart, LOCK_FILE, Part, PartKind, State};
use herma_core::{Config, Manager, RestoreOptions};
use herma_tests::hold;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// A part in a file without a lock.
struct UnlockedPart(FilePart, Arc<Rendezvous>);

/// Makes unlocked writes overlap, however fast each process is.
#[derive(Default)]
struct Rendezvous {
    /// How often each kind of part was written, by its name.
    written: Mutex<BTreeMap<String, usize>>,
    changed: Condvar,
}

/// `None` for parts with a lock, a rendezvous for parts without.
type Overlap = Option<Arc<Rendezvous>>;

impl Rendezvous {
    /// The first process to write its second part waits until two others have written their last part: then the
    /// second part is from another process and the last from this one. Gives up after ten seconds.
    fn write(&self, kind: &str) {
        let mut written = self.written.lock().unwrap();
        let times = written.entry(kind.to_owned()).or_default();
        *times += 1;
        let is_first = *times == 1 && kind == PartKind::ALL[1].name();
        self.changed.notify_all();
        if is_first {
            let last = PartKind::ALL[PartKind::ALL.len() - 1].name();
            let is_waiting =
                |written: &mut BTreeMap<_, _>| written.get(last).is_none_or(|times| *times < 2);
            drop(self.changed.wait_timeout_while(written, Duration::from_secs(10), is_waiting));
        }
    }
}

impl Part for UnlockedPart {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn describe(&self, state: &str) -> Vec<(String, Value)> {
        self.0.describe(state)
    }

    fn capture(&self) -> Result<String, String> {
        let captured = self.0.capture();
        // Longer than the delay between the starts of concurrent managers.
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

fn manager(agent: &Agent, overlap: &Overlap) -> Manager {
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    let part = |kind| -> Arc<dyn Part> {
        let part = FilePart::new(disk.clone(), kind, &agent.folder());
        match overlap {
            Some(rendezvous) => Arc::new(UnlockedPart(part, rendezvous.clone())),
            None => Arc::new(part),
        }
    };
    let state = State::of(PartKind::ALL.map(part));
    agent.machine.manager_with(SystemDisk, Config::default()).with_state(state)
}

/// Runs these functions at the same time, each with its own manager.
fn together<T: Send>(
    agent: &Agent,
    overlap: &Overlap,
    work: [&(dyn Fn(&Manager) -> T + Sync); 3],
) -> Vec<T> {
    let begin = Barrier::new(work.len());
    thread::scope(|scope| {
        let threads = work.map(|work| {
            let begin = &begin;
            scope.spawn(move || {
                let manager = manager(agent, overlap);
                begin.wait();
                work(&manager)
            })
        });
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Adds 30 cards with `change_part` in three managers, and returns how many are lost or refused.
fn cards_lost(overlap: &Overlap) -> usize {
    let agent = Agent::new();
    agent.set("kanban", r#"{"cards": []}"#);
    let add_cards = |manager: &Manager| {
        let add = |board: &mut Value| board["cards"].as_array_mut().unwrap().push(json!("card"));
        (0..10).filter(|_| manager.change_part("kanban", add).is_err()).count()
    };
    let refused: usize =
        together(&agent, overlap, [&add_cards, &add_cards, &add_cards]).into_iter().sum();
    let text = fs::read(agent.folder().join("kanban.json")).unwrap();
    let board: Value = serde_json::from_slice(&text).unwrap();
    30 - board["cards"].as_array().unwrap().len() + refused
}

/// Restores three projects at the same time, and returns how many restores are refused, plus one if the parts
/// are from different checkpoints.
fn refused_or_mixed(overlap: &Overlap) -> usize {
    let agent = Agent::new();
    let project = |name: &str| agent.project().with_file_name(name);
    for name in ["p1", "p2", "p3"] {
        fs::create_dir(project(name)).unwrap();
        fs::write(project(name).join("a.txt"), name).unwrap();
        PartKind::ALL.iter().for_each(|kind| agent.set(kind.name(), &format!("\"{name}\"")));
        created_id(&manager(&agent, &None).checkpoint(&project(name), name).unwrap());
        fs::write(project(name).join("a.txt"), "since").unwrap();
    }
    let restore_project = |name: &'static str| {
        let directory = project(name);
        move |manager: &Manager| {
            manager.restore(&directory, b"1", RestoreOptions::default()).is_ok()
        }
    };
    let p1 = restore_project("p1");
    let p2 = restore_project("p2");
    let p3 = restore_project("p3");
    let results = together(&agent, overlap, [&p1, &p2, &p3]);
    let part = |kind: PartKind| {
        fs::read_to_string(agent.folder().join(format!("{}.json", kind.name()))).unwrap()
    };
    let parts = PartKind::ALL.map(part);
    let is_mixed = parts.iter().any(|text| *text != parts[0]);
    results.iter().filter(|is_done| !**is_done).count() + usize::from(is_mixed)
}

// rule: agent/all-or-none
#[test]
fn concurrent_change_part_loses_nothing_except_from_parts_without_a_lock_file() {
    assert_eq!(cards_lost(&None), 0);
    assert!(cards_lost(&Some(Arc::default())) > 0, "the canary is not found");
}

// rule: agent/all-or-none
#[test]
fn concurrent_restores_mix_no_parts_except_parts_without_a_lock_file() {
    assert_eq!((0..3).map(|_| refused_or_mixed(&None)).sum::<usize>(), 0);
    assert!(refused_or_mixed(&Some(Arc::default())) > 0, "the canary is not found");
}

fn lock_file(agent: &Agent) -> PathBuf {
    agent.folder().join(LOCK_FILE)
}

// rule: agent/all-or-none
#[test]
fn a_locked_agent_state_makes_restore_busy_and_checkpoint_capture_only_files() {
    let agent = Agent::new();
    let project = agent.project();
    agent.take("before");
    fs::write(project.join("a.txt"), "since\n").unwrap();
    let owner = hold(&lock_file(&agent), Sharing::Exclusive);
    let manager = agent.manager();
    // Each waits for the lock as long as it may.
    thread::scope(|scope| {
        scope.spawn(|| {
            let refused = manager.restore(&project, b"1", RestoreOptions::default()).unwrap_err();
            assert_eq!(refused.code(), "busy");
        });
        assert_eq!(manager.change_part("goal", |_| ()).unwrap_err().code(), "busy");
    });
    let taken = manager.checkpoint(&project, "beside").unwrap();
    let id = created_id(&taken);
    assert!(taken.notices[0].contains("the agent's state is not in this checkpoint"), "{taken:?}");
    let (_, envelope) = manager.envelope(&project, id.as_bytes()).unwrap();
    assert_eq!(envelope.unwrap().parts, []);
    drop(owner);
    manager.restore(&project, b"2", RestoreOptions::default()).unwrap();
    assert_eq!(fs::read_to_string(project.join("a.txt")).unwrap(), "one\n");
}

// rule: agent/all-or-none
#[test]
fn change_part_undoes_a_restore_that_was_killed_while_it_waited_for_the_lock() {
    let round = killed_restore(|_| ());
    let journal = fs::read_dir(round.journals()).unwrap().next().unwrap().unwrap().path();
    let aside = journal.with_extension("aside");
    // The journal appears, and its process is killed, while the lock is held.
    fs::rename(&journal, &aside).unwrap();
    let owner = hold(&lock_file(&round.agent), Sharing::Exclusive);
    let manager = round.agent.manager();
    let changed = thread::scope(|scope| {
        let change = || manager.change_part("goal", |goal| goal["active"] = json!("Since"));
        let changed = scope.spawn(change);
        thread::sleep(Duration::from_millis(200));
        fs::rename(&aside, &journal).unwrap();
        drop(owner);
        changed.join().unwrap().unwrap()
    });
    assert!(changed.notices[0].contains("was interrupted, and was undone"), "{changed:?}");
    let goal = fs::read(round.agent.folder().join("goal.json")).unwrap();
    let goal: Value = serde_json::from_slice(&goal).unwrap();
    assert_eq!(goal["active"], "Since");
    let mut expected = round.before.clone();
    let mut found = round.agent.disk_state();
    assert!(expected.remove("goal").is_some() && found.remove("goal").is_some());
    assert_eq!(found, expected);
}
