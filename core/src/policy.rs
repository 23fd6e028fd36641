//! Why a checkpoint is taken, and when an agent takes one automatically: reported events, and a policy
//! that decides which of them cause a checkpoint.
//!
//! This module takes no checkpoint; [`crate::agent::CheckpointManager::happens`] follows the policy. It
//! lies below the configuration, which contains a policy, and below the agent state, which stores triggers.

use crate::triggers::risk;
use serde::{Deserialize, Serialize};

/// Why a checkpoint is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// A tool that changes files is about to run.
    PreTool,
    /// An action is about to run that cannot be undone easily.
    PreDestructiveAction,
    /// The goal passed a milestone.
    GoalMilestone,
    /// A card is done.
    CardDone,
    /// The configured number of turns of a conversation has ended.
    TurnBoundary,
    /// A tool call begins that is expected to take long.
    LongToolCall,
    /// A user requested it.
    Manual,
    /// A restore is about to change the present state.
    PreRollback,
    /// A trigger that this version does not know.
    #[serde(other)]
    Other,
}

impl Trigger {
    /// Whether the checkpoint precedes the work of its turn, so that a restore removes that turn as well.
    pub fn is_before_work(self) -> bool {
        matches!(self, Trigger::PreTool | Trigger::PreDestructiveAction | Trigger::LongToolCall)
    }

    /// The name of the trigger, as it is stored.
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

/// Which events cause a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether an action of high risk does.
    pub before_high_risk: bool,
    /// The number of files changed at once that counts as a mass edit; 0 turns this off.
    pub mass_edit_files: usize,
    /// The percentage at each multiple of which a goal passes a milestone; 0 turns this off.
    pub milestone_percent: u64,
    /// Whether a card that becomes done does.
    pub card_done: bool,
    /// The number of turns from one boundary to the next; 0 turns this off.
    pub every_turns: u64,
    /// The duration in seconds above which a call counts as long; 0 turns this off.
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
    /// Files are about to be changed at once.
    Edit {
        /// The number of files.
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
    /// A call begins, with the time that it is expected to take.
    LongCall {
        /// The name of the call.
        what: &'a str,
        /// The expected duration.
        seconds: u64,
    },
}

/// The decision of a policy about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Why a checkpoint is to be taken; `None` if none is.
    pub trigger: Option<Trigger>,
    /// The reason for the decision, in words.
    pub why: String,
    /// The key of the event, for which at most one checkpoint is taken; `None` where the turn's slot
    /// ensures that.
    pub once: Option<String>,
}

impl Decision {
    fn no_checkpoint(why: String) -> Self {
        Decision { trigger: None, why, once: None }
    }

    /// At most one checkpoint in the turn.
    fn in_turn(trigger: Trigger, why: String) -> Self {
        Decision { trigger: Some(trigger), why, once: None }
    }

    /// At most one checkpoint for the event with that key.
    fn once(trigger: Trigger, why: String, key: String) -> Self {
        Decision { trigger: Some(trigger), why, once: Some(key) }
    }
}

/// Decides about a line of shell that is about to run.
fn before_command(command: &str) -> Decision {
    match risk(command) {
        Some(why) => Decision::in_turn(
            Trigger::PreDestructiveAction,
            format!("About to run {command}: {why}"),
        ),
        None => Decision::no_checkpoint(format!("{command} has no known high-risk command")),
    }
}

impl Policy {
    /// Decides about an event; takes no checkpoint.
    // rule: agent/triggers: decides
    pub fn decide(&self, event: &Event<'_>) -> Decision {
        match *event {
            Event::Command(_) | Event::Edit { .. } if !self.before_high_risk => {
                Decision::no_checkpoint("before_high_risk is off".into())
            }
            Event::Command(command) => before_command(command),
            Event::Edit { files } => self.before_edit(files),
            Event::Progress { goal, from, to } => match self.milestone(from, to) {
                Some(percent) => Decision::once(
                    Trigger::GoalMilestone,
                    format!("{goal}: {percent}% reached"),
                    format!("goal {goal} {percent}"),
                ),
                None => Decision::no_checkpoint(format!(
                    "there is no milestone between {from} and {to}"
                )),
            },
            Event::Card { id, from, to } => {
                match self.card_done && to == "done" && from != "done" {
                    true => Decision::once(
                        Trigger::CardDone,
                        format!("Card {id} is done"),
                        format!("card {id}"),
                    ),
                    false => Decision::no_checkpoint(format!(
                        "card {id} did not become done, or card_done is off"
                    )),
                }
            }
            Event::TurnEnded(number) => {
                match self.every_turns > 0 && number > 0 && number % self.every_turns == 0 {
                    true => Decision::once(
                        Trigger::TurnBoundary,
                        format!("Turn {number} ended"),
                        format!("turn {number}"),
                    ),
                    false => Decision::no_checkpoint(format!(
                        "no checkpoint is due after turn {number}: every_turns is {}",
                        self.every_turns
                    )),
                }
            }
            Event::LongCall { what: call, seconds } => self.before_long_call(call, seconds),
        }
    }

    /// Decides about files that are about to be changed at once.
    fn before_edit(&self, files: usize) -> Decision {
        match self.mass_edit_files > 0 && files >= self.mass_edit_files {
            true => Decision::in_turn(
                Trigger::PreDestructiveAction,
                format!("About to change {files} files at once"),
            ),
            false => Decision::no_checkpoint(format!(
                "{files} files at once are fewer than mass_edit_files, {}",
                self.mass_edit_files
            )),
        }
    }

    /// Decides about a call that is about to run.
    fn before_long_call(&self, call: &str, seconds: u64) -> Decision {
        match self.long_call_seconds > 0 && seconds > self.long_call_seconds {
            true => Decision::in_turn(
                Trigger::LongToolCall,
                format!("About to run {call} for {seconds} seconds"),
            ),
            false => Decision::no_checkpoint(format!(
                "{seconds} seconds are not longer than long_call_seconds, {}",
                self.long_call_seconds
            )),
        }
    }

    /// The last milestone between two values of progress, in percent.
    fn milestone(&self, from: f64, to: f64) -> Option<u64> {
        if self.milestone_percent == 0 || !from.is_finite() || !to.is_finite() {
            return None;
        }
        // A small surplus, since 0.1 has no exact binary form.
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
    fn decide_triggers_on_each_event_of_the_page_and_not_on_similar_ones() {
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
    fn decide_gives_a_reason_where_the_policy_is_off() {
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
