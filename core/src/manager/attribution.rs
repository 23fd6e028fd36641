//! Attribution: agents report what their tools write; a restore lists the paths that anyone else
//! changed since the checkpoint.

use super::literal_path::literal_path;
use super::{Manager, OpenProject};
use crate::agent_state::{Change, PathState, Stored, is_external_edit};
use crate::error::Result;
use crate::path::{on_disk, shown};
use crate::project::Project;
use crate::report::Restored;
use crate::restore::Restore;
use crate::store::Store;
use crate::store::commit::Checkpoint;
use crate::store::snapshot::{Item, Snapshot};
use std::path::Path;

/// The most externally changed paths that the reason of a pre-restore checkpoint names.
const NAMED_MAX: usize = 3;

/// What is captured of a project at one moment.
pub struct Look(Snapshot);

impl Manager {
    /// Records that a tool of the agent is about to write these paths, which are relative to the
    /// project. Paths outside it are skipped; before the first checkpoint nothing is recorded.
    ///
    /// # Errors
    /// A damaged or busy store, a disk that fails.
    // rule: restore/other-hands
    pub fn tool_writes(&self, dir: &Path, paths: &[&[u8]]) -> Result<()> {
        self.record(dir, |project| {
            self.states(project, paths, |path, state| Change::of(path, Some(state), None))
        })
    }

    /// Records that a tool of the agent wrote these paths, or tried to.
    ///
    /// # Errors
    /// As [`Manager::tool_writes`].
    pub fn tool_wrote(&self, dir: &Path, paths: &[&[u8]]) -> Result<()> {
        self.record(dir, |project| {
            self.states(project, paths, |path, state| Change::of(path, None, Some(state)))
        })
    }

    /// Captures a project before a tool whose writes are not known; `None` if that is not needed.
    /// Nothing is stored.
    ///
    /// # Errors
    /// As [`Manager::tool_writes`].
    pub fn look(&self, dir: &Path) -> Result<Option<Look>> {
        let project = self.project(dir);
        let store = self.recording_store()?;
        let Some(store) = store else { return Ok(None) };
        let open = OpenProject::new(&store, &project);
        if self.restorable(&open)?.is_empty() {
            return Ok(None);
        }
        Ok(Some(Look(self.current(&open)?.snapshot)))
    }

    /// Records that a tool ended: everything that changed since that look counts as its work.
    ///
    /// # Errors
    /// As [`Manager::tool_writes`].
    pub fn tool_changed(&self, dir: &Path, before: &Look) -> Result<()> {
        let Some(Look(after)) = self.look(dir)? else { return Ok(()) };
        let changes = Change::between(&before.0, &after);
        if changes.is_empty() { Ok(()) } else { self.record(dir, |_| changes) }
    }

    /// The store to record in; `None` if nothing is to be recorded.
    fn recording_store(&self) -> Result<Option<Store<'_>>> {
        // rule: turn/disabled
        match self.config.enabled {
            true => Store::open(self.disk.as_ref(), &self.base()),
            false => Ok(None),
        }
    }

    /// The checkpoints that a later restore could target; empty if damage hides all of them.
    // rule: maintenance/heals
    fn restorable(&self, open: &OpenProject<'_>) -> Result<Vec<Checkpoint>> {
        match self.history(open) {
            Err(error) if error.is_damage() => Ok(Vec::new()),
            history => history,
        }
    }

    fn record(&self, dir: &Path, changes: impl FnOnce(&Project) -> Vec<Change>) -> Result<()> {
        let project = self.project(dir);
        let store = self.recording_store()?;
        let Some(store) = store else { return Ok(()) };
        let _lock = store.lock_project(&project.hash)?;
        let listed = self.restorable(&OpenProject::new(&store, &project))?;
        Stored::of(&store, &project.hash).record(&listed, changes(&project))
    }

    fn states(
        &self,
        project: &Project,
        paths: &[&[u8]],
        change: impl Fn(&[u8], PathState) -> Change,
    ) -> Vec<Change> {
        let disk = self.disk.as_ref();
        let inside = paths.iter().filter_map(|path| literal_path(disk, project, path).ok());
        inside.map(|path| change(&path, self.present_state(project, &path))).collect()
    }

    /// The present state of a path.
    fn present_state(&self, project: &Project, path: &[u8]) -> PathState {
        let disk = self.disk.as_ref();
        let full = on_disk(&project.directory, path);
        match disk.stat(&full) {
            Err(error) if crate::disk::is_absence(&error) => PathState::Known(None),
            Err(_) => PathState::Unknown,
            Ok(stat) => {
                Item::standing(disk, &full, &stat).map_or(PathState::Unknown, PathState::Known)
            }
        }
    }

    /// The paths of a plan that anyone but the agent changed since the checkpoint, as far as the recorded
    /// changes show.
    // rule: restore/other-hands
    pub(super) fn by_others(
        &self,
        project: &Project,
        restore: &Restore<'_>,
        changes: &[Change],
        plan: &Restored,
    ) -> Vec<Vec<u8>> {
        let now = |path: &[u8]| match restore.current.get(path) {
            Some(item) => PathState::Known(Some(*item)),
            // A file that is not captured may have any size, and is not read.
            None => match self.disk.stat(&on_disk(&project.directory, path)) {
                Err(error) if crate::disk::is_absence(&error) => PathState::Known(None),
                _ => PathState::Unknown,
            },
        };
        let is_external =
            |path: &&[u8]| is_external_edit(changes, path, restore.recorded(path), now(path));
        plan.paths().into_iter().filter(is_external).map(<[u8]>::to_vec).collect()
    }

    /// Records what a restore changed, so that it is not attributed to others. The project's lock is held.
    pub(super) fn record_restore(
        &self,
        open: &OpenProject<'_>,
        restore: &Restore<'_>,
        report: &Restored,
    ) {
        let state = |snapshot: &Snapshot, path| Some(PathState::Known(snapshot.get(path).copied()));
        let restored = report.restored.iter().map(|path| {
            Change::of(path, state(restore.current, path), state(restore.target, path))
        });
        let removed = report.removed.iter().map(|path| {
            Change::of(path, state(restore.current, path), Some(PathState::Known(None)))
        });
        open.stored().record_restore(|| self.history(open), restored.chain(removed));
    }
}

/// The reason of a pre-restore checkpoint, with the externally changed paths that it keeps.
pub(super) fn reason(short: &str, external: &[Vec<u8>]) -> String {
    let mut reason = format!("before rollback to {short}");
    if !external.is_empty() {
        let named: Vec<String> = external.iter().take(NAMED_MAX).map(|path| shown(path)).collect();
        reason += &format!("; edited outside the agent: {}", named.join(", "));
        if external.len() > NAMED_MAX {
            reason += &format!(" and {} more", external.len() - NAMED_MAX);
        }
    }
    reason
}
