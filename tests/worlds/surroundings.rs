//! The conditions of the store, the configuration, the clock and the process in generated histories.

use super::conditions::Occurrence::{self, In, Never};
use super::conditions::{any_edit, any_event, any_request};
use herma_harness::history::{Event, History, InjectedEvent, PowerLoss, StoreEvent};
use herma_model::store_edit::Damage;
use herma_model::{Edit, Piece, Request};

/// Whether anything of the store is damaged in this way.
fn is_damaged(history: &History, how: Damage) -> bool {
    any_store(history, |event| {
        use StoreEvent::{File, Index, Metadata, Ref, Stored};
        matches!(event, Metadata { damage, .. } | Index { damage, .. } | Stored { damage, .. }
            | Ref { damage, .. } | File { damage, .. } if *damage == how)
    })
}

fn injects(history: &History, is_match: impl Fn(InjectedEvent) -> bool) -> bool {
    history.injections().any(|(_, injection)| is_match(injection.what))
}

/// Whether a file with this path is written with content that contains the text.
fn configures(history: &History, text: &str) -> bool {
    any_edit(history, |edit| {
        matches!(edit, Edit::Write { path, content, .. }
        if **path == *b"home/.hermes/config.yaml" && content.windows(text.len()).any(|part| part == text.as_bytes()))
    })
}

fn any_store(history: &History, is_match: impl Fn(&StoreEvent) -> bool) -> bool {
    any_event(history, |event| matches!(event, Event::Store(event) if is_match(event)))
}

pub const STORE: &[(&str, Occurrence)] = &[
    (
        "a damaged file content",
        In(|history| {
            any_store(history, |event| {
                matches!(event, StoreEvent::Stored { piece: Piece::File(_), .. })
            })
        }),
    ),
    (
        "a damaged folder",
        In(|history| {
            any_store(history, |event| {
                matches!(event, StoreEvent::Stored { piece: Piece::Folder(_), .. })
            })
        }),
    ),
    (
        "a damaged checkpoint",
        In(|history| {
            any_store(history, |event| {
                matches!(event, StoreEvent::Stored { piece: Piece::Checkpoint, .. })
            })
        }),
    ),
    (
        "a damaged ref",
        In(|history| any_store(history, |event| matches!(event, StoreEvent::Ref { .. }))),
    ),
    (
        "damaged metadata of a project",
        In(|history| any_store(history, |event| matches!(event, StoreEvent::Metadata { .. }))),
    ),
    (
        "a damaged index of a project",
        In(|history| any_store(history, |event| matches!(event, StoreEvent::Index { .. }))),
    ),
    (
        "a damaged file of git, or of the bookkeeping",
        In(|history| any_store(history, |event| matches!(event, StoreEvent::File { .. }))),
    ),
    ("a file of it is removed", In(|history| is_damaged(history, Damage::Removed))),
    ("a file of it is emptied", In(|history| is_damaged(history, Damage::Emptied))),
    ("a file of it is cut in half", In(|history| is_damaged(history, Damage::Halved))),
    ("a file of it has other content", In(|history| is_damaged(history, Damage::Garbled))),
    ("a file of it has one other byte", In(|history| is_damaged(history, Damage::Flipped))),
    ("a file of it is a dangling link", In(|history| is_damaged(history, Damage::Link))),
    ("a file of it is a fifo", In(|history| is_damaged(history, Damage::Fifo))),
    ("a file of it is a folder", In(|history| is_damaged(history, Damage::Folder))),
    (
        "packed by `git gc`",
        In(|history| any_store(history, |event| matches!(event, StoreEvent::Collected))),
    ),
    (
        "another time of the last sweep",
        In(|history| any_store(history, |event| matches!(event, StoreEvent::Marker { .. }))),
    ),
    (
        "a v1 repository",
        In(|history| any_store(history, |event| matches!(event, StoreEvent::Repository { .. }))),
    ),
    (
        "a v1 archive",
        In(|history| any_store(history, |event| matches!(event, StoreEvent::Archive { .. }))),
    ),
    (
        "a file of something else",
        In(|history| any_store(history, |event| matches!(event, StoreEvent::Stray))),
    ),
    (
        "a folder that only looks like ours",
        In(|history| any_store(history, |event| matches!(event, StoreEvent::Lookalike { .. }))),
    ),
    ("damage together with agent state", Never("no rule decides how damage affects agent state")),
    (
        "damage together with an injection",
        In(|history| {
            let is_any_damaged = Damage::ALL.into_iter().any(|how| is_damaged(history, how));
            is_any_damaged && injects(history, |_| true)
        }),
    ),
    (
        "on a file system without links or permissions",
        Never("the sandbox is on the file system of the machine"),
    ),
];

