//! The restore of a single path, which touches no other path. If anything is in the way, the restore is
//! refused.

use super::Restore;
use super::batch::Batch;
use crate::disk::Kind as FileKind;
use crate::error::{Context, Error, Result};
use crate::path::{on_disk, shown};
use crate::report::Restored;
use crate::store::snapshot::Item;
use crate::unit::Unit;

impl Restore<'_> {
    /// Restores one path and touches no other.
    ///
    /// # Errors
    /// As [`Restore::check_path`].
    pub fn restore_path(&self, path: &[u8]) -> Result<Restored> {
        if let Some(unit) = self.unit_to_restore(path)? {
            let mut report = Restored::default();
            self.restore_unit(unit, self.made.is_some(), &mut report);
            self.report_leftovers(&mut report);
            report.sort();
            return Ok(report);
        }
        let mut report = Restored::default();
        if self.is_undone_wholly(path) {
            if self.is_removed_by_undo(path) {
                self.remove(path, &mut report);
                self.verify(&mut report);
            }
            return Ok(report);
        }
        let item = self.check_path(path)?;
        if self.current.get(path) != Some(&item) {
            let mut batch = Batch::default();
            self.draft(path, &item, Vec::new(), &mut batch, &mut report);
            self.settle(batch, &mut report);
            self.verify(&mut report);
            self.report_leftovers(&mut report);
        }
        Ok(report)
    }

    /// Checks that one path can be restored without touching any other, and returns its recorded item.
    ///
    /// # Errors
    /// [`Error::BadPath`], [`Error::NotInCheckpoint`], [`Error::LeftOut`], [`Error::WouldOverwrite`].
    // rule: restore/file-only
    // rule: restore/protects
    pub fn check_path(&self, path: &[u8]) -> Result<Item> {
        self.check_above(path)?;
        let item = self.target.get(path).ok_or_else(|| self.not_held(path))?;
        let overwrites = |content| Err(Error::WouldOverwrite { path: shown(path), what: content });
        if self.is_in_own_folder(path) {
            return overwrites("the checkpoint store or the agent's own folder");
        }
        match self.kind(path).context("looking at", &on_disk(self.root, path))? {
            None => Ok(*item),
            Some(FileKind::Directory) if self.content(path).is_ok_and(|files| files.is_empty()) => {
                Ok(*item)
            }
            Some(FileKind::Directory) => overwrites("a directory with files in it"),
            Some(_) if self.current.contains_key(path) => Ok(*item),
            Some(_) => overwrites("content that is in no checkpoint"),
        }
    }

    /// Why the target does not hold a path.
    // rule: restore/left-out
    pub(super) fn not_held(&self, path: &[u8]) -> Error {
        let left_out = self.why_left_out(path).map(ToString::to_string);
        match left_out.or_else(|| Some(self.exclusion(path)?.to_string())) {
            Some(why) => Error::LeftOut { path: shown(path), why },
            None => Error::NotInCheckpoint(shown(path)),
        }
    }

    /// The unit that is restored together with one path, if the path belongs to one.
    ///
    /// # Errors
    /// Something that is in the way above the path.
    // rule: unit/restored
    pub(super) fn unit_to_restore(&self, path: &[u8]) -> Result<Option<&Unit>> {
        let is_meant = self.target.contains_key(path) || self.is_undone_wholly(path);
        match self.units.of_path(path).filter(|_| is_meant) {
            Some(unit) => self.check_above(path).map(|()| Some(unit)),
            None => Ok(None),
        }
    }

    /// Whether a restore is undone that brought a path which had not been there.
    pub(super) fn is_undone_wholly(&self, path: &[u8]) -> bool {
        self.made.is_some() && !self.target.contains_key(path)
    }

    /// Whether undoing such a restore removes the path: it is there, and as that restore made it.
    pub(super) fn is_removed_by_undo(&self, path: &[u8]) -> bool {
        self.current.contains_key(path) && self.may_undo(path) && self.may_remove
    }

    fn check_above(&self, path: &[u8]) -> Result<()> {
        let above = self.not_a_directory_above(path);
        if let Some(above) = above.context("looking above", &on_disk(self.root, path))? {
            if matches!(self.kind(above), Ok(Some(FileKind::Link))) {
                // rule: restore/bad-path
                let why = "leads through a symbolic link";
                return Err(Error::BadPath { path: shown(path), why });
            }
            let obstacle = "a file where its directory was";
            return Err(Error::WouldOverwrite { path: shown(path), what: obstacle });
        }
        Ok(())
    }
}
