//! Stories: a few requests in a row on one project, of which the last one meets everything that can
//! happen, at each of its calls. What an injection into an earlier one leaves is what a shorter story shows.

use super::idiom::{PRUNE, checkpoint, prune, restore, write};
use crate::history::{At, Event, History, Injection, Left, Operation, StoreEvent, Target, What};
use herma_model::{ByteString, Edit, Request, Settings};

const PROJECT: &str = "work/alpha";
const FILE: &str = "work/alpha/src/main.rs";
/// What is new in the last change.
const NEW: &str = "work/alpha/new.txt";
/// What it removes.
const REMOVED: &str = "work/alpha/run.sh";
const FOLDER: &str = "work/alpha/src";
/// What has the names of what is in the folder, outside the project.
const TWIN: &str = "outside/twin/main.rs";

/// A request of a story, by its name.
type Asked = (&'static str, fn() -> Operation);

/// Requests that leave something behind for the next one.
const EARLIER: [Asked; 3] = [LAST[0], LAST[2], LAST[5]];

/// `git gc` packs the store. A story with it keeps one checkpoint, so that what is packed becomes garbage.
const COLLECTED: Asked = ("git gc", || Event::Store(StoreEvent::Collected).into());

/// Requests that can meet something.
const LAST: [Asked; 10] = [
    ("checkpoint", || checkpoint(&PROJECT.into())),
    ("ensure", || ensure()),
    ("restore", || restore(&PROJECT.into(), 1, false)),
    ("restore exactly", || restore(&PROJECT.into(), 1, true)),
    ("restore one file", || {
        let (dir, path) = (PROJECT.into(), "src/main.rs".into());
        Request::RestoreFile { dir, target: Target::Number(1), path }.into()
    }),
    ("prune", prune),
    ("sweep", || Request::Sweep.into()),
    ("list", || Request::List { dir: PROJECT.into() }.into()),
    ("diff", || Request::Diff { dir: PROJECT.into(), target: Target::Number(1) }.into()),
    ("status", || Request::Status.into()),
];

fn ensure_of(project: &str) -> Request<Target> {
    Request::EnsureCheckpoint { dir: project.into(), reason: "before write_file".into() }
}

fn ensure() -> Operation {
    ensure_of(PROJECT).into()
}

/// Every story of up to so many requests with each thing that can happen at these calls, by its name. The
/// first request is a checkpoint, since without one nothing can be lost.
pub fn stories(length: usize, at: At) -> Vec<(String, History)> {
    let mut all = Vec::new();
    let mut earlier: Vec<Vec<Asked>> = vec![Vec::new()];
    for number in 0..length {
        let is_first = number == 0;
        let last = if is_first { &LAST[..1] } else { &LAST[..] };
        let collected = (number == 1).then(|| vec![LAST[0], COLLECTED]);
        for before in earlier.iter().chain(&collected) {
            for one in last {
                let names: Vec<&str> = before.iter().chain([one]).map(|(name, _)| *name).collect();
                all.extend(injections(one.0, at).into_iter().map(|(what, injection)| {
                    (format!("{}: {what}", names.join(", ")), story(before, *one, injection))
                }));
            }
        }
        let next = if is_first { &EARLIER[..1] } else { &EARLIER[..] };
        earlier = earlier
            .iter()
            .flat_map(|before| next.iter().map(|one| [&before[..], &[*one]].concat()))
            .collect();
    }
    all
}

/// All that can happen in a request: edits only where a project is read or written.
fn injections(request: &str, at: At) -> Vec<(String, Injection)> {
    let mut all = Vec::new();
    for what in What::ALONE {
        let name = match what {
            What::PowerLoss(Left::Names) => "power loss, names are left",
            What::PowerLoss(Left::Blocks) => "power loss, some blocks are left",
            What::PowerLoss(Left::Nothing) => "power loss, nothing is left",
            what => what.word(),
        };
        // Before the end it leaves what another one leaves at an earlier call.
        if what != What::PowerLoss(Left::Nothing) {
            all.push((name.to_owned(), Injection::new(at, what)));
        }
        if what.ends_process() {
            all.push((format!("{name}, after the answer"), Injection::new(At::End, what)));
        }
    }
    if request.starts_with("restore") || ["checkpoint", "ensure"].contains(&request) {
        for (name, meanwhile) in edits() {
            all.push((name.to_owned(), Injection::edited(at, meanwhile)));
        }
    }
    let other = if request.starts_with("restore") { "work/beta" } else { PROJECT };
    for (name, asked) in [
        ("another process takes a checkpoint", ensure_of(other)),
        ("another process prunes", PRUNE),
    ] {
        all.push((name.to_owned(), Injection::overlapped(at, asked)));
    }
    all
}

/// What somebody does meanwhile, by its name.
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

/// A story, and what is asked after it.
fn story(before: &[Asked], last: Asked, injection: Injection) -> History {
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
    // The only request of a story also makes the store.
    if !before.is_empty() {
        operations.push(checkpoint(&ByteString::from("work/beta")));
    }
    for (number, (_, asked)) in before.iter().enumerate() {
        operations.extend(change(number));
        operations.push(Request::NewTurn.into());
        operations.push(asked());
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
    let is_collected = before.iter().any(|(name, _)| *name == COLLECTED.0);
    let mut settings = Settings::default();
    if is_collected {
        settings.max_snapshots = 1;
    }
    History { plain_home: true, settings, operations, ..History::default() }
}
