//! The state of a running agent: named parts that can be captured and restored, and external actions,
//! which cannot.
//!
//! Authors of agents implement [`Part`]; [`FilePart`] keeps a part in a JSON file.

use super::envelope::{ActionNote, PartNote};
use super::{Compensations, External, FilePart, PartKind, envelopes, external, file_part};
use crate::disk::{Disk, canonical};
use crate::environment::Clock;
use crate::error::{Error, Result};
use crate::store::Store;
use crate::text::size;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest part, in bytes: whatever is captured can also be restored.
pub const PART_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// One part of an agent's state, such as its board of cards. Its text is JSON.
///
/// A restore of several parts is done in two phases: first each part is checked, and only if all can
/// be restored, each is.
pub trait Part: Send + Sync {
    /// Its name: lower-case letters, digits and `_`.
    fn name(&self) -> &str;

    /// What users see of it in a checkpoint, such as the number of cards.
    fn describe(&self, state: &str) -> Vec<(String, Value)>;

    /// The present state of the part.
    ///
    /// # Errors
    /// Why it cannot be captured, for people.
    fn capture(&self) -> std::result::Result<String, String>;

    /// Checks that the part could be restored to this state; it changes nothing.
    ///
    /// # Errors
    /// Why not, for people.
    fn check(&self, state: &str) -> std::result::Result<(), String>;

    /// Restores the part to this state, completely or not at all.
    ///
    /// # Errors
    /// Why not, for people.
    fn restore(&self, state: &str) -> std::result::Result<(), String>;

    /// The file whose lock processes take before they change this part, or read it together with others;
    /// `None` if only one process has the part. The caller of [`Part::restore`] holds the lock.
    fn lock_file(&self) -> Option<PathBuf> {
        None
    }
}

/// The state of an agent besides its files.
#[derive(Clone, Default)]
pub struct State {
    pub(super) parts: Vec<Arc<dyn Part>>,
    external: Option<Arc<External>>,
    /// The id of the current turn of the conversation.
    turn: Option<String>,
}

/// A captured part.
pub struct Captured {
    /// The name of the part.
    pub name: String,
    /// The captured state.
    pub text: String,
    /// What users see of that.
    pub about: Vec<(String, Value)>,
}

impl Captured {
    /// Its entry in an envelope, where `blob` is the id of the stored text.
    pub fn part_note(&self, blob: String) -> PartNote {
        PartNote { name: self.name.clone(), hash: blob, about: self.about.clone() }
    }
}

impl State {
    /// The state with these parts; later ones of the same name are skipped.
    pub fn of(parts: impl IntoIterator<Item = Arc<dyn Part>>) -> Self {
        let mut state = State::default();
        for part in parts {
            if state.part(part.name()).is_none() && is_name(part.name()) {
                state.parts.push(part);
            }
        }
        state
    }

    /// The four parts of the seed, each in its file below `folder`, and the external actions.
    pub fn in_files(
        disk: &Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        folder: &Path,
        compensations: Compensations,
    ) -> Self {
        let part = |kind| Arc::new(FilePart::new(disk.clone(), kind, folder)) as Arc<dyn Part>;
        let external = External::new(disk.clone(), clock, folder, compensations);
        State::of(PartKind::ALL.map(part)).with_external(Arc::new(external))
    }

    /// The same with the external actions of the agent.
    pub fn with_external(self, external: Arc<External>) -> Self {
        State { external: Some(external), ..self }
    }

    /// Reports why the files of the parts and of the external actions below `folder` cannot be read, for
    /// people.
    pub(crate) fn damaged_files(disk: &dyn Disk, folder: &Path) -> Vec<String> {
        let part = |kind: &PartKind| file_part::readable(disk, *kind, folder).err();
        let parts = PartKind::ALL.iter().filter_map(part);
        parts.chain(external::readable(disk, folder).err()).collect()
    }

    /// Numbers external actions above those that the checkpoints in the store below `base` record.
    pub(crate) fn use_store(&self, disk: Arc<dyn Disk>, base: PathBuf) {
        let Some(external) = self.external() else { return };
        external.set_last_known(move || {
            let store = Store::open(disk.as_ref(), &canonical(disk.as_ref(), &base))?;
            store.map_or(Ok(0), |store| envelopes::last_action(&store))
        });
    }

