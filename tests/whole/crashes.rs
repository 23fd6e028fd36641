//! A rollback of a whole agent at each of whose calls to the disk something goes wrong: one call fails,
//! or the machine dies. Afterwards everything is as the checkpoint has it, or as it was.

use super::agent::{Agent, Everything};
use herma_core::{Config, Error, RestoreOptions, Restored};
use herma_harness::subject::HookedDisk;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What happened since the checkpoint, in up to three steps.
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

pub struct Round {
    pub agent: Agent,
    at_checkpoint: Everything,
    pub before: Everything,
}

fn round(steps: &[usize]) -> Round {
    let agent = Agent::new();
    agent.take("good");
    let at_checkpoint = agent.everything();
    steps.iter().for_each(|step| STEPS[*step](&agent));
    let before = agent.everything();
    Round { agent, at_checkpoint, before }
}

impl Round {
    fn roll_back(&self, disk: impl Fn() -> HookedDisk) -> Result<Restored, Error> {
        let manager = self.agent.with(disk, Config::default());
        let options = RestoreOptions { exact: true, force: false };
        manager.restore(&self.agent.project(), b"1", options)
    }

    /// Where it is noted how a rollback is undone.
    pub fn notes(&self) -> PathBuf {
        self.agent.machine.base().join("store/undo")
    }

    /// The checkpoint, or what was before; the files of a rollback that was answered are the first.
    fn check(&self, answered: bool, what: &str) -> bool {
        let now = self.agent.everything();
        let is_done = now == self.at_checkpoint;
        assert!(is_done || now == self.before, "{what}: neither all nor nothing: {now:#?}");
        assert!(is_done || !answered, "{what}: answered as done");
        is_done
    }
}

/// All sequences of up to that many different steps, in their order.
fn histories(most: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for length in 0..most {
        let longer: Vec<Vec<usize>> = all
            .iter()
            .filter(|one: &&Vec<usize>| one.len() == length)
            .flat_map(|one| {
                let next = one.last().map_or(0, |last| last + 1);
                (next..STEPS.len()).map(move |step| [&one[..], &[step]].concat())
            })
            .collect();
        all.extend(longer);
    }
    all.retain(|one| !one.is_empty());
    all
}

/// A disk on which each call from that number on fails, or only that one.
fn failing(
    from: usize,
    is_dead: bool,
    kind: ErrorKind,
) -> (impl Fn() -> HookedDisk, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let disk = move || {
        let calls = Arc::clone(&counted);
        HookedDisk::new(move |_, _| {
            let number = calls.fetch_add(1, Ordering::Relaxed);
            match number == from || (is_dead && number > from) {
                true => Err(kind.into()),
                false => Ok(()),
            }
        })
    };
    (disk, calls)
}

/// Goes through all calls of a rollback after each history, and counts them.
fn at_every_call(most: usize, stride: usize, is_dead: bool, kind: ErrorKind) -> (usize, usize) {
    let (mut points, mut done) = (0, 0);
    for steps in histories(most) {
        for from in (0..).step_by(stride) {
            let round = round(&steps);
            let (disk, calls) = failing(from, is_dead, kind);
            let answered = round.roll_back(disk);
            let came = calls.load(Ordering::Relaxed) > from;
            if is_dead {
                // The agent starts again.
                round.agent.manager().recover().unwrap();
            }
            let what = format!("{steps:?}, call {from}");
            let is_done = round.check(answered.is_ok(), &what);
            // Who is told of an error does it again, or works on with what was there.
            assert!(is_dead || !is_done || answered.is_ok(), "{what}: done, and {answered:?}");
            done += usize::from(is_done);
            points += 1;
            if !came {
                break;
            }
        }
    }
    (points, done)
}

