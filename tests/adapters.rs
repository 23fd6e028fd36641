//! How adapters are driven: each way to break the protocol has its own name and ends in time.

use herma_harness::bundled::{in_node, in_python};
use herma_harness::divergence::Kind;
use herma_harness::generate::{self, Options};
use herma_harness::history::Target;
use herma_harness::protocol::asked::asked_for;
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
use herma_harness::{History, Operation, run};
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
    mercy: Duration::from_millis(400),
};

/// Answers every line with success, as a shell script would.
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

/// What two requests and the end of the input come to.
fn ends(script: &str) -> Result<(), Fault> {
    let mut adapter = start(script);
    adapter.ask(&close())?;
    adapter.ask(&close())?;
    adapter.finish()
}

#[test]
fn every_broken_adapter_gets_its_own_name_within_its_limit() {
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
    for (name, what, script) in cases {
        let started = Instant::now();
        let fault = ends(script).expect_err(what);
        assert_eq!(fault.name(), name, "{what}: {fault}");
        assert!(started.elapsed() < Duration::from_secs(5), "{what}: {:?}", started.elapsed());
    }
}

#[test]
fn an_obedient_adapter_is_left_alone() {
    assert_eq!(ends(OBEDIENT), Ok(()));
}

#[test]
fn nothing_of_a_group_survives_its_adapter() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let script = format!("(sleep 1; : > '{}') &\n{OBEDIENT}", mark.display());
    drop(start(&script));
    std::thread::sleep(Duration::from_millis(1_500));
    assert!(!mark.exists());
}

