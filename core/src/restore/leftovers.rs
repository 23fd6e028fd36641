//! The temporary files that restores leave in a project, when they are interrupted or cannot remove them.

use super::Restore;
use crate::disk::{Disk, folder};
use crate::error::Result;
use crate::path::on_disk;
use crate::report::{Remark, Restored};
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const STAYS: &str =
    "this temporary file of the restore could not be removed; the next restore removes it";
/// Up to so many folders are made durable one by one; more of them by syncing the file system.
const FOLDERS_MAX: usize = 16;

/// Removes what interrupted restores left in the project at `root`; returns whether all of it is
/// removed.
pub fn tidy(disk: &dyn Disk, root: &Path, leftovers: &[Vec<u8>]) -> bool {
    let remove = |path: &Vec<u8>| folder::remove_path(disk, &on_disk(root, path));
    leftovers.iter().map(remove).filter(Result::is_err).count() == 0
}

/// Whether a restore left temporary files that it could not remove.
pub fn left_anything(report: &Restored) -> bool {
    report.failed.iter().any(|remark| remark.why.starts_with(STAYS))
}

impl Restore<'_> {
    /// Removes what interrupted restores left in the project; returns whether all of it is removed.
    pub fn tidy(&self) -> bool {
        tidy(self.disk, self.root, self.leftovers)
    }

    /// Adds the temporary files that still exist to the failures, whatever the error was that kept
    /// them: a restore must report every file that it leaves in a project.
    // rule: restore/honest
    pub(super) fn report_leftovers(&self, report: &mut Restored) {
        self.sync_folders();
        for (full, failure) in std::mem::take(&mut *self.staged.lock()) {
            let why = match (folder::stat(self.disk, &full), failure) {
                (Ok(None), _) => continue,
                (Ok(Some(_)), None) => STAYS.to_owned(),
                (Ok(Some(_)), Some(why)) => format!("{STAYS}: {why}"),
                (Err(error), _) => error.to_string(),
            };
            let path = full.strip_prefix(self.root).unwrap_or(&full);
            report.failed.push(Remark::new(path.as_os_str().as_bytes(), why));
        }
    }

    /// Waits until the creation, moves and removals of temporary files are durable: no such file may
    /// come back once nothing records it.
    fn sync_folders(&self) {
        let staged = self.staged.lock();
        let folders: BTreeSet<&Path> = staged.keys().filter_map(|path| path.parent()).collect();
        let synced = match folders.len() {
            0..=FOLDERS_MAX => folders.iter().try_for_each(|path| self.disk.sync_directory(path)),
            _ => self.disk.sync_file_system(self.root),
        };
        if let Err(error) = synced {
            tracing::debug!("temporary files may reappear after a power loss: {error}");
        }
    }
}
