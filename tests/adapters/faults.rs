//! Faults of the protocol: each has its own name and ends within its time limit.

use super::LIMITS;
use herma_harness::protocol::check::check;
use herma_harness::protocol::fault::Fault;
use herma_harness::protocol::message::{Control, Message};
use herma_harness::protocol::process::Adapter;
use herma_harness::sandbox::Scratch;
use pretty_assertions::assert_eq;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

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

#[test]
fn adapter_check_stops_at_hello_for_an_adapter_without_a_handshake() {
    let command: Vec<OsString> = ["/bin/sh", "-c", OBEDIENT].map(OsString::from).to_vec();
    let probes = check(&command, Path::new("/"), &Scratch::in_default_directory(), LIMITS).unwrap();
    assert_eq!(probes.len(), 1);
    assert!(probes[0].wrong.as_ref().unwrap().contains("no hello"), "{probes:?}");
}