#[test]
fn what_an_adapter_prints_to_stderr_is_kept_and_not_judged() {
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
fn a_command_that_is_not_there_is_said_not_to_start() {
    let command = [OsString::from("/nowhere/adapter")];
    let started = Adapter::start(&command, Path::new("/"), &[], LIMITS);
    assert_eq!(started.err().unwrap().name(), "not-started");
}

/// The stores that a skeleton can be asked for.
const STORES: [&str; 4] = ["copies", "git", "archive", "log"];

/// The skeleton of that language and store, as `adapter new` prints it.
fn skeleton(language: &str, store: &str) -> String {
    let printed = Command::new(herma_tests::built_binary("herma-conform"))
        .args(["adapter", "new", "--lang", language, "--for", store])
        .output()
        .unwrap();
    assert!(printed.status.success(), "{printed:?}");
    String::from_utf8(printed.stdout).unwrap()
}

/// How the skeletons of these stores are started, where this machine can.
fn skeletons(folder: &Path, stores: &[&str]) -> Vec<Vec<OsString>> {
    let mut commands = Vec::new();
    let languages = [("python", "py", in_python as fn(&Path) -> _), ("node", "mjs", in_node)];
    for (language, ending, started) in languages {
        for store in stores {
            let file = folder.join(format!("{store}.{ending}"));
            std::fs::write(&file, skeleton(language, store)).unwrap();
            match started(&file) {
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

/// How the skeleton in Rust is started.
fn in_rust() -> Vec<OsString> {
    vec![herma_tests::built_binary("examples/adapter-template").into_os_string()]
}

#[test]
fn every_skeleton_keeps_the_protocol() {
    let (limits, folder) = (Limits::default(), tempfile::tempdir().unwrap());
    let mut commands = skeletons(folder.path(), &STORES);
    commands.push(in_rust());
    for command in commands {
        let probed = check(&command, Path::new("/"), &Scratch::default_place(), limits).unwrap();
        assert_eq!(probed.len(), PROBES.len() + 2, "{command:?}");
        let is_fine = |one: &Probed| one.wrong.is_none() && one.hints.is_empty();
        assert!(probed.iter().all(is_fine), "{command:?}: {probed:#?}");
    }
}

#[test]
fn what_an_author_gets_wrong_is_said_with_what_to_change() {
    const CLAIMS: &str = "\"capabilities\": {\"checkpoint\": True}";
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("not run: no python3 on this machine");
        return;
    }
    let template = skeleton("python", "copies");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("adapter.py");
    let command = ["python3".into(), file.clone().into_os_string()];
    for (from, to, said) in [
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
        let probed = check(&command, Path::new("/"), &Scratch::default_place(), Limits::default());
        let probed = probed.unwrap();
        let all: Vec<&String> =
            probed.iter().flat_map(|one| one.wrong.iter().chain(&one.hints)).collect();
        assert!(all.len() == 1 && all[0].contains(said), "{said}: {probed:#?}");
    }
}

#[test]
fn a_skeleton_gets_the_same_verdicts_in_every_language() {
    let folder = tempfile::tempdir().unwrap();
    let mut commands = skeletons(folder.path(), &["copies"]);
    commands.push(in_rust());
    let plan = Plan { shrink_budget: 60, ..plan(5, 6) };
    let scratch = Scratch::default_place();
    // A copy of Python's keeps the time of modification, so that nothing shows that it was made.
    let shows = |rule: &rules::RuleRef| **rule != rules::RESTORE_UNTOUCHED;
    let verdicts = commands.into_iter().map(|command| {
        let start = AdapterCommand { command, directory: "/".into(), ..AdapterCommand::default() };
        let open = start.opener();
        let (_, capabilities) = introduce(&open, &scratch).unwrap();
        let findings = run_suite(&plan.within(&capabilities), &open, &scratch, &|_| {}).unwrap();
        let all: Vec<_> = rules::catalogue()
            .filter(shows)
            .map(|rule| (rule.id, findings.verdict(rule)))
            .collect();
        (findings.operations, all)
    });
    let verdicts: Vec<_> = verdicts.collect();
    assert!(verdicts.windows(2).all(|pair| pair[0] == pair[1]), "{verdicts:#?}");
    assert!(verdicts[0].1.contains(&("list/newest-first", Verdict::Held)), "{verdicts:#?}");
}

#[test]
fn every_skeleton_gets_a_verdict_without_being_changed() {
    let (folder, scratch) = (tempfile::tempdir().unwrap(), Scratch::default_place());
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
        let bytes = findings.verdict(&rules::RESTORE_BYTES);
        assert_eq!(bytes, Verdict::Held, "{command:?}: {:#?}", findings.failures);
    }
}

#[test]
fn a_skeleton_that_is_not_there_is_refused_in_words() {
    let refused = Command::new(herma_tests::built_binary("herma-conform"))
        .args(["adapter", "new", "--lang", "rust", "--for", "git"])
        .output()
        .unwrap();
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("Python and Node have one for each store"), "{said}");
}

#[test]
fn an_adapter_that_serves_nothing_fails_its_first_probe() {
    let command: Vec<OsString> = ["/bin/sh", "-c", OBEDIENT].map(OsString::from).to_vec();
    let probed = check(&command, Path::new("/"), &Scratch::default_place(), LIMITS).unwrap();
    assert_eq!(probed.len(), 1);
    assert!(probed[0].wrong.as_ref().unwrap().contains("no hello"), "{probed:?}");
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
fn the_core_behind_an_adapter_gets_the_verdicts_that_it_gets_in_process() {
    // Without its supervisor an adapter is asked nothing while something happens.
    let mut plan = plan(5, 40);
    plan.options.injections = 0;
    let program = herma_tests::built_binary("herma-conform");
    let scratch = Scratch::default_place().with_program(program);
    let start = serving(Limits::default());
    let open = start.opener();
    let outside = run_suite(&plan, &open, &scratch, &|_| {}).unwrap();
    let inside = run_suite(&plan, &CoreSubject::boxed, &scratch, &|_| {}).unwrap();
    assert!(outside.failures.is_empty(), "{:#?}", outside.failures);
    let counted = |found: Findings| (found.operations, herma_tests::without_sizes(found.checks));
    assert_eq!(counted(outside), counted(inside));
}

#[test]
fn one_process_serves_many_histories_and_a_failure_is_confirmed_in_fresh_ones() {
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    let core = herma_tests::built_binary("herma-conform");
    let script = format!("echo >> {started:?}; exec {core:?} adapter serve");
    let command = ["/bin/sh", "-c", &script].map(OsString::from).to_vec();
    let start = AdapterCommand { command, directory: "/".into(), ..AdapterCommand::default() };
    let list = vec![Operation::Ask(Request::List { dir: "work/alpha".into() })];
    let plain = History { operations: list, plain_home: true, ..History::default() };
    let scratch = Scratch::default_place();
    let processes = |history: &History, scratch: &Scratch| {
        let open = start.opener();
        for _ in 0..3 {
            assert!(run(history, &open, scratch).unwrap().divergences.is_empty());
        }
        drop(open);
        let lines = std::fs::read_to_string(&started).unwrap().lines().count();
        std::fs::remove_file(&started).unwrap();
        lines
    };
    assert_eq!(processes(&plain, &scratch), 1);
    assert_eq!(processes(&plain, &scratch.with_fresh_processes()), 3);
    // The environment of a process names the home in which it was started.
    assert_eq!(processes(&History { plain_home: false, ..plain }, &scratch), 3);
}

#[test]
fn what_an_adapter_remembers_of_another_store_is_never_a_verdict() {
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
    let findings = run_suite(&plan, &start.opener(), &Scratch::default_place(), &|_| {}).unwrap();
    assert_eq!(findings.failures.len(), 1, "{:#?}", findings.failures);
    assert!(findings.failures.values().all(|one| one.is_unstable()), "{:#?}", findings.failures);
    assert_eq!(findings.verdict(&rules::LIST_COMPLETE), Verdict::Unstable);
}

/// The rules that a store breaks, and whether each failure showed again, for the skeleton of a store in
/// git whose adapter has another line for the isolation of git.
fn broken_by_git(isolated: &str) -> (BTreeSet<&'static str>, Findings) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("adapter.py");
    let line = "\"GIT_CONFIG_GLOBAL\": os.devnull,";
    let template = skeleton("python", "git");
    assert_eq!(template.matches(line).count(), 1);
    std::fs::write(&file, template.replace(line, isolated)).unwrap();
    let command = in_python(&file).unwrap();
    let start = AdapterCommand { command, directory: "/".into(), ..AdapterCommand::default() };
    let (open, scratch) = (start.opener(), Scratch::default_place());
    let (_, capabilities) = introduce(&open, &scratch).unwrap();
    let plan = Plan { shrink_budget: 60, ..plan(1, 8) }.within(&capabilities);
    let findings = run_suite(&plan, &open, &scratch, &|_| {}).unwrap();
    let is_broken = |rule: &rules::RuleRef| findings.verdict(rule) == Verdict::Broken;
    (rules::catalogue().filter(is_broken).map(|rule| rule.id).collect(), findings)
}

#[test]
fn a_store_that_runs_the_users_hooks_is_told_all_that_is_wrong_with_it() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("not run: no python3 on this machine");
        return;
    }
    let (mut due, _) = broken_by_git("\"GIT_CONFIG_GLOBAL\": os.devnull,");
    assert!(due.len() > 2, "{due:?}");
    due.insert("isolation/user-config");
    let home = "\"HOME\": os.environ[\"HOME\"],";
    // Isolated where the store is made, so that a hook aborts the first checkpoint; and nowhere, so that
    // it aborts that already.
    let in_init = format!(
        "{home} **({{\"GIT_CONFIG_GLOBAL\": os.devnull}} if \"init\" in arguments else {{}}),"
    );
    for isolated in [&in_init[..], home] {
        let (broken, findings) = broken_by_git(isolated);
        assert_eq!(broken, due, "{isolated}: {:#?}", findings.failures);
        assert!(!findings.is_unstable(), "{isolated}: {:#?}", findings.failures);
    }
}

/// An adapter that says hello with these capabilities, and nothing else.
fn claiming(capabilities: &str) -> AdapterCommand {
    let script = format!(
        "read -r line; echo '{{\"id\":1,\"ok\":{{\"protocol\":1,\"impl\":{{\"name\":\"x\",\"version\":\
         \"1\"}},\"capabilities\":{capabilities}}}}}'; cat > /dev/null"
    );
    let command = ["/bin/sh", "-c", &script].map(OsString::from).to_vec();
    AdapterCommand { command, directory: "/".into(), limits: LIMITS, ..AdapterCommand::default() }
}

#[test]
fn an_unknown_claim_is_refused_with_the_nearest_one() {
    let start = claiming(r#"{"restore.exakt":true}"#);
    let open = start.opener();
    let operations = vec![Operation::Ask(Request::List { dir: "work/alpha".into() })];
    let history = History { operations, ..History::default() };
    let error = run(&history, &open, &Scratch::default_place()).unwrap_err().to_string();
    assert!(error.contains("did you mean `restore.exact`"), "{error}");
}

#[test]
fn what_is_not_claimed_is_neither_asked_nor_held() {
    let nothing = Capabilities::read(&BTreeMap::new(), &[]).unwrap();
    // Nobody comes back from a sub-agent that this world has not seen.
    let options = Options { agent: false, ..Options::default() };
    let history = generate::draw(&options, 5, 3);
    let scratch = Scratch::default_place();
    let sandbox = Sandbox::new(&scratch, &history).unwrap();
    let files = manifest::read(sandbox.root(), &sandbox.base(), None).unwrap().files;
    let settings = Settings::default();
    let world = World::new(files, sandbox.layout(), settings, nothing.names().collect(), 0);
    let asked: Vec<Operation> =
        history.operations.iter().flat_map(|one| asked_for(&nothing, one, &world)).collect();
    assert!(asked.len() < history.operations.len());
    assert!(!asked.iter().any(|one| matches!(
        one,
        Operation::Ask(Request::NewTurn)
            | Operation::Ask(Request::EnsureCheckpoint { .. })
            | Operation::Ask(Request::Diff { .. })
            | Operation::Ask(Request::RestoreFile { .. })
    )));
    let unbounded = nothing.restrict_settings(&history.settings);
    assert!(unbounded.enabled && unbounded.max_file_bytes == 0);
    assert!(unbounded.max_files > 1_000_000 && unbounded.max_snapshots > 1_000_000);
    assert_eq!(nothing.lacking(&rules::TURN_ONCE), Some("ensure_checkpoint"));
    assert_eq!(nothing.lacking(&rules::RESTORE_BYTES), None);
    let all = Capabilities::default();
    let asked: Vec<Operation> =
        history.operations.iter().flat_map(|one| asked_for(&all, one, &world)).collect();
    assert_eq!(asked, history.operations);
    let some = BTreeMap::from([("restore.exact".to_owned(), true.into())]);
    let some = Capabilities::read(&some, &[]).unwrap();
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
    assert_eq!(asked_for(&some, &numbered, &world), [by_id]);
    assert!(Capabilities::read(&BTreeMap::new(), &["a moon".into()]).is_err());
    let target = Target::Number(1);
    for dir in ["/", "//", "/nonexistent/herma"] {
        let (dir, target) = (dir.into(), target.clone());
        let restore = Operation::Ask(Request::Restore { dir, target, exact: true, force: true });
        assert_eq!(asked_for(&all, &restore, &world), [], "a restore outside the sandbox");
    }
    let findings = Findings { capabilities: nothing, ..Findings::default() };
    assert_eq!(findings.verdict(&rules::TURN_ONCE), Verdict::NotApplicable);
    assert_eq!(findings.verdict(&rules::RESTORE_BYTES), Verdict::NotExercised);
}

#[test]
fn a_subject_that_crashes_or_hangs_is_a_divergence_and_an_adapter_that_ends_is_none() {
    let hello = r#"{"id":1,"ok":{"protocol":1,"impl":{"name":"x","version":"1"},"#;
    let hello = format!(r#"{hello}"capabilities":{{"complete":true}}}}}}"#);
    let run_with = |then: &str| {
        let script = format!(
            "read -r l; echo '{hello}'; read -r l; echo '{{\"id\":2,\"ok\":{{}}}}'; read -r l; echo \
             '{{\"id\":3,\"ok\":{{}}}}'; read -r l; {then}"
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
        run(&History { operations, ..History::default() }, &open, &Scratch::default_place())
    };
    let mut run = run_with("kill -SEGV $$").unwrap();
    assert_eq!((run.depth.drawn, run.depth.judged, run.depth.not_reached), (3, 1, 2));
    let died = run.divergences.remove(0);
    assert_eq!(run.depth.ended_early, [(died.fingerprint().to_string(), 1)].into());
    assert_eq!(died.mismatch.kind, Kind::Crash);
    assert!(died.mismatch.found.contains("signal"), "{died:?}");
    let hung = run_with("sleep 60").unwrap().divergences.remove(0);
    assert_eq!(hung.mismatch.kind, Kind::Timeout);
    // Whoever ends an adapter, it was not what is behind it.
    for (then, name) in [
        ("echo noise; sleep 60", "noise"),
        ("exit 7", "exit status: 7"),
        ("kill -KILL $$", "exited"),
    ] {
        let error = run_with(then).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}
