//! Whose hand changed a file: what stood at a path before a tool of the agent wrote there and
//! afterwards, as far as the agent told, and what restores did. All other changes are by another hand: a
//! person's, or another session's.
//!
//! `hands/<hash>.json` in the store holds this for one project. It is no part of any checkpoint: where
//! it is damaged or lost, it is not known whose hand it was, and nothing else is missing.

use crate::disk::atomic_write::write_whole;
use crate::disk::folder;
use crate::error::{Error, Result};
use crate::store::Store;
use crate::store::commit::Checkpoint;
use crate::store::repository::make_private;
use crate::store::snapshot::{Item, Mode};
use git2::Oid;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The oldest entries are forgotten where there are more.
const ENTRIES_MAX: usize = 10_000;
/// More bytes than that many take.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What stood at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// This, or nothing.
    Known(Option<Item>),
    /// Something that cannot be told.
    Unknown,
}

impl State {
    /// Whether these are known to differ.
    fn differs(self, other: State) -> bool {
        match (self, other) {
            (State::Known(one), State::Known(other)) => one != other,
            _ => false,
        }
    }

    fn to_text(self) -> String {
        match self {
            State::Unknown => "unknown".to_owned(),
            State::Known(None) => "nothing".to_owned(),
            State::Known(Some(Item { mode, blob })) => format!("{:o} {blob}", mode.bits()),
        }
    }

    fn of_text(text: &str) -> Self {
        let item = |text: &str| {
            let (bits, blob) = text.split_once(' ')?;
            let mode = Mode::from_bits(u32::from_str_radix(bits, 8).ok()?)?;
            Some(Item { mode, blob: Oid::from_str(blob).ok()? })
        };
        match text {
            "nothing" => State::Known(None),
            text => item(text).map_or(State::Unknown, |item| State::Known(Some(item))),
        }
    }
}

/// A change of one path that is nobody else's: by a tool of the agent, or by a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The path relative to the project, as bytes.
    path: Vec<u8>,
    /// What stood there before; none where this only says how a change that had begun ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    /// What stood there afterwards; none while the change goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

impl Change {
    /// A change of a path, from its begin or to its end or both.
    pub fn of(path: &[u8], before: Option<State>, after: Option<State>) -> Self {
        let text = |state: Option<State>| state.map(State::to_text);
        Change { path: path.to_vec(), before: text(before), after: text(after) }
    }
}

/// What happened, in its order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    /// The checkpoint of that id was taken.
    Checkpoint(String),
    Change(Change),
}

/// What is known of a project, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log(Vec<Entry>);

impl Log {
    /// The changes since a checkpoint; none where it is not known when that was taken.
    pub fn since(&self, id: Oid) -> Option<Vec<Change>> {
        let rest = &self.0[self.place_of(id)? + 1..];
        let change = |entry: &Entry| match entry {
            Entry::Change(change) => Some(change.clone()),
            Entry::Checkpoint(_) => None,
        };
        Some(rest.iter().filter_map(change).collect())
    }

    fn place_of(&self, id: Oid) -> Option<usize> {
        let checkpoint = Entry::Checkpoint(id.to_string());
        self.0.iter().position(|entry| *entry == checkpoint)
    }

    /// Forgets what was before every one of these checkpoints.
    fn trim(&mut self, listed: &[Checkpoint]) {
        let places: Option<Vec<usize>> = listed.iter().map(|one| self.place_of(one.id)).collect();
        let first = places.and_then(|places| places.into_iter().min()).unwrap_or_default();
        self.0.drain(..first.max(self.0.len().saturating_sub(ENTRIES_MAX)));
    }

    fn write(&self, store: &Store<'_>, hash: &str) -> Result<()> {
        let path = path_of(store, hash);
        let text = serde_json::to_string(self)
            .map_err(|error| Error::unusable(&path, error.to_string()))?;
        make_private(store.disk, &store.path.join(FOLDER))?;
        write_whole(store.disk, &store.path, &format!("hands-{hash}"), text.as_bytes(), &path)
    }
}

