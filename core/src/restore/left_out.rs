//! What a restore does not touch, since its checkpoint left it out: left out is not absent.

use super::Restore;
use crate::disk::{Disk, folder};
use crate::path::on_disk;
use crate::report::{Remark, Restored};
use crate::store::left_out::{LeftOut, Reason, covering};
use crate::unit::Role;
use std::path::Path;

/// How every remark begins on a path that the checkpoint left out.
pub const LEFT_OUT: &str = "the checkpoint left it out";

/// What a checkpoint left out and is not certainly as it was then.
#[derive(Debug, Default)]
pub struct Unrecorded {
    /// What exists.
    pub kept: Vec<Remark>,
    /// What is gone.
    pub missing: Vec<Remark>,
}

impl Unrecorded {
    /// That of a project, with what it left out.
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

    /// Names it in the report of a restore.
    pub fn name_in(self, report: &mut Restored) {
        report.kept.extend(self.kept);
        report.missing.extend(self.missing);
    }
}

impl Restore<'_> {
    /// Why the checkpoint left a path out, or a folder that it is in; none where it did not.
    pub(super) fn why_left_out(&self, path: &[u8]) -> Option<&Reason> {
        covering(self.left_out, path).map(|entry| &entry.reason)
    }

    pub(super) fn unrecorded(&self) -> Unrecorded {
        let mut unrecorded = Unrecorded::of(self.disk, self.root, self.left_out);
        // What exists of a unit is named together with the rest of it, but for what SQLite would make anew,
        // which was a file of its own when it was left out.
        unrecorded.kept.retain(|remark| {
            let unit = self.units.of_path(&remark.path);
            unit.is_none_or(|unit| unit.role_of(&remark.path) == Some(Role::Derived))
        });
        unrecorded
    }
}
