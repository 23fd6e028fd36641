//! Histories in which several processes get requests at the same time, round after round. They contain
//! nothing else, since no seed determines the answers of such processes.
//!
//! Files change only between rounds, or by the one restore of a round: no rule decides what a checkpoint
//! contains while its project changes.

use super::idiom::{PRUNE, checkpoint, once_in, restore, write};
use crate::history::{CallPosition, Event, History, Injection, Operation, StoreEvent, Target};
use herma_model::{ByteString, Request, Settings};
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use std::ops::RangeInclusive;

const PROJECTS: [&str; 2] = ["work/alpha", "work/beta"];
/// The number of files of a project that change in a round, and of those that do not.
const FILES: usize = 6;
/// The number of checkpoints per project that some stores keep.
const FEW: usize = 3;
/// The seconds between two rounds: more than the interval of sweeps.
const ROUND: i64 = 25 * 60 * 60;

/// Generated numbers that determine a request.
#[derive(Clone, Copy, Debug)]
struct Choice {
    /// The index of the project.
    project: usize,
    /// The kind of request and its parameters.
    kind: u32,
}

/// One of these histories in one of `one_in` cases, with so many other processes; never if `one_in` is 0.
pub fn history(
    one_in: u32,
    processes: RangeInclusive<u8>,
) -> impl Strategy<Value = Option<History>> {
    let rounds = processes.prop_flat_map(|processes| vec(round(processes), 1..=4));
    let few = prop::bool::weighted(0.3);
    let history = (few, rounds).prop_map(|(few, rounds)| {
        let default = Settings::default();
        let max_snapshots = if few { FEW } else { default.max_snapshots };
        let settings = Settings { max_snapshots, ..default };
        let operations =
            rounds.into_iter().enumerate().flat_map(|(number, round)| round.operations(number));
        History { settings, plain_home: true, operations: operations.collect(), workspace: None }
    });
    once_in(one_in, history.prop_map(Some))
}

/// The requests that are made at the same time, with the edits before and the checks afterwards.
#[derive(Clone, Debug)]
struct Round {
    /// The number of other processes.
    processes: u8,
    /// Whether each project changes before the round.
    changed: [bool; 2],
    /// The request of the first process.
    first: Choice,
    /// The requests of the other processes.
    others: Vec<Choice>,
    /// The call at which the first of the other processes is killed.
    kill: Option<u64>,
    /// Whether plain `git gc` runs in the round.
    collects: bool,
    /// The checkpoint that is compared after the round.
    compared: Choice,
    /// The checkpoint that is restored after the round.
    restored: Choice,
}

fn round(processes: u8) -> impl Strategy<Value = Round> {
    let choice =
        || (0..PROJECTS.len(), any::<u32>()).prop_map(|(project, kind)| Choice { project, kind });
    let count = usize::from(processes);
    let changed = [prop::bool::weighted(0.75), prop::bool::weighted(0.75)];
    let requests = (choice(), vec(choice(), count..=3 * count));
    let disturbances = (weighted(0.3, 1..=60u64), prop::bool::weighted(0.25));
    (changed, requests, disturbances, choice(), choice()).prop_map(
        move |(changed, (first, others), (kill, collects), compared, restored)| Round {
            processes,
            changed,
            first,
            others,
            kill,
            collects,
            compared,
            restored,
        },
    )
}

impl Round {
    /// The operations of the round with this number.
    fn operations(self, number: usize) -> Vec<Operation> {
        let mut operations = Vec::new();
        for (project, changed) in PROJECTS.iter().zip(self.changed) {
            let files = match (number, changed) {
                (0, _) => 2 * FILES,
                (_, true) => FILES,
                (_, false) => 0,
            };
            for file in 0..files {
                let folder = if file % 3 == 0 { "folder/" } else { "" };
                let path = format!("{project}/{folder}{file}.txt");
                let content = format!("{project}, file {file} of round {number}\n");
                operations.push(write(&path.as_str().into(), &content.as_str().into(), false));
            }
        }
        operations.push(Event::Advance { seconds: ROUND }.into());
        let others = self.others.iter().enumerate();
        let mut requests: Vec<Operation> = others
            .map(|(index, choice)| request(*choice, &format!("round {number}, {index}")).into())
            .collect();
        if self.collects {
            requests.push(Event::Store(StoreEvent::Collected).into());
        }
        let kill = self.kill.map_or(CallPosition::End, CallPosition::Call);
        operations.push(Event::Inject(Injection::together(kill, self.processes, requests)).into());
        operations.push(self.first_request(number));
        if self.kill.is_some() {
            // The next checkpoint is taken, whatever locks the killed process held.
            operations.extend(PROJECTS.map(|project| checkpoint(&project.into())));
        }
        let Choice { project, kind: back } = self.compared;
        let target = Target::Number(1 + back % 4);
        operations.push(Request::Diff { dir: PROJECTS[project].into(), target }.into());
        let Choice { project, kind: back } = self.restored;
        operations.push(restore(&PROJECTS[project].into(), 1 + back % 4, back % 8 == 0));
        operations
    }

    /// The request of the first process.
    fn first_request(&self, number: usize) -> Operation {
        let Choice { project, kind } = self.first;
        match kind % 3 {
            0 => restore(&PROJECTS[project].into(), 1 + kind / 3 % 4, false),
            _ => request(self.first, &format!("round {number}")).into(),
        }
    }
}

fn request(Choice { project, kind }: Choice, reason: &str) -> Request<Target> {
    let dir = ByteString::from(PROJECTS[project]);
    match kind / 12 % 20 {
        0..4 => Request::List { dir },
        4..6 => Request::Diff { dir, target: Target::Number(1 + kind % 4) },
        6..8 => PRUNE,
        8 => Request::Sweep,
        9 => Request::Status,
        _ => Request::Checkpoint { dir, reason: reason.to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Options, generate_history};
    use crate::history::file::{from_yaml, to_yaml};
    use crate::history::{CallPosition, Operation};
    use std::collections::BTreeSet;

    #[test]
    fn draw_with_together_makes_every_concurrent_request_and_round_trips_as_yaml() {
        let options = Options { together: 1, processes: 2..=4, ..Options::default() };
        let mut names = BTreeSet::new();
        let mut kills = 0;
        let mut collects = 0;
        for history in (0..60).map(|number| generate_history(&options, 1, number)) {
            assert_eq!(from_yaml(&to_yaml(&history), "here".as_ref()).unwrap(), history);
            for (_, injection) in history.injections() {
                assert!(injection.is_possible().is_ok(), "{injection:?}");
                kills += u64::from(injection.call != CallPosition::End);
                for operation in &injection.meanwhile {
                    match operation {
                        Operation::Ask(request) => drop(names.insert(request.name())),
                        _ => collects += 1,
                    }
                }
            }
        }
        let expected = ["checkpoint", "diff", "list", "prune", "status", "sweep"];
        assert_eq!(names.into_iter().collect::<Vec<_>>(), expected);
        assert!(kills > 5 && collects > 5, "{kills} {collects}");
    }
}
