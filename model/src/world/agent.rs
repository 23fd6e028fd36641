//! The agent apart from its files: the parts of its state, its external actions, its events, and whether a
//! sub-agent makes the requests.
//!
//! If no rule decides a value, it is unknown here, and not judged.

use super::{Checkpoint, Slot, World};
use crate::agent::{Action, AgentEvent, Compensation, MILESTONES, Part};
use crate::bytes::ByteString;
use crate::observation::Observation;
use crate::request::{Effect, Request};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

mod learn;

/// The known value of a part of the state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PartValue {
    /// The value is unknown.
    #[default]
    Unknown,
    /// The part was never set.
    Unset,
    /// The value.
    Known(Value),
}

impl PartValue {
    /// Whether two values are equal; `None` where that is unknown.
    fn same(&self, right: &PartValue) -> Option<bool> {
        match (self, right) {
            (PartValue::Unset, PartValue::Unset) => Some(true),
            (PartValue::Known(left), PartValue::Known(right)) => Some(left == right),
            _ => None,
        }
    }
}

/// What a checkpoint holds in addition to the files.
#[derive(Clone, Debug, Default)]
pub struct Carried {
    parts: BTreeMap<Part, PartValue>,
    /// Its label.
    pub label: Option<String>,
    /// Whether no limit may evict it.
    pub pinned: bool,
    /// How many external actions happened before it; `None` where that is unknown.
    pub(crate) actions: Option<usize>,
}

impl Carried {
    /// Makes its parts of the agent's state unknown.
    pub(super) fn forget_parts(&mut self) {
        self.parts.clear();
        self.actions = None;
    }
}

/// The origin of the expected value of a part of the state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was set, or observed.
    #[default]
    Set,
    /// A later restore was refused, or was of a single file.
    LeftAlone,
    /// A checkpoint was restored; the part had this value before.
    Restored(PartValue),
}

/// Whether something holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Certainty {
    #[default]
    No,
    /// No rule says so.
    Maybe,
    Yes,
}

/// An external action and its state.
#[derive(Clone, Debug)]
pub(crate) struct ExternalAction {
    pub(crate) action: Action,
    /// Its compensation; the path of the file is relative to the world's root.
    pub(crate) compensation: Option<Compensation>,
    /// Whether the subject must have the compensation registered.
    is_registered: bool,
    left_behind: Certainty,
    accepted: Certainty,
    has_run: bool,
}

impl ExternalAction {
    /// Whether a restore of a checkpoint before the action must name it.
    pub(crate) fn is_undecided(&self) -> bool {
        let fails = self.compensation.as_ref().is_some_and(|compensation| compensation.fails);
        let is_compensated = self.has_run && !fails;
        self.accepted == Certainty::No && !is_compensated
    }

    /// Whether a restore of a checkpoint after the action may name it.
    pub(crate) fn may_be_pending(&self) -> bool {
        self.left_behind != Certainty::No
    }

    /// Whether its compensation must run.
    pub(crate) fn must_compensate(&self) -> bool {
        let left = self.left_behind == Certainty::Yes && self.accepted == Certainty::No;
        self.may_compensate() && left && self.is_registered
    }

    /// Whether its compensation may run.
    pub(crate) fn may_compensate(&self) -> bool {
        self.compensation.is_some() && !self.has_run && self.accepted != Certainty::Yes
    }
}

/// The agent apart from its files.
#[derive(Clone, Debug, Default)]
pub(crate) struct AgentState {
    parts: BTreeMap<Part, (PartValue, Origin)>,
    pub(crate) external_actions: Vec<ExternalAction>,
    /// Events of projects for which a checkpoint was taken.
    answered: BTreeSet<(ByteString, AgentEvent)>,
    /// The most progress that was reported.
    progress: u8,
    cards: BTreeSet<String>,
    /// The slots of the agents that wait for a sub-agent.
    parent_slots: Vec<BTreeMap<ByteString, Slot>>,
    /// Every value that a part was ever set to, and whether by a sub-agent.
    set_values: Vec<(Part, Value, bool)>,
}

