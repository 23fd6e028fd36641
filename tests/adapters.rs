//! How the harness drives adapters: each protocol fault has its own name and ends within its time limit.

use herma_harness::bundled::{in_node, in_python};
use herma_harness::divergence::Kind;
use herma_harness::generate::{self, Options};
use herma_harness::history::Target;
use herma_harness::protocol::asked::supported_operations;
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::protocol::check::{Probed, check};
use herma_harness::protocol::fault::Fault;
use herma_harness::protocol::message::{Control, Message};
use herma_harness::protocol::probes::PROBES;
use herma_harness::protocol::process::{Adapter, Limits};
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
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const LIMITS: Limits = Limits {
    // Long enough for a shell to start on a busy machine.
    reply: Duration::from_secs(1),
    end: Duration::from_secs(1),
    grace: Duration::from_millis(400),
};

/// A shell script that answers every line with success.
const OBEDIENT: &str = r#"
answer() { id=${1#*\"id\":}; id=${id%%,*}; printf '{"id":%s,"ok":{}}\n' "$id"; }
while read -r line; do answer "$line"; done
"#;

fn start(script: &str) -> Adapter {
    let command: Vec<OsString> = ["/bin/sh", "-c", script].map(OsString::from).to_vec();
    let path = (OsString::from("PATH"), std::env::var_os("PATH").unwrap());
    Adapter::start(&command, Path::new("/"), &[path], LIMITS).unwrap()
}

fn close() -> Message {
    Message::Control(Control::Close)
}

/// Sends two requests, ends the input and returns the result.
fn run_two_requests(script: &str) -> Result<(), Fault> {
    let mut adapter = start(script);
    adapter.ask(&close())?;
    adapter.ask(&close())?;
    adapter.finish()
}

#[test]
fn each_adapter_fault_has_its_own_name_and_ends_within_its_time_limit() {
    let lingering = format!("{OBEDIENT}\nsleep 60");
    let parent = format!("sleep 60 &\n{OBEDIENT}");
    let stubborn = "trap '' TERM; while :; do sleep 60; done";
    let cases: [(&str, &str, &str); 14] = [
        ("silent", "says nothing", "cat > /dev/null"),
        ("silent", "says nothing and ignores being asked to end", stubborn),
        ("no-newline", "keeps the line open", r#"printf '{"id":1,"ok":{}}'; sleep 60"#),
        ("no-newline", "ends within a line", r#"printf '{"id":1,"ok":{}}'"#),
        ("noise", "prints a banner", "echo 'Initialized empty Git repository'; sleep 60"),
        ("not-a-reply", "prints other JSON", r#"echo '{"level":"info"}'; sleep 60"#),
        ("not-a-reply", "answers neither way", r#"echo '{"id":1}'; sleep 60"#),
        (
            "not-a-reply",
            "answers both ways",
            r#"echo '{"id":1,"ok":{},"err":{"code":"io"}}'; sleep 60"#,
        ),
        ("wrong-id", "answers another request", r#"echo '{"id":7,"ok":{}}'; sleep 60"#),
        (
            "two-answers",
            "answers twice",
            r#"echo '{"id":1,"ok":{}}'; echo '{"id":1,"ok":{}}'; sleep 60"#,
        ),
        ("endless-line", "never ends its line", r"yes x | tr -d '\n'"),
        ("exited", "ends in the middle", "read -r line; exit 3"),
        ("lingers", "does not end with its input", &lingering),
        ("leaves-a-child", "leaves a process that holds the pipe", &parent),
    ];
    for (name, description, script) in cases {
        let started = Instant::now();
        let fault = run_two_requests(script).expect_err(description);
        assert_eq!(fault.name(), name, "{description}: {fault}");
        assert!(
            started.elapsed() < Duration::from_secs(5),
            "{description}: {:?}",
            started.elapsed()
        );
    }
}

#[test]
fn an_obedient_adapter_causes_no_fault() {
    assert_eq!(run_two_requests(OBEDIENT), Ok(()));
}

#[test]
fn dropping_an_adapter_kills_its_process_group() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("mark");
    let script = format!("(sleep 1; : > '{}') &\n{OBEDIENT}", marker.display());
    drop(start(&script));
    std::thread::sleep(Duration::from_millis(1_500));
    assert!(!marker.exists());
}

#[test]
fn adapter_stderr_is_kept_and_causes_no_fault() {
    let mut adapter = start(&format!("echo 'a warning' >&2\n{OBEDIENT}"));
    adapter.ask(&close()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(2);
    while adapter.complaint().is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(adapter.complaint(), "a warning\n");
    assert_eq!(adapter.finish(), Ok(()));
}

#[test]
fn adapter_start_reports_a_missing_command_as_not_started() {
    let command = [OsString::from("/nowhere/adapter")];
    let started = Adapter::start(&command, Path::new("/"), &[], LIMITS);
    assert_eq!(started.err().unwrap().name(), "not-started");
}

/// The kinds of store for which `adapter new` prints a skeleton.
const STORES: [&str; 4] = ["copies", "git", "archive", "log"];

/// The skeleton that `adapter new` prints for a language and a kind of store.
fn skeleton(language: &str, store: &str) -> String {
    let output = Command::new(herma_tests::built_binary("herma-conform"))
        .args(["adapter", "new", "--lang", language, "--for", store])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The commands that start the skeletons of these stores, in the languages that this machine has.
fn skeletons(folder: &Path, stores: &[&str]) -> Vec<Vec<OsString>> {
    let mut commands = Vec::new();
    let languages = [("python", "py", in_python as fn(&Path) -> _), ("node", "mjs", in_node)];
    for (language, extension, command_for) in languages {
        for store in stores {
            let file = folder.join(format!("{store}.{extension}"));
            std::fs::write(&file, skeleton(language, store)).unwrap();
            match command_for(&file) {
                Ok(command) => commands.push(command),
                Err(error) => {
                    eprintln!("not run: {language} ({error})");
                    break;
                }
            }
        }
    }
    commands
}

/// The command that starts the Rust skeleton.
fn rust_skeleton() -> Vec<OsString> {
    vec![herma_tests::built_binary("examples/adapter-template").into_os_string()]
}

#[test]
fn every_adapter_skeleton_passes_adapter_check() {
    let limits = Limits::default();
    let folder = tempfile::tempdir().unwrap();
    let mut commands = skeletons(folder.path(), &STORES);
    commands.push(rust_skeleton());
    for command in commands {
        let probes =
            check(&command, Path::new("/"), &Scratch::in_default_directory(), limits).unwrap();
        assert_eq!(probes.len(), PROBES.len() + 2, "{command:?}");
        let passes = |probed: &Probed| probed.wrong.is_none() && probed.hints.is_empty();
        assert!(probes.iter().all(passes), "{command:?}: {probes:#?}");
    }
}

#[test]
fn adapter_check_names_each_mistake_of_an_author_and_its_fix() {
    const CLAIMS: &str = "\"capabilities\": {\"checkpoint\": True}";
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("not run: no python3 on this machine");
        return;
    }
    let template = skeleton("python", "copies");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("adapter.py");
    let command = ["python3".into(), file.clone().into_os_string()];
    for (from, to, expected) in [
        (CLAIMS, "\"capabilities\": {}", "it claims neither `checkpoint` nor `ensure_checkpoint`"),
        (CLAIMS, "\"capabilities\": {\"chekpoint\": True}", "`checkpoint`"),
        (
            CLAIMS,
            "\"capabilities\": {\"checkpoint\": True, \"prune\": True}",
            "it claims `prune` and answers `prune` with `unsupported`: serve it, or do not claim it",
        ),
        (
            "    \"close\": lambda",
            "    \"status\": lambda _: {\"projects\": []},\n    \"close\": lambda",
            "it answers `status` and does not claim `status`: claim it, so that its rules are judged",
        ),
        (
            "    STORE.restore(path(request[\"dir\"]), path(request[\"target\"]))",
            "    pass",
            "a.txt holds `two and more\\n` and not `one\\n`: write the files of the checkpoint",
        ),
        ("reverse=True", "reverse=False", "the list is oldest first: turn it round"),
        ("\"outcome\": \"created\", ", "", "a changed project gave {\"id\":\"c0000001\"}: answer"),
        (
            "{\"checkpoints\": [{",
            "{\"entries\": [{",
            "it needs `checkpoints`, a list, newest first",
        ),
    ] {
        assert_eq!(template.matches(from).count(), 1, "{from}");
        std::fs::write(&file, template.replace(from, to)).unwrap();
        let probes =
            check(&command, Path::new("/"), &Scratch::in_default_directory(), Limits::default());
        let probes = probes.unwrap();
        let messages: Vec<&String> =
            probes.iter().flat_map(|probed| probed.wrong.iter().chain(&probed.hints)).collect();
        assert!(messages.len() == 1 && messages[0].contains(expected), "{expected}: {probes:#?}");
    }
}

#[test]
fn adapter_skeletons_get_the_same_verdicts_in_every_language() {
    let folder = tempfile::tempdir().unwrap();
    let mut commands = skeletons(folder.path(), &["copies"]);
    commands.push(rust_skeleton());
    let plan = Plan { shrink_budget: 60, ..plan(5, 6) };
    let scratch = Scratch::in_default_directory();
    // Python's copy keeps the modification time, so that a rewrite of a file cannot be detected.
    let is_comparable = |rule: &rules::RuleRef| **rule != rules::RESTORE_UNTOUCHED;
    let verdicts = commands.into_iter().map(|command| {
        let start = AdapterCommand { command, directory: "/".into(), ..AdapterCommand::default() };
        let open = start.opener();
        let (_, capabilities) = introduce(&open, &scratch).unwrap();
        let findings = run_suite(&plan.within(&capabilities), &open, &scratch, &|_| {}).unwrap();
        let rule_verdicts: Vec<_> = rules::catalogue()
            .filter(is_comparable)
            .map(|rule| (rule.id, findings.verdict(rule)))
            .collect();
        (findings.operations, rule_verdicts)
    });
    let verdicts: Vec<_> = verdicts.collect();
    assert!(verdicts.windows(2).all(|pair| pair[0] == pair[1]), "{verdicts:#?}");
    assert!(verdicts[0].1.contains(&("list/newest-first", Verdict::Held)), "{verdicts:#?}");
}

#[test]
fn every_unchanged_adapter_skeleton_restores_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = Scratch::in_default_directory();
    for command in skeletons(folder.path(), &STORES) {
        let limits = Limits::default();
        let start = AdapterCommand {
            command: command.clone(),
            directory: "/".into(),
            limits,
            ..AdapterCommand::default()
        };
        let open = start.opener();
        let (_, capabilities) = introduce(&open, &scratch).unwrap();
        let plan = plan(1, 2).within(&capabilities);
        let findings = run_suite(&plan, &open, &scratch, &|_| {}).unwrap();
        let verdict = findings.verdict(&rules::RESTORE_BYTES);
        assert_eq!(verdict, Verdict::Held, "{command:?}: {:#?}", findings.failures);
    }
}

#[test]
fn adapter_new_refuses_a_skeleton_that_does_not_exist_and_lists_the_others() {
    let refused = Command::new(herma_tests::built_binary("herma-conform"))
        .args(["adapter", "new", "--lang", "rust", "--for", "git"])
        .output()
        .unwrap();
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0));
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert!(stderr.contains("Python and Node support every store"), "{stderr}");
}

#[test]
fn adapter_check_stops_at_hello_for_an_adapter_without_a_handshake() {
    let command: Vec<OsString> = ["/bin/sh", "-c", OBEDIENT].map(OsString::from).to_vec();
    let probes = check(&command, Path::new("/"), &Scratch::in_default_directory(), LIMITS).unwrap();
    assert_eq!(probes.len(), 1);
    assert!(probes[0].wrong.as_ref().unwrap().contains("no hello"), "{probes:?}");
}

fn plan(seed: u64, histories: u64) -> Plan {
    Plan {
        seeds: vec![seed],
        histories,
        options: Options::default(),
        kept: Vec::new(),
        cases: Vec::new(),
        jobs: 2,
        shrink_budget: BUDGET_DEFAULT,
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
    let mut plan = plan(5, 40);
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

/// Runs the Python skeleton for git with another line for the isolation of git, and returns the broken
/// rules and the findings.
fn broken_by_git(isolation: &str) -> (BTreeSet<&'static str>, Findings) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("adapter.py");
    let line = "\"GIT_CONFIG_GLOBAL\": os.devnull,";
    let template = skeleton("python", "git");
    assert_eq!(template.matches(line).count(), 1);
    std::fs::write(&file, template.replace(line, isolation)).unwrap();
    let command = in_python(&file).unwrap();
    let start = AdapterCommand { command, directory: "/".into(), ..AdapterCommand::default() };
    let open = start.opener();
    let scratch = Scratch::in_default_directory();
    let (_, capabilities) = introduce(&open, &scratch).unwrap();
    let plan = Plan { shrink_budget: 60, ..plan(1, 8) }.within(&capabilities);
    let findings = run_suite(&plan, &open, &scratch, &|_| {}).unwrap();
    let is_broken = |rule: &rules::RuleRef| findings.verdict(rule) == Verdict::Broken;
    (rules::catalogue().filter(is_broken).map(|rule| rule.id).collect(), findings)
}

#[test]
fn a_store_that_runs_the_users_git_hooks_still_gets_every_other_verdict() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("not run: no python3 on this machine");
        return;
    }
    let (mut expected, _) = broken_by_git("\"GIT_CONFIG_GLOBAL\": os.devnull,");
    assert!(expected.len() > 2, "{expected:?}");
    expected.insert("isolation/user-config");
    let home = "\"HOME\": os.environ[\"HOME\"],";
    // With isolation only in `git init`, a hook aborts the first checkpoint; without any, it already aborts
    // the creation of the store.
    let in_init = format!(
        "{home} **({{\"GIT_CONFIG_GLOBAL\": os.devnull}} if \"init\" in arguments else {{}}),"
    );
    for isolation in [&in_init[..], home] {
        let (broken, findings) = broken_by_git(isolation);
        assert_eq!(broken, expected, "{isolation}: {:#?}", findings.failures);
        assert!(!findings.is_unstable(), "{isolation}: {:#?}", findings.failures);
    }
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
    let files = manifest::read(sandbox.root(), &sandbox.base(), None).unwrap().files;
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
