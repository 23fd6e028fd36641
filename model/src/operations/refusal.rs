//! Refusals: whether a request was refused as expected, and with a correct code.

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
