//! Paths that a restore does not touch because its checkpoint left them out: such a path may have
//! existed when the checkpoint was taken, with unknown content.

use super::Restore;
use crate::disk::{Disk, folder};
use crate::path::on_disk;
use crate::report::{Remark, Restored};
use crate::store::left_out::{LeftOut, Reason, covering};
use crate::unit::Role;
use std::path::Path;

/// The beginning of every remark on a path that the checkpoint left out.
pub const LEFT_OUT: &str = "the checkpoint left it out";

/// Paths that a checkpoint left out and that are not certainly as they were then.
#[derive(Debug, Default)]
pub struct Unrecorded {
    /// The paths that exist.
    pub kept: Vec<Remark>,
    /// The paths that are gone.
    pub missing: Vec<Remark>,
}

impl Unrecorded {
    /// The unrecorded paths of a project, among those that the checkpoint left out.
    // rule: restore/left-out
    pub fn of(disk: &dyn Disk, root: &Path, left_out: &[LeftOut]) -> Self {
        let mut unrecorded = Unrecorded::default();
        for entry in left_out {
            let remark = Remark::new(&entry.path, format!("{LEFT_OUT}: {}", entry.reason));
            match folder::stat(disk, &on_disk(root, &entry.path)) {
                Ok(Some(stat)) if entry.is_as_it_was(&stat) => {}
                Ok(None) => unrecorded.missing.push(remark),
                Ok(Some(_)) | Err(_) => unrecorded.kept.push(remark),
            }
        }
        unrecorded
    }

    /// Adds the paths to the report of a restore.
    pub fn add_to(self, report: &mut Restored) {
        report.kept.extend(self.kept);
        report.missing.extend(self.missing);
    }
}

impl Restore<'_> {
    /// Why the checkpoint left out a path, or a folder above it; `None` if it did not.
    pub(super) fn why_left_out(&self, path: &[u8]) -> Option<&Reason> {
        covering(self.left_out, path).map(|entry| &entry.reason)
    }

    pub(super) fn unrecorded(&self) -> Unrecorded {
        let mut unrecorded = Unrecorded::of(self.disk, self.root, self.left_out);
        unrecorded.kept.retain(|remark| self.covers(&remark.path));
        unrecorded.missing.retain(|remark| self.covers(&remark.path));
        // Existing files of a unit are reported together with its other files, except those that SQLite
        // would rebuild, which were files of their own when they were left out.
        unrecorded.kept.retain(|remark| {
            let unit = self.units.of_path(&remark.path);
            unit.is_none_or(|unit| unit.role_of(&remark.path) == Some(Role::Derived))
        });
        unrecorded
    }
}
