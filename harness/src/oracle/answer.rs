//! The first judge: is the subject's answer one that the model allows?

use super::{Checks, Judge, Kind, Mismatch, listing, maintenance, word};
use crate::protocol::capabilities::Capabilities;
use herma_model::answer::{Answer, CheckpointOutcome, Code, Remark, Restored};
use herma_model::expected::{
    CheckpointKind, Expected, ExpectedCheckpoint, ExpectedRestore, Refusal,
};
use herma_model::rules::{self, RuleRef};
use herma_model::world::Checkpoint;
use herma_model::{ByteString, World};
use std::collections::BTreeSet;

const JUDGE: Judge = Judge::Answer;

/// What was answered to one request.
pub struct Answered<'a> {
    /// What the model allows.
    pub expected: &'a Expected,
    /// What the subject said.
    pub answer: &'a Answer,
    /// Whether the project was not named by its canonical path.
    pub alias: bool,
    /// The rule broken where a checkpoint is declined that should be taken or refused.
    pub if_declined: Option<RuleRef>,
}

/// Compares an answer with what the model expects, as far as the subject claims to say it, and
/// teaches the world the ids it brings.
pub fn judge(
    world: &mut World,
    told: &Answered<'_>,
    capabilities: &Capabilities,
    checks: &mut Checks,
) {
    let (expected, answer) = (told.expected, told.answer);
    if told.alias {
        checks.check(
            JUDGE,
            &rules::SCOPE_IDENTITY,
            !is_taken_for_another(expected, answer, capabilities),
            || {
                let found = format!("{answer:?}, as if the project had no other name");
                Mismatch::new("taken for another project", kind(expected), found)
            },
        );
    }
    match (expected, answer) {
        (Expected::Done, Answer::Done) => {}
        (Expected::Project { path, rule }, Answer::Project(found)) => {
            checks.check(JUDGE, rule, path == found, || {
                let symptom = if found.is_some() { "another project" } else { "no project" };
                Mismatch::new(symptom, format!("{path:?}"), format!("{found:?}"))
            });
        }
        (Expected::Checkpoint(take), answer) => {
            judge_checkpoint(world, take, answer, capabilities, checks)
        }
        (Expected::List(list), Answer::Listed(found)) => {
            listing::judge_list(list, found, capabilities, checks)
        }
        (Expected::Diff(diff), Answer::Diffed { entries, stats }) => {
            listing::judge_diff(diff, entries, stats, capabilities, checks);
        }
        (Expected::Diff(diff), Answer::Refused { .. }) if !diff.may_refuse.is_empty() => {
            judge_refusal(&diff.may_refuse, answer, capabilities, checks);
        }
        (Expected::Restore(restore), Answer::Restored(found)) => {
            judge_restore(world, restore, found, capabilities, checks);
        }
        (Expected::Status(status), Answer::Status { projects, archives }) => {
            maintenance::judge_status(status, projects, archives, checks);
        }
        // What these came to is seen on the disk.
        (Expected::Sweep(_), Answer::Swept { .. }) | (Expected::Cleared(_), Answer::Done) => {}
        (Expected::Refused(refusals), answer) => {
            let declined = matches!(
                answer,
                Answer::Taken {
                    outcome: CheckpointOutcome::Deduped | CheckpointOutcome::Disabled,
                    ..
                }
            );
            match told.if_declined.filter(|_| declined) {
                // Whoever declines has not looked whether there is anything to refuse.
                Some(rule) if *rule != rules::CAPTURE_CREATED => {
                    checks.check(JUDGE, rule, false, || {
                        Mismatch::new(word(answer), kind(expected), format!("{answer:?}"))
                    });
                }
                _ => judge_refusal(refusals, answer, capabilities, checks),
            }
        }
        (expected, answer) => {
            let rule = main_rule(expected, answer);
            checks.check(JUDGE, rule, false, || {
                Mismatch::new(word(answer), kind(expected), format!("{answer:?}"))
            });
        }
    }
}

