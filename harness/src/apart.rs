//! Distinguishes an independent failure from one that only follows from an earlier failure.
//!
//! The operation at which world and subject first disagreed is removed, and the history runs again;
//! every subsequence of a history is a history. This repeats until the failure shows with no failure
//! before it, or not at all: then nothing proves that it is independent.

use crate::divergence::{Divergence, Fingerprint};
use crate::history::History;
use crate::runner::{RunError, Until};
use crate::sandbox::Scratch;
use crate::subject::NewSubject;
use crate::trial::{is_of_configuration, trial};

/// At most this many operations are removed.
const REMOVED_MAX: usize = 12;

/// Derives, from a history that shows the failure after another one, a history that shows it with no
/// failure before it.
///
/// # Errors
/// A run could not be made.
pub fn apart(
    history: &History,
    fingerprint: &Fingerprint,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
) -> Result<Option<(History, Divergence)>, RunError> {
    // A plain home rules out failures that come from the user's configuration.
    let plain_home = history.plain_home || !is_of_configuration(&fingerprint.rule);
    let mut history = History { plain_home, ..history.clone() };
    for _ in 0..REMOVED_MAX {
        let divergences = trial(&history, new_subject, scratch, Until::End)?.run.divergences;
        let Some(found) =
            divergences.iter().find(|divergence| divergence.fingerprint() == *fingerprint)
        else {
            return Ok(None);
        };
        let Some(cause) = &found.follows else {
            return Ok(Some((history, found.clone())));
        };
        // Another run may have shown the cause; in this run the cause may then show later.
        let is_cause = |candidate: &&Divergence| {
            candidate.fingerprint() == *cause && candidate.step <= found.step
        };
        let Some(first) = divergences.iter().find(is_cause) else { return Ok(None) };
        history.operations.truncate(found.step + 1);
        history.operations.remove(first.step);
    }
    Ok(None)
}
