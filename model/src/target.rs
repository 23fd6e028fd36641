//! How a person names a checkpoint: by its number in the list or by the digits of its id.

/// What a target's text can mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A number of the list, from 1; 0 is well formed and never there.
    Number(usize),
    /// The first digits of an id, in lower case.
    Id(String),
    /// Neither.
    Malformed,
}

/// Reads a target as typed. Digits alone are a number when the list is that long, otherwise they
/// may still be a short id.
pub fn parse(text: &[u8], listed: usize) -> Target {
    let decimal = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let hexadecimal = (4..=64).contains(&text.len()) && text.iter().all(u8::is_ascii_hexdigit);
    let as_text = String::from_utf8_lossy(text).to_ascii_lowercase();
    let number = if decimal { as_text.parse::<usize>().ok() } else { None };
    match number {
        Some(number) if (1..=listed).contains(&number) || !hexadecimal => Target::Number(number),
        _ if hexadecimal => Target::Id(as_text),
        _ => Target::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_a_number_before_they_are_an_id() {
        assert_eq!(parse(b"3", 5), Target::Number(3));
        assert_eq!(parse(b"6", 5), Target::Number(6));
        assert_eq!(parse(b"0", 5), Target::Number(0));
        assert_eq!(parse(b"1234", 5), Target::Id("1234".into()));
        assert_eq!(parse(b"ABCD", 5), Target::Id("abcd".into()));
        assert_eq!(parse(b"99999999999999999999999", 5), Target::Id("9".repeat(23)));
        for malformed in [&b""[..], b"-1", b"abc", b"abcd\n", b"ab\0cd", b"wxyz", b"--patch", b"+1"]
        {
            assert_eq!(parse(malformed, 5), Target::Malformed);
        }
    }
}
