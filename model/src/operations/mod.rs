//! The correct behaviour of each request, and the comparison with it: one file for each operation.
//!
//! [`World::allows`] returns the correct behaviour for a request, before the request is made.
//! [`World::compare`] compares the observation with it; every property is judged independently. Neither
//! changes the world.

mod checkpoint;
mod checkpoint_units;
mod classify;
mod clear;
mod configured;
pub mod cost;
mod damage;
mod diff;
mod edited;
mod event;
mod external;
pub mod injected;
mod label;
mod list;
pub(crate) mod overlapped;
mod print;
mod project;
mod refusal;
pub mod restore;
mod restore_answer;
mod restore_attribution;
mod restore_files;
mod restore_request;
pub(crate) mod restore_units;
mod state;
mod status;
mod sweep;
mod target;
mod tool;
mod untouched;
mod without_backend;

use crate::allowed::{Allowed, AllowedRestore};
use crate::answer::{Answer, CheckpointOutcome, Code};
use crate::observation::Observation;
use crate::plain::plain;
use crate::request::Request;
use crate::rules::{self, RuleRef};
use crate::store;
use crate::verdict::{Checks, Judge, Kind, Mismatch, word};
use crate::world::World;

impl World {
    /// The correct answers and effects of `request`.
    pub fn allows(&self, request: &Request) -> Allowed {
        match request {
            Request::NewTurn
            | Request::Reopen
            | Request::SetClock { .. }
            | Request::ToolWrites { .. }
            | Request::ToolWrote { .. }
            | Request::SetState { .. }
            | Request::External { .. }
            | Request::Accept
            | Request::Spawn
            | Request::Join => Allowed::Done,
            Request::GetState { part } => self.allows_state(*part),
            Request::Label { dir, .. } => self.allows_label(dir),
            Request::Pin { dir, target } | Request::Unpin { dir, target } => {
                self.allows_pin(dir, target)
            }
            Request::Compensate => Allowed::Compensated,
            Request::Event { dir, event } => self.allows_event(dir, event),
            Request::RestoreLatest { dir, exact } => {
                self.allows_restore_latest(request, dir, *exact)
            }
            Request::ProjectOf { file } => self.allows_project(file),
            Request::Classify { command } => classify::allows(command),
            Request::BeforeTool { dir, tool } => self.allows_tool(dir, tool),
            Request::EnsureCheckpoint { dir, .. } => self.allows_automatic(dir),
            Request::WithoutBackend { .. } => Allowed::WithoutBackend,
            Request::Checkpoint { dir, .. } => self.allows_manual(dir),
            Request::List { dir } => match self.canonical(dir) {
                Some(project) if self.is_history_unknown(&project) => Allowed::Unknown,
                _ => Allowed::List(self.allows_list(dir)),
            },
            Request::PrintList { dir } => match self.canonical(dir) {
                Some(project) if self.is_history_unknown(&project) => Allowed::Unknown,
                _ if self.allows_list(dir).is_all_damaged() => Allowed::Unknown,
                _ => Allowed::Printed,
            },
            Request::Diff { dir, target } => self.allows_diff(dir, target),
            Request::Restore { dir, target, exact, force } => {
                self.allows_restore(dir, target, *exact, *force)
            }
            Request::RestoreFile { dir, target, path } => {
                self.allows_restore_file(dir, target, path)
            }
            Request::Sweep => self.allows_sweep(),
            Request::Prune { retention_days, max_total_bytes, delete_orphans } => {
                self.allows_prune(*retention_days, *max_total_bytes, *delete_orphans)
            }
            Request::PruneAsConfigured => self.allows_prune_as_configured(),
            Request::Configured => configured::allows(self),
            Request::Status => Allowed::Status(self.allows_status()),
            Request::ClearLegacy => Allowed::Cleared(crate::allowed::Cleared::Archives),
            Request::Clear => Allowed::Cleared(crate::allowed::Cleared::Everything),
        }
    }

    /// Compares the observation of a request with its correct behaviour.
    pub fn compare(&self, allowed: &Allowed, seen: &Observation) -> Checks {
        let mut checks = Checks::default();
        if let Answer::Crashed(reason) = &seen.answer {
            checks.check(Judge::Answer, seen.request.main_rule(), false, || no_answer(reason));
            for rule in rules_of_crash(self, allowed, seen) {
                checks.check(Judge::Answer, rule, false, || no_answer(reason));
            }
            return checks;
        }
        compare_identity(self, allowed, seen, &mut checks);
        compare_answer(self, allowed, seen, &mut checks);
        damage::compare(self, allowed, seen, &mut checks);
        match (allowed, &seen.answer) {
            (Allowed::Restore(restore), Answer::Restored(_)) => {
                restore::compare(self, restore, seen, &mut checks);
            }
            (Allowed::Unknown, _) => {}
            _ => untouched::compare(self, allowed, seen, &mut checks),
        }
        store::compare(self, allowed, seen, &mut checks);
        cost::compare(self, seen, &mut checks);
        checks
    }
}

