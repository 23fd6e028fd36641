//! The concurrency lane as a person uses it: several processes of the core on one store, and of stores
//! that forget what another process does meanwhile.

use herma_harness::History;
use herma_harness::concurrent::judge::judge;
use herma_harness::concurrent::record::Record;
use herma_harness::concurrent::report::{Failure, Figures};
use herma_harness::concurrent::{HASTY, Lane, Outcome, canary};
use herma_harness::damage::Opened;
use herma_harness::faults::NAIVE;
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::protocol::process::Limits;
use herma_harness::runner::FIRST_SECOND;
use herma_harness::sandbox::{Sandbox, Scratch};
use herma_harness::subject::{AdapterCommand, Call, CoreSubject, HookedDisk, Identity, Subject};
use herma_model::answer::CheckpointOutcome;
use herma_model::{Answer, ByteString, Request, Settings};
use herma_tests::built_binary;
use pretty_assertions::assert_eq;
use std::ffi::OsString;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

fn conform(arguments: &[&str]) -> Output {
    Command::new(built_binary("herma-conform")).args(arguments).output().unwrap()
}

/// What comes of the first rounds of some stores of a subject of this program.
fn outcomes(bug: &[&str], capabilities: Capabilities, stores: u64, rounds: usize) -> Vec<Outcome> {
    let program: OsString = built_binary("herma-conform").into();
    let words = [&["adapter", "serve"], bug].concat().into_iter().map(OsString::from);
    let command = [program].into_iter().chain(words).collect();
    let directory = std::env::current_dir().unwrap();
    let start = AdapterCommand { command, directory, limits: Limits::default() };
    let opened = Opened { open: &start.opener(), subject: Identity::default(), capabilities };
    let lane = Lane { opened: &opened, start: &start, seed: 1, processes: 4, git_gc: false };
    let scratch = Scratch::default_place();
    (0..stores).map(|store| lane.run(store, rounds, &scratch).unwrap()).collect()
}

fn without(capabilities: &[&str]) -> Capabilities {
    capabilities.iter().fold(Capabilities::complete(), |all, one| all.without(one))
}

/// Not asked for sweeps: two that begin together are both made.
fn core() -> Vec<Outcome> {
    outcomes(&[], without(&["sweep", "status"]), 3, 4)
}

#[test]
fn some_order_explains_all_that_several_processes_of_the_core_answer() {
    let outcomes = core();
    let mut figures = Figures::default();
    for one in &outcomes {
        assert!(one.judgement.broken.is_empty(), "{:#?}", one.judgement.broken);
        assert_eq!((one.judgement.unknown, one.anyway), (None, 0));
        figures.add(one);
    }
    assert_eq!((figures.stores, figures.rounds), (3, 12));
    for asked in ["checkpoint", "list", "diff", "restore"] {
        assert!(figures.answers[asked] > 5, "{figures:?}");
    }
    // They did overlap.
    let calls = || outcomes.iter().flat_map(|one| &one.record.rounds).flat_map(|one| &one.calls);
    assert!(calls().any(|one| one.end.is_some_and(|end| end > one.begin + 2)));
}

