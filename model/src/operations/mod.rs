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
mod own_store;
mod print;
mod project;
mod refusal;
pub mod restore;
mod restore_answer;
mod restore_attribution;
mod restore_files;
mod restore_outcome;
mod restore_request;
pub(crate) mod restore_units;
mod state;
mod status;
mod sweep;
mod target;
mod tool;
mod undone_elsewhere;
mod unexpected;
mod untouched;
mod without_backend;

use crate::allowed::{Allowed, Cleared};
use crate::answer::{Answer, CheckpointOutcome, Code};
use crate::excuse::Excuse;
use crate::observation::Observation;
use crate::plain::plain;
use crate::refusal::Refusal;
use crate::request::Request;
use crate::rules;
use crate::store;
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;
use unexpected::description;

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
            Request::Classify { command } => classify::allows(self, command),
            Request::BeforeTool { dir, tool } => self.allows_tool(dir, tool),
            Request::EnsureCheckpoint { dir, .. } => self.allows_automatic(dir),
            Request::WithoutBackend { .. } => Allowed::WithoutBackend,
            Request::Checkpoint { dir, .. } => self.allows_manual(dir),
            Request::List { dir } => match self.canonical(dir) {
                Some(project) if self.is_history_unknown(&project) => {
                    Allowed::Unknown(Excuse::Damage)
                }
                _ => Allowed::List(self.allows_list(dir)),
            },
            Request::PrintList { dir } => match self.canonical(dir) {
                Some(project) if self.is_history_unknown(&project) => {
                    Allowed::Unknown(Excuse::Damage)
                }
                _ if self.allows_list(dir).is_all_damaged() => Allowed::Unknown(Excuse::Damage),
                _ => Allowed::Printed,
            },
            Request::Diff { dir, target } => self.allows_diff(dir, target),
            Request::Restore { dir, target, exact, force } => {
                self.allows_restore(dir, target, *exact, *force)
            }
            Request::RestoreFile { dir, target, path } => {
                self.allows_restore_file(dir, target, path)
            }
            Request::Undo { dir } | Request::Redo { dir } => self.allows_step(request, dir),
            Request::Sweep => self.allows_sweep(),
            Request::Prune { retention_days, max_total_bytes, delete_orphans } => {
                self.allows_prune(*retention_days, *max_total_bytes, *delete_orphans)
            }
            Request::PruneAsConfigured => self.allows_prune_as_configured(),
            Request::Configured => configured::allows(self),
            Request::Status => Allowed::Status(self.allows_status()),
            Request::ClearLegacy => Allowed::Cleared(Cleared::Archives),
            Request::Clear => Allowed::Cleared(Cleared::Everything),
        }
    }

    /// Compares the observation of a request with its correct behaviour.
    pub fn compare(&self, allowed: &Allowed, seen: &Observation) -> Checks {
        let mut checks = Checks::default();
        if let Answer::Crashed(reason) = &seen.answer {
            for rule in unexpected::rules_of_crash(self, allowed, seen) {
                checks.check(Judge::Answer, rule, false, || unexpected::no_answer(reason));
            }
            return checks;
        }
        if self.compare_undone_project(seen, &mut checks) {
            return checks;
        }
        compare_identity(self, allowed, seen, &mut checks);
        compare_answer(self, allowed, seen, &mut checks);
        damage::compare(self, allowed, seen, &mut checks);
        match (allowed, &seen.answer) {
            (Allowed::Restore(restore), Answer::Restored(_)) => {
                restore::compare(self, restore, seen, &mut checks);
            }
            // Whatever else is unknown, other files must not change.
            (Allowed::Unknown(_), _) => self.compare_files(allowed, seen, &mut checks),
            _ => untouched::compare(self, allowed, seen, &mut checks),
        }
        store::compare(self, allowed, seen, &mut checks);
        cost::compare(self, seen, &mut checks);
        own_store::compare(self, seen, &mut checks);
        checks
    }
}

