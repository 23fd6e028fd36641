//! Parses how a person names a checkpoint: by its number in the list, by its listed id, or by the first
//! digits of the id.
//!
//! An id is whatever an implementation lists. Only a short id has a grammar of its own.

/// The possible meanings of a target's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParsedTarget {
    /// A number of the list, from 1; 0 is well formed and never listed.
    Number(usize),
    /// A complete id, or the beginning of an id.
    Id(String),
    /// Neither.
    Malformed,
}

/// Parses a target as typed, where the ids `listed` are listed, and `numbered` is how many checkpoints have
/// numbers; `None` where numbers name no checkpoints. Digits alone are a number when there are that many;
/// otherwise they may still be an id.
pub fn parse(text: &[u8], listed: &[&str], numbered: Option<usize>) -> ParsedTarget {
    let decimal = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let long_enough = (4..=64).contains(&text.len());
    let as_text = String::from_utf8_lossy(text).into_owned();
    let is_id = listed.contains(&as_text.as_str())
        || long_enough && listed.iter().any(|id| begins_with(id, &as_text))
        || long_enough && text.iter().all(u8::is_ascii_hexdigit);
    let number = numbered.filter(|_| decimal).and_then(|_| as_text.parse::<usize>().ok());
    // A number is not written with a leading zero, but an id may begin with a zero.
    let listed_number = |number: &usize| {
        (1..=numbered.unwrap_or_default()).contains(number) && !(is_id && text.starts_with(b"0"))
    };
    match number {
        Some(number) if listed_number(&number) || !is_id => ParsedTarget::Number(number),
        _ if is_id => ParsedTarget::Id(as_text),
        _ => ParsedTarget::Malformed,
    }
}

/// Whether an id begins with `text`, ignoring ASCII case.
pub fn begins_with(id: &str, text: &str) -> bool {
    id.as_bytes().get(..text.len()).is_some_and(|part| part.eq_ignore_ascii_case(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> ParsedTarget {
        ParsedTarget::Id(text.to_owned())
    }

    #[test]
    fn parse_prefers_a_number_of_the_list_to_an_id() {
        let listed = ["aaaa1", "aaaa2", "aaaa3", "aaaa4", "aaaa5"];
        assert_eq!(parse(b"3", &listed, Some(5)), ParsedTarget::Number(3));
        assert_eq!(parse(b"6", &listed, Some(5)), ParsedTarget::Number(6));
        assert_eq!(parse(b"0", &listed, Some(5)), ParsedTarget::Number(0));
        assert_eq!(parse(b"1234", &listed, Some(5)), id("1234"));
        assert_eq!(parse(b"ABCD", &listed, Some(5)), id("ABCD"));
        assert_eq!(parse(b"99999999999999999999999", &listed, Some(5)), id(&"9".repeat(23)));
        for malformed in [&b""[..], b"-1", b"abc", b"abcd\n", b"ab\0cd", b"wxyz", b"--patch", b"+1"]
        {
            assert_eq!(parse(malformed, &listed, Some(5)), ParsedTarget::Malformed);
        }
    }

    #[test]
    fn parse_accepts_every_listed_id_whatever_its_form() {
        for listed in ["ckpt-0001", "C0000001", "0001", "01JAB3QZ", "2026-03-16T04:36", "a", "-x"] {
            assert_eq!(parse(listed.as_bytes(), &[listed, "other"], Some(2)), id(listed));
            assert_eq!(
                parse(format!("{listed}\n").as_bytes(), &[listed], Some(1)),
                ParsedTarget::Malformed
            );
        }
        assert_eq!(parse(b"ckpt", &["ckpt-0001"], Some(1)), id("ckpt"));
        assert_eq!(parse(b"ckp", &["ckpt-0001"], Some(1)), ParsedTarget::Malformed);
        // A number of the list may be an id as well; then it is the number.
        assert_eq!(parse(b"1", &["1", "2"], Some(2)), ParsedTarget::Number(1));
        assert_eq!(parse(b"7", &["7", "8"], Some(2)), id("7"));
        // An implementation that numbers checkpoints from the oldest has no such numbers.
        assert_eq!(parse(b"1", &["2", "1"], None), id("1"));
        assert_eq!(parse(b"3", &["2", "1"], None), ParsedTarget::Malformed);
    }

    #[test]
    fn begins_with_ignores_case_in_a_short_id() {
        assert!(begins_with("abcd", "ABC") && begins_with("ABCD", "abcd"));
        assert!(!begins_with("abcd", "abcde") && !begins_with("abcd", "b"));
    }
}
