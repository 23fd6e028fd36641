//! Restoring a checkpoint: each path is looked at and written, removed, left or kept; then the disk
//! is checked once more, so that the report is true.
//!
//! Nothing is destroyed that the pre-rollback checkpoint does not hold. This begins with a snapshot
//! to restore and ends with the report; taking the pre-rollback checkpoint and the locks are up to
//! the caller.

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
use plan::{Step, Surplus};
use together::Becomes;
pub use together::{Units, has_changed_since};

use crate::disk::{Disk, Kind as FileKind, Stat, folder, is_absence, is_unreadable};
use crate::error::{Context, Error, Result};
use crate::own_folders::OwnFolders;
use crate::path::{ancestors, join, on_disk, parent, shown};
use crate::report::{Remark, Restored};
use crate::restore::batch::Batch;
use crate::restore::placement::{Beside, Draft, Placement};
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

/// A file of so many bytes is read without another look at what it should hold.
const READ_BYTES: u64 = 1024 * 1024;
const KEPT: &str = "something that no checkpoint holds is in its place";
const STAYS: &str = "a restore put it there and could not remove it; the next one does";
/// Why nothing was done to a path.
pub const INTERRUPTED: &str = "the restore was interrupted before it";
/// What is said of a path that somebody changed meanwhile.
pub const CHANGED_SINCE: &str = "it changed while the restore ran";

/// So many folders are made durable one by one; more of them with all else on their file system.
const FOLDERS_MAX: usize = 16;

/// Removes what interrupted restores left in the project at `root`; returns whether nothing of it
/// stays.
pub fn tidy(disk: &dyn Disk, root: &Path, leftovers: &[Vec<u8>]) -> bool {
    let remove = |path: &Vec<u8>| folder::remove_place(disk, &on_disk(root, path));
    leftovers.iter().map(remove).filter(Result::is_err).count() == 0
}

/// Whether a restore put something alongside its paths that it could not remove.
pub fn left_anything(report: &Restored) -> bool {
    report.failed.iter().any(|one| one.why.starts_with(STAYS))
}

/// The restore of one checkpoint into one project.
pub struct Restore<'a> {
    /// The disk the project is on.
    pub disk: &'a dyn Disk,
    /// The project's canonical directory.
    pub root: &'a Path,
    /// The folders in which nothing is ever restored.
    pub own: OwnFolders,
    /// Where the content is.
    pub objects: &'a Objects<'a>,
    /// What is in the project now, as far as a checkpoint holds it.
    pub current: &'a Snapshot,
    /// What interrupted restores left in the project, sorted; checkpoints hold all of it but drafts.
    pub leftovers: &'a [Vec<u8>],
    /// Whether it is to end: it is asked between paths.
    pub interrupt: &'a AtomicBool,
    /// How the names of such files begin.
    pub temporary: String,
    /// What this restore put beside its places, be it there still or not.
    pub beside: Beside,
    /// What is to be brought back.
    pub target: &'a Snapshot,
    /// What that permitted.
    pub permissions: &'a Permissions,
    /// What that left out, sorted by path.
    pub left_out: &'a [LeftOut],
    /// The ignore files of that.
    pub ignores: &'a TargetIgnores,
    /// The units of both.
    pub units: Units,
    /// Those that are in the project now, each with why no checkpoint holds it.
    pub captured_units: &'a BTreeMap<Unit, Option<String>>,
    /// Whether the target holds every unit as a whole.
    pub holds_units: bool,
    /// Whether anything may be removed, since a checkpoint holds it.
    pub may_remove: bool,
}

