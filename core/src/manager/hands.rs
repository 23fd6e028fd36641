//! Whose hand it was: an agent tells what its tools write, and a restore says which of its paths
//! somebody else changed since the checkpoint.

use super::Manager;
use super::rollback::literal_path;
use crate::error::Result;
use crate::path::{on_disk, shown};
use crate::project::Project;
use crate::report::Restored;
use crate::restore::Restore;
use crate::store::Store;
use crate::store::commit::Checkpoint;
use crate::store::hands::{self, Change, State};
use crate::store::objects::Objects;
use crate::store::snapshot::{self, Difference, Item, Snapshot};
use std::path::Path;

/// So many paths of another hand are named in the reason of a pre-rollback checkpoint.
const NAMED_MAX: usize = 3;

/// What is captured of a project at one moment.
pub struct Look(Snapshot);

impl Manager {
    /// A tool of the agent is about to write these paths, which are relative to the project. Those
    /// outside it are passed over; before the first checkpoint nothing is noted.
    ///
    /// # Errors
    /// A damaged or busy store, a disk that fails.
    // rule: restore/other-hands
    pub fn tool_writes(&self, dir: &Path, paths: &[&[u8]]) -> Result<()> {
        self.tell(dir, |project| {
            self.states(project, paths, |path, state| Change::of(path, Some(state), None))
        })
    }

    /// It wrote them, or tried to.
    ///
    /// # Errors
    /// As [`Manager::tool_writes`].
    pub fn tool_wrote(&self, dir: &Path, paths: &[&[u8]]) -> Result<()> {
        self.tell(dir, |project| {
            self.states(project, paths, |path, state| Change::of(path, None, Some(state)))
        })
    }

    /// What is captured of a project before a tool of which nobody knows what it writes; none where
    /// that needs not be known. Nothing is stored.
    ///
    /// # Errors
    /// As [`Manager::tool_writes`].
    pub fn look(&self, dir: &Path) -> Result<Option<Look>> {
        let (project, store) = (self.project(dir), self.told()?);
        let Some(store) = store else { return Ok(None) };
        let objects = store.objects();
        if self.restorable(&store, &objects, &project)?.is_empty() {
            return Ok(None);
        }
        Ok(Some(Look(self.current(&store, &objects, &project)?.snapshot)))
    }

    /// The tool ended: all that changed since that look counts as its work.
    ///
    /// # Errors
    /// As [`Manager::tool_writes`].
    pub fn tool_changed(&self, dir: &Path, before: &Look) -> Result<()> {
        let Some(Look(after)) = self.look(dir)? else { return Ok(()) };
        let changes = changes_between(&before.0, &after);
        if changes.is_empty() { Ok(()) } else { self.tell(dir, |_| changes) }
    }

    /// The store, where anything is to be noted in it.
    fn told(&self) -> Result<Option<Store<'_>>> {
        // rule: turn/disabled
        match self.config.enabled {
            true => Store::open(self.disk.as_ref(), &self.base()),
            false => Ok(None),
        }
    }

    /// The checkpoints that a later restore could be to: none where damage hides all of them.
    // rule: maintenance/heals
    fn restorable(
        &self,
        store: &Store<'_>,
        objects: &Objects<'_>,
        project: &Project,
    ) -> Result<Vec<Checkpoint>> {
        match self.history(store, objects, project) {
            Err(error) if error.is_damage() => Ok(Vec::new()),
            history => history,
        }
    }

    fn tell(&self, dir: &Path, changes: impl FnOnce(&Project) -> Vec<Change>) -> Result<()> {
        let (project, store) = (self.project(dir), self.told()?);
        let Some(store) = store else { return Ok(()) };
        let _lock = store.lock_project(&project.hash)?;
        let listed = self.restorable(&store, &store.objects(), &project)?;
        hands::add(&store, &project.hash, &listed, changes(&project))
    }

    fn states(
        &self,
        project: &Project,
        paths: &[&[u8]],
        change: impl Fn(&[u8], State) -> Change,
    ) -> Vec<Change> {
        let disk = self.disk.as_ref();
        let inside = paths.iter().filter_map(|path| literal_path(disk, project, path).ok());
        inside.map(|path| change(&path, self.standing(project, &path))).collect()
    }

    /// What stands at a path now.
    fn standing(&self, project: &Project, path: &[u8]) -> State {
        let (disk, full) = (self.disk.as_ref(), on_disk(&project.directory, path));
        match disk.stat(&full) {
            Err(error) if crate::disk::is_absence(&error) => State::Known(None),
            Err(_) => State::Unknown,
            Ok(stat) => Item::standing(disk, &full, &stat).map_or(State::Unknown, State::Known),
        }
    }

    /// Which paths of a plan another hand changed since the checkpoint, as far as these changes tell.
    pub(super) fn by_others(
        &self,
        project: &Project,
        restore: &Restore<'_>,
        changes: &[Change],
        plan: &Restored,
    ) -> Vec<Vec<u8>> {
        let now = |path: &[u8]| match restore.current.get(path) {
            Some(item) => State::Known(Some(*item)),
            // What is there and not captured may be as large as it likes.
            None => match self.disk.stat(&on_disk(&project.directory, path)) {
                Err(error) if crate::disk::is_absence(&error) => State::Known(None),
                _ => State::Unknown,
            },
        };
        let is_another =
            |path: &&[u8]| hands::is_by_another(changes, path, restore.recorded(path), now(path));
        plan.paths().into_iter().filter(is_another).map(<[u8]>::to_vec).collect()
    }

    /// Notes what a restore changed, so that it is nobody else's hand. The project's lock is held.
    pub(super) fn note_restore(
        &self,
        (store, objects): (&Store<'_>, &Objects<'_>),
        project: &Project,
        restore: &Restore<'_>,
        report: &Restored,
    ) {
        if hands::read(store, &project.hash).is_none() {
            return;
        }
        let state = |snapshot: &Snapshot, path| Some(State::Known(snapshot.get(path).copied()));
        let restored = report.restored.iter().map(|path| {
            Change::of(path, state(restore.current, path), state(restore.target, path))
        });
        let removed = report
            .removed
            .iter()
            .map(|path| Change::of(path, state(restore.current, path), Some(State::Known(None))));
        let listed = self.history(store, objects, project);
        let noted = listed
            .and_then(|listed| hands::add(store, &project.hash, &listed, restored.chain(removed)));
        if let Err(error) = noted {
            hands::forget(store, &project.hash, &error);
        }
    }
}

fn changes_between(before: &Snapshot, after: &Snapshot) -> Vec<Change> {
    let change = |(path, difference): (&Vec<u8>, Difference)| {
        let Difference { old, new } = difference;
        Change::of(path, Some(State::Known(old)), Some(State::Known(new)))
    };
    snapshot::differences(before, after).into_iter().map(change).collect()
}

/// Why a pre-rollback checkpoint is taken, and whose work it keeps.
pub(super) fn reason(short: &str, others: &[Vec<u8>]) -> String {
    let mut reason = format!("before rollback to {short}");
    if !others.is_empty() {
        let named: Vec<String> = others.iter().take(NAMED_MAX).map(|path| shown(path)).collect();
        reason += &format!("; changed by another hand: {}", named.join(", "));
        if others.len() > NAMED_MAX {
            reason += &format!(" and {} more", others.len() - NAMED_MAX);
        }
    }
    reason
}
