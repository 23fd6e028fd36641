//! The answer to a restore: whether it agrees with the files on the disk.

use super::restore_outcome::RestoreOutcome;
use crate::allowed::AllowedRestore;
use crate::answer::{Answer, Remark, Restored};
use crate::bytes::ByteString;
use crate::excuse::Excuse;
use crate::observation::Observation;
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::tree::{EntryDifference, differences};
use crate::verdict::{Checks, Judge, Kind, Mismatch};
use crate::world::World;
use std::collections::BTreeSet;
use std::mem::discriminant;

/// Compares the answer to a restore with the correct one and with the files.
///
/// Implements [`rules::RESTORE_HONEST`] and [`rules::RESTORE_UNDOES_TURN`].
pub(super) fn compare(
    world: &World,
    allowed: &AllowedRestore,
    seen: &Observation,
    checks: &mut Checks,
) {
    let Answer::Restored(found) = &seen.answer else { return };
    let (wanted, rule) = allowed.safety;
    let taken = found.safety.is_some();
    let is_optional =
        if taken { allowed.may_take_pre_restore } else { allowed.may_skip_pre_restore };
    if taken != wanted && is_optional {
        checks.excused(rule, pre_restore_excuse(world, allowed), 1);
    } else {
        checks.check(Judge::Answer, rule, taken == wanted, || {
            let symptom = match wanted {
                true if only_types_changed(world, allowed) => {
                    "no pre-restore checkpoint of a changed type"
                }
                true => "no pre-restore checkpoint",
                false => "a needless pre-restore checkpoint",
            };
            let expected = format!("a pre-restore checkpoint: {wanted}");
            Mismatch::new(symptom, expected, plain(&found.safety))
        });
    }
    checks.held(&rules::RESTORE_TARGET, 1);
    checks.held(&rules::RESTORE_KEEPS_UNDO, u64::from(allowed.unlisted));
    checks.held(&rules::RESTORE_UNDO_REDO, u64::from(allowed.made.is_some()));
    let past = allowed.is_forced();
    checks.check(Judge::Answer, &rules::RESTORE_SAFETY_REQUIRED, found.forced_past == past, || {
        let expected = format!("forced past: {past}");
        let reported = found.forced_past.to_string();
        Mismatch::new("forced past", expected, reported).kind(Kind::Dishonest)
    });
    if world.has("restore.undoes_turn") {
        let undoes = allowed.only.is_none() && allowed.made.is_none();
        let holds = found.undoes_turn == undoes;
        // A failed restore undoes no turn.
        if allowed.damaged && !holds {
            checks.excused(&rules::RESTORE_UNDOES_TURN, Excuse::Damage, 1);
        } else {
            checks.check(Judge::Answer, &rules::RESTORE_UNDOES_TURN, holds, || {
                let expected = format!("undoes the turn: {undoes}");
                Mismatch::new("undoes the turn", expected, found.undoes_turn.to_string())
            });
        }
    }
    // The report of a damaged checkpoint is compared with the files.
    if world.has("restore.report") {
        match allowed.damaged {
            true => checks.excused(&rules::RESTORE_HONEST, Excuse::Damage, 1),
            false => report(allowed, found, &RestoreOutcome::new(world, allowed, seen), checks),
        }
    }
}

/// Why a pre-restore checkpoint need not exist, or may exist, against the expectation.
fn pre_restore_excuse(world: &World, allowed: &AllowedRestore) -> Excuse {
    match world.newest(&allowed.project) {
        Some(newest) if world.is_damaged(newest) => Excuse::Damage,
        Some(newest) if newest.captured.is_none() => Excuse::Unobserved,
        _ => Excuse::NoRule,
    }
}

/// Whether only the types of files changed since the newest checkpoint, which an implementation may
/// miss that finds all other changes.
fn only_types_changed(world: &World, allowed: &AllowedRestore) -> bool {
    let newest = world.history(&allowed.project).last();
    let newest = newest.and_then(|newest| newest.captured.as_ref());
    newest.is_some_and(|newest| {
        differences(&newest.tree, &allowed.before.tree).values().all(
            |difference| match difference {
                EntryDifference::Modified(old, new) => discriminant(*old) != discriminant(*new),
                EntryDifference::Added(_) | EntryDifference::Deleted(_) => false,
            },
        )
    })
}

