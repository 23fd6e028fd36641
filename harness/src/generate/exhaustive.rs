//! Every short history: all sequences of few operations from a small alphabet, on an empty project
//! and on one with a checkpoint or two, the shortest first. Most bugs need very few operations, and
//! an exhaustive search does not miss those by chance.

use super::source::Source;
use crate::history::{History, Operation, Target};
use herma_model::{ByteString, Edit, Request};

/// The operations that histories consist of. The first few only prepare something; the last
/// operation of a history is always a request.
fn alphabet() -> Vec<Operation> {
    let dir = || ByteString::from("work/alpha");
    let restore = |number, exact| {
        Operation::Ask(Request::Restore {
            dir: dir(),
            target: Target::Number(number),
            exact,
            force: false,
        })
    };
    let path = ByteString::from("a");
    vec![
        write("work/alpha/a", "one\n", false),
        write("work/alpha/a", "two\r\n", true),
        write("work/alpha/b", "x", false),
        Edit::Remove { path: "work/alpha/a".into() }.into(),
        Edit::Remove { path: dir() }.into(),
        Edit::Link { path: "work/alpha/b".into(), target: "a".into() }.into(),
        Request::NewTurn.into(),
        Request::EnsureCheckpoint { dir: dir(), reason: "before patch".into() }.into(),
        checkpoint("work/alpha"),
        checkpoint("work/beta"),
        Request::List { dir: dir() }.into(),
        Request::Diff { dir: dir(), target: Target::Number(1) }.into(),
        restore(1, false),
        restore(1, true),
        restore(2, false),
        Request::RestoreFile { dir: dir(), target: Target::Number(1), path }.into(),
        Request::Status.into(),
        Operation::Ask(Request::Prune {
            retention_days: 0,
            max_total_bytes: 0,
            delete_orphans: true,
        }),
    ]
}

/// How many of the alphabet only prepare something.
const PREPARING: usize = 7;

fn write(path: &str, content: &str, executable: bool) -> Operation {
    let (path, content) = (path.into(), content.into());
    Edit::Write { path, content, executable }.into()
}

fn checkpoint(dir: &str) -> Operation {
    Request::Checkpoint { dir: dir.into(), reason: "manual".into() }.into()
}

/// What histories begin with.
fn beginnings() -> [Vec<Operation>; 3] {
    let one = vec![write("work/alpha/a", "one\n", false), checkpoint("work/alpha")];
    let again = vec![write("work/alpha/a", "two\r\n", true), checkpoint("work/alpha")];
    [Vec::new(), one.clone(), [one, again].concat()]
}

/// Every history with at most this many operations after its beginning.
pub struct Exhaustive {
    alphabet: Vec<Operation>,
    beginnings: [Vec<Operation>; 3],
    length: u32,
    length_max: u32,
    number: usize,
}

impl Exhaustive {
    /// From the shortest on.
    pub fn new(length_max: u32) -> Self {
        let (alphabet, beginnings) = (alphabet(), beginnings());
        Exhaustive { alphabet, beginnings, length: 1, length_max, number: 0 }
    }
}

impl Source for Exhaustive {
    fn next(&mut self) -> Option<History> {
        while self.length <= self.length_max {
            let letters = self.alphabet.len();
            let sequences = letters.pow(self.length);
            if self.number == sequences * self.beginnings.len() {
                self.length += 1;
                self.number = 0;
                continue;
            }
            let mut operations = self.beginnings[self.number / sequences].clone();
            let mut rest = self.number % sequences;
            self.number += 1;
            let mut last = 0;
            for _ in 0..self.length {
                last = rest % letters;
                operations.push(self.alphabet[last].clone());
                rest /= letters;
            }
            if last >= PREPARING {
                return Some(History { operations, ..History::default() });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_short_history_comes_once_and_asks_for_something_at_its_end() {
        let mut source = Exhaustive::new(2);
        let mut seen = BTreeSet::new();
        while let Some(history) = source.next() {
            assert!(!matches!(history.operations.last(), None | Some(Operation::Edit(_))));
            assert!(seen.insert(format!("{:?}", history.operations)));
        }
        let (letters, asking) = (alphabet().len(), alphabet().len() - PREPARING);
        assert!(seen.len() <= 3 * (asking + letters * asking));
        // Different beginnings and sequences can form the same history, which comes once.
        assert!(seen.len() > 3 * asking * letters);
    }
}
