//! Finds the checkpoint that is named by its number in the list, its label or digits of its id.

use crate::error::{Error, Result};
use crate::path::shown;
use crate::store::commit::Checkpoint;

/// The checkpoint that `text` names among `listed`, newest first, of which each may have a label.
///
/// A number of the list comes first, then a label, then the digits of an id.
///
/// # Errors
/// As [`find`], and [`Error::AmbiguousLabel`].
// rule: agent/all-or-none
pub fn find_labelled<'a>(
    listed: &'a [Checkpoint],
    label: impl Fn(&Checkpoint) -> Option<String>,
    text: &[u8],
) -> Result<&'a Checkpoint> {
    if !text.is_empty() && text.iter().all(u8::is_ascii_digit) {
        return find(listed, text);
    }
    let is_meant =
        |checkpoint: &&Checkpoint| label(checkpoint).is_some_and(|label| label.as_bytes() == text);
    let labelled: Vec<&Checkpoint> = listed.iter().filter(is_meant).collect();
    match labelled[..] {
        [] => find(listed, text),
        [only] => Ok(only),
        _ => Err(Error::AmbiguousLabel {
            label: shown(text),
            candidates: labelled
                .iter()
                .map(|checkpoint| checkpoint.id.to_string()[..10].to_owned())
                .collect(),
        }),
    }
}

/// The checkpoint that `text` names among `listed`, newest first.
///
/// Digits alone are a number where the list is that long; otherwise they may be a short id.
///
/// # Errors
/// [`Error::BadTarget`], [`Error::UnknownCheckpoint`], [`Error::AmbiguousCheckpoint`].
// rule: restore/target
// rule: restore/own-checkpoint
pub fn find<'a>(listed: &'a [Checkpoint], text: &[u8]) -> Result<&'a Checkpoint> {
    let unknown = || Error::UnknownCheckpoint(shown(text));
    let is_hexadecimal = (4..=64).contains(&text.len()) && text.iter().all(u8::is_ascii_hexdigit);
    let is_decimal = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    if is_decimal {
        // A number too large to parse is beyond the list.
        let number: usize = shown(text).parse().unwrap_or(usize::MAX);
        let mut numbered = listed.iter().filter(|checkpoint| !checkpoint.is_unlisted());
        if let Some(checkpoint) = number.checked_sub(1).and_then(|index| numbered.nth(index)) {
            return Ok(checkpoint);
        }
        if !is_hexadecimal {
            return Err(unknown());
        }
    }
    if !is_hexadecimal {
        // rule: restore/bad-target
        return Err(Error::BadTarget(shown(text)));
    }
    let digits = shown(text).to_ascii_lowercase();
    let mut named =
        listed.iter().filter(|checkpoint| checkpoint.id.to_string().starts_with(&digits));
    match (named.next(), named.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(unknown()),
        (Some(_), Some(_)) => Err(Error::AmbiguousCheckpoint(digits)),
    }
}
