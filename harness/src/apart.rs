//! Telling a failure that shows by itself from one that only follows from an earlier one.
//!
//! The operation at which world and subject first disagreed is left out, and the history run again;
//! every subsequence of a history is a history. So on until the failure shows with nothing wrong
//! before it, or not at all: then nothing shows that it is a failure of its own.

use crate::divergence::{Divergence, Fingerprint};
use crate::history::History;
use crate::runner::{RunError, Until};
use crate::sandbox::Scratch;
use crate::subject::NewSubject;
use crate::trial::{is_of_configuration, trial_until};

/// How many operations are left out at most.
const LEFT_OUT_MAX: usize = 12;

/// A history that shows the failure with nothing wrong before it, made from one in which something
/// was.
///
/// # Errors
/// A run that could not be made.
pub fn apart(
    history: &History,
    fingerprint: &Fingerprint,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
) -> Result<Option<(History, Divergence)>, RunError> {
    // What comes from the user's configuration is not in the way in a plain home.
    let plain_home = history.plain_home || !is_of_configuration(&fingerprint.rule);
    let mut history = History { plain_home, ..history.clone() };
    for _ in 0..LEFT_OUT_MAX {
        let seen = trial_until(Until::End, &history, new_subject, scratch)?.run.divergences;
        let Some(found) = seen.iter().find(|one| one.fingerprint() == *fingerprint) else {
            return Ok(None);
        };
        let Some(cause) = &found.follows else {
            return Ok(Some((history, found.clone())));
        };
        // Where only another run shows the cause, it may show here later.
        let is_cause = |one: &&Divergence| one.fingerprint() == *cause && one.step <= found.step;
        let Some(first) = seen.iter().find(is_cause) else { return Ok(None) };
        history.operations.truncate(found.step + 1);
        history.operations.remove(first.step);
    }
    Ok(None)
}
