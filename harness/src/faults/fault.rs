//! What may happen to a process at one of its calls.

use super::operation::Operation;
use herma_model::rules::{self, RuleRef};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// It is killed, with all that it started, before the call is made.
    Kill,
    /// The call fails with EIO.
    Io,
    /// The call fails with ENOSPC, once; nothing comes at a call that needs no space.
    NoSpace,
    /// From the call on every call that needs space fails with ENOSPC.
    Full,
    /// The call waits until another process took a checkpoint.
    HoldTake,
    /// The call waits until another process pruned.
    HoldPrune,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 6] =
        [Fault::Kill, Fault::Io, Fault::NoSpace, Fault::Full, Fault::HoldTake, Fault::HoldPrune];

    /// What another process does while the call waits.
    pub fn meanwhile(self) -> Option<Operation> {
        match self {
            Fault::HoldTake => Some(Operation::Take),
            Fault::HoldPrune => Some(Operation::Prune),
            Fault::Kill | Fault::Io | Fault::NoSpace | Fault::Full => None,
        }
    }

    /// The rule of the book that says what it may cost.
    pub fn rule(self) -> RuleRef {
        match self {
            Fault::Kill => &rules::CRASH_KILL,
            Fault::Io | Fault::NoSpace | Fault::Full => &rules::FAULT_CLEAR_REFUSAL,
            Fault::HoldTake | Fault::HoldPrune => &rules::CONCURRENT_KEEPS,
        }
    }

    /// As it is spelled on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Kill => "kill",
            Fault::Io => "io",
            Fault::NoSpace => "no-space",
            Fault::Full => "full",
            Fault::HoldTake => "hold-take",
            Fault::HoldPrune => "hold-prune",
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Fault::Kill => "killed before it",
            Fault::Io => "it failed with EIO",
            Fault::NoSpace => "it failed with ENOSPC",
            Fault::Full => "it and all that needs space after it failed with ENOSPC",
            Fault::HoldTake => "it waited while another process took a checkpoint",
            Fault::HoldPrune => "it waited while another process pruned",
        }
    }
}

/// The one of `all` that is called so.
pub(super) fn named<T: Copy>(
    what: &str,
    text: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, String> {
    let names = || all.iter().map(|one| name(*one)).collect::<Vec<_>>().join(", ");
    let found = all.iter().find(|one| name(**one) == text).copied();
    found.ok_or_else(|| format!("there is no {what} {text:?}; there are {}", names()))
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        named("fault", text, &Fault::ALL, Fault::name)
    }
}
