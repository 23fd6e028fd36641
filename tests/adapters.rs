//! How the harness drives adapters: the same verdicts as in process, their processes, and their capabilities.

mod faults;
mod skeletons;

use herma_harness::divergence::Kind;
use herma_harness::generate::{self, Options};
use herma_harness::history::Target;
use herma_harness::protocol::asked::supported_operations;
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::protocol::process::Limits;
use herma_harness::sandbox::{Sandbox, Scratch, manifest};
use herma_harness::share::Share;
use herma_harness::shrink::BUDGET_DEFAULT;
use herma_harness::subject::{AdapterCommand, CoreSubject};
use herma_harness::suite::{Findings, Plan, Verdict, introduce, run_suite};
use herma_harness::{History, Operation, RunOptions, run};
use herma_model::{Request, Settings, World, rules};
use pretty_assertions::assert_eq;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

const LIMITS: Limits = Limits {
    // Long enough for a shell to start on a busy machine.
    reply: Duration::from_secs(1),
    end: Duration::from_secs(1),
    grace: Duration::from_millis(400),
};

/// A plan of generated histories alone.
pub fn plan(seed: u64, histories: u64) -> Plan {
    Plan {
        seeds: vec![seed],
        histories,
        options: Options::default(),
        kept: Vec::new(),
        cases: Vec::new(),
        jobs: 2,
        shrink_budget: BUDGET_DEFAULT,
        cases_of: None,
        preset: String::new(),
        time_budget: None,
        known: BTreeSet::new(),
        share: Share::default(),
    }
}

fn serving(limits: Limits) -> AdapterCommand {
    let command = [herma_tests::built_binary("herma-conform"), "adapter".into(), "serve".into()];
    AdapterCommand {
        command: command.map(Into::into).to_vec(),
        directory: "/".into(),
        limits,
        ..AdapterCommand::default()
    }
}

#[test]
fn the_core_behind_an_adapter_gets_the_same_verdicts_as_in_process() {
    // An adapter without a supervisor gets no requests during an injection.
    let mut plan = plan(5, 20);
    plan.options.injections = 0;
    let program = herma_tests::built_binary("herma-conform");
    let scratch = Scratch::in_default_directory().with_program(program);
    let start = serving(Limits::default());
    let open = start.opener();
    let outside = run_suite(&plan, &open, &scratch, &|_| {}).unwrap();
    let inside = run_suite(&plan, &CoreSubject::boxed, &scratch, &|_| {}).unwrap();
    assert!(outside.failures.is_empty(), "{:#?}", outside.failures);
    let counts =
        |findings: Findings| (findings.operations, herma_tests::without_sizes(findings.checks));
    assert_eq!(counts(outside), counts(inside));
}

#[test]
fn one_adapter_process_serves_many_histories_unless_with_fresh_processes() {
    let folder = tempfile::tempdir().unwrap();
    let start_log = folder.path().join("started");
    let core = herma_tests::built_binary("herma-conform");
    let script = format!("echo >> {start_log:?}; exec {core:?} adapter serve");
    let command = ["/bin/sh", "-c", &script].map(OsString::from).to_vec();
    let start = AdapterCommand { command, directory: "/".into(), ..AdapterCommand::default() };
    let list = vec![Operation::Ask(Request::List { dir: "work/alpha".into() })];
    let plain = History { operations: list, plain_home: true, ..History::default() };
    let scratch = Scratch::in_default_directory();
    let processes = |history: &History, scratch: &Scratch| {
        let open = start.opener();
        for _ in 0..3 {
            assert!(
                run(history, &open, scratch, RunOptions::default()).unwrap().divergences.is_empty()
            );
        }
        drop(open);
        let lines = std::fs::read_to_string(&start_log).unwrap().lines().count();
        std::fs::remove_file(&start_log).unwrap();
        lines
    };
    assert_eq!(processes(&plain, &scratch), 1);
    assert_eq!(processes(&plain, &scratch.with_fresh_processes()), 3);
    // The environment of a process names the home with which it was started.
    assert_eq!(processes(&History { plain_home: false, ..plain }, &scratch), 3);
}

// rule: capture/unreadable
#[test]
fn why_not_of_a_claimed_files_unreadable_says_that_root_reads_every_file() {
    let script = r#"while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
    *'"op":"hello"'*) ok='{"protocol":1,"impl":{"name":"x","version":"1"},"capabilities":{CLAIMS}}' ;;
    *) ok='{}' ;;
  esac
  printf '{"id":%s,"ok":%s}\n' "$id" "$ok"
