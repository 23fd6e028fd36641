//! The concurrency lane as a person uses it: several processes of the core on one store, and of stores
//! that forget what another process does meanwhile.

use herma_harness::History;
use herma_harness::concurrent::Opened;
use herma_harness::concurrent::judge::judge;
use herma_harness::concurrent::naive::NAIVE;
use herma_harness::concurrent::record::Record;
use herma_harness::concurrent::report::{Failure, Figures};
use herma_harness::concurrent::{HASTY, Lane, Outcome, canary};
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::runner::FIRST_SECOND;
use herma_harness::sandbox::{Sandbox, Scratch, git_alone};
use herma_harness::subject::{AdapterCommand, Call, CoreSubject, HookedDisk, Identity, Subject};
use herma_model::answer::CheckpointOutcome;
use herma_model::{Answer, ByteString, Request, Settings};
use herma_tests::built_binary;
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
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
    let start = AdapterCommand { command, directory, ..AdapterCommand::default() };
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

/// The core in a sandbox, with what happens before one of its calls.
struct Beside {
    sandbox: Sandbox,
    settings: Settings,
    waiting: Arc<Mutex<Waiting>>,
    subject: CoreSubject,
}

/// What happens, and before which of the calls that count from now on; never where that is none.
struct Waiting {
    before: Option<usize>,
    act: Box<dyn FnMut() + Send>,
}

impl Beside {
    fn new(max_snapshots: usize, counts: fn(Call, &Path) -> bool) -> Self {
        let history = History { plain_home: true, ..History::default() };
        let sandbox = Sandbox::new(&Scratch::default_place(), &history).unwrap();
        let settings = Settings { max_snapshots, ..Settings::default() };
        let waiting = Arc::new(Mutex::new(Waiting { before: None, act: Box::new(|| {}) }));
        let hooked = Arc::clone(&waiting);
        let disk = HookedDisk::new(move |call, path| {
            let mut waiting = hooked.lock().unwrap();
            if let Some(before) = waiting.before.filter(|_| counts(call, path)) {
                waiting.before = before.checked_sub(1);
                if waiting.before.is_none() {
                    (waiting.act)();
                }
            }
            Ok(())
        });
        let environment = CoreSubject::environment_in(&sandbox);
        let disk = Arc::new(disk);
        let subject = CoreSubject::in_environment(disk, environment, &settings, FIRST_SECOND);
        Beside { sandbox, settings, waiting, subject }
    }

    /// Another process that takes a checkpoint of something new each time.
    fn taker(&self) -> impl FnMut() + Send + use<> {
        let file = self.sandbox.root().join("work/alpha/file");
        let mut other = CoreSubject::new(&self.sandbox, &self.settings, FIRST_SECOND);
        let mut taken = 0;
        move || {
            taken += 1;
            std::fs::write(&file, format!("version {taken}\n")).unwrap();
            let dir = file.parent().unwrap().to_str().unwrap().into();
            let answer = other.ask(&Request::Checkpoint { dir, reason: format!("{taken}") });
            assert!(created(&Some(answer)).is_some());
        }
    }

    fn dir(&self) -> ByteString {
        self.sandbox.root().join("work/alpha").to_str().unwrap().into()
    }

    fn list(&mut self) -> Vec<String> {
        match self.subject.ask(&Request::List { dir: self.dir() }) {
            Answer::Listed(all) => all.into_iter().map(|one| one.id).collect(),
            other => panic!("{other:?}"),
        }
    }

    /// Does something while it happens before the call of that number; false where there is none.
    fn while_it_happens<R>(
        &mut self,
        before: usize,
        ask: impl FnOnce(&mut Self) -> R,
    ) -> (R, bool) {
        self.waiting.lock().unwrap().before = Some(before);
        let asked = ask(self);
        let happened = self.waiting.lock().unwrap().before.take().is_none();
        (asked, happened)
    }
}

