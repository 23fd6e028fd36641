//! What showed in an answer or on the disk may have its cause in the store: this looks for it with
//! plain git, so that the rule that is blamed is the one that was broken first.

use super::{Divergence, content, naming, truncated_history};
use crate::sandbox::Sandbox;
use herma_model::answer::{Answer, Code};
use herma_model::expected::Expected;
use herma_model::rules::{self, RuleRef};
use herma_model::{Request, World};
use std::io;

/// The cause of what a request `shown`, if the store has it: what it calls a project, what a
/// checkpoint holds, or where a history was cut.
///
/// # Errors
/// Git is not there.
pub fn find(
    shown: &[Divergence],
    world: &World,
    request: &Request,
    told: (&Expected, &Answer),
    sandbox: &Sandbox,
) -> io::Result<Option<Divergence>> {
    if let (Some(rule), Some(first)) = (stopped_by(world, request, told), shown.first()) {
        return Ok(Some(Divergence { rule, ..first.clone() }));
    }
    if let Some(cause) = naming::find(world, sandbox)? {
        return Ok(Some(cause));
    }
    let about_content = shown.iter().any(shows_content);
    if about_content {
        if let Some(cause) = content::wrong_capture(world, sandbox)? {
            return Ok(Some(cause));
        }
        if let Some(cause) = content::wrong_checkpoint(world, request, told, sandbox)? {
            return Ok(Some(cause));
        }
    }
    if shown.iter().any(misses_checkpoints) {
        truncated_history::find(world, sandbox)
    } else {
        Ok(None)
    }
}

/// The rule by which a file should only have been left out that stopped a preview or a restore.
fn stopped_by(world: &World, request: &Request, told: (&Expected, &Answer)) -> Option<RuleRef> {
    let Answer::Refused { code, .. } = told.1 else { return None };
    if ![Code::NoSafetyCheckpoint, Code::Io, Code::Permission, Code::Internal].contains(code) {
        return None;
    }
    let left_out = match told.0 {
        // Where it cannot be taken in any case, that is said for a reason of its own.
        Expected::Restore(restore) if *restore.safety.1 != rules::RESTORE_SAFETY_REQUIRED => {
            restore.captured.left_out.clone()
        }
        Expected::Diff(_) => world.capture(&world.canonical(request.dir()?)?).left_out,
        _ => return None,
    };
    let stops =
        |rule: &RuleRef| [&rules::CAPTURE_UNREADABLE, &rules::CAPTURE_SPECIAL].contains(rule);
    left_out.into_values().find(stops)
}

/// Whether a difference is that checkpoints are not there which should be.
fn misses_checkpoints(one: &Divergence) -> bool {
    *one.rule == rules::LIST_COMPLETE
        || one.mismatch.symptom.starts_with("refused unknown_checkpoint")
}

/// Whether a difference may follow from what a checkpoint holds.
fn shows_content(one: &Divergence) -> bool {
    let area = one.rule.id.split('/').next().unwrap_or_default();
    let about_content: &[RuleRef] = &[
        &rules::LIST_STATS,
        &rules::CAPTURE_HONEST,
        &rules::CAPTURE_CREATED,
        &rules::CAPTURE_UNCHANGED,
        &rules::CAPTURE_EMPTY_FIRST,
        &rules::SCOPE_COUNTS_CAPTURED,
        &rules::SCOPE_TOO_MANY_FILES,
    ];
    matches!(area, "restore" | "diff" | "limit") || about_content.contains(&one.rule)
}