/// Whether a subject answers under another name as if it had never seen the project: no directory
/// or no history where there is one, or a first checkpoint of what it holds already.
fn is_taken_for_another(expected: &Expected, answer: &Answer, capabilities: &Capabilities) -> bool {
    let unknown = matches!(answer, Answer::Refused { code: Code::UnknownCheckpoint, .. });
    let absent = match answer {
        Answer::Refused { code, .. } if capabilities.has("refusal.reasons") => {
            Some(code).filter(|code| [Code::MissingDirectory, Code::NotADirectory].contains(code))
        }
        _ => None,
    };
    let is_there = |right: &[Refusal]| {
        absent.is_some_and(|code| !right.iter().any(|one| one.codes.contains(code)))
    };
    match expected {
        Expected::Checkpoint(take) if is_there(&take.may_refuse) => true,
        Expected::Refused(refusals) => {
            let wrongly = |one: &Refusal| !one.codes.contains(&Code::UnknownCheckpoint);
            let reasons = capabilities.has("refusal.reasons");
            is_there(refusals) || reasons && unknown && refusals.iter().all(wrongly)
        }
        Expected::List(list) => {
            !list.entries.is_empty() && matches!(answer, Answer::Listed(found) if found.is_empty())
        }
        Expected::Checkpoint(take) => {
            let held = matches!(take.kind, CheckpointKind::Unchanged | CheckpointKind::Deduped);
            held && matches!(
                answer,
                Answer::Taken { outcome: CheckpointOutcome::Created { .. }, .. }
            )
        }
        // What is not found there may also have been dropped to make room.
        Expected::Restore(restore) => unknown && !restore.evicting,
        Expected::Diff(_) => unknown,
        _ => false,
    }
}

/// The rule that is broken by an answer of the wrong kind.
fn main_rule(expected: &Expected, answer: &Answer) -> RuleRef {
    let code = match answer {
        Answer::Refused { code, .. } => Some(*code),
        _ => None,
    };
    match expected {
        Expected::Done => &rules::TURN_RESET,
        Expected::Project { rule, .. } => rule,
        Expected::Checkpoint(take) => take.rule,
        Expected::List(list) if list.deleted => &rules::RESTORE_DELETED_PROJECT,
        Expected::List(_) => &rules::LIST_COMPLETE,
        Expected::Diff(_) if is_about_target(code) => &rules::RESTORE_TARGET,
        Expected::Diff(_) => &rules::DIFF_PREVIEW,
        Expected::Restore(restore) => not_restored(restore, code),
        Expected::Sweep(sweep) if !sweep.manual => &rules::MAINTENANCE_NEVER_RAISES,
        Expected::Sweep(_) | Expected::Status(_) | Expected::Cleared(_) => {
            &rules::MAINTENANCE_COMMANDS
        }
        Expected::Refused(refusals) => {
            refusals.first().map_or(&rules::RESTORE_BAD_TARGET, |refusal| refusal.rule)
        }
    }
}

/// Whether what was refused is how the checkpoint was named.
fn is_about_target(code: Option<Code>) -> bool {
    matches!(code, Some(Code::BadTarget | Code::AmbiguousCheckpoint))
}

/// The rule that is broken where nothing was restored, with this code where that was refused.
fn not_restored(restore: &ExpectedRestore, code: Option<Code>) -> RuleRef {
    match code {
        _ if is_about_target(code) => &rules::RESTORE_TARGET,
        Some(Code::NoSafetyCheckpoint | Code::TooManyFiles) => &rules::RESTORE_SAFETY_REQUIRED,
        _ if restore.evicting => &rules::RESTORE_SAFETY_KEEPS_TARGET,
        _ if restore.deleted => &rules::RESTORE_DELETED_PROJECT,
        Some(Code::UnknownCheckpoint) => &rules::RESTORE_TARGET,
        _ if restore.only.is_some() => &rules::RESTORE_FILE_LITERAL,
        _ => &rules::RESTORE_TARGET,
    }
}

fn kind(expected: &Expected) -> String {
    let text = match expected {
        Expected::Done => "done",
        Expected::Project { .. } => "the project of a file",
        Expected::Checkpoint(take) => return format!("{:?}", take.kind),
        Expected::List(_) => "a list",
        Expected::Diff(_) => "a diff",
        Expected::Restore(_) => "a restore",
        Expected::Sweep(_) => "a sweep",
        Expected::Status(_) => "the status",
        Expected::Cleared(_) => "something cleared",
        Expected::Refused(refusals) => {
            let codes: Vec<_> = refusals.iter().flat_map(|one| one.codes).collect();
            return format!("a refusal with one of {codes:?}");
        }
    };
    text.to_owned()
}

