//! Why a request must be refused, and the codes that say so.

use crate::answer::Code;
use crate::rules::RuleRef;

/// A refusal that is right: any of these codes, for this reason.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    /// Codes that say so.
    pub codes: &'static [Code],
    /// Why it must be refused.
    pub rule: RuleRef,
}
