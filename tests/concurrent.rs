//! Several processes on one store: of the core, and of a store that forgets what another process does
//! meanwhile.

use herma_harness::History;
use herma_harness::generate::{self, Options};
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::runner::FIRST_SECOND;
use herma_harness::sandbox::{Sandbox, Scratch, git_alone};
use herma_harness::subject::{AdapterCommand, Call, CoreSubject, HookedDisk, Identity, Subject};
use herma_harness::trial::trial;
use herma_model::answer::{Changed, CheckpointOutcome, Listed};
use herma_model::world::hash_of;
use herma_model::{Answer, ByteString, Code, Request, Settings, rules};
use herma_tests::{built_binary, holds};
use pretty_assertions::assert_eq;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The histories of these numbers that ask several processes at the same time.
fn histories(numbers: std::ops::Range<u64>) -> impl Iterator<Item = History> {
    let options = Options { together: 1, processes: 3..=3, ..Options::default() };
    numbers.map(move |number| generate::draw(&options, 1, number))
}

#[test]
fn some_order_explains_all_that_several_processes_of_the_core_answer() {
    let program = built_binary("herma-conform");
    let start = AdapterCommand {
        supervisor: Some(vec![program.clone().into(), "supervised".into()]),
        ..AdapterCommand::of_this_suite(Path::new(&program), None).unwrap()
    };
    let (mut met, mut checks) = (0, 0);
    for (number, history) in histories(0..6).enumerate() {
        let run = match number % 2 {
            0 => trial(&history, &start.opener(), &Scratch::default_place()),
            _ => trial(&history, &CoreSubject::boxed, &Scratch::default_place()),
        };
        let run = run.unwrap().run;
        assert!(run.divergences.is_empty(), "{number}: {:#?}", run.divergences);
        met += run.injections;
        checks += run.checks[rules::CONCURRENT_SERIAL.id];
    }
    assert!(met > 6 && checks > 6, "{met} {checks}");
}

#[test]
fn concurrent_judges_its_rules_as_run_does() {
    let said = holds(
        &["concurrent", "--seed", "1", "--histories", "2"],
        &[&rules::CONCURRENT_SERIAL, &rules::CONCURRENT_KEEPS],
    );
    let replay = "replay: herma-conform run --seed 1 --histories 2 --processes 4 ";
    assert!(said.contains(replay), "{said}");
}

/// A store that reads its list, takes its time, and writes the list back with one more. Who does the same
/// meanwhile is forgotten.
struct Hasty {
    store: PathBuf,
}

/// Longer than processes that are asked together begin apart, on any machine.
const HESITATION: Duration = Duration::from_millis(150);

impl Hasty {
    fn boxed(sandbox: &Sandbox, _: &Settings, _: i64) -> Box<dyn Subject> {
        Box::new(Hasty { store: sandbox.store() })
    }

    /// The reasons of all checkpoints of a project, oldest first.
    fn reasons(&self, dir: &ByteString) -> Vec<String> {
        let text = fs::read_to_string(self.store.join(hash_of(dir))).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn take(&self, dir: &ByteString, reason: &str) -> io::Result<Answer> {
        let mut reasons = self.reasons(dir);
        thread::sleep(HESITATION);
        reasons.push(reason.to_owned());
        fs::create_dir_all(&self.store)?;
        // Moved there, so that nobody reads half of it: what is wrong here is the haste alone.
        let fresh = self.store.join(hash_of(reason.as_bytes()));
        fs::write(&fresh, reasons.join("\n"))?;
        fs::rename(&fresh, self.store.join(hash_of(dir)))?;
        let outcome = CheckpointOutcome::Created { id: id_of(dir, reason) };
        Ok(Answer::Taken { outcome, skipped: Vec::new() })
    }
}

/// No two checkpoints of a history have the same reason.
fn id_of(dir: &ByteString, reason: &str) -> String {
    hash_of(&[&dir[..], b"\n", reason.as_bytes()].concat()).repeat(2) + "00000000"
}

impl Subject for Hasty {
    fn identity(&self) -> Identity {
        Identity::new("hasty", "1")
    }

    fn capabilities(&self) -> Capabilities {
        let able = ["checkpoint", "list.reason", "project.any_directory", "test.injection"];
        able.into_iter().fold(Capabilities::none(), Capabilities::with)
    }

    fn ask(&mut self, request: &Request) -> Answer {
        let refused =
            |message| Answer::Refused { code: Code::Internal, message, changed: Changed::Unknown };
        match request {
            Request::SetClock { .. } | Request::NewTurn => Answer::Done,
            Request::Checkpoint { dir, reason } => {
                self.take(dir, reason).unwrap_or_else(|error| refused(error.to_string()))
            }
            Request::List { dir } => {
                let newest_first = self.reasons(dir).into_iter().rev().enumerate();
                let listed = newest_first.map(|(at, reason)| Listed {
                    number: at + 1,
                    id: id_of(dir, &reason),
                    time: 0,
                    reason,
                    stats: None,
                });
                Answer::Listed(listed.collect())
            }
            other => refused(format!("{} is not asked of it", other.name())),
        }
    }
}

#[test]
fn a_store_that_writes_back_what_it_read_is_found() {
    let ask = |number: u32| format!("{{checkpoint: {{dir: work/alpha, reason: beside {number}}}}}");
    let text = format!(
        "plain_home: true\noperations:\n- write: {{path: work/alpha/a, content: one}}\n\
         - inject: {{call: end, what: {{together: 2}}, meanwhile: [{}, {}]}}\n\
         - checkpoint: {{dir: work/alpha, reason: own}}\n",
        ask(1),
        ask(2)
    );
    let history = herma_harness::history::file::from_yaml(&text, Path::new("here")).unwrap();
    let run = trial(&history, &Hasty::boxed, &Scratch::default_place()).unwrap().run;
    let [found] = &run.divergences[..] else { panic!("{:#?}", run.divergences) };
    assert_eq!(found.rule.id, rules::CONCURRENT_KEEPS.id, "{found:#?}");
    assert!(found.mismatch.tree.iter().any(|line| line.contains("checkpoint work/alpha: created")));
    // One after the other they forget nothing.
    let run = trial(&history.before_calls(), &Hasty::boxed, &Scratch::default_place()).unwrap().run;
    assert!(run.divergences.is_empty(), "{:#?}", run.divergences);
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