/// What is known of a project; none where no agent ever told anything, or where that is lost.
pub fn read(store: &Store<'_>, hash: &str) -> Option<Log> {
    let (bytes, _) = store.disk.read(&path_of(store, hash), BYTES_MAX).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Adds changes that happened now, in a project with these checkpoints, newest first. The project's
/// lock is held.
pub fn add(
    store: &Store<'_>,
    hash: &str,
    listed: &[Checkpoint],
    changes: impl IntoIterator<Item = Change>,
) -> Result<()> {
    if listed.is_empty() {
        return Ok(());
    }
    let all_before = || listed.iter().rev().map(|one| Entry::Checkpoint(one.id.to_string()));
    let mut log = read(store, hash).unwrap_or_else(|| Log(all_before().collect()));
    log.0.extend(changes.into_iter().map(Entry::Change));
    log.trim(listed);
    log.write(store, hash)
}

/// Notes that a checkpoint is about to be reported, where anything is known of the project.
pub fn mark(store: &Store<'_>, hash: &str, id: Oid) {
    let Some(mut log) = read(store, hash) else { return };
    log.0.push(Entry::Checkpoint(id.to_string()));
    if let Err(error) = log.write(store, hash) {
        forget(store, hash, &error);
    }
}

/// Something could not be noted: nothing is known any more, since what is left would blame the wrong
/// hand.
pub fn forget(store: &Store<'_>, hash: &str, error: &Error) {
    tracing::debug!("whose hand it was is not known any more: {error}");
    let _ = remove(store, hash);
}

/// Forgets what is known of a project.
pub fn remove(store: &Store<'_>, hash: &str) -> Result<()> {
    folder::remove_file(store.disk, &path_of(store, hash))
}

/// Whether another hand changed a path between these two states: whether any of its changes began
/// from something else than the one before it ended with.
pub fn is_by_another(changes: &[Change], path: &[u8], first: State, last: State) -> bool {
    let mut state = first;
    for change in changes.iter().filter(|change| change.path == path) {
        if let Some(before) = change.before.as_deref().map(State::of_text)
            && state.differs(before)
        {
            return true;
        }
        state = change.after.as_deref().map_or(State::Unknown, State::of_text);
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

    fn item(digit: char) -> State {
        let blob = Oid::from_str(&digit.to_string().repeat(40)).unwrap();
        State::Known(Some(Item { mode: Mode::Plain, blob }))
    }

    const NOTHING: State = State::Known(None);

    #[test]
    fn a_state_is_read_as_it_is_written() {
        let link = Item { mode: Mode::Link, blob: Oid::from_str(&"a".repeat(40)).unwrap() };
        for state in [item('1'), NOTHING, State::Unknown, State::Known(Some(link))] {
            assert_eq!(State::of_text(&state.to_text()), state);
        }
        for wrong in ["", "100644", "100644 x", "40000 1111111111111111111111111111111111111111"] {
            assert_eq!(State::of_text(wrong), State::Unknown, "{wrong}");
        }
    }

    #[test]
    fn another_hand_shows_where_a_change_does_not_begin_with_what_was_left() {
        let change = |before, after| Change::of(b"a", Some(before), Some(after));
        let by_another =
            |changes: &[Change], first, last| is_by_another(changes, b"a", first, last);
        assert!(!by_another(&[change(item('1'), item('2'))], item('1'), item('2')));
        assert!(by_another(&[change(item('1'), item('2'))], item('1'), item('3')));
        assert!(by_another(&[change(item('3'), item('2'))], item('1'), item('2')));
        let two = [change(item('1'), item('2')), change(item('3'), item('4'))];
        assert!(by_another(&two, item('1'), item('4')));
        assert!(by_another(&[], item('1'), NOTHING) && !by_another(&[], NOTHING, NOTHING));
        let elsewhere = [Change::of(b"b", Some(item('9')), Some(item('8')))];
        assert!(!by_another(&elsewhere, item('1'), item('1')));
    }

    #[test]
    fn what_is_not_known_is_nobody_elses() {
        let begun = [Change::of(b"a", Some(item('1')), None)];
        assert!(!is_by_another(&begun, b"a", item('1'), item('2')));
        let ended = [Change::of(b"a", None, Some(item('2')))];
        assert!(!is_by_another(&ended, b"a", item('1'), item('2')));
        assert!(is_by_another(&ended, b"a", item('1'), item('3')));
        assert!(!is_by_another(&[], b"a", State::Unknown, item('1')));
    }
}
