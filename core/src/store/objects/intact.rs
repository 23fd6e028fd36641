//! Determines whether an object is intact: by reading it, or because its file was not touched.

use super::Objects;
use crate::disk::Kind as FileKind;
use crate::error::Result;
use crate::store::loose;
use crate::store::mark::{Mark, MarkDigest, RecordedMark};
use crate::store::object::Found;
use crate::store::oid::Oid;
use crate::store::packed::Pack;
use std::path::Path;
use std::sync::atomic::Ordering;

impl Objects<'_> {
    /// Whether the object is stored and intact, or was added.
    ///
    /// # Errors
    /// A disk that fails, so that it is unknown whether the object is intact.
    // rule: capture/stored
    pub fn is_intact(&self, id: Oid) -> Result<bool> {
        if self.added.contains(&id) {
            return Ok(true);
        }
        if !self.has(id)? {
            return Ok(false);
        }
        let check_loose = || {
            let mark = self.loose_mark(id);
            Ok(loose::check(self.disk, &self.directory, id)?.then(|_| Found::Intact(mark)))
        };
        let check_packed =
            |pack: &Pack| Ok(pack.check(self.disk, id)?.then(|_| Found::Intact(Some(pack.mark))));
        let found = self.find(id, check_loose, check_packed)?;
        let Found::Intact(mark) = found else { return Ok(false) };
        self.remember(id, mark);
        Ok(true)
    }

    /// As [`Objects::is_intact`], but without reading an object that was intact in a file or pack that
    /// was not touched since.
    // rule: capture/stored
    pub fn is_still_intact(&self, id: Oid, recorded: &RecordedMark) -> Result<bool> {
        // The stat of a pack is known, that of a loose file is not.
        let is_marked = self.unchanged_pack(recorded).is_some()
            || self.loose_mark(id).is_some_and(|mark| mark.is_unchanged_since(recorded));
        if is_marked {
            return Ok(true);
        }
        self.has_looked.store(true, Ordering::Relaxed);
        self.is_intact(id)
    }

    /// The mark of the pack in which an object was intact, if nothing touched it since this was recorded.
    pub fn unchanged_pack(&self, recorded: &RecordedMark) -> Option<Mark> {
        self.packs.unchanged(recorded)
    }

    /// The digest of the mark of the files in which the object is intact: that which was `recorded`, unless the
    /// object was verified or stored here.
    pub fn mark(&self, id: Oid, recorded: Option<MarkDigest>) -> Option<MarkDigest> {
        self.marks.lock().get(&id).map(Mark::digest).or(recorded)
    }

    pub(super) fn remember(&self, id: Oid, mark: Option<Mark>) {
        if let Some(mark) = mark {
            self.marks.lock().insert(id, mark);
        }
    }

    /// The mark of the object's loose file, if there is one.
    fn loose_mark(&self, id: Oid) -> Option<Mark> {
        let stat = self.disk.stat(&loose::path_of(&self.directory, id)).ok()?;
        (stat.kind == FileKind::File).then(|| Mark::of(b"", &[stat]))
    }

    /// Whether the object is intact anywhere but in that pack.
    ///
    /// # Errors
    /// A disk that fails, so that it is unknown whether the object is intact.
    // rule: maintenance/damage
    pub fn is_intact_outside(&self, id: Oid, pack: &Path) -> Result<bool> {
        let check_loose = || loose::check(self.disk, &self.directory, id);
        let check_packed = |candidate: &Pack| {
            if candidate.path == pack { Ok(Found::Absent) } else { candidate.check(self.disk, id) }
        };
        Ok(matches!(self.find(id, check_loose, check_packed)?, Found::Intact(_)))
    }

    /// Whether [`Objects::is_still_intact`] had to read an object.
    pub fn has_looked(&self) -> bool {
        self.has_looked.load(Ordering::Relaxed)
    }
}
