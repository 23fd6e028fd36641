//! Why a checkpoint is taken, and when a whole agent has one taken by itself: events that are told, and
//! a policy that says which of them are reason enough.
//!
//! Nothing is taken here; [`crate::agent::CheckpointManager::happens`] does what the policy says. It
//! stands below the configuration, which holds a policy, and below the store, which keeps triggers.

use crate::triggers::risk;
use serde::{Deserialize, Serialize};

/// Why a checkpoint is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// A tool that changes files is about to run.
    PreTool,
    /// Something is about to run that cannot be taken back easily.
    PreDestructiveAction,
    /// The goal passed a milestone.
    GoalMilestone,
    /// A card is done.
    CardDone,
    /// A conversation came to the end of so many turns.
    TurnBoundary,
    /// A tool call begins that is going to take long.
    LongToolCall,
    /// A person asked for it.
    Manual,
    /// A rollback is about to change what is there.
    PreRollback,
    /// One that this version does not know.
    #[serde(other)]
    Other,
}

impl Trigger {
    /// Whether it comes before what a turn does, so that a rollback takes that turn away as well.
    pub fn is_before_work(self) -> bool {
        matches!(self, Trigger::PreTool | Trigger::PreDestructiveAction | Trigger::LongToolCall)
    }

    /// The word for it, as it is stored.
    pub fn word(self) -> &'static str {
        match self {
            Trigger::PreTool => "pre_tool",
            Trigger::PreDestructiveAction => "pre_destructive_action",
            Trigger::GoalMilestone => "goal_milestone",
            Trigger::CardDone => "card_done",
            Trigger::TurnBoundary => "turn_boundary",
            Trigger::LongToolCall => "long_tool_call",
            Trigger::Manual => "manual",
            Trigger::PreRollback => "pre_rollback",
            Trigger::Other => "other",
        }
    }
}

/// Which events are reason enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether something of high risk is.
    pub before_high_risk: bool,
    /// So many files changed at once count as a mass edit; 0 is none.
    pub mass_edit_files: usize,
    /// A goal passes a milestone at each such part of a hundred; 0 is none.
    pub milestone_percent: u64,
    /// Whether a card that is done is.
    pub card_done: bool,
    /// Each end of so many turns is; 0 is none.
    pub every_turns: u64,
    /// A call that runs longer than so many seconds is; 0 is none.
    pub long_call_seconds: u64,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            before_high_risk: true,
            mass_edit_files: 20,
            milestone_percent: 25,
            card_done: true,
            every_turns: 0,
            long_call_seconds: 30,
        }
    }
}

/// What is about to happen, or just happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event<'a> {
    /// A line of shell is about to run.
    Command(&'a str),
    /// So many files are about to be changed at once.
    Edit {
        /// How many.
        files: usize,
    },
    /// The progress of a goal went from one number between 0 and 1 to another.
    Progress {
        /// The goal.
        goal: &'a str,
        /// Before.
        from: f64,
        /// Now.
        to: f64,
    },
    /// A card went from one state to another.
    Card {
        /// Its id.
        id: &'a str,
        /// Before; empty for a new one.
        from: &'a str,
        /// Now.
        to: &'a str,
    },
    /// A turn of a conversation ended, counted from 1.
    TurnEnded(u64),
    /// A call begins that is about to take so many seconds.
    LongCall {
        /// What is called.
        what: &'a str,
        /// How long it is expected to take.
        seconds: u64,
    },
}

/// What a policy says of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Why a checkpoint is to be taken; none where none is.
    pub trigger: Option<Trigger>,
    /// In words, why it is, or is not.
    pub why: String,
    /// What tells this event from others: for each, at most one checkpoint is taken. None where the
    /// turn's slot sees to that.
    pub once: Option<String>,
}

