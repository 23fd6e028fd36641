//! What came of a run: how often each rule was checked, and what was found. Runs of the same agent add up.

use super::agent::DoorHello;
use super::story::Story;
use super::telling::Told;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// How often a failure is repeated.
pub const REPEATS: usize = 3;

/// What is known about a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoorVerdict {
    /// A story failed each of [`REPEATS`] times.
    Broken,
    /// A story failed, but not each time.
    Doubtful,
    /// It was checked, and no story failed.
    Holds,
    /// No story checked it.
    NotTested,
}

/// A rule that an agent broke.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DoorFinding {
    /// The rule.
    pub rule: String,
    /// What was seen in the smallest story.
    pub text: String,
    /// How many stories broke it.
    pub stories: usize,
    /// How often the smallest story was repeated, at most [`REPEATS`] times.
    pub repeats: usize,
    /// How often it broke the rule again.
    pub repeated: usize,
    /// The smallest story.
    pub story: Story,
    /// What happened in it.
    pub transcript: Vec<String>,
}

impl DoorFinding {
    /// Whether it failed each time.
    pub fn is_stable(&self) -> bool {
        self.repeated == REPEATS
    }

    /// What makes another finding of the same rule more useful.
    fn rank(&self) -> (Reverse<bool>, usize, usize) {
        (Reverse(self.is_stable()), self.story.turns(), self.story.size())
    }
}

/// What came of a run, or of several.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DoorResults {
    /// The agent.
    pub hello: DoorHello,
    /// The day of the run; of several, the last.
    #[serde(default)]
    pub date: String,
    /// The seeds of the stories.
    pub seeds: BTreeSet<u64>,
    /// How many stories were told.
    pub stories: usize,
    /// How many turns they had.
    pub turns: usize,
    /// How long it took.
    pub seconds: u64,
    /// How often each rule was checked.
    pub checks: BTreeMap<String, u64>,
    /// What was found, one for each rule.
    pub findings: Vec<DoorFinding>,
    /// Why stories were not judged to their end, and how many.
    pub unjudged: BTreeMap<String, usize>,
    /// How many processes were left running, and killed.
    pub left_running: usize,
}

impl DoorResults {
    /// Adds a story.
    pub fn add_story(&mut self, told: &Told) {
        self.stories += 1;
        self.turns += told.turns;
        self.left_running += told.left_running;
        for (rule, count) in &told.checks {
            *self.checks.entry((*rule).to_owned()).or_default() += count;
        }
        if let Some(why) = told.unjudged.as_ref().or(told.infrastructure.as_ref()) {
            *self.unjudged.entry(why.clone()).or_default() += 1;
        }
    }

    /// Adds another run of the same agent.
    fn add(&mut self, run: DoorResults) {
        self.date = std::mem::take(&mut self.date).max(run.date);
        // A later adapter may drive more of the agent, and knows it better.
        if run.hello.capabilities.0.len() >= self.hello.capabilities.0.len() {
            self.hello = run.hello;
        }
        self.seeds.extend(run.seeds);
        self.stories += run.stories;
        self.turns += run.turns;
        self.seconds += run.seconds;
        self.left_running += run.left_running;
        for (rule, count) in run.checks {
            *self.checks.entry(rule).or_default() += count;
        }
        for (why, count) in run.unjudged {
            *self.unjudged.entry(why).or_default() += count;
        }
        for finding in run.findings {
            match self.findings.iter_mut().find(|known| known.rule == finding.rule) {
                None => self.findings.push(finding),
                Some(known) => {
                    let stories = known.stories + finding.stories;
                    if finding.rank() < known.rank() {
                        *known = finding;
                    }
                    known.stories = stories;
                }
            }
        }
    }

    /// What is known about a rule.
    pub fn verdict(&self, rule: &str) -> DoorVerdict {
        match self.finding(rule) {
            Some(finding) if finding.is_stable() => DoorVerdict::Broken,
            Some(_) => DoorVerdict::Doubtful,
            None if self.checks.contains_key(rule) => DoorVerdict::Holds,
            None => DoorVerdict::NotTested,
        }
    }

    /// What was found of a rule.
    pub fn finding(&self, rule: &str) -> Option<&DoorFinding> {
        self.findings.iter().find(|finding| finding.rule == rule)
    }

    /// How many stories were not judged to their end.
    pub fn unjudged_stories(&self) -> usize {
        self.unjudged.values().sum()
    }
}

/// The results of each agent, version and door, in this order.
pub fn merged(runs: Vec<DoorResults>) -> Vec<DoorResults> {
    let mut merged: BTreeMap<[String; 3], DoorResults> = BTreeMap::new();
    for run in runs {
        let hello = &run.hello;
        match merged.entry([&hello.agent, &hello.version, &hello.door].map(String::clone)) {
            Entry::Occupied(mut results) => results.get_mut().add(run),
            Entry::Vacant(entry) => {
                entry.insert(run);
            }
        }
    }
    merged.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front_door::story::StoryOperation;
    use pretty_assertions::assert_eq;

    fn run(seed: u64, repeated: usize, turns: usize) -> DoorResults {
        let operations = vec![StoryOperation::TALK; turns];
        let finding = DoorFinding {
            rule: "agent-door/a".to_owned(),
            text: format!("seed {seed}"),
            stories: 2,
            repeats: REPEATS,
            repeated,
            story: Story { operations, ..Story::default() },
            transcript: Vec::new(),
        };
        DoorResults {
            seeds: [seed].into(),
            stories: 5,
            turns: 9,
            seconds: 7,
            checks: [("agent-door/a".to_owned(), 4), ("agent-door/b".to_owned(), 1)].into(),
            findings: vec![finding],
            unjudged: [("why".to_owned(), 1)].into(),
            ..DoorResults::default()
        }
    }

    #[test]
    fn merged_adds_runs_of_the_same_agent_and_keeps_the_shortest_failure_that_shows_each_time() {
        let mut of_other = run(4, REPEATS, 1);
        of_other.hello.agent = "other".to_owned();
        let mut with_undo = run(2, 1, 1);
        with_undo.hello.capabilities.0.insert("undo".to_owned());
        let runs = vec![with_undo, run(1, REPEATS, 3), run(3, REPEATS, 2), of_other];
        let merged = merged(runs);
        assert_eq!(merged.iter().map(|results| results.stories).collect::<Vec<_>>(), [15, 5]);
        let results = &merged[0];
        assert!(results.hello.capabilities.has("undo"), "{:?}", results.hello);
        assert_eq!((results.turns, results.seconds, results.unjudged_stories()), (27, 21, 3));
        assert_eq!(results.seeds, [1, 2, 3].into());
        assert_eq!(results.checks["agent-door/a"], 12);
        let finding = results.finding("agent-door/a").unwrap();
        assert_eq!((&*finding.text, finding.stories), ("seed 3", 6));
    }

    #[test]
    fn verdict_is_doubtful_if_a_failure_does_not_show_each_time() {
        let verdicts = |results: &DoorResults| {
            ["agent-door/a", "agent-door/b", "agent-door/c"].map(|rule| results.verdict(rule))
        };
        let rest = [DoorVerdict::Holds, DoorVerdict::NotTested];
        assert_eq!(verdicts(&run(1, 2, 1)), [DoorVerdict::Doubtful, rest[0], rest[1]]);
        assert_eq!(verdicts(&run(1, 3, 1)), [DoorVerdict::Broken, rest[0], rest[1]]);
    }
}
