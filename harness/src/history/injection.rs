//! Injections: what a history makes happen at one call to the disk of the request that comes next.
//!
//! An injection is an operation like any other, so that a history without it is a history, too. How it
//! is made to happen is `crate::inject`'s affair, what may be answered then is the model's.

use super::{Event, Operation, StoreEvent, Target};
use herma_model::{Edit, Request};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Something that happens at one call of the next request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Injection {
    /// At which of its calls.
    pub call: At,
    /// What happens there.
    pub what: What,
    /// What the call waits for: edits where it is held, one request of another process where it overlaps
    /// that. Of several processes it is what the others are asked at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meanwhile: Vec<Operation>,
}

impl Injection {
    /// Something that happens at a call and is no edit.
    pub fn new(call: At, what: What) -> Self {
        Injection { call, what, meanwhile: Vec::new() }
    }

    /// Somebody makes edits while a call waits.
    pub fn edited(call: At, edits: Vec<Edit>) -> Self {
        let meanwhile = edits.into_iter().map(Operation::Edit).collect();
        Injection { call, what: What::Hold, meanwhile }
    }

    /// The next request is asked of a process of its own, and at the same time so many others these, dealt to
    /// them in turn. The first of these is killed at that call; [`At::End`] kills none.
    pub fn together(call: At, processes: u8, asked: Vec<Operation>) -> Self {
        Injection { call, what: What::Together(processes), meanwhile: asked }
    }

    /// The edits that are made meanwhile.
    pub fn edits(&self) -> impl Iterator<Item = &Edit> {
        self.meanwhile.iter().filter_map(|one| match one {
            Operation::Edit(edit) => Some(edit),
            _ => None,
        })
    }

    /// Another process is asked something while a call waits.
    pub fn overlapped(call: At, request: Request<Target>) -> Self {
        Injection { call, what: What::Overlap, meanwhile: vec![Operation::Ask(request)] }
    }

    /// Whether that happens meanwhile which may.
    ///
    /// # Errors
    /// What else may, in words.
    pub(crate) fn is_possible(&self) -> Result<(), &'static str> {
        use Request::{Checkpoint, Diff, EnsureCheckpoint, List, Prune, Status, Sweep};
        let may_overlap = |asked: &Request<Target>| {
            matches!(
                asked,
                Checkpoint { .. } | EnsureCheckpoint { .. } | List { .. } | Prune { .. } | Sweep
            )
        };
        let may_be_together = |operation: &Operation| match operation {
            Operation::Ask(Diff { .. } | Status) => true,
            Operation::Ask(asked) => may_overlap(asked),
            other => *other == Event::Store(StoreEvent::Collected).into(),
        };
        let is_right = match (self.what, &self.meanwhile[..]) {
            (What::Hold, edits) => edits.iter().all(|one| matches!(one, Operation::Edit(_))),
            (What::Overlap, [Operation::Ask(asked)]) => may_overlap(asked),
            (What::Overlap, _) => false,
            (What::Together(processes), asked) => {
                processes > 0 && !asked.is_empty() && asked.iter().all(may_be_together)
            }
            (_, meanwhile) => meanwhile.is_empty(),
        };
        is_right.then_some(()).ok_or(
            "`meanwhile` has edits where a call is held, one checkpoint, list, prune or sweep where it \
             overlaps another process, such requests, diffs, statuses and `git gc` where several \
             processes are asked together, and nothing else",
        )
    }
}

/// At which call of a request, of those that count for what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// At this one, from 1; 0 is before the first, which a file cannot say.
    Call(u64),
    /// After it was answered.
    End,
    /// At each of them, in a run of the whole history for each.
    Every,
    /// The same at so many of them, evenly spread.
    Spread(u64),
}

impl At {
    /// Whether it stands for a run for each call.
    pub fn is_for_several(self) -> bool {
        matches!(self, At::Every | At::Spread(_))
    }
}

/// What happens at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The process is killed before the call is made, or half-way through what it writes.
    Kill,
    /// A call that changes something fails with EIO.
    Error,
    /// A call that needs space fails with ENOSPC, once.
    NoSpace,
    /// From that call on, each that needs space fails with ENOSPC.
    DiskFull,
    /// A call that reads fails with EIO.
    ReadError,
    /// A call writes half of its bytes and says so, which the core's disk never shows: it comes to
    /// adapters only.
    ShortWrite,
    /// The power goes before the call is made.
    PowerLoss(Left),
    /// The call waits while somebody edits files.
    Hold,
    /// The call waits while another process is asked something.
    Overlap,
    /// So many other processes are asked something at the same time.
    Together(u8),
}

