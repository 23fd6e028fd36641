//! What is said of a restore: whether it is what the disk shows.

use super::restore::Outcome;
use crate::allowed::AllowedRestore;
use crate::answer::{Remark, Restored};
use crate::bytes::ByteString;
use crate::observation::Observation;
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::tree::{Difference, differences};
use crate::verdict::{Checks, Judge, Kind, Mismatch};
use crate::world::World;
use std::collections::BTreeSet;
use std::mem::discriminant;

/// Compares the answer of a restore with what is right and with what is there.
///
/// Implements [`rules::RESTORE_HONEST`] and [`rules::RESTORE_UNDOES_TURN`].
pub(super) fn compare(
    world: &World,
    due: &AllowedRestore,
    found: &Restored,
    seen: &Observation,
    checks: &mut Checks,
) {
    let (wanted, rule) = due.safety;
    let taken = found.safety.is_some();
    let as_good = if taken { due.may_take_safety } else { due.may_skip_safety };
    let holds = taken == wanted || as_good;
    checks.check(Judge::Answer, rule, holds, || {
        let symptom = match wanted {
            true if only_types_changed(world, due) => {
                "no pre-rollback checkpoint of a changed type"
            }
            true => "no pre-rollback checkpoint",
            false => "one too many",
        };
        let expected = format!("a pre-rollback checkpoint: {wanted}");
        Mismatch::new(symptom, expected, plain(&found.safety))
    });
    checks.held(&rules::RESTORE_TARGET, 1);
    checks.held(&rules::RESTORE_KEEPS_UNDO, u64::from(due.unlisted));
    let past = due.is_forced();
    checks.check(Judge::Answer, &rules::RESTORE_SAFETY_REQUIRED, found.forced_past == past, || {
        let (due, said) = (format!("forced past: {past}"), found.forced_past.to_string());
        Mismatch::new("forced past", due, said).kind(Kind::Dishonest)
    });
    if world.has("restore.undoes_turn") {
        let undoes = due.only.is_none();
        // One that failed undoes nothing.
        let holds = found.undoes_turn == undoes || due.damaged;
        checks.check(Judge::Answer, &rules::RESTORE_UNDOES_TURN, holds, || {
            let due = format!("undoes the turn: {undoes}");
            Mismatch::new("undoes the turn", due, found.undoes_turn.to_string())
        });
    }
    // What must be said of a damaged one is with what must be there.
    if world.has("restore.report") && !due.damaged {
        report(due, found, &Outcome::new(world, due, seen), checks);
    }
}

/// Whether all that changed since the newest checkpoint is what kind of file stands somewhere, which
/// who looks for changes may miss and still find every other.
fn only_types_changed(world: &World, due: &AllowedRestore) -> bool {
    let newest = world.history(&due.project).last().and_then(|one| one.captured.as_ref());
    newest.is_some_and(|newest| {
        differences(&newest.tree, &due.before.tree).values().all(|one| match one {
            Difference::Modified(old, new) => discriminant(*old) != discriminant(*new),
            Difference::Added(_) | Difference::Deleted(_) => false,
        })
    })
}

fn report(due: &AllowedRestore, found: &Restored, outcome: &Outcome<'_>, checks: &mut Checks) {
    let set = |paths: &[ByteString]| paths.iter().cloned().collect::<BTreeSet<_>>();
    let named = |remarks: &[Remark]| {
        remarks.iter().map(|one| one.path.clone()).collect::<BTreeSet<ByteString>>()
    };
    // What the checkpoint left out is under a rule of its own.
    let without_left_out = |mut paths: BTreeSet<ByteString>| {
        paths.retain(|path| !outcome.was_left_out(path));
        paths
    };
    let without_free = |mut paths: BTreeSet<ByteString>| {
        paths.retain(|path| !outcome.may_be_kept(path) && !outcome.is_of_unit(path));
        without_left_out(paths)
    };
    let same = |checks: &mut Checks,
                rule: RuleRef,
                what: &str,
                is: BTreeSet<ByteString>,
                said: BTreeSet<ByteString>| {
        checks.check(Judge::Answer, rule, is == said, || {
            Mismatch::new(
                what,
                format!("{what}: {is}", is = plain(&is)),
                format!("{what}: {said}", said = plain(&said)),
            )
            .kind(Kind::Dishonest)
        });
    };
    let kept = without_free(outcome.kept());
    same(checks, &rules::RESTORE_PROTECTS, "kept", kept, without_free(named(&found.kept)));
    let honest = &rules::RESTORE_HONEST;
    let mut failed = named(&found.failed);
    failed.retain(|path| !outcome.is_of_unit(path));
    // What is said to have failed and did is the truth, and should not be.
    let (true_ones, others): (BTreeSet<_>, BTreeSet<_>) =
        failed.into_iter().partition(|path| outcome.has_failed(path));
    same(checks, honest, "failed", BTreeSet::new(), others);
    checks.check(Judge::Answer, &rules::RESTORE_HAPPENS, true_ones.is_empty(), || {
        Mismatch::new(
            "failed",
            "every path brought back",
            format!("failed: {true_ones}", true_ones = plain(&true_ones)),
        )
    });
    same(checks, honest, "restored", outcome.restored(), set(&found.restored));
    same(checks, honest, "removed", outcome.removed(), set(&found.removed));
    if due.only.is_none() {
        let left = |mut paths: BTreeSet<ByteString>| {
            paths.retain(|path| !outcome.is_of_unit(path) && !outcome.is_left_unnamed(path));
            without_left_out(paths)
        };
        let (left, said) = (left(outcome.left()), left(set(&found.left)));
        same(checks, &rules::RESTORE_LEAVES_NEW, "left", left, said);
        left_out(found, outcome, checks);
    }
}

/// Implements [`rules::RESTORE_LEFT_OUT`].
fn left_out(found: &Restored, outcome: &Outcome<'_>, checks: &mut Checks) {
    let is_judged = outcome.world.has("checkpoint.left_out");
    if !is_judged || outcome.due.target.unrecorded.is_empty() {
        return;
    }
    let kept: BTreeSet<&ByteString> = found.kept.iter().map(|remark| &remark.path).collect();
    let is_judged = |path: &&ByteString| outcome.was_left_out(path) && !outcome.is_of_unit(path);
    let left: BTreeSet<&ByteString> = found.left.iter().filter(is_judged).collect();
    let differs: BTreeSet<&ByteString> = outcome.differs_from_left_out().collect();
    let holds = left.is_empty() && differs.is_subset(&kept);
    checks.check(Judge::Answer, &rules::RESTORE_LEFT_OUT, holds, || {
        let symptom = if left.is_empty() { "left out unsaid" } else { "created since" };
        let (differs, left, kept) = (plain(&differs), plain(&left), plain(&kept));
        let expected = format!("kept, since the checkpoint left it out: {differs}");
        Mismatch::new(symptom, expected, format!("kept: {kept}, left: {left}"))
            .kind(Kind::Dishonest)
    });
}
