//! Previews, and the first steps of a restore, which previews share: finding the target, and making the
//! plan. Nothing is changed here.

use super::scope::{LiteralScope, Scope};
use super::undo::UndoingRestore;
use super::wanted::Wanted;
use super::{Manager, OpenProject};
use crate::agent_state::{AgentRestored, Change, StateRestore, WantedParts};
use crate::capture::{Captured, Current};
use crate::disk::Sharing;
use crate::error::{Error, Result};
use crate::own_folders::OwnFolders;
use crate::report::{Preview, Restored};
use crate::restore::{CapturedProject, Restore, Units};
use crate::store::left_out::LeftOut;
use crate::store::lock;
use crate::token::Token;
use std::path::Path;

/// A restore whose target is found.
pub(super) struct PendingRestore<'a> {
    pub open: OpenProject<'a>,
    pub scope: LiteralScope,
    pub wanted: Wanted,
    /// The restore that this one undoes, if it does.
    pub undoing: Option<UndoingRestore>,
    /// When it began, in seconds since the epoch.
    pub time: i64,
    /// The parts of the agent state to restore.
    pub parts: WantedParts,
    /// The token of the preview that the restore must follow, if there is one.
    pub token: Option<Token>,
}

impl PendingRestore<'_> {
    /// The report of this restore: undoing one does not undo a turn of the conversation.
    pub fn of_turn(&self, report: Restored) -> Restored {
        let undone = self.undoing.as_ref().map(|undoing| undoing.undone.clone());
        Restored { undoes_turn: report.undoes_turn && undone.is_none(), undone, ..report }
    }

    /// The restore of the agent state.
    pub fn of_state(&self) -> StateRestore<'_> {
        let PendingRestore { open, wanted, parts, .. } = self;
        StateRestore {
            stored: open.stored(),
            objects: &open.objects,
            directory: &open.project.directory,
            target: wanted.id,
            seconds: wanted.seconds,
            files: &wanted.snapshot,
            envelope: &wanted.envelope,
            parts,
        }
    }
}

impl Manager {
    /// Returns exactly what a restore would do, if nothing fails or changes before; it changes
    /// nothing.
    ///
    /// # Errors
    /// What would refuse the restore, as far as it can be seen before.
    pub fn preview(&self, dir: &Path, target: &[u8], scope: Scope<&[u8]>) -> Result<Preview> {
        let disk = self.disk.as_ref();
        let project = self.project(dir);
        let scope = scope.resolve(disk, &project)?;
        let store = self.store_with(target)?;
        let open = OpenProject::new(&store, &project);
        let mut pending = self.find_restore(open, target, scope)?;
        let Preview { would, token } = self.plan(&pending)?;
        // While another restore takes long, the preview may show half of it, and differ from this restore.
        let _owner = self.state.lock_parts(disk, Sharing::Shared, lock::take);
        pending.parts = self.parts_of(&pending)?;
        let agent = self.agent_of(&pending, false);
        let token = pending.parts.token(token, agent.as_ref());
        let id = pending.wanted.id.to_string();
        Ok(Preview { would: Restored { id, agent, ..would }, token })
    }

    /// The restore of the checkpoint that `target` names, without the parts of the agent state.
    ///
    /// # Errors
    /// A target that names no checkpoint, or a damaged one.
    pub(super) fn find_restore<'a>(
        &self,
        open: OpenProject<'a>,
        target: &[u8],
        scope: LiteralScope,
    ) -> Result<PendingRestore<'a>> {
        let history = self.history(&open)?;
        let (undoing, scope) = open.undone(target, scope)?;
        let wanted = Wanted::read(&open, open.find(&history, target)?, &scope)?;
        let parts = WantedParts::default();
        let time = self.clock.seconds();
        Ok(PendingRestore { open, scope, wanted, undoing, time, parts, token: None })
    }

    /// The parts to restore, none of them with a single file.
    ///
    /// # Errors
    /// As [`crate::state::State::wanted_parts`].
    pub(super) fn parts_of(&self, pending: &PendingRestore<'_>) -> Result<WantedParts> {
        match pending.scope {
            Scope::All(_) => {
                self.state.wanted_parts(&pending.open.objects, &pending.wanted.envelope)
            }
            Scope::File(_) | Scope::Below(..) => Ok(WantedParts::default()),
        }
    }

    /// The report on the agent state, which the restore of a single file leaves as it is.
    pub(super) fn agent_of(
        &self,
        pending: &PendingRestore<'_>,
        is_done: bool,
    ) -> Option<AgentRestored> {
        match pending.scope {
            Scope::All(_) => self.state.restored(&pending.of_state(), is_done),
            Scope::File(_) | Scope::Below(..) => None,
        }
    }

    /// The plan of a restore that would run now, from a capture that stores nothing.
    ///
    /// # Errors
    /// What would refuse the restore, as far as it can be seen before.
    pub(super) fn plan(&self, pending: &PendingRestore<'_>) -> Result<Preview> {
        let PendingRestore { open, scope, wanted, undoing, .. } = pending;
        // A pre-restore checkpoint has the bounds of any other.
        let (captured, refused) = match self.captured_within(&self.config, open) {
            Ok(captured) => (captured, None),
            Err(error) => {
                (Captured { current: self.current(open)?, ..Captured::default() }, Some(error))
            }
        };
        let mut restore = self.restore_into(open, &captured.current, wanted);
        restore.below = scope.below();
        restore.made = undoing.as_ref().map(|undoing| &undoing.made);
        restore.may_remove = refused.is_none();
        let Preview { would, token } = self.plan_into(pending, &restore)?;
        let forced_past = refused.map(|error| scope.go_on_without(error)).transpose()?;
        let left_out = scope.of_paths(captured.left_out.iter().map(LeftOut::remark).collect());
        Ok(Preview { would: Restored { left_out, forced_past, ..would }, token })
    }

    /// The plan of a restore into a captured project.
    ///
    /// # Errors
    /// A single file that cannot be restored.
    pub(super) fn plan_into(
        &self,
        pending: &PendingRestore<'_>,
        restore: &Restore<'_>,
    ) -> Result<Preview> {
        let PendingRestore { open, scope, wanted, .. } = pending;
        let would = pending.of_turn(scope.plan(restore)?);
        let token = restore.token(&would);
        let by_others =
            |changes: &Vec<Change>| self.by_others(open.project, restore, changes, &would);
        let others = wanted.changes.as_ref().map(by_others);
        Ok(Preview { would: Restored { others, ..would }, token })
    }

    /// Checks that the restore would do what its preview showed, if it must follow one; `files` is the
    /// token of the present plan.
    ///
    /// # Errors
    /// [`Error::ChangedSincePreview`].
    pub(super) fn check_token(&self, pending: &PendingRestore<'_>, files: Token) -> Result<()> {
        let Some(token) = pending.token else { return Ok(()) };
        let agent = self.agent_of(pending, false);
        match pending.parts.token(files, agent.as_ref()) == token {
            true => Ok(()),
            false => Err(Error::ChangedSincePreview),
        }
    }

    /// The restore of a checkpoint into a captured project.
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
            progress: &self.progress,
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
            below: None,
            made: None,
        }
    }
}
