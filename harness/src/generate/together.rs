//! Histories of several processes that are asked at the same time, round after round. Nothing else happens
//! in them: which answers such processes give no seed says.
//!
//! Files change between rounds only, or by the one restore of a round: what a checkpoint beside a change
//! of the same project holds is for no rule to say.

use super::idiom::{PRUNE, checkpoint, once_in, restore, write};
use crate::history::{At, Event, History, Injection, Operation, StoreEvent, Target};
use herma_model::{ByteString, Request, Settings};
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use std::ops::RangeInclusive;

const PROJECTS: [&str; 2] = ["work/alpha", "work/beta"];
/// How many files of a project change in a round, and how many it has besides.
const FILES: usize = 6;
/// How many checkpoints of a project some stores keep.
const FEW: usize = 3;
/// More than between two sweeps.
const ROUND: i64 = 25 * 60 * 60;

/// A project and a number, of which a request is made.
type Drawn = (usize, u32);

/// One of these histories in one case of so many, of so many other processes; in none for 0.
pub fn history(
    one_in: u32,
    processes: RangeInclusive<u8>,
) -> impl Strategy<Value = Option<History>> {
    let rounds = processes.prop_flat_map(|processes| vec(round(processes), 1..=4));
    let few = prop::bool::weighted(0.3);
    let drawn = (few, rounds).prop_map(|(few, rounds)| {
        let usual = Settings::default();
        let max_snapshots = if few { FEW } else { usual.max_snapshots };
        let settings = Settings { max_snapshots, ..usual };
        let operations = rounds.into_iter().enumerate().flat_map(|(number, one)| one.of(number));
        History { settings, plain_home: true, operations: operations.collect(), workspace: None }
    });
    once_in(one_in, drawn.prop_map(Some))
}

#[derive(Clone, Debug)]
struct Round {
    processes: u8,
    /// The projects that change.
    changed: [bool; 2],
    own: Drawn,
    others: Vec<Drawn>,
    /// At which call the first other process is killed.
    kill: Option<u64>,
    collects: bool,
    compared: Drawn,
    restored: Drawn,
}

fn round(processes: u8) -> impl Strategy<Value = Round> {
    let drawn = || (0..PROJECTS.len(), any::<u32>());
    let count = usize::from(processes);
    let changed = [prop::bool::weighted(0.75), prop::bool::weighted(0.75)];
    let asked = (drawn(), vec(drawn(), count..=3 * count));
    let beside = (weighted(0.3, 1..=60u64), prop::bool::weighted(0.25));
    (changed, asked, beside, drawn(), drawn()).prop_map(
        move |(changed, (own, others), (kill, collects), compared, restored)| Round {
            processes,
            changed,
            own,
            others,
            kill,
            collects,
            compared,
            restored,
        },
    )
}

impl Round {
    fn of(self, number: usize) -> Vec<Operation> {
        let mut all = Vec::new();
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
                all.push(write(&path.as_str().into(), &content.as_str().into(), false));
            }
        }
        all.push(Event::Advance { seconds: ROUND }.into());
        let asked = self.others.iter().enumerate();
        let mut asked: Vec<Operation> =
            asked.map(|(at, one)| request(*one, &format!("round {number}, {at}")).into()).collect();
        if self.collects {
            asked.push(Event::Store(StoreEvent::Collected).into());
        }
        let kill = self.kill.map_or(At::End, At::Call);
        all.push(Event::Inject(Injection::together(kill, self.processes, asked)).into());
        all.push(self.own(number));
        if self.kill.is_some() {
            // Whatever the dead process held, the next checkpoint is taken.
            all.extend(PROJECTS.map(|project| checkpoint(&project.into())));
        }
        let (project, back) = self.compared;
        let target = Target::Number(1 + back % 4);
        all.push(Request::Diff { dir: PROJECTS[project].into(), target }.into());
        let (project, back) = self.restored;
        all.push(restore(&PROJECTS[project].into(), 1 + back % 4, back % 8 == 0));
        all
    }

    /// The request beside which the other processes are asked.
    fn own(&self, number: usize) -> Operation {
        let (project, kind) = self.own;
        match kind % 3 {
            0 => restore(&PROJECTS[project].into(), 1 + kind / 3 % 4, false),
            _ => request(self.own, &format!("round {number}")).into(),
        }
    }
}

fn request((project, kind): Drawn, reason: &str) -> Request<Target> {
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
    use super::super::{Options, draw};
    use crate::history::file::{from_yaml, to_yaml};
    use crate::history::{At, Operation};
    use std::collections::BTreeSet;

    #[test]
    fn all_that_may_be_asked_together_is_drawn_and_reads_back_as_it_is_written() {
        let options = Options { together: 1, processes: 2..=4, ..Options::default() };
        let (mut asked, mut kills, mut collects) = (BTreeSet::new(), 0, 0);
        for history in (0..60).map(|number| draw(&options, 1, number)) {
            assert_eq!(from_yaml(&to_yaml(&history), "here".as_ref()).unwrap(), history);
            for (_, injection) in history.injections() {
                assert!(injection.is_possible().is_ok(), "{injection:?}");
                kills += u64::from(injection.call != At::End);
                for one in &injection.meanwhile {
                    match one {
                        Operation::Ask(request) => drop(asked.insert(request.name())),
                        _ => collects += 1,
                    }
                }
            }
        }
        let all = ["checkpoint", "diff", "list", "prune", "status", "sweep"];
        assert_eq!(asked.into_iter().collect::<Vec<_>>(), all);
        assert!(kills > 5 && collects > 5, "{kills} {collects}");
    }
}
