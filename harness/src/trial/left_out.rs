//! Blames a store whose checkpoints cannot be read for what they leave out. That shows only when it is restored
//! or previewed, and looks like a mistake of the restore or of the preview.

use super::{RunVariant, without};
use crate::divergence::Divergence;
use crate::history::{History, Operation, Target};
use crate::protocol::capabilities::Capabilities;
use crate::runner::RunError;
use herma_model::bytes::below;
use herma_model::plain::plain;
use herma_model::request::Answered;
use herma_model::rules::{self, RuleRef};
use herma_model::{ByteString, Edit, Request};

/// What a store may leave out although it must not.
struct LeftOut {
    /// The rule that it breaks then.
    rule: RuleRef,
    /// The rules that it seems to break.
    shown_by: &'static [RuleRef],
    /// The history without any reason to leave out what the difference is about; the same history if it has
    /// none.
    without_reason: fn(&History, &Divergence, &Request<Target>) -> History,
}

static LEFT_OUT: [LeftOut; 2] = [
    LeftOut {
        rule: &rules::CAPTURE_NESTED_REPOSITORY,
        shown_by: &[
            &rules::RESTORE_BYTES,
            &rules::RESTORE_EXECUTABLE,
            &rules::RESTORE_FILE_LITERAL,
            &rules::RESTORE_TARGET,
            &rules::RESTORE_TYPE,
        ],
        without_reason: without_nested_git,
    },
    LeftOut {
        rule: &rules::CAPTURE_SIZE_CAP,
        shown_by: &[
            &rules::DIFF_PREVIEW,
            &rules::RESTORE_BYTES,
            &rules::RESTORE_EXACT,
            &rules::RESTORE_EXECUTABLE,
            &rules::RESTORE_FILE_LITERAL,
            &rules::RESTORE_TARGET,
            &rules::RESTORE_TYPE,
        ],
        without_reason: never_too_large,
    },
];

/// Checks for each difference whether it is gone without a reason to leave anything out.
pub(super) fn blame(
    history: &History,
    divergences: &mut [Divergence],
    capabilities: &Capabilities,
    run: RunVariant<'_>,
) -> Result<(), RunError> {
    if capabilities.has("layout") {
        // The checkpoints themselves are judged.
        return Ok(());
    }
    for row in LEFT_OUT.iter().filter(|row| capabilities.lacking(row.rule).is_none()) {
        let may_be_caused = |divergence: &&mut Divergence| {
            divergence.follows.is_none() && row.shown_by.contains(&divergence.rule)
        };
        for divergence in divergences.iter_mut().filter(may_be_caused) {
            let step = divergence.step;
            let Some(Operation::Ask(request)) = history.operations.get(step) else { continue };
            let variant = (row.without_reason)(history, divergence, request);
            let shows = |candidate: &Divergence| {
                candidate.step <= step && row.shown_by.contains(&candidate.rule)
            };
            if variant != *history && !run(&variant)?.divergences.iter().any(shows) {
                divergence.rule = row.rule;
            }
        }
    }
    Ok(())
}

/// Without the `.git` of each repository in the project.
fn without_nested_git(history: &History, _: &Divergence, request: &Request<Target>) -> History {
    let Some(project) = request.dir() else { return history.clone() };
    let is_in_nested = |path: &ByteString| {
        let names =
            below(project, path).into_iter().flat_map(|path| path.split(|byte| *byte == b'/'));
        names.skip(1).any(|name| name == b".git")
    };
    without(history, &|operation| match operation {
        Operation::Edit(edit) => edit.paths().into_iter().any(is_in_nested),
        _ => false,
    })
}

/// With the file that the difference is about cut to the limit, wherever it was larger before its last
/// checkpoint.
fn never_too_large(
    history: &History,
    divergence: &Divergence,
    request: &Request<Target>,
) -> History {
    let mut small = history.clone();
    let (Some(project), Ok(limit @ 1..)) =
        (request.dir(), usize::try_from(history.settings.max_file_bytes))
    else {
        return small;
    };
    let earlier = &mut small.operations[..divergence.step];
    let takes = |operation: &Operation| match operation {
        Operation::Ask(request) => request.kind().answered == Answered::Taken,
        _ => false,
    };
    let newest = earlier.iter().rposition(takes).unwrap_or_default();
    let is_about = |path: &ByteString| {
        let expected = &divergence.mismatch.expected;
        let name = below(project, path).map(|name| plain(&ByteString::from(name)));
        expected.starts_with(&format!("{path}: "))
            || name.is_some_and(|name| expected.contains(&name))
    };
    for operation in &mut earlier[..newest] {
        use Edit::{Rewrite, Write};
        if let Operation::Edit(Write { path, content, .. } | Rewrite { path, content }) = operation
            && content.len() > limit
            && is_about(path)
        {
            *content = content[..limit].into();
        }
    }
    small
}
