//! Several processes on one store: the core passes, and a store that loses concurrent writes fails.

use herma_harness::History;
use herma_harness::generate::{self, Options};
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::runner::{FIRST_SECOND, Until};
use herma_harness::sandbox::{Sandbox, Scratch, git_alone};
use herma_harness::subject::{AdapterCommand, Call, CoreSubject, HookedDisk, Identity, Subject};
use herma_harness::trial::trial;
use herma_model::answer::{Changed, CheckpointOutcome, Listed};
use herma_model::world::hash_of;
use herma_model::{Answer, ByteString, Code, Request, Settings, rules};
use herma_tests::{assert_rules_held, built_binary};
use pretty_assertions::assert_eq;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The histories of these numbers in which several processes are used at the same time.
fn histories(numbers: std::ops::Range<u64>) -> impl Iterator<Item = History> {
    let options = Options { together: 1, processes: 3..=3, ..Options::default() };
    numbers.map(move |number| generate::generate_history(&options, 1, number))
}

#[test]
fn some_serial_order_explains_all_answers_of_concurrent_core_processes() {
    let program = built_binary("herma-conform");
    let start = AdapterCommand {
        supervisor: Some(vec![program.clone().into(), "supervised".into()]),
        ..AdapterCommand::bundled_core(Path::new(&program), None).unwrap()
    };
    let mut injections = 0;
    let mut checks = 0;
    for (number, history) in histories(0..6).enumerate() {
        let run = match number % 2 {
            0 => trial(
                &history,
                &start.opener(),
                &Scratch::in_default_directory(),
                Until::Disagreement,
            ),
            _ => trial(
                &history,
                &CoreSubject::boxed,
                &Scratch::in_default_directory(),
                Until::Disagreement,
            ),
        };
        let run = run.unwrap().run;
        assert!(run.divergences.is_empty(), "{number}: {:#?}", run.divergences);
        injections += run.injections;
        checks += run.checks[rules::CONCURRENT_SERIAL.id];
    }
    assert!(injections > 6 && checks > 6, "{injections} {checks}");
}

#[test]
fn concurrent_judges_its_rules_like_run() {
    let output = assert_rules_held(
        &["concurrent", "--seed", "1", "--histories", "2"],
        &[&rules::CONCURRENT_SERIAL, &rules::CONCURRENT_KEEPS],
    );
    let replay = "replay: herma-conform run --seed 1 --histories 2 --processes 4 ";
    assert!(output.contains(replay), "{output}");
}

/// A store that reads its list, waits, and writes the list back with one more entry. Entries that another
/// process adds in between are lost.
struct Hasty {
    store: PathBuf,
}

/// Longer than the delay between the starts of concurrent requests, on any machine.
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
        // Renamed into place, so that no process reads a partial list: the lost update is the only bug here.
        let staged = self.store.join(hash_of(reason.as_bytes()));
        fs::write(&staged, reasons.join("\n"))?;
        fs::rename(&staged, self.store.join(hash_of(dir)))?;
        let outcome = CheckpointOutcome::Created { id: id_of(dir, reason) };
        Ok(Answer::Taken { outcome, skipped: Vec::new() })
    }
}

/// The id of a checkpoint; no two checkpoints of a history have the same reason.
fn id_of(dir: &ByteString, reason: &str) -> String {
    hash_of(&[&dir[..], b"\n", reason.as_bytes()].concat()).repeat(2) + "00000000"
}

impl Subject for Hasty {
    fn identity(&self) -> Identity {
        Identity::new("hasty", "1")
    }

    fn capabilities(&self) -> Capabilities {
        let names = ["checkpoint", "list.reason", "project.any_directory", "test.injection"];
        names.into_iter().fold(Capabilities::none(), Capabilities::with)
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
                let listed = newest_first.map(|(index, reason)| Listed {
                    number: index + 1,
                    id: id_of(dir, &reason),
                    time: 0,
                    reason,
                    stats: None,
                });
                Answer::Listed(listed.collect())
            }
            request => refused(format!("{} is not asked of it", request.name())),
        }
    }
}

#[test]
fn trial_finds_a_lost_update_of_concurrent_checkpoints() {
    let request =
        |number: u32| format!("{{checkpoint: {{dir: work/alpha, reason: beside {number}}}}}");
    let text = format!(
        "plain_home: true\noperations:\n- write: {{path: work/alpha/a, content: one}}\n\
         - inject: {{call: end, what: {{together: 2}}, meanwhile: [{}, {}]}}\n\
         - checkpoint: {{dir: work/alpha, reason: own}}\n",
        request(1),
        request(2)
    );
    let history = herma_harness::history::file::from_yaml(&text, Path::new("here")).unwrap();
    let run = trial(&history, &Hasty::boxed, &Scratch::in_default_directory(), Until::Disagreement)
        .unwrap()
        .run;
    let [divergence] = &run.divergences[..] else { panic!("{:#?}", run.divergences) };
    assert_eq!(divergence.rule.id, rules::CONCURRENT_KEEPS.id, "{divergence:#?}");
    assert!(
        divergence.mismatch.tree.iter().any(|line| line.contains("checkpoint work/alpha: created"))
    );
    // Sequential requests lose nothing.
    let run = trial(
        &history.before_calls(),
        &Hasty::boxed,
        &Scratch::in_default_directory(),
        Until::Disagreement,
    )
    .unwrap()
    .run;
    assert!(run.divergences.is_empty(), "{:#?}", run.divergences);
}

