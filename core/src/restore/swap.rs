//! Replaces the files of a unit together, so that no process ever opens a mix of old and new files,
//! neither during the replacement nor after a crash.
//!
//! First an empty folder replaces the anchor, the file without which the unit cannot be opened. While a
//! folder is there, no process opens the unit or creates a new one. Then all files to be removed are
//! moved aside and examined again, and the recorded files are moved in, the anchor last. Until then
//! every step can be undone.

use super::Restore;
use super::placement::{Draft, Placement};
use super::together::{Swap, UnitFiles};
use crate::disk::{Kind, LockGuard, is_absence};
use crate::error::{Context, Error, Result};
use crate::path::{join, on_disk, shown};
use crate::report::{Remark, Restored};
use crate::store::content::Content;
use crate::unit::{Role, Unit, whose};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A step that was done, and what undoes it.
enum SwapStep {
    /// A folder replaced the anchor, which was moved to that path if it existed.
    Barrier(Option<PathBuf>),
    /// A file was moved aside.
    Aside { path: PathBuf, away: PathBuf },
    /// A draft was moved to its destination.
    Placed { path: PathBuf, temporary: PathBuf },
}

/// The drafts to be moved in, each with its path.
type Drafts<'p> = Vec<(&'p Vec<u8>, Draft)>;

/// A change of a unit in progress.
struct Change<'a> {
    restore: &'a Restore<'a>,
    placement: Placement<'a>,
    /// The path of the anchor.
    anchor: &'a [u8],
    done: Vec<SwapStep>,
}

impl Restore<'_> {
    /// Changes a unit as planned, and adds the result to the report. The files are checked here, while
    /// no other process can have opened them.
    // rule: unit/restored
    pub(super) fn swap(&self, unit: &Unit, swap: Swap, report: &mut Restored) {
        for obstacle in &swap.obstacles {
            if !self.remove(obstacle, report) {
                let end = whose(obstacle, "is in the way");
                let why = |path: &Vec<u8>| Remark::new(path, unit.part(&end));
                return report.failed.extend(swap.write.iter().map(why));
            }
        }
        let drafts = match self.drafts(&swap.write) {
            Ok(drafts) => drafts,
            Err((failed_path, why)) => {
                let end = whose(&failed_path, &format!("cannot be written: {why}"));
                let remark = |path: &Vec<u8>| Remark::new(path, unit.part(&end));
                return report.failed.extend(swap.write.iter().map(remark));
            }
        };
        // Processes that wait to open the unit continue after the check.
        let locks = (swap.lock, self.lock_draft(unit, &drafts));
        let anchor = unit.anchor();
        let placement = self.placement();
        let mut change = Change { restore: self, placement, anchor: &anchor, done: Vec::new() };
        let swapped = change.run(unit, &drafts, &swap.remove, &swap.derived);
        if !matches!(swapped, Ok(true)) {
            change.journal();
            drafts.iter().for_each(|(_, draft)| self.placement().discard(draft));
        }
        let paths = swap.write.iter().chain(&swap.remove);
        match swapped {
            Ok(true) => {
                let removed = swap.remove.iter().chain(&swap.derived);
                self.check_unit(&swap.write, removed, report);
                if swap.write.is_empty() {
                    self.remove_empty_folders(&unit.folder);
                }
            }
            Ok(false) => report.kept.extend(paths.map(|path| Self::changed(unit, path))),
            Err(error) => {
                let why = error.cause();
                report.failed.extend(paths.map(|path| Remark::new(path, why.clone())));
            }
        }
        drop(locks);
    }

    /// Writes a durable draft of each path; or returns which one could not be written, and why.
    fn drafts<'p>(
        &self,
        write: &'p [Vec<u8>],
    ) -> std::result::Result<Drafts<'p>, (Vec<u8>, String)> {
        let mut drafts: Drafts<'p> = Vec::new();
        let placement = self.placement();
        let mut failure = None;
        for (number, path) in write.iter().enumerate() {
            let item = &self.target[path];
            let written = Content::of(self.objects, item.blob)
                .and_then(|content| placement.draft(path, item.mode, &content, number));
            match written {
                Ok(draft) => drafts.push((path, draft)),
                Err(error) => {
                    failure = Some((path.clone(), error.cause()));
                    break;
                }
            }
        }
        if failure.is_none() {
            let unsynced: Vec<&Draft> = drafts.iter().map(|(_, draft)| draft).collect();
            let first = write.first().cloned().unwrap_or_default();
            failure = placement.sync(&unsynced).err().map(|error| (first, error.cause()));
        }
        match failure {
            None => Ok(drafts),
            Some(failure) => {
                drafts.iter().for_each(|(_, draft)| placement.discard(draft));
                Err(failure)
            }
        }
    }

    /// Locks the draft of the file that processes lock, if it is among the drafts.
    fn lock_draft(&self, unit: &Unit, drafts: &[(&Vec<u8>, Draft)]) -> Option<Box<dyn LockGuard>> {
        let bytes = unit.locked();
        let path = join(&unit.folder, &bytes.name);
        let (_, draft) = drafts.iter().find(|(draft_path, _)| **draft_path == path)?;
        self.disk.try_lock_bytes(&draft.temporary, bytes.start, bytes.length).ok().flatten()
    }

    fn check_unit<'p>(
        &self,
        write: &[Vec<u8>],
        removed: impl Iterator<Item = &'p Vec<u8>>,
        report: &mut Restored,
    ) {
        for path in write {
            match self.is_item(path, &self.target[path]) {
                Ok(true) => report.restored.push(path.clone()),
                Ok(false) => {
                    let why = "it differs from the checkpoint".to_owned();
                    report.failed.push(Remark::new(path, why));
                }
                Err(error) => report.failed.push(Remark::new(path, error.to_string())),
            }
        }
        for path in removed {
            match self.kind(path) {
                Ok(None) => report.removed.push(path.clone()),
                Ok(Some(_)) => {
                    report.failed.push(Remark::new(path, "it still exists".into()));
                }
                Err(error) => report.failed.push(Remark::new(path, error.to_string())),
            }
        }
    }
}