impl Restore<'_> {
    /// Restores everything; `exact` also removes what was created since. Failures are in the
    /// report.
    pub fn all(&self, exact: bool) -> Restored {
        let mut report = Restored::default();
        let mut batch = Batch::default();
        for (path, item) in self.to_write() {
            if self.units.of_path(path).is_some() {
                continue;
            }
            match self.step(path, item) {
                Ok(Step::Write(_)) if self.is_interrupted() => {
                    report.failed.push(Remark::new(path, INTERRUPTED.into()));
                }
                Ok(Step::Write(obstacles)) => {
                    self.draft(path, item, obstacles, &mut batch, &mut report);
                    if batch.is_full() {
                        self.settle(std::mem::take(&mut batch), &mut report);
                    }
                }
                Ok(Step::Stands) => {}
                Ok(Step::Keep(remark)) => report.kept.push(remark),
                Err(error) => report.failed.push(Remark::new(path, error.to_string())),
            }
        }
        self.settle(batch, &mut report);
        let mut together = Restored::default();
        for unit in self.units.all() {
            self.restore_unit(unit, exact, &mut together);
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
        self.unrecorded().name_in(&mut report);
        self.verify(&mut report);
        report.add(together);
        report.interrupted = report.failed.iter().any(|one| one.why == INTERRUPTED);
        // The conversation goes back only together with the files.
        // rule: restore/undoes-turn
        report.undoes_turn = report.failed.is_empty();
        self.name_what_stays(&mut report);
        report.sort();
        report
    }

    /// Restores one path and touches no other.
    ///
    /// # Errors
    /// As [`Restore::check_one`].
    pub fn one(&self, path: &[u8]) -> Result<Restored> {
        if let Some(unit) = self.unit_of_one(path)? {
            let mut report = Restored::default();
            self.restore_unit(unit, false, &mut report);
            self.name_what_stays(&mut report);
            report.sort();
            return Ok(report);
        }
        let item = self.check_one(path)?;
        let mut report = Restored::default();
        if self.current.get(path) != Some(&item) {
            let mut batch = Batch::default();
            self.draft(path, &item, Vec::new(), &mut batch, &mut report);
            self.settle(batch, &mut report);
            self.verify(&mut report);
            self.name_what_stays(&mut report);
        }
        Ok(report)
    }

    /// Restores a unit as a whole.
    fn restore_unit(&self, unit: &Unit, exact: bool, report: &mut Restored) {
        match self.becomes(unit, exact) {
            Ok(Becomes::Same) => {}
            Ok(Becomes::Left) => self.leave(unit, report),
            Ok(Becomes::Kept(remarks)) => report.kept.extend(remarks),
            Ok(Becomes::Failed(remarks)) => report.failed.extend(remarks),
            Ok(Becomes::Swap(swap)) if self.is_interrupted() => {
                let paths = swap.write.iter().chain(&swap.remove);
                report.failed.extend(paths.map(|path| Remark::new(path, INTERRUPTED.into())));
            }
            Ok(Becomes::Swap(swap)) => self.swap(unit, swap, report),
            Err(error) => report.failed.push(Remark::new(&unit.path(), error.cause())),
        }
    }

    /// Adds to the failures what was put beside its place and is there still, whatever the error was
    /// that kept it: nothing may stand in a project unsaid.
    // rule: restore/honest
    fn name_what_stays(&self, report: &mut Restored) {
        self.sync_folders();
        for (full, noted) in self.beside.take() {
            let why = match (folder::stat(self.disk, &full), noted) {
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

    /// Removes what interrupted restores left in the project; returns whether nothing of it stays.
    pub fn tidy(&self) -> bool {
        tidy(self.disk, self.root, self.leftovers)
    }

    /// Waits until what was put alongside paths, moved and removed there is durable: it must not come
    /// back once nothing records it.
    fn sync_folders(&self) {
        let beside = self.beside.borrow();
        let folders: BTreeSet<&Path> = beside.keys().filter_map(|path| path.parent()).collect();
        let synced = match folders.len() {
            0..=FOLDERS_MAX => folders.iter().try_for_each(|path| self.disk.sync_directory(path)),
            _ => self.disk.sync_file_system(self.root),
        };
        if let Err(error) = synced {
            tracing::debug!("what was moved in the project is not known to be durable: {error}");
        }
    }

    /// Whether one path can be restored without touching any other, and what it is to be.
    ///
    /// # Errors
    /// [`Error::BadPath`], [`Error::NotInCheckpoint`], [`Error::LeftOut`], [`Error::WouldOverwrite`].
    // rule: restore/file-only
    // rule: restore/protects
    pub fn check_one(&self, path: &[u8]) -> Result<Item> {
        self.check_above(path)?;
        let item = self.target.get(path).ok_or_else(|| match self.why_left_out(path) {
            // rule: restore/left-out
            Some(why) => Error::LeftOut { path: shown(path), why: why.to_string() },
            None => Error::NotInCheckpoint(shown(path)),
        })?;
        let overwrites = |what| Err(Error::WouldOverwrite { path: shown(path), what });
        if self.is_own(path) {
            return overwrites("what belongs to no project");
        }
        match self.kind(path).context("looking at", &on_disk(self.root, path))? {
            None => Ok(*item),
            Some(FileKind::Directory) if self.content(path).is_ok_and(|all| all.is_empty()) => {
                Ok(*item)
            }
            Some(FileKind::Directory) => overwrites("a directory with files in it"),
            Some(_) if self.current.contains_key(path) => Ok(*item),
            Some(_) => overwrites("content that no checkpoint holds"),
        }
    }
    /// The unit that is restored for the sake of one path, if it is a part of one.
    ///
    /// # Errors
    /// Where something is in the way of all of it.
    // rule: unit/restored
    fn unit_of_one(&self, path: &[u8]) -> Result<Option<&Unit>> {
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
            let what = "a file that stands where its directory was";
            return Err(Error::WouldOverwrite { path: shown(path), what });
        }
        Ok(())
    }

    /// The stat of a path, if something is there; an error if that cannot be seen.
    fn stat(&self, path: &[u8]) -> io::Result<Option<Stat>> {
        match self.disk.stat(&on_disk(self.root, path)) {
            Err(error) if is_absence(&error) => Ok(None),
            stat => stat.map(Some),
        }
    }

    fn kind(&self, path: &[u8]) -> io::Result<Option<FileKind>> {
        self.stat(path).map(|stat| stat.map(|stat| stat.kind))
    }

    /// Whether the file at `path` may be removed: the pre-rollback checkpoint holds it, and the
    /// target neither left it out nor covers it by its ignore files.
    // rule: restore/protects
    fn expendable(&self, path: &[u8]) -> bool {
        match self.units.of_path(path) {
            Some(unit) if unit.role_of(path) == Some(Role::Derived) => true,
            _ => {
                self.current.contains_key(path)
                    && !self.excluded_then(path)
                    && self.why_left_out(path).is_none()
            }
        }
    }

    /// Whether it lies where no project has anything.
    // rule: scope/base-not-captured
    fn is_own(&self, path: &[u8]) -> bool {
        let full = on_disk(self.root, path);
        let on_the_way = full.ancestors().take_while(|above| *above != self.root);
        self.own.has_any(self.disk, on_the_way)
    }

    /// What must be removed before `path` can be written; none where that would lose something, or
    /// where there is no permission to see whether it would.
    fn in_the_way(&self, path: &[u8]) -> io::Result<Option<Vec<Vec<u8>>>> {
        if self.is_own(path) {
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
                    // A unit goes as a whole; that of a folder is all in it.
                    let unit = self.units.of_path(above);
                    let files = unit.and_then(|unit| self.together(unit).ok());
                    let mut all = files.map(|files| files.present).unwrap_or_default();
                    all.retain(|path| path != above);
                    all.push(above.to_vec());
                    all.iter().all(|path| self.expendable(path)).then_some(all)
                }
            },
            Some(FileKind::Directory) => {
                let content = self.content(path)?;
                content.iter().all(|path| self.expendable(path)).then_some(content)
            }
            Some(_) => self.current.contains_key(path).then(Vec::new),
        })
    }

    /// What stands where `path` needs a directory.
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

    /// Everything below `path` but directories, and what an interrupted restore left there.
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

    /// Whether the path already is as recorded, though no checkpoint holds it.
    fn is_in_place(&self, path: &[u8], item: &Item) -> bool {
        self.stands(path, item).unwrap_or(false)
    }

    /// Whether a checkpoint would record `path` as that item; not where only a link leads there.
    fn stands(&self, path: &[u8], item: &Item) -> io::Result<bool> {
        self.holds(&on_disk(self.root, path), item)
    }

    /// Whether a checkpoint would record what is at `full`, if anything is, as that item.
    fn holds(&self, full: &Path, item: &Item) -> io::Result<bool> {
        let stat = match self.disk.stat(full) {
            Err(error) if is_absence(&error) => return Ok(false),
            stat => stat?,
        };
        if stat.kind == FileKind::File && !self.may_hold(&stat, item) {
            return Ok(false);
        }
        Ok(Item::standing(self.disk, full, &stat)? == Some(*item))
    }

    /// Whether a file with that stat may be the item, by its size: one that is too large to be read
    /// must not take the memory.
    fn may_hold(&self, stat: &Stat, item: &Item) -> bool {
        let recorded = || match self.objects.header(item.blob) {
            Ok((_, bytes)) => bytes == stat.size,
            // A forced restore stores nothing of what is there, which was read all the same.
            Err(_) => self.current.values().any(|current| current == item),
        };
        stat.size <= READ_BYTES || recorded()
    }

    /// Writes a path beside its place, which is made free of what is in the way.
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
            // What the others take the place of takes space, too.
            self.settle(std::mem::take(batch), report);
            written = write(0);
        }
        match written {
            Ok(draft) => batch.add(path, draft),
            Err(error) => report.failed.push(Remark::new(path, error.cause())),
        }
    }

    /// Puts what was written in its place, once all of it is durable.
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
            match placement.settle(&draft, &|place| self.is_captured(&path, place)) {
                Ok(true) => report.restored.push(path),
                Ok(false) => report.kept.push(Remark::new(&path, CHANGED_SINCE.into())),
                Err(error) => report.failed.push(Remark::new(&path, error.cause())),
            }
        }
    }

    fn placement(&self) -> Placement<'_> {
        let Restore { disk, root, permissions, temporary, target, beside, .. } = self;
        Placement { disk: *disk, root, permissions, temporary, target, beside }
    }

    /// Whether what stands at `place` is what was captured of `path`.
    fn is_captured(&self, path: &[u8], place: &Path) -> io::Result<bool> {
        let captured = self.current.get(path);
        match captured.map_or(Ok(false), |captured| self.holds(place, captured)) {
            Err(error) if is_unreadable(&error) => Ok(false),
            holds => holds,
        }
    }

    /// Whether the disk still holds what was captured, since only that may be removed: somebody may
    /// have changed it in the meantime. Where it does not, the report says why.
    // rule: restore/protects
    // rule: restore/undo
    fn is_as_captured(&self, path: &[u8], report: &mut Restored) -> bool {
        let captured = self.current.get(path);
        match captured.map_or(Ok(false), |captured| self.stands(path, captured)) {
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
        match self.placement().take_away(path, &|place| self.is_captured(path, place)) {
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

    /// Checks every path in the report on the disk, and moves to the failures what is not so.
    // rule: restore/honest
    fn verify(&self, report: &mut Restored) {
        let mut wrong = Vec::new();
        report.restored.retain(|path| {
            let why = match self.stands(path, &self.target[path]) {
                Ok(true) => return true,
                Ok(false) => "it does not stand as recorded".to_owned(),
                Err(error) => error.to_string(),
            };
            wrong.push(Remark::new(path, why));
            false
        });
        report.removed.retain(|path| {
            // There may rightly be a directory where a removed file was, or a link above it.
            let gone = matches!(self.kind(path), Ok(None | Some(FileKind::Directory)));
            if !gone {
                wrong.push(Remark::new(path, "it is still there".into()));
            }
            gone
        });
        report.failed.append(&mut wrong);
    }
}
