//! What may happen to a process at one of its calls.

use super::Point;
use super::actor::Actor;
use super::operation::Operation;
use crate::history::Left;
use herma_model::rules::{self, RuleRef};
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// It is killed, with all that it started, before the call is made.
    Kill,
    /// The call fails with EIO.
    Io,
    /// The call fails with ENOSPC, once; nothing comes at a call that needs no space.
    NoSpace,
    /// From the call on every call that needs space fails with ENOSPC.
    Full,
    /// The call writes half of its bytes, and says so; nothing comes at a call that writes none.
    Short,
    /// The call waits until another process took a checkpoint.
    HoldTake,
    /// The call waits until another process pruned.
    HoldPrune,
    /// A call that reads fails with EIO.
    Read,
    /// The power goes before the call.
    Power(Left),
    /// The call, which may also be one that reads, waits until somebody did this in the project.
    Actor(Actor),
}

/// Calls of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calls {
    /// Those that change something, or wait until changes are durable.
    Changing,
    /// Those that read.
    Reading,
    /// Both.
    All,
}

impl Calls {
    const EACH: [Calls; 3] = [Calls::Changing, Calls::Reading, Calls::All];

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
        named("sort of calls", text, &Calls::EACH, Calls::name)
    }
}

/// What there is to say of a fault.
struct Row(Fault, &'static str, &'static str);

/// Every fault, as it is spelled on a command line, and in words.
const ROWS: [Row; 14] = [
    Row(Fault::Kill, "kill", "killed before it"),
    Row(Fault::Io, "io", "it failed with EIO"),
    Row(Fault::NoSpace, "no-space", "it failed with ENOSPC"),
    Row(Fault::Full, "full", "it and all that needs space after it failed with ENOSPC"),
    Row(Fault::Short, "short", "it wrote half of its bytes, and said so"),
    Row(Fault::HoldTake, "hold-take", "it waited while another process took a checkpoint"),
    Row(Fault::HoldPrune, "hold-prune", "it waited while another process pruned"),
    Row(Fault::Read, "read", "it failed with EIO"),
    Row(
        Fault::Power(Left::Names),
        "power-bytes",
        "the power went before it: bytes that were not synced are gone",
    ),
    Row(
        Fault::Power(Left::Blocks),
        "power-torn",
        "the power went before it: of bytes that were not synced every second block is gone",
    ),
    Row(
        Fault::Power(Left::Nothing),
        "power-names",
        "the power went before it: all that came after the last sync is gone",
    ),
    Row(Fault::Actor(Actor::Save), "save", "it waited while somebody saved a file by a rename"),
    Row(Fault::Actor(Actor::SaveOver), "save-over", "it waited while somebody wrote a file anew"),
    Row(
        Fault::Actor(Actor::Swap),
        "swap",
        "it waited while somebody put a link to a place outside where a folder was",
    ),
];

impl Fault {
    /// All of them.
    pub const ALL: [Fault; ROWS.len()] = {
        let mut all = [Fault::Kill; ROWS.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = ROWS[at].0;
            at += 1;
        }
        all
    };

    /// What another process does while the call waits.
    pub fn meanwhile(self) -> Option<Operation> {
        match self {
            Fault::HoldTake => Some(Operation::Take),
            Fault::HoldPrune => Some(Operation::Prune),
            _ => None,
        }
    }

    /// Whether the call waits for something that happens beside it.
    pub fn holds(self) -> bool {
        self.meanwhile().is_some() || matches!(self, Fault::Actor(_))
    }

    /// What somebody does while the call waits.
    pub fn actor(self) -> Option<Actor> {
        match self {
            Fault::Actor(actor) => Some(actor),
            _ => None,
        }
    }

    /// Whether it comes in this operation. Somebody at work in a project matters to who reads or
    /// writes there.
    pub fn is_for(self, operation: Operation) -> bool {
        self.actor().is_none() || operation == Operation::Take || operation.restores()
    }

    /// Whether it ends the process, so that nothing is asked of its answer.
    pub fn ends_it(self) -> bool {
        matches!(self, Fault::Kill | Fault::Power(_))
    }

