//! Gives a directory the history of a directory that was moved.

use super::Manager;
use crate::error::{Error, Result};
use crate::maintenance::moved::{Move, origin};
use crate::project::Project;
use crate::report::Moved;
use crate::store::Store;
use std::path::{Path, PathBuf};

impl Manager {
    /// The directory that `dir`, which has no checkpoints, was moved from, if that one has checkpoints.
    ///
    /// # Errors
    /// The projects of the store cannot be listed.
    pub fn moved_from(&self, dir: &Path) -> Result<Option<PathBuf>> {
        let project = self.project(dir);
        match Store::open(self.disk.as_ref(), &self.base())? {
            Some(store) => origin(&store, &project.directory),
            None => Ok(None),
        }
    }

    /// Moves the history of the directory `old`, which no longer exists or is now a link to `new`, to the directory
    /// `new`, which has none. No id changes.
    ///
    /// # Errors
    /// [`Error::CannotMove`], before anything was changed; whatever is out of scope; a damaged or busy store.
    pub fn move_history(&self, old: &Path, new: &Path) -> Result<Moved> {
        let new = &self.project(new);
        let resolved = self.project(old);
        let old = match resolved.hash == new.hash {
            true => &Project::before_link(&self.environment, old),
            false => &resolved,
        };
        new.check_scope(self.disk.as_ref(), &self.environment)?;
        let Some(store) = Store::open(self.disk.as_ref(), &self.base())? else {
            let why = "it has no checkpoints".to_owned();
            return Err(Error::CannotMove { old: old.directory.clone(), why });
        };
        let checkpoints = Move { old, new, now: self.clock.seconds() }.run(&store)?;
        let from = old.directory.clone().into();
        Ok(Moved { from, to: new.directory.clone().into(), checkpoints })
    }
}
