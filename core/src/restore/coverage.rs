//! Which paths a restore covers: all of them, or only some files and what is in some folders.

use super::Restore;
use crate::error::Result;
use crate::path::is_at_or_below;
use crate::unit::Unit;

impl Restore<'_> {
    /// Whether the restore covers a path.
    pub(super) fn covers(&self, path: &[u8]) -> bool {
        self.below.is_none_or(|below| below.iter().any(|above| is_at_or_below(path, above)))
    }

    /// The units that the restore covers: the files of a unit are restored together.
    // rule: unit/restored
    pub(super) fn covered_units(&self) -> impl Iterator<Item = &Unit> {
        let is_covered = |unit: &&Unit| {
            let is_member = |path: &Vec<u8>| self.units.of_path(path) == Some(*unit);
            self.covers(&unit.path()) || self.below.is_some_and(|below| below.iter().any(is_member))
        };
        self.units.all().filter(is_covered)
    }

    /// Checks that the target holds something at or below each covered path, unless a restore is undone that
    /// brought all of it.
    ///
    /// # Errors
    /// [`Error::LeftOut`](crate::Error::LeftOut), [`Error::NotInCheckpoint`](crate::Error::NotInCheckpoint).
    pub fn check_covered(&self) -> Result<()> {
        let below = self.below.filter(|_| self.made.is_none());
        for path in below.unwrap_or_default() {
            let inside = [path, &b"/"[..]].concat();
            let is_folder = self.target.range(inside.clone()..).next();
            let is_folder = is_folder.is_some_and(|(held, _)| held.starts_with(&inside));
            if !is_folder && !self.target.contains_key(path) {
                return Err(self.not_held(path));
            }
        }
        Ok(())
    }
}
