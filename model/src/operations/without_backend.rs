//! An automatic checkpoint while the backend of the store, such as git, cannot be used.

use crate::answer::{Answer, CheckpointOutcome, Code};
use crate::plain::plain;
use crate::rules;
use crate::verdict::{Checks, Judge, Mismatch, word};

/// Compares the answer: it may be any that does not report a checkpoint, except an internal error. That
/// nothing changed is compared on the disk.
///
/// Implements [`rules::TURN_NO_BACKEND`].
pub(super) fn compare(answer: &Answer, checks: &mut Checks) {
    let holds = match answer {
        Answer::Taken { outcome, .. } => !matches!(outcome, CheckpointOutcome::Created { .. }),
        Answer::Refused { code, .. } => *code != Code::Internal,
        _ => false,
    };
    checks.check(Judge::Answer, &rules::TURN_NO_BACKEND, holds, || {
        Mismatch::new(word(answer), "no checkpoint, and no error", plain(answer))
    });
}