/// One after the other, the oldest checkpoint goes at every read of a list.
#[test]
fn a_list_beside_a_checkpoint_shows_what_was_before_it_or_what_is_after_it() {
    let history = History { plain_home: true, ..History::default() };
    let sandbox = Sandbox::new(&Scratch::default_place(), &history).unwrap();
    let settings = Settings { max_snapshots: 3, ..Settings::default() };
    let file = sandbox.root().join("work/alpha/file");
    let dir: ByteString = file.parent().unwrap().to_str().unwrap().into();
    let mut other = CoreSubject::new(&sandbox, &settings, FIRST_SECOND);
    let (mut taken, take_dir) = (0, dir.clone());
    let mut take = move || {
        taken += 1;
        std::fs::write(&file, format!("version {taken}\n")).unwrap();
        let reason = format!("version {taken}");
        let answer = other.ask(&Request::Checkpoint { dir: take_dir.clone(), reason });
        assert!(matches!(
            &answer,
            Answer::Taken { outcome: CheckpointOutcome::Created { .. }, .. }
        ));
    };
    (0..4).for_each(|_| take());
    let waiting = Arc::new(Mutex::new((usize::MAX, take)));
    let hooked = Arc::clone(&waiting);
    let disk = HookedDisk::new(move |call, _| {
        let Ok(mut waiting) = hooked.try_lock() else { return Ok(()) };
        if call == Call::Read && waiting.0 < usize::MAX {
            waiting.0 = waiting.0.checked_sub(1).unwrap_or(usize::MAX);
            if waiting.0 == usize::MAX {
                (waiting.1)();
            }
        }
        Ok(())
    });
    let environment = CoreSubject::environment_in(&sandbox);
    let mut reader =
        CoreSubject::in_environment(Arc::new(disk), environment, &settings, FIRST_SECOND);
    let mut list = || match reader.ask(&Request::List { dir: dir.clone() }) {
        Answer::Listed(all) => all.into_iter().map(|one| one.id).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    for read in 0.. {
        let before = list();
        waiting.lock().unwrap().0 = read;
        let beside = list();
        let is_over = waiting.lock().unwrap().0 != usize::MAX;
        waiting.lock().unwrap().0 = usize::MAX;
        let after = list();
        assert!(
            [&before, &after].contains(&&beside),
            "read {read}: {before:?} {beside:?} {after:?}"
        );
        if is_over {
            assert!(read > 3, "a list of 3 checkpoints takes more than {read} reads");
            break;
        }
    }
}

#[test]
fn what_was_written_down_is_judged_again_and_a_checkpoint_that_is_forgotten_there_is_found() {
    let mut record = core().pop().unwrap().record;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("record.json");
    std::fs::write(&file, record.text()).unwrap();
    record = Record::read(&file).unwrap();
    assert!(judge(&record).broken.is_empty());
    // The newest is missing in the last list of a round.
    let list =
        |answer: &Option<Answer>| matches!(answer, Some(Answer::Listed(all)) if all.len() > 1);
    let calls = &mut record.rounds[1].calls;
    let last = calls.iter().position(|one| one.process.is_none() && list(&one.answer)).unwrap();
    if let Some(Answer::Listed(listed)) = &mut calls[last].answer {
        listed.remove(0);
        listed.iter_mut().for_each(|one| one.number -= 1);
    }
    std::fs::write(&file, record.text()).unwrap();
    let output = conform(&["concurrent", "--judge", file.to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    for part in ["concurrent/keeps", "alone: list", "round 2 of store 2", "too few"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn an_answer_that_never_came_may_have_taken_effect_later_or_never() {
    let mut record = core().swap_remove(0).record;
    let created = |answer: &Option<Answer>| {
        let taken = |one: &CheckpointOutcome| matches!(one, CheckpointOutcome::Created { .. });
        matches!(answer, Some(Answer::Taken { outcome, .. }) if taken(outcome))
    };
    let all = record.rounds.iter_mut().flat_map(|round| &mut round.calls);
    let one = all.into_iter().find(|one| created(&one.answer)).unwrap();
    // It is listed all the same, and what is the same content is unchanged.
    (one.answer, one.end) = (None, None);
    let judgement = judge(&record);
    assert!(judgement.broken.is_empty(), "{:#?}", judgement.broken);
    // One that nobody asked for is not explained by that.
    let calls = record.rounds.iter_mut().flat_map(|round| &mut round.calls);
    let asked = calls.into_iter().find(|one| one.answer.is_none()).unwrap();
    if let Request::Checkpoint { reason, .. } = &mut asked.request {
        *reason = "another one".into();
    }
    assert!(!judge(&record).broken.is_empty());
}

#[test]
fn a_store_that_writes_back_what_it_read_is_the_canary_and_found() {
    let program: OsString = built_binary("herma-conform").into();
    assert!(canary(&program, &Scratch::default_place()).unwrap());
    let capabilities = ["checkpoint", "list.reason"];
    let capabilities = capabilities.into_iter().fold(Capabilities::none(), Capabilities::with);
    let outcomes = outcomes(&["--bug", HASTY], capabilities, 1, 2);
    let failures = Failure::of_each_sort(outcomes.iter());
    let keeps = failures.iter().find(|one| one.rule == "concurrent/keeps").unwrap();
    assert_eq!(keeps.sort.request, "list");
    let text = keeps.text();
    for part in ["concurrent/keeps: A checkpoint that was reported", "  order:     1. ", "  due:"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn plain_git_with_nothing_around_it_is_found() {
    let capabilities = ["checkpoint", "layout", "test.clock", "test.store"];
    let capabilities = capabilities.into_iter().fold(Capabilities::none(), Capabilities::with);
    let outcomes = outcomes(&["--bug", NAIVE], capabilities, 2, 3);
    assert!(outcomes.iter().any(|one| !one.judgement.broken.is_empty()), "{outcomes:#?}");
}
