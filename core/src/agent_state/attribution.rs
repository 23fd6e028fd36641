//! Attribution: records the state of paths before and after tools of the agent wrote to them, as far as
//! the agent reported it, and what restores wrote. All other changes are external edits: by the user or
//! by another session.
//!
//! `hands/<hash>.json` in the store is the record of one project. It is not part of a checkpoint: if it
//! is damaged or lost, attribution is unknown, and nothing else is missing.

use super::Stored;
use crate::disk::atomic_write::write_atomically;
use crate::disk::folder;
use crate::error::{Error, Result};
use crate::store::commit::Checkpoint;
use crate::store::oid::Oid;
use crate::store::snapshot::{self, Difference, Item, Mode, Snapshot};
use crate::store::{Store, make_private};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The most entries of a record; older entries are removed.
const ENTRIES_MAX: usize = 10_000;
/// Size limit of a record in bytes; that many entries take less.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The state of a path at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathState {
    /// A file or link, or nothing.
    Known(Option<Item>),
    /// Anything.
    Unknown,
}

impl PathState {
    /// Whether two states are known to differ.
    fn differs(self, right: PathState) -> bool {
        match (self, right) {
            (PathState::Known(left), PathState::Known(right)) => left != right,
            _ => false,
        }
    }

    fn to_text(self) -> String {
        match self {
            PathState::Unknown => "unknown".to_owned(),
            PathState::Known(None) => "nothing".to_owned(),
            PathState::Known(Some(Item { mode, blob })) => format!("{:o} {blob}", mode.bits()),
        }
    }

    fn of_text(text: &str) -> Self {
        let item = |text: &str| {
            let (bits, blob) = text.split_once(' ')?;
            let mode = Mode::from_bits(u32::from_str_radix(bits, 8).ok()?)?;
            Some(Item { mode, blob: Oid::parse(blob)? })
        };
        match text {
            "nothing" => PathState::Known(None),
            text => item(text).map_or(PathState::Unknown, |item| PathState::Known(Some(item))),
        }
    }
}

/// A change of one path by a tool of the agent or by a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The path relative to the project, as bytes.
    path: Vec<u8>,
    /// The state before; `None` if this is only the end of a change that was recorded when it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    /// The state afterwards; `None` while the change is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

impl Change {
    /// The start of a change, its end, or both.
    pub fn of(path: &[u8], before: Option<PathState>, after: Option<PathState>) -> Self {
        let text = |state: Option<PathState>| state.map(PathState::to_text);
        Change { path: path.to_vec(), before: text(before), after: text(after) }
    }

    /// The changes from one snapshot to another.
    pub fn between(before: &Snapshot, after: &Snapshot) -> Vec<Change> {
        let change = |(path, difference): (&Vec<u8>, Difference)| {
            let Difference { old, new } = difference;
            Change::of(path, Some(PathState::Known(old)), Some(PathState::Known(new)))
        };
        snapshot::differences(before, after).into_iter().map(change).collect()
    }
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LogEntry {
    /// The checkpoint of that id was taken.
    Checkpoint(String),
    Change(Change),
}

/// The recorded events of a project, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Log(Vec<LogEntry>);

impl Log {
    /// The changes since a checkpoint; `None` if the checkpoint is not in the record.
    fn since(&self, id: Oid) -> Option<Vec<Change>> {
        let rest = &self.0[self.position_of(id)? + 1..];
        let change = |entry: &LogEntry| match entry {
            LogEntry::Change(change) => Some(change.clone()),
            LogEntry::Checkpoint(_) => None,
        };
        Some(rest.iter().filter_map(change).collect())
    }

    fn position_of(&self, id: Oid) -> Option<usize> {
        let checkpoint = LogEntry::Checkpoint(id.to_string());
        self.0.iter().position(|entry| *entry == checkpoint)
    }

    /// Removes the events before the oldest of these checkpoints.
    fn trim(&mut self, listed: &[Checkpoint]) {
        let position = |checkpoint: &Checkpoint| self.position_of(checkpoint.id);
        let positions: Option<Vec<usize>> = listed.iter().map(position).collect();
        let first = positions.and_then(|positions| positions.into_iter().min()).unwrap_or_default();
        self.0.drain(..first.max(self.0.len().saturating_sub(ENTRIES_MAX)));
    }

