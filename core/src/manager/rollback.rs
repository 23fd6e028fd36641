//! Restores: finds the target, takes the pre-restore checkpoint, and only then lets
//! [`crate::restore`] write.

use super::attribution::reason;
use super::carry::Taking;
use super::owner::OperationLocks;
use super::scope::{LiteralScope, RestoreOptions, Scope};
use super::upkeep::Upkeep;
use super::wanted::Wanted;
use super::whole::{StateRestore, WantedParts};
use super::{Manager, Occasion, OpenProject, no_checkpoint};
use crate::capture::Current;
use crate::disk::Sharing;
use crate::error::{Error, Result};
use crate::own_folders::OwnFolders;
use crate::policy::Trigger;
use crate::project::Project;
use crate::report::{AgentRestored, Evicted, Outcome, Preview, Remark, Restored};
use crate::restore::{
    CHANGED_SINCE, CapturedProject, Restore, Units, has_changed_since, left_anything,
};
use crate::store::attribution::Change;
use crate::store::objects::Objects;
use crate::store::{Store, lock, ref_recovery, restoring};
use crate::token::Token;
use git2::Oid;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::Ordering;

/// A request for a pre-restore checkpoint.
struct PreRestoreRequest<'a> {
    taking: &'a Taking<'a>,
    is_forced: bool,
}

/// The state before a restore, and the checkpoint to undo the restore with.
#[derive(Default)]
struct PreRestore {
    /// The pre-restore checkpoint, if one was taken.
    id: Option<String>,
    /// The checkpoint that holds the state, which may be an older one.
    before: Option<Oid>,
    /// The captured state.
    current: Current,
    /// Paths that could not be read.
    left_out: Vec<Remark>,
    /// Why no checkpoint could be taken, where the restore goes on without.
    forced_past: Option<String>,
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

    /// Returns exactly what a restore would do, if nothing fails or changes before; it changes
    /// nothing.
    ///
    /// # Errors
    /// What would refuse the restore, as far as it can be seen before.
    pub fn preview(&self, dir: &Path, target: &[u8], scope: Scope<&[u8]>) -> Result<Preview> {
        let disk = self.disk.as_ref();
        let project = self.project(dir);
        let scope = scope.resolve(disk, &project)?;
        let store = Store::open(disk, &self.base())?.ok_or_else(|| no_checkpoint(target))?;
        let open = OpenProject::new(&store, &project);
        let listed = self.history(&open)?;
        let wanted = Wanted::read(&open, open.find(&listed, target)?)?;
        let (would, token) = self.plan(&open, &wanted, &scope)?;
        // While another restore takes long, the preview may show half of it, and differ from this restore.
        let _owner = self.state.lock_parts(disk, Sharing::Shared, lock::take);
        let parts = self.parts_of(&scope, &open.objects, &wanted)?;
        let agent = self.agent_of(&scope, &project, &wanted, &parts, false);
        let token = parts.token(token, agent.as_ref());
        Ok(Preview { would: Restored { id: wanted.id.to_string(), agent, ..would }, token })
    }

