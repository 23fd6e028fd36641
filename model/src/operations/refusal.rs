//! Refusals: whether a request was refused as expected, and with a correct code.

use super::target;
use crate::allowed::Allowed;
use crate::answer::{Answer, Code};
use crate::excuse::Excuse;
use crate::plain::plain;
use crate::refusal::Refusal;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Kind, Mismatch, word};
use crate::world::World;

/// Compares an answer with the refusals, one of which is expected.
pub(super) fn compare(world: &World, refusals: &[Refusal], answer: &Answer, checks: &mut Checks) {
    let fits = |refusal: &&Refusal| match answer {
        Answer::Refused { code: Code::Internal, .. } => false,
        Answer::Refused { code, .. } => {
            !world.has("refusal.reasons") || refusal.codes.contains(code)
        }
        _ => false,
    };
    let fitting = refusals.iter().find(fits);
    let names_target = |refusal: &Refusal| refusal.codes.contains(&Code::UnknownCheckpoint);
    let rule: RuleRef = match answer {
        // A well-formed target is not malformed, whatever else is wrong.
        Answer::Refused { code, .. }
            if fitting.is_none()
                && is_about_target(*code)
                && !refusals.iter().any(names_target)
                || fitting.is_none() && *code == Code::BadTarget =>
        {
            &rules::RESTORE_TARGET
        }
        _ => {
            fitting.or(refusals.first()).map_or(&rules::RESTORE_BAD_TARGET, |refusal| refusal.rule)
        }
    };
    checks.check(Judge::Answer, rule, fitting.is_some(), || {
        let codes: Vec<_> = refusals.iter().flat_map(|refusal| refusal.codes).collect();
        let first = codes.first().map_or_else(String::new, |code| format!(", not {code}"));
        let symptom = format!("{}{first}", word(answer));
        let expected = format!("a refusal with one of {codes}", codes = plain(&codes));
        let mismatch = Mismatch::new(symptom, expected, plain(&answer));
        match answer {
            Answer::Refused { .. } => mismatch.kind(Kind::WrongReason),
            _ => mismatch,
        }
    });
}

/// The refusals that are allowed, whether or not another answer is expected.
pub(super) fn allowed_refusals(allowed: &Allowed) -> &[Refusal] {
    match allowed {
        Allowed::Refused(refusals) => refusals,
        Allowed::Checkpoint(checkpoint) => &checkpoint.may_refuse,
        Allowed::Diff(diff) => &diff.may_refuse,
        Allowed::Restore(restore) => &restore.may_refuse,
        // A deleted project without checkpoints need not be distinguished from one that never existed.
        Allowed::List(list) if list.deleted && list.entries.is_empty() => {
            &[target::NO_SUCH_PROJECT]
        }
        _ => &[],
    }
}

/// Whether a refusal that damage or a failed call may cause states something about the request that is not
/// true.
fn states_falsehood(world: &World, allowed: &Allowed, code: Code) -> bool {
    let refusals = allowed_refusals(allowed);
    let is_true = refusals.iter().any(|refusal| refusal.codes.contains(&code));
    world.has("refusal.reasons") && code.is_about_request() && !is_true
}

/// Whether a refusal after a failed call reports a cause that may be true. A failed call is no evidence that
/// a checkpoint, or a file of it, does not exist.
pub(super) fn is_clear(world: &World, allowed: &Allowed, code: Code) -> bool {
    let denies = matches!(code, Code::UnknownCheckpoint | Code::NotInCheckpoint);
    let is_denied = allowed_refusals(allowed).iter().any(|refusal| refusal.codes.contains(&code));
    let is_false = match allowed {
        Allowed::Unknown(_) => false,
        _ => denies && !is_denied || states_falsehood(world, allowed, code),
    };
    !world.has("refusal.reasons") || code != Code::Internal && !is_false
}

/// Compares the reason of a refusal that damage excuses.
///
/// Implements [`rules::MAINTENANCE_DAMAGE`].
pub(super) fn compare_damaged(
    world: &World,
    allowed: &Allowed,
    answer: &Answer,
    checks: &mut Checks,
) {
    let Answer::Refused { code, .. } = answer else { return };
    let holds = !states_falsehood(world, allowed, *code);
    checks.check(Judge::Answer, &rules::MAINTENANCE_DAMAGE, holds, || {
        let expected = "a refusal whose code reports the damage";
        Mismatch::new("damage, reported as something else", expected, plain(answer))
            .kind(Kind::WrongReason)
    });
}

/// Why a refusal is accepted where another answer is expected.
pub(super) fn excuse(answer: &Answer) -> Excuse {
    match answer {
        Answer::Refused { code: Code::TooManyFiles, .. } => Excuse::Limit,
        Answer::Refused { code: Code::WouldOverwrite, .. } => Excuse::Uncaptured,
        _ => Excuse::NoRule,
    }
}

/// Whether a code reports that there is no such checkpoint, or that its name is wrong.
pub(super) fn denies_target(code: Code) -> bool {
    is_about_target(code) || code == Code::UnknownCheckpoint
}

/// Whether a code reports that the checkpoint's name is malformed or ambiguous.
pub(super) fn is_about_target(code: Code) -> bool {
    matches!(code, Code::BadTarget | Code::AmbiguousCheckpoint)
}
