//! What showed in an answer or on the disk may have its cause in the store: this looks for it with
//! plain git, so that the rule that is blamed is the one that was broken first.

use super::{Divergence, content, cut, naming};
use crate::sandbox::Sandbox;
use herma_model::answer::Answer;
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
    if let Some(cause) = naming::find(world, sandbox)? {
        return Ok(Some(cause));
    }
    let about_content = shown.iter().any(shows_content);
    if about_content {
        if let Some(cause) = content::wrong_capture(world, sandbox)? {
            return Ok(Some(cause));
        }
        if let Some(cause) = content::wrong_take(world, request, told, sandbox)? {
            return Ok(Some(cause));
        }
    }
    let about_history = shown.iter().any(|one| *one.rule == rules::LIST_COMPLETE);
    if about_content || about_history { cut::find(world, sandbox) } else { Ok(None) }
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
