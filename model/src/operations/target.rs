//! Finding the checkpoint that a target names.

use crate::allowed::Refusal;
use crate::answer::Code;
use crate::place::Place;
use crate::rules;
use crate::target::{self, Target};
use crate::world::{Checkpoint, World};

/// The refusal of a project whose path holds something else now.
pub(super) const NOT_A_DIRECTORY: Refusal =
    Refusal { codes: &[Code::NotADirectory], rule: &rules::SCOPE_NO_DIRECTORY };

impl World {
    /// The checkpoint that `text` names among those listed for the project, with its index.
    ///
    /// Implements [`rules::RESTORE_TARGET`], [`rules::RESTORE_OWN_CHECKPOINT`] and
    /// [`rules::RESTORE_BAD_TARGET`].
    pub(crate) fn find(&self, place: &Place, text: &[u8]) -> Result<(usize, &Checkpoint), Refusal> {
        let listed = match place {
            Place::Inside(project, _) => self.listed(project),
            Place::FileSystemRoot | Place::Elsewhere(_) => &[],
        };
        let unknown =
            Refusal { codes: &[Code::UnknownCheckpoint], rule: &rules::RESTORE_OWN_CHECKPOINT };
        // What is no id names no checkpoint either: saying that is as good a reason.
        let malformed = Refusal {
            codes: &[Code::UnknownCheckpoint, Code::BadTarget],
            rule: &rules::RESTORE_BAD_TARGET,
        };
        // Not every implementation has hexadecimal ids; what it lists is well formed.
        let whole = listed.iter().enumerate().find(|(_, one)| one.id.as_bytes() == text);
        if let Some(found) = whole {
            return Ok(found);
        }
        match target::parse(text, listed.len()) {
            Target::Malformed => Err(malformed),
            Target::Number(number) => {
                let index = listed.len().checked_sub(number).filter(|_| number > 0);
                index.map(|index| (index, &listed[index])).ok_or(malformed)
            }
            Target::Id(digits) => {
                let named = |checkpoint: &&Checkpoint| checkpoint.id.starts_with(&digits);
                let mut found = listed.iter().enumerate().filter(|(_, one)| named(one));
                match (found.next(), found.next()) {
                    (Some(only), None) => Ok(only),
                    (None, _) => Err(unknown),
                    (Some(_), Some(_)) => Err(Refusal {
                        codes: &[Code::AmbiguousCheckpoint],
                        rule: &rules::RESTORE_TARGET,
                    }),
                }
            }
        }
    }
}
