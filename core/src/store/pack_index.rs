//! Reads the index of a pack, which maps ids to offsets, in git's format, version 2.
//!
//! An index is trusted only as far as it can be checked here: the id of an object is verified when the
//! object is read at its offset.

use crate::store::oid::Oid;
use sha1::{Digest, Sha1};

const MAGIC: &[u8] = b"\xfftOc\x00\x00\x00\x02";
/// The position of the ids: after the magic and the counts by first byte.
const IDS: usize = 8 + 256 * 4;
const ID_BYTES: usize = 20;
/// The start of a pack, before the number of its objects.
const PACK_MAGIC: &[u8] = b"PACK\x00\x00\x00\x02";
/// The length of the head of a pack, which includes the number of its objects.
pub const PACK_HEAD_BYTES: u64 = 12;
/// Marks an entry whose other bits are the position of its offset in the table of large offsets.
pub const IS_LARGE: u32 = 1 << 31;

/// An index: the ids, sorted, then their offsets, then the table of large offsets.
pub struct PackIndex {
    bytes: Vec<u8>,
    count: usize,
    is_strict: bool,
}

impl PackIndex {
    /// The index with these bytes; `None` if they are not an index of version 2.
    pub fn of(bytes: Vec<u8>) -> Option<Self> {
        if !bytes.starts_with(MAGIC) {
            return None;
        }
        let count = number(&bytes, IDS - 4)? as usize;
        let mut index = PackIndex { bytes, count, is_strict: false };
        if index.large_offsets()? > index.end()? {
            return None;
        }
        index.is_strict = index.has_right_counts() == Some(true);
        Some(index)
    }

    /// Whether git reads the index with a pack that begins with `head` and ends with `checksum`. The core reads
    /// more: it needs neither the counts by first byte nor the checksum of the pack.
    pub fn is_read_by_git(&self, head: &[u8], checksum: &[u8]) -> bool {
        let stored = self.end().and_then(|end| self.bytes.get(end..end + ID_BYTES));
        self.is_strict && count_of(head) == Some(self.count) && stored == Some(checksum)
    }

    /// Whether each count by first byte is the number of ids up to that byte, and the table of large offsets is
    /// no longer than the offsets allow.
    fn has_right_counts(&self) -> Option<bool> {
        let ids = self.ids()?;
        let mut start = 0;
        for byte in 0..=u8::MAX {
            let end = number(&self.bytes, MAGIC.len() + usize::from(byte) * 4)? as usize;
            let Some(with_byte) = ids.get(start..end) else { return Some(false) };
            let ends = [with_byte.first(), with_byte.last()];
            if ends.into_iter().flatten().any(|id| id[0] != byte) {
                return Some(false);
            }
            start = end;
        }
        let large = self.end()?.checked_sub(self.large_offsets()?)?;
        Some(large <= self.count.saturating_sub(1) * 8)
    }

    /// Whether the index lists every object of the pack that begins with `head`: the checksum of the
    /// index is right, and the pack states the same number of objects.
    // rule: maintenance/damage
    pub fn names_all_of(&self, head: &[u8]) -> bool {
        let Some(end) = self.bytes.len().checked_sub(ID_BYTES) else { return false };
        let (body, checksum) = self.bytes.split_at(end);
        count_of(head) == Some(self.count) && Sha1::digest(body)[..] == *checksum
    }

    /// The offset of an object in the pack, in bytes; `None` if the object is not in the index.
    pub fn offset(&self, id: Oid) -> Option<u64> {
        let ids = self.ids()?;
        self.offset_of(ids.binary_search_by(|entry| entry[..].cmp(id.as_bytes())).ok()?)
    }

    /// The ids in the pack, each with its offset in bytes; `None` if any offset cannot be read.
    pub fn entries(&self) -> Option<Vec<(Oid, u64)>> {
        let entry =
            |(position, id): (usize, &[u8; ID_BYTES])| Some((Oid(*id), self.offset_of(position)?));
        self.ids()?.iter().enumerate().map(entry).collect()
    }

    fn ids(&self) -> Option<&[[u8; ID_BYTES]]> {
        Some(self.bytes.get(IDS..self.checksums()?)?.as_chunks().0)
    }

    fn offset_of(&self, position: usize) -> Option<u64> {
        let small = number(&self.bytes, self.offsets()? + position * 4)?;
        if small & IS_LARGE == 0 {
            return Some(u64::from(small));
        }
        let start = self.large_offsets()? + (small & !IS_LARGE) as usize * 8;
        let bytes = self.bytes.get(start..start + 8).filter(|_| Some(start + 8) <= self.end())?;
        Some(u64::from_be_bytes(bytes.try_into().ok()?))
    }

    /// The position of the checksums of the objects, of four bytes each.
    fn checksums(&self) -> Option<usize> {
        IDS.checked_add(self.count.checked_mul(ID_BYTES)?)
    }

    /// The position of the offsets, of four bytes each.
    fn offsets(&self) -> Option<usize> {
        self.checksums()?.checked_add(self.count.checked_mul(4)?)
    }

    /// The position of the large offsets, of eight bytes each.
    fn large_offsets(&self) -> Option<usize> {
        self.offsets()?.checked_add(self.count.checked_mul(4)?)
    }

    /// The end of the large offsets: before two checksums.
    fn end(&self) -> Option<usize> {
        self.bytes.len().checked_sub(2 * ID_BYTES)
    }
}

/// The number of objects that the start of a pack states.
fn count_of(head: &[u8]) -> Option<usize> {
    let is_pack = head.starts_with(PACK_MAGIC);
    is_pack.then(|| number(head, PACK_MAGIC.len())).flatten().map(|count| count as usize)
}

fn number(index: &[u8], position: usize) -> Option<u32> {
    Some(u32::from_be_bytes(index.get(position..position + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_reads_a_large_offset_from_its_own_table() {
        let mut index = MAGIC.to_vec();
        (0..256).for_each(|_| index.extend_from_slice(&1u32.to_be_bytes()));
        index.extend_from_slice(&[0; ID_BYTES + 4]);
        index.extend_from_slice(&IS_LARGE.to_be_bytes());
        index.extend_from_slice(&(1u64 << 40).to_be_bytes());
        index.extend_from_slice(&[0; 2 * ID_BYTES]);
        let entries = |index: &[u8]| PackIndex::of(index.to_vec()).unwrap().entries();
        assert_eq!(entries(&index).unwrap(), [(Oid::ZERO, 1 << 40)]);
        let offset = IDS + ID_BYTES + 4;
        index[offset..offset + 4].copy_from_slice(&(IS_LARGE + 1).to_be_bytes());
        assert_eq!(entries(&index), None, "it has no second one");
    }
}
