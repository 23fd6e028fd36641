//! Restores: finds the target, takes the pre-restore checkpoint, and only then lets [`crate::restore`]
//! write.
//!
//! The store is opened once, but the target is found twice. The first time, an unknown target is
//! refused before anything is changed: taking a lock creates its file, opening the store for writing
//! completes missing parts, and a restore that died is undone first. The second time, the locks are
//! held, since the numbers in the list are stable only then.
//!
//! The project is usually read once, by the capture for the pre-restore checkpoint. A restore with a
//! preview token, or of a single file, may still be refused because of the content of the project, and
//! a refusal must store nothing. So such a restore first reads the project without storing.

use super::attribution::reason;
use super::captures::ProjectCapture;
use super::owner::OperationLocks;
use super::preview::PendingRestore;
use super::scope::{RestoreOptions, Scope};
use super::upkeep::Upkeep;
use super::{Manager, Occasion, OpenProject};
use crate::agent_state::{Journal, Owner, Taking};
use crate::capture::Captured;
use crate::error::{Error, Result};
use crate::policy::Trigger;
use crate::project::Project;
use crate::report::{Outcome, Preview, Remark, Restored};
use crate::restore::{CHANGED_SINCE, Restore, has_changed_since, left_anything};
use crate::store::oid::Oid;
use crate::store::{Store, ref_recovery, restoring};
use crate::token::Token;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::Ordering;

/// The state that a restore is about to change.
#[derive(Default)]
struct PresentState {
    capture: ProjectCapture,
    /// Whether a checkpoint can hold it: the project exists and was captured within the limits.
    is_recordable: bool,
    /// Why no checkpoint could be taken, where the restore goes on without.
    forced_past: Option<String>,
    /// The paths of the plan that anyone but the agent changed; `None` if that is not known.
    others: Option<Vec<Vec<u8>>>,
}

/// The checkpoint of the state before a restore.
#[derive(Default)]
struct PreRestore {
    /// The pre-restore checkpoint, if one was taken.
    id: Option<String>,
    /// The checkpoint that holds the state, which may be an older one.
    before: Option<Oid>,
    /// Paths that could not be read.
    left_out: Vec<Remark>,
}

impl Manager {
    /// Restores a checkpoint, after taking a checkpoint of the present state.
    ///
    /// # Errors
    /// A refusal changes nothing; failures after the first change are in the answer.
    pub fn restore(&self, dir: &Path, target: &[u8], options: RestoreOptions) -> Result<Restored> {
        self.restore_scope(dir, target, Scope::All(options), None)
    }

    /// Restores one file of a checkpoint and touches no other path.
    ///
    /// # Errors
    /// As [`Manager::restore`], and a path that is not in the checkpoint or cannot be written
    /// without touching another.
    pub fn restore_file(&self, dir: &Path, target: &[u8], path: &[u8]) -> Result<Restored> {
        self.restore_scope(dir, target, Scope::File(path), None)
    }

    /// Restores a checkpoint or one of its files; with the token of a preview only what that showed.
    ///
    /// # Errors
    /// As [`Manager::restore`] and [`Manager::restore_file`], and [`Error::ChangedSincePreview`].
    pub fn restore_scope(
        &self,
        dir: &Path,
        target: &[u8],
        scope: Scope<&[u8]>,
        token: Option<Token>,
    ) -> Result<Restored> {
        let project = self.project(dir);
        let scope = scope.resolve(self.disk.as_ref(), &project)?;
        let store = self.open_with_target(&project, target)?;
        let OperationLocks { store, project_lock, state, undone } =
            self.lock_to_restore(store, &project, scope.purpose())?;
        let owner = state?;
        let open = OpenProject::new(&store, &project);
        // Found before the pre-restore checkpoint is taken, which then cannot evict it.
        // rule: restore/safety-keeps-target
        let mut pending = self.find_restore(open, target, scope)?;
        pending.token = token;
        self.check_project(&project)?;
        pending.parts = self.parts_of(&pending)?;
        self.check_before_storing(&pending)?;
        let mut present = self.capture_present(&mut pending)?;
        self.check_plan(&pending, &mut present)?;
        let pre_restore = self.take_pre_restore(&mut pending, &mut present, &owner)?;
        if present.forced_past.is_some() {
            pending.parts.give_up();
        }
        let report = self.write(&pending, &present, pre_restore.before)?;
        // Only after everything is restored, and never the target.
        // rule: restore/safety-keeps-target
        let is_complete = pre_restore.id.is_some() && report.failed.is_empty();
        let evict = || self.limit(&pending.open).evict_after_restore(pending.wanted.id);
        let evicted = is_complete.then(evict);
        let id = pending.wanted.id.to_string();
        let mut agent = self.agent_of(&pending, true);
        if let Some(agent) = &mut agent {
            agent.notices.extend(undone);
        }
        // The upkeep takes the locks that it needs.
        drop(pending);
        drop(owner);
        drop(project_lock);
        drop(store);
        let evicted = self.do_upkeep_after(evicted, Upkeep::after_restore);
        let PreRestore { id: safety, left_out, .. } = pre_restore;
        let PresentState { forced_past, others, .. } = present;
        let others = others.map(|others| by_others(others, &report));
        Ok(Restored { id, safety, left_out, forced_past, others, agent, evicted, ..report })
    }

