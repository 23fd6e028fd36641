//! Tests of external actions: they are listed, compensated, and never counted twice.

use super::*;
use crate::disk::SystemDisk;
use crate::environment::SystemClock;
use std::sync::Mutex;

struct Recorder {
    runs: Arc<Mutex<Vec<String>>>,
    fails: bool,
}

impl Compensation for Recorder {
    fn run(&self, action: &ActionNote) -> std::result::Result<(), String> {
        self.runs.lock().unwrap().push(action.to_string());
        if self.fails { Err("the service is down".into()) } else { Ok(()) }
    }
}

fn external(folder: &Path, runs: &Arc<Mutex<Vec<String>>>, fails: bool) -> External {
    let recorder: Arc<dyn Compensation> = Arc::new(Recorder { runs: runs.clone(), fails });
    let compensations = Compensations::from([("pr".to_owned(), recorder)]);
    External::new(Arc::new(SystemDisk), Arc::new(SystemClock), folder, compensations)
}

#[test]
fn compensate_runs_for_actions_left_behind_newest_first_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let runs = Arc::default();
    let external = external(folder.path(), &runs, false);
    for id in ["1", "2", "3"] {
        external.record("pr", Some(id), None).unwrap();
    }
    external.record("mail", None, Some("ann")).unwrap();
    let states: Vec<String> =
        external.after(1).unwrap().into_iter().map(|action| action.state).collect();
    assert_eq!(states, ["still open", "still open", "cannot retract"]);
    assert!(external.compensate("me", false).unwrap().is_empty(), "nothing was left behind");
    external.leave_behind(1, "abc", "p").unwrap();
    let done = external.compensate("me", false).unwrap();
    assert!(done.iter().all(|compensated| compensated.failure.is_none()));
    assert_eq!(*runs.lock().unwrap(), ["pr #3", "pr #2"]);
    assert!(external.compensate("me", true).unwrap().is_empty());
    let accepted = external.accept("me").unwrap();
    assert_eq!(accepted.iter().map(ToString::to_string).collect::<Vec<_>>(), ["mail to ann"]);
    assert_eq!(external.after(0).unwrap().len(), 1, "only the first is undecided");
    let audit: Vec<String> =
        external.audit().unwrap().into_iter().map(|decided| decided.what).collect();
    let begins = "compensation started";
    assert_eq!(audit, [begins, "compensated", begins, "compensated", "accepted"]);
}

#[test]
fn compensate_repeats_failures_only_with_again_and_accepted_actions_never() {
    let folder = tempfile::tempdir().unwrap();
    let runs = Arc::default();
    let external = external(folder.path(), &runs, true);
    external.record("pr", Some("1"), None).unwrap();
    external.leave_behind(0, "abc", "p").unwrap();
    let done = external.compensate("me", false).unwrap();
    assert_eq!(done[0].failure.as_deref(), Some("the service is down"));
    assert!(external.compensate("me", false).unwrap().is_empty());
    assert_eq!(external.compensate("me", true).unwrap().len(), 1);
    assert_eq!(runs.lock().unwrap().len(), 2);
    external.accept("me").unwrap();
    assert!(external.compensate("me", true).unwrap().is_empty());
}

#[test]
fn compensate_repeats_an_interrupted_compensation_only_with_again() {
    let folder = tempfile::tempdir().unwrap();
    let runs = Arc::default();
    let external = external(folder.path(), &runs, false);
    let number = external.record("pr", Some("1"), None).unwrap();
    external.leave_behind(0, "abc", "p").unwrap();
    // The process dies while the compensation runs.
    external.begin_compensation(number, "me", false).unwrap().unwrap();
    assert_eq!(external.after(0).unwrap()[0].state, INTERRUPTED);
    assert!(external.compensate("me", false).unwrap().is_empty());
    assert_eq!(external.compensate("me", true).unwrap().len(), 1);
}

#[test]
fn leave_behind_releases_the_actions_before_a_later_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let runs = Arc::default();
    let external = external(folder.path(), &runs, false);
    let number = external.record("pr", Some("1"), None).unwrap();
    external.leave_behind(0, "abc", "p").unwrap();
    external.leave_behind(number, "def", "another project").unwrap();
    assert!(external.all().unwrap()[0].left_by.is_some(), "it is none of its business");
    external.leave_behind(number, "def", "p").unwrap();
    assert!(external.compensate("me", false).unwrap().is_empty());
    let begun = external.begin("pr", Some("2"), None).unwrap();
    assert_eq!(external.after(number).unwrap()[0].state, "may not have happened");
    external.end(begun, false).unwrap();
    assert!(external.after(number).unwrap().is_empty());
}

// rule: agent/external-listed
#[test]
fn begin_gives_no_number_twice() {
    let folder = tempfile::tempdir().unwrap();
    let runs = Arc::default();
    let external = external(folder.path(), &runs, false);
    let begun = external.begin("pr", Some("1"), None).unwrap();
    // A checkpoint knows of it now.
    external.end(begun, false).unwrap();
    assert_eq!(external.last().unwrap(), begun);
    assert_eq!(external.record("pr", Some("2"), None).unwrap(), begun + 1);
    external.set_last_known(|| Ok(7));
    assert_eq!(external.record("pr", Some("3"), None).unwrap(), begun + 2);
    std::fs::remove_file(folder.path().join("external.json")).unwrap();
    assert_eq!(external.record("pr", Some("4"), None).unwrap(), 8, "the log was lost");
    assert_eq!(external.record("pr", Some("5"), None).unwrap(), 9);
}

// rule: agent/external-listed
#[test]
fn begin_gives_no_number_twice_where_checkpoints_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let runs = Arc::default();
    let external = external(folder.path(), &runs, false);
    external.set_last_known(|| Err(crate::error::Error::ScopeRoot));
    assert!(external.record("pr", Some("1"), None).unwrap() > 1_000_000_000);
}

#[test]
fn record_refuses_a_damaged_log_and_does_not_overwrite_it() {
    let folder = tempfile::tempdir().unwrap();
    let runs = Arc::default();
    let external = external(folder.path(), &runs, false);
    std::fs::write(folder.path().join("external.json"), "{").unwrap();
    assert_eq!(external.record("pr", None, None).unwrap_err().code(), "bad_state");
    assert_eq!(std::fs::read(folder.path().join("external.json")).unwrap(), b"{");
}
