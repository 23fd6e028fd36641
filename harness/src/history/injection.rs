//! Injections: what is made to happen at one call to the disk during the next request, such as a kill or
//! edits.
//!
//! An injection is an operation like any other, so if it is deleted, the rest is still a history.
//! `crate::inject` carries it out, and the model decides which answers are allowed.

use super::{Event, Operation, StoreEvent, Target};
use herma_model::{Edit, Request};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// An injection: an effect at one call that the next request makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Injection {
    /// The call.
    pub call: CallPosition,
    /// The effect.
    pub what: InjectedEvent,
    /// The operations during the injection. For [`InjectedEvent::Hold`], the edits for which the call
    /// waits. For [`InjectedEvent::Overlap`], the one request to another process for which the call waits.
    /// For [`InjectedEvent::Together`], the requests that the other processes get.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meanwhile: Vec<Operation>,
}

impl Injection {
    /// An injection without edits or requests to other processes.
    pub fn new(call: CallPosition, effect: InjectedEvent) -> Self {
        Injection { call, what: effect, meanwhile: Vec::new() }
    }

    /// An injection of edits while a call waits.
    pub fn edited(call: CallPosition, edits: Vec<Edit>) -> Self {
        let meanwhile = edits.into_iter().map(Operation::Edit).collect();
        Injection { call, what: InjectedEvent::Hold, meanwhile }
    }

    /// An injection with several processes. The next request goes to a separate process, and at the same
    /// time `requests` go to `processes` other processes in turn. The first of the other processes is
    /// killed at `call`; [`CallPosition::End`] kills none.
    pub fn together(call: CallPosition, processes: u8, requests: Vec<Operation>) -> Self {
        Injection { call, what: InjectedEvent::Together(processes), meanwhile: requests }
    }

    /// The edits that are made while the call waits.
    pub fn edits(&self) -> impl Iterator<Item = &Edit> {
        self.meanwhile.iter().filter_map(|operation| match operation {
            Operation::Edit(edit) => Some(edit),
            _ => None,
        })
    }

    /// An injection of a request to another process while a call waits.
    pub fn overlapped(call: CallPosition, request: Request<Target>) -> Self {
        Injection { call, what: InjectedEvent::Overlap, meanwhile: vec![Operation::Ask(request)] }
    }

    /// Checks that the operations in `meanwhile` are possible for the effect.
    ///
    /// # Errors
    /// The operations that are allowed instead, in words.
    pub(crate) fn is_possible(&self) -> Result<(), &'static str> {
        use Request::{Checkpoint, Diff, EnsureCheckpoint, List, Prune, Status, Sweep};
        let may_overlap = |request: &Request<Target>| {
            matches!(
                request,
                Checkpoint { .. } | EnsureCheckpoint { .. } | List { .. } | Prune { .. } | Sweep
            )
        };
        let may_be_together = |operation: &Operation| match operation {
            Operation::Ask(Diff { .. } | Status) => true,
            Operation::Ask(request) => may_overlap(request),
            operation => *operation == Event::Store(StoreEvent::Collected).into(),
        };
        let is_suitable = match (self.what, &self.meanwhile[..]) {
            (InjectedEvent::Hold, edits) => {
                edits.iter().all(|edit| matches!(edit, Operation::Edit(_)))
            }
            (InjectedEvent::Overlap, [Operation::Ask(request)]) => may_overlap(request),
            (InjectedEvent::Overlap, _) => false,
            (InjectedEvent::Together(processes), requests) => {
                processes > 0 && !requests.is_empty() && requests.iter().all(may_be_together)
            }
            (_, meanwhile) => meanwhile.is_empty(),
        };
        is_suitable.then_some(()).ok_or(
            "`meanwhile` has edits where a call is held, one checkpoint, list, prune or sweep where it \
             overlaps another process, such requests, diffs, statuses and `git gc` where several \
             processes are asked together, and nothing else",
        )
    }
}

/// The call of a request at which an injection happens. Only calls at which the effect is possible are
/// counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallPosition {
    /// The call with this number, from 1. 0 means before the first call; a file cannot contain it.
    Call(u64),
    /// After the answer.
    End,
    /// Every call, with a run of the entire history for each.
    Every,
    /// This many calls, evenly spread, with a run of the entire history for each.
    Spread(u64),
}

impl CallPosition {
    /// Whether the history is run several times, once for each call.
    pub fn is_for_several(self) -> bool {
        matches!(self, CallPosition::Every | CallPosition::Spread(_))
    }
}

/// The effect of an injection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InjectedEvent {
    /// The process is killed before the call is made, or half-way through what it writes.
    Kill,
    /// A call that changes something fails with EIO.
    Error,
    /// A call that needs space fails with ENOSPC, once.
    NoSpace,
    /// From that call on, every call that needs space fails with ENOSPC.
    DiskFull,
    /// A call that reads fails with EIO.
    ReadError,
    /// A call writes half of its bytes and reports that number. The core's disk hides this, so only adapters
    /// get it.
    ShortWrite,
    /// The power fails before the call is made.
    PowerLoss(PowerLoss),
    /// The call waits while files are edited.
    Hold,
    /// The call waits while another process handles a request.
    Overlap,
    /// This many other processes get requests at the same time.
    Together(u8),
}

/// The part of the unsynced changes that remains after a power loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PowerLoss {
    /// All names, and no bytes of files that were not synced.
    Names,
    /// All names, and every second changed block of those files.
    Blocks,
    /// Neither names nor bytes of unsynced changes.
    Nothing,
}

