//! The kinds of calls of a process at which an event can be injected.

use crate::history::InjectedEvent;
use std::str::FromStr;

/// Calls of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Calls that change something, or wait until changes are durable.
    Changing,
    /// Calls that read.
    Reading,
    /// Both.
    All,
}

impl Calls {
    /// The calls at which this injection can happen.
    pub fn of(injection: InjectedEvent) -> Calls {
        match injection {
            InjectedEvent::ReadError => Calls::Reading,
            InjectedEvent::Hold => Calls::All,
            _ => Calls::Changing,
        }
    }

    /// The name on a command line.
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
        let kinds = [Calls::Changing, Calls::Reading, Calls::All];
        let found = kinds.into_iter().find(|calls| calls.name() == text);
        found.ok_or_else(|| format!("there are no calls {text:?}: `changing`, `reading` or `all`"))
    }
}
