//! Crashes of a restore of agent state: at each call to the disk, the call fails or the process is killed.
//! Afterwards everything is as in the checkpoint, or as before the restore.

use super::agent::{Agent, DiskState};
use herma_core::{Config, Error, RestoreOptions, Restored};
use herma_harness::subject::HookedDisk;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The possible changes after the checkpoint.
const STEPS: [fn(&Agent); 6] = [
    |agent| agent.machine.write("a.txt", "changed\n"),
    |agent| agent.machine.write("new.txt", "new\n"),
    |agent| agent.set("goal", r#"{"active": "Something else", "progress": 0.5}"#),
    |agent| agent.set("memory", r#"{"head": "mem_2"}"#),
    |agent| {
        fs::remove_file(agent.project().join("src/b.txt")).unwrap();
        agent.unset("kanban");
    },
    |agent| {
        fs::remove_file(agent.project().join("a.txt")).unwrap();
        fs::create_dir(agent.project().join("a.txt")).unwrap();
        agent.machine.write("a.txt/inner", "in the place of a file\n");
    },
];

/// An agent with changes after a checkpoint, and its state at the checkpoint and before the restore.
pub struct Round {
    pub agent: Agent,
    at_checkpoint: DiskState,
    pub before: DiskState,
}

fn round(steps: &[usize]) -> Round {
    let agent = Agent::new();
    agent.take("good");
    let at_checkpoint = agent.disk_state();
    steps.iter().for_each(|step| STEPS[*step](&agent));
    let before = agent.disk_state();
    Round { agent, at_checkpoint, before }
}

impl Round {
    fn restore(&self, disk: impl Fn() -> HookedDisk) -> Result<Restored, Error> {
        let manager = self.agent.manager_with(disk, Config::default());
        let options = RestoreOptions { exact: true, force: false };
        manager.restore(&self.agent.project(), b"1", options)
    }

    /// The folder of the journals of restores.
    pub fn journals(&self) -> PathBuf {
        self.agent.machine.base().join("store/undo")
    }

    /// Asserts that the state is that of the checkpoint, which it must be after a success, or that before the
    /// restore. Returns whether it is that of the checkpoint.
    fn check(&self, is_success: bool, context: &str) -> bool {
        let state = self.agent.disk_state();
        let is_done = state == self.at_checkpoint;
        assert!(is_done || state == self.before, "{context}: neither all nor nothing: {state:#?}");
        assert!(is_done || !is_success, "{context}: answered as done");
        is_done
    }
}

/// All ascending sequences of up to that many steps.
fn histories(max_length: usize) -> Vec<Vec<usize>> {
    let mut histories = vec![Vec::new()];
    for length in 0..max_length {
        let longer: Vec<Vec<usize>> = histories
            .iter()
            .filter(|history: &&Vec<usize>| history.len() == length)
            .flat_map(|history| {
                let next = history.last().map_or(0, |last| last + 1);
                (next..STEPS.len()).map(move |step| [&history[..], &[step]].concat())
            })
            .collect();
        histories.extend(longer);
    }
    histories.retain(|history| !history.is_empty());
    histories
}

/// A disk on which the call of that number fails, and all later calls too if the process is killed. Also returns
/// the number of calls.
fn failing_disk(
    first: usize,
    is_killed: bool,
    kind: ErrorKind,
) -> (impl Fn() -> HookedDisk, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let disk = move || {
        let calls = Arc::clone(&counted);
        HookedDisk::new(move |_, _| {
            let number = calls.fetch_add(1, Ordering::Relaxed);
            match number == first || (is_killed && number > first) {
                true => Err(kind.into()),
                false => Ok(()),
            }
        })
    };
    (disk, calls)
}

/// Restores after each history with a failure at every `stride`th call; returns the number of failures, and of
/// those after which the restore was done.
fn at_every_call(
    max_length: usize,
    stride: usize,
    is_killed: bool,
    kind: ErrorKind,
) -> (usize, usize) {
    let mut points = 0;
    let mut done = 0;
    for steps in histories(max_length) {
        for call in (0..).step_by(stride) {
            let round = round(&steps);
            let (disk, calls) = failing_disk(call, is_killed, kind);
            let result = round.restore(disk);
            let was_reached = calls.load(Ordering::Relaxed) > call;
            if is_killed {
                // The agent starts again.
                round.agent.manager().recover().unwrap();
            }
            let context = format!("{steps:?}, call {call}");
            let is_done = round.check(result.is_ok(), &context);
            // After an error, the caller retries or continues with the state before the restore.
            assert!(is_killed || !is_done || result.is_ok(), "{context}: done, and {result:?}");
            done += usize::from(is_done);
            points += 1;
            if !was_reached {
                break;
            }
        }
    }
    (points, done)
}

/// The maximal length of the histories and the stride of the calls. The default tries few calls;
/// `HERMA_WHOLE=3,1`, set manually, tries all of them.
fn extent() -> (usize, usize) {
    let setting = std::env::var("HERMA_WHOLE").ok();
    let setting = setting.as_deref().and_then(|text| text.split_once(','));
    setting.map_or((1, 5), |(max_length, stride)| {
        (max_length.parse().unwrap(), stride.parse().unwrap())
    })
}

// rule: agent/all-or-none
#[test]
fn a_restore_killed_at_any_call_leaves_everything_or_nothing() {
    let (max_length, stride) = extent();
    let (points, done) = at_every_call(max_length, stride, true, ErrorKind::Other);
    eprintln!("{points} places to die, {done} of them after the rollback was done");
    assert!(points > 100 && done > 0 && done < points);
}

// rule: agent/all-or-none
#[test]
fn a_restore_with_a_failing_call_leaves_everything_or_nothing() {
    let (max_length, stride) = extent();
    let (points, done) = at_every_call(max_length, stride, false, ErrorKind::StorageFull);
    eprintln!("{points} calls that failed, {done} of them after the rollback was done");
    assert!(points > 100 && done > 0 && done < points);
}

/// A restore of several changes that was killed half-way, and whose journal exists.
pub fn killed_restore(prepare: impl Fn(&Round)) -> Round {
    for first in (0..).step_by(7) {
        let round = round(&[0, 2, 4]);
        prepare(&round);
        let (disk, calls) = failing_disk(first, true, ErrorKind::Other);
        let _ = round.restore(disk);
        assert!(
            calls.load(Ordering::Relaxed) > first,
            "it never died with a note of how to undo it"
        );
        let journals = fs::read_dir(round.journals());
        let has_journal = journals.is_ok_and(|entries| entries.count() == 1);
        if has_journal && round.agent.project().join("src/b.txt").exists() {
            return round;
        }
    }
    unreachable!("the calls of a rollback end")
}

// rule: agent/all-or-none
#[test]
fn a_killed_restore_is_undone_before_a_checkpoint_of_another_project() {
    let round = killed_restore(|_| ());
    let project = round.agent.project().with_file_name("other");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("a.txt"), "other\n").unwrap();
    let taken = round.agent.manager().checkpoint(&project, "other").unwrap();
    assert!(taken.notices[0].contains("was interrupted, and was undone"), "{taken:?}");
    assert_eq!(round.agent.disk_state(), round.before);
}

// rule: agent/all-or-none
#[test]
fn recover_keeps_and_names_files_that_were_saved_after_a_killed_restore() {
    let round = killed_restore(|_| ());
    // The first file was changed before the restore, the second did not exist.
    let saved = ["a.txt", "src/b.txt"];
    saved.iter().for_each(|path| round.agent.machine.write(path, "saved since\n"));
    let notices = round.agent.manager().recover().unwrap();
    assert!(notices[0].contains("undone except for this: a.txt: "), "{notices:?}");
    let mut expected = round.before.clone();
    let saved = saved.map(|path| (format!("project/{path}"), b"saved since\n".to_vec()));
    expected.extend(saved);
    assert_eq!(round.agent.disk_state(), expected);
}

// rule: agent/all-or-none
#[test]
fn recover_leaves_no_files_in_a_project_that_did_not_exist_before_the_restore() {
    let round = killed_restore(|round| fs::remove_dir_all(round.agent.project()).unwrap());
    round.agent.manager().recover().unwrap();
    let left: Vec<String> =
        round.agent.disk_state().into_keys().filter(|name| name.starts_with("project/")).collect();
    assert_eq!(left, Vec::<String>::new());
}

// rule: agent/all-or-none
#[test]
fn recover_reports_a_damaged_journal_once() {
    let round = killed_restore(|_| ());
    let journal = fs::read_dir(round.journals()).unwrap().next().unwrap().unwrap().path();
    fs::write(journal, "{").unwrap();
    let notices = round.agent.manager().recover().unwrap();
    assert!(notices[0].contains("its journal is damaged"), "{notices:?}");
    assert_eq!(round.agent.manager().recover().unwrap(), Vec::<String>::new());
}

// rule: agent/all-or-none
#[test]
fn recover_undoes_nothing_in_a_directory_that_is_not_the_journals_project() {
    let round = killed_restore(|_| ());
    let journal = fs::read_dir(round.journals()).unwrap().next().unwrap().unwrap().path();
    let other = tempfile::tempdir().unwrap();
    let mut record: serde_json::Value =
        serde_json::from_slice(&fs::read(&journal).unwrap()).unwrap();
    record["directory"] = other.path().as_os_str().as_encoded_bytes().into();
    fs::write(journal, record.to_string()).unwrap();
    let notices = round.agent.manager().recover().unwrap();
    assert!(notices[0].contains("its journal is damaged"), "{notices:?}");
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0);
}
