//! Simpler values for the operations that remain when no more can be deleted.
//!
//! Every proposal is strictly simpler than the operation that it replaces, by [`weight`], so that the
//! search ends.

use super::edits::{self, SENTINEL};
use crate::history::{
    CallPosition, DatabaseEnd, DatabaseWrite, Event, History, InjectedEvent, Injection, Operation,
    StoreEvent, Target,
};
use herma_model::bytes::SHOWN_MAX;
use herma_model::store_edit::Damage;
use herma_model::{ByteString, Edit, Piece, Request, Settings};

/// A path in more folders is tried in one folder less.
const FOLDERS_MANY: usize = 8;
/// A path of more bytes is tried in one folder less.
const PATH_LONG: usize = 400;

/// Functions that each reset one setting to its default.
pub const SETTINGS_TO_DEFAULT: [fn(&mut Settings, &Settings); 9] = [
    |settings, default| settings.enabled = default.enabled,
    |settings, default| settings.max_snapshots = default.max_snapshots,
    |settings, default| settings.max_file_bytes = default.max_file_bytes,
    |settings, default| settings.max_files = default.max_files,
    |settings, default| settings.max_total_bytes = default.max_total_bytes,
    |settings, default| settings.auto_prune = default.auto_prune,
    |settings, default| settings.retention_days = default.retention_days,
    |settings, default| settings.delete_orphans = default.delete_orphans,
    |settings, default| settings.min_interval_hours = default.min_interval_hours,
];

/// The settings with one limit lowered that is not the default, to the minimum or by a fraction. A
/// lower limit is reached with fewer operations, so that searches end at the same history.
pub fn lower_limits(settings: &Settings) -> Vec<Settings> {
    let default = Settings::default();
    let mut proposals = Vec::new();
    for snapshots in [1, 2] {
        if settings.max_snapshots != default.max_snapshots && snapshots < settings.max_snapshots {
            proposals.push(Settings { max_snapshots: snapshots, ..settings.clone() });
        }
    }
    if settings.max_files != default.max_files && settings.max_files > 1 {
        proposals.push(Settings { max_files: 1, ..settings.clone() });
    }
    let bytes = settings.max_total_bytes;
    for fewer_bytes in [bytes / 2, bytes - bytes / 4, bytes - bytes / 8] {
        if bytes != default.max_total_bytes && fewer_bytes > 0 && fewer_bytes < bytes {
            proposals.push(Settings { max_total_bytes: fewer_bytes, ..settings.clone() });
        }
    }
    proposals
}

/// The history with the number of every target from operation `index` on lowered by one; `None` if there
/// is none. This is what the targets meant before an operation that took a checkpoint was deleted.
pub fn with_earlier_targets(history: &History, index: usize) -> Option<History> {
    let mut shifted = history.clone();
    for operation in shifted.operations.iter_mut().skip(index) {
        if let Operation::Event(Event::Store(StoreEvent::Stored { back, .. })) = operation {
            *back = back.saturating_sub(1);
        }
        let Operation::Ask(request) = operation else { continue };
        let Some(target) = request.target_mut() else { continue };
        match target {
            Target::Number(number) if *number > 1 => *number -= 1,
            Target::Id { back, .. } | Target::TreeOf { back, .. } | Target::BlobOf { back, .. } => {
                *back = back.saturating_sub(1);
            }
            Target::Number(_) | Target::Text(_) => {}
        }
    }
    (shifted != *history).then_some(shifted)
}

/// The history with limits that are not the default lowered by one; `None` if there is none. This is
/// what the limits meant before an operation that counted towards them was deleted.
pub fn with_lower_limits(history: &History) -> Option<History> {
    let mut lowered = history.clone();
    let default = Settings::default();
    for (limit, default) in [
        (&mut lowered.settings.max_snapshots, default.max_snapshots),
        (&mut lowered.settings.max_files, default.max_files),
    ] {
        if *limit != default && *limit > 1 {
            *limit -= 1;
        }
    }
    (lowered != *history).then_some(lowered)
}

