//! The folders that never belong to a project, even if they are mounted at a second path: the
//! checkpoint base and the agent folder.
//!
//! A restore handles the parts of the agent state separately. If they were files of a project as well,
//! they would be restored twice, and the log of external actions would be rolled back with them.

use crate::disk::{Disk, Stat, canonical};
use crate::environment::Environment;
use crate::path::on_disk;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Whether a folder with that device and inode has that stat.
fn is_known(identity: Option<(u64, u64)>, stat: Option<&Stat>) -> bool {
    identity.is_some() && identity == stat.map(Stat::identity)
}

/// The folders, each with its device and inode if it exists.
#[derive(Clone, Debug)]
pub struct OwnFolders(Vec<(PathBuf, Option<(u64, u64)>)>);

impl OwnFolders {
    /// The own folders of an environment.
    pub fn of(disk: &dyn Disk, environment: &Environment) -> Self {
        let folders = [&environment.base, &environment.agent_folder()];
        let folders = folders.map(|folder| {
            let folder = canonical(disk, folder);
            let identity = disk.stat(&folder).ok().map(|stat| stat.identity());
            (folder, identity)
        });
        OwnFolders(folders.into_iter().collect())
    }

    /// Whether a path, whose stat is given if it exists, is one of the folders.
    // rule: scope/base-not-captured: decides
    pub fn has(&self, path: &Path, stat: Option<&Stat>) -> bool {
        self.0.iter().any(|(folder, identity)| folder == path || is_known(*identity, stat))
    }

    /// As [`OwnFolders::has`], for a path relative to a project.
    pub fn has_below(&self, root: &Path, path: &[u8], stat: Option<&Stat>) -> bool {
        // Most paths end in another name, which is quickly seen.
        let is_there = |folder: &Path| {
            folder.as_os_str().as_bytes().ends_with(path) && folder == on_disk(root, path)
        };
        self.0.iter().any(|(folder, identity)| is_known(*identity, stat) || is_there(folder))
    }

    /// Whether any of these paths is one of the folders; a path that does not exist is compared by name alone.
    pub fn has_any<'a>(&self, disk: &dyn Disk, paths: impl Iterator<Item = &'a Path>) -> bool {
        let mut paths = paths;
        paths.any(|path| self.has(path, disk.stat(path).ok().as_ref()))
    }
}