impl Policy {
    /// What is to be done about an event; nothing is taken.
    // rule: agent/triggers
    pub fn decide(&self, event: &Event<'_>) -> Decision {
        let not = |why: String| Decision { trigger: None, why, once: None };
        let in_turn = |trigger, why: String| Decision { trigger: Some(trigger), why, once: None };
        let once =
            |trigger, why: String, key| Decision { trigger: Some(trigger), why, once: Some(key) };
        match *event {
            Event::Command(_) | Event::Edit { .. } if !self.before_high_risk => {
                not("checkpoints before what is of high risk are switched off".into())
            }
            Event::Command(command) => match risk(command) {
                Some(why) => {
                    in_turn(Trigger::PreDestructiveAction, format!("About to run {command}: {why}"))
                }
                None => not(format!("nothing in {command} is known to be of high risk")),
            },
            Event::Edit { files } => {
                match self.mass_edit_files > 0 && files >= self.mass_edit_files {
                    true => in_turn(
                        Trigger::PreDestructiveAction,
                        format!("About to change {files} files at once"),
                    ),
                    false => not(format!(
                        "{files} files at once are no mass edit, which begins at {}",
                        self.mass_edit_files
                    )),
                }
            }
            Event::Progress { goal, from, to } => match self.milestone(from, to) {
                Some(percent) => once(
                    Trigger::GoalMilestone,
                    format!("{goal}: {percent}% reached"),
                    format!("goal {goal} {percent}"),
                ),
                None => not(format!("no milestone lies between {from} and {to}")),
            },
            Event::Card { id, from, to } => {
                match self.card_done && to == "done" && from != "done" {
                    true => {
                        once(Trigger::CardDone, format!("Card {id} is done"), format!("card {id}"))
                    }
                    false => not(format!("card {id} did not become done, or that is no reason")),
                }
            }
            Event::TurnEnded(number) => {
                match self.every_turns > 0 && number > 0 && number % self.every_turns == 0 {
                    true => once(
                        Trigger::TurnBoundary,
                        format!("Turn {number} ended"),
                        format!("turn {number}"),
                    ),
                    false => not(format!(
                        "turn {number} is no boundary: every {} turns are",
                        self.every_turns
                    )),
                }
            }
            Event::LongCall { what, seconds } => {
                match self.long_call_seconds > 0 && seconds > self.long_call_seconds {
                    true => in_turn(
                        Trigger::LongToolCall,
                        format!("About to run {what} for {seconds} seconds"),
                    ),
                    false => not(format!(
                        "{seconds} seconds are not longer than {}",
                        self.long_call_seconds
                    )),
                }
            }
        }
    }

    /// The last milestone on the way from one progress to another, in parts of a hundred.
    fn milestone(&self, from: f64, to: f64) -> Option<u64> {
        if self.milestone_percent == 0 || !from.is_finite() || !to.is_finite() {
            return None;
        }
        // A little more, since the tenth part of a number is none that a computer knows.
        let passed = |progress: f64| {
            (progress.clamp(0.0, 1.0) * 100.0 + 1e-6) as u64 / self.milestone_percent
        };
        (passed(to) > passed(from)).then(|| passed(to) * self.milestone_percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trigger(event: &Event<'_>) -> Option<Trigger> {
        Policy { every_turns: 2, ..Policy::default() }.decide(event).trigger
    }

    // rule: agent/triggers
    #[test]
    fn each_event_of_the_page_is_reason_enough_and_its_like_is_not() {
        let goal = "ship";
        for (event, expected) in [
            (Event::Command("git push --force"), Some(Trigger::PreDestructiveAction)),
            (Event::Command("git push"), None),
            (Event::Edit { files: 20 }, Some(Trigger::PreDestructiveAction)),
            (Event::Edit { files: 19 }, None),
            (Event::Progress { goal, from: 0.2, to: 0.25 }, Some(Trigger::GoalMilestone)),
            (Event::Progress { goal, from: 0.25, to: 0.4 }, None),
            (Event::Progress { goal, from: 0.6, to: 0.4 }, None),
            (Event::Progress { goal, from: 0.0, to: f64::NAN }, None),
            (Event::Card { id: "c", from: "doing", to: "done" }, Some(Trigger::CardDone)),
            (Event::Card { id: "c", from: "done", to: "done" }, None),
            (Event::Card { id: "c", from: "", to: "doing" }, None),
            (Event::TurnEnded(4), Some(Trigger::TurnBoundary)),
            (Event::TurnEnded(3), None),
            (Event::LongCall { what: "make", seconds: 31 }, Some(Trigger::LongToolCall)),
            (Event::LongCall { what: "make", seconds: 30 }, None),
        ] {
            assert_eq!(trigger(&event), expected, "{event:?}");
        }
    }

    // rule: agent/triggers
    #[test]
    fn a_policy_that_is_off_says_so() {
        let off = Policy {
            before_high_risk: false,
            mass_edit_files: 0,
            milestone_percent: 0,
            card_done: false,
            every_turns: 0,
            long_call_seconds: 0,
        };
        for event in [
            Event::Command("rm -rf a"),
            Event::Edit { files: 100 },
            Event::Progress { goal: "g", from: 0.0, to: 1.0 },
            Event::Card { id: "c", from: "doing", to: "done" },
            Event::TurnEnded(1),
            Event::LongCall { what: "make", seconds: 1_000 },
        ] {
            let decision = off.decide(&event);
            assert!(decision.trigger.is_none() && !decision.why.is_empty(), "{event:?}");
        }
    }
}