done"#;
    let scratch = Scratch::in_default_directory();
    let sandbox = Sandbox::new(&scratch, &History::default()).unwrap();
    let is_root = std::fs::metadata(sandbox.root()).unwrap().uid() == 0;
    let root = is_root.then(|| "root reads every file: run as an ordinary user".to_owned());
    for (claims, expected) in [
        ("", Some("lacks `files.unreadable`".to_owned())),
        (r#""files.unreadable":true"#, root),
        (r#""files.unreadable":true,"user.ordinary":true"#, None),
    ] {
        let script = script.replace("CLAIMS", claims);
        let command = ["/bin/sh", "-c", &script].map(OsString::from).to_vec();
        let start = AdapterCommand { command, directory: "/".into(), ..AdapterCommand::default() };
        let (_, capabilities) = introduce(&start.opener(), &scratch).unwrap();
        assert_eq!(capabilities.why_not(&rules::CAPTURE_UNREADABLE), expected, "{claims}");
    }
}

#[test]
fn state_that_an_adapter_keeps_from_another_store_makes_a_rule_unstable() {
    let script = r#"n=0
say() { printf '{"id":%s,"ok":%s}\n' "$id" "$1"; }
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
    *'"op":"hello"'*) say '{"protocol":1,"impl":{"name":"x","version":"1"},"reusable":true}' ;;
    *'"op":"open"'*) n=$((n+1)); say '{}' ;;
    *'"op":"list"'*)
      if [ $n = 1 ]; then say '{"checkpoints":[]}'
      else say '{"checkpoints":[{"number":1,"id":"aaaa","time":0,"reason":""}]}'; fi ;;
    *) say '{}' ;;
  esac
done"#;
    let command = ["/bin/sh", "-c", script].map(OsString::from).to_vec();
    let start = AdapterCommand {
        command,
        directory: "/".into(),
        limits: LIMITS,
        ..AdapterCommand::default()
    };
    let list = vec![Operation::Ask(Request::List { dir: "work/alpha".into() })];
    let history = History { operations: list, plain_home: true, ..History::default() };
    let kept = ["first", "second"].map(|name| (name.to_owned(), history.clone())).to_vec();
    let plan = Plan { kept, jobs: 1, ..plan(1, 0) };
    let findings =
        run_suite(&plan, &start.opener(), &Scratch::in_default_directory(), &|_| {}).unwrap();
    assert_eq!(findings.failures.len(), 1, "{:#?}", findings.failures);
    assert!(
        findings.failures.values().all(|failure| failure.is_unstable()),
        "{:#?}",
        findings.failures
    );
    assert_eq!(findings.verdict(&rules::LIST_COMPLETE), Verdict::Unstable);
}

/// An adapter that answers only `hello`, with these capabilities.
fn claiming(capabilities: &str) -> AdapterCommand {
    let script = format!(
        "read -r line; echo '{{\"id\":1,\"ok\":{{\"protocol\":1,\"impl\":{{\"name\":\"x\",\"version\":\
         \"1\"}},\"capabilities\":{capabilities}}}}}'; cat > /dev/null"
    );
    let command = ["/bin/sh", "-c", &script].map(OsString::from).to_vec();
    AdapterCommand { command, directory: "/".into(), limits: LIMITS, ..AdapterCommand::default() }
}

