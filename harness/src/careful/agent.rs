//! The agent state of a careful subject that has one: its parts, its external actions, and the events at
//! which it takes checkpoints. Where no rule decides, its habits differ from those of the core.

use herma_model::agent::{Action, AgentEvent, Compensation, HIGH_RISK, MILESTONES, Part};
use herma_model::answer::{Changed, Compensated};
use herma_model::{Answer, ByteString, Code, Request};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

/// The parts that were ever set.
pub(super) type Parts = BTreeMap<Part, Value>;

/// Something that the agent did outside of its files.
struct ExternalAction {
    action: Action,
    compensation: Option<Compensation>,
    is_left_behind: bool,
    is_decided: bool,
}

/// The agent state that is stored with the files.
#[derive(Default)]
pub(super) struct AgentRecord {
    pub parts: Parts,
    external_actions: Vec<ExternalAction>,
    /// The events that happened, each of which asks for a checkpoint only once.
    seen_events: BTreeSet<String>,
    /// For each agent that waits for a sub-agent: the projects that had their automatic checkpoint in its turn.
    parents: Vec<BTreeSet<ByteString>>,
}

impl AgentRecord {
    /// Answers a request about the agent state; `None` for requests that concern a project or a process.
    pub fn answer(&mut self, request: &Request) -> Option<Answer> {
        match request {
            Request::SetState { part, value } => {
                self.parts.insert(*part, value.clone());
            }
            Request::GetState { part } => return Some(self.part(*part)),
            Request::External { action, compensation } => {
                self.external_actions.push(ExternalAction {
                    action: action.clone(),
                    compensation: compensation.clone(),
                    is_left_behind: false,
                    is_decided: false,
                });
            }
            Request::Compensate => return Some(Answer::Compensated(self.compensate())),
            // Actions that were not rolled back are accepted, too.
            Request::Accept => {
                self.external_actions.iter_mut().for_each(|external| external.is_decided = true)
            }
            // State in memory is lost with the process.
            Request::Reopen => {
                self.parts.clear();
                self.seen_events.clear();
                self.parents.clear();
                self.external_actions.iter_mut().for_each(|external| external.compensation = None);
                return None;
            }
            _ => return None,
        }
        Some(Answer::Done)
    }

    fn part(&self, part: Part) -> Answer {
        let refused = || Answer::Refused {
            code: Code::BadState,
            message: "it was never set".to_owned(),
            changed: Changed::None,
        };
        self.parts.get(&part).cloned().map_or_else(refused, Answer::State)
    }

    fn compensate(&mut self) -> Compensated {
        let mut report = Compensated::default();
        let is_pending =
            |external: &&mut ExternalAction| external.is_left_behind && !external.is_decided;
        for external in self.external_actions.iter_mut().rev().filter(is_pending) {
            let Some(compensation) = &external.compensation else { continue };
            external.is_decided = true;
            let ran = append(compensation, &external.action.line()).is_ok() && !compensation.fails;
            let list = if ran { &mut report.compensated } else { &mut report.failed };
            list.push(external.action.clone());
        }
        report
    }

    /// The number of external actions.
    pub fn actions(&self) -> usize {
        self.external_actions.len()
    }

    /// Marks all but the first `actions` external actions as left behind by a restore. Returns them, whatever
    /// was decided about them.
    pub fn roll_back(&mut self, actions: usize) -> Vec<Action> {
        let since = self.external_actions.iter_mut().skip(actions);
        since
            .map(|external| {
                external.is_left_behind = true;
                external.action.clone()
            })
            .collect()
    }

    /// Whether a checkpoint is due at an event: milestones and cards once each, other events each time.
    pub fn is_due(&mut self, event: &AgentEvent) -> bool {
        match event {
            AgentEvent::HighRisk { command } => HIGH_RISK.contains(&&command[..]),
            AgentEvent::Milestone { from, to } => {
                let passed =
                    MILESTONES.iter().filter(|milestone| from < *milestone && *milestone <= to);
                // Every passed milestone is recorded, not only the first.
                passed
                    .filter(|milestone| self.seen_events.insert(format!("goal {milestone}")))
                    .count()
                    > 0
            }
            AgentEvent::Card { card, from, to } => {
                to == "done" && from != to && self.seen_events.insert(format!("card {card}"))
            }
            AgentEvent::TurnBoundary => true,
            AgentEvent::LongCall { seconds } => *seconds >= 30,
        }
    }

    /// A sub-agent begins with its own turn.
    pub fn spawn(&mut self, used: &mut BTreeSet<ByteString>) {
        self.parents.push(std::mem::take(used));
    }

    /// The parent of the sub-agent continues its turn.
    pub fn join(&mut self, used: &mut BTreeSet<ByteString>) {
        *used = self.parents.pop().unwrap_or_default();
    }
}

fn append(compensation: &Compensation, line: &str) -> io::Result<()> {
    let path = OsStr::from_bytes(&compensation.log);
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    writeln!(file, "{line}")
}
