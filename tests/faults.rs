//! The fault lane as a person uses it: what is killed, or fails, at a call of a process that nobody
//! here wrote; who loses something is found, and who does not is not.

use herma_harness::damage::Opened;
use herma_harness::damage::judge::Rule;
use herma_harness::faults::fault::{Calls, Fault};
use herma_harness::faults::report::{Extent, Report};
use herma_harness::faults::{Chosen, Lane, NAIVE, Outcome, Story, naive};
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::sandbox::Scratch;
use herma_harness::subject::{AdapterCommand, Identity};
use herma_tests::built_binary;
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

fn conform(arguments: &[&str]) -> Output {
    Command::new(built_binary("herma-conform")).args(arguments).output().unwrap()
}

/// Whether this system lets a process tell of another's calls; where it does not, the lane says that
/// it was not run, and so do these tests.
pub fn can_supervise() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let points = folder.path().join("points");
    let (points, folder) = (points.to_str().unwrap(), folder.path().to_str().unwrap());
    let output = conform(&["supervised", "--below", folder, "--points", points, "--", "true"]);
    let said = String::from_utf8(output.stderr).unwrap();
    if said.contains("cannot be supervised") {
        eprintln!("not run: {said}");
        let lane = conform(&["faults", "--operation", "take"]);
        assert_eq!(lane.status.code(), Some(4), "{lane:?}");
        return false;
    }
    assert!(output.status.success(), "{said}");
    true
}

/// How this program's own subjects are started, and the command that supervises them.
pub fn started(bug: &[&str]) -> (AdapterCommand, [OsString; 2]) {
    let program: OsString = built_binary("herma-conform").into();
    let words = [&["adapter", "serve"], bug].concat().into_iter().map(OsString::from);
    let command = [program.clone()].into_iter().chain(words).collect();
    let directory = std::env::current_dir().unwrap();
    let start = AdapterCommand { command, directory, ..AdapterCommand::default() };
    (start, [program, "supervised".into()])
}

/// What comes of every fault at some calls of a story.
fn outcomes(lane: &Lane<'_>, story: &str, faults: &[Fault], most: usize) -> Vec<Outcome> {
    let scratch = Scratch::default_place();
    let story: Story = story.parse().unwrap();
    let anyway = lane.anyway(&story, &scratch).unwrap();
    let mut outcomes = Vec::new();
    for fault in faults.iter().filter(|fault| fault.is_for(story.last())) {
        let places = fault.comes_at().among(&lane.points(&story, *fault, &scratch).unwrap());
        let count = most.min(places.len());
        for at in (0..count).map(|one| places[one * places.len() / count]) {
            let chosen = Chosen { story: story.clone(), fault: *fault, at };
            outcomes.push(lane.run(chosen, &anyway, &scratch).unwrap());
        }
    }
    outcomes
}

#[test]
fn nothing_is_held_against_the_core_whatever_happens_at_some_calls() {
    if !can_supervise() {
        return;
    }
    let (start, supervised) = started(&[]);
    let (subject, capabilities) = (Identity::default(), Capabilities::complete());
    let opened = Opened { open: &start.opener(), subject, capabilities };
    let lane = Lane::new(&opened, &start, &supervised, 1);
    // Who holds the lock of a project is waited for for seconds, so that comes once only.
    let short: Vec<Fault> =
        Fault::ALL.into_iter().filter(|fault| *fault != Fault::HoldTake).collect();
    for (story, faults, most) in [
        ("take", &short[..], 1),
        ("take+take+take", &[Fault::HoldTake], 1),
        ("take+take+restore", &short, 2),
        ("take+take+restore-file", &[Fault::Io, Fault::Read], 1),
        ("take+prune+take", &short, 1),
        ("take+restore+prune", &short, 1),
        ("take+take+list", &[Fault::Read], 3),
        ("take+take+diff", &[Fault::Read], 3),
    ] {
        let all = outcomes(&lane, story, faults, most);
        for one in &all {
            assert_eq!(one.failures.len(), 0, "{one:?}");
            // What was killed was killed at the call that was meant.
            assert!(one.chosen.fault != Fault::Kill || one.point.is_some(), "{one:?}");
            assert!(one.checked > 0, "{one:?}");
        }
        // What changes nothing is followed by questions once.
        assert!(all.iter().any(|one| one.checked > 10), "{story}");
    }
}

