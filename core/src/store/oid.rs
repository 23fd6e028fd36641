//! The id of a git object: the SHA-1 of its kind, its size and its bytes.

use std::fmt;

/// The id of a git object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(pub [u8; 20]);

impl Oid {
    /// Git writes this id where there is no object.
    pub const ZERO: Oid = Oid([0; 20]);

    /// Parses an id of 40 hexadecimal digits.
    pub fn parse(digits: &str) -> Option<Self> {
        let digits: &[u8; 40] = digits.as_bytes().try_into().ok()?;
        let value = |position: usize| char::from(digits[position]).to_digit(16);
        let mut id = Oid::ZERO;
        for (position, byte) in id.0.iter_mut().enumerate() {
            *byte = (value(2 * position)? << 4 | value(2 * position + 1)?) as u8;
        }
        Some(id)
    }

    /// The 20 bytes of the id.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
        let digits = self.0.map(|byte| [digit(byte >> 4), digit(byte & 0xf)]);
        formatter.write_str(std::str::from_utf8(digits.as_flattened()).unwrap_or_default())
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_reads_exactly_40_hexadecimal_digits_as_they_are_displayed() {
        let digits = "0123456789abcdef0123456789abcdef01234567";
        let id = Oid::parse(digits).unwrap();
        assert_eq!(id.to_string(), digits);
        assert_eq!(id.as_bytes()[..3], [0x01, 0x23, 0x45]);
        assert_eq!(Oid::parse(&digits.to_uppercase()), Some(id));
        for text in ["", &digits[1..], &format!("{digits}0"), &digits.replace('7', "g")] {
            assert_eq!(Oid::parse(text), None, "{text}");
        }
        assert_eq!(Oid::parse(&format!("+{}", &digits[1..])), None);
    }
}