fn judge_refusal(
    refusals: &[Refusal],
    answer: &Answer,
    capabilities: &Capabilities,
    checks: &mut Checks,
) {
    let fits = |refusal: &&Refusal| match answer {
        Answer::Refused { code: Code::Internal, .. } => false,
        Answer::Refused { code, .. } => {
            !capabilities.has("refusal.reasons") || refusal.codes.contains(code)
        }
        _ => false,
    };
    let fitting = refusals.iter().find(fits);
    let rule = fitting.or(refusals.first()).map_or(&rules::RESTORE_BAD_TARGET, |one| one.rule);
    let names_target = |one: &Refusal| one.codes.contains(&Code::UnknownCheckpoint);
    let rule = match answer {
        // That something else is wrong is no reason not to know the checkpoint.
        Answer::Refused { code, .. }
            if is_about_target(Some(*code)) && !refusals.iter().any(names_target) =>
        {
            &rules::RESTORE_TARGET
        }
        // A checkpoint that is not this project's is still well named.
        Answer::Refused { code: Code::BadTarget, .. } if fitting.is_none() => {
            &rules::RESTORE_TARGET
        }
        _ => rule,
    };
    checks.check(JUDGE, rule, fitting.is_some(), || {
        let codes: Vec<_> = refusals.iter().flat_map(|one| one.codes).collect();
        let due = codes.first().map_or_else(String::new, |code| format!(", not {code}"));
        let symptom = format!("{}{due}", word(answer));
        let wrong = Mismatch::new(
            symptom,
            format!("a refusal with one of {codes:?}"),
            format!("{answer:?}"),
        );
        match answer {
            Answer::Refused { .. } => wrong.kind(Kind::WrongReason),
            _ => wrong,
        }
    });
}

fn judge_checkpoint(
    world: &mut World,
    take: &ExpectedCheckpoint,
    answer: &Answer,
    capabilities: &Capabilities,
    checks: &mut Checks,
) {
    if matches!(answer, Answer::Refused { .. }) && !take.may_refuse.is_empty() {
        return judge_refusal(&take.may_refuse, answer, capabilities, checks);
    }
    if let (true, Answer::Taken { outcome: CheckpointOutcome::Unchanged, .. }) =
        (take.may_be_unchanged, answer)
    {
        return world.forget_newest(&take.project);
    }
    let told = || {
        let due = format!("{:?}", take.kind);
        let symptom = match take.kind {
            // What else it did says nothing of why: that depends on the files alone.
            CheckpointKind::Deduped => "not deduped".to_owned(),
            _ if word(answer) == "deduped" => "deduped".to_owned(),
            _ => format!("{}, not {}", word(answer), due.to_lowercase()),
        };
        Mismatch::new(symptom, due, format!("{answer:?}"))
    };
    let Answer::Taken { outcome, skipped } = answer else {
        let rule = match answer {
            Answer::Refused { code: Code::TooManyFiles, .. } => take.if_too_many,
            _ => stopped_by(take),
        };
        return checks.check(JUDGE, rule, false, told);
    };
    let found = match outcome {
        CheckpointOutcome::Created { .. } => CheckpointKind::Created,
        CheckpointOutcome::Deduped => CheckpointKind::Deduped,
        CheckpointOutcome::Unchanged => CheckpointKind::Unchanged,
        CheckpointOutcome::Disabled => CheckpointKind::Disabled,
    };
    let rule = match found {
        CheckpointKind::Deduped | CheckpointKind::Disabled if take.kind != found => {
            take.if_declined
        }
        _ => take.rule,
    };
    if let CheckpointOutcome::Created { id } = outcome {
        let known = |one: &Checkpoint| one.id.as_ref() == Some(id);
        let earlier = world.history(&take.project).iter().any(known);
        checks.check(JUDGE, &rules::CAPTURE_HONEST, !earlier, || {
            Mismatch::new("an earlier id", "the id of a new checkpoint", format!("{answer:?}"))
                .kind(Kind::Dishonest)
        });
    }
    checks.check(JUDGE, rule, found == take.kind, told);
    if !matches!(take.kind, CheckpointKind::Deduped | CheckpointKind::Disabled) {
        // That nothing stopped it is what the rules about declining and counting ask.
        checks.held(take.if_declined, 1);
        checks.held(take.if_too_many, 1);
    }
    if let (CheckpointOutcome::Created { id }, CheckpointKind::Created) = (outcome, take.kind) {
        world.learn_id(&take.project, id);
    }
    if let (Some(captured), CheckpointKind::Created) = (&take.captured, take.kind) {
        let reported: BTreeSet<&ByteString> = skipped.iter().map(|remark| &remark.path).collect();
        for path in captured.unreadable().filter(|_| capabilities.has("take.skipped")) {
            checks.check(JUDGE, &rules::CAPTURE_UNREADABLE, reported.contains(path), || {
                let expected = format!("{path} reported as skipped");
                Mismatch::new("left out unsaid", expected, format!("skipped: {skipped:?}"))
                    .kind(Kind::Dishonest)
            });
        }
        let captured_and_skipped = reported.iter().find(|path| captured.tree.contains_key(**path));
        checks.check(JUDGE, &rules::CAPTURE_HONEST, captured_and_skipped.is_none(), || {
            let expected = "no captured path reported as skipped";
            Mismatch::new(
                "captured, said to be skipped",
                expected,
                format!("{captured_and_skipped:?}"),
            )
            .kind(Kind::Dishonest)
        });
    }
}

