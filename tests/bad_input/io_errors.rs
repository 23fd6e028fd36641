//! I/O errors: no answer reports an unreadable file or folder as absent or empty.

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

/// An error that does not depend on a particular file or folder.
const TROUBLE: io::ErrorKind = io::ErrorKind::StorageFull;

/// Checkpoints of a project in a store with packed refs, a truncated history and a v1 archive.
fn store_with_everything() -> Machine {
    let machine = Machine::new();
    machine.take();
    machine.write(".gitignore", "*.mine\n");
    machine.write("a.mine", "ignored\n");
    machine.take();
    assert!(machine.git().args(["pack-refs", "--all"]).status().unwrap().success());
    // The newest checkpoint has a loose ref, so that not all refs are packed.
    machine.write("a.txt", "two\n");
    let config = Config { max_snapshots: 2, ..Config::default() };
    machine.manager_with(SystemDisk, config).checkpoint(&machine.project(), "taken").unwrap();
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

/// A query; it returns `None` if the answer declares itself incomplete.
type Query = fn(&Manager, &Path) -> Result<Option<String>, Error>;

fn shown<T: std::fmt::Debug>(answer: Result<T, Error>) -> Result<Option<String>, Error> {
    answer.map(|answer| Some(format!("{answer:?}")))
}

fn holdings(manager: &Manager) -> Result<Option<String>, Error> {
    let holdings = manager.holdings()?;
    if holdings.projects.is_none() {
        return Ok(None);
    }
    // Sizes are documented as the sizes of what could be read.
    shown(Ok(Holdings { bytes: 0, archive_bytes: 0, ..holdings }))
}

fn status(manager: &Manager) -> Result<Option<String>, Error> {
    let status = manager.status()?;
    let is_known = |project: &ProjectStatus| {
        project.checkpoints.is_some()
            && project.state != ProjectState::Unknown
            && project.workdir.is_some()
    };
    if status.projects.iter().all(is_known) { shown(Ok(status)) } else { Ok(None) }
}

#[test]
fn queries_with_any_failing_call_return_the_true_answer_or_an_error() {
    let queries: [(&str, Query); 4] = [
        ("list", |manager, project| shown(manager.list(project))),
        ("diff", |manager, project| shown(manager.diff(project, b"2"))),
        ("status", |manager, _| status(manager)),
        ("holdings", |manager, _| holdings(manager)),
    ];
    let machine = store_with_everything();
    for (name, query) in queries {
        let expected = query(&machine.manager(), &machine.project()).unwrap();
        let steps = at_each_call(|step| {
            let disk = step.failing_disk(TROUBLE);
            let step = step.number;
            match query(&machine.manager_on(disk), &machine.project()) {
                Ok(Some(answer)) => assert_eq!(Some(answer), expected, "{name}, step {step}"),
                Ok(None) => {}
                Err(error) => assert_eq!(error.code(), "no_space", "{name}, step {step}: {error}"),
            }
        });
        assert!(steps > 2, "{name} asked for {steps} things only");
    }
}

#[test]
fn configuration_read_on_a_failing_disk_never_returns_the_default() {
    let machine = Machine::new();
    let path = machine.root().join("config.yaml");
    fs::write(&path, "checkpoints: {max_snapshots: 3}\n").unwrap();
    let steps = at_each_call(|step| {
        let disk = step.failing_disk(TROUBLE);
        let step = step.number;
        match configuration::read(&disk, &path) {
            Ok(read) => assert_eq!(read.config.max_snapshots, 3, "step {step}"),
            Err(error) => assert_eq!(error.code(), "no_space", "step {step}: {error}"),
        }
    });
    assert!(steps > 1);
}

/// A change; it returns whether the answer declares the change complete.
type Change = fn(&Manager, &Path) -> Result<bool, Error>;

/// Creates the machine for a change.
type Setup = fn() -> Machine;

/// Takes a checkpoint, and asserts that no readable file is left out.
fn take(manager: &Manager, project: &Path) -> Result<bool, Error> {
    assert_eq!(manager.checkpoint(project, "r")?.skipped, []);
    Ok(true)
}

// rule: fault/clear-refusal
#[test]
fn changes_with_any_failing_call_are_complete_or_report_that_they_are_not() {
    let changes: [(&str, Setup, Change); 6] = [
        ("first checkpoint", Machine::new, take),
        ("checkpoint", store_with_everything, take),
        ("restore", store_with_everything, |manager, project| {
            let options = RestoreOptions { exact: true, force: false };
            let failed = manager.restore(project, b"2", options)?.failed;
            let told = ["no storage space", "is full"];
            assert!(
                failed.iter().all(|failed| told.iter().any(|text| failed.why.contains(text))),
                "{failed:?}"
            );
            Ok(failed.is_empty())
        }),
        ("prune", store_with_everything, |manager, _| {
            let options =
                PruneOptions { max_total_bytes: 1, ..PruneOptions::from(manager.config()) };
            manager.prune(&options, &mut |_| {}).map(|pruned| pruned.errors == 0)
        }),
        ("clear", store_with_everything, |manager, _| manager.clear().map(|_| true)),
        ("clear-legacy after an attempt", store_with_everything, |manager, _| {
            let _ = manager.clear_legacy();
            manager.clear_legacy().map(|_| true)
        }),
    ];
    for (name, setup, change) in changes {
        let machine = setup();
        let before = machine.copied();
        assert!(change(&machine.manager(), &machine.project()).unwrap(), "{name}");
        let complete = state(&machine);
        let steps = at_each_call(|step| {
            machine.put_back(&before);
            let disk = step.failing_disk(TROUBLE);
            let step = step.number;
            match change(&machine.manager_on(disk), &machine.project()) {
                Ok(true) => assert_eq!(state(&machine), complete, "{name}, step {step}"),
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

/// What a user sees of the checkpoints and files of a machine, and the names in its base.
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
        listed: listed.into_iter().map(|entry| entry.stats).collect(),
        files,
        base: base.map(|entry| entry.unwrap().file_name()).collect(),
    }
}