fn report(
    allowed: &AllowedRestore,
    found: &Restored,
    outcome: &RestoreOutcome<'_>,
    checks: &mut Checks,
) {
    let set = |paths: &[ByteString]| paths.iter().cloned().collect::<BTreeSet<_>>();
    let named = |remarks: &[Remark]| {
        remarks.iter().map(|remark| remark.path.clone()).collect::<BTreeSet<ByteString>>()
    };
    // Paths that the checkpoint left out have their own rule.
    let without_left_out = |mut paths: BTreeSet<ByteString>| {
        paths.retain(|path| !outcome.was_left_out(path));
        paths
    };
    let without_optional = |mut paths: BTreeSet<ByteString>| {
        paths.retain(|path| !outcome.may_be_kept(path) && !outcome.is_in_unit(path));
        without_left_out(paths)
    };
    let compare_paths = |checks: &mut Checks,
                         rule: RuleRef,
                         symptom: &str,
                         expected: BTreeSet<ByteString>,
                         reported: BTreeSet<ByteString>| {
        checks.check(Judge::Answer, rule, expected == reported, || {
            Mismatch::new(
                symptom,
                format!("{symptom}: {expected}", expected = plain(&expected)),
                format!("{symptom}: {reported}", reported = plain(&reported)),
            )
            .kind(Kind::Dishonest)
        });
    };
    let kept = without_optional(outcome.kept());
    compare_paths(
        checks,
        &rules::RESTORE_PROTECTS,
        "kept",
        kept,
        without_optional(named(&found.kept)),
    );
    let honest = &rules::RESTORE_HONEST;
    let mut failed = named(&found.failed);
    failed.retain(|path| !outcome.is_in_unit(path));
    // A path that is honestly reported as failed should not have failed.
    let (really_failed, not_failed): (BTreeSet<_>, BTreeSet<_>) =
        failed.into_iter().partition(|path| outcome.has_failed(path));
    compare_paths(checks, honest, "failed", BTreeSet::new(), not_failed);
    checks.check(Judge::Answer, &rules::RESTORE_HAPPENS, really_failed.is_empty(), || {
        Mismatch::new(
            "failed",
            "every path restored",
            format!("failed: {really_failed}", really_failed = plain(&really_failed)),
        )
    });
    compare_paths(checks, honest, "restored", outcome.restored(), set(&found.restored));
    compare_paths(checks, honest, "removed", outcome.removed(), set(&found.removed));
    if allowed.only.is_none() {
        let left = |mut paths: BTreeSet<ByteString>| {
            paths.retain(|path| !outcome.is_in_unit(path) && !outcome.is_left_unnamed(path));
            without_left_out(paths)
        };
        let expected = left(outcome.left());
        let reported = left(set(&found.left));
        compare_paths(checks, &rules::RESTORE_LEAVES_NEW, "left", expected, reported);
        left_out(found, outcome, checks);
    }
}

/// Implements [`rules::RESTORE_LEFT_OUT`].
fn left_out(found: &Restored, outcome: &RestoreOutcome<'_>, checks: &mut Checks) {
    let is_judged = outcome.world.has("checkpoint.left_out");
    if !is_judged || outcome.allowed.target.unrecorded.is_empty() {
        return;
    }
    let kept: BTreeSet<&ByteString> = found.kept.iter().map(|remark| &remark.path).collect();
    let is_judged = |path: &&ByteString| outcome.was_left_out(path) && !outcome.is_in_unit(path);
    let left: BTreeSet<&ByteString> = found.left.iter().filter(is_judged).collect();
    let differing: BTreeSet<&ByteString> = outcome.differs_from_left_out().collect();
    let holds = left.is_empty() && differing.is_subset(&kept);
    checks.check(Judge::Answer, &rules::RESTORE_LEFT_OUT, holds, || {
        let symptom = if left.is_empty() { "left out, not reported" } else { "created since" };
        let differing = plain(&differing);
        let left = plain(&left);
        let kept = plain(&kept);
        let expected = format!("kept, since the checkpoint left it out: {differing}");
        Mismatch::new(symptom, expected, format!("kept: {kept}, left: {left}"))
            .kind(Kind::Dishonest)
    });
}
