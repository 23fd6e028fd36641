//! Finds the rules of a long ignore file that may match a path, so that most rules are never tried: a
//! file may have 100,000 lines, and a project as many files.
//!
//! Each rule has a *key*, a few bytes that every path that it matches contains. Of all such bytes of a
//! pattern those are taken that the fewest other patterns have. The index does not decide: rules
//! without a key are always tried.

use std::collections::HashMap;

/// The most bytes that a key has. Longer keys would distinguish more, and each length takes time.
const KEY_BYTES_MAX: usize = 4;

/// The number of counters of keys. Keys that share a counter only seem to be more frequent.
const COUNTERS: usize = 1 << 16;

/// The positions of the rules of one file, by key.
#[derive(Clone, Debug, Default)]
pub struct RuleIndex {
    /// The positions, in ascending order, by the number of the key.
    by_key: HashMap<u64, Vec<u32>>,
    /// The rules that have no key.
    others: Vec<u32>,
    /// Whether there is any key of each length.
    has_length: [bool; KEY_BYTES_MAX + 1],
}

impl RuleIndex {
    /// The index of rules with these patterns.
    pub fn of<'p, P: Iterator<Item = &'p [u8]>>(patterns: impl Fn() -> P) -> RuleIndex {
        let mut counts = vec![0_u32; COUNTERS];
        for key in patterns().flat_map(keys) {
            counts[counter_of(key)] += 1;
        }
        let mut index = RuleIndex::default();
        for (position, pattern) in (0..).zip(patterns()) {
            match keys(pattern).min_by_key(|key| counts[counter_of(key)]) {
                None => index.others.push(position),
                Some(key) => {
                    index.has_length[key.len()] = true;
                    index.by_key.entry(number_of(key)).or_default().push(position);
                }
            }
        }
        index
    }

    /// The position of the last rule that matches a path, as far as `is_match` tells.
    pub fn last(&self, path: &[u8], is_match: impl Fn(usize) -> bool) -> Option<usize> {
        let lengths = (1..=KEY_BYTES_MAX).filter(|length| self.has_length[*length]);
        let keys = lengths.flat_map(|length| path.windows(length));
        let by_key = keys.filter_map(|key| self.by_key.get(&number_of(key)));
        let mut last = None;
        for positions in by_key.chain([&self.others]) {
            let later = positions.iter().rev().take_while(|position| Some(**position) > last);
            last = later.copied().find(|position| is_match(*position as usize)).or(last);
        }
        last.map(|position| position as usize)
    }
}

/// A number that no other key has.
fn number_of(key: &[u8]) -> u64 {
    key.iter().fold(1, |number, byte| number << 8 | u64::from(*byte))
}

fn counter_of(key: &[u8]) -> usize {
    // Multiplied by the golden ratio, so that similar keys have different counters.
    (number_of(key).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize % COUNTERS
}

/// The keys that a pattern may have: the parts of its literal text, as long as it has any.
fn keys(pattern: &[u8]) -> impl Iterator<Item = &[u8]> {
    let runs = || literal_text(pattern).into_iter().flat_map(|text| text.split(is_wild));
    let longest = runs().map(<[u8]>::len).max().unwrap_or(0).clamp(1, KEY_BYTES_MAX);
    runs().flat_map(move |run| run.windows(longest))
}

/// A slash may stand for nothing, as part of `**/`.
fn is_wild(byte: &u8) -> bool {
    matches!(byte, b'*' | b'?' | b'/')
}

/// The text before and after everything that brackets and backslashes may give another meaning.
fn literal_text(pattern: &[u8]) -> [&[u8]; 2] {
    let is_special = |byte: &u8| matches!(byte, b'[' | b']' | b'\\');
    match (pattern.iter().position(is_special), pattern.iter().rposition(is_special)) {
        (Some(first), Some(last)) => [&pattern[..first], &pattern[last + 1..]],
        _ => [pattern, &[]],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_the_longest_parts_of_the_literal_text() {
        for (pattern, expected) in [
            ("*", &[][..]),
            ("[ab]", &[]),
            ("*.o", &[".o"]),
            ("*abcde*f", &["abcd", "bcde"]),
            ("a/b", &["a", "b"]),
            ("**/name", &["name"]),
            ("ab[cdef]gh", &["ab", "gh"]),
            ("[]abc]", &[]),
            ("x\\abc", &["abc"]),
        ] {
            let found: Vec<&[u8]> = keys(pattern.as_bytes()).collect();
            let expected: Vec<&[u8]> = expected.iter().map(|key| key.as_bytes()).collect();
            assert_eq!(found, expected, "{pattern}");
        }
    }

    #[test]
    fn last_tries_few_of_many_similar_rules_and_returns_the_last_match() {
        let patterns: Vec<String> = (0..10_000)
            .map(|number| format!("*file{number:05}.t?t"))
            .chain(["*5.*".into()])
            .collect();
        let index = RuleIndex::of(|| patterns.iter().map(String::as_bytes));
        let tried = std::cell::Cell::new(0);
        let last = index.last(b"a/file01234.txt", |position| {
            tried.set(tried.get() + 1);
            position == 1234
        });
        assert_eq!(last, Some(1234));
        assert!(tried.get() < 100, "{}", tried.get());
        assert_eq!(
            index.last(b"a/file01234.txt", |_| true),
            Some(10_000).filter(|_| false).or(last)
        );
    }
}
