//! Restores a checkpoint: each path is examined, then written, removed, skipped because it is as
//! recorded, or kept because no checkpoint contains its content. Then the disk is checked again, so
//! that the report is true.
//!
//! Nothing is destroyed unless the pre-restore checkpoint contains it. This module begins with a
//! snapshot to restore and ends with the report; the caller takes the pre-restore checkpoint and the
//! locks.

mod access;
mod batch;
mod coverage;
mod ignores;
mod left_out;
mod leftovers;
mod obstacles;
mod placement;
mod plan;
mod present;
mod single_path;
mod swap;
pub mod target;
mod together;
mod units;
mod writing;

pub use ignores::TargetIgnores;
pub use left_out::{LEFT_OUT, Unrecorded};
pub use leftovers::{left_anything, tidy};
use plan::{PlanStep, Surplus};
use together::UnitPlan;
pub use together::has_changed_since;
pub use units::{CapturedProject, Units};

use crate::disk::{Disk, Kind as FileKind, parallel};
use crate::own_folders::OwnFolders;
use crate::progress::FileProgress;
use crate::report::{Remark, Restored};
use crate::restore::batch::Batch;
use crate::restore::placement::Staged;
use crate::store::left_out::LeftOut;
use crate::store::objects::Objects;
use crate::store::permissions::Permissions;
use crate::store::snapshot::Snapshot;
use crate::unit::Unit;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Why a path is kept that a restore would overwrite or remove.
pub const KEPT: &str = "the present content is in no checkpoint and would be lost";
/// Begins why a path is kept that the checkpoint excludes: it was no content of the project then.
pub const EXCLUDED: &str = "in the checkpoint it is";
/// The remark on a path that an interrupted restore did not reach.
pub const INTERRUPTED: &str = "the restore was interrupted before this path";
/// The remark on a path that another process changed during the restore.
pub const CHANGED_SINCE: &str = "another process changed it during the restore";

/// The restore of one checkpoint into one project.
pub struct Restore<'a> {
    /// The disk the project is on.
    pub disk: &'a dyn Disk,
    /// The project's canonical directory.
    pub root: &'a Path,
    /// The folders in which nothing is ever restored.
    pub own_folders: OwnFolders,
    /// Where the content is.
    pub objects: &'a Objects<'a>,
    /// The present content of the project, as far as a checkpoint holds it.
    pub current: &'a Snapshot,
    /// What interrupted restores left in the project, sorted; checkpoints hold all of it except drafts.
    pub leftovers: &'a [Vec<u8>],
    /// Whether the restore is to end: it is read between paths.
    pub interrupt: &'a AtomicBool,
    /// How many files were written.
    pub progress: &'a FileProgress,
    /// The prefix of the names of temporary files.
    pub temporary: String,
    /// The temporary files that this restore created, whether or not they still exist.
    pub staged: Staged,
    /// The files and folders to which the restore is confined; `None` for everything.
    pub below: Option<&'a [Vec<u8>]>,
    /// The snapshot to restore.
    pub target: &'a Snapshot,
    /// The permissions of the target.
    pub permissions: &'a Permissions,
    /// What the target left out, sorted by path.
    pub left_out: &'a [LeftOut],
    /// The ignore files of the target.
    pub ignores: &'a TargetIgnores,
    /// The units of the project and of the target.
    pub units: Units,
    /// The present units of the project, each with the reason if no checkpoint holds it.
    pub captured_units: &'a BTreeMap<Unit, Option<String>>,
    /// Whether the target holds every unit completely.
    pub holds_units: bool,
    /// Whether files may be removed, since a checkpoint holds them.
    pub may_remove: bool,
    /// The files of a restore that is undone: of what was created since the target, only these are removed.
    pub made: Option<&'a Snapshot>,
}