fn compare_answer(world: &World, allowed: &Allowed, seen: &Observation, checks: &mut Checks) {
    match (allowed, &seen.answer) {
        (Allowed::Done, Answer::Done) => {}
        (Allowed::Unknown(excuse), _) => checks.excused(seen.request.main_rule(), *excuse, 1),
        (Allowed::WithoutBackend, answer) => without_backend::compare(answer, checks),
        (Allowed::Checkpoint(expected), answer) => {
            checks.join(checkpoint::compare(world, &seen.request, expected, answer));
        }
        (Allowed::Refused(refusals), answer) => {
            refusal::compare(world, refusals, answer, checks);
            unexpected::compare_unrefused(world, allowed, seen, checks);
        }
        (_, Answer::Refused { .. }) => compare_refusal(world, allowed, seen, checks),
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
        (Allowed::List(list), Answer::Listed(found)) => list::compare(world, list, found, checks),
        (Allowed::Printed, Answer::Printed { checkpoints, printed }) => {
            print::compare(world, checkpoints, printed, checks);
        }
        // No rule says what must be shown of a damaged checkpoint.
        (Allowed::Diff(diff), Answer::Diffed { .. }) if diff.damaged => {
            checks.excused(&rules::DIFF_PREVIEW, Excuse::Damage, 1);
        }
        (Allowed::Diff(diff), answer @ Answer::Diffed { .. }) => {
            diff::compare(world, diff, answer, checks);
        }
        (Allowed::Restore(restore), Answer::Restored(found)) => {
            restore_answer::compare(world, restore, seen, checks);
            restore_attribution::compare(world, restore, seen, checks);
            external::compare_listed(world, found, seen, checks);
        }
        (Allowed::Status(status), Answer::Status { projects, archives }) => {
            status::compare(status, projects, archives, checks);
        }
        (Allowed::Configured(expected), Answer::Configured(found)) => {
            configured::compare(expected, found, checks);
        }
        (Allowed::State(expected), Answer::State(found)) => {
            if let (Request::GetState { part }, Some(expected)) = (&seen.request, expected) {
                checks.join(state::compare(world, *part, expected, found));
            }
        }
        (Allowed::Compensated, Answer::Compensated(reported)) => {
            external::compare_run(world, reported, seen, checks);
        }
        (Allowed::Sweep(sweep), Answer::Swept { outcome, counts }) => {
            let report = sweep::SweepReport { outcome: *outcome, counts };
            checks.join(sweep::compare_request(world, sweep, report, seen));
        }
        (Allowed::Cleared(cleared), Answer::Done) => clear::compare(world, *cleared, seen, checks),
        _ => unexpected::compare(world, allowed, seen, checks),
    }
}

/// Compares a refusal where another answer is expected, and a refusal may be allowed as well.
fn compare_refusal(world: &World, allowed: &Allowed, seen: &Observation, checks: &mut Checks) {
    let main_rule = seen.request.main_rule();
    let excuse = match allowed {
        // No rule says what must be shown of a damaged checkpoint, and it may be refused.
        Allowed::Diff(diff) if diff.damaged => Some(Excuse::Damage),
        Allowed::Restore(restore) if restore.damaged => Some(Excuse::Damage),
        Allowed::List(list) if list.is_all_damaged() => Some(Excuse::Damage),
        Allowed::Sweep(_) if world.may_maintenance_fail() => Some(Excuse::Damage),
        // A part that was never set need not exist.
        Allowed::State(None) => Some(Excuse::NoRule),
        _ => None,
    };
    if let Some(excuse) = excuse {
        if excuse == Excuse::Damage {
            refusal::compare_damaged(world, allowed, &seen.answer, checks);
        }
        return checks.excused(main_rule, excuse, 1);
    }
    match refusal::allowed_refusals(allowed) {
        [] => unexpected::compare(world, allowed, seen, checks),
        refusals => {
            checks.excused(main_rule, refusal::excuse(&seen.answer), 1);
            refusal::compare(world, refusals, &seen.answer, checks);
        }
    }
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
    let allows = |refusals: &[Refusal], code: Option<Code>| {
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
