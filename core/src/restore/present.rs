//! Compares the present files of a project with the checkpoint to restore (are they *as recorded*?),
//! and with the capture before the restore (are they still *as captured*?).

use super::{CHANGED_SINCE, Restore};
use crate::disk::{Kind as FileKind, Stat, is_absence, is_unreadable};
use crate::path::on_disk;
use crate::report::{Remark, Restored};
use crate::store::snapshot::Item;
use std::io;
use std::path::Path;

/// A file of up to so many bytes is read without comparing its size with the recorded size.
const READ_BYTES: u64 = 1024 * 1024;

impl Restore<'_> {
    /// The stat of a path; `None` if nothing exists there, an error if the path cannot be examined.
    pub(super) fn stat(&self, path: &[u8]) -> io::Result<Option<Stat>> {
        match self.disk.stat(&on_disk(self.root, path)) {
            Err(error) if is_absence(&error) => Ok(None),
            stat => stat.map(Some),
        }
    }

    pub(super) fn kind(&self, path: &[u8]) -> io::Result<Option<FileKind>> {
        self.stat(path).map(|stat| stat.map(|stat| stat.kind))
    }

    /// Whether the path is already as recorded, though no checkpoint holds it.
    pub(super) fn is_in_place(&self, path: &[u8], item: &Item) -> bool {
        self.is_item(path, item).unwrap_or(false)
    }

    /// Whether a checkpoint would record `path` as that item; not if only a link leads there.
    pub(super) fn is_item(&self, path: &[u8], item: &Item) -> io::Result<bool> {
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

    /// Whether the file at `full` is what was captured of `path`.
    pub(super) fn is_captured(&self, path: &[u8], full: &Path) -> io::Result<bool> {
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
    pub(super) fn is_as_captured(&self, path: &[u8], report: &mut Restored) -> bool {
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
}
