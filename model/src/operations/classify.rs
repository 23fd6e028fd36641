//! The classification of a terminal command: whether it changes files.

use crate::allowed::Allowed;
use crate::commands::changes_files;
use crate::rules;
use crate::verdict::{Checks, Judge, Mismatch};

/// Implements [`rules::TURN_SHELL_WORDS`].
pub(super) fn allows(command: &str) -> Allowed {
    changes_files(command).map_or(Allowed::Unknown, Allowed::Classified)
}

/// Compares the answer with the known effect of the command.
pub(super) fn compare(command: &str, changes: bool, found: bool, checks: &mut Checks) {
    checks.check(Judge::Answer, &rules::TURN_SHELL_WORDS, changes == found, || {
        let symptom = if changes { "not noticed" } else { "a false alarm" };
        let description = |changes| match changes {
            true => format!("{command:?} changes files"),
            false => format!("{command:?} changes no files"),
        };
        Mismatch::new(symptom, description(changes), description(found))
    });
}
