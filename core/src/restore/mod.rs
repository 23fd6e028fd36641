//! Restores a checkpoint: each path is examined, then written, removed, skipped because it is as recorded, or
//! kept because nothing else holds its content. Then the disk is checked again, so that the report is true.
//!
//! Nothing is destroyed that the pre-restore checkpoint does not hold. This module begins with a
//! snapshot to restore and ends with the report; the caller takes the pre-restore checkpoint and the
//! locks.

mod batch;
mod ignores;
mod left_out;
mod placement;
mod plan;
mod swap;
pub mod target;
mod together;

pub use ignores::TargetIgnores;
pub use left_out::{LEFT_OUT, Unrecorded};
use plan::{PlanStep, Surplus};
use together::UnitPlan;
pub use together::{CapturedProject, Units, has_changed_since};

use crate::disk::{Disk, Kind as FileKind, Stat, folder, is_absence, is_unreadable};
use crate::error::{Context, Error, Result};
use crate::own_folders::OwnFolders;
use crate::path::{ancestors, join, on_disk, parent, shown};
use crate::report::{Remark, Restored};
use crate::restore::batch::Batch;
use crate::restore::placement::{Draft, Placement, Staged};
use crate::store::content::Content;
use crate::store::left_out::LeftOut;
use crate::store::objects::Objects;
use crate::store::permissions::Permissions;
use crate::store::snapshot::{Item, Snapshot};
use crate::unit::{Role, Unit};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// A file of up to so many bytes is read without comparing its size with the recorded size.
const READ_BYTES: u64 = 1024 * 1024;
const KEPT: &str = "something that no checkpoint holds is in its place";
const STAYS: &str = "a restore put it there and could not remove it; the next one does";
/// The remark on a path that an interrupted restore did not reach.
pub const INTERRUPTED: &str = "the restore was interrupted before it";
/// The remark on a path that another process changed during the restore.
pub const CHANGED_SINCE: &str = "it changed while the restore ran";

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
    /// The prefix of the names of temporary files.
    pub temporary: String,
    /// The temporary files that this restore created, whether or not they still exist.
    pub staged: Staged,
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
}