/// What a power loss leaves of the changes that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Left {
    /// All names, and no bytes of files that were not synced.
    Names,
    /// All names, and every second changed block of those files.
    Blocks,
    /// Neither names nor bytes.
    Nothing,
}

impl What {
    /// All that needs nobody who does something meanwhile.
    pub const ALONE: [What; 9] = [
        What::Kill,
        What::Error,
        What::NoSpace,
        What::DiskFull,
        What::ReadError,
        What::ShortWrite,
        What::PowerLoss(Left::Names),
        What::PowerLoss(Left::Blocks),
        What::PowerLoss(Left::Nothing),
    ];

    /// What it is called in a symptom.
    pub fn word(self) -> &'static str {
        match self {
            What::Kill => "kill",
            What::Error => "error",
            What::NoSpace => "no space",
            What::DiskFull => "disk full",
            What::ReadError => "read error",
            What::ShortWrite => "short write",
            What::PowerLoss(_) => "power loss",
            What::Hold => "edited meanwhile",
            What::Overlap => "another process meanwhile",
            What::Together(_) => "several processes together",
        }
    }

    /// Whether the call waits until somebody did something.
    pub fn waits(self) -> bool {
        matches!(self, What::Hold | What::Overlap)
    }

    /// Whether it ends the process, so that nothing is answered.
    pub fn ends_process(self) -> bool {
        matches!(self, What::Kill | What::PowerLoss(_))
    }
}

impl FromStr for What {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        serde_saphyr::from_str(text).map_err(|error| format!("{text:?} cannot happen: {error}"))
    }
}

/// The words for what is no number.
const WORDS: [(&str, At); 2] = [("end", At::End), ("every", At::Every)];

impl fmt::Display for At {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = WORDS.iter().find(|(_, at)| at == self).map(|(word, _)| *word);
        match (word, self) {
            (Some(word), _) => formatter.pad(word),
            (None, At::Call(number)) => number.fmt(formatter),
            (None, At::Spread(number)) => write!(formatter, "spread over {number}"),
            (None, _) => Ok(()),
        }
    }
}

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            At::Call(number) => serializer.serialize_u64(*number),
            At::Spread(number) => BTreeMap::from([("spread", number)]).serialize(serializer),
            word => serializer.collect_str(word),
        }
    }
}

impl<'de> Deserialize<'de> for At {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(u64),
            Word(String),
            Spread { spread: u64 },
        }
        let word = match Written::deserialize(deserializer) {
            Ok(Written::Number(number @ 1..)) => return Ok(At::Call(number)),
            Ok(Written::Word(word)) => word,
            Ok(Written::Spread { spread: spread @ 1.. }) => return Ok(At::Spread(spread)),
            Ok(_) | Err(_) => String::new(),
        };
        let found = WORDS.iter().find(|(one, _)| *one == word);
        let wrong = || Error::custom("a call is a number from 1, `end`, `every` or `{spread: 12}`");
        found.map(|(_, at)| *at).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Operation, String> {
        serde_saphyr::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn an_injection_is_read_as_it_is_written() {
        for (text, call, what) in [
            ("inject: {call: 3, what: kill}", At::Call(3), What::Kill),
            ("inject: {call: every, what: disk_full}", At::Every, What::DiskFull),
            ("inject: {call: {spread: 12}, what: error}", At::Spread(12), What::Error),
            (
                "inject: {call: end, what: {power_loss: names}}",
                At::End,
                What::PowerLoss(Left::Names),
            ),
        ] {
            let injection = Operation::Event(Event::Inject(Injection::new(call, what)));
            assert_eq!(read(text), Ok(injection.clone()));
            let written = serde_saphyr::to_string(&injection).unwrap();
            assert_eq!(read(&written), Ok(injection), "{written}");
        }
    }

    #[test]
    fn what_happens_meanwhile_is_edits_or_one_request() {
        let prune = "prune: {retention_days: 0, max_total_bytes: 0, delete_orphans: true}";
        for (what, meanwhile, is_possible) in [
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
            let text = format!("inject: {{call: 1, what: {what}, meanwhile: [{meanwhile}]}}");
            let Ok(Operation::Event(Event::Inject(injection))) = read(&text) else {
                panic!("{text}: {:?}", read(&text))
            };
            assert_eq!(injection.is_possible().is_ok(), is_possible, "{text}");
        }
    }

    #[test]
    fn what_is_no_call_is_refused_with_what_is() {
        for text in ["inject: {call: 0, what: kill}", "inject: {call: all, what: kill}"] {
            let error = read(text).unwrap_err();
            assert!(error.contains("a number from 1, `end`, `every`"), "{error}");
        }
    }
}
