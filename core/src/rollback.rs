//! The way from a target to a restored project: find it, take the pre-rollback checkpoint, and
//! only then let [`crate::restore`] write.

use crate::capture::Capture;
use crate::environment::Config;
use crate::error::{Error, Result};
use crate::index::Index;
use crate::manager::{Manager, no_checkpoint};
use crate::objects::Objects;
use crate::path::shown;
use crate::project::Project;
use crate::report::{Outcome, Restored};
use crate::restore::Restore;
use crate::snapshot::{self, Snapshot};
use crate::store::Store;
use crate::target;
use std::path::Path;

/// How a full restore goes about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestoreOptions {
    /// Also remove files created since the checkpoint, those that the pre-rollback one holds.
    pub exact: bool,
    /// Go on when no pre-rollback checkpoint can be taken.
    pub force: bool,
}

/// How much of a checkpoint is brought back.
enum Extent<'a> {
    All(RestoreOptions),
    One(&'a [u8]),
}

impl Manager {
    /// Brings a checkpoint back, after taking one of the state that this changes.
    ///
    /// # Errors
    /// A refusal changes nothing; what goes wrong after the first change is in the answer.
    pub fn restore(&self, dir: &Path, target: &[u8], options: RestoreOptions) -> Result<Restored> {
        self.bring_back(dir, target, Extent::All(options))
    }

    /// Brings one file of a checkpoint back and touches no other path.
    ///
    /// # Errors
    /// As [`Manager::restore`], and a path that is not in the checkpoint or cannot be written
    /// without touching another.
    pub fn restore_file(&self, dir: &Path, target: &[u8], path: &[u8]) -> Result<Restored> {
        self.bring_back(dir, target, Extent::One(&literal_path(path)?))
    }

    fn bring_back(&self, dir: &Path, target: &[u8], extent: Extent<'_>) -> Result<Restored> {
        let disk = self.disk.as_ref();
        let project = self.project(dir);
        let store = Store::open(disk, &self.base())?.ok_or_else(|| no_checkpoint(target))?;
        let mut objects = store.objects()?;
        // A target that names nothing is refused before anything is locked. Only under the lock
        // does a number stay what it is, so it is looked up again there, and before the
        // pre-rollback checkpoint is taken, which cannot evict it then.
        target::find(&self.history(&store, &objects, &project)?, target)?;
        let _lock = store.lock_project(&project.hash)?;
        let history = self.history(&store, &objects, &project)?;
        let checkpoint = target::find(&history, target)?;
        let wanted = snapshot::read(&objects, checkpoint.id, checkpoint.tree)?;
        let gone = match project.check_directory(disk) {
            Err(Error::MissingDirectory(_)) => true,
            Err(error) => return Err(error),
            Ok(()) => false,
        };
        if let Extent::One(path) = extent {
            // Looked at before anything is stored, since a refusal must change nothing.
            let current = if gone { Snapshot::new() } else { self.look_at_all(&project)? };
            self.restore_into(&project, &objects, &current, &wanted).check_one(path)?;
        }
        let reason = format!("before rollback to {}", &checkpoint.id.to_string()[..7]);
        let safety = if gone {
            Ok((None, Snapshot::new()))
        } else {
            self.take_safety(&store, &mut objects, &project, &reason)
        };
        let force = matches!(extent, Extent::All(RestoreOptions { force: true, .. }));
        let (safety, current, forced_past) = match safety {
            Ok((safety, current)) => (safety, current, None),
            Err(error) if force => (None, self.look_at_all(&project)?, Some(error.to_string())),
            Err(error) => return Err(Error::NoSafetyCheckpoint(Box::new(error))),
        };
        // The objects of the pre-rollback checkpoint are not needed to restore another.
        let restore = self.restore_into(&project, &objects, &current, &wanted);
        let report = match extent {
            // Without a pre-rollback checkpoint nothing is held that could be removed.
            Extent::All(options) => restore.all(options.exact && forced_past.is_none())?,
            Extent::One(path) => restore.one(path)?,
        };
        Ok(Restored { id: checkpoint.id.to_string(), safety, forced_past, ..report })
    }

    fn take_safety(
        &self,
        store: &Store<'_>,
        objects: &mut Objects<'_>,
        project: &Project,
        reason: &str,
    ) -> Result<(Option<String>, Snapshot)> {
        let (taken, current) = self.take_locked(store, objects, project, reason)?;
        match taken.outcome {
            Outcome::Created { id } => Ok((Some(id), current)),
            _ => Ok((None, current)),
        }
    }

    /// What is in the project now, however many files that are.
    fn look_at_all(&self, project: &Project) -> Result<Snapshot> {
        let boundless = Config { max_files: usize::MAX, ..self.config.clone() };
        let nothing_known = Index::default();
        let capture = self.capture(project, &nothing_known, None);
        Capture { config: &boundless, ..capture }.run(None).map(|captured| captured.snapshot)
    }

    fn restore_into<'a>(
        &'a self,
        project: &'a Project,
        objects: &'a Objects<'a>,
        current: &'a Snapshot,
        target: &'a Snapshot,
    ) -> Restore<'a> {
        Restore {
            disk: self.disk.as_ref(),
            root: &project.directory,
            base: self.base(),
            objects,
            current,
            target,
        }
    }
}

fn literal_path(typed: &[u8]) -> Result<Vec<u8>> {
    let refused = |why| Err(Error::BadPath { path: shown(typed), why });
    if typed.is_empty() {
        return refused("is empty");
    }
    if typed.starts_with(b"/") {
        return refused("is absolute");
    }
    if typed.contains(&0) {
        return refused("holds a NUL");
    }
    let mut components: Vec<&[u8]> = Vec::new();
    for component in typed.split(|byte| *byte == b'/') {
        match component {
            b"" | b"." => {}
            b".." if components.pop().is_none() => return refused("leaves the project"),
            b".." => {}
            name => components.push(name),
        }
    }
    if components.is_empty() {
        return refused("names the project itself");
    }
    Ok(components.join(&b'/'))
}