    /// Opens the store that holds the target. An unknown or damaged target is refused before anything is made
    /// or locked.
    // rule: restore/refusal-changes-nothing
    fn open_with_target(&self, project: &Project, target: &[u8]) -> Result<Store<'_>> {
        let store = self.store_with(target)?;
        {
            let open = OpenProject::new(&store, project);
            let history = self.history(&open)?;
            open.find(&history, target)?.intact()?;
        }
        Ok(store)
    }

    /// Refuses a project that is not a directory; a directory that is gone is made again.
    fn check_project(&self, project: &Project) -> Result<()> {
        match project.check_directory(self.disk.as_ref()) {
            // rule: restore/deleted-project
            Err(Error::MissingDirectory(_)) => Ok(()),
            checked => checked,
        }
    }

    /// Makes the checks for which the project is read, where they may refuse the restore: before anything is
    /// stored, since a refusal must change nothing.
    // rule: restore/refusal-changes-nothing
    fn check_before_storing(&self, pending: &PendingRestore<'_>) -> Result<()> {
        if pending.scope.is_all() && pending.token.is_none() {
            return Ok(());
        }
        let Preview { token, .. } = self.plan(pending)?;
        self.check_token(pending, token)
    }

    /// Captures the project for the pre-restore checkpoint, or goes on without one where that is forced.
    fn capture_present(&self, pending: &mut PendingRestore<'_>) -> Result<PresentState> {
        let OpenProject { store, project, .. } = pending.open;
        if let Err(Error::MissingDirectory(_)) = project.check_directory(store.disk) {
            return Ok(PresentState::default());
        }
        match self.capture_to_store(&mut pending.open) {
            Ok(capture) => {
                Ok(PresentState { capture, is_recordable: true, ..PresentState::default() })
            }
            Err(error) => {
                let forced_past = Some(pending.scope.go_on_without(error)?);
                let captured =
                    Captured { current: self.current(&pending.open)?, ..Captured::default() };
                let capture = ProjectCapture { captured, ..ProjectCapture::default() };
                Ok(PresentState { capture, forced_past, ..PresentState::default() })
            }
        }
    }

    /// Finds out which paths others changed, from the plan, and checks the token again: a file may have been
    /// saved since it was checked.
    fn check_plan(&self, pending: &PendingRestore<'_>, present: &mut PresentState) -> Result<()> {
        if pending.token.is_none() && pending.wanted.changes.is_none() {
            return Ok(());
        }
        let Preview { would, token } =
            self.plan_into(pending, &self.restore_present(pending, present))?;
        self.check_token(pending, token)?;
        present.others = would.others;
        Ok(())
    }

    /// Takes the pre-restore checkpoint, or goes on without one where that is forced.
    // rule: restore/safety-checkpoint
    fn take_pre_restore(
        &self,
        pending: &mut PendingRestore<'_>,
        present: &mut PresentState,
        owner: &Owner,
    ) -> Result<PreRestore> {
        if !present.is_recordable {
            return Ok(PreRestore::default());
        }
        let others = present.others.as_deref().unwrap_or_default();
        let reason = reason(&pending.wanted.id.to_string()[..7], others);
        // rule: restore/safety-outside-turn
        let occasion = Occasion::new(Trigger::PreRollback, &reason);
        let taking = Taking::new(&occasion, &self.state, Ok(owner));
        let open = &mut pending.open;
        match self.record_capture(open, &mut present.capture, &taking) {
            Ok(recorded) => {
                let before = ref_recovery::newest_locked(open.store, &open.objects, open.hash())?;
                let id = match recorded.outcome {
                    Outcome::Created { id } => Some(id),
                    // rule: restore/safety-skipped
                    _ => None,
                };
                let left_out = pending.scope.of_paths(present.capture.skipped());
                Ok(PreRestore { id, before, left_out })
            }
            Err(error) => {
                present.forced_past = Some(pending.scope.go_on_without(error)?);
                // Without the checkpoint nothing may be removed, which changes the plan.
                self.check_plan(pending, present)?;
                Ok(PreRestore::default())
            }
        }
    }

    /// The restore into the present state. Without a pre-restore checkpoint nothing may be removed.
    fn restore_present<'a>(
        &'a self,
        pending: &'a PendingRestore<'a>,
        present: &'a PresentState,
    ) -> Restore<'a> {
        let current = &present.capture.captured.current;
        // The objects of the pre-restore checkpoint are not needed to restore another.
        let mut restore = self.restore_into(&pending.open, current, &pending.wanted);
        restore.below = pending.scope.below();
        restore.may_remove = present.forced_past.is_none();
        restore.made = pending.undoing.as_ref().map(|undoing| &undoing.made);
        restore
    }

    /// Restores the files and then the parts of the agent state; the checkpoint `before` holds the present
    /// files.
    fn write(
        &self,
        pending: &PendingRestore<'_>,
        present: &PresentState,
        before: Option<Oid>,
    ) -> Result<Restored> {
        if self.interrupt.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let PendingRestore { open, scope, parts, .. } = pending;
        let restore = self.restore_present(pending, present);
        let of_state = pending.of_state();
        let journal =
            parts.has_parts().then(|| of_state.begin(restore.current, before)).transpose()?;
        begin_record(pending, before);
        let is_tidy = restore.tidy();
        let report = pending.of_turn(scope.restore(&restore)?);
        if let Some(journal) = &journal {
            let undo_files = &|journal: &Journal| self.undo_files(open, journal);
            self.state.end_restore(&of_state, journal, &report.failed, undo_files)?;
        }
        // A restore that is undone changed nothing: neither it nor its undoing is recorded.
        self.record_restore(open, &restore, &report);
        if is_tidy && !report.interrupted && !left_anything(&report) {
            open.record_ended(pending, &restore, before, &report);
            end_record(pending);
        }
        Ok(report)
    }
}

