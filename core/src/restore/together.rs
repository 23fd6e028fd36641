//! Plans the restore of units: all files of a unit are restored, removed, left or kept together.
//!
//! The plan follows from the recorded and the present files, and nothing is written here; the preview
//! shows the plan and [`super::swap`] carries it out.

use super::{KEPT, Restore};
use crate::disk::{Kind as FileKind, LockGuard, folder, is_absence};
use crate::error::Result;
use crate::path::{join, on_disk, shown};
use crate::report::{Remark, Restored};
use crate::store::content::Content;
use crate::store::left_out;
use crate::unit::{Role, Unit, whose};
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::thread::sleep;
use std::time::Duration;

/// The time between two attempts to lock a unit, and their number: half a second in all.
const WAIT_STEP: Duration = Duration::from_millis(5);
const WAIT_STEPS_MAX: usize = 100;
const IN_USE: &str = "which another process is using";
const ONLY_A_PART: &str = "of which the checkpoint has only a part";
const CHANGED: &str = "which another process changed during the restore";

/// Whether a remark is on a member of a unit that changed during the restore.
pub fn has_changed_since(why: &str) -> bool {
    why.ends_with(CHANGED)
}

/// The files of a unit.
pub(super) struct UnitFiles {
    /// Files that the checkpoint holds and that a restore writes.
    pub recorded: Vec<Vec<u8>>,
    /// Existing files, without those derived from them.
    pub present: Vec<Vec<u8>>,
    /// Existing files that are derived from them.
    derived: Vec<Vec<u8>>,
}

/// What is done with a unit.
pub(super) enum UnitPlan {
    /// Nothing: it is as recorded.
    Same,
    /// It was created since, and stays.
    Left,
    /// It stays as it is, since content would be lost or mixed.
    Kept(Vec<Remark>),
    /// It cannot be restored.
    Failed(Vec<Remark>),
    /// Its files change all together.
    Swap(Swap),
}

/// The changes of the files of a unit.
pub(super) struct Swap {
    /// The paths that are written.
    pub write: Vec<Vec<u8>>,
    /// The paths that are removed, without those that are overwritten; a checkpoint holds them.
    pub remove: Vec<Vec<u8>>,
    /// The derived files that are removed with them, whether or not a checkpoint holds them.
    pub derived: Vec<Vec<u8>>,
    /// The obstacles that are removed before.
    pub obstacles: Vec<Vec<u8>>,
    /// The lock that keeps processes from opening the unit, where there is one.
    pub lock: Option<Box<dyn LockGuard>>,
}

