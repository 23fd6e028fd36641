//! Attribution in the answer to a restore: whether it names the paths that external edits changed since
//! the checkpoint.

use crate::allowed::AllowedRestore;
use crate::answer::Answer;
use crate::bytes::ByteString;
use crate::observation::Observation;
use crate::plain::plain;
use crate::rules;
use crate::verdict::{Checks, Judge, Kind, Mismatch, Violation};
use crate::world::{ExternalEdit, World};
use std::collections::BTreeSet;

/// Implements [`rules::RESTORE_OTHER_HANDS`].
pub(super) fn compare(
    world: &World,
    allowed: &AllowedRestore,
    seen: &Observation,
    checks: &mut Checks,
) {
    let Answer::Restored(found) = &seen.answer else { return };
    let rule = &rules::RESTORE_OTHER_HANDS;
    let target = world.target_checkpoint(&seen.request);
    let Some(target) = target.filter(|_| world.has("restore.others")) else { return };
    let has_reports = world.has_reports_since(&allowed.project, &target.id);
    let Some(has_reports) = has_reports else { return };
    let Some(external) = &found.others else {
        checks.check(Judge::Answer, rule, !has_reports, || {
            Mismatch::new("not reported", "the paths that external edits changed", "nothing")
        });
        return;
    };
    let remarked = found.kept.iter().chain(&found.failed).map(|remark| &remark.path);
    let named = [&found.restored, &found.removed, &found.left].into_iter().flatten();
    let about: BTreeSet<&ByteString> = named.chain(remarked).collect();
    // One check for all paths: which unchanged files an answer also names depends on its clock.
    let wrong = about.iter().find_map(|path| {
        let recorded = allowed.target.tree.get(*path);
        let external_edit = world.external_edit(&allowed.project, path, &target.id, recorded);
        let is_named = external.contains(path);
        // It is unknown whether a file that cannot be captured changed, and whether a file that the
        // checkpoint leaves out existed.
        let is_known = (allowed.before.tree.contains_key(*path) || is_absent(world, allowed, path))
            && (recorded.is_some() || !world.capturer.ignored_by(&allowed.target.tree, path))
            && !allowed.target.has_unrecorded(path);
        let text = |is_external: bool| {
            let by = if is_external { "an external edit" } else { "no external edit" };
            format!("{path} changed by {by}")
        };
        match external_edit {
            ExternalEdit::Yes if !is_named && is_known => {
                Some(Mismatch::new("not named", text(true), text(false)))
            }
            ExternalEdit::No if is_named => Some(Mismatch::new("named", text(false), text(true))),
            _ => None,
        }
    });
    let extra: BTreeSet<&ByteString> =
        external.iter().filter(|path| !about.contains(path)).collect();
    let extra = (!extra.is_empty()).then(|| {
        let about = plain(&about);
        let extra = plain(&extra);
        Mismatch::new("named in addition", format!("some of {about}"), extra).kind(Kind::Dishonest)
    });
    checks.held(rule, 1);
    let mismatches = wrong.into_iter().chain(extra);
    let broken = mismatches.map(|mismatch| Violation { rule, judge: Judge::Answer, mismatch });
    checks.violations.extend(broken);
}

fn is_absent(world: &World, allowed: &AllowedRestore, path: &[u8]) -> bool {
    world.files.get(&crate::bytes::join(&allowed.project, path)).is_none()
}