/// Simpler forms of one operation, the simplest first.
pub fn simpler(operation: &Operation) -> Vec<Operation> {
    let mut proposals = proposals(operation);
    proposals.retain(|proposal| weight(proposal) < weight(operation));
    proposals.sort_by_cached_key(weight);
    proposals
}

/// The complexity of an operation: first whether it depends on more than its own values, then the length
/// of its text.
fn weight(operation: &Operation) -> (usize, usize, usize) {
    // These depend on the turn, the last sweep, the complete history, a second path or a file.
    let depends = matches!(
        operation,
        Operation::Ask(Request::EnsureCheckpoint { .. } | Request::Sweep)
            | Operation::Event(Event::RestoreEach { .. })
            | Operation::Edit(
                Edit::Rename { .. }
                    | Edit::SetPermissions { .. }
                    | Edit::SetFolderPermissions { .. }
                    | Edit::SetFolderReadable { .. }
                    | Edit::Rewrite { .. }
            )
    ) || matches!(operation, Operation::Edit(Edit::HardLink { to, .. }) if **to != *SENTINEL);
    // The first project is the simplest, however long its name is.
    let text = format!("{operation:?}").replace("work/alpha", "work/a");
    // Escaped bytes are harder to read than their length suggests.
    let length = text.len() + 4 * text.matches('\\').count();
    let not_shown = match operation {
        Operation::Edit(Edit::Write { content, .. } | Edit::Rewrite { content, .. }) => {
            content.len().saturating_sub(SHOWN_MAX)
        }
        Operation::Edit(Edit::Fill { files, .. }) => *files as usize,
        _ => 0,
    };
    let length = length + not_shown;
    (usize::from(depends), length, text.bytes().map(usize::from).sum())
}

fn proposals(operation: &Operation) -> Vec<Operation> {
    match operation.clone() {
        Operation::Edit(edit) => edits::proposals(edit).into_iter().map(Operation::Edit).collect(),
        Operation::Event(event) => event_proposals(event),
        Operation::Ask(request) => {
            let mut proposals = with_other_names(&request);
            proposals.extend(other_values(request));
            proposals
        }
    }
}

/// The request with another directory or checkpoint.
fn with_other_names(request: &Request<Target>) -> Vec<Operation> {
    let mut proposals = Vec::new();
    let mut changed = request.clone();
    for number in 1..=3 {
        if let Some(target) = changed.target_mut() {
            *target = Target::Number(number);
            proposals.push(Operation::Ask(changed.clone()));
        }
    }
    for path in request.dir().into_iter().flat_map(paths) {
        let mut changed = request.clone();
        if let Some(dir) = changed.dir_mut() {
            *dir = path;
            proposals.push(Operation::Ask(changed));
        }
    }
    proposals
}