impl Restore<'_> {
    /// The files of a unit that are recorded and that are there.
    pub(super) fn unit_files(&self, unit: &Unit) -> Result<UnitFiles> {
        let is_recorded_unit = self.units.recorded.contains(unit);
        let is_restored = |path: &[u8]| match unit.role_of(path) {
            Some(Role::Derived) => !is_recorded_unit,
            role => role.is_some(),
        };
        let names = match unit.names() {
            Some(names) => names,
            None => {
                let names = folder::names(self.disk, &on_disk(self.root, &unit.folder))?;
                names.iter().map(|name| name.as_bytes().to_vec()).collect()
            }
        };
        let mut found =
            UnitFiles { recorded: Vec::new(), present: Vec::new(), derived: Vec::new() };
        for name in names {
            let path = join(&unit.folder, &name);
            let Some(role) = unit.role(&name) else { continue };
            let stat = folder::stat(self.disk, &on_disk(self.root, &path))?;
            if stat.is_none_or(|stat| stat.kind == FileKind::Directory) {
                continue;
            }
            match role == Role::Derived && !self.target.contains_key(&path) {
                true => found.derived.push(path),
                false => found.present.push(path),
            }
        }
        let inside = match unit.folder[..] {
            [] => Vec::new(),
            ref folder => [folder, b"/"].concat(),
        };
        let in_folder = self.target.range(inside.clone()..).map(|(path, _)| path);
        let in_folder = in_folder.take_while(|path| path.starts_with(&inside));
        found.recorded = in_folder.filter(|path| is_restored(path)).cloned().collect();
        // Files that only the checkpoint shows to be derived are removed, whatever it holds of them.
        let is_derived = |path: &Vec<u8>| {
            unit.role_of(path) == Some(Role::Derived) && !found.recorded.contains(path)
        };
        let (derived, present) = found.present.into_iter().partition(is_derived);
        found.present = present;
        found.derived.extend::<Vec<_>>(derived);
        Ok(found)
    }

    /// Plans what is done with a unit.
    // rule: unit/restored: decides
    pub(super) fn plan_unit(&self, unit: &Unit, exact: bool) -> Result<UnitPlan> {
        let files = self.unit_files(unit)?;
        let UnitFiles { recorded, present, derived } = &files;
        if recorded.is_empty() && present.is_empty() {
            return Ok(UnitPlan::Same);
        }
        if self.is_as_recorded(&files) {
            return Ok(UnitPlan::Same);
        }
        let kept = |end: &str| Ok(UnitPlan::Kept(self.kept(unit, &files, end)));
        if self.is_left_out(unit) {
            return match recorded.is_empty() && present.iter().all(|path| self.is_as_left_out(path))
            {
                true => Ok(UnitPlan::Same),
                false => kept("which the checkpoint left out"),
            };
        }
        // rule: unit/undo
        let is_derived = |path: &Vec<u8>| unit.role_of(path) == Some(Role::Derived);
        let is_lost = |path: &&Vec<u8>| {
            let is_held = is_derived(path) || self.current.contains_key(*path);
            !is_held || !self.may_remove && !recorded.contains(path)
        };
        let lost = present.iter().find(is_lost);
        // Where the checkpoint does not show the unit, a derived file was a file of its own then.
        if recorded.iter().all(is_derived) {
            let is_ignored = |path: &&Vec<u8>| self.was_excluded(path);
            if lost.is_some() || !exact || !present.iter().all(|path| self.may_undo(path)) {
                return match recorded.is_empty() {
                    true => Ok(UnitPlan::Left),
                    false => kept(ONLY_A_PART),
                };
            }
            if let Some(path) = present.iter().find(is_ignored) {
                return kept(&whose(path, "is excluded by an ignore file of the checkpoint"));
            }
        } else if !self.holds_units && !unit.is_complete(recorded.iter().map(Vec::as_slice)) {
            return kept(ONLY_A_PART);
        }
        if let Some(path) = lost {
            let cause = self.captured_units.get(unit).cloned().flatten();
            return kept(&cause.unwrap_or_else(|| whose(path, "is in no checkpoint")));
        }
        let mut obstacles = Vec::new();
        let is_removed_with_them = |path: &&Vec<u8>| is_derived(path) && present.contains(path);
        for path in recorded.iter().filter(|path| !is_removed_with_them(path)) {
            match self.removable_obstacles(path) {
                Ok(Some(found)) => obstacles.extend(found),
                Ok(None) => return kept(&format!("but at {} {KEPT}", shown(path))),
                Err(error) => return Ok(self.failed(unit, &files, path, &error.to_string())),
            }
        }
        obstacles.sort_unstable();
        obstacles.dedup();
        // All content is read first, so that nothing is changed in vain.
        for path in self.to_change(&files) {
            if let Err(error) = Content::of(self.objects, self.target[path].blob) {
                return Ok(self.failed(unit, &files, path, &error.cause()));
            }
        }
        debug_assert!(derived.iter().all(|path| !recorded.contains(path)));
        self.swap_of(unit, &files, obstacles)
    }

    fn swap_of(&self, unit: &Unit, files: &UnitFiles, obstacles: Vec<Vec<u8>>) -> Result<UnitPlan> {
        let lock = match self.lock(unit) {
            Locked::InUse => {
                return Ok(UnitPlan::Kept(self.kept(unit, files, IN_USE)));
            }
            Locked::Held(lock) => Some(lock),
            Locked::Free => None,
        };
        let is_removed = |path: &&Vec<u8>| !files.recorded.contains(path);
        Ok(UnitPlan::Swap(Swap {
            write: self.to_change(files).cloned().collect(),
            remove: files.present.iter().filter(is_removed).cloned().collect(),
            derived: files.derived.clone(),
            obstacles,
            lock,
        }))
    }

    /// Locks a unit, as the processes that use it lock each other out.
    fn lock(&self, unit: &Unit) -> Locked {
        let bytes = unit.locked();
        let path = on_disk(self.root, &join(&unit.folder, &bytes.name));
        for step in 0..WAIT_STEPS_MAX {
            if step > 0 {
                sleep(WAIT_STEP);
            }
            match self.disk.try_lock_bytes(&path, bytes.start, bytes.length) {
                Ok(Some(lock)) => return Locked::Held(lock),
                Ok(None) => {}
                Err(error) => {
                    if !is_absence(&error) {
                        tracing::debug!("{} cannot be locked: {error}", path.display());
                    }
                    return Locked::Free;
                }
            }
        }
        Locked::InUse
    }

    /// The recorded files that are to be written.
    fn to_change<'t>(&self, files: &'t UnitFiles) -> impl Iterator<Item = &'t Vec<u8>> {
        let differs = |path: &&Vec<u8>| match self.current.get(*path) {
            None => !self.is_in_place(path, &self.target[*path]),
            current => current != self.target.get(*path),
        };
        files.recorded.iter().filter(differs)
    }

    /// Whether nothing is to be done: each file is as recorded, and no other file exists.
    fn is_as_recorded(&self, files: &UnitFiles) -> bool {
        let UnitFiles { recorded, present, .. } = files;
        let is_same = |path: &Vec<u8>| {
            let item = &self.target[path];
            match self.current.get(path) {
                Some(current) => current == item,
                None => self.is_in_place(path, item),
            }
        };
        present.iter().all(|path| recorded.contains(path)) && recorded.iter().all(is_same)
    }

    /// Each file of a unit that differs, with why it is kept.
    fn kept(&self, unit: &Unit, unit_files: &UnitFiles, end: &str) -> Vec<Remark> {
        let UnitFiles { recorded, present, .. } = unit_files;
        let differs = |path: &&&Vec<u8>| match (self.target.get(**path), self.current.get(**path)) {
            (Some(item), None) => !self.is_in_place(path, item),
            (recorded, current) => recorded != current || current.is_none(),
        };
        let files: BTreeSet<&Vec<u8>> = recorded.iter().chain(present).collect();
        let remark = |path: &Vec<u8>| Remark::new(path, unit.part(end));
        files.iter().filter(differs).map(|path| remark(path)).collect()
    }

    fn failed(&self, unit: &Unit, files: &UnitFiles, failed_path: &[u8], why: &str) -> UnitPlan {
        let end = whose(failed_path, &format!("cannot be restored: {why}"));
        let remark = |path: &Vec<u8>| match path == failed_path {
            true => Remark::new(path, why.to_owned()),
            false => Remark::new(path, unit.part(&end)),
        };
        UnitPlan::Failed(self.to_change(files).map(remark).collect())
    }

    /// Whether the checkpoint left out a unit.
    fn is_left_out(&self, unit: &Unit) -> bool {
        let is_member = |path: &[u8]| !matches!(unit.role_of(path), None | Some(Role::Derived));
        self.left_out.iter().any(|entry| is_member(&entry.path))
    }

    /// Whether the file certainly is what the checkpoint left out.
    fn is_as_left_out(&self, path: &[u8]) -> bool {
        let entry = left_out::covering(self.left_out, path);
        let stat = self.stat(path).ok().flatten();
        entry.zip(stat).is_some_and(|(entry, stat)| entry.is_as_it_was(&stat))
    }

    /// Adds the plans of units to a report; the paths that are removed are added to `removed`.
    pub(super) fn plan_units<'u>(
        &self,
        units: impl Iterator<Item = &'u Unit>,
        exact: bool,
        report: &mut Restored,
        removed: &mut BTreeSet<Vec<u8>>,
    ) {
        for unit in units {
            match self.plan_unit(unit, exact) {
                Ok(UnitPlan::Same) => {}
                Ok(UnitPlan::Left) => self.leave(unit, report),
                Ok(UnitPlan::Kept(remarks)) => report.kept.extend(remarks),
                Ok(UnitPlan::Failed(remarks)) => report.failed.extend(remarks),
                Ok(UnitPlan::Swap(swap)) => {
                    report.restored.extend(swap.write);
                    removed.extend(swap.remove);
                    removed.extend(swap.derived);
                    removed.extend(swap.obstacles);
                }
                Err(error) => report.failed.push(Remark::new(&unit.path(), error.cause())),
            }
        }
    }

    /// Adds the captured files of a unit that was created since.
    pub(super) fn leave(&self, unit: &Unit, report: &mut Restored) {
        if let Ok(files) = self.unit_files(unit) {
            let present = files.present.into_iter();
            report.left.extend(present.filter(|path| self.current.contains_key(path)));
        }
    }

    /// The remark on a file of a unit that changed during the restore.
    pub(super) fn changed(unit: &Unit, path: &[u8]) -> Remark {
        Remark::new(path, unit.part(CHANGED))
    }
}

enum Locked {
    Held(Box<dyn LockGuard>),
    /// There is nothing to lock, or the system cannot lock it.
    Free,
    InUse,
}
