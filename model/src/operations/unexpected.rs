//! Answers that no rule allows: the rules that such an answer breaks, and its description.

use super::refusal;
use crate::allowed::{Allowed, AllowedRestore};
use crate::answer::{Answer, CheckpointOutcome, Code};
use crate::observation::Observation;
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Kind, Mismatch, word};
use crate::world::World;

/// Reports an answer of another kind than the expected one.
pub(super) fn compare(world: &World, allowed: &Allowed, seen: &Observation, checks: &mut Checks) {
    report(main_rules(world, allowed, seen), allowed, &seen.answer, checks);
}

/// Reports the rules that an answer breaks in addition where a refusal is expected.
pub(super) fn compare_unrefused(
    world: &World,
    allowed: &Allowed,
    seen: &Observation,
    checks: &mut Checks,
) {
    report(rules_of_refusal(world, allowed, seen), allowed, &seen.answer, checks);
    // A request that is declined was not checked for a refusal.
    if declines(&seen.answer) {
        let rules = world.rules_against_declining(&seen.request);
        report(rules, allowed, &seen.answer, checks);
    }
}

fn report(rules: Vec<RuleRef>, allowed: &Allowed, answer: &Answer, checks: &mut Checks) {
    for rule in rules {
        checks.check(Judge::Answer, rule, false, || {
            Mismatch::new(word(answer), description(allowed), plain(&answer))
        });
    }
}

/// The mismatch of a subject that died, or did not answer in time.
pub(super) fn no_answer(reason: &str) -> Mismatch {
    let silent = reason.starts_with("silent");
    let (symptom, kind) = if silent { ("silent", Kind::Timeout) } else { ("died", Kind::Crash) };
    Mismatch::new(symptom, "an answer", reason).kind(kind)
}

fn declines(answer: &Answer) -> bool {
    use CheckpointOutcome::{Deduped, Disabled};
    matches!(answer, Answer::Taken { outcome: Deduped | Disabled, .. })
}

/// The rules that an unexpected answer breaks.
fn main_rules(world: &World, allowed: &Allowed, seen: &Observation) -> Vec<RuleRef> {
    let code = match &seen.answer {
        Answer::Refused { code, .. } => Some(*code),
        _ => None,
    };
    let about_target = code.is_some_and(refusal::is_about_target);
    let mut broken: Vec<RuleRef> = vec![match allowed {
        Allowed::Diff(diff) if diff.exceeds_limit && code.is_some_and(refusal::denies_target) => {
            &rules::RESTORE_KEEPS_HISTORY
        }
        Allowed::Diff(diff) if diff.unlisted && code.is_some_and(refusal::denies_target) => {
            &rules::RESTORE_KEEPS_UNDO
        }
        Allowed::Diff(_) if about_target => &rules::RESTORE_TARGET,
        Allowed::Restore(restore) => not_restored(restore, code),
        Allowed::List(list) if list.deleted => &rules::RESTORE_DELETED_PROJECT,
        Allowed::Project { rule, .. } => rule,
        Allowed::Sweep(sweep) if sweep.manual => &rules::MAINTENANCE_COMMANDS,
        Allowed::Sweep(_) => &rules::MAINTENANCE_NEVER_RAISES,
        _ => seen.request.main_rule(),
    }];
    broken.extend(rules_of_refusal(world, allowed, seen));
    broken
}

/// The rules about unreadable and special files that were only to be left out, where a refusal may be
/// due to such a file.
fn rules_of_refusal(world: &World, allowed: &Allowed, seen: &Observation) -> Vec<RuleRef> {
    let Answer::Refused { code, .. } = &seen.answer else { return Vec::new() };
    if ![Code::NoSafetyCheckpoint, Code::Io, Code::Permission, Code::Internal].contains(code) {
        return Vec::new();
    }
    match allowed {
        // Where nothing is captured, the refusal has another reason.
        Allowed::Restore(restore) if !restore.captures_before(world) => Vec::new(),
        Allowed::Restore(restore) => restore.before.skipped_file_rules(),
        Allowed::Refused(refusals)
            if refusals.iter().any(|refusal| refusal.codes.contains(code)) =>
        {
            Vec::new()
        }
        // It is refused with or without such a file, and the reason is not claimed.
        Allowed::Refused(_) if !world.has("refusal.reasons") && *code != Code::Internal => {
            Vec::new()
        }
        Allowed::Diff(_) | Allowed::Refused(_) => skipped_now(world, seen),
        _ => Vec::new(),
    }
}

