//! Scenarios: a few requests in a row on one project, with every injection into each call of the last
//! request. Earlier requests get no injection, because a shorter scenario ends with them.

use super::idiom::{PRUNE, checkpoint, prune, restore, restore_file, write};
use crate::history::{
    CallPosition, Event, History, InjectedEvent, Injection, Operation, PowerLoss, StoreEvent,
    Target,
};
use herma_model::{ByteString, Edit, Request, Settings};

const PROJECT: &str = "work/alpha";
const FILE: &str = "work/alpha/src/main.rs";
/// The file that the last change creates.
const NEW: &str = "work/alpha/new.txt";
/// The file that the last change removes.
const REMOVED: &str = "work/alpha/run.sh";
const FOLDER: &str = "work/alpha/src";
/// A file outside the project with the same name as the file in the folder.
const TWIN: &str = "outside/twin/main.rs";

/// The name of a request, and the operation.
type NamedRequest = (&'static str, fn() -> Operation);

/// Requests whose effect the next request meets.
const EARLIER: [NamedRequest; 3] = [LAST[0], LAST[2], LAST[5]];

/// `git gc` packs the store. Scenarios with it keep one checkpoint, so that packed objects become garbage.
const GIT_GC: NamedRequest = ("git gc", || Event::Store(StoreEvent::Collected).into());

/// Requests that get an injection.
const LAST: [NamedRequest; 10] = [
    ("checkpoint", || checkpoint(&PROJECT.into())),
    ("ensure", || ensure()),
    ("restore", || restore(&PROJECT.into(), 1, false)),
    ("restore exactly", || restore(&PROJECT.into(), 1, true)),
    ("restore one file", || restore_file(&PROJECT.into(), "src/main.rs".into())),
    ("prune", prune),
    ("sweep", || Request::Sweep.into()),
    ("list", || Request::List { dir: PROJECT.into() }.into()),
    ("diff", || Request::Diff { dir: PROJECT.into(), target: Target::Number(1) }.into()),
    ("status", || Request::Status.into()),
];

fn ensure_request(project: &str) -> Request<Target> {
    Request::EnsureCheckpoint { dir: project.into(), reason: "before write_file".into() }
}

fn ensure() -> Operation {
    ensure_request(PROJECT).into()
}

/// Every scenario of up to `length` requests with every injection at these calls, with its name. The first
/// request is a checkpoint, since without one nothing can be lost.
pub fn scenarios(length: usize, at: CallPosition) -> Vec<(String, History)> {
    let mut scenarios = Vec::new();
    let mut earlier: Vec<Vec<NamedRequest>> = vec![Vec::new()];
    for number in 0..length {
        let is_first = number == 0;
        let last = if is_first { &LAST[..1] } else { &LAST[..] };
        let collected = (number == 1).then(|| vec![LAST[0], GIT_GC]);
        for before in earlier.iter().chain(&collected) {
            for request in last {
                let names: Vec<&str> =
                    before.iter().chain([request]).map(|(name, _)| *name).collect();
                scenarios.extend(injections(request.0, at).into_iter().map(
                    |(injected, injection)| {
                        let name = format!("{}: {injected}", names.join(", "));
                        (name, scenario(before, *request, injection))
                    },
                ));
            }
        }
        let next = if is_first { &EARLIER[..1] } else { &EARLIER[..] };
        earlier = earlier
            .iter()
            .flat_map(|before| next.iter().map(|request| [&before[..], &[*request]].concat()))
            .collect();
    }
    scenarios
}

/// Every injection into a request, with its name; edits only where a project is read or written.
fn injections(request: &str, at: CallPosition) -> Vec<(String, Injection)> {
    let mut injections = Vec::new();
    for effect in InjectedEvent::ALONE {
        let name = match effect {
            InjectedEvent::PowerLoss(PowerLoss::Names) => "power loss, names are left",
            InjectedEvent::PowerLoss(PowerLoss::Blocks) => "power loss, some blocks are left",
            InjectedEvent::PowerLoss(PowerLoss::Nothing) => "power loss, nothing is left",
            effect => effect.word(),
        };
        // Before the end, this power loss has the effect of another one at an earlier call.
        if effect != InjectedEvent::PowerLoss(PowerLoss::Nothing) {
            injections.push((name.to_owned(), Injection::new(at, effect)));
        }
        if effect.ends_process() {
            injections.push((
                format!("{name}, after the answer"),
                Injection::new(CallPosition::End, effect),
            ));
        }
    }
    if request.starts_with("restore") || ["checkpoint", "ensure"].contains(&request) {
        for (name, meanwhile) in edits() {
            injections.push((name.to_owned(), Injection::edited(at, meanwhile)));
        }
    }
    let project = if request.starts_with("restore") { "work/beta" } else { PROJECT };
    for (name, overlapping) in [
        ("another process takes a checkpoint", ensure_request(project)),
        ("another process prunes", PRUNE),
    ] {
        injections.push((name.to_owned(), Injection::overlapped(at, overlapping)));
    }
    injections
}

/// The edits that a user makes meanwhile, with their names.
fn edits() -> [(&'static str, Vec<Edit>); 6] {
    let save = |path: &str| Edit::Write {
        path: path.into(),
        content: "fn main() { saved() }".into(),
        executable: false,
    };
    let rename = |from: &str, to: &str| Edit::Rename { from: from.into(), to: to.into() };
    let link = Edit::Link { path: FOLDER.into(), target: "$SANDBOX/outside/twin".into() };
    [
        ("a file is saved in its place", vec![save(FILE)]),
        (
            "a file is saved by a rename",
            vec![save("work/alpha/fresh.tmp"), rename("work/alpha/fresh.tmp", FILE)],
        ),
        ("a file that comes back is saved", vec![save(REMOVED)]),
        ("a file that goes is saved", vec![save(NEW)]),
        ("a folder becomes a link", vec![rename(FOLDER, "work/alpha/aside"), link]),
        ("the project is removed", vec![Edit::Remove { path: PROJECT.into() }]),
    ]
}

/// The history of a scenario, with the requests that show its effect.
fn scenario(before: &[NamedRequest], last: NamedRequest, injection: Injection) -> History {
    let put = |path: &str, content: &str| write(&path.into(), &content.into(), false);
    let change = |number: usize| {
        [
            put(FILE, &format!("fn main() {{ do_{number}() }}")),
            put(&format!("work/alpha/new-{number}.txt"), "new"),
            put("work/alpha/ignored.log", &number.to_string()),
        ]
    };
    let mut operations = vec![
        put(FILE, "fn main() {}"),
        put("work/alpha/.gitignore", "*.log\n"),
        write(&REMOVED.into(), &"#!/bin/sh".into(), true),
        Edit::Link { path: "work/alpha/link".into(), target: "src/main.rs".into() }.into(),
        put(TWIN, "fn outside() {}"),
        put("work/beta/b.txt", "another project"),
    ];
    // If a scenario has only one request, that request also creates the store.
    if !before.is_empty() {
        operations.push(checkpoint(&ByteString::from("work/beta")));
    }
    for (number, (_, request)) in before.iter().enumerate() {
        operations.extend(change(number));
        operations.push(Request::NewTurn.into());
        operations.push(request());
    }
    operations.extend(change(before.len()));
    if !before.is_empty() {
        operations.extend([put(NEW, "new"), Edit::Remove { path: REMOVED.into() }.into()]);
    }
    operations.push(Request::NewTurn.into());
    operations.push(Event::Inject(injection).into());
    operations.push(last.1());
    operations.extend(change(before.len() + 1));
    operations.push(ensure());
    operations.push(restore(&PROJECT.into(), 2, true));
    operations.push(restore(&"work/beta".into(), 1, true));
    operations.push(prune());
    operations.push(Event::RestoreEach { dir: PROJECT.into() }.into());
    let is_collected = before.iter().any(|(name, _)| *name == GIT_GC.0);
    let mut settings = Settings::default();
    if is_collected {
        settings.max_snapshots = 1;
    }
    History { plain_home: true, settings, operations, ..History::default() }
}
