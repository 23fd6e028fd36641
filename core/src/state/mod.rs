//! The state of an agent beside its files, as far as checkpoints carry it: named parts that can be
//! captured and restored, and what the agent did outside, which cannot.
//!
//! [`Part`] is what an author of an agent implements; [`FilePart`] keeps one in a file of JSON.
//! When parts are captured and restored is up to the manager.

mod external;
mod file_part;
mod kinds;
mod owner;

pub use external::{
    Action, Compensated, Compensation, Compensations, Decided, External, INTERRUPTED,
    Listed as ListedAction, Standing,
};
pub use file_part::{FilePart, LOCK_FILE};
pub use kinds::{Kind as PartKind, TAIL_MAX};

pub(crate) use external::{Since, readable as readable_log};
pub(crate) use file_part::readable as readable_part;
pub(crate) use owner::{Owner, Take};

use crate::disk::Disk;
use crate::environment::Clock;
use crate::error::Result;
use crate::store::envelope::{ActionNote, PartNote};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// No part is larger: what is captured can also be restored.
pub(crate) const PART_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// One part of an agent's state, such as its board of cards. Its text is JSON.
///
/// A restore of several parts is done in two phases: first each is asked whether it could be
/// restored, and only where all could, each is.
pub trait Part: Send + Sync {
    /// Its name: lower-case letters, digits and `_`.
    fn name(&self) -> &str;

    /// What a person sees of it in a checkpoint, such as the number of cards.
    fn describe(&self, state: &str) -> Vec<(String, Value)>;

    /// What it is now.
    ///
    /// # Errors
    /// Why that cannot be said, for people.
    fn capture(&self) -> std::result::Result<String, String>;

    /// Whether it could be restored to this; it changes nothing.
    ///
    /// # Errors
    /// Why not, for people.
    fn check(&self, state: &str) -> std::result::Result<(), String>;

    /// Becomes this, as a whole or not at all.
    ///
    /// # Errors
    /// Why not, for people.
    fn restore(&self, state: &str) -> std::result::Result<(), String>;

    /// The file whose lock processes take in turn before they change this part, or read it together with
    /// others; none where only one process has it. Whoever calls [`Part::restore`] holds the lock.
    fn lock_file(&self) -> Option<PathBuf> {
        None
    }
}

/// What an agent has beside its files.
#[derive(Clone, Default)]
pub struct State {
    parts: Vec<Arc<dyn Part>>,
    external: Option<Arc<External>>,
    /// The turn of the conversation that goes on, by its id.
    turn: Option<String>,
}

/// What was captured of a part.
pub(crate) struct Captured {
    /// The name of the part.
    pub name: String,
    /// What it is.
    pub text: String,
    /// What a person sees of that.
    pub about: Vec<(String, Value)>,
}

impl Captured {
    /// What an envelope says of it, where `blob` holds it.
    pub fn noted(&self, blob: String) -> PartNote {
        PartNote { name: self.name.clone(), hash: blob, about: self.about.clone() }
    }
}

impl State {
    /// The state that these parts are; later ones of the same name are passed over.
    pub fn of(parts: impl IntoIterator<Item = Arc<dyn Part>>) -> Self {
        let mut state = State::default();
        for part in parts {
            if state.part(part.name()).is_none() && is_name(part.name()) {
                state.parts.push(part);
            }
        }
        state
    }

    /// The four parts of the seed, each in its file below `folder`, and what is done outside.
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

    /// The same with what the agent does outside.
    pub fn with_external(self, external: Arc<External>) -> Self {
        State { external: Some(external), ..self }
    }

    /// The turn of the conversation that goes on now, by an id that it keeps whatever becomes of the
    /// turns around it.
    // rule: agent/composes
    pub fn set_turn(&mut self, id: Option<String>) {
        self.turn = id;
    }

    /// Whether the agent has nothing beside its files.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.external.is_none()
    }

    /// The names of its parts.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|part| part.name())
    }

    pub(crate) fn turn(&self) -> Option<&str> {
        self.turn.as_deref()
    }

    pub(crate) fn part(&self, name: &str) -> Option<&dyn Part> {
        self.parts.iter().find(|part| part.name() == name).map(AsRef::as_ref)
    }

    /// What the agent does outside, if it tells.
    pub fn external(&self) -> Option<&External> {
        self.external.as_deref()
    }

    /// What can be captured of the parts, and what is wrong with the others.
    pub(crate) fn capture(&self) -> (Vec<Captured>, Vec<String>) {
        let (mut captured, mut missing) = (Vec::new(), Vec::new());
        for part in &self.parts {
            let name = part.name().to_owned();
            match part.capture() {
                Ok(text) if text.len() as u64 > PART_BYTES_MAX => missing.push(format!(
                    "the agent's {name} is in no checkpoint: it is larger than {PART_BYTES_MAX} bytes"
                )),
                Ok(text) => {
                    let about = part.describe(&text);
                    captured.push(Captured { name, text, about });
                }
                Err(why) => missing.push(format!("the agent's {name} is in no checkpoint: {why}")),
            }
        }
        (captured, missing)
    }

    /// What the agent did outside after that action, and the number of the last.
    ///
    /// # Errors
    /// A log that is damaged, a disk that fails.
    pub(crate) fn actions_after(&self, number: u64) -> Result<(Vec<ActionNote>, u64)> {
        let Some(external) = self.external() else { return Ok((Vec::new(), number)) };
        let all = external.all()?;
        let last = all.iter().map(|one| one.note.number).max().unwrap_or(number);
        let later = all.into_iter().map(|one| one.note).filter(|one| one.number > number);
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
    fn a_part_that_could_not_be_restored_is_not_captured() {
        let most = PART_BYTES_MAX as usize;
        let captured = |bytes| State::of([Arc::new(Long(bytes)) as Arc<dyn Part>]).capture();
        let (found, missing) = captured(most);
        assert_eq!((found.len(), missing.len()), (1, 0));
        let (found, missing) = captured(most + 1);
        assert!(found.is_empty() && missing[0].contains("larger than"), "{missing:?}");
    }
}