    /// The report of a restore that would run now, and its token.
    fn plan(
        &self,
        open: &OpenProject<'_>,
        wanted: &Wanted,
        scope: &LiteralScope,
    ) -> Result<(Restored, Token)> {
        // A pre-restore checkpoint has the bounds of any other.
        let (current, refused) = match self.current_within(&self.config, open) {
            Ok(current) => (current, None),
            Err(error) => (self.current(open)?, Some(error)),
        };
        let mut restore = self.restore_into(open, &current, wanted);
        restore.may_remove = refused.is_none();
        let would = scope.plan(&restore)?;
        let token = restore.token(&would);
        let by_others =
            |changes: &Vec<Change>| self.by_others(open.project, &restore, changes, &would);
        let others = wanted.changes.as_ref().map(by_others);
        let would = Restored { others, ..would };
        match refused {
            Some(error) if !scope.is_forced() => {
                Err(Error::NoPreRestoreCheckpoint(Box::new(error)))
            }
            refused => {
                let forced_past = refused.map(|error| error.to_string());
                Ok((Restored { forced_past, ..would }, token))
            }
        }
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
        let disk = self.disk.as_ref();
        let project = self.project(dir);
        let scope = scope.resolve(disk, &project)?;
        {
            // An unknown target is refused before anything is made or locked.
            // rule: restore/refusal-changes-nothing
            let store = Store::open(disk, &self.base())?.ok_or_else(|| no_checkpoint(target))?;
            let open = OpenProject::new(&store, &project);
            let history = self.history(&open)?;
            open.find(&history, target)?.intact()?;
        }
        // The target is found again, since its number is stable only under the lock, and before the
        // pre-restore checkpoint is taken, which then cannot evict the target.
        let OperationLocks { store, project_lock, state, undone } =
            self.lock_operation(&project, scope.purpose())?;
        let state = state?;
        let mut open = OpenProject::new(&store, &project);
        // rule: restore/safety-keeps-target
        let history = self.history(&open)?;
        let wanted = Wanted::read(&open, open.find(&history, target)?)?;
        match project.check_directory(disk) {
            // rule: restore/deleted-project
            Ok(()) | Err(Error::MissingDirectory(_)) => {}
            Err(error) => return Err(error),
        }
        let mut parts = self.parts_of(&scope, &open.objects, &wanted)?;
        let mut others = None;
        if !scope.is_all() || token.is_some() || wanted.changes.is_some() {
            // Checked before anything is stored, since a refusal must change nothing.
            // rule: restore/refusal-changes-nothing
            let (would, now) = self.plan(&open, &wanted, &scope)?;
            let agent = self.agent_of(&scope, &project, &wanted, &parts, false);
            as_previewed(token, parts.token(now, agent.as_ref()))?;
            others = would.others;
        }
        let reason = reason(&wanted.id.to_string()[..7], others.as_deref().unwrap_or_default());
        let is_forced = scope.is_forced();
        // rule: restore/safety-outside-turn
        let occasion = Occasion::new(Trigger::PreRollback, &reason);
        let taking = Taking::new(&occasion, &self.state, Ok(&state));
        let request = PreRestoreRequest { taking: &taking, is_forced };
        let PreRestore { id: pre_restore, before, current, left_out, forced_past } =
            self.take_pre_restore(&mut open, &request)?;
        // The objects of the pre-restore checkpoint are not needed to restore another.
        let mut restore = self.restore_into(&open, &current, &wanted);
        restore.may_remove = forced_past.is_none();
        if token.is_some() {
            // A file may have been saved meanwhile; the pre-restore checkpoint holds it, and stays.
            let now = scope.plan(&restore)?;
            let agent = self.agent_of(&scope, &project, &wanted, &parts, false);
            as_previewed(token, parts.token(restore.token(&now), agent.as_ref()))?;
        }
        if self.interrupt.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        if forced_past.is_some() {
            parts.give_up();
        }
        let state_restore = StateRestore { open: &open, wanted: &wanted, parts: &parts };
        let journal = parts
            .has_parts()
            .then(|| self.begin_state_restore(&state_restore, &restore, before))
            .transpose()?;
        let record = scope.is_all().then(|| restoring::Record {
            target: wanted.id.to_string(),
            before: before.map(|before| before.to_string()),
        });
        if let Err(error) = restoring::begin(&store, &project.hash, record.as_ref()) {
            tracing::debug!("that this restore was interrupted would not be known: {error}");
        }
        let is_tidy = restore.tidy();
        let report = scope.restore(&restore)?;
        let others = others.map(|others| by_others(others, &report));
        self.record_restore(&open, &restore, &report);
        if let Some(journal) = &journal {
            self.end_state_restore(&state_restore, journal, &report)?;
        }
        // The restore of a single file does not complete an interrupted full restore.
        let is_recorded = restoring::read(disk, &store.path, &project.hash).is_some();
        let is_ended = scope.is_all() || !is_recorded;
        if is_tidy && is_ended && !report.interrupted && !left_anything(&report) {
            let _ = restoring::end(&store, &project.hash);
        }
        // Only after everything is restored, and never the target.
        // rule: restore/safety-keeps-target
        let is_complete = pre_restore.is_some() && report.failed.is_empty();
        let limit = self.limit(&open);
        let mut upkeep = Upkeep::None;
        let mut evicted = Evicted::default();
        if is_complete {
            let evicted_now = limit.evict_after_restore(wanted.id);
            upkeep = Upkeep::after(&evicted_now);
            evicted = evicted_now.into();
        }
        let id = wanted.id.to_string();
        let mut agent = self.agent_of(&scope, &project, &wanted, &parts, true);
        if let Some(agent) = &mut agent {
            agent.notices.extend(undone);
        }
        // The upkeep takes the locks that it needs.
        drop(open);
        drop(state);
        drop(project_lock);
        drop(store);
        evicted.for_size = self.do_upkeep(upkeep);
        Ok(Restored {
            id,
            safety: pre_restore,
            left_out,
            forced_past,
            others,
            agent,
            evicted,
            ..report
        })
    }