/// The request with simpler values other than its directory and checkpoint, or a simpler request.
fn other_values(request: Request<Target>) -> Vec<Operation> {
    let checkpoint = |dir| Request::Checkpoint { dir, reason: "r".into() };
    let requests = match request {
        Request::EnsureCheckpoint { dir, .. } => {
            let reason = "r".into();
            vec![Request::EnsureCheckpoint { dir: dir.clone(), reason }, checkpoint(dir)]
        }
        Request::Checkpoint { dir, .. } => vec![checkpoint(dir)],
        Request::Label { dir, .. } => {
            vec![Request::Label { dir: dir.clone(), label: "l".into() }, checkpoint(dir)]
        }
        Request::SetState { part, .. } => {
            [1, 2].map(|value| Request::SetState { part, value: value.into() }).to_vec()
        }
        Request::Restore { dir, target, exact, force } => {
            let bits = [(false, false), (exact, false), (false, force)];
            let restore = |(exact, force)| Request::Restore {
                dir: dir.clone(),
                target: target.clone(),
                exact,
                force,
            };
            let mut restores = bits.map(restore).to_vec();
            // A restore takes a checkpoint first, which may be all that matters.
            restores.push(checkpoint(dir));
            restores
        }
        Request::RestoreFile { dir, target, .. } => ["a", "b"]
            .map(|path| Request::RestoreFile {
                dir: dir.clone(),
                target: target.clone(),
                path: path.into(),
            })
            .to_vec(),
        Request::Prune { retention_days, max_total_bytes, delete_orphans } => [
            (0, 0, false),
            (0, 0, delete_orphans),
            (0, max_total_bytes, delete_orphans),
            (retention_days, 0, delete_orphans),
            (retention_days, max_total_bytes, false),
            (1, max_total_bytes, delete_orphans),
            (retention_days, max_total_bytes / 2, delete_orphans),
            (retention_days, max_total_bytes - max_total_bytes / 4, delete_orphans),
        ]
        .map(|(retention_days, max_total_bytes, delete_orphans)| Request::Prune {
            retention_days,
            max_total_bytes,
            delete_orphans,
        })
        .to_vec(),
        // The time of a sweep may be all that matters.
        Request::Sweep => return vec![Event::Store(StoreEvent::Marker { hours: Some(0) }).into()],
        _ => Vec::new(),
    };
    requests.into_iter().map(Operation::Ask).collect()
}

fn event_proposals(event: Event) -> Vec<Operation> {
    match event {
        Event::Advance { seconds } => [seconds.signum(), seconds / 2]
            .map(|seconds| Event::Advance { seconds }.into())
            .to_vec(),
        Event::RestoreEach { dir } => {
            let restore = |number| Request::Restore {
                dir: dir.clone(),
                target: Target::Number(number),
                exact: false,
                force: false,
            };
            let dirs = paths(&dir).into_iter().map(|dir| Event::RestoreEach { dir }.into());
            dirs.chain((1..=3).map(|number| restore(number).into())).collect()
        }
        Event::Database(database) => {
            let fewer =
                [1, database.rows / 2].map(|rows| DatabaseWrite { rows, ..database.clone() });
            let closed = DatabaseWrite { end: DatabaseEnd::Closed, ..database };
            fewer
                .into_iter()
                .chain([closed])
                .map(|database| Event::Database(database).into())
                .collect()
        }
        Event::Inject(injection) => injection_proposals(&injection),
        Event::Measure => Vec::new(),
        Event::Store(event) => {
            store_proposals(event).into_iter().map(|event| Event::Store(event).into()).collect()
        }
    }
}

/// The injection at an earlier call, with simpler edits or fewer processes, or a kill at the first call. A
/// power loss after the answer is simpler than at any call, and so are several processes without a kill.
fn injection_proposals(injection: &Injection) -> Vec<Operation> {
    let is_simple_at_end =
        matches!(injection.what, InjectedEvent::PowerLoss(_) | InjectedEvent::Together(_));
    let earlier = match injection.call {
        CallPosition::Call(call) => vec![1, call / 2, call.saturating_sub(1)],
        CallPosition::End if is_simple_at_end => Vec::new(),
        CallPosition::End | CallPosition::Every | CallPosition::Spread(_) => vec![1],
    };
    let at_end =
        (is_simple_at_end && injection.call != CallPosition::End).then_some(CallPosition::End);
    let earlier = earlier.into_iter().filter(|call| *call > 0).map(CallPosition::Call);
    let mut proposed: Vec<Injection> = at_end
        .into_iter()
        .chain(earlier)
        .map(|call| Injection { call, ..injection.clone() })
        .collect();
    if let InjectedEvent::Together(processes) = injection.what {
        let fewer = InjectedEvent::Together(processes - 1);
        proposed.push(Injection { what: fewer, ..injection.clone() });
    }
    for (index, operation) in injection.meanwhile.iter().enumerate() {
        let mut fewer = injection.clone();
        fewer.meanwhile.remove(index);
        proposed.push(fewer);
        for simpler in proposals(operation) {
            let mut changed = injection.clone();
            changed.meanwhile[index] = simpler;
            proposed.push(changed);
        }
    }
    if injection.meanwhile.is_empty() {
        proposed.push(Injection::new(CallPosition::Call(1), InjectedEvent::Kill));
    }
    proposed.retain(|injection| injection.is_possible().is_ok());
    proposed.into_iter().map(|injection| Event::Inject(injection).into()).collect()
}

