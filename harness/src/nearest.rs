//! What somebody meant who spelled a name wrong.

use std::cmp::Reverse;

/// The name that begins most like `spelled`, of equals the one nearest in length: good enough for a
/// typing error.
pub fn nearest<'a>(spelled: &str, names: impl Iterator<Item = &'a str>) -> &'a str {
    let shared = |name: &str| {
        let same = name.bytes().zip(spelled.bytes()).take_while(|(one, other)| one == other);
        (same.count(), Reverse(name.len().abs_diff(spelled.len())))
    };
    names.max_by_key(|name| shared(name)).unwrap_or_default()
}
