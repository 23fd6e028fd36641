//! Git's pack deltas: an object stored as its differences from a similar base object. [`apply`] reads them,
//! [`between`] makes them.

/// The seven low bits of a byte, shifted to their position in a number.
pub fn varint_bits(byte: u8, shift: u32) -> Option<u64> {
    let bits = u64::from(byte & 0x7f);
    bits.checked_shl(shift).filter(|shifted| shifted >> shift == bits)
}

/// Reads a size from the front of a delta, seven bits at a time.
fn read_size(delta: &mut &[u8]) -> Option<u64> {
    let mut bytes = 0;
    let mut shift = 0;
    loop {
        let byte = *delta.split_off_first()?;
        bytes |= varint_bits(byte, shift)?;
        shift += 7;
        if byte & 0x80 == 0 {
            return Some(bytes);
        }
    }
}

/// The stated size, in bytes, of the object that a delta yields.
pub fn result_size(mut delta: &[u8]) -> Option<u64> {
    read_size(&mut delta)?;
    read_size(&mut delta)
}

/// Applies a delta to `base`: its instructions copy parts of `base` or insert bytes of the delta.
pub fn apply(base: &[u8], mut delta: &[u8]) -> Option<Vec<u8>> {
    if read_size(&mut delta)? != base.len() as u64 {
        return None;
    }
    let bytes = read_size(&mut delta)?;
    let mut result = Vec::new();
    while let Some(instruction) = delta.split_off_first() {
        let part = if instruction & 0x80 > 0 {
            let mut field = |bits: std::ops::Range<u32>| {
                let start = bits.start;
                bits.filter(|bit| instruction >> bit & 1 > 0).try_fold(0, |number, bit| {
                    Some(number | usize::from(*delta.split_off_first()?) << (8 * (bit - start)))
                })
            };
            let offset = field(0..4)?;
            // In git's format a length of 0 means 0x10000.
            let length = Some(field(4..7)?).filter(|length| *length > 0).unwrap_or(0x10000);
            base.get(offset..offset.checked_add(length)?)?
        } else {
            let inserted = delta.split_off(..usize::from(*instruction));
            inserted.filter(|inserted| !inserted.is_empty())?
        };
        result.extend_from_slice(part);
        if result.len() as u64 > bytes {
            return None;
        }
    }
    (result.len() as u64 == bytes).then_some(result)
}

/// The length of the parts that are looked for in the base object, in bytes.
const PART_BYTES: usize = 16;
/// The most bytes that git lets one instruction copy.
const COPY_BYTES_MAX: usize = 0x10000;
/// The most bytes that one instruction can insert.
const INSERT_BYTES_MAX: usize = 0x7f;

/// A delta that makes `target` out of `base`. Both are shorter than 4 GiB.
pub fn between(base: &[u8], target: &[u8]) -> Vec<u8> {
    let mut delta = Vec::new();
    for object in [base, target] {
        write_size(&mut delta, object.len());
    }
    let parts = PartOffsets::of(base);
    let mut at = 0;
    // The bytes from here to `at` were not found.
    let mut inserted = 0;
    while let Some(part) = target[at..].first_chunk() {
        let Some(mut found) = parts.find(base, part) else {
            at += 1;
            continue;
        };
        let is_same = |(left, right): &(&u8, &u8)| left == right;
        let before = base[..found].iter().rev().zip(target[inserted..at].iter().rev());
        let before = before.take_while(is_same).count();
        found -= before;
        at -= before;
        let length = base[found..].iter().zip(&target[at..]).take_while(is_same).count();
        insert(&mut delta, &target[inserted..at]);
        copy(&mut delta, found, length);
        at += length;
        inserted = at;
    }
    insert(&mut delta, &target[inserted..]);
    delta
}

/// Where parts of a base object begin, by their hash; 0 stands for nowhere.
struct PartOffsets {
    /// The number of bits by which a hash is shifted.
    shift: u32,
    /// Offsets, plus one.
    offsets: Vec<u32>,
}

impl PartOffsets {
    fn of(base: &[u8]) -> PartOffsets {
        let (parts, _) = base.as_chunks();
        let slots = (2 * parts.len()).next_power_of_two().max(2);
        let mut found = PartOffsets { shift: u64::BITS - slots.ilog2(), offsets: vec![0; slots] };
        for (index, part) in parts.iter().enumerate() {
            // The first of equal parts is followed by the most that may be equal, too.
            let slot = found.slot(part);
            if found.offsets[slot] == 0 {
                found.offsets[slot] = (index * PART_BYTES + 1) as u32;
            }
        }
        found
    }