/// The core in a sandbox, with an action that runs before one of its calls.
struct ConcurrentCore {
    sandbox: Sandbox,
    settings: Settings,
    pending: Arc<Mutex<PendingAction>>,
    subject: CoreSubject,
}

/// An action, and before which of the next counted calls it runs; `None`: before no call.
struct PendingAction {
    before: Option<usize>,
    act: Box<dyn FnMut() + Send>,
}

impl ConcurrentCore {
    fn new(max_snapshots: usize, counts: fn(Call, &Path) -> bool) -> Self {
        let history = History { plain_home: true, ..History::default() };
        let sandbox = Sandbox::new(&Scratch::in_default_directory(), &history).unwrap();
        let settings = Settings { max_snapshots, ..Settings::default() };
        let pending = Arc::new(Mutex::new(PendingAction { before: None, act: Box::new(|| {}) }));
        let hooked = Arc::clone(&pending);
        let disk = HookedDisk::new(move |call, path| {
            let mut pending = hooked.lock().unwrap();
            if let Some(before) = pending.before.filter(|_| counts(call, path)) {
                pending.before = before.checked_sub(1);
                if pending.before.is_none() {
                    (pending.act)();
                }
            }
            Ok(())
        });
        let environment = CoreSubject::environment_in(&sandbox);
        let disk = Arc::new(disk);
        let subject = CoreSubject::in_environment(disk, environment, &settings, FIRST_SECOND);
        ConcurrentCore { sandbox, settings, pending, subject }
    }

    /// Another process, which changes a file and takes a checkpoint at each call.
    fn checkpointer(&self) -> impl FnMut() + Send + use<> {
        let file = self.sandbox.root().join("work/alpha/file");
        let mut other_process = CoreSubject::new(&self.sandbox, &self.settings, FIRST_SECOND);
        let mut taken = 0;
        move || {
            taken += 1;
            std::fs::write(&file, format!("version {taken}\n")).unwrap();
            let dir = file.parent().unwrap().to_str().unwrap().into();
            let answer =
                other_process.ask(&Request::Checkpoint { dir, reason: format!("{taken}") });
            assert!(created(&Some(answer)).is_some());
        }
    }

    fn dir(&self) -> ByteString {
        self.sandbox.root().join("work/alpha").to_str().unwrap().into()
    }

    fn list(&mut self) -> Vec<String> {
        match self.subject.ask(&Request::List { dir: self.dir() }) {
            Answer::Listed(entries) => entries.into_iter().map(|entry| entry.id).collect(),
            answer => panic!("{answer:?}"),
        }
    }

    /// Runs `ask` with the action before the call of that number, and returns whether the action ran.
    fn with_action_before<R>(
        &mut self,
        before: usize,
        ask: impl FnOnce(&mut Self) -> R,
    ) -> (R, bool) {
        self.pending.lock().unwrap().before = Some(before);
        let result = ask(self);
        let has_run = self.pending.lock().unwrap().before.take().is_none();
        (result, has_run)
    }
}

/// The id of the created checkpoint.
fn created(answer: &Option<Answer>) -> Option<&String> {
    match answer {
        Some(Answer::Taken { outcome: CheckpointOutcome::Created { id }, .. }) => Some(id),
        _ => None,
    }
}

#[test]
fn list_during_a_checkpoint_returns_the_state_before_or_after_it() {
    let mut core = ConcurrentCore::new(3, |call, _| call == Call::Read);
    let mut take = core.checkpointer();
    (0..4).for_each(|_| take());
    core.pending.lock().unwrap().act = Box::new(take);
    for read in 0.. {
        let before = core.list();
        let (during, has_run) = core.with_action_before(read, ConcurrentCore::list);
        let after = core.list();
        assert!(
            [&before, &after].contains(&&during),
            "read {read}: {before:?} {during:?} {after:?}"
        );
        if !has_run {
            assert!(read > 3, "a list of 3 checkpoints takes more than {read} reads");
            break;
        }
    }
}

/// Git moves objects into a pack before it removes their files.
#[test]
fn checkpoint_while_git_repacks_the_store_loses_no_earlier_checkpoint() {
    let is_object_stat =
        |call, path: &Path| call == Call::Stat && path.to_string_lossy().contains("/objects/");
    let mut core = ConcurrentCore::new(1_000, is_object_stat);
    let mut take = core.checkpointer();
    take();
    let store = core.sandbox.store();
    core.pending.lock().unwrap().act = Box::new(move || {
        let mut git = git_alone();
        git.args(["-c", "core.sharedRepository=0600", "--git-dir"]).arg(&store);
        assert!(git.args(["repack", "-d", "--quiet"]).status().unwrap().success());
    });
    let file = core.sandbox.root().join("work/alpha/another");
    for call in 0..12 {
        // The objects that are looked up are loose until git packs them.
        take();
        let before = core.list();
        std::fs::write(&file, format!("call {call}\n")).unwrap();
        let request = Request::Checkpoint { dir: core.dir(), reason: format!("call {call}") };
        let (answer, has_run) =
            core.with_action_before(call, |core| Some(core.subject.ask(&request)));
        let Some(id) = created(&answer) else { panic!("call {call}: {answer:?}") };
        let after = core.list();
        assert_eq!((&after[0], &after[1..]), (id, &before[..]), "call {call}");
        assert!(has_run, "a checkpoint takes more than {call} looks at objects");
    }
}
