//! Updating expectations from a run.

use super::{Expectation, Expectations, Why, gate};
use crate::results::{FailureFound, Results};
use semver::{Comparator, Op, VersionReq};

/// Why expectations are not written.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UpdateRefused {
    /// Another implementation was run.
    #[error("{0} was run, and the file is about {1}; nothing was written")]
    OtherSubject(String, String),
    /// A failure did not occur again each time.
    #[error("{0} failed {1} times of {2} when run again; nothing was written")]
    Flaky(String, usize, usize),
    /// The time budget was used up before all histories had run.
    #[error("only {0} of {1} histories ran: allow more time; nothing was written")]
    CutShort(u64, u64),
    /// A new failure was not run again in the time budget.
    #[error("{0} was not run again: allow more time; nothing was written")]
    NotRunAgain(String),
    /// There are failures that the file does not list.
    #[error("new failures are only listed with --allow-new; nothing was written:\n{0}")]
    New(String),
}

/// The expectations after a run: entries that no longer fail are removed, and with `allow_new` new failures
/// are added, without reason and link.
///
/// # Errors
/// [`UpdateRefused`].
pub fn update(
    before: &Expectations,
    results: &Results,
    allow_new: bool,
) -> Result<Expectations, UpdateRefused> {
    let started = &results.started;
    if before.subject != started.subject.name {
        let run = started.subject.name.clone();
        return Err(UpdateRefused::OtherSubject(run, before.subject.clone()));
    }
    let finished = &results.finished;
    if finished.is_cut_short() {
        return Err(UpdateRefused::CutShort(finished.histories, finished.planned));
    }
    for failure in &results.failures {
        if let Some((times, of)) = failure.reproduced.filter(|(times, of)| times < of) {
            return Err(UpdateRefused::Flaky(failure.fingerprint.to_string(), times, of));
        }
    }
    let version = &started.subject.version;
    let is_for_version = |entry: &&Expectation| entry.covers(version);
    let fails = |entry: &Expectation| {
        results.failures.iter().any(|failure| failure.fingerprint == entry.fingerprint())
    };
    // This run gives no evidence about entries for other versions.
    let kept = |entry: &&Expectation| !is_for_version(entry) || fails(entry);
    let mut expect: Vec<Expectation> = before.expect.iter().filter(kept).cloned().collect();
    let is_new = |failure: &&FailureFound| before.entry_of(&failure.fingerprint, version).is_none();
    let new: Vec<_> = results.failures.iter().filter(is_new).collect();
    if !new.is_empty() && !allow_new {
        let names: Vec<String> =
            new.iter().map(|failure| failure.fingerprint.to_string()).collect();
        return Err(UpdateRefused::New(names.join("\n")));
    }
    if let Some(failure) = new.iter().find(|failure| failure.reproduced.is_none()) {
        return Err(UpdateRefused::NotRunAgain(failure.fingerprint.to_string()));
    }
    expect.extend(new.iter().map(|failure| Expectation {
        rule: failure.fingerprint.rule.clone(),
        verdict: failure.fingerprint.verdict,
        symptom: failure.fingerprint.symptom.clone(),
        kind: Why::default(),
        versions: exactly(version),
        reason: String::new(),
        link: String::new(),
    }));
    expect.sort_by_key(Expectation::fingerprint);
    let most = expect.iter().filter(is_for_version).filter(|entry| !entry.is_by_design()).count();
    let most = if new.is_empty() { before.most.min(most) } else { most };
    let judged = gate::judged(results);
    Ok(Expectations { expect, most, judged, elsewhere: Vec::new(), ..before.clone() })
}

/// The requirement of exactly this version, or of any version if it is not semantic.
fn exactly(version: &str) -> VersionReq {
    let Ok(version) = semver::Version::parse(version) else { return VersionReq::STAR };
    let comparator = Comparator {
        op: Op::Exact,
        major: version.major,
        minor: Some(version.minor),
        patch: Some(version.patch),
        pre: version.pre,
    };
    VersionReq { comparators: vec![comparator] }
}
