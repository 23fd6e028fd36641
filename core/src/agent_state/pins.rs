//! The pinned checkpoints of a project, each with a ref of its own:
//! `refs/pins/<hash>/<number>-<id>`. The number is 0 while the checkpoint is in the listed history.
//! When a limit would evict it, only its pin keeps it, and its number is larger than that of every
//! older pinned checkpoint.
//!
//! The ref keeps the checkpoint whatever happens to the history, also for other tools. See
//! docs/decisions/0025-agent-state-in-envelopes.md.

use super::Stored;
use crate::error::{Error, Result};
use crate::store::oid::Oid;
use crate::store::refs;
use crate::text::count;
use std::collections::BTreeMap;

fn folder_of(hash: &str) -> String {
    format!("{}/{hash}", refs::PINS)
}

fn name(hash: &str, number: u64, id: Oid) -> String {
    format!("{}/{number}-{id}", folder_of(hash))
}

fn parse_name(name: &str) -> Option<(u64, Oid)> {
    let (number, id) = name.split_once('-')?;
    Some((number.parse().ok()?, Oid::parse(id)?))
}

impl Stored<'_> {
    /// The pinned checkpoints, each with its number. Both are read from the names of the refs, so that a
    /// damaged ref costs only the objects that it keeps alive.
    // rule: agent/pinned
    pub fn pinned(&self) -> Result<BTreeMap<Oid, u64>> {
        let mut found = BTreeMap::new();
        for name in self.pin_names()? {
            if let Some((number, id)) = parse_name(&name) {
                let largest: &mut u64 = found.entry(id).or_default();
                *largest = number.max(*largest);
            }
        }
        Ok(found)
    }

    fn pin_names(&self) -> Result<Vec<String>> {
        refs::names_below(self.store.disk, &self.store.path, &folder_of(self.hash))
    }

    /// Pins a checkpoint. The caller holds the project's lock.
    pub fn pin(&self, id: Oid) -> Result<()> {
        match self.pinned()?.contains_key(&id) {
            true => Ok(()),
            false => self.put_pin(0, id),
        }
    }

    /// Unpins a checkpoint, and returns whether it was pinned. The caller holds the project's lock.
    pub fn unpin(&self, id: Oid) -> Result<bool> {
        let names = self.pin_names()?;
        let is_pin = |name: &&String| parse_name(name).is_some_and(|(_, pinned)| pinned == id);
        let mut was_pinned = false;
        for name in names.iter().filter(is_pin) {
            let name = format!("{}/{name}", folder_of(self.hash));
            refs::remove(self.store.disk, &self.store.path, &name)?;
            was_pinned = true;
        }
        Ok(was_pinned)
    }

    /// Keeps pinned checkpoints that are evicted from the history by their pins alone. The caller holds
    /// the project's lock.
    pub fn keep_by_pins(&self, oldest_first: &[Oid]) -> Result<()> {
        let mut last = self.pinned()?.into_values().max().unwrap_or_default();
        for id in oldest_first {
            last += 1;
            // The new ref first: a checkpoint with two pins has the larger number.
            self.put_pin(last, *id)?;
            refs::remove(self.store.disk, &self.store.path, &name(self.hash, 0, *id))?;
        }
        Ok(())
    }

    fn put_pin(&self, number: u64, id: Oid) -> Result<()> {
        refs::set(self.store.disk, &self.store.path, &name(self.hash, number, id), id)
    }

    /// A notice, if the pinned checkpoints, with a new one that `is_labelled`, are `most` or more.
    // rule: agent/pinned
    pub fn too_many_pins(&self, most: usize, is_labelled: bool) -> Result<Option<String>> {
        let pinned = self.pinned()?.len() + usize::from(is_labelled);
        let pinned_text = count(pinned, "checkpoint is", "checkpoints are");
        Ok((pinned >= most).then(|| {
            format!(
                "{pinned_text} pinned and never evicted, as many as max_snapshots ({most}) or more: \
                 unpin those that you no longer need"
            )
        }))
    }
}