/// Simpler paths to replace `path`: a project, or a plain name in the same project.
pub fn paths(path: &ByteString) -> Vec<ByteString> {
    let mut found = Vec::new();
    for project in ["work/alpha", "work/beta"] {
        let is_inside = path.strip_prefix(project.as_bytes()).is_some_and(|rest| !rest.is_empty());
        if is_inside {
            found.extend(["a", "b"].map(|name| format!("{project}/{name}").as_str().into()));
        } else {
            found.push(project.into());
        }
    }
    found.extend(shallower(path));
    found
}

/// A path in many folders, or of many bytes, without one of its folders.
fn shallower(path: &ByteString) -> Option<ByteString> {
    let names: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    let is_deep = names.len() > FOLDERS_MANY;
    let is_long = path.len() > PATH_LONG && names.len() > 3;
    (is_deep || is_long).then(|| ByteString::from([&names[..2], &names[3..]].concat().join(&b'/')))
}

fn store_proposals(event: StoreEvent) -> Vec<StoreEvent> {
    match event {
        StoreEvent::Repository { dir, days } => {
            let dirs = paths(&dir).into_iter();
            let mut proposals: Vec<_> =
                dirs.map(|dir| StoreEvent::Repository { dir, days }).collect();
            proposals.push(StoreEvent::Repository { dir, days: days.min(1) });
            proposals
        }
        StoreEvent::Archive { days } => vec![StoreEvent::Archive { days: days.min(1) }],
        StoreEvent::Metadata { dir, .. } => {
            vec![StoreEvent::Metadata { dir, damage: Damage::Removed }]
        }
        StoreEvent::Index { dir, .. } => vec![StoreEvent::Index { dir, damage: Damage::Removed }],
        StoreEvent::Stored { dir, back, piece, damage } => {
            let stored = |dir: &ByteString, back, piece: &Piece, damage| StoreEvent::Stored {
                dir: dir.clone(),
                back,
                piece: piece.clone(),
                damage,
            };
            let mut proposals: Vec<_> =
                paths(&dir).iter().map(|dir| stored(dir, back, &piece, damage)).collect();
            proposals.push(stored(&dir, 0, &piece, damage));
            proposals.push(stored(&dir, back, &piece, Damage::Removed));
            let pieces =
                [Piece::File("a".into()), Piece::File("b".into()), Piece::Folder("".into())];
            proposals.extend(pieces.iter().map(|piece| stored(&dir, back, piece, damage)));
            proposals
        }
        StoreEvent::Ref { dir, damage } => {
            let dirs = paths(&dir).into_iter();
            let mut proposals: Vec<_> = dirs.map(|dir| StoreEvent::Ref { dir, damage }).collect();
            proposals.push(StoreEvent::Ref { dir, damage: Damage::Removed });
            proposals
        }
        StoreEvent::File { file, .. } => {
            vec![StoreEvent::File { file, damage: Damage::Removed }]
        }
        StoreEvent::AnyFile { part, .. } => {
            vec![StoreEvent::AnyFile { part, damage: Damage::Removed }]
        }
        StoreEvent::Marker { .. } => vec![StoreEvent::Marker { hours: None }],
        StoreEvent::Lookalike { of, days } if days > 0 => {
            vec![StoreEvent::Lookalike { of, days: 0 }]
        }
        StoreEvent::Lookalike { .. } | StoreEvent::Stray | StoreEvent::Collected => Vec::new(),
    }
}