    fn write(&self, store: &Store<'_>, hash: &str) -> Result<()> {
        let path = path_of(store, hash);
        let text = serde_json::to_string(self)
            .map_err(|error| Error::unusable(&path, error.to_string()))?;
        make_private(store.disk, &store.path.join(FOLDER))?;
        write_atomically(store.disk, &store.path, &format!("hands-{hash}"), text.as_bytes(), &path)
    }
}

impl Stored<'_> {
    /// Reads the record of the project; `None` if no agent ever reported a change, or the record is lost.
    fn read_log(&self) -> Option<Log> {
        let (bytes, _) = self.store.disk.read(&path_of(self.store, self.hash), BYTES_MAX).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// The recorded changes since a checkpoint; `None` if they are not known.
    pub fn changes_since(&self, id: Oid) -> Option<Vec<Change>> {
        self.read_log().and_then(|log| log.since(id))
    }

    /// Records changes that just happened in the project with these checkpoints, newest first. The project's
    /// lock is held.
    pub fn record(
        &self,
        listed: &[Checkpoint],
        changes: impl IntoIterator<Item = Change>,
    ) -> Result<()> {
        if listed.is_empty() {
            return Ok(());
        }
        let checkpoint_entry =
            |checkpoint: &Checkpoint| LogEntry::Checkpoint(checkpoint.id.to_string());
        let new_log = || Log(listed.iter().rev().map(checkpoint_entry).collect());
        let mut log = self.read_log().unwrap_or_else(new_log);
        log.0.extend(changes.into_iter().map(LogEntry::Change));
        log.trim(listed);
        log.write(self.store, self.hash)
    }

    /// Records the changes by a restore, if the project has a record; `listed` returns its checkpoints.
    pub fn record_restore(
        &self,
        listed: impl FnOnce() -> Result<Vec<Checkpoint>>,
        changes: impl IntoIterator<Item = Change>,
    ) {
        if self.read_log().is_none() {
            return;
        }
        if let Err(error) = listed().and_then(|listed| self.record(&listed, changes)) {
            self.forget_changes(&error);
        }
    }

    /// Records that a checkpoint is about to be reported, if the project has a record.
    pub(super) fn mark(&self, id: Oid) {
        let Some(mut log) = self.read_log() else { return };
        log.0.push(LogEntry::Checkpoint(id.to_string()));
        if let Err(error) = log.write(self.store, self.hash) {
            self.forget_changes(&error);
        }
    }

    /// Removes the record because an event could not be recorded: without it, changes would be attributed
    /// wrongly.
    fn forget_changes(&self, error: &Error) {
        tracing::debug!("the attribution of changes was discarded: {error}");
        let _ = self.remove_attribution();
    }

    /// Removes the record of the project.
    pub fn remove_attribution(&self) -> Result<()> {
        folder::remove_file(self.store.disk, &path_of(self.store, self.hash))
    }
}

/// Whether an external edit changed a path between two states: whether any recorded change began with
/// a state that differs from the end of the change before it.
// rule: restore/other-hands: decides
pub fn is_external_edit(
    changes: &[Change],
    path: &[u8],
    first: PathState,
    last: PathState,
) -> bool {
    let mut state = first;
    for change in changes.iter().filter(|change| change.path == path) {
        if let Some(before) = change.before.as_deref().map(PathState::of_text)
            && state.differs(before)
        {
            return true;
        }
        state = change.after.as_deref().map_or(PathState::Unknown, PathState::of_text);
    }
    state.differs(last)
}

const FOLDER: &str = "hands";

fn path_of(store: &Store<'_>, hash: &str) -> PathBuf {
    store.path.join(FOLDER).join(format!("{hash}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(digit: char) -> PathState {
        let blob = Oid::parse(&digit.to_string().repeat(40)).unwrap();
        PathState::Known(Some(Item { mode: Mode::Plain, blob }))
    }

    const NOTHING: PathState = PathState::Known(None);

    #[test]
    fn of_text_reads_what_to_text_wrote() {
        let link = Item { mode: Mode::Link, blob: Oid::parse(&"a".repeat(40)).unwrap() };
        for state in [item('1'), NOTHING, PathState::Unknown, PathState::Known(Some(link))] {
            assert_eq!(PathState::of_text(&state.to_text()), state);
        }
        for wrong in ["", "100644", "100644 x", "40000 1111111111111111111111111111111111111111"] {
            assert_eq!(PathState::of_text(wrong), PathState::Unknown, "{wrong}");
        }
    }

    #[test]
    fn is_by_another_finds_a_change_that_does_not_begin_with_the_state_before() {
        let change = |before, after| Change::of(b"a", Some(before), Some(after));
        let by_another =
            |changes: &[Change], first, last| is_external_edit(changes, b"a", first, last);
        assert!(!by_another(&[change(item('1'), item('2'))], item('1'), item('2')));
        assert!(by_another(&[change(item('1'), item('2'))], item('1'), item('3')));
        assert!(by_another(&[change(item('3'), item('2'))], item('1'), item('2')));
        let changes = [change(item('1'), item('2')), change(item('3'), item('4'))];
        assert!(by_another(&changes, item('1'), item('4')));
        assert!(by_another(&[], item('1'), NOTHING) && !by_another(&[], NOTHING, NOTHING));
        let elsewhere = [Change::of(b"b", Some(item('9')), Some(item('8')))];
        assert!(!by_another(&elsewhere, item('1'), item('1')));
    }

    #[test]
    fn is_by_another_reports_no_external_edit_where_a_state_is_unknown() {
        let begun = [Change::of(b"a", Some(item('1')), None)];
        assert!(!is_external_edit(&begun, b"a", item('1'), item('2')));
        let ended = [Change::of(b"a", None, Some(item('2')))];
        assert!(!is_external_edit(&ended, b"a", item('1'), item('2')));
        assert!(is_external_edit(&ended, b"a", item('1'), item('3')));
        assert!(!is_external_edit(&[], b"a", PathState::Unknown, item('1')));
    }
}