/// Checks that a label is one line of text that cannot be taken for a number of the list, an id, a time, a
/// word of rollback or an option.
///
/// # Errors
/// [`Error::BadLabel`].
pub fn check_label(label: &str) -> Result<()> {
    let why = if label.trim().is_empty() {
        "it is empty"
    } else if label.chars().any(char::is_control) {
        "it contains a line break or another control character"
    } else if label.len() > LABEL_BYTES_MAX {
        "it is longer than 200 bytes"
    } else if is_like_a_list_name(label) {
        "it looks like a name of the list, such as 2 or u1"
    } else if is_like_an_id(label) {
        "it looks like an id"
    } else if is_like_a_time(label) {
        "it looks like an age or a time of day"
    } else if RESERVED.contains(&label) {
        "it is a subcommand of `herma rollback`"
    } else if label.starts_with('-') {
        "it looks like an option"
    } else {
        return Ok(());
    };
    Err(Error::BadLabel { label: label.to_owned(), why })
}

/// Whether a label could be taken for a number of the list, or for one of a pre-restore checkpoint.
fn is_like_a_list_name(label: &str) -> bool {
    let digits = label.strip_prefix('u').unwrap_or(label);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a label could be taken for an id: a word without digits such as "facade" could not.
fn is_like_an_id(label: &str) -> bool {
    let is_long = (4..=64).contains(&label.len());
    is_long
        && label.bytes().all(|byte| byte.is_ascii_hexdigit())
        && label.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a label could be taken for an age such as 10m or a time of day such as 14:30, also with the `@` before it.
fn is_like_a_time(label: &str) -> bool {
    let time = label.strip_prefix('@').unwrap_or(label);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    time.strip_suffix(['s', 'm', 'h', 'd', 'w']).is_some_and(is_number)
        || time.contains(':') && time.split(':').all(is_number)
}

const LABEL_BYTES_MAX: usize = 200;
/// Words with another meaning where a label is typed.
const RESERVED: [&str; 5] = ["diff", "list", "redo", "show", "undo"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;
    use crate::store::Store;

    #[test]
    fn keep_by_pins_gives_a_checkpoint_evicted_later_a_larger_number() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&SystemDisk, folder.path(), 0).unwrap();
        let stored = Stored::of(&store, "0123456789abcdef");
        let id = |digit: char| Oid::parse(&digit.to_string().repeat(40)).unwrap();
        for digit in ['1', '2', '3', '1'] {
            stored.pin(id(digit)).unwrap();
        }
        stored.keep_by_pins(&[id('2')]).unwrap();
        stored.keep_by_pins(&[id('3')]).unwrap();
        let expected = BTreeMap::from([(id('1'), 0), (id('2'), 1), (id('3'), 2)]);
        assert_eq!(stored.pinned().unwrap(), expected);
        assert!(stored.unpin(id('2')).unwrap());
        assert!(!stored.unpin(id('2')).unwrap());
    }

    #[test]
    fn check_label_refuses_numbers_ids_times_options_and_more_than_one_line() {
        for label in ["baseline-2026-w19", "before the migration", "facade", "ä", "12a", "w19", "u"]
            .into_iter()
            .chain(["10 m", "at 14:30", "v1:2", "m", ":", "@"])
        {
            check_label(label).unwrap();
        }
        let long = "x".repeat(201);
        for label in ["", "  ", "12", "u1", "undo", "3eda2bc", "2026", "a\nb", "--all", &long] {
            assert_eq!(check_label(label).unwrap_err().code(), "bad_label", "{label}");
        }
        for label in ["10m", "2h", "1d", "@10m", "10:00", "@14:30", "14:30:05"] {
            assert_eq!(check_label(label).unwrap_err().code(), "bad_label", "{label}");
        }
    }
}
