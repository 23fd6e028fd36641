//! Writes and removes files of a project. Each file is first written as a draft, under a temporary
//! name; then many drafts are moved to their paths together.
//!
//! On a disk that serves several threads, they share the paths that nothing is in the way of. Every other
//! path, and each that meets an error, is left to one thread, one path after the other.

use super::batch::Batch;
use super::placement::{Draft, Placement};
use super::plan::PlanStep;
use super::{CHANGED_SINCE, INTERRUPTED, Restore};
use crate::disk::parallel;
use crate::path::{on_disk, parent, shown};
use crate::report::{Remark, Restored};
use crate::store::content::Content;
use crate::store::snapshot::Item;

/// A path to write, and what was recorded of it.
pub(super) type Recorded<'a> = (&'a Vec<u8>, &'a Item);

impl Restore<'_> {
    /// Writes paths with all threads, and returns those that are left to one.
    pub(super) fn write_in_parallel(&self, report: &mut Restored) -> Vec<Recorded<'_>> {
        let paths = self.to_write().filter(|(path, _)| self.units.of_path(path).is_none());
        let paths: Vec<Recorded<'_>> = paths.collect();
        self.progress.begin_writing(paths.len());
        if !parallel::is_shared(self.disk, paths.len()) {
            return paths;
        }
        let mut left = Vec::new();
        let mut batch = Batch::default();
        for group in parallel::groups(self.disk, &paths) {
            let first = batch.drafts.len() + left.len();
            let numbered: Vec<(usize, &Recorded<'_>)> = (first..).zip(group).collect();
            let drafts = parallel::map(self.disk, &numbered, |(number, (path, item))| {
                self.unobstructed_draft(path, item, *number)
            });
            for (recorded, draft) in group.iter().zip(drafts) {
                match draft {
                    Some(draft) => batch.add(recorded.0, draft),
                    None => left.push(*recorded),
                }
            }
            if batch.is_full() {
                self.settle(std::mem::take(&mut batch), report);
            }
        }
        self.settle(batch, report);
        left
    }

    /// A draft of a path; `None` if something is in its way, or it cannot be written now.
    fn unobstructed_draft(&self, path: &[u8], item: &Item, number: usize) -> Option<Draft> {
        match self.step(path, item) {
            Ok(PlanStep::Write(obstacles)) if obstacles.is_empty() && !self.is_interrupted() => {}
            _ => return None,
        }
        let content = Content::of(self.objects, item.blob).ok()?;
        let is_free = !self.current.contains_key(path);
        if !is_free && !self.is_captured(path, &on_disk(self.root, path)).ok()? {
            return None;
        }
        // rule: restore/bytes
        self.placement().draft(path, item.mode, &content, number).ok()
    }

    /// Writes a draft of a path, and removes the obstacles of the path.
    pub(super) fn draft(
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
                let why = format!("{} is in the way", shown(&obstacle));
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
    pub(super) fn settle(&self, batch: Batch, report: &mut Restored) {
        let placement = self.placement();
        let drafts: Vec<&Draft> = batch.drafts.iter().map(|(_, draft)| draft).collect();
        let failure = placement.sync(&drafts).err().map(|error| error.cause());
        let settled = parallel::map(self.disk, &batch.drafts, |(path, draft)| {
            let interrupted = self.is_interrupted().then(|| INTERRUPTED.to_owned());
            if let Some(why) = failure.clone().or(interrupted) {
                placement.discard(draft);
                return Err(why);
            }
            let settled = placement.settle(draft, &|full| self.is_captured(path, full));
            settled.map_err(|error| error.cause())
        });
        self.progress.advance(batch.drafts.len());
        for ((path, _), settled) in batch.drafts.into_iter().zip(settled) {
            match settled {
                Ok(true) => report.restored.push(path),
                Ok(false) => report.kept.push(Remark::new(&path, CHANGED_SINCE.into())),
                Err(why) => report.failed.push(Remark::new(&path, why)),
            }
        }
    }

    pub(super) fn placement(&self) -> Placement<'_> {
        let Restore { disk, root, permissions, temporary, target, staged, .. } = self;
        Placement { disk: *disk, root, permissions, temporary, target, staged }
    }

    /// Removes a path and the directories that it leaves empty, but not the project; returns
    /// whether it is gone.
    pub(super) fn remove(&self, path: &[u8], report: &mut Restored) -> bool {
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
    pub(super) fn remove_empty_folders(&self, mut folder: &[u8]) {
        while !folder.is_empty() && self.disk.remove_directory(&on_disk(self.root, folder)).is_ok()
        {
            folder = parent(folder);
        }
    }
}
