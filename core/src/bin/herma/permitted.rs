//! What permissions forbid of a preview: paths in a folder that this process may not change, and on a file system that
//! is mounted read-only. The library plans without that, and the restore itself reports what failed.

use herma_core::{Remark, Restored};
use rustix::fs::{Access, access};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Moves the paths that a restore could neither write nor remove now to the failed paths.
pub fn check(project: &Path, would: &mut Restored) {
    let mut folders = BTreeMap::new();
    let mut failed = Vec::new();
    let mut is_permitted = |path: &Vec<u8>| {
        let full = project.join(OsStr::from_bytes(path));
        let Some(folder) = existing_folder(&full) else { return true };
        let refusal = folders.entry(folder).or_insert_with_key(|folder| refusal(folder));
        failed.extend(refusal.as_ref().map(|why| Remark { path: path.clone(), why: why.clone() }));
        refusal.is_none()
    };
    would.restored.retain(&mut is_permitted);
    would.removed.retain(&mut is_permitted);
    would.undoes_turn &= failed.is_empty();
    would.failed.extend(failed);
}

/// The folder that is changed if a path is written or removed: the nearest one that exists.
fn existing_folder(path: &Path) -> Option<PathBuf> {
    let is_folder =
        |folder: &&Path| std::fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir());
    path.ancestors().skip(1).find(is_folder).map(Path::to_owned)
}

/// Why a folder cannot be changed, if that is certain.
fn refusal(folder: &Path) -> Option<String> {
    let error = io::Error::from(access(folder, Access::WRITE_OK | Access::EXEC_OK).err()?);
    Some(format!("its folder cannot be changed: {error}"))
}
