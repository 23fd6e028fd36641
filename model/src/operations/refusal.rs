//! Refusals: whether one that is due came, for a reason that is one.

use crate::answer::{Answer, Code};
use crate::plain::plain;
use crate::refusal::Refusal;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Kind, Mismatch, word};
use crate::world::World;

/// Compares an answer with the refusals of which one is due.
pub(super) fn compare(world: &World, due: &[Refusal], answer: &Answer, checks: &mut Checks) {
    let fits = |refusal: &&Refusal| match answer {
        Answer::Refused { code: Code::Internal, .. } => false,
        Answer::Refused { code, .. } => {
            !world.has("refusal.reasons") || refusal.codes.contains(code)
        }
        _ => false,
    };
    let fitting = due.iter().find(fits);
    let names_target = |one: &Refusal| one.codes.contains(&Code::UnknownCheckpoint);
    let rule: RuleRef = match answer {
        // A target that is well named is not malformed, whatever else is wrong.
        Answer::Refused { code, .. }
            if fitting.is_none() && is_about_target(*code) && !due.iter().any(names_target)
                || fitting.is_none() && *code == Code::BadTarget =>
        {
            &rules::RESTORE_TARGET
        }
        _ => fitting.or(due.first()).map_or(&rules::RESTORE_BAD_TARGET, |one| one.rule),
    };
    checks.check(Judge::Answer, rule, fitting.is_some(), || {
        let codes: Vec<_> = due.iter().flat_map(|one| one.codes).collect();
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

/// Whether a code says that there is no such checkpoint, or none of such a name.
pub(super) fn denies_target(code: Code) -> bool {
    is_about_target(code) || code == Code::UnknownCheckpoint
}

/// Whether a code speaks of how the checkpoint was named.
pub(super) fn is_about_target(code: Code) -> bool {
    matches!(code, Code::BadTarget | Code::AmbiguousCheckpoint)
}