    fn slot(&self, part: &[u8; PART_BYTES]) -> usize {
        let folded = u128::from_le_bytes(*part);
        let folded = (folded as u64).wrapping_mul(31) ^ (folded >> 64) as u64;
        (folded.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    /// An offset in the base object at which this part is.
    fn find(&self, base: &[u8], part: &[u8; PART_BYTES]) -> Option<usize> {
        let offset = (self.offsets[self.slot(part)] as usize).checked_sub(1)?;
        base[offset..].starts_with(part).then_some(offset)
    }
}

fn write_size(delta: &mut Vec<u8>, mut size: usize) {
    while size > 0x7f {
        delta.push(size as u8 | 0x80);
        size >>= 7;
    }
    delta.push(size as u8);
}

fn insert(delta: &mut Vec<u8>, bytes: &[u8]) {
    for part in bytes.chunks(INSERT_BYTES_MAX) {
        delta.push(part.len() as u8);
        delta.extend_from_slice(part);
    }
}

fn copy(delta: &mut Vec<u8>, mut offset: usize, mut length: usize) {
    while length > 0 {
        let copied = length.min(COPY_BYTES_MAX);
        // A length of 0x10000 is written as 0: it has no byte that is not 0 among the two lowest.
        let fields = [&(offset as u32).to_le_bytes()[..], &(copied as u16).to_le_bytes()].concat();
        let present = |(bit, byte): (u8, &u8)| if *byte > 0 { 1 << bit } else { 0 };
        delta.push(0x80 + (0..).zip(&fields).map(present).sum::<u8>());
        delta.extend(fields.into_iter().filter(|byte| *byte > 0));
        offset += copied;
        length -= copied;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn apply_yields_the_target_of_between(
            base in prop::collection::vec(0..4u8, 0..200),
            edits in prop::collection::vec((0..200usize, prop::collection::vec(0..4u8, 0..20)), 0..5),
        ) {
            let mut target = base.clone();
            for (at, inserted) in edits {
                let at = at.min(target.len());
                let end = (at + inserted.len() / 2).min(target.len());
                target.splice(at..end, inserted);
            }
            prop_assert_eq!(apply(&base, &between(&base, &target)), Some(target));
        }
    }

    #[test]
    fn between_is_small_where_little_of_a_large_object_changed_or_moved() {
        let large: Vec<u8> = (0..200_000u32)
            .flat_map(|number| number.wrapping_mul(0x9E37_79B1).to_le_bytes())
            .collect();
        let mut changed = [&large[300_000..], b"in between", &large[..300_000]].concat();
        changed[400_000] ^= 1;
        let delta = between(&large, &changed);
        assert!(delta.len() < 200, "{}", delta.len());
        assert!(apply(&large, &delta) == Some(changed));
    }

    #[test]
    fn apply_copies_and_inserts_and_refuses_a_delta_that_does_not_fit_its_sizes() {
        let base: Vec<u8> = (0..=255).cycle().take(70_000).collect();
        let head = |result_size: u64| {
            let mut sizes = Vec::new();
            for size in [base.len() as u64, result_size] {
                sizes.extend([size as u8 | 0x80, (size >> 7) as u8 | 0x80, (size >> 14) as u8]);
            }
            sizes
        };
        let with = |result_size: u64, instructions: &[u8]| {
            apply(&base, &[&head(result_size)[..], instructions].concat())
        };
        assert_eq!(with(3, b"\x03abc").unwrap(), b"abc");
        // Copies two bytes at offset 258, then inserts one.
        assert_eq!(with(3, b"\x93\x02\x01\x02\x01x").unwrap(), b"\x02\x03x");
        assert_eq!(with(0x10000, b"\x80").unwrap(), base[..0x10000]);
        for (result_size, instructions) in [
            (2, &b"\x03abc"[..]),
            (4, b"\x03abc"),
            (3, b"\x03ab"),
            (0, b"\x00"),
            (2, b"\x9f\xff\xff\xff\xff\x02"),
            (2, b"\x93\x02"),
        ] {
            assert_eq!(with(result_size, instructions), None, "{result_size} {instructions:?}");
        }
        assert_eq!(apply(b"", &head(3)), None);
        assert_eq!(read_size(&mut &[0xff; 12][..]), None);
        assert_eq!(read_size(&mut &b"\x80"[..]), None);
    }
}
