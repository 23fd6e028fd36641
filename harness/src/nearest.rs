//! Suggests the name that a misspelled one probably meant.

use std::cmp::Reverse;

/// The name with the longest beginning in common with `spelled`; among equals, the one nearest in
/// length. Good enough for typing errors.
pub fn nearest<'a>(spelled: &str, names: impl Iterator<Item = &'a str>) -> &'a str {
    let shared = |name: &str| {
        let same = name.bytes().zip(spelled.bytes()).take_while(|(one, other)| one == other);
        (same.count(), Reverse(name.len().abs_diff(spelled.len())))
    };
    names.max_by_key(|name| shared(name)).unwrap_or_default()
}
