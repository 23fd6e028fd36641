//! The sorts of calls of a process that something can happen at.

use crate::history::What;
use std::str::FromStr;

/// Calls of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Those that change something, or wait until changes are durable.
    Changing,
    /// Those that read.
    Reading,
    /// Both.
    All,
}

impl Calls {
    /// The calls that this can come at.
    pub fn of(what: What) -> Calls {
        match what {
            What::ReadError => Calls::Reading,
            What::Hold => Calls::All,
            _ => Calls::Changing,
        }
    }

    /// As it is spelled on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Calls::Changing => "changing",
            Calls::Reading => "reading",
            Calls::All => "all",
        }
    }
}

impl FromStr for Calls {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Calls::Changing, Calls::Reading, Calls::All];
        let found = all.into_iter().find(|calls| calls.name() == text);
        found.ok_or_else(|| format!("there are no calls {text:?}: `changing`, `reading` or `all`"))
    }
}