    /// The parts to restore, none of them with a single file.
    fn parts_of(
        &self,
        scope: &LiteralScope,
        objects: &Objects<'_>,
        wanted: &Wanted,
    ) -> Result<WantedParts> {
        match scope {
            Scope::All(_) => self.wanted_parts(objects, wanted),
            Scope::File(_) => Ok(WantedParts::default()),
        }
    }

    /// The report on the agent state, which the restore of a single file leaves as it is.
    fn agent_of(
        &self,
        scope: &LiteralScope,
        project: &Project,
        wanted: &Wanted,
        parts: &WantedParts,
        is_done: bool,
    ) -> Option<AgentRestored> {
        match scope {
            Scope::All(_) => self.agent_restored(project, wanted, parts, is_done),
            Scope::File(_) => None,
        }
    }

    /// Takes the pre-restore checkpoint, or goes on without one where that is forced.
    // rule: restore/safety-checkpoint
    fn take_pre_restore(
        &self,
        open: &mut OpenProject<'_>,
        request: &PreRestoreRequest<'_>,
    ) -> Result<PreRestore> {
        let PreRestoreRequest { taking, is_forced } = *request;
        if let Err(Error::MissingDirectory(_)) = open.project.check_directory(open.store.disk) {
            return Ok(PreRestore::default());
        }
        let record = |open: &mut OpenProject<'_>| {
            let mut capture = self.capture_to_store(open)?;
            self.record_capture(open, &mut capture, taking).map(|recorded| (capture, recorded))
        };
        match record(open) {
            Ok((capture, recorded)) => {
                let before = ref_recovery::newest_locked(open.store, &open.objects, open.hash())?;
                let id = match recorded.outcome {
                    Outcome::Created { id } => Some(id),
                    // rule: restore/safety-skipped
                    _ => None,
                };
                let left_out = capture.skipped();
                let current = capture.captured.current;
                Ok(PreRestore { id, before, current, left_out, forced_past: None })
            }
            Err(error) if is_forced => {
                let current = self.current(open)?;
                let forced_past = Some(error.to_string());
                Ok(PreRestore { current, forced_past, ..PreRestore::default() })
            }
            // rule: restore/safety-required
            Err(error) => Err(Error::NoPreRestoreCheckpoint(Box::new(error))),
        }
    }

    pub(super) fn restore_into<'a>(
        &'a self,
        open: &'a OpenProject<'a>,
        current: &'a Current,
        wanted: &'a Wanted,
    ) -> Restore<'a> {
        let OpenProject { objects, project, .. } = open;
        let Wanted { snapshot: target, permissions, ignores, left_out, holds_units, .. } = wanted;
        let disk = self.disk.as_ref();
        let root = &project.directory;
        let temporary = project.temporary_name();
        let Current { snapshot: current, leftovers, units: captured_units } = current;
        let captured = CapturedProject { disk, root, snapshot: current, units: captured_units };
        let units = Units::of(&captured, objects, target);
        Restore {
            disk,
            root,
            own_folders: OwnFolders::of(disk, &self.environment),
            objects,
            current,
            leftovers,
            interrupt: &self.interrupt,
            temporary,
            staged: Default::default(),
            target,
            permissions,
            left_out,
            ignores,
            units,
            captured_units,
            holds_units: *holds_units,
            may_remove: true,
        }
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

/// Checks that the restore would do what the preview showed, if a token requires that.
fn as_previewed(token: Option<Token>, now: Token) -> Result<()> {
    match token.is_none_or(|token| token == now) {
        true => Ok(()),
        false => Err(Error::ChangedSincePreview),
    }
}
