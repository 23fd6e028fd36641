//! Why a comparison is not made, or accepts more than one answer. Every excuse is counted: a rule that is
//! often excused is seldom tested, and a wrong implementation may hide behind the excuse.

use serde::{Deserialize, Serialize};

/// Why a comparison is not made, or accepts an answer that would otherwise break a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Excuse {
    /// The store is damaged, and what is compared may need what is lost.
    Damage,
    /// The process was ended, a call failed, or files were edited during the request.
    Injection,
    /// The content of a checkpoint was not observed.
    Unobserved,
    /// The implementation chose which checkpoint to evict.
    Eviction,
    /// A limit is exceeded, and an implementation may enforce it here as well.
    Limit,
    /// A file that no checkpoint holds would be lost.
    Uncaptured,
    /// The files of a database are kept together.
    Unit,
    /// The evidence for a removal is not clear.
    Evidence,
    /// No rule decides it.
    NoRule,
    /// There are too many orders of concurrent requests to try them all.
    Orders,
}

impl Excuse {
    /// Every excuse, in the order of reports.
    pub const ALL: [Excuse; 10] = [
        Excuse::Damage,
        Excuse::Injection,
        Excuse::Unobserved,
        Excuse::Eviction,
        Excuse::Limit,
        Excuse::Uncaptured,
        Excuse::Unit,
        Excuse::Evidence,
        Excuse::NoRule,
        Excuse::Orders,
    ];

    /// The excuse in plain words.
    pub fn words(self) -> &'static str {
        match self {
            Excuse::Damage => "the store is damaged",
            Excuse::Injection => "an injection",
            Excuse::Unobserved => "content was not observed",
            Excuse::Eviction => "the evicted checkpoint is unknown",
            Excuse::Limit => "a limit is exceeded",
            Excuse::Uncaptured => "a file that no checkpoint holds",
            Excuse::Unit => "the files of a database",
            Excuse::Evidence => "unclear evidence for a removal",
            Excuse::NoRule => "no rule decides",
            Excuse::Orders => "too many orders to try",
        }
    }
}