/// The rule broken by a refusal: what should only have been left out may not stop a checkpoint.
fn stopped_by(take: &ExpectedCheckpoint) -> RuleRef {
    let left_out = take.captured.iter().flat_map(|captured| captured.left_out.values());
    let stops =
        |rule: &RuleRef| [&rules::CAPTURE_UNREADABLE, &rules::CAPTURE_SPECIAL].contains(rule);
    left_out.copied().find(stops).unwrap_or(take.rule)
}

fn judge_restore(
    world: &mut World,
    restore: &ExpectedRestore,
    found: &Restored,
    capabilities: &Capabilities,
    checks: &mut Checks,
) {
    let (wanted, rule) = restore.safety;
    checks.check(JUDGE, rule, found.safety.is_some() == wanted, || {
        let symptom = if wanted { "no pre-rollback checkpoint" } else { "one too many" };
        let expected = format!("a pre-rollback checkpoint: {wanted}");
        Mismatch::new(symptom, expected, format!("{:?}", found.safety))
    });
    if let (true, Some(id)) = (wanted, &found.safety) {
        world.learn_id(&restore.project, id);
    }
    checks.held(&rules::RESTORE_TARGET, 1);
    let past = *rule == rules::RESTORE_SAFETY_REQUIRED;
    let told = || {
        let (due, said) = (format!("forced past: {past}"), found.forced_past.to_string());
        Mismatch::new("forced past", due, said).kind(Kind::Dishonest)
    };
    checks.check(JUDGE, &rules::RESTORE_SAFETY_REQUIRED, found.forced_past == past, told);
    if capabilities.has("restore.undoes_turn") {
        let undoes = restore.only.is_none();
        checks.check(JUDGE, &rules::RESTORE_UNDOES_TURN, found.undoes_turn == undoes, || {
            let due = format!("undoes the turn: {undoes}");
            Mismatch::new("undoes the turn", due, found.undoes_turn.to_string())
        });
    }
    if !capabilities.has("restore.report") {
        return;
    }
    let set = |paths: &[ByteString]| paths.iter().cloned().collect::<BTreeSet<_>>();
    let kept = |remarks: &[Remark]| remarks.iter().map(|one| one.path.clone()).collect();
    let mut kept: BTreeSet<ByteString> = kept(&found.kept);
    kept.retain(|path| !restore.may_keep.contains(path));
    let mut report = |rule: RuleRef, what: &str, due: &dyn std::fmt::Debug, said: String| {
        // The files were compared before: here only the report can be wrong.
        let due = format!("{due:?}");
        checks.check(JUDGE, rule, due == said, || {
            let wrong = Mismatch::new(what, format!("{what}: {due}"), format!("{what}: {said}"));
            wrong.kind(Kind::Dishonest)
        });
    };
    report(&rules::RESTORE_PROTECTS, "kept", &restore.kept, format!("{kept:?}"));
    let honest = &rules::RESTORE_HONEST;
    let no_failures: &[Remark] = &[];
    report(honest, "failed", &no_failures, format!("{:?}", found.failed));
    report(honest, "restored", &restore.restored, format!("{:?}", set(&found.restored)));
    report(honest, "removed", &restore.removed, format!("{:?}", set(&found.removed)));
    if restore.only.is_none() {
        let left = format!("{:?}", set(&found.left));
        report(&rules::RESTORE_LEAVES_NEW, "left", &restore.left, left);
    }
}
