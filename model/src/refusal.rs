//! Correct refusals: the codes, and the rule that requires them.

use crate::answer::Code;
use crate::rules::RuleRef;

/// A correct refusal: any of these codes, for this rule.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    /// The accepted codes.
    pub codes: &'static [Code],
    /// The rule by which the request must be refused.
    pub rule: RuleRef,
}
