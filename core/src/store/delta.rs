//! Applies git's pack deltas: an object stored as its differences from a similar base object.

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

#[cfg(test)]
mod tests {
    use super::*;

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
