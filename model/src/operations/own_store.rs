//! Whether a store captures itself. Of a project that contains the base, nothing of the base is captured; a
//! store that captures it finds a changed project at each checkpoint. Where plain git reads the store, the
//! content of the checkpoint shows it; elsewhere this is the only evidence.

use crate::answer::{Answer, CheckpointOutcome, Restored};
use crate::bytes::below;
use crate::observation::Observation;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Mismatch, Violation};
use crate::world::World;

/// The rules that a store breaks by recording a state again that its newest checkpoint holds.
const RECORDED_AGAIN: [RuleRef; 3] =
    [&rules::CAPTURE_UNCHANGED, &rules::RESTORE_SAFETY_SKIPPED, &rules::SCOPE_IDENTITY];

/// Blames an unneeded checkpoint of a project that contains the base on the base.
///
/// Implements [`rules::SCOPE_BASE_NOT_CAPTURED`].
pub(super) fn compare(world: &World, seen: &Observation, checks: &mut Checks) {
    let project = seen.request.dir().and_then(|dir| world.canonical(dir)).unwrap_or_default();
    let contains_base = below(&project, world.base()).is_some();
    let is_taken = matches!(
        seen.answer,
        Answer::Taken { outcome: CheckpointOutcome::Created { .. }, .. }
            | Answer::Restored(Restored { safety: Some(_), .. })
    );
    let is_again = |violation: &Violation| RECORDED_AGAIN.contains(&violation.rule);
    if contains_base && is_taken && checks.violations.iter().any(is_again) {
        checks.check(Judge::Answer, &rules::SCOPE_BASE_NOT_CAPTURED, false, || {
            let expected = "no checkpoint, since nothing changed but the base";
            Mismatch::new("a change of the base counts", expected, "another checkpoint")
        });
    }
}
