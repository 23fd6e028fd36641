//! The agent of a careful subject that carries one: parts of its state, what it did outside, and the
//! events that it takes checkpoints at. Its habits are not the core's where no rule says what is right.

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

struct Deed {
    action: Action,
    compensation: Option<Compensation>,
    is_left_behind: bool,
    is_decided: bool,
}

/// The agent beside its files.
#[derive(Default)]
pub(super) struct Agent {
    pub parts: Parts,
    deeds: Vec<Deed>,
    known: BTreeSet<String>,
    /// The projects that the agents used their turn for that wait for a sub-agent.
    parents: Vec<BTreeSet<ByteString>>,
}

impl Agent {
    /// Answers what is about no project, if that is about the agent.
    pub fn served(&mut self, request: &Request) -> Option<Answer> {
        match request {
            Request::SetState { part, value } => {
                self.parts.insert(*part, value.clone());
            }
            Request::GetState { part } => return Some(self.part(*part)),
            Request::External { action, compensation } => {
                let (action, compensation) = (action.clone(), compensation.clone());
                let (is_left_behind, is_decided) = (false, false);
                self.deeds.push(Deed { action, compensation, is_left_behind, is_decided });
            }
            Request::Compensate => return Some(Answer::Compensated(self.compensate())),
            // Whatever was not rolled back stays as well.
            Request::Accept => self.deeds.iter_mut().for_each(|one| one.is_decided = true),
            // What its process knew is gone with that.
            Request::Reopen => {
                self.parts.clear();
                self.known.clear();
                self.parents.clear();
                self.deeds.iter_mut().for_each(|one| one.compensation = None);
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
        let mut said = Compensated::default();
        let due = |one: &&mut Deed| one.is_left_behind && !one.is_decided;
        for deed in self.deeds.iter_mut().rev().filter(due) {
            let Some(compensation) = &deed.compensation else { continue };
            deed.is_decided = true;
            let ran = append(compensation, &deed.action.line()).is_ok() && !compensation.fails;
            let list = if ran { &mut said.compensated } else { &mut said.failed };
            list.push(deed.action.clone());
        }
        said
    }

    /// How many actions there were.
    pub fn actions(&self) -> usize {
        self.deeds.len()
    }

    /// A project is rolled back to where there were so many actions: those since are left behind, and
    /// named whatever was decided of them.
    pub fn roll_back(&mut self, actions: usize) -> Vec<Action> {
        let since = self.deeds.iter_mut().skip(actions);
        since
            .map(|deed| {
                deed.is_left_behind = true;
                deed.action.clone()
            })
            .collect()
    }

    /// Whether an event asks for a checkpoint: each does once, and all that is about to run does.
    pub fn is_due(&mut self, event: &AgentEvent) -> bool {
        match event {
            AgentEvent::HighRisk { command } => HIGH_RISK.contains(&&command[..]),
            AgentEvent::Milestone { from, to } => {
                let passed = MILESTONES.iter().filter(|one| from < *one && *one <= to);
                // Each that was passed is known from now on, not the first alone.
                passed.filter(|one| self.known.insert(format!("goal {one}"))).count() > 0
            }
            AgentEvent::Card { card, from, to } => {
                to == "done" && from != to && self.known.insert(format!("card {card}"))
            }
            AgentEvent::TurnBoundary => true,
            AgentEvent::LongCall { seconds } => *seconds >= 30,
        }
    }

    /// A sub-agent begins, with a turn of its own.
    pub fn spawn(&mut self, used: &mut BTreeSet<ByteString>) {
        self.parents.push(std::mem::take(used));
    }

    /// Its parent goes on.
    pub fn join(&mut self, used: &mut BTreeSet<ByteString>) {
        *used = self.parents.pop().unwrap_or_default();
    }
}

fn append(compensation: &Compensation, line: &str) -> io::Result<()> {
    let path = OsStr::from_bytes(&compensation.log);
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    writeln!(file, "{line}")
}
