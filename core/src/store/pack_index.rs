//! What a pack holds and where, by its index as git writes it, version 2.

use git2::Oid;

const MAGIC: &[u8] = b"\xfftOc\x00\x00\x00\x02";
/// Where the ids begin: behind the magic and the counts by first byte.
const IDS: usize = 8 + 256 * 4;
const ID_BYTES: usize = 20;
/// Says that an offset is one of the large ones, at the place that the other bits say.
pub const IS_LARGE: u32 = 1 << 31;

/// The ids in the pack, each with its offset in bytes; none where that is no such index.
pub fn parse(index: &[u8]) -> Option<Vec<(Oid, u64)>> {
    if !index.starts_with(MAGIC) {
        return None;
    }
    let count = number(index, IDS - 4)? as usize;
    // Each id comes with a checksum of four bytes before the offsets, which take four each too.
    let offsets = IDS.checked_add(count.checked_mul(ID_BYTES + 4)?)?;
    let large = offsets.checked_add(count.checked_mul(4)?)?;
    // Two checksums end the file.
    let end = index.len().checked_sub(2 * ID_BYTES).filter(|end| *end >= large)?;
    let object = |place: usize| {
        let at = IDS + place * ID_BYTES;
        let id = Oid::from_bytes(index.get(at..at + ID_BYTES)?).ok()?;
        let small = number(index, offsets + place * 4)?;
        if small & IS_LARGE == 0 {
            return Some((id, u64::from(small)));
        }
        let at = large + (small & !IS_LARGE) as usize * 8;
        let bytes = index.get(at..at + 8).filter(|_| at + 8 <= end)?;
        Some((id, u64::from_be_bytes(bytes.try_into().ok()?)))
    };
    (0..count).map(object).collect()
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
        assert_eq!(parse(&index).unwrap(), [(Oid::ZERO_SHA1, 1 << 40)]);
        let offset = IDS + ID_BYTES + 4;
        index[offset..offset + 4].copy_from_slice(&(IS_LARGE + 1).to_be_bytes());
        assert_eq!(parse(&index), None, "it has no second one");
    }
}
