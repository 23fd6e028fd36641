//! Suggests the name that a misspelled name probably meant.

use std::cmp::Reverse;

/// The name with the longest common prefix with `misspelled`; of several, the one closest in length.
/// Good enough for typing errors.
pub fn nearest<'a>(misspelled: &str, names: impl Iterator<Item = &'a str>) -> &'a str {
    let similarity = |name: &str| {
        let common = name.bytes().zip(misspelled.bytes()).take_while(|(left, right)| left == right);
        (common.count(), Reverse(name.len().abs_diff(misspelled.len())))
    };
    names.max_by_key(|name| similarity(name)).unwrap_or_default()
}