    /// At which calls it can come.
    pub fn comes_at(self) -> At {
        match self {
            Fault::Kill | Fault::Io | Fault::HoldTake | Fault::HoldPrune => At::Changes,
            Fault::NoSpace | Fault::Full => At::Fills,
            Fault::Short => At::Writes,
            Fault::Read => At::Reads,
            Fault::Power(Left::Names | Left::Blocks) => At::ChangesAndTheEnd,
            // Before that, it is what another one leaves after a call that is earlier.
            Fault::Power(Left::Nothing) => At::TheEnd,
            Fault::Actor(_) => At::All,
        }
    }

    /// The rule of the book that says what it may cost.
    pub fn rule(self) -> RuleRef {
        match self {
            Fault::Kill => &rules::CRASH_KILL,
            Fault::Power(_) => &rules::CRASH_POWER_LOSS,
            Fault::HoldTake | Fault::HoldPrune => &rules::CONCURRENT_KEEPS,
            Fault::Actor(Actor::Save | Actor::SaveOver) => &rules::CAPTURE_STEADY,
            Fault::Actor(Actor::Swap) => &rules::CAPTURE_CONTAINED,
            Fault::Io | Fault::NoSpace | Fault::Full | Fault::Short | Fault::Read => {
                &rules::FAULT_CLEAR_REFUSAL
            }
        }
    }

    fn row(self) -> &'static Row {
        let row = ROWS.iter().find(|row| row.0 == self);
        row.expect("every fault has a row: the test looks")
    }

    /// As it is spelled on a command line.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// In words.
    pub fn words(self) -> &'static str {
        self.row().2
    }
}

/// At which calls of an operation a fault can come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Those that change something.
    Changes,
    /// Those of them that need space.
    Fills,
    /// Those of them that write bytes.
    Writes,
    /// Those that change something, and after the last of them, when the operation was answered.
    ChangesAndTheEnd,
    /// Only then.
    TheEnd,
    /// Those that read.
    Reads,
    /// All of them.
    All,
}

/// The number of no call: the moment after the last one, however many there are this time.
pub const END: usize = usize::MAX;
/// How that is spelled.
const END_NAME: &str = "end";

/// The number of a call, or the end, as it is spelled on a command line.
pub fn spelled(at: usize) -> String {
    if at == END { END_NAME.into() } else { at.to_string() }
}

/// What is spelled so.
///
/// # Errors
/// It is neither a number nor the end.
pub fn place(text: &str) -> Result<usize, String> {
    match text {
        END_NAME => Ok(END),
        _ => text.parse().map_err(|_| format!("{text:?} is no number of a call, nor `{END_NAME}`")),
    }
}

/// Calls that change something for which the disk needs no space.
const NEED_NO_SPACE: [&str; 5] = ["truncate", "rename", "remove", "chmod", "sync"];

impl At {
    /// Which calls are to be noted for it.
    pub fn calls(self) -> Calls {
        match self {
            At::Reads => Calls::Reading,
            At::All => Calls::All,
            _ => Calls::Changing,
        }
    }

    /// Which of the calls that were noted, from 1.
    pub fn among(self, points: &[Point]) -> Vec<usize> {
        let end = matches!(self, At::ChangesAndTheEnd | At::TheEnd).then_some(END);
        let is_one = |point: &Point| match self {
            At::Changes | At::ChangesAndTheEnd | At::Reads | At::All => true,
            At::Fills => !NEED_NO_SPACE.contains(&&*point.call),
            At::Writes => point.call == "write",
            At::TheEnd => false,
        };
        let calls = points.iter().zip(1..).filter(|(point, _)| is_one(point)).map(|(_, at)| at);
        calls.chain(end).collect()
    }
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_called_by_its_name() {
        let names: Vec<&str> = Fault::ALL.into_iter().map(Fault::name).collect();
        for fault in Fault::ALL {
            assert_eq!(fault.name().parse(), Ok(fault));
            assert_eq!(names.iter().filter(|name| **name == fault.name()).count(), 1);
        }
    }
}
