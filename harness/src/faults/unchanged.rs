//! An operation that left everything as it was, as most do whose reading fails: what is asked
//! afterwards is answered the same each time, and so it is asked once for each story and fault.

use super::{Fault, Story};
use crate::damage::Failure;
use crate::sandbox::harm::Left;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// What stands at one path, who may do what with it, and since when.
type Standing = (Left, Permissions, SystemTime);

/// Everything at and below a path, with the times of folders, since a subject may go by them.
pub fn everything(root: &Path) -> io::Result<BTreeMap<PathBuf, Standing>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(path) = pending.pop() {
        let (left, metadata) = (Left::at(&path)?, fs::symlink_metadata(&path)?);
        if left == Left::Folder {
            for entry in fs::read_dir(&path)? {
                pending.push(entry?.path());
            }
        }
        found.insert(path, (left, metadata.permissions(), metadata.modified()?));
    }
    Ok(found)
}

/// After which operation it is asked, and after which fault.
type After = (Story, Option<Fault>);

/// What was wrong where nothing was changed.
#[derive(Debug, Default)]
pub struct Known(Mutex<BTreeMap<After, Vec<Failure>>>);

impl Known {
    /// The same once it was asked.
    pub fn get(&self, story: &Story, fault: Option<Fault>) -> Option<Vec<Failure>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&(story.clone(), fault)).cloned()
    }

    /// Keeps what was found.
    pub fn keep(&self, story: &Story, fault: Option<Fault>, failures: &[Failure]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert((story.clone(), fault), failures.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    type Change = fn(&Path) -> io::Result<()>;

    #[test]
    fn whatever_changes_is_seen() {
        let changes: [Change; 6] = [
            |root| fs::write(root.join("in/file"), "b"),
            |root| fs::write(root.join("in/other"), ""),
            |root| fs::set_permissions(root.join("in/file"), Permissions::from_mode(0o600)),
            |root| fs::File::open(root.join("in/file"))?.set_modified(SystemTime::UNIX_EPOCH),
            |root| {
                fs::remove_file(root.join("link")).and_then(|()| symlink("b", root.join("link")))
            },
            |root| fs::create_dir(root.join("in/folder")),
        ];
        for change in changes {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("in")).unwrap();
            fs::write(folder.path().join("in/file"), "a").unwrap();
            fs::set_permissions(folder.path().join("in/file"), Permissions::from_mode(0o644))
                .unwrap();
            symlink("a", folder.path().join("link")).unwrap();
            let before = everything(folder.path()).unwrap();
            assert_eq!(before, everything(folder.path()).unwrap());
            change(folder.path()).unwrap();
            assert_ne!(before, everything(folder.path()).unwrap());
        }
    }
}
