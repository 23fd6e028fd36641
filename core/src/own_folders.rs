//! The folders that belong to no project, wherever they are and wherever else they are mounted: the
//! checkpoint base, and the agent's, whose parts come back as such. As files they would be restored a second
//! time, and what was done outside would be forgotten with them.

use crate::disk::{Disk, Stat, canonical};
use crate::environment::Environment;
use std::path::{Path, PathBuf};

/// Those folders, each with its device and inode where it is there.
#[derive(Clone, Debug)]
pub struct OwnFolders(Vec<(PathBuf, Option<(u64, u64)>)>);

impl OwnFolders {
    /// Those of an environment.
    pub fn of(disk: &dyn Disk, environment: &Environment) -> Self {
        let folders = [&environment.base, &environment.agent_folder()];
        let folders = folders.map(|folder| {
            let folder = canonical(disk, folder);
            let identity = disk.stat(&folder).ok().map(|stat| stat.identity());
            (folder, identity)
        });
        OwnFolders(folders.into_iter().collect())
    }

    /// Whether a path with that stat is one of them.
    // rule: scope/base-not-captured
    pub fn has(&self, path: &Path, stat: Option<&Stat>) -> bool {
        let identity = stat.map(Stat::identity);
        self.0.iter().any(|(own, is)| own == path || is.is_some() && *is == identity)
    }

    /// Whether one of these paths is one of them; what is not there is known by its name alone.
    pub fn has_any<'a>(&self, disk: &dyn Disk, paths: impl Iterator<Item = &'a Path>) -> bool {
        let mut paths = paths;
        paths.any(|path| self.has(path, disk.stat(path).ok().as_ref()))
    }
}