/// Records that the restore is about to write, so that the next operation reports it if it is interrupted.
fn begin_record(pending: &PendingRestore<'_>, before: Option<Oid>) {
    let OpenProject { store, project, .. } = pending.open;
    let record = (!pending.scope.is_file()).then(|| restoring::Record {
        target: pending.wanted.id.to_string(),
        before: before.map(|before| before.to_string()),
        below: pending.scope.below().map(<[_]>::to_vec),
        exact: pending.scope.options().exact,
        direction: pending.undoing.as_ref().map(|undoing| undoing.direction),
    });
    let earlier = restoring::read(store.disk, &store.path, &project.hash);
    let both = record.as_ref().zip(earlier);
    if both.is_some_and(|(record, earlier)| !record.continues(&earlier)) {
        pending.open.record_interrupted();
    }
    if let Err(error) = restoring::begin(store, &project.hash, record.as_ref()) {
        tracing::debug!("an interruption of this restore would not be noticed: {error}");
    }
}

/// Removes the record. The restore of a single file does not complete an interrupted restore.
fn end_record(pending: &PendingRestore<'_>) {
    let OpenProject { store, project, .. } = pending.open;
    if !pending.scope.is_file() || restoring::read(store.disk, &store.path, &project.hash).is_none()
    {
        let _ = restoring::end(store, &project.hash);
    }
}

/// The paths of a restore that anyone but the agent changed since the checkpoint, also while it ran.
// rule: restore/other-hands
fn by_others(planned: Vec<Vec<u8>>, report: &Restored) -> Vec<Vec<u8>> {
    let changed =
        report.kept.iter().filter(|kept| kept.why == CHANGED_SINCE || has_changed_since(&kept.why));
    let paths: BTreeSet<Vec<u8>> =
        planned.into_iter().chain(changed.map(|kept| kept.path.clone())).collect();
    let reported = report.paths();
    paths.into_iter().filter(|path| reported.contains(&path[..])).collect()
}
