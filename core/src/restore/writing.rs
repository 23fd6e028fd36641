//! Writes and removes files of a project. Each file is first written as a draft, under a temporary
//! name; then many drafts are moved to their paths together.

use super::batch::Batch;
use super::placement::{Draft, Placement};
use super::{CHANGED_SINCE, INTERRUPTED, Restore};
use crate::path::{on_disk, parent, shown};
use crate::report::{Remark, Restored};
use crate::store::content::Content;
use crate::store::snapshot::Item;

impl Restore<'_> {
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