impl Restore<'_> {
    /// Restores everything that is covered; `exact` also removes what was created since. Failures are in the
    /// report.
    // rule: restore/happens
    pub fn restore_all(&self, exact: bool) -> Restored {
        let mut report = Restored::default();
        let mut batch = Batch::default();
        for (path, item) in self.write_in_parallel(&mut report) {
            match self.step(path, item) {
                Ok(PlanStep::Write(_)) if self.is_interrupted() => {
                    report.failed.push(Remark::new(path, INTERRUPTED.into()));
                }
                Ok(PlanStep::Write(obstacles)) => {
                    self.draft(path, item, obstacles, &mut batch, &mut report);
                    if batch.is_full() {
                        self.settle(std::mem::take(&mut batch), &mut report);
                    }
                }
                Ok(PlanStep::InPlace) => {}
                Ok(PlanStep::Keep(remark)) => report.kept.push(remark),
                // rule: fault/names-half-restored
                Err(error) => report.failed.push(Remark::new(path, error.to_string())),
            }
        }
        self.settle(batch, &mut report);
        let mut units_report = Restored::default();
        for unit in self.covered_units() {
            self.restore_unit(unit, exact, &mut units_report);
        }
        for path in self.current.keys() {
            if !self.covers(path)
                || self.target.contains_key(path)
                || report.removed.contains(path)
                || self.units.of_path(path).is_some()
            {
                continue;
            }
            match self.surplus(path, exact) {
                Surplus::LeftOut => {}
                Surplus::Leave => report.left.push(path.clone()),
                Surplus::Keep(remark) => report.kept.push(remark),
                Surplus::Remove if self.is_interrupted() => {
                    report.failed.push(Remark::new(path, INTERRUPTED.into()));
                }
                Surplus::Remove => {
                    self.remove(path, &mut report);
                }
            }
        }
        self.unrecorded().add_to(&mut report);
        self.verify(&mut report);
        report.add(units_report);
        report.interrupted = report.failed.iter().any(|remark| remark.why == INTERRUPTED);
        // The turn of the conversation is undone only together with all files.
        // rule: restore/undoes-turn
        report.undoes_turn = report.failed.is_empty() && self.below.is_none();
        self.report_leftovers(&mut report);
        report.sort();
        report
    }

    /// Restores all files of a unit together.
    fn restore_unit(&self, unit: &Unit, exact: bool, report: &mut Restored) {
        match self.plan_unit(unit, exact) {
            Ok(UnitPlan::Same) => {}
            Ok(UnitPlan::Left) => self.leave(unit, report),
            Ok(UnitPlan::Kept(remarks)) => report.kept.extend(remarks),
            Ok(UnitPlan::Failed(remarks)) => report.failed.extend(remarks),
            Ok(UnitPlan::Swap(swap)) if self.is_interrupted() => {
                let paths = swap.write.iter().chain(&swap.remove);
                report.failed.extend(paths.map(|path| Remark::new(path, INTERRUPTED.into())));
            }
            Ok(UnitPlan::Swap(swap)) => self.swap(unit, swap, report),
            Err(error) => report.failed.push(Remark::new(&unit.path(), error.cause())),
        }
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Checks every path in the report on the disk, and moves those that differ to the failures.
    // rule: restore/honest
    fn verify(&self, report: &mut Restored) {
        let mut wrong = Vec::new();
        let restored = std::mem::take(&mut report.restored);
        let found =
            parallel::map(self.disk, &restored, |path| self.is_item(path, &self.target[path]));
        for (path, is_item) in restored.into_iter().zip(found) {
            let why = match is_item {
                Ok(true) => {
                    report.restored.push(path);
                    continue;
                }
                Ok(false) => "it differs from the checkpoint".to_owned(),
                Err(error) => error.to_string(),
            };
            wrong.push(Remark::new(&path, why));
        }
        report.removed.retain(|path| {
            // There may rightly be a directory where a removed file was, or a link above it.
            let is_gone = matches!(self.kind(path), Ok(None | Some(FileKind::Directory)));
            if !is_gone {
                wrong.push(Remark::new(path, "it still exists".into()));
            }
            is_gone
        });
        report.failed.append(&mut wrong);
    }
}
