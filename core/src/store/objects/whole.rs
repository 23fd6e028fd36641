//! Whether an object is whole: by reading it, or since nothing touched the file in which it was.

use super::Objects;
use crate::disk::Kind as FileKind;
use crate::error::Result;
use crate::store::loose;
use crate::store::mark::{Mark, Seen};
use crate::store::object::Found;
use crate::store::packed::Pack;
use git2::Oid;
use std::path::Path;

impl Objects<'_> {
    /// Whether the object is stored as its id says, or added already.
    ///
    /// # Errors
    /// A disk that fails, so that nobody can say.
    // rule: capture/stored
    pub fn is_whole(&self, id: Oid) -> Result<bool> {
        if self.added.contains(&id) {
            return Ok(true);
        }
        if !self.has(id)? {
            return Ok(false);
        }
        let own = || {
            let mark = self.own_mark(id);
            Ok(loose::check(self.disk, &self.directory, id)?.then(|_| Found::Whole(mark)))
        };
        let packed =
            |pack: &Pack| Ok(pack.check(self.disk, id)?.then(|_| Found::Whole(Some(pack.mark))));
        let Found::Whole(mark) = self.find(id, own, packed)? else { return Ok(false) };
        self.remember(id, mark);
        Ok(true)
    }

    /// The same of an object that was seen whole: where nothing touched the file or pack in which that
    /// was, it still is.
    // rule: capture/stored
    pub fn is_still_whole(&self, id: Oid, seen: &Seen) -> Result<bool> {
        let is_still = |mark: &Mark| mark.is_still(seen);
        let own = self.own_mark(id).filter(is_still);
        let mark = own.or_else(|| self.packs.mark(id, is_still));
        if mark.is_none() {
            self.looked.set(true);
            return self.is_whole(id);
        }
        self.remember(id, mark);
        Ok(true)
    }

    /// Where the object was whole, if it was looked at or stored.
    pub fn mark(&self, id: Oid) -> Option<Mark> {
        self.marks.borrow().get(&id).copied()
    }

    pub(super) fn remember(&self, id: Oid, mark: Option<Mark>) {
        if let Some(mark) = mark {
            self.marks.borrow_mut().insert(id, mark);
        }
    }

    /// The mark of the object's own file, if there is one.
    fn own_mark(&self, id: Oid) -> Option<Mark> {
        let stat = self.disk.stat(&loose::path_of(&self.directory, id)).ok()?;
        (stat.kind == FileKind::File).then(|| Mark::of(b"", &[stat]))
    }

    /// Whether the object is whole in another place than that pack.
    ///
    /// # Errors
    /// A disk that fails, so that nobody can say.
    // rule: maintenance/damage
    pub fn is_whole_beside(&self, id: Oid, pack: &Path) -> Result<bool> {
        let own = || loose::check(self.disk, &self.directory, id);
        let other = |one: &Pack| {
            if one.path == pack { Ok(Found::Absent) } else { one.check(self.disk, id) }
        };
        Ok(matches!(self.find(id, own, other)?, Found::Whole(_)))
    }

    /// Whether an object had to be read to tell that it is still whole.
    pub fn has_looked(&self) -> bool {
        self.looked.get()
    }
}
