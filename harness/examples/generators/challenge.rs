//! The tasks of the public shrinking challenge that are sequences of operations, for our search for the
//! shortest history: an operation stands for one element of a list, and a new turn for the end of a list.

use herma_harness::history::{History, Operation};
use herma_harness::shrink::{BUDGET_DEFAULT, shorten};
use herma_model::{Edit, Request};
use proptest::prelude::RngExt;
use proptest::test_runner::{RngAlgorithm, TestRng};
use std::cell::Cell;
use std::collections::BTreeSet;

/// The searches for each task.
const SEARCHES: u8 = 100;

/// A task.
struct ChallengeTask {
    name: &'static str,
    /// What fails, in words.
    fails_if: &'static str,
    operations_min: usize,
    /// The searches that must reach the minimum.
    #[cfg_attr(not(test), expect(dead_code, reason = "only the test reads it"))]
    searches_min: usize,
    fails: fn(&[Vec<u64>]) -> bool,
}

const TASKS: [ChallengeTask; 5] = [
    ChallengeTask {
        name: "reverse",
        fails_if: "the list differs from its reverse",
        operations_min: 2,
        searches_min: 95,
        fails: |lists| {
            let list = lists.concat();
            list.iter().rev().ne(list.iter())
        },
    },
    ChallengeTask {
        name: "distinct",
        fails_if: "the list has three distinct elements",
        operations_min: 3,
        searches_min: 95,
        fails: |lists| lists.concat().into_iter().collect::<BTreeSet<_>>().len() >= 3,
    },
    ChallengeTask {
        name: "large union list",
        fails_if: "the lists together have five distinct elements",
        operations_min: 5,
        searches_min: 95,
        fails: |lists| lists.concat().into_iter().collect::<BTreeSet<_>>().len() >= 5,
    },
    ChallengeTask {
        name: "deletion",
        fails_if: "an element is still in the list after it was deleted once",
        operations_min: 2,
        searches_min: 95,
        fails: |lists| {
            let list = lists.concat();
            (0..list.len()).any(|index| list[index + 1..].contains(&list[index]))
        },
    },
    ChallengeTask {
        name: "coupling",
        fails_if: "two elements are the positions of each other",
        operations_min: 2,
        // Positions change when an element is deleted. Our search lowers the numbers of checkpoints then, but
        // not numbers in the content of files.
        searches_min: 1,
        fails: |lists| {
            let list = lists.concat();
            let at = |index: u64| list.get(usize::try_from(index).ok()?).copied();
            (0..list.len() as u64).any(|index| {
                at(index).is_some_and(|other| other != index && at(other) == Some(index))
            })
        },
    },
];

/// The rows of the table: task, what fails, its minimum, how many searches reached it, and the median of their
/// executions.
pub fn results() -> Vec<[String; 5]> {
    let rows = TASKS.iter().map(|task| {
        let mut executions = Vec::new();
        let mut reached = 0;
        for seed in 0..SEARCHES {
            let history = failing_history(task, seed);
            let count = Cell::new(0);
            let fails = |candidate: &History| {
                count.set(count.get() + 1);
                let last = candidate.operations.len().checked_sub(1)?;
                (task.fails)(&lists(candidate)).then_some(last)
            };
            let last = history.operations.len() - 1;
            let shortest = shorten(&history, last, BUDGET_DEFAULT, &fails);
            reached += usize::from(shortest.operations.len() == task.operations_min);
            executions.push(count.get());
        }
        executions.sort_unstable();
        let median: usize = executions[executions.len() / 2];
        [
            task.name.to_owned(),
            task.fails_if.to_owned(),
            task.operations_min.to_string(),
            format!("{reached} of {SEARCHES}"),
            median.to_string(),
        ]
    });
    rows.collect()
}

/// The first failing history of a seed.
fn failing_history(task: &ChallengeTask, seed: u8) -> History {
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    loop {
        let length = random.random_range(1..=60);
        let operations = (0..length).map(|_| {
            if random.random_bool(0.1) {
                return Operation::Ask(Request::NewTurn);
            }
            let content = random.random_range(0..60_u64).to_string().into_bytes().into();
            Edit::Write { path: "work/alpha/a".into(), content, executable: false }.into()
        });
        let history = History { operations: operations.collect(), ..History::default() };
        if (task.fails)(&lists(&history)) {
            return history;
        }
    }
}

/// The lists that a history stands for; an empty text is 0.
fn lists(history: &History) -> Vec<Vec<u64>> {
    let mut lists = vec![Vec::new()];
    for operation in &history.operations {
        match operation {
            Operation::Edit(Edit::Write { content, .. }) => {
                let number = std::str::from_utf8(content).ok().and_then(|text| text.parse().ok());
                lists.last_mut().expect("one list at least").push(number.unwrap_or_default());
            }
            _ => lists.push(Vec::new()),
        }
    }
    lists
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_task_reaches_its_minimum_often_enough() {
        for ([name, _, _, reached, _], task) in super::results().iter().zip(super::TASKS) {
            let count: usize = reached.split(' ').next().unwrap().parse().unwrap();
            assert!(count >= task.searches_min, "{name}: {reached}");
        }
    }
}