/// The id of the checkpoint that was taken.
fn created(answer: &Option<Answer>) -> Option<&String> {
    match answer {
        Some(Answer::Taken { outcome: CheckpointOutcome::Created { id }, .. }) => Some(id),
        _ => None,
    }
}

#[test]
fn a_list_beside_a_checkpoint_shows_what_was_before_it_or_what_is_after_it() {
    let mut beside = Beside::new(3, |call, _| call == Call::Read);
    let mut take = beside.taker();
    (0..4).for_each(|_| take());
    beside.waiting.lock().unwrap().act = Box::new(take);
    for read in 0.. {
        let before = beside.list();
        let (seen, happened) = beside.while_it_happens(read, Beside::list);
        let after = beside.list();
        assert!([&before, &after].contains(&&seen), "read {read}: {before:?} {seen:?} {after:?}");
        if !happened {
            assert!(read > 3, "a list of 3 checkpoints takes more than {read} reads");
            break;
        }
    }
}

/// Git moves objects into a pack before it removes their files.
#[test]
fn a_checkpoint_beside_git_that_packs_the_store_loses_none_of_those_before_it() {
    let of_an_object =
        |call, path: &Path| call == Call::Stat && path.to_string_lossy().contains("/objects/");
    let mut beside = Beside::new(1_000, of_an_object);
    let mut take = beside.taker();
    take();
    let store = beside.sandbox.store();
    beside.waiting.lock().unwrap().act = Box::new(move || {
        let mut git = git_alone();
        git.args(["-c", "core.sharedRepository=0600", "--git-dir"]).arg(&store);
        assert!(git.args(["repack", "-d", "--quiet"]).status().unwrap().success());
    });
    let file = beside.sandbox.root().join("work/alpha/another");
    for call in 0..12 {
        // What is looked for stands by itself until git packs it.
        take();
        let before = beside.list();
        std::fs::write(&file, format!("call {call}\n")).unwrap();
        let request = Request::Checkpoint { dir: beside.dir(), reason: format!("call {call}") };
        let (answer, happened) =
            beside.while_it_happens(call, |beside| Some(beside.subject.ask(&request)));
        let Some(id) = created(&answer) else { panic!("call {call}: {answer:?}") };
        let after = beside.list();
        assert_eq!((&after[0], &after[1..]), (id, &before[..]), "call {call}");
        assert!(happened, "a checkpoint takes more than {call} looks at objects");
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
fn two_projects_may_have_the_same_ids() {
    let mut record = core().swap_remove(0).record;
    let mut ids: BTreeMap<ByteString, Vec<String>> = BTreeMap::new();
    for call in record.rounds.iter().flat_map(|round| &round.calls) {
        let listed = match &call.answer {
            Some(Answer::Listed(listed)) => listed.iter().map(|one| one.id.clone()).collect(),
            answer => Vec::from_iter(created(answer).cloned()),
        };
        let own = ids.entry(call.request.dir().cloned().unwrap_or_default()).or_default();
        listed.into_iter().for_each(|id| {
            if !own.contains(&id) {
                own.push(id);
            }
        });
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("record.json");
    let mut text = record.text();
    for own in ids.values().filter(|own| !own.is_empty()) {
        for (number, id) in own.iter().enumerate() {
            text = text.replace(id, &format!("c{number:04}"));
        }
    }
    assert!(ids.values().filter(|own| own.len() > 1).count() == 2, "{ids:?}");
    std::fs::write(&file, text).unwrap();
    record = Record::read(&file).unwrap();
    let judgement = judge(&record);
    assert!(judgement.broken.is_empty(), "{:#?}", judgement.broken);
}

#[test]
fn an_answer_that_never_came_may_have_taken_effect_later_or_never() {
    let mut record = core().swap_remove(0).record;
    let all = record.rounds.iter_mut().flat_map(|round| &mut round.calls);
    let one = all.into_iter().find(|one| created(&one.answer).is_some()).unwrap();
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