#[test]
fn an_unknown_capability_is_refused_with_the_nearest_known_name() {
    let start = claiming(r#"{"restore.exakt":true}"#);
    let open = start.opener();
    let operations = vec![Operation::Ask(Request::List { dir: "work/alpha".into() })];
    let history = History { operations, ..History::default() };
    let error = run(&history, &open, &Scratch::in_default_directory(), RunOptions::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("did you mean `restore.exact`"), "{error}");
}

#[test]
fn asked_for_omits_requests_that_need_an_unclaimed_capability() {
    let none = Capabilities::read(&BTreeMap::new(), &[]).unwrap();
    // This world has no sub-agents, so no operation may return from one.
    let options = Options { agent: false, ..Options::default() };
    let history = generate::generate_history(&options, 5, 3);
    let scratch = Scratch::in_default_directory();
    let sandbox = Sandbox::new(&scratch, &history).unwrap();
    let files = manifest::read_all(&sandbox).unwrap().files;
    let settings = Settings::default();
    let world = World::new(files, sandbox.layout(), settings, none.names().collect(), 0);
    let asked: Vec<Operation> = history
        .operations
        .iter()
        .flat_map(|operation| supported_operations(&none, operation, &world))
        .collect();
    assert!(asked.len() < history.operations.len());
    assert!(!asked.iter().any(|operation| matches!(
        operation,
        Operation::Ask(Request::NewTurn)
            | Operation::Ask(Request::EnsureCheckpoint { .. })
            | Operation::Ask(Request::Diff { .. })
            | Operation::Ask(Request::RestoreFile { .. })
    )));
    let restricted = none.restrict_settings(&history.settings);
    assert!(restricted.enabled && restricted.max_file_bytes == 0);
    assert!(restricted.max_files > 1_000_000 && restricted.max_snapshots > 1_000_000);
    assert_eq!(none.lacking(&rules::TURN_ONCE), Some("ensure_checkpoint"));
    assert_eq!(none.lacking(&rules::RESTORE_BYTES), None);
    let full = Capabilities::default();
    let asked: Vec<Operation> = history
        .operations
        .iter()
        .flat_map(|operation| supported_operations(&full, operation, &world))
        .collect();
    assert_eq!(asked, history.operations);
    let claims = BTreeMap::from([("restore.exact".to_owned(), true.into())]);
    let exact_only = Capabilities::read(&claims, &[]).unwrap();
    let numbered = Operation::Ask(Request::Restore {
        dir: "./alpha".into(),
        target: Target::Number(2),
        exact: false,
        force: true,
    });
    let by_id = Operation::Ask(Request::Restore {
        dir: "work/alpha".into(),
        target: Target::Id { of: "work/alpha".into(), back: 1, digits: usize::MAX },
        exact: true,
        force: false,
    });
    assert_eq!(supported_operations(&exact_only, &numbered, &world), [by_id]);
    assert!(Capabilities::read(&BTreeMap::new(), &["a moon".into()]).is_err());
    let target = Target::Number(1);
    for dir in ["/", "//", "/nonexistent/herma"] {
        let dir = dir.into();
        let target = target.clone();
        let restore = Operation::Ask(Request::Restore { dir, target, exact: true, force: true });
        assert_eq!(
            supported_operations(&full, &restore, &world),
            [],
            "a restore outside the sandbox"
        );
    }
    let findings = Findings { capabilities: none, ..Findings::default() };
    assert_eq!(findings.verdict(&rules::TURN_ONCE), Verdict::NotApplicable);
    assert_eq!(findings.verdict(&rules::RESTORE_BYTES), Verdict::NotExercised);
}

#[test]
fn supported_operations_asks_only_for_the_refusals_that_are_claimed() {
    let sandbox = Sandbox::new(&Scratch::in_default_directory(), &History::default()).unwrap();
    let files = manifest::read_all(&sandbox).unwrap().files;
    let world = |capabilities: &Capabilities| {
        let claimed = capabilities.names().collect();
        World::new(files.clone(), sandbox.layout(), Settings::default(), claimed, 0)
    };
    let directories = ["/", "home", "home/.hermes", "home/.hermes/checkpoints", "work/alpha"];
    let asked = |refusals: &[&str]| -> Vec<&str> {
        let plain = ["checkpoint", "project.any_directory", "project.spellings"].into_iter();
        let claims = plain.chain(refusals.iter().copied());
        let capabilities = claims.fold(Capabilities::none(), Capabilities::with);
        let is_asked = |dir: &&str| {
            let reason = "r".to_owned();
            let checkpoint = Operation::Ask(Request::Checkpoint { dir: (*dir).into(), reason });
            !supported_operations(&capabilities, &checkpoint, &world(&capabilities)).is_empty()
        };
        directories.into_iter().filter(is_asked).collect()
    };
    assert_eq!(asked(&[]), ["work/alpha"]);
    assert_eq!(asked(&["scope.refuses_root"]), ["/", "work/alpha"]);
    assert_eq!(asked(&["scope.refuses_home"]), ["home", "work/alpha"]);
    let inside = ["home/.hermes", "home/.hermes/checkpoints", "work/alpha"];
    assert_eq!(asked(&["scope.refuses_store"]), inside);
    let all = ["scope.refuses_root", "scope.refuses_home", "scope.refuses_store"];
    assert_eq!(asked(&all), directories);
}

#[test]
fn a_subject_that_crashes_or_hangs_diverges_and_an_adapter_that_exits_is_an_error() {
    let hello = r#"{"id":1,"ok":{"protocol":1,"impl":{"name":"x","version":"1"},"#;
    let hello = format!(r#"{hello}"capabilities":{{"complete":true}}}}}}"#);
    let run_with = |ending: &str| {
        let script = format!(
            "read -r l; echo '{hello}'; read -r l; echo '{{\"id\":2,\"ok\":{{}}}}'; read -r l; echo \
             '{{\"id\":3,\"ok\":{{}}}}'; read -r l; {ending}"
        );
        let start = AdapterCommand {
            command: ["/bin/sh", "-c", &script].map(OsString::from).to_vec(),
            directory: "/".into(),
            limits: LIMITS,
            ..AdapterCommand::default()
        };
        let open = start.opener();
        let list = Operation::Ask(Request::List { dir: "work/alpha".into() });
        let operations = vec![list; 3];
        run(
            &History { operations, ..History::default() },
            &open,
            &Scratch::in_default_directory(),
            RunOptions::default(),
        )
    };
    let mut run = run_with("kill -SEGV $$").unwrap();
    assert_eq!((run.depth.drawn, run.depth.judged, run.depth.not_reached), (3, 1, 2));
    let crash = run.divergences.remove(0);
    assert_eq!(run.depth.ended_early, [(crash.fingerprint().to_string(), 1)].into());
    assert_eq!(crash.mismatch.kind, Kind::Crash);
    assert!(crash.mismatch.found.contains("signal"), "{crash:?}");
    let timeout = run_with("sleep 60").unwrap().divergences.remove(0);
    assert_eq!(timeout.mismatch.kind, Kind::Timeout);
    // An adapter that ends is an error of the adapter, whatever ended it, not a verdict on the subject behind it.
    for (ending, name) in [
        ("echo noise; sleep 60", "noise"),
        ("exit 7", "exit status: 7"),
        ("kill -KILL $$", "exited"),
    ] {
        let error = run_with(ending).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}
