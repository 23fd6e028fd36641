//! What a file of expectations says about results: the failures that it expects, and why its gate does not hold
//! otherwise. Reports of a run without expectations have none.

use super::FailureFound;
use crate::divergence::Fingerprint;
use std::collections::BTreeMap;

/// The failures that expectations accept, and what else is wrong.
#[derive(Clone, Debug, Default)]
pub struct AcceptedFailures {
    /// Why each of these failures is accepted.
    pub reasons: BTreeMap<Fingerprint, String>,
    /// Why the gate does not hold, apart from failures that are not accepted; one sentence each.
    pub problems: Vec<String>,
}

impl AcceptedFailures {
    /// Why a failure is accepted, if it is.
    pub fn reason(&self, failure: &FailureFound) -> Option<&str> {
        self.reasons.get(&failure.fingerprint).map(String::as_str)
    }

    /// Whether a failure is not accepted.
    pub fn is_unexpected(&self, failure: &FailureFound) -> bool {
        self.reason(failure).is_none()
    }
}