impl InjectedEvent {
    /// All effects that need no edits and no requests to other processes.
    pub const ALONE: [InjectedEvent; 9] = [
        InjectedEvent::Kill,
        InjectedEvent::Error,
        InjectedEvent::NoSpace,
        InjectedEvent::DiskFull,
        InjectedEvent::ReadError,
        InjectedEvent::ShortWrite,
        InjectedEvent::PowerLoss(PowerLoss::Names),
        InjectedEvent::PowerLoss(PowerLoss::Blocks),
        InjectedEvent::PowerLoss(PowerLoss::Nothing),
    ];

    /// The name of the effect in a symptom.
    pub fn word(self) -> &'static str {
        match self {
            InjectedEvent::Kill => "kill",
            InjectedEvent::Error => "error",
            InjectedEvent::NoSpace => "no space",
            InjectedEvent::DiskFull => "disk full",
            InjectedEvent::ReadError => "read error",
            InjectedEvent::ShortWrite => "short write",
            InjectedEvent::PowerLoss(_) => "power loss",
            InjectedEvent::Hold => "edited meanwhile",
            InjectedEvent::Overlap => "another process meanwhile",
            InjectedEvent::Together(_) => "several processes together",
        }
    }

    /// Whether the call waits for edits or for another process.
    pub fn waits(self) -> bool {
        matches!(self, InjectedEvent::Hold | InjectedEvent::Overlap)
    }

    /// Whether the effect ends the process, so that there is no answer.
    pub fn ends_process(self) -> bool {
        matches!(self, InjectedEvent::Kill | InjectedEvent::PowerLoss(_))
    }
}

impl FromStr for InjectedEvent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        serde_saphyr::from_str(text).map_err(|error| format!("{text:?} cannot happen: {error}"))
    }
}

/// The words for calls without a number.
const WORDS: [(&str, CallPosition); 2] =
    [("end", CallPosition::End), ("every", CallPosition::Every)];

impl fmt::Display for CallPosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = WORDS.iter().find(|(_, at)| at == self).map(|(word, _)| *word);
        match (word, self) {
            (Some(word), _) => formatter.pad(word),
            (None, CallPosition::Call(number)) => number.fmt(formatter),
            (None, CallPosition::Spread(number)) => write!(formatter, "spread over {number}"),
            (None, _) => Ok(()),
        }
    }
}

impl Serialize for CallPosition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            CallPosition::Call(number) => serializer.serialize_u64(*number),
            CallPosition::Spread(number) => {
                BTreeMap::from([("spread", number)]).serialize(serializer)
            }
            word => serializer.collect_str(word),
        }
    }
}

impl<'de> Deserialize<'de> for CallPosition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(u64),
            Word(String),
            Spread { spread: u64 },
        }
        let word = match Written::deserialize(deserializer) {
            Ok(Written::Number(number @ 1..)) => return Ok(CallPosition::Call(number)),
            Ok(Written::Word(word)) => word,
            Ok(Written::Spread { spread: spread @ 1.. }) => {
                return Ok(CallPosition::Spread(spread));
            }
            Ok(_) | Err(_) => String::new(),
        };
        let found = WORDS.iter().find(|(name, _)| *name == word);
        let invalid =
            || Error::custom("a call is a number from 1, `end`, `every` or `{spread: 12}`");
        found.map(|(_, at)| *at).ok_or_else(invalid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Operation, String> {
        serde_saphyr::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn inject_operations_round_trip_through_yaml() {
        for (text, call, effect) in [
            ("inject: {call: 3, what: kill}", CallPosition::Call(3), InjectedEvent::Kill),
            (
                "inject: {call: every, what: disk_full}",
                CallPosition::Every,
                InjectedEvent::DiskFull,
            ),
            (
                "inject: {call: {spread: 12}, what: error}",
                CallPosition::Spread(12),
                InjectedEvent::Error,
            ),
            (
                "inject: {call: end, what: {power_loss: names}}",
                CallPosition::End,
                InjectedEvent::PowerLoss(PowerLoss::Names),
            ),
        ] {
            let injection = Operation::Event(Event::Inject(Injection::new(call, effect)));
            assert_eq!(read(text), Ok(injection.clone()));
            let written = serde_saphyr::to_string(&injection).unwrap();
            assert_eq!(read(&written), Ok(injection), "{written}");
        }
    }

    #[test]
    fn is_possible_checks_the_operations_that_happen_meanwhile() {
        let prune = "prune: {retention_days: 0, max_total_bytes: 0, delete_orphans: true}";
        for (effect, meanwhile, is_possible) in [
            ("hold", "make_directory: {path: work/a}", true),
            ("hold", "sweep", false),
            ("overlap", "sweep", true),
            ("overlap", prune, true),
            ("overlap", "sweep, sweep", false),
            ("overlap", "clear", false),
            ("overlap", "", false),
            ("kill", "sweep", false),
            ("kill", "", true),
            ("{together: 3}", "sweep, status, {store: collected}", true),
            ("{together: 3}", "", false),
            ("{together: 0}", "sweep", false),
            ("{together: 3}", "clear", false),
        ] {
            let text = format!("inject: {{call: 1, what: {effect}, meanwhile: [{meanwhile}]}}");
            let Ok(Operation::Event(Event::Inject(injection))) = read(&text) else {
                panic!("{text}: {:?}", read(&text))
            };
            assert_eq!(injection.is_possible().is_ok(), is_possible, "{text}");
        }
    }

    #[test]
    fn inject_with_an_invalid_call_is_refused_with_the_valid_forms() {
        for text in ["inject: {call: 0, what: kill}", "inject: {call: all, what: kill}"] {
            let error = read(text).unwrap_err();
            assert!(error.contains("a number from 1, `end`, `every`"), "{error}");
        }
    }
}
