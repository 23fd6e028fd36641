//! Interrupted restores: reports them, and removes what they left in their projects. An interrupted
//! restore of the agent state is undone instead, by [`super::recovery`].

use super::{Manager, OpenProject};
use crate::capture::Current;
use crate::error::Result;
use crate::project::Project;
use crate::report::Interrupted;
use crate::restore::tidy;
use crate::store::{Store, metadata, restoring};
use std::path::Path;

impl Manager {
    /// Removes what an interrupted restore of the project left, and returns a notice about the restore:
    /// once, since a checkpoint now holds what it left. The project's lock is held.
    pub(super) fn end_interrupted(
        &self,
        open: &OpenProject<'_>,
        current: &Current,
    ) -> Option<String> {
        let OpenProject { store, project, .. } = open;
        let interrupted = self.interrupted_of(store, &project.hash);
        if !current.leftovers.is_empty() || restoring::died(store, &project.hash) {
            let is_tidy = tidy(store.disk, &project.directory, &current.leftovers);
            if is_tidy {
                open.record_interrupted();
                if let Err(error) = restoring::end(store, &project.hash) {
                    tracing::debug!(
                        "the record of an interrupted restore was not removed: {error}"
                    );
                }
            }
        }
        interrupted.map(|interrupted| interrupted.told(None))
    }

    /// The interrupted full restore of a project, if there is one; `None` for one that still runs.
    ///
    /// # Errors
    /// A path that is not a store.
    pub fn interrupted(&self, dir: &Path) -> Result<Option<Interrupted>> {
        let disk = self.disk.as_ref();
        let hash = self.project(dir).hash;
        let Some(store) = Store::open(disk, &self.base())? else { return Ok(None) };
        let record = restoring::interrupted(disk, &store.path, &hash);
        Ok(record.and_then(|_| self.interrupted_of(&store, &hash)))
    }

    /// The recorded full restore of a project, whether or not it still runs.
    fn interrupted_of(&self, store: &Store<'_>, hash: &str) -> Option<Interrupted> {
        restoring::read(store.disk, &store.path, hash).map(Interrupted::from)
    }

    /// Removes what interrupted restores left in the projects of the store, where that is possible; the
    /// record of each stays, so that the next checkpoint reports it.
    pub(super) fn tidy_interrupted(&self) -> Result<()> {
        let disk = self.disk.as_ref();
        let Some(store) = Store::open(disk, &self.base())? else { return Ok(()) };
        for hash in restoring::projects(disk, &store.path)? {
            let Some(metadata) = metadata::read(disk, &store.path, &hash) else { continue };
            let project = Project { directory: metadata.directory(), hash };
            let Ok(_lock) = store.try_lock_project(&project.hash) else { continue };
            if let Ok(current) = self.current(&OpenProject::new(&store, &project)) {
                tidy(disk, &project.directory, &current.leftovers);
            }
        }
        Ok(())
    }
}
