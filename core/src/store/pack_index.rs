//! What a pack holds and where, by its index as git writes it, version 2.
//!
//! Nothing that an index says is believed further than it can be checked here: whoever reads an
//! object at an offset looks whether it has the right id.

use git2::Oid;
use sha1::{Digest, Sha1};

const MAGIC: &[u8] = b"\xfftOc\x00\x00\x00\x02";
/// Where the ids begin: behind the magic and the counts by first byte.
const IDS: usize = 8 + 256 * 4;
const ID_BYTES: usize = 20;
/// What a pack begins with, before the number of its objects.
const PACK_MAGIC: &[u8] = b"PACK\x00\x00\x00\x02";
/// So many bytes of a pack say how many objects it holds.
pub const PACK_HEAD_BYTES: u64 = 12;
/// Says that an offset is one of the large ones, at the place that the other bits say.
pub const IS_LARGE: u32 = 1 << 31;

/// An index: ids in their order, then offsets, then those that are large.
pub struct PackIndex {
    bytes: Vec<u8>,
    count: usize,
}

impl PackIndex {
    /// The index with these bytes; none where they are no such index.
    pub fn of(bytes: Vec<u8>) -> Option<Self> {
        if !bytes.starts_with(MAGIC) {
            return None;
        }
        let count = number(&bytes, IDS - 4)? as usize;
        let index = PackIndex { bytes, count };
        (index.large_offsets()? <= index.end()?).then_some(index)
    }

    /// Whether this names every object of the pack that begins with `head`: it is as it was written, and
    /// the pack says that it holds as many.
    // rule: maintenance/damage
    pub fn names_all_of(&self, head: &[u8]) -> bool {
        let Some(end) = self.bytes.len().checked_sub(ID_BYTES) else { return false };
        let (body, checksum) = self.bytes.split_at(end);
        let held = head.starts_with(PACK_MAGIC).then(|| number(head, PACK_MAGIC.len())).flatten();
        held.is_some_and(|held| held as usize == self.count) && Sha1::digest(body)[..] == *checksum
    }

    /// The offset of an object in the pack, in bytes; none where the index does not have it.
    pub fn offset(&self, id: Oid) -> Option<u64> {
        let ids = self.ids()?;
        self.offset_of(ids.binary_search_by(|one| one[..].cmp(id.as_bytes())).ok()?)
    }

    /// The ids in the pack, each with its offset in bytes; none where one of them has none.
    pub fn entries(&self) -> Option<Vec<(Oid, u64)>> {
        let object = |(place, id): (usize, &[u8; ID_BYTES])| {
            Some((Oid::from_bytes(id).ok()?, self.offset_of(place)?))
        };
        self.ids()?.iter().enumerate().map(object).collect()
    }

    fn ids(&self) -> Option<&[[u8; ID_BYTES]]> {
        Some(self.bytes.get(IDS..self.checksums()?)?.as_chunks().0)
    }

    fn offset_of(&self, place: usize) -> Option<u64> {
        let small = number(&self.bytes, self.offsets()? + place * 4)?;
        if small & IS_LARGE == 0 {
            return Some(u64::from(small));
        }
        let at = self.large_offsets()? + (small & !IS_LARGE) as usize * 8;
        let bytes = self.bytes.get(at..at + 8).filter(|_| Some(at + 8) <= self.end())?;
        Some(u64::from_be_bytes(bytes.try_into().ok()?))
    }

    /// Where the checksums of the objects begin, of four bytes each.
    fn checksums(&self) -> Option<usize> {
        IDS.checked_add(self.count.checked_mul(ID_BYTES)?)
    }

    /// Where the offsets begin, of four bytes each.
    fn offsets(&self) -> Option<usize> {
        self.checksums()?.checked_add(self.count.checked_mul(4)?)
    }

    /// Where those of eight bytes begin.
    fn large_offsets(&self) -> Option<usize> {
        self.offsets()?.checked_add(self.count.checked_mul(4)?)
    }

    /// Where they end: before two checksums.
    fn end(&self) -> Option<usize> {
        self.bytes.len().checked_sub(2 * ID_BYTES)
    }
}

fn number(index: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_offset_is_found_in_its_own_table() {
        let mut index = MAGIC.to_vec();
        (0..256).for_each(|_| index.extend_from_slice(&1u32.to_be_bytes()));
        index.extend_from_slice(&[0; ID_BYTES + 4]);
        index.extend_from_slice(&IS_LARGE.to_be_bytes());
        index.extend_from_slice(&(1u64 << 40).to_be_bytes());
        index.extend_from_slice(&[0; 2 * ID_BYTES]);
        let entries = |index: &[u8]| PackIndex::of(index.to_vec()).unwrap().entries();
        assert_eq!(entries(&index).unwrap(), [(Oid::ZERO_SHA1, 1 << 40)]);
        let offset = IDS + ID_BYTES + 4;
        index[offset..offset + 4].copy_from_slice(&(IS_LARGE + 1).to_be_bytes());
        assert_eq!(entries(&index), None, "it has no second one");
    }
}
