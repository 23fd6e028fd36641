//! The data types for what an agent has besides its files: the parts of its state, its external actions
//! (which no restore undoes), and the events at which a checkpoint is expected.

use crate::bytes::ByteString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of an agent's state, in addition to the files; its value is any JSON.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The cards of its board.
    Kanban,
    /// Its goal, with the progress.
    Goal,
    /// The head of its memory index.
    Memory,
    /// The tail of its tool history.
    History,
}

impl Part {
    /// Every part.
    pub const ALL: [Part; 4] = [Part::Kanban, Part::Goal, Part::Memory, Part::History];

    /// The capability that an implementation with this part has.
    pub fn capability(self) -> &'static str {
        match self {
            Part::Kanban => "state.kanban",
            Part::Goal => "state.goal",
            Part::Memory => "state.memory",
            Part::History => "state.history",
        }
    }
}

/// Something that an agent did and that no restore undoes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Action {
    /// Its kind, such as `github.pr.opened`.
    pub kind: String,
    /// The id of its result, such as the number of a pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its recipient, such as a channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

impl Action {
    /// The line that its compensation appends to a file.
    pub fn line(&self) -> String {
        format!("{} {}", self.kind, self.id.as_deref().unwrap_or_default())
    }
}

/// The compensation of an action: it appends the line `kind id` to a file, and succeeds or fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compensation {
    /// The file; it need not exist.
    pub log: ByteString,
    /// Whether it fails after it has written the line.
    #[serde(default)]
    pub fails: bool,
}

/// An event of an agent, at which a checkpoint may be expected.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentEvent {
    /// A tool is about to do something high-risk.
    HighRisk {
        /// The command, a line of shell.
        command: String,
    },
    /// The goal progressed.
    Milestone {
        /// The progress before, in percent.
        from: u8,
        /// The progress after, in percent.
        to: u8,
    },
    /// A card of the board moved.
    Card {
        /// The card.
        card: String,
        /// The column before.
        from: String,
        /// The column after.
        to: String,
    },
    /// A turn of a conversation over a gateway ends.
    TurnBoundary,
    /// A tool call begins that is expected to take long.
    LongCall {
        /// The expected duration in seconds.
        seconds: u64,
    },
}

impl AgentEvent {
    /// The capability of an implementation that takes checkpoints at such events.
    pub fn capability(&self) -> &'static str {
        match self {
            AgentEvent::HighRisk { .. } => "event.high_risk",
            AgentEvent::Milestone { .. } => "event.milestone",
            AgentEvent::Card { .. } => "event.card",
            AgentEvent::TurnBoundary => "event.turn_boundary",
            AgentEvent::LongCall { .. } => "event.long_call",
        }
    }
}

/// Commands that are clearly high-risk: they delete, force-push, migrate destructively or edit many
/// files.
pub const HIGH_RISK: &[&str] = &[
    "rm -rf src",
    "git push --force origin main",
    "psql -c 'DROP TABLE users'",
    "find . -name '*.txt' -exec sed -i s/a/b/ {} +",
];

/// The milestones by default, in percent of progress.
pub const MILESTONES: [u8; 4] = [25, 50, 75, 100];

/// A call that is expected to take longer than this counts as long by default, in seconds.
pub const LONG_CALL_SECONDS: u64 = 30;