fn compare_answer(world: &World, allowed: &Allowed, seen: &Observation, checks: &mut Checks) {
    let answer = &seen.answer;
    match (allowed, answer) {
        (Allowed::Done, Answer::Done) | (Allowed::Unknown, _) => {}
        (Allowed::Project { path, rule }, Answer::Project(found)) => {
            project::compare(path, rule, found, checks);
        }
        (Allowed::Classified(changes), Answer::Classified { changes_files }) => {
            if let Request::Classify { command } = &seen.request {
                classify::compare(command, *changes, *changes_files, checks);
            }
        }
        (Allowed::Protected(expected), Answer::Protected(found)) => {
            tool::compare(world, expected, found, checks);
        }
        (Allowed::WithoutBackend, answer) => without_backend::compare(answer, checks),
        (Allowed::Checkpoint(expected), answer) => {
            checkpoint::compare(world, &seen.request, expected, answer, checks);
        }
        (Allowed::List(list), Answer::Listed(found)) => list::compare(world, list, found, checks),
        (Allowed::Printed, Answer::Printed { checkpoints, printed }) => {
            print::compare(world, checkpoints, printed, checks);
        }
        // No rule says what must be shown of a damaged checkpoint, and it may be refused.
        (Allowed::Diff(diff), Answer::Diffed { .. } | Answer::Refused { .. }) if diff.damaged => {}
        (Allowed::Restore(restore), Answer::Refused { .. }) if restore.damaged => {}
        (Allowed::List(list), Answer::Refused { .. }) if list.is_all_damaged() => {}
        (Allowed::Sweep(_), Answer::Refused { .. }) if world.may_maintenance_fail() => {}
        (Allowed::Diff(diff), Answer::Diffed { entries, stats }) => {
            diff::compare(world, diff, entries, stats, checks);
        }
        (Allowed::Diff(diff), Answer::Refused { .. }) if !diff.may_refuse.is_empty() => {
            refusal::compare(world, &diff.may_refuse, answer, checks);
        }
        // A deleted project without checkpoints need not be distinguished from one that never existed.
        (Allowed::List(list), Answer::Refused { .. })
            if list.deleted && list.entries.is_empty() =>
        {
            refusal::compare(world, &[target::NO_SUCH_PROJECT], answer, checks);
        }
        (Allowed::Restore(restore), Answer::Refused { .. }) if !restore.may_refuse.is_empty() => {
            refusal::compare(world, &restore.may_refuse, answer, checks);
        }
        (Allowed::Restore(restore), Answer::Restored(found)) => {
            restore_answer::compare(world, restore, found, seen, checks);
            restore_attribution::compare(world, restore, found, seen, checks);
            external::compare_listed(world, found, seen, checks);
        }
        (Allowed::Status(status), Answer::Status { projects, archives }) => {
            status::compare(status, projects, archives, checks);
        }
        (Allowed::Configured(expected), Answer::Configured(found)) => {
            configured::compare(expected, found, checks);
        }
        (Allowed::State(expected), Answer::State(found)) => {
            state::compare(world, &seen.request, expected.as_ref(), found, checks);
        }
        // A part that was never set need not exist.
        (Allowed::State(None), Answer::Refused { .. }) => {}
        (Allowed::Compensated, Answer::Compensated(reported)) => {
            external::compare_run(world, reported, seen, checks);
        }
        (Allowed::Sweep(sweep), Answer::Swept { outcome, counts }) => {
            let report = sweep::SweepReport { outcome: *outcome, counts };
            let mut found = Checks::default();
            sweep::compare(world, sweep, report, seen, &mut found);
            if seen.request == Request::PruneAsConfigured {
                found = sweep::as_configured(world, found, report, seen);
            }
            checks.join(found);
        }
        (Allowed::Cleared(cleared), Answer::Done) => clear::compare(world, *cleared, seen, checks),
        (Allowed::Refused(refusals), answer) => {
            refusal::compare(world, refusals, answer, checks);
            for rule in rules_of_refusal(world, allowed, seen) {
                checks.check(Judge::Answer, rule, false, || unexpected_answer(allowed, answer));
            }
            // A request that is declined was not checked for a refusal.
            if declines(answer) {
                for rule in world.rules_against_declining(&seen.request) {
                    checks.check(Judge::Answer, rule, false, || unexpected_answer(allowed, answer));
                }
            }
        }
        (allowed, answer) => {
            for rule in main_rules(world, allowed, seen) {
                checks.check(Judge::Answer, rule, false, || unexpected_answer(allowed, answer));
            }
        }
    }
}