impl Restore<'_> {
    /// Restores everything; `exact` also removes what was created since. Failures are in the
    /// report.
    // rule: restore/happens
    pub fn restore_all(&self, exact: bool) -> Restored {
        let mut report = Restored::default();
        let mut batch = Batch::default();
        for (path, item) in self.to_write() {
            if self.units.of_path(path).is_some() {
                continue;
            }
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
        for unit in self.units.all() {
            self.restore_unit(unit, exact, &mut units_report);
        }
        for path in self.current.keys() {
            if self.target.contains_key(path)
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
        report.undoes_turn = report.failed.is_empty();
        self.report_leftovers(&mut report);
        report.sort();
        report
    }

    /// Restores one path and touches no other.
    ///
    /// # Errors
    /// As [`Restore::check_path`].
    pub fn restore_path(&self, path: &[u8]) -> Result<Restored> {
        if let Some(unit) = self.unit_to_restore(path)? {
            let mut report = Restored::default();
            self.restore_unit(unit, false, &mut report);
            self.report_leftovers(&mut report);
            report.sort();
            return Ok(report);
        }
        let item = self.check_path(path)?;
        let mut report = Restored::default();
        if self.current.get(path) != Some(&item) {
            let mut batch = Batch::default();
            self.draft(path, &item, Vec::new(), &mut batch, &mut report);
            self.settle(batch, &mut report);
            self.verify(&mut report);
            self.report_leftovers(&mut report);
        }
        Ok(report)
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

    /// Adds the temporary files that still exist to the failures, whatever the error was that kept
    /// them: a restore must report every file that it leaves in a project.
    // rule: restore/honest
    fn report_leftovers(&self, report: &mut Restored) {
        self.sync_folders();
        for (full, failure) in self.staged.take() {
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

    fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Removes what interrupted restores left in the project; returns whether all of it is removed.
    pub fn tidy(&self) -> bool {
        tidy(self.disk, self.root, self.leftovers)
    }

    /// Waits until the creation, moves and removals of temporary files are durable: no such file may
    /// come back once nothing records it.
    fn sync_folders(&self) {
        let staged = self.staged.borrow();
        let folders: BTreeSet<&Path> = staged.keys().filter_map(|path| path.parent()).collect();
        let synced = match folders.len() {
            0..=FOLDERS_MAX => folders.iter().try_for_each(|path| self.disk.sync_directory(path)),
            _ => self.disk.sync_file_system(self.root),
        };
        if let Err(error) = synced {
            tracing::debug!("what was moved in the project is not known to be durable: {error}");
        }
    }

    /// Checks that one path can be restored without touching any other, and returns its recorded item.
    ///
    /// # Errors
    /// [`Error::BadPath`], [`Error::NotInCheckpoint`], [`Error::LeftOut`], [`Error::WouldOverwrite`].
    // rule: restore/file-only
    // rule: restore/protects
    pub fn check_path(&self, path: &[u8]) -> Result<Item> {
        self.check_above(path)?;
        let item = self.target.get(path).ok_or_else(|| match self.why_left_out(path) {
            // rule: restore/left-out
            Some(why) => Error::LeftOut { path: shown(path), why: why.to_string() },
            None => Error::NotInCheckpoint(shown(path)),
        })?;
        let overwrites = |content| Err(Error::WouldOverwrite { path: shown(path), what: content });
        if self.is_in_own_folder(path) {
            return overwrites("what belongs to no project");
        }
        match self.kind(path).context("looking at", &on_disk(self.root, path))? {
            None => Ok(*item),
            Some(FileKind::Directory) if self.content(path).is_ok_and(|files| files.is_empty()) => {
                Ok(*item)
            }
            Some(FileKind::Directory) => overwrites("a directory with files in it"),
            Some(_) if self.current.contains_key(path) => Ok(*item),
            Some(_) => overwrites("content that no checkpoint holds"),
        }
    }
    /// The unit that is restored together with one path, if the path belongs to one.
    ///
    /// # Errors
    /// Something that is in the way above the path.
    // rule: unit/restored
    fn unit_to_restore(&self, path: &[u8]) -> Result<Option<&Unit>> {
        match self.units.of_path(path).filter(|_| self.target.contains_key(path)) {
            Some(unit) => self.check_above(path).map(|()| Some(unit)),
            None => Ok(None),
        }
    }

    fn check_above(&self, path: &[u8]) -> Result<()> {
        let above = self.not_a_directory_above(path);
        if let Some(above) = above.context("looking above", &on_disk(self.root, path))? {
            if matches!(self.kind(above), Ok(Some(FileKind::Link))) {
                // rule: restore/bad-path
                let why = "leads through a symbolic link";
                return Err(Error::BadPath { path: shown(path), why });
            }
            let obstacle = "a file that stands where its directory was";
            return Err(Error::WouldOverwrite { path: shown(path), what: obstacle });
        }
        Ok(())
    }

    /// The stat of a path; `None` if nothing exists there, an error if the path cannot be examined.
    fn stat(&self, path: &[u8]) -> io::Result<Option<Stat>> {
        match self.disk.stat(&on_disk(self.root, path)) {
            Err(error) if is_absence(&error) => Ok(None),
            stat => stat.map(Some),
        }
    }

    fn kind(&self, path: &[u8]) -> io::Result<Option<FileKind>> {
        self.stat(path).map(|stat| stat.map(|stat| stat.kind))
    }

    /// Whether the file at `path` may be removed: the pre-restore checkpoint holds it, and the
    /// target neither left it out nor covers it by its ignore files.
    // rule: restore/protects
    fn is_expendable(&self, path: &[u8]) -> bool {
        match self.units.of_path(path) {
            Some(unit) if unit.role_of(path) == Some(Role::Derived) => true,
            _ => {
                self.current.contains_key(path)
                    && !self.was_excluded(path)
                    && self.why_left_out(path).is_none()
            }
        }
    }

    /// Whether the path lies in a folder that belongs to no project.
    // rule: scope/base-not-captured
    fn is_in_own_folder(&self, path: &[u8]) -> bool {
        let full = on_disk(self.root, path);
        let path_and_parents = full.ancestors().take_while(|above| *above != self.root);
        self.own_folders.has_any(self.disk, path_and_parents)
    }

    /// The files that must be removed before `path` can be written; `None` if removing them would lose
    /// content, or if there is no permission to find out.
    fn removable_obstacles(&self, path: &[u8]) -> io::Result<Option<Vec<Vec<u8>>>> {
        if self.is_in_own_folder(path) {
            return Ok(None);
        }
        match self.obstacles(path) {
            Err(error) if is_unreadable(&error) => Ok(None),
            obstacles => obstacles,
        }
    }

    // rule: restore/protects
    fn obstacles(&self, path: &[u8]) -> io::Result<Option<Vec<Vec<u8>>>> {
        Ok(match self.kind(path)? {
            None => match self.not_a_directory_above(path)? {
                None => Some(Vec::new()),
                Some(above) => {
                    // A unit is removed completely; the unit of a folder lies entirely in the folder.
                    let unit = self.units.of_path(above);
                    let files = unit.and_then(|unit| self.unit_files(unit).ok());
                    let mut obstacles = files.map(|files| files.present).unwrap_or_default();
                    obstacles.retain(|path| path != above);
                    obstacles.push(above.to_vec());
                    obstacles.iter().all(|path| self.is_expendable(path)).then_some(obstacles)
                }
            },
            Some(FileKind::Directory) => {
                let content = self.content(path)?;
                content.iter().all(|path| self.is_expendable(path)).then_some(content)
            }
            Some(_) => self.current.contains_key(path).then(Vec::new),
        })
    }

    /// The first ancestor of `path` that exists and is not a directory.
    fn not_a_directory_above<'b>(&self, path: &'b [u8]) -> io::Result<Option<&'b [u8]>> {
        for ancestor in ancestors(path) {
            match self.kind(ancestor)? {
                None => break,
                Some(FileKind::Directory) => {}
                Some(_) => return Ok(Some(ancestor)),
            }
        }
        Ok(None)
    }

    /// All files below `path`, without directories and without what interrupted restores left there.
    fn content(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        let mut found = Vec::new();
        let mut pending = vec![path.to_vec()];
        while let Some(directory) = pending.pop() {
            for name in self.disk.list(&on_disk(self.root, &directory))? {
                let path = join(&directory, name.as_bytes());
                match self.kind(&path)? {
                    None => {}
                    Some(FileKind::Directory) => pending.push(path),
                    Some(_) if self.leftovers.binary_search(&path).is_ok() => {}
                    Some(_) => found.push(path),
                }
            }
        }
        Ok(found)
    }

    /// Whether the path is already as recorded, though no checkpoint holds it.
    fn is_in_place(&self, path: &[u8], item: &Item) -> bool {
        self.is_item(path, item).unwrap_or(false)
    }

    /// Whether a checkpoint would record `path` as that item; not if only a link leads there.
    fn is_item(&self, path: &[u8], item: &Item) -> io::Result<bool> {
        self.is_item_at(&on_disk(self.root, path), item)
    }

    /// Whether something exists at `full` and a checkpoint would record it as that item.
    fn is_item_at(&self, full: &Path, item: &Item) -> io::Result<bool> {
        let stat = match self.disk.stat(full) {
            Err(error) if is_absence(&error) => return Ok(false),
            stat => stat?,
        };
        if stat.kind == FileKind::File && !self.may_be_item(&stat, item) {
            return Ok(false);
        }
        Ok(Item::standing(self.disk, full, &stat)? == Some(*item))
    }

    /// Whether a file with that stat may be the item, by its size: a file that is too large must not be
    /// read into memory.
    fn may_be_item(&self, stat: &Stat, item: &Item) -> bool {
        let has_recorded_size = || match self.objects.header(item.blob) {
            Ok((_, bytes)) => bytes == stat.size,
            // A forced restore stores none of the present files, which were read nevertheless.
            Err(_) => self.current.values().any(|current| current == item),
        };
        stat.size <= READ_BYTES || has_recorded_size()
    }

    /// Writes a draft of a path, and removes the obstacles of the path.
    fn draft(
        &self,
        path: &[u8],
        item: &Item,
        obstacles: Vec<Vec<u8>>,
        batch: &mut Batch,
        report: &mut Restored,
    ) {
        // The content is read first, so that nothing is removed in vain.
        let content = match Content::of(self.objects, item.blob) {
            Ok(content) => content,
            Err(error) => return report.failed.push(Remark::new(path, error.cause())),
        };
        if self.current.contains_key(path) && !self.is_as_captured(path, report) {
            return;
        }
        for obstacle in obstacles {
            if !self.remove(&obstacle, report) {
                let why = format!("{} is in its place", shown(&obstacle));
                return report.failed.push(Remark::new(path, why));
            }
        }
        // rule: restore/bytes
        let write = |number| self.placement().draft(path, item.mode, &content, number);
        let mut written = write(batch.drafts.len());
        if written.is_err() && !batch.drafts.is_empty() {
            // The files that the other drafts replace take space, too.
            self.settle(std::mem::take(batch), report);
            written = write(0);
        }
        match written {
            Ok(draft) => batch.add(path, draft),
            Err(error) => report.failed.push(Remark::new(path, error.cause())),
        }
    }

    /// Moves drafts to their paths, once all of them are durable.
    fn settle(&self, batch: Batch, report: &mut Restored) {
        let placement = self.placement();
        let drafts: Vec<&Draft> = batch.drafts.iter().map(|(_, draft)| draft).collect();
        let failure = placement.sync(&drafts).err().map(|error| error.cause());
        for (path, draft) in batch.drafts {
            if let Some(why) = &failure {
                placement.discard(&draft);
                report.failed.push(Remark::new(&path, why.clone()));
                continue;
            }
            if self.is_interrupted() {
                placement.discard(&draft);
                report.failed.push(Remark::new(&path, INTERRUPTED.into()));
                continue;
            }
            match placement.settle(&draft, &|full| self.is_captured(&path, full)) {
                Ok(true) => report.restored.push(path),
                Ok(false) => report.kept.push(Remark::new(&path, CHANGED_SINCE.into())),
                Err(error) => report.failed.push(Remark::new(&path, error.cause())),
            }
        }
    }

    fn placement(&self) -> Placement<'_> {
        let Restore { disk, root, permissions, temporary, target, staged, .. } = self;
        Placement { disk: *disk, root, permissions, temporary, target, staged }
    }

    /// Whether the file at `full` is what was captured of `path`.
    fn is_captured(&self, path: &[u8], full: &Path) -> io::Result<bool> {
        let captured = self.current.get(path);
        match captured.map_or(Ok(false), |captured| self.is_item_at(full, captured)) {
            Err(error) if is_unreadable(&error) => Ok(false),
            is_item => is_item,
        }
    }

    /// Whether the path is still as captured, since only captured content may be removed: another
    /// process may have changed it in the meantime. If it is not, the report says why.
    // rule: restore/protects
    // rule: restore/undo
    fn is_as_captured(&self, path: &[u8], report: &mut Restored) -> bool {
        let captured = self.current.get(path);
        match captured.map_or(Ok(false), |captured| self.is_item(path, captured)) {
            Ok(true) => return true,
            Err(error) if !is_absence(&error) && !is_unreadable(&error) => {
                report.failed.push(Remark::new(path, error.to_string()));
            }
            _ => report.kept.push(Remark::new(path, CHANGED_SINCE.into())),
        }
        false
    }

    /// Removes a path and the directories that it leaves empty, but not the project; returns
    /// whether it is gone.
    fn remove(&self, path: &[u8], report: &mut Restored) -> bool {
        if !self.is_as_captured(path, report) {
            return false;
        }
        match self.placement().remove_path(path, &|full| self.is_captured(path, full)) {
            Ok(true) => {}
            Ok(false) => {
                report.kept.push(Remark::new(path, CHANGED_SINCE.into()));
                return false;
            }
            Err(error) => {
                report.failed.push(Remark::new(path, error.cause()));
                return false;
            }
        }
        report.removed.push(path.to_vec());
        self.remove_empty_folders(parent(path));
        true
    }

    /// Removes a folder and those above it, up to the first that is not empty, but not the project.
    fn remove_empty_folders(&self, mut folder: &[u8]) {
        while !folder.is_empty() && self.disk.remove_directory(&on_disk(self.root, folder)).is_ok()
        {
            folder = parent(folder);
        }
    }

    /// Checks every path in the report on the disk, and moves those that differ to the failures.
    // rule: restore/honest
    fn verify(&self, report: &mut Restored) {
        let mut wrong = Vec::new();
        report.restored.retain(|path| {
            let why = match self.is_item(path, &self.target[path]) {
                Ok(true) => return true,
                Ok(false) => "it does not stand as recorded".to_owned(),
                Err(error) => error.to_string(),
            };
            wrong.push(Remark::new(path, why));
            false
        });
        report.removed.retain(|path| {
            // There may rightly be a directory where a removed file was, or a link above it.
            let is_gone = matches!(self.kind(path), Ok(None | Some(FileKind::Directory)));
            if !is_gone {
                wrong.push(Remark::new(path, "it is still there".into()));
            }
            is_gone
        });
        report.failed.append(&mut wrong);
    }
}
