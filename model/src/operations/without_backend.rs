//! An automatic checkpoint while what the store is kept with cannot be used.

use crate::answer::{Answer, CheckpointOutcome, Code};
use crate::plain::plain;
use crate::rules;
use crate::verdict::{Checks, Judge, Mismatch, word};

/// Compares what was said: any word will do that does not say that there is one, but not an error
/// that nobody saw coming. That nothing changed is for the disk to say.
///
/// Implements [`rules::TURN_NO_BACKEND`].
pub(super) fn compare(answer: &Answer, checks: &mut Checks) {
    let holds = match answer {
        Answer::Taken { outcome, .. } => !matches!(outcome, CheckpointOutcome::Created { .. }),
        Answer::Refused { code, .. } => *code != Code::Internal,
        _ => false,
    };
    checks.check(Judge::Answer, &rules::TURN_NO_BACKEND, holds, || {
        Mismatch::new(word(answer), "no checkpoint, and no trouble", plain(answer))
    });
}
