//! What becomes of one object by a change, which is how git stores another one that is much like it.

/// Seven bits of a number, at their place in it.
pub fn shifted(byte: u8, shift: u32) -> Option<u64> {
    let bits = u64::from(byte & 0x7f);
    bits.checked_shl(shift).filter(|shifted| shifted >> shift == bits)
}

/// A size before a change, seven bits at a time.
fn size(change: &mut &[u8]) -> Option<u64> {
    let (mut bytes, mut shift) = (0, 0);
    loop {
        let byte = *change.split_off_first()?;
        bytes |= shifted(byte, shift)?;
        shift += 7;
        if byte & 0x80 == 0 {
            return Some(bytes);
        }
    }
}

/// How many bytes an object says that it has after a change.
pub fn size_after(mut change: &[u8]) -> Option<u64> {
    size(&mut change)?;
    size(&mut change)
}

/// What becomes of `base` by a change: parts of it, and bytes of the change's own, in turn.
pub fn changed(base: &[u8], mut change: &[u8]) -> Option<Vec<u8>> {
    if size(&mut change)? != base.len() as u64 {
        return None;
    }
    let bytes = size(&mut change)?;
    let mut made = Vec::new();
    while let Some(step) = change.split_off_first() {
        let part = if step & 0x80 > 0 {
            let mut field = |bits: std::ops::Range<u32>| {
                let start = bits.start;
                bits.filter(|bit| step >> bit & 1 > 0).try_fold(0, |number, bit| {
                    Some(number | usize::from(*change.split_off_first()?) << (8 * (bit - start)))
                })
            };
            let from = field(0..4)?;
            // Nothing is never copied: it stands for as much as has no place in three bytes.
            let length = Some(field(4..7)?).filter(|length| *length > 0).unwrap_or(0x10000);
            base.get(from..from.checked_add(length)?)?
        } else {
            change.split_off(..usize::from(*step)).filter(|own| !own.is_empty())?
        };
        made.extend_from_slice(part);
        if made.len() as u64 > bytes {
            return None;
        }
    }
    (made.len() as u64 == bytes).then_some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_copies_and_adds_and_nothing_but_what_it_says() {
        let base: Vec<u8> = (0..=255).cycle().take(70_000).collect();
        let head = |made: u64| {
            let mut sizes = Vec::new();
            for size in [base.len() as u64, made] {
                sizes.extend([size as u8 | 0x80, (size >> 7) as u8 | 0x80, (size >> 14) as u8]);
            }
            sizes
        };
        let with = |made: u64, steps: &[u8]| changed(&base, &[&head(made)[..], steps].concat());
        assert_eq!(with(3, b"\x03abc").unwrap(), b"abc");
        // Two bytes at 258, then one of its own.
        assert_eq!(with(3, b"\x93\x02\x01\x02\x01x").unwrap(), b"\x02\x03x");
        assert_eq!(with(0x10000, b"\x80").unwrap(), base[..0x10000]);
        for (made, steps) in [
            (2, &b"\x03abc"[..]),
            (4, b"\x03abc"),
            (3, b"\x03ab"),
            (0, b"\x00"),
            (2, b"\x9f\xff\xff\xff\xff\x02"),
            (2, b"\x93\x02"),
        ] {
            assert_eq!(with(made, steps), None, "{made} {steps:?}");
        }
        assert_eq!(changed(b"", &head(3)), None);
        assert_eq!(size(&mut &[0xff; 12][..]), None);
        assert_eq!(size(&mut &b"\x80"[..]), None);
    }
}