impl World {
    /// The parts of the state that the implementation has.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        let is_there = |part: &Part| self.has("state") && self.has(part.capability());
        Part::ALL.into_iter().filter(is_there)
    }

    /// The expected value of a part, and its origin.
    pub(crate) fn part(&self, part: Part) -> (PartValue, Origin) {
        self.agent.parts.get(&part).cloned().unwrap_or((PartValue::Unset, Origin::Set))
    }

    /// Whether any part was set, or may have been.
    pub(crate) fn has_state(&self) -> bool {
        self.parts().any(|part| self.part(part).0 != PartValue::Unset)
    }

    /// Whether a part was ever set to this value; where `by_subagent`, by a sub-agent only.
    pub(crate) fn was_set(&self, part: Part, value: &Value, by_subagent: bool) -> bool {
        let is_set = |(set_part, set_value, was_subagent): &(Part, Value, bool)| {
            *set_part == part && set_value == value && (*was_subagent || !by_subagent)
        };
        self.agent.set_values.iter().any(is_set)
    }

    /// Whether a sub-agent ever set a part.
    pub(crate) fn was_set_by_subagent(&self, part: Part) -> bool {
        let mut set_values = self.agent.set_values.iter();
        set_values.any(|(set_part, _, was_subagent)| *set_part == part && *was_subagent)
    }

    /// Whether a sub-agent makes the requests.
    pub fn has_parent(&self) -> bool {
        !self.agent.parent_slots.is_empty()
    }

    /// Whether the parts are as in a checkpoint; `None` where that is unknown. It is also unknown
    /// whether an external action since is a change.
    pub(crate) fn is_state_of(&self, checkpoint: &Checkpoint) -> Option<bool> {
        let carried = &checkpoint.carried;
        let same = self.parts().map(|part| {
            let recorded = carried.parts.get(&part).unwrap_or(&PartValue::Unknown);
            recorded.same(&self.part(part).0)
        });
        let results: Vec<Option<bool>> = same.collect();
        let actions = self.agent.external_actions.len();
        match results {
            results if results.contains(&Some(false)) => Some(false),
            results if results.contains(&None) => None,
            _ if carried.actions.is_some_and(|before| before < actions) => None,
            _ => Some(true),
        }
    }

    /// What a checkpoint taken now holds in addition to the files.
    pub(super) fn carried_now(&self) -> Carried {
        let parts = self.parts().map(|part| (part, self.part(part).0)).collect();
        let actions = self.agent.external_actions.len();
        Carried { parts, actions: Some(actions), ..Carried::default() }
    }

    /// The target of a request, as typed: a request that names no checkpoint means the newest.
    pub(crate) fn target_of(&self, request: &Request) -> Option<ByteString> {
        if let Request::RestoreLatest { dir, .. } = request {
            let newest = self.listed(&self.canonical(dir)?).last();
            // No rule says whether a pre-restore checkpoint is meant.
            return newest.filter(|newest| !newest.safety).map(|newest| newest.id.as_str().into());
        }
        if matches!(request, Request::Undo { .. } | Request::Redo { .. }) {
            let undone = self.undone(request).ok().flatten()?;
            return undone.before.as_ref().map(|before| before.as_str().into());
        }
        request.target().cloned()
    }

    /// The checkpoint that a request is about, where it is known for certain.
    pub(crate) fn target_checkpoint(&self, request: &Request) -> Option<&Checkpoint> {
        let location = self.locate(request.dir()?);
        let text = self.target_of(request)?;
        let found = self.find(&location, &text).ok();
        let found = found.filter(|_| self.doubt(&location, &text).is_none());
        found.map(|(_, checkpoint)| checkpoint)
    }

    /// The projects of which a request may evict checkpoints that only their lists show.
    pub fn may_evict_unpredictably(&self, request: &Request) -> Vec<ByteString> {
        let stores = request.kind().effect == Effect::Stores;
        let is_unclear = |project: &ByteString| {
            self.is_full(project) && (request.restores() || stores && self.has_pins(project))
        };
        let projects: Vec<ByteString> = match request.dir() {
            Some(dir) => self.canonical(dir).into_iter().collect(),
            None => self.histories().map(|(project, _)| project.clone()).collect(),
        };
        projects.into_iter().filter(is_unclear).collect()
    }

    /// Whether an event certainly calls for a checkpoint.
    pub(crate) fn is_event(&self, event: &AgentEvent) -> bool {
        match event {
            AgentEvent::HighRisk { command } => crate::agent::HIGH_RISK.contains(&&command[..]),
            AgentEvent::Milestone { from, to } => {
                let before = self.agent.progress.max(*from);
                let is_passed = |milestone: &u8| {
                    before < *milestone && (*milestone < *to || *milestone == 100 && *to == 100)
                };
                MILESTONES.iter().any(is_passed)
            }
            AgentEvent::Card { card, from, to } => {
                to == "done" && from != "done" && !self.agent.cards.contains(card)
            }
            AgentEvent::TurnBoundary => true,
            AgentEvent::LongCall { seconds } => *seconds > crate::agent::LONG_CALL_SECONDS,
        }
    }

    /// Whether a checkpoint of a project was taken for exactly this event.
    pub(crate) fn was_answered(&self, project: &ByteString, event: &AgentEvent) -> bool {
        self.agent.answered.contains(&(project.clone(), event.clone()))
    }

    /// Whether compensations append lines to the file at a path.
    pub(crate) fn is_compensation_log(&self, path: &[u8]) -> bool {
        self.compensation_logs().contains(path)
    }

    /// The files that compensations append lines to.
    pub(crate) fn compensation_logs(&self) -> BTreeSet<ByteString> {
        let actions = self.agent.external_actions.iter();
        let compensations = actions.filter_map(|action| action.compensation.as_ref());
        compensations.map(|compensation| compensation.log.clone()).collect()
    }

    /// The lines that were appended to such a file; `None` where the file changed otherwise.
    pub(crate) fn appended_lines(
        &self,
        log: &ByteString,
        seen: &Observation,
    ) -> Option<Vec<String>> {
        let text = |files: &crate::files::Files| match files.get(log) {
            None => Some(Vec::new()),
            Some(crate::files::Node::File { content, .. }) => Some(content.to_vec()),
            Some(_) => None,
        };
        let before = text(&self.files)?;
        let after = text(&seen.files)?;
        let added = after.strip_prefix(&before[..])?;
        let added = String::from_utf8_lossy(added);
        Some(added.lines().map(str::to_owned).collect())
    }
}
