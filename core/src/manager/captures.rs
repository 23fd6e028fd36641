//! Captures the present state of a project. A capture for a checkpoint stores the content that it
//! reads; a capture that is only compared stores nothing.

use super::{Manager, OpenProject};
use crate::capture::index::{self, Index};
use crate::capture::{Blobs, Capture, Captured, Current};
use crate::disk::Stat;
use crate::disk::atomic_write::write_fresh_soon;
use crate::environment::Config;
use crate::error::{Context, Error, Result};
use crate::own_folders::OwnFolders;
use crate::project::Project;
use crate::report::Remark;
use crate::store::left_out::LeftOut;
use crate::store::{Store, restoring};

/// What was read of a project for a checkpoint.
#[derive(Default)]
pub(super) struct ProjectCapture {
    pub captured: Captured,
    /// The stored index, from which unchanged files were taken.
    pub previous_index: Index,
}

impl ProjectCapture {
    /// The remarks on what was left out.
    pub fn skipped(&self) -> Vec<Remark> {
        self.captured.left_out.iter().map(LeftOut::remark).collect()
    }
}

impl Manager {
    /// Captures a project for a checkpoint; the objects of `open` hold what was read. The project's lock is
    /// held.
    pub(super) fn capture_to_store(&self, open: &mut OpenProject<'_>) -> Result<ProjectCapture> {
        let OpenProject { store, project, .. } = *open;
        let previous_index = index::load(store, open.hash());
        let started = self.file_system_time(store, project)?;
        open.objects.recall(previous_index.recorded_trees(&started));
        let captured = self
            .capture(store, project, &previous_index, Some(started))
            .run(Blobs::Keep(&mut open.objects))?;
        Ok(ProjectCapture { captured, previous_index })
    }

    fn capture<'a>(
        &'a self,
        store: &Store<'_>,
        project: &'a Project,
        index: &'a Index,
        started: Option<Stat>,
    ) -> Capture<'a> {
        Capture {
            disk: self.disk.as_ref(),
            root: &project.directory,
            own: OwnFolders::of(self.disk.as_ref(), &self.environment),
            config: &self.config,
            interrupted: restoring::died(store, &project.hash).then_some(project.hash.as_str()),
            index,
            started,
            progress: &self.progress,
        }
    }

    /// Captures the present state of the project, however many files, without storing anything; empty
    /// if the project is gone.
    // rule: diff/leaves-store
    pub(super) fn current(&self, open: &OpenProject<'_>) -> Result<Current> {
        Ok(self.captured(open)?.current)
    }

    /// As [`Manager::current`], with what a checkpoint would leave out.
    pub(super) fn captured(&self, open: &OpenProject<'_>) -> Result<Captured> {
        let unlimited = Config { max_files: usize::MAX, ..self.config.clone() };
        self.captured_within(&unlimited, open)
    }

    /// As [`Manager::captured`], with the bounds of a configuration.
    pub(super) fn captured_within(
        &self,
        config: &Config,
        open: &OpenProject<'_>,
    ) -> Result<Captured> {
        let OpenProject { store, objects, project } = open;
        match project.check_directory(self.disk.as_ref()) {
            // rule: restore/deleted-project
            Err(Error::MissingDirectory(_)) => Ok(Captured::default()),
            Err(error) => Err(error),
            Ok(()) => {
                let index = index::load(store, &project.hash);
                let capture = self.capture(store, project, &index, None);
                let capture = Capture { config, ..capture };
                capture.run(Blobs::Name(objects))
            }
        }
    }

    /// The stat of a new file, whose time is that of the file system's clock, which may differ from
    /// the clock of the process.
    fn file_system_time(&self, store: &Store<'_>, project: &Project) -> Result<Stat> {
        let name = format!("clock-{}", project.hash);
        let path = write_fresh_soon(store.disk, &store.path, &name, b"")?;
        let stat = store.disk.stat(&path).context("looking at", &path);
        store.disk.remove_file(&path).context("removing", &path)?;
        stat
    }
}
