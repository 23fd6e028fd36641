//! Rebuilds an object of a damaged pack, as git does: where the object that a delta is against cannot
//! be read in the pack, an intact copy of it elsewhere serves as well.

use super::{CHAIN_MAX, Form, Pack};
use crate::disk::Disk;
use crate::error::Result;
use crate::store::delta;
use crate::store::object::{Found, Kind, TRUNCATED, classify_read, id_of, verify_id};
use crate::store::oid::Oid;

/// Finds an intact object outside the pack.
pub type FindOutside<'a> = &'a dyn Fn(Oid) -> Result<Option<(Kind, Vec<u8>)>>;

impl Pack {
    /// Returns the kind and bytes of an object that is stored as a delta, and verifies its id. The
    /// nearest object below it that is found outside is the base.
    ///
    /// # Errors
    /// As [`Pack::read`].
    // rule: maintenance/damage
    pub fn rebuild(
        &self,
        disk: &dyn Disk,
        id: Oid,
        find: FindOutside<'_>,
    ) -> Result<Found<(Kind, Vec<u8>)>> {
        let damaged = Ok(Found::Damaged(TRUNCATED));
        if !self.is_read_by_git(disk)? {
            return damaged;
        }
        let mut deltas = Vec::new();
        let mut next_id = Some(id);
        while let Some(offset) = next_id.and_then(|id| self.index.offset(id))
            && deltas.len() <= CHAIN_MAX
        {
            let Found::Intact(entry) = self.entry(disk, offset)? else { return damaged };
            next_id = match entry.form {
                Form::Full(_) => return damaged,
                Form::OffsetDelta(base_offset) => self.id_at(base_offset),
                Form::RefDelta(base_id) => Some(base_id),
            };
            let Found::Intact(delta) = classify_read(entry.read_all(), &self.path)? else {
                return damaged;
            };
            deltas.push(delta);
            let outside = next_id.map(find).transpose()?.flatten();
            if let Some((kind, base)) = outside {
                let resolve = |bytes: Vec<u8>, delta: &Vec<u8>| delta::apply(&bytes, delta);
                let Some(bytes) = deltas.iter().rev().try_fold(base, resolve) else {
                    return damaged;
                };
                let verified = verify_id(id, Some(id_of(kind, &bytes)), kind);
                return Ok(verified.then(|kind| Found::Intact((kind, bytes))));
            }
        }
        damaged
    }

    /// The id of the object at that offset.
    fn id_at(&self, offset: u64) -> Option<Oid> {
        let read = || {
            let entries = self.index.entries().unwrap_or_default();
            entries.into_iter().map(|(id, offset)| (offset, id)).collect()
        };
        self.ids_by_offset.get_or_init(read).get(&offset).copied()
    }
}
