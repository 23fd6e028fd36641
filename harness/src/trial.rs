//! A verdict on one history: a run, and where that fails a second one that tells why.
//!
//! What fails with a hostile git configuration in the home and holds without one is the doing of
//! that configuration, whatever rule shows it first; it is reported as that. So a leak does not
//! pass for many other failures, and does not hide them.

use crate::history::History;
use crate::oracle::{Divergence, Told};
use crate::runner::{Run, RunError, run};
use crate::sandbox::Scratch;
use crate::subject::NewSubject;
use herma_model::rules;

/// What a history showed.
#[derive(Debug)]
pub struct Trial {
    /// The run as the history says, each difference blamed on its cause.
    pub run: Run,
    /// Differences that the same history shows in a plain home only, since in the hostile one it
    /// ended earlier.
    pub plain: Vec<Divergence>,
}

/// Runs `history` in a fresh sandbox, twice where it fails.
///
/// # Errors
/// As [`run`].
pub fn trial(
    history: &History,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
) -> Result<Trial, RunError> {
    let mut hostile = run(history, new_subject, scratch)?;
    let needs_cause = |one: &Divergence| !one.rule.id.starts_with("isolation/");
    let is_plain = history.plain_home || hostile.claims.needs_repository();
    if is_plain || !hostile.divergences.iter().any(needs_cause) {
        return Ok(Trial { run: hostile, plain: Vec::new() });
    }
    let plain = History { plain_home: true, ..history.clone() };
    let mut plain = run(&plain, new_subject, scratch)?.divergences;
    for divergence in &mut hostile.divergences {
        // What shows later in a plain home shows for another reason.
        let same = plain.iter().any(|one| {
            one.step == divergence.step && one.fingerprint() == divergence.fingerprint()
        });
        if needs_cause(divergence) && !same {
            let told = divergence.told.clone();
            let area = divergence.rule.id.split('/').next().unwrap_or_default();
            let sign = format!("decides about {area}");
            let (rule, expected) = (divergence.rule.id, told.expected);
            let expected = format!("{expected} ({rule}, as with no git configuration)");
            divergence.rule = &rules::ISOLATION_USER_CONFIG;
            divergence.told = Told { sign, expected, ..told };
        }
    }
    let shown = |one: &Divergence| {
        hostile.divergences.iter().any(|other| other.fingerprint() == one.fingerprint())
    };
    plain.retain(|one| !shown(one));
    Ok(Trial { run: hostile, plain })
}