impl Change<'_> {
    /// Does all steps; returns false if something changed meanwhile. Unless it returns true, what was
    /// done by then is to be undone.
    // rule: unit/rows
    // rule: unit/undo
    fn run(
        &mut self,
        unit: &Unit,
        drafts: &[(&Vec<u8>, Draft)],
        remove: &[Vec<u8>],
        derived: &[Vec<u8>],
    ) -> Result<bool> {
        let replaced = drafts.iter().filter(|(_, draft)| !draft.was_free).map(|(path, _)| *path);
        let leaving: Vec<&Vec<u8>> =
            replaced.chain(remove).filter(|path| path[..] != *self.anchor).collect();
        if !self.close()? {
            return Ok(false);
        }
        for path in leaving {
            if !self.move_aside(path, unit.role_of(path) != Some(Role::Derived))? {
                return Ok(false);
            }
        }
        for path in derived {
            self.move_aside(path, false)?;
        }
        if !self.is_rest_as_captured(unit)? {
            return Ok(false);
        }
        let (anchor, members): (Vec<_>, Vec<_>) =
            drafts.iter().partition(|(path, _)| path[..] == *self.anchor);
        for (_, draft) in members {
            if !self.place(draft)? {
                return Ok(false);
            }
        }
        let is_removed = remove.iter().any(|path| path[..] == *self.anchor);
        self.open(anchor.first().map(|(_, draft)| draft), is_removed)?;
        // The unit is as recorded now; a checkpoint holds the files that were moved aside.
        for step in std::mem::take(&mut self.done) {
            if let SwapStep::Aside { away, .. } = step {
                self.placement.remove_staged(&away);
            }
        }
        Ok(true)
    }

    fn anchor_path(&self) -> PathBuf {
        on_disk(self.restore.root, self.anchor)
    }

    fn is_captured(&self, path: &[u8], full: &Path) -> Result<bool> {
        self.restore.is_captured(path, full).context("looking at", full)
    }

    /// Replaces the anchor by an empty folder; returns false if the anchor is not what was captured.
    fn close(&mut self) -> Result<bool> {
        let disk = self.placement.disk;
        let anchor = self.anchor_path();
        let folder = anchor.parent().unwrap_or(self.restore.root).to_owned();
        let existing = match disk.stat(&anchor) {
            Err(error) if is_absence(&error) => None,
            stat => Some(stat.context("looking at", &anchor)?),
        };
        let was_captured = self.restore.current.contains_key(self.anchor);
        match existing {
            None if was_captured => return Ok(false),
            // This fails if something exists there by now.
            None => disk.make_directory(&anchor, 0o700).context("making", &anchor)?,
            Some(stat) if stat.kind == Kind::Directory => {}
            Some(_) if !was_captured => return Ok(false),
            Some(_) => {
                let make = |path: &Path| disk.make_directory(path, 0o700);
                let barrier = self.placement.make_staged(&folder, &self.prefix(), make)?;
                let moved = match disk.exchange(&barrier, &anchor) {
                    Err(error) if error.kind() == ErrorKind::Unsupported => {
                        self.exchange_in_steps(&barrier, &anchor)
                    }
                    moved => moved,
                };
                if let Err(error) = moved {
                    let _ = disk.remove_directory(&barrier);
                    return Err(error).context("replacing", &anchor);
                }
                self.done.push(SwapStep::Barrier(Some(barrier.clone())));
                return self.is_captured(self.anchor, &barrier);
            }
        }
        self.done.push(SwapStep::Barrier(None));
        Ok(true)
    }

    /// The prefix of the names of files that are moved aside.
    fn prefix(&self) -> String {
        self.placement.temporary.to_owned()
    }

    /// Exchanges two names where the file system cannot.
    fn exchange_in_steps(&self, left: &Path, right: &Path) -> io::Result<()> {
        let disk = self.placement.disk;
        let between = left.with_extension("between");
        disk.rename(left, &between)?;
        let moved = disk.rename(right, left).and_then(|()| {
            let moved = disk.rename(&between, right);
            moved.inspect_err(|_| drop(disk.rename(left, right)))
        });
        moved.inspect_err(|_| drop(disk.rename(&between, left)))
    }

    /// Moves a file aside; returns false if it is gone, or if a checkpoint must hold it (`is_held`) and
    /// it is not what was captured.
    fn move_aside(&mut self, path: &[u8], is_held: bool) -> Result<bool> {
        let full = on_disk(self.restore.root, path);
        let folder = full.parent().unwrap_or(self.restore.root);
        let rename = |away: &Path| self.rename_new(&full, away);
        // A derived file is stored nowhere, and may be lost nevertheless: it is named as a draft is.
        let prefix = if is_held { self.prefix() } else { format!("{}-0", self.prefix()) };
        let away = match self.placement.make_staged(folder, &prefix, rename) {
            Err(Error::Io { source, .. }) if is_absence(&source) => return Ok(false),
            away => away?,
        };
        self.done.push(SwapStep::Aside { path: full, away: away.clone() });
        Ok(!is_held || self.is_captured(path, &away)?)
    }

    /// Renames to a free name, also where the file system cannot check that it is free.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let disk = self.placement.disk;
        match disk.rename_new(from, to) {
            Err(error) if error.kind() == ErrorKind::Unsupported => match disk.stat(to) {
                Err(error) if is_absence(&error) => disk.rename(from, to),
                stat => stat.and(Err(ErrorKind::AlreadyExists.into())),
            },
            renamed => renamed,
        }
    }

    /// Whether all remaining files of the unit are recorded and as captured.
    fn is_rest_as_captured(&self, unit: &Unit) -> Result<bool> {
        let UnitFiles { recorded, present, .. } = self.restore.unit_files(unit)?;
        for path in present {
            let full = on_disk(self.restore.root, &path);
            let is_derived = unit.role_of(&path) == Some(Role::Derived);
            let is_as_captured = is_derived || self.is_captured(&path, &full)?;
            if !recorded.contains(&path) || !is_as_captured {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn place(&mut self, draft: &Draft) -> Result<bool> {
        let Draft { destination, temporary, .. } = draft;
        match self.rename_new(temporary, destination) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
            placed => placed.context("replacing", destination)?,
        }
        self.done
            .push(SwapStep::Placed { path: destination.clone(), temporary: temporary.clone() });
        Ok(true)
    }

    /// Moves the anchor to its path: the new one, or the old one, unless it is removed.
    fn open(&mut self, draft: Option<&Draft>, is_removed: bool) -> Result<()> {
        let disk = self.placement.disk;
        let anchor = self.anchor_path();
        let old = self.done.iter().find_map(|step| match step {
            SwapStep::Barrier(old) => old.clone(),
            _ => None,
        });
        let new = match draft {
            Some(draft) => Some(&draft.temporary),
            None => old.as_ref().filter(|_| !is_removed),
        };
        let Some(new) = new else {
            disk.remove_directory(&anchor).context("removing the directory", &anchor)?;
            if let Some(old) = &old {
                self.placement.remove_staged(old);
            }
            return Ok(());
        };
        match disk.exchange(new, &anchor) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                self.replace_barrier(new, &anchor).context("replacing", &anchor)?;
            }
            exchanged => {
                exchanged.context("replacing", &anchor)?;
                // An empty folder is not content of a project; the next restore removes it.
                let _ = disk.remove_directory(new);
            }
        }
        if let Some(old) = old.as_ref().filter(|old| *old != new) {
            self.placement.remove_staged(old);
        }
        Ok(())
    }

    /// Replaces the empty folder, if it still exists, by a file on a file system that cannot exchange them.
    fn replace_barrier(&self, file: &Path, anchor: &Path) -> io::Result<()> {
        match self.placement.disk.remove_directory(anchor) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => self.rename_new(file, anchor),
        }
    }

    /// Undoes what was done, the anchor last.
    fn journal(&mut self) {
        let disk = self.placement.disk;
        let anchor = self.anchor_path();
        for step in std::mem::take(&mut self.done).into_iter().rev() {
            let undone = match step {
                SwapStep::Placed { path, temporary } => self.rename_new(&path, &temporary),
                // If another file was saved at the path since, both are left.
                SwapStep::Aside { path, away } => self.rename_new(&away, &path),
                SwapStep::Barrier(None) => disk.remove_directory(&anchor),
                SwapStep::Barrier(Some(old)) => match disk.exchange(&old, &anchor) {
                    Err(error) if error.kind() == ErrorKind::Unsupported => {
                        self.replace_barrier(&old, &anchor)
                    }
                    exchanged => exchanged.and_then(|()| disk.remove_directory(&old)),
                },
            };
            if let Err(error) = undone {
                tracing::debug!("{} was not put back: {error}", shown(self.anchor));
            }
        }
    }
}
