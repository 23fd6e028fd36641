//! The classification of a terminal command: whether it changes files.

use crate::allowed::Allowed;
use crate::commands::{changes_files, composed, is_unlisted};
use crate::excuse::Excuse;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;

/// Implements [`rules::TURN_SHELL_WORDS`] and [`rules::TURN_SAFE_SIDE`].
pub(super) fn allows(world: &World, command: &str) -> Allowed {
    let is_cautious = world.has("classify.cautious");
    let of_cautious = || {
        let unlisted = is_unlisted(command).then_some(true);
        unlisted.or_else(|| composed::changes_files(command)).filter(|_| is_cautious)
    };
    let changes = changes_files(command).or_else(of_cautious);
    changes.map_or(Allowed::Unknown(Excuse::NoRule), Allowed::Classified)
}

/// Compares the answer with the known effect of the command.
pub(super) fn compare(command: &str, changes: bool, found: bool, checks: &mut Checks) {
    let is_of_caution = is_unlisted(command) || composed::carries_program(command);
    let rule: RuleRef =
        if is_of_caution { &rules::TURN_SAFE_SIDE } else { &rules::TURN_SHELL_WORDS };
    checks.check(Judge::Answer, rule, changes == found, || {
        let symptom = if changes { "not noticed" } else { "a false alarm" };
        let description = |changes| match changes {
            true => format!("{command:?} changes files"),
            false => format!("{command:?} changes no files"),
        };
        Mismatch::new(symptom, description(changes), description(found))
    });
}