#[test]
fn what_is_never_captured_is_not_held_against_who_worked_beside() {
    if !can_supervise() {
        return;
    }
    let (start, supervised) = started(&["--bug", "links-are-left-out"]);
    let capabilities = Capabilities::complete().without("layout");
    let subject = Identity::default();
    let opened = Opened { open: &start.opener(), subject, capabilities };
    let lane = Lane::new(&opened, &start, &supervised, 1);
    let lane = lane.of_what_is_captured(&Scratch::default_place()).unwrap();
    let lost: Vec<String> = lane.uncaptured.iter().map(ToString::to_string).collect();
    assert_eq!(lost, ["link"]);
    let beside: Vec<Fault> =
        Fault::ALL.into_iter().filter(|fault| fault.actor().is_some()).collect();
    for one in outcomes(&lane, "take+take+take", &beside, 2) {
        assert_eq!(one.failures.len(), 0, "{one:?}");
    }
}

#[test]
fn a_store_that_stays_locked_after_a_kill_is_found_at_that_call() {
    if !can_supervise() {
        return;
    }
    let (start, supervised) = started(&["--bug", NAIVE]);
    let capabilities = ["checkpoint", "layout", "test.clock", "test.store"];
    let capabilities = capabilities.into_iter().fold(Capabilities::none(), Capabilities::with);
    let opened = Opened { open: &start.opener(), subject: Identity::default(), capabilities };
    let lane = Lane::new(&opened, &start, &supervised, 1);
    let all = outcomes(&lane, "take+take+take", &[Fault::Kill], usize::MAX);
    let locked = |one: &&Outcome| {
        let point = one.point.as_ref();
        point.is_some_and(|point| point.path.ends_with(".lock") && point.call != "open")
    };
    assert!(all.iter().any(|one| locked(&one)));
    for one in all.iter().filter(locked) {
        assert!(one.failures.iter().any(|one| one.rule == Rule::NotAsBefore), "{one:?}");
    }
    let (story, points) = ("take+take+take".parse().unwrap(), all.len());
    let extent = Extent { story, calls: Calls::Changing, points, exhaustive: true, not_run: None };
    let report = Report {
        subject: Identity::new("it", "1"),
        seed: 1,
        stories: vec![extent],
        faults: all,
        anyway: vec![("take".parse().unwrap(), BTreeSet::from(["a list".to_owned()]))],
        not_judged: Vec::new(),
        replay: "herma-conform faults --seed 1".into(),
        spelled: " it@1".into(),
    };
    assert!(report.is_broken());
    let text = report.text(false);
    for part in [
        "not-as-before: a fault costs nothing",
        "  fault:    a checkpoint after an edit (after take+take): ",
        ": killed before it",
        "  replay:   herma-conform faults --seed 1 --only take+take+take:kill:",
        "take+take+take: each of its ",
        "take: 1 questions are answered wrongly without a fault, too: a list\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(report.text(true).matches("replay:").count() > text.matches("replay:").count());
    let value: Value = serde_json::from_str(&report.json()).unwrap();
    assert_eq!(value["faults"][0]["fault"], "kill");
}

#[test]
fn the_canary_fails() {
    if !can_supervise() {
        return;
    }
    let (start, supervised) = started(&[]);
    let missed = naive(&start.command[0], &supervised, &Fault::ALL, &Scratch::default_place());
    assert_eq!(missed.unwrap(), None);
}

#[test]
fn one_fault_is_repeated_by_the_line_that_is_printed() {
    if !can_supervise() {
        return;
    }
    let binary = built_binary("herma-conform").display().to_string();
    let naive = ["--", &binary, "adapter", "serve", "--bug", "naive"];
    let arguments = ["faults", "--seed", "1", "--operation", "take", "--fault", "kill"];
    let output = conform(&[&arguments[..], &["--points", "6"], &naive].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.split_once("replay:   herma-conform ")).unwrap().1;
    let words: Vec<&str> = line.split_whitespace().collect();
    let again = conform(&words);
    assert_eq!(again.status.code(), Some(1), "{line}: {again:?}");
    assert!(String::from_utf8(again.stdout).unwrap().contains("not-as-before"), "{line}");
}

#[test]
fn the_parts_of_a_search_are_together_all_of_it() {
    if !can_supervise() {
        return;
    }
    let some = ["faults", "--json", "--seed", "1", "--fault", "kill", "--operation", "prune"];
    let faults = |part: &str| {
        let said = conform(&[&some[..], &["--points", "5", "--shard", part]].concat());
        assert_eq!(said.status.code(), Some(0), "{said:?}");
        let said: Value = serde_json::from_slice(&said.stdout).unwrap();
        let faults = said["faults"].as_array().unwrap().clone();
        faults.iter().map(|one| one["at"].as_u64().unwrap()).collect::<BTreeSet<u64>>()
    };
    let (whole, one, other) = (faults("1/1"), faults("1/2"), faults("2/2"));
    assert_eq!((whole.len(), one.len(), other.len()), (5, 3, 2));
    assert_eq!(&one | &other, whole);
}

/// A folder that has `below` in it.
fn a_folder_below() -> (TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let below = root.join("below");
    fs::create_dir(&below).unwrap();
    (folder, root, below)
}

/// Runs a script under supervision in a folder that has `below` in it: how it ends, and the calls
/// below that folder.
fn supervised(root: &Path, fault: &[&str], script: &str) -> (Option<i32>, Vec<String>) {
    let (below, noted) = (root.join("below"), root.join("noted"));
    let _ = fs::remove_file(&noted);
    let status = Command::new(built_binary("herma-conform"))
        .args(["supervised", "--below"])
        .arg(&below)
        .arg("--points")
        .arg(&noted)
        .args(fault)
        .args(["--", "sh", "-c", script])
        .current_dir(root)
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    let text = fs::read_to_string(&noted).unwrap();
    let short = |line: &str| line.replace(&format!("{}/", below.display()), "");
    (status.code(), text.lines().map(short).collect())
}

#[test]
fn every_changing_call_of_a_command_is_noted_and_one_of_them_fails() {
    if !can_supervise() {
        return;
    }
    let (_folder, root, below) = a_folder_below();
    let script = "cd below; echo x > a; echo x > ../elsewhere; mkdir d && mv a d/b && rm -r d";
    let (code, calls) = supervised(&root, &[], script);
    assert_eq!(code, Some(0));
    let due = ["open\ta", "write\ta", "mkdir\td", "rename\td/b", "remove\td/b", "remove\td"];
    assert_eq!(calls, due);
    let (code, calls) = supervised(&root, &["--at", "3", "--fault", "no-space"], script);
    assert_eq!((code, calls.len()), (Some(1), 3));
    assert_eq!(fs::read_dir(&below).unwrap().count(), 1);
    let (code, calls) = supervised(&root, &["--at", "3", "--fault", "kill"], script);
    assert_eq!((code, calls.len()), (Some(137), 3));
}

#[test]
fn a_write_is_cut_short_a_read_fails_and_what_was_not_synced_is_gone_with_the_power() {
    if !can_supervise() {
        return;
    }
    let (_folder, root, below) = a_folder_below();
    let all = |fault: &[&str], script: &str| {
        fs::remove_dir_all(&below).unwrap();
        fs::create_dir(&below).unwrap();
        fs::write(below.join("old"), "old\n").unwrap();
        let (code, calls) = supervised(&root, fault, script);
        let read = |name: &str| fs::read_to_string(below.join(name)).ok();
        (code, calls, ["old", "new", "after"].map(read))
    };
    let script =
        "cd below; dd if=old of=new bs=8 count=1 conv=fsync; echo more >> old; cat new > after";
    let (code, calls, held) = all(&[], script);
    assert_eq!(code, Some(0));
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(held, [text("old\nmore\n"), text("old\n"), text("old\n")]);
    let place = |of: &str| 1 + calls.iter().position(|call| call == of).unwrap();
    let with = |fault: &str, at: usize| all(&["--at", &at.to_string(), "--fault", fault], script).2;
    // Who does not look at what it is told loses the rest; `dd` writes on.
    assert_eq!(with("short", place("write\tnew")), held);
    assert_eq!(with("power-bytes", place("sync\tnew")), [text("old\n"), text(""), None]);
    assert_eq!(with("power-bytes", place("open\tafter")), [text("old\n"), text("old\n"), None]);
    let end = calls.len() + 1;
    assert_eq!(with("power-bytes", end), [text("old\n"), text("old\n"), text("")]);
    assert_eq!(with("power-torn", end), [text("old\n\0\0\0\0\0"), text("old\n"), text("\0\0\0\0")]);
    assert_eq!(with("power-names", end), [text("old\n"), text("old\n"), None]);
    let (_, calls, _) = all(&["--calls", "reading"], script);
    let at = 1 + calls.iter().position(|call| call == "read\tnew").unwrap();
    let (code, _, held) =
        all(&["--calls", "reading", "--at", &at.to_string(), "--fault", "read"], script);
    assert_eq!((code, &held[2]), (Some(1), &text("")));
}