/// How long the histories are, and every which call is tried: few here, all of them by hand with
/// `HERMA_WHOLE=3,1`.
fn extent() -> (usize, usize) {
    let asked = std::env::var("HERMA_WHOLE").ok();
    let asked = asked.as_deref().and_then(|text| text.split_once(','));
    asked.map_or((1, 5), |(most, stride)| (most.parse().unwrap(), stride.parse().unwrap()))
}

// rule: agent/all-or-none
#[test]
fn a_machine_that_dies_at_any_call_leaves_everything_or_nothing() {
    let (most, stride) = extent();
    let (points, done) = at_every_call(most, stride, true, ErrorKind::Other);
    eprintln!("{points} places to die, {done} of them after the rollback was done");
    assert!(points > 100 && done > 0 && done < points);
}

// rule: agent/all-or-none
#[test]
fn a_call_that_fails_leaves_everything_or_nothing() {
    let (most, stride) = extent();
    let (points, done) = at_every_call(most, stride, false, ErrorKind::StorageFull);
    eprintln!("{points} calls that failed, {done} of them after the rollback was done");
    assert!(points > 100 && done > 0 && done < points);
}

/// A rollback after all of the steps that died half-way, with a note of how to undo it.
pub fn died(prepare: impl Fn(&Round)) -> Round {
    for from in (0..).step_by(7) {
        let round = round(&[0, 2, 4]);
        prepare(&round);
        let (disk, calls) = failing(from, true, ErrorKind::Other);
        let _ = round.roll_back(disk);
        assert!(
            calls.load(Ordering::Relaxed) > from,
            "it never died with a note of how to undo it"
        );
        let notes = fs::read_dir(round.notes());
        let is_noted = notes.is_ok_and(|notes| notes.count() == 1);
        if is_noted && round.agent.project().join("src/b.txt").exists() {
            return round;
        }
    }
    unreachable!("the calls of a rollback end")
}

// rule: agent/all-or-none
#[test]
fn a_rollback_that_died_is_undone_before_a_checkpoint_of_another_project() {
    let round = died(|_| ());
    let other = round.agent.project().with_file_name("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("a.txt"), "other\n").unwrap();
    let taken = round.agent.manager().checkpoint(&other, "other").unwrap();
    assert!(taken.notices[0].contains("was interrupted, and is undone"), "{taken:?}");
    assert_eq!(round.agent.everything(), round.before);
}

// rule: agent/all-or-none
#[test]
fn what_somebody_saved_after_a_rollback_died_stays_and_is_named_where_it_is_in_the_way() {
    let round = died(|_| ());
    // The one was changed before the rollback, the other was not there.
    let saved = ["a.txt", "src/b.txt"];
    saved.iter().for_each(|path| round.agent.machine.write(path, "saved since\n"));
    let said = round.agent.manager().recover().unwrap();
    assert!(said[0].contains("undone but for this: a.txt: "), "{said:?}");
    let mut expected = round.before.clone();
    let saved = saved.map(|path| (format!("project/{path}"), b"saved since\n".to_vec()));
    expected.extend(saved);
    assert_eq!(round.agent.everything(), expected);
}

// rule: agent/all-or-none
#[test]
fn a_project_that_was_gone_has_no_files_again_where_its_rollback_died() {
    let round = died(|round| fs::remove_dir_all(round.agent.project()).unwrap());
    round.agent.manager().recover().unwrap();
    let left: Vec<String> =
        round.agent.everything().into_keys().filter(|name| name.starts_with("project/")).collect();
    assert_eq!(left, Vec::<String>::new());
}

// rule: agent/all-or-none
#[test]
fn a_damaged_note_of_how_to_undo_a_rollback_is_said_to_be_lost_once() {
    let round = died(|_| ());
    let note = fs::read_dir(round.notes()).unwrap().next().unwrap().unwrap().path();
    fs::write(note, "{").unwrap();
    let said = round.agent.manager().recover().unwrap();
    assert!(said[0].contains("how to undo it is lost"), "{said:?}");
    assert_eq!(round.agent.manager().recover().unwrap(), Vec::<String>::new());
}