/// The mismatch of a subject that died, or did not answer in time.
fn no_answer(reason: &str) -> Mismatch {
    let silent = reason.starts_with("silent");
    let (symptom, kind) = if silent { ("silent", Kind::Timeout) } else { ("died", Kind::Crash) };
    Mismatch::new(symptom, "an answer", reason).kind(kind)
}

fn declines(answer: &Answer) -> bool {
    use CheckpointOutcome::{Deduped, Disabled};
    matches!(answer, Answer::Taken { outcome: Deduped | Disabled, .. })
}

fn unexpected_answer(allowed: &Allowed, answer: &Answer) -> Mismatch {
    Mismatch::new(word(answer), description(allowed), plain(&answer))
}

/// Compares whether a project under another name than its canonical path is still the same project.
///
/// Implements [`rules::SCOPE_IDENTITY`].
fn compare_identity(world: &World, allowed: &Allowed, seen: &Observation, checks: &mut Checks) {
    let canonical = |dir: &[u8]| world.canonical(dir).map(|path| world.absolute(&path));
    let is_alias =
        seen.request.dir().is_some_and(|dir| canonical(dir).is_some_and(|path| path != *dir));
    // Where the store was examined, it shows under which name a checkpoint was stored.
    let shown_by_store = seen.histories.is_some() && matches!(seen.answer, Answer::Taken { .. });
    if is_alias && !shown_by_store {
        let project = seen.request.dir().and_then(|dir| world.canonical(dir));
        let has_checkpoints = project.is_some_and(|project| !world.listed(&project).is_empty());
        let holds = !answers_as_unknown_project(world, allowed, has_checkpoints, &seen.answer);
        checks.check(Judge::Answer, &rules::SCOPE_IDENTITY, holds, || {
            let found = format!("{}, as if the project had no other name", plain(&seen.answer));
            Mismatch::new("taken for another project", description(allowed), found)
        });
    }
}

/// Whether a subject answers under another name as if the project were unknown: no directory or no
/// history where there is one, or a first checkpoint of a state that is already stored. Where
/// `has_checkpoints` is false, the project has no checkpoints.
fn answers_as_unknown_project(
    world: &World,
    allowed: &Allowed,
    has_checkpoints: bool,
    answer: &Answer,
) -> bool {
    let reasons = world.has("refusal.reasons");
    let code = match answer {
        Answer::Refused { code, .. } => Some(*code),
        _ => None,
    };
    let unknown = code == Some(Code::UnknownCheckpoint);
    let absent = reasons && matches!(code, Some(Code::MissingDirectory | Code::NotADirectory));
    let allows = |refusals: &[crate::refusal::Refusal], code: Option<Code>| {
        refusals.iter().any(|refusal| code.is_some_and(|code| refusal.codes.contains(&code)))
    };
    match allowed {
        Allowed::Checkpoint(expected) if absent => !allows(&expected.may_refuse, code),
        Allowed::Checkpoint(expected) => {
            use crate::allowed::CheckpointKind::{Deduped, Unchanged};
            let created =
                matches!(answer, Answer::Taken { outcome: CheckpointOutcome::Created { .. }, .. });
            created && (expected.kind == Deduped || has_checkpoints && expected.kind == Unchanged)
        }
        Allowed::Refused(refusals) => reasons && (absent || unknown) && !allows(refusals, code),
        Allowed::List(list) => {
            !list.entries.is_empty() && matches!(answer, Answer::Listed(found) if found.is_empty())
        }
        // A target that is not found may also be evicted or damaged.
        Allowed::Restore(restore) => {
            unknown && !restore.evicting && !restore.damaged && !restore.unlisted
        }
        Allowed::Diff(diff) => unknown && !diff.damaged && !diff.unlisted,
        _ => false,
    }
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
        Allowed::Diff(_) | Allowed::Refused(_) => {
            let project = seen.request.dir().and_then(|dir| world.canonical(dir));
            let project = project.filter(|project| world.files.is_directory(project));
            project.map(|project| world.capture(&project).skipped_file_rules()).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// The same rules, where a subject that captures the project does not answer at all.
fn rules_of_crash(world: &World, allowed: &Allowed, seen: &Observation) -> Vec<RuleRef> {
    let project = seen.request.dir().and_then(|dir| world.canonical(dir));
    let project = project.filter(|project| world.files.is_directory(project));
    match allowed {
        Allowed::Restore(restore) if restore.captures_before(world) => {
            restore.before.skipped_file_rules()
        }
        Allowed::Checkpoint(_) | Allowed::Diff(_) => {
            project.map(|project| world.capture(&project).skipped_file_rules()).unwrap_or_default()
        }
        _ => Vec::new(),
    }
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

fn description(allowed: &Allowed) -> String {
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
        Allowed::Unknown => "anything",
        Allowed::Refused(refusals) => {
            let codes: Vec<_> = refusals.iter().flat_map(|refusal| refusal.codes).collect();
            return format!("a refusal with one of {codes}", codes = plain(&codes));
        }
    };
    text.to_owned()
}
