//! Names the checkpoints of a list, and finds the one that is named by its name in the list, its label or
//! digits of its id.

use crate::error::{Error, Result};
use crate::path::shown;
use crate::report::ListName;
use crate::store::commit::Checkpoint;
use std::cmp::Reverse;

/// The names of all checkpoints of a project, newest first. Numbers count only checkpoints that are not
/// pre-restore checkpoints, so that a restore moves no number; those are counted apart, listed or not.
// rule: restore/same-number: decides
pub fn names(history: &[Checkpoint]) -> Vec<ListName> {
    let mut rollbacks: Vec<u64> =
        history.iter().filter_map(|checkpoint| checkpoint.rollback).collect();
    rollbacks.sort_unstable_by_key(|number| Reverse(*number));
    let mut numbered = 0;
    let mut name = |checkpoint: &Checkpoint| match checkpoint.rollback {
        Some(number) => {
            let newer = rollbacks.iter().filter(|other| **other > number).count();
            ListName::BeforeRollback(newer + 1)
        }
        None => {
            numbered += 1;
            ListName::Number(numbered)
        }
    };
    history.iter().map(&mut name).collect()
}

/// The checkpoint that `text` names among all of a project, newest first, of which each may have a label.
///
/// A number of the list comes first, then a label, then another name of the list, then the digits of an id.
///
/// # Errors
/// As [`find`], and [`Error::AmbiguousLabel`].
// rule: agent/all-or-none
pub fn find_labelled<'a>(
    history: &'a [Checkpoint],
    label: impl Fn(&Checkpoint) -> Option<String>,
    text: &[u8],
) -> Result<&'a Checkpoint> {
    if !text.is_empty() && text.iter().all(u8::is_ascii_digit) {
        return find(history, text);
    }
    let is_meant =
        |checkpoint: &&Checkpoint| label(checkpoint).is_some_and(|label| label.as_bytes() == text);
    let labelled: Vec<&Checkpoint> = history.iter().filter(is_meant).collect();
    match labelled[..] {
        [] => find(history, text),
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

/// The checkpoint that `text` names among all of a project, newest first.
///
/// Digits alone are a number where the list is that long; otherwise they may be a short id.
///
/// # Errors
/// [`Error::BadTarget`], [`Error::UnknownCheckpoint`], [`Error::AmbiguousCheckpoint`].
// rule: restore/target
// rule: restore/own-checkpoint
pub fn find<'a>(history: &'a [Checkpoint], text: &[u8]) -> Result<&'a Checkpoint> {
    let unknown = || Error::UnknownCheckpoint(shown(text));
    let is_hexadecimal = (4..=64).contains(&text.len()) && text.iter().all(u8::is_ascii_hexdigit);
    if let Some(name) = ListName::parse(text) {
        if let Some(index) = names(history).iter().position(|found| *found == name) {
            return Ok(&history[index]);
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
        history.iter().filter(|checkpoint| checkpoint.id.to_string().starts_with(&digits));
    match (named.next(), named.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(unknown()),
        (Some(_), Some(_)) => Err(Error::AmbiguousCheckpoint(digits)),
    }
}