/// The rules that are broken where a subject does not answer at all: the main rule of the request, and
/// the rules about unreadable and special files where the subject captures the project.
pub(super) fn rules_of_crash(world: &World, allowed: &Allowed, seen: &Observation) -> Vec<RuleRef> {
    let captured = match allowed {
        Allowed::Restore(restore) if restore.captures_before(world) => {
            restore.before.skipped_file_rules()
        }
        Allowed::Checkpoint(_) | Allowed::Diff(_) => skipped_now(world, seen),
        _ => Vec::new(),
    };
    std::iter::once(seen.request.main_rule()).chain(captured).collect()
}

/// The rules about unreadable and special files that a capture of the project would leave out now.
fn skipped_now(world: &World, seen: &Observation) -> Vec<RuleRef> {
    let project = seen.request.dir().and_then(|dir| world.canonical(dir));
    let project = project.filter(|project| world.files.is_directory(project));
    project.map(|project| world.capture(&project).skipped_file_rules()).unwrap_or_default()
}

/// The rule that is broken where nothing was restored; `code` is that of the refusal, if it was refused.
///
/// Implements [`rules::RESTORE_HAPPENS`], [`rules::RESTORE_KEEPS_HISTORY`] and
/// [`rules::RESTORE_KEEPS_UNDO`].
fn not_restored(restore: &AllowedRestore, code: Option<Code>) -> RuleRef {
    match code {
        Some(code) if restore.exceeds_limit && refusal::denies_target(code) => {
            &rules::RESTORE_KEEPS_HISTORY
        }
        Some(code) if restore.unlisted && refusal::denies_target(code) => {
            &rules::RESTORE_KEEPS_UNDO
        }
        Some(code) if refusal::is_about_target(code) => &rules::RESTORE_TARGET,
        Some(Code::NoSafetyCheckpoint | Code::TooManyFiles) => &rules::RESTORE_SAFETY_REQUIRED,
        // An evicted target need not be the cause of an internal error.
        _ if restore.evicting && code != Some(Code::Internal) => {
            &rules::RESTORE_SAFETY_KEEPS_TARGET
        }
        _ if restore.deleted => &rules::RESTORE_DELETED_PROJECT,
        Some(Code::UnknownCheckpoint) => &rules::RESTORE_TARGET,
        Some(Code::NotInCheckpoint | Code::BadPath) => &rules::RESTORE_FILE_LITERAL,
        _ => &rules::RESTORE_HAPPENS,
    }
}

/// The description of the expected answer.
pub(super) fn description(allowed: &Allowed) -> String {
    let text = match allowed {
        Allowed::Done => "done",
        Allowed::Project { .. } => "the project of a file",
        Allowed::Classified(_) => "whether a command changes files",
        Allowed::Protected(_) => "what was done for each project",
        Allowed::WithoutBackend => "no checkpoint",
        Allowed::Checkpoint(expected) => expected.kind.word(),
        Allowed::List(_) => "a list",
        Allowed::Printed => "a list as it is printed",
        Allowed::Diff(_) => "a diff",
        Allowed::Restore(_) => "a restore",
        Allowed::Sweep(_) => "a sweep",
        Allowed::Status(_) => "the status",
        Allowed::Configured(_) => "what is configured",
        Allowed::Cleared(_) => "something cleared",
        Allowed::State(_) => "a part of the agent's state",
        Allowed::Compensated => "which compensations ran",
        Allowed::Unknown(_) => "anything",
        Allowed::Refused(refusals) => {
            let codes: Vec<_> = refusals.iter().flat_map(|refusal| refusal.codes).collect();
            return format!("a refusal with one of {codes}", codes = plain(&codes));
        }
    };
    text.to_owned()
}