    /// Changes a part. The caller owns the state.
    ///
    /// # Errors
    /// [`Error::BadState`] where there is no such part, or it cannot be read or written.
    pub(crate) fn change<T>(&self, name: &str, work: impl FnOnce(&mut Value) -> T) -> Result<T> {
        let bad = |why| Error::BadState { part: name.to_owned(), why };
        let part = self.part(name);
        let part = part.ok_or_else(|| bad("this agent does not have it".to_owned()))?;
        let before = part.capture().map_err(bad)?;
        let mut value = serde_json::from_str(&before).map_err(|error| bad(error.to_string()))?;
        let result = work(&mut value);
        let after = format!("{value:#}\n");
        part.check(&after).and_then(|()| part.restore(&after)).map_err(bad)?;
        Ok(result)
    }

    /// Sets the current turn of the conversation, by an id that it keeps when turns around it are
    /// removed or compacted.
    // rule: agent/composes
    pub fn set_turn(&mut self, id: Option<String>) {
        self.turn = id;
    }

    /// Whether the agent has no state besides its files.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.external.is_none()
    }

    /// The names of its parts.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|part| part.name())
    }

    pub(super) fn turn(&self) -> Option<&str> {
        self.turn.as_deref()
    }

    pub(super) fn part(&self, name: &str) -> Option<&dyn Part> {
        self.parts.iter().find(|part| part.name() == name).map(AsRef::as_ref)
    }

    /// The external actions of the agent, if it reports them.
    pub fn external(&self) -> Option<&External> {
        self.external.as_deref()
    }

    /// Captures the parts; also returns what is wrong with those that cannot be captured.
    pub(super) fn capture(&self) -> (Vec<Captured>, Vec<String>) {
        let mut captured = Vec::new();
        let mut missing = Vec::new();
        for part in &self.parts {
            let name = part.name().to_owned();
            match part.capture() {
                Ok(text) if text.len() as u64 > PART_BYTES_MAX => missing.push(format!(
                    "the agent's {name} is not in this checkpoint: it is larger than {}",
                    size(PART_BYTES_MAX)
                )),
                Ok(text) => {
                    let about = part.describe(&text);
                    captured.push(Captured { name, text, about });
                }
                Err(why) => {
                    missing.push(format!("the agent's {name} is not in this checkpoint: {why}"))
                }
            }
        }
        (captured, missing)
    }

    /// The external actions after the action of that number, and the number of the last action.
    ///
    /// # Errors
    /// A log that is damaged, a disk that fails.
    pub(super) fn actions_after(&self, number: u64) -> Result<(Vec<ActionNote>, u64)> {
        let Some(external) = self.external() else { return Ok((Vec::new(), number)) };
        let actions = external.all()?;
        let last = actions.iter().map(|action| action.note.number).max().unwrap_or(number);
        let later =
            actions.into_iter().map(|action| action.note).filter(|note| note.number > number);
        Ok((later.collect(), last.max(number)))
    }
}

fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    !name.is_empty() && name.len() <= 64 && name.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Long(usize);

    impl Part for Long {
        fn name(&self) -> &str {
            "long"
        }

        fn describe(&self, _: &str) -> Vec<(String, Value)> {
            Vec::new()
        }

        fn capture(&self) -> std::result::Result<String, String> {
            Ok("1".repeat(self.0))
        }

        fn check(&self, _: &str) -> std::result::Result<(), String> {
            Ok(())
        }

        fn restore(&self, _: &str) -> std::result::Result<(), String> {
            Ok(())
        }
    }

    // rule: agent/parts
    #[test]
    fn capture_skips_a_part_that_is_too_large_to_be_restored() {
        let largest = PART_BYTES_MAX as usize;
        let captured = |bytes| State::of([Arc::new(Long(bytes)) as Arc<dyn Part>]).capture();
        let (found, missing) = captured(largest);
        assert_eq!((found.len(), missing.len()), (1, 0));
        let (found, missing) = captured(largest + 1);
        assert!(found.is_empty() && missing[0].contains("larger than"), "{missing:?}");
    }
}
