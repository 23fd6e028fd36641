//! The units in which an implementation can set its size limits.

use super::known::SIZES;
use serde_json::Value;

/// The units of the size limits, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// Of the file size limit.
    pub file: u64,
    /// Of the store size limit.
    pub total: u64,
}

impl Default for Units {
    fn default() -> Self {
        Units { file: 1, total: 1 }
    }
}

/// The unit of a size in a hello.
pub(super) fn unit(claim: &str, value: &Value) -> Result<u64, String> {
    if !SIZES.contains(&claim) {
        return Err(format!("`{claim}` is true or false, not {value}"));
    }
    let unit = value.as_u64().filter(|unit| *unit > 0);
    unit.ok_or_else(|| format!("`{claim}` is true, false or the bytes of its unit, not {value}"))
}

/// The smallest unit of which both are units.
pub(super) fn least_common_multiple(left: u64, right: u64) -> u64 {
    let mut divisor = left;
    let mut rest = right;
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (left / divisor).saturating_mul(right)
}
