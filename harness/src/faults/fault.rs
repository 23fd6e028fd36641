//! What may happen to a process at one of its calls.

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
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 4] = [Fault::Kill, Fault::Io, Fault::NoSpace, Fault::Full];

    /// As it is spelled on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Kill => "kill",
            Fault::Io => "io",
            Fault::NoSpace => "no-space",
            Fault::Full => "full",
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Fault::Kill => "killed before it",
            Fault::Io => "it failed with EIO",
            Fault::NoSpace => "it failed with ENOSPC",
            Fault::Full => "it and all that needs space after it failed with ENOSPC",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || Fault::ALL.map(Fault::name).join(", ");
        let found = Fault::ALL.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| format!("there is no fault {text:?}; there are {}", known()))
    }
}