pub const CONFIGURATION: &[(&str, Occurrence)] = &[
    ("a configuration file", In(|history| configures(history, "checkpoints"))),
    ("`enabled`", In(|history| configures(history, "enabled"))),
    ("`max_snapshots`", In(|history| configures(history, "max_snapshots"))),
    ("`max_total_size_mb`", In(|history| configures(history, "max_total_size_mb"))),
    ("`max_file_size_mb`", In(|history| configures(history, "max_file_size_mb"))),
    ("`auto_prune`", In(|history| configures(history, "auto_prune"))),
    ("`retention_days`", In(|history| configures(history, "retention_days"))),
    ("`delete_orphans`", In(|history| configures(history, "delete_orphans"))),
    ("`min_interval_hours`", In(|history| configures(history, "min_interval_hours"))),
    ("automatic checkpoints off", In(|history| !history.settings.enabled)),
    ("at most 4 checkpoints", In(|history| history.settings.max_snapshots <= 4)),
    ("at most 6 files", In(|history| history.settings.max_files <= 6)),
    (
        "a file size limit of at most 40 bytes",
        In(|history| (1..=40).contains(&history.settings.max_file_bytes)),
    ),
    ("a total size limit", In(|history| history.settings.max_total_bytes > 0)),
    (
        "a file that is not YAML",
        Never("no rule says which values count then; `tests/command/configuration.rs` tries it"),
    ),
];

pub const CLOCK: &[(&str, Occurrence)] = &[
    (
        "passes",
        In(|history| {
            any_event(history, |event| matches!(event, Event::Advance { seconds } if *seconds > 0))
        }),
    ),
    (
        "passes by more than a day",
        In(|history| {
            any_event(
                history,
                |event| matches!(event, Event::Advance { seconds } if *seconds > 86_400),
            )
        }),
    ),
    (
        "stands still between two checkpoints",
        In(|history| !any_event(history, |event| matches!(event, Event::Advance { .. }))),
    ),
    (
        "steps back",
        In(|history| {
            any_event(history, |event| matches!(event, Event::Advance { seconds } if *seconds < 0))
        }),
    ),
    (
        "before 1970, or after 2106",
        Never("commits of git cannot hold every such time, and no rule decides about them"),
    ),
];

pub const PROCESS: &[(&str, Occurrence)] = &[
    (
        "starts again",
        In(|history| any_request(history, |request| matches!(request, Request::Reopen))),
    ),
    ("is killed", In(|history| injects(history, |event| event == InjectedEvent::Kill))),
    (
        "the power fails and names are lost",
        In(|history| injects(history, |event| event == InjectedEvent::PowerLoss(PowerLoss::Names))),
    ),
    (
        "the power fails and blocks are lost",
        In(|history| {
            injects(history, |event| event == InjectedEvent::PowerLoss(PowerLoss::Blocks))
        }),
    ),
    (
        "the power fails and nothing is lost",
        In(|history| {
            injects(history, |event| event == InjectedEvent::PowerLoss(PowerLoss::Nothing))
        }),
    ),
    ("one call fails", In(|history| injects(history, |event| event == InjectedEvent::Error))),
    ("one read fails", In(|history| injects(history, |event| event == InjectedEvent::ReadError))),
    (
        "one write is short",
        In(|history| injects(history, |event| event == InjectedEvent::ShortWrite)),
    ),
    (
        "there is no space for one write",
        In(|history| injects(history, |event| event == InjectedEvent::NoSpace)),
    ),
    (
        "the disk is full from a call on",
        In(|history| injects(history, |event| event == InjectedEvent::DiskFull)),
    ),
    (
        "files are edited during a request",
        In(|history| injects(history, |event| event == InjectedEvent::Hold)),
    ),
    (
        "a second process sends a request meanwhile",
        In(|history| injects(history, |event| event == InjectedEvent::Overlap)),
    ),
    (
        "several processes at the same time",
        Never(
            "no seed decides their order; `herma-conform concurrent` and one of 30 histories of `run` have them",
        ),
    ),
    ("is measured", In(|history| any_event(history, |event| matches!(event, Event::Measure)))),
    (
        "a sub-agent",
        In(|history| any_request(history, |request| matches!(request, Request::Spawn))),
    ),
    (
        "is the superuser",
        Never("the user of the machine runs the subject; the core in a test is an ordinary user"),
    ),
];
