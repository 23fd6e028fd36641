//! Stories: a few operations in a row on one project, of which the last one meets the fault. What a
//! fault in an earlier one leaves is what a shorter story shows.

use super::Operation;
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Operations that leave something behind for the next one.
const EARLIER: [Operation; 3] = [Operation::Take, Operation::Restore, Operation::Prune];
/// Between operations, where a story is spelled.
const AND: &str = "+";

/// At least one operation. The first one is a checkpoint, since without one nothing can be lost.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Story(Vec<Operation>);

impl Story {
    /// Those that are run where nobody says which: the first checkpoint of all, and every operation
    /// after two checkpoints.
    pub fn usual() -> Vec<Story> {
        let after_two = |last| Story(vec![Operation::Take, Operation::Take, last]);
        let first = Story(vec![Operation::Take]);
        [first].into_iter().chain(Operation::ALL.map(after_two)).collect()
    }

    /// A restore after two checkpoints.
    pub fn after_two_checkpoints() -> Story {
        Story(vec![Operation::Take, Operation::Take, Operation::Restore])
    }

    /// All with up to so many operations.
    pub fn up_to(length: usize) -> Vec<Story> {
        let mut all = Vec::new();
        let mut earlier = vec![Vec::new()];
        for _ in 0..length {
            let is_first = all.is_empty();
            let last: &[Operation] = if is_first { &[Operation::Take] } else { &Operation::ALL };
            let with = |before: &Vec<Operation>, one: &Operation| {
                Story(before.iter().chain([one]).copied().collect())
            };
            all.extend(earlier.iter().flat_map(|before| last.iter().map(|one| with(before, one))));
            let next =
                earlier.iter().flat_map(|before| EARLIER.iter().map(|one| with(before, one)));
            earlier = next.map(|story| story.0).filter(|one| one[0] == Operation::Take).collect();
        }
        all
    }

    /// The one that meets the fault.
    pub fn last(&self) -> Operation {
        self.0[self.0.len() - 1]
    }

    /// How many checkpoints it begins with, beside the last operation.
    pub fn takes(&self) -> usize {
        let earlier = self.0[..self.0.len() - 1].iter();
        earlier.take_while(|operation| **operation == Operation::Take).count()
    }

    /// What comes between those and the last operation.
    pub fn middle(&self) -> &[Operation] {
        &self.0[self.takes()..self.0.len() - 1]
    }

    /// What a subject must be able to for it.
    pub fn needs(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().filter_map(|operation| operation.needs())
    }
}

impl fmt::Display for Story {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|operation| operation.name()).collect();
        formatter.pad(&names.join(AND))
    }
}

impl FromStr for Story {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all: Vec<Operation> = text.split(AND).map(str::parse).collect::<Result<_, _>>()?;
        match all[0] {
            Operation::Take => Ok(Story(all)),
            other => Err(format!("a story begins with a take, not with a {other}")),
        }
    }
}

impl Serialize for Story {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn stories_are_all_that_begin_with_a_checkpoint_and_each_is_spelled_as_it_is_read() {
        let all = Story::up_to(3);
        assert_eq!(all.len(), 1 + 7 + 3 * 7);
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(Story::usual().iter().all(|story| all.contains(story)));
        for story in all {
            assert_eq!(story.to_string().parse(), Ok(story));
        }
        let story: Story = "take+take+restore+take+list".parse().unwrap();
        assert_eq!((story.takes(), story.last()), (2, Operation::List));
        assert_eq!(story.middle(), [Operation::Restore, Operation::Take]);
        let first: Story = "take".parse().unwrap();
        assert_eq!((first.takes(), first.middle().len()), (0, 0));
        assert!("restore".parse::<Story>().is_err() && "take+".parse::<Story>().is_err());
    }
}
