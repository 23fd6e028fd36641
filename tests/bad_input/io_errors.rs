//! A disk that is in trouble: what cannot be read is neither absent nor empty, so that no answer
//! says it is.

use super::machine::{Machine, at_each_call};
use herma_core::configuration;
use herma_core::disk::SystemDisk;
use herma_core::{
    Config, Error, Holdings, Manager, ProjectState, ProjectStatus, PruneOptions, RestoreOptions,
    Stats,
};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A failure that no file or folder can be to blame for.
const TROUBLE: io::ErrorKind = io::ErrorKind::StorageFull;

/// Some checkpoints of a project, with all that a store may have: packed refs, a history that
/// was cut, a v1 archive.
fn lived_in() -> Machine {
    let machine = Machine::new();
    machine.take();
    machine.write(".gitignore", "*.mine\n");
    machine.write("a.mine", "ignored\n");
    machine.take();
    assert!(machine.git().args(["pack-refs", "--all"]).status().unwrap().success());
    // The newest is in a file of its own, so that what is packed is not all there is.
    machine.write("a.txt", "two\n");
    let two = Config { max_snapshots: 2, ..Config::default() };
    machine.with(SystemDisk, two).checkpoint(&machine.project(), "taken").unwrap();
    let repository = machine.base().join("legacy-20260101-000000/x");
    fs::create_dir_all(repository.join("objects")).unwrap();
    for name in ["HEAD", "HERMES_WORKDIR"] {
        fs::write(repository.join(name), "old\n").unwrap();
    }
    machine.write("a.txt", "three\n");
    let permissions = fs::Permissions::from_mode(0o600);
    fs::set_permissions(machine.project().join("a.txt"), permissions).unwrap();
    machine
}

/// What is answered; none where the answer says itself that it does not know all.
type Question = fn(&Manager, &Path) -> Result<Option<String>, Error>;

fn told<T: std::fmt::Debug>(answer: Result<T, Error>) -> Result<Option<String>, Error> {
    answer.map(|answer| Some(format!("{answer:?}")))
}

fn holdings(manager: &Manager) -> Result<Option<String>, Error> {
    let holdings = manager.holdings()?;
    if holdings.projects.is_none() {
        return Ok(None);
    }
    // Of sizes it says that they are what could be seen.
    told(Ok(Holdings { bytes: 0, archive_bytes: 0, ..holdings }))
}

fn status(manager: &Manager) -> Result<Option<String>, Error> {
    let status = manager.status()?;
    let is_known = |one: &ProjectStatus| {
        one.checkpoints.is_some() && one.state != ProjectState::Unknown && one.workdir.is_some()
    };
    if status.projects.iter().all(is_known) { told(Ok(status)) } else { Ok(None) }
}

#[test]
fn what_is_answered_where_any_call_fails_is_what_is_true() {
    let questions: [(&str, Question); 4] = [
        ("list", |manager, project| told(manager.list(project))),
        ("diff", |manager, project| told(manager.diff(project, b"2"))),
        ("status", |manager, _| status(manager)),
        ("holdings", |manager, _| holdings(manager)),
    ];
    let machine = lived_in();
    for (name, question) in questions {
        let truth = question(&machine.manager(), &machine.project()).unwrap();
        let steps = at_each_call(|step| {
            let (disk, step) = (step.failing(TROUBLE), step.number);
            match question(&machine.on(disk), &machine.project()) {
                Ok(Some(answer)) => assert_eq!(Some(answer), truth, "{name}, step {step}"),
                Ok(None) => {}
                Err(error) => assert_eq!(error.code(), "no_space", "{name}, step {step}: {error}"),
            }
        });
        assert!(steps > 2, "{name} asked for {steps} things only");
    }
}

#[test]
fn a_configuration_that_cannot_be_read_is_not_the_default_one() {
    let machine = Machine::new();
    let path = machine.root().join("config.yaml");
    fs::write(&path, "checkpoints: {max_snapshots: 3}\n").unwrap();
    let steps = at_each_call(|step| {
        let (disk, step) = (step.failing(TROUBLE), step.number);
        match configuration::read(&disk, &path) {
            Ok(read) => assert_eq!(read.config.max_snapshots, 3, "step {step}"),
            Err(error) => assert_eq!(error.code(), "no_space", "step {step}: {error}"),
        }
    });
    assert!(steps > 1);
}

/// A change that says whether it calls itself complete.
type Change = fn(&Manager, &Path) -> Result<bool, Error>;

/// What makes the machine on which a change is made.
type Made = fn() -> Machine;

/// What can be read at all is never left out.
fn take(manager: &Manager, project: &Path) -> Result<bool, Error> {
    assert_eq!(manager.checkpoint(project, "r")?.skipped, []);
    Ok(true)
}

#[test]
fn what_is_changed_where_any_call_fails_is_done_as_a_whole_or_said_not_to_be() {
    let changes: [(&str, Made, Change); 5] = [
        ("first checkpoint", Machine::new, take),
        ("checkpoint", lived_in, take),
        ("restore", lived_in, |manager, project| {
            let options = RestoreOptions { exact: true, force: false };
            let failed = manager.restore(project, b"2", options)?.failed;
            assert!(failed.iter().all(|one| one.why.contains("no storage space")), "{failed:?}");
            Ok(failed.is_empty())
        }),
        ("prune", lived_in, |manager, _| {
            let options =
                PruneOptions { max_total_bytes: 1, ..PruneOptions::from(manager.config()) };
            manager.prune(&options, &mut |_| {}).map(|pruned| pruned.errors == 0)
        }),
        ("clear", lived_in, |manager, _| manager.clear().map(|_| true)),
    ];
    for (name, machine, change) in changes {
        let whole = machine();
        assert!(change(&whole.manager(), &whole.project()).unwrap(), "{name}");
        let whole = state(&whole);
        let steps = at_each_call(|step| {
            let machine = machine();
            let (disk, step) = (step.failing(TROUBLE), step.number);
            match change(&machine.on(disk), &machine.project()) {
                Ok(true) => assert_eq!(state(&machine), whole, "{name}, step {step}"),
                Ok(false) => {}
                Err(error) => {
                    let code = error.code();
                    assert!(
                        ["no_space", "partly_cleared", "no_safety_checkpoint"].contains(&code),
                        "{name}, step {step}: {error}"
                    );
                }
            }
        });
        assert!(steps > 10, "{name} asked for {steps} things only");
    }
}

/// What a person sees of the checkpoints and the files of a machine, and what is in its base.
#[derive(Debug, PartialEq)]
struct State {
    listed: Vec<Option<Stats>>,
    files: [(u32, String); 3],
    base: BTreeSet<OsString>,
}

fn state(machine: &Machine) -> State {
    let listed = machine.manager().list(&machine.project()).unwrap();
    let files = ["a.txt", "src/b.txt", ".gitignore"].map(|path| {
        let path = machine.project().join(path);
        let mode = fs::metadata(&path).map_or(0, |metadata| metadata.permissions().mode());
        (mode, fs::read_to_string(&path).unwrap_or_default())
    });
    let base = fs::read_dir(machine.base()).into_iter().flatten();
    State {
        listed: listed.into_iter().map(|one| one.stats).collect(),
        files,
        base: base.map(|entry| entry.unwrap().file_name()).collect(),
    }
}
