//! The agent beside its files: what each part of its state is, what it did outside, which events it was
//! told, and whether a sub-agent makes the requests.
//!
//! What no rule decides is unknown here, and nothing is judged by it.

use super::{Checkpoint, Slot, World};
use crate::agent::{Action, AgentEvent, Compensation, MILESTONES, Part};
use crate::answer::{Answer, CheckpointOutcome, Compensated};
use crate::bytes::{self, ByteString};
use crate::observation::Observation;
use crate::request::{Effect, Request};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a part of the state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Held {
    /// Nothing.
    #[default]
    Unknown,
    /// It was never set.
    Unset,
    /// It is this.
    Is(Value),
}

impl Held {
    /// Whether two are the same; none where that is not known.
    fn same(&self, other: &Held) -> Option<bool> {
        match (self, other) {
            (Held::Unset, Held::Unset) => Some(true),
            (Held::Is(one), Held::Is(other)) => Some(one == other),
            _ => None,
        }
    }
}

/// What a checkpoint carries beside the files.
#[derive(Clone, Debug, Default)]
pub struct Carried {
    parts: BTreeMap<Part, Held>,
    /// Its label.
    pub label: Option<String>,
    /// Whether no limit may drop it.
    pub pinned: bool,
    /// How many external actions happened before it, where that is known.
    pub(crate) actions: Option<usize>,
}

impl Carried {
    /// From now on nobody knows what it has of the agent's state.
    pub(super) fn forget_parts(&mut self) {
        self.parts.clear();
        self.actions = None;
    }
}

/// By what a part of the state came to be what it must be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was set, or seen so.
    #[default]
    Set,
    /// A restore was refused since, or was of a single file.
    Spared,
    /// A checkpoint was restored, before which it was this.
    Restored(Held),
}

/// Whether something is so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Known {
    #[default]
    No,
    /// No rule says so.
    Maybe,
    Yes,
}

/// An external action, and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Deed {
    pub(crate) action: Action,
    /// What compensates it; the path of the file is relative to the world's root.
    pub(crate) compensation: Option<Compensation>,
    /// Whether that is registered with whoever runs it.
    is_registered: bool,
    left_behind: Known,
    accepted: Known,
    has_run: bool,
}

impl Deed {
    /// Whether a restore must name it that goes back before it.
    pub(crate) fn is_undecided(&self) -> bool {
        let is_compensated =
            self.has_run && !self.compensation.as_ref().is_some_and(|one| one.fails);
        self.accepted == Known::No && !is_compensated
    }

    /// Whether a restore may name it that does not.
    pub(crate) fn may_be_pending(&self) -> bool {
        self.left_behind != Known::No
    }

    /// Whether its compensation must run, and whether it may.
    pub(crate) fn runs(&self) -> (bool, bool) {
        let may = self.compensation.is_some() && !self.has_run && self.accepted != Known::Yes;
        let left = self.left_behind == Known::Yes && self.accepted == Known::No;
        (may && left && self.is_registered, may)
    }
}

/// The agent beside its files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agent {
    parts: BTreeMap<Part, (Held, Origin)>,
    pub(crate) deeds: Vec<Deed>,
    /// Events of projects for which a checkpoint was taken.
    answered: BTreeSet<(ByteString, AgentEvent)>,
    /// The most progress that was told.
    progress: u8,
    cards: BTreeSet<String>,
    /// The slots of the agents that wait for a sub-agent.
    parents: Vec<BTreeMap<ByteString, Slot>>,
    /// What parts were ever set to, and whether by a sub-agent.
    was_set: Vec<(Part, Value, bool)>,
}

impl World {
    /// The parts of the state that the implementation has.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        let is_there = |part: &Part| self.has("state") && self.has(part.capability());
        Part::ALL.into_iter().filter(is_there)
    }

    /// What a part must be, and by what.
    pub(crate) fn part(&self, part: Part) -> (Held, Origin) {
        self.agent.parts.get(&part).cloned().unwrap_or((Held::Unset, Origin::Set))
    }

    /// Whether any part was ever set, as far as that is known.
    pub(crate) fn has_state(&self) -> bool {
        self.parts().any(|part| self.part(part).0 != Held::Unset)
    }

    /// Whether anybody set a part to this, or a sub-agent did where only that is asked.
    pub(crate) fn was_set(&self, part: Part, value: &Value, by_another: bool) -> bool {
        let is_it = |(one, set, another): &(Part, Value, bool)| {
            *one == part && set == value && (*another || !by_another)
        };
        self.agent.was_set.iter().any(is_it)
    }

    /// Whether a sub-agent ever set a part.
    pub(crate) fn is_another(&self, part: Part) -> bool {
        self.agent.was_set.iter().any(|(one, _, another)| *one == part && *another)
    }

    /// Whether a sub-agent makes the requests.
    pub fn has_parent(&self) -> bool {
        !self.agent.parents.is_empty()
    }

    /// Whether the parts are as a checkpoint has them; none where that is not known. It is not,
    /// either, whether an action since is a change.
    pub(crate) fn is_state_of(&self, checkpoint: &Checkpoint) -> Option<bool> {
        let carried = &checkpoint.carried;
        let same = self.parts().map(|part| {
            let recorded = carried.parts.get(&part).unwrap_or(&Held::Unknown);
            recorded.same(&self.part(part).0)
        });
        let all: Vec<Option<bool>> = same.collect();
        match all {
            all if all.contains(&Some(false)) => Some(false),
            all if all.contains(&None) => None,
            _ if carried.actions.is_some_and(|before| before < self.agent.deeds.len()) => None,
            _ => Some(true),
        }
    }

    /// What a checkpoint carries that is taken now.
    pub(super) fn carries(&self) -> Carried {
        let parts = self.parts().map(|part| (part, self.part(part).0)).collect();
        Carried { parts, actions: Some(self.agent.deeds.len()), ..Carried::default() }
    }

    /// The checkpoint that a request is about, as typed: one that names none means the newest.
    pub(crate) fn target_of(&self, request: &Request) -> Option<ByteString> {
        if let Request::RestoreLatest { dir, .. } = request {
            let newest = self.listed(&self.canonical(dir)?).last();
            // Whether one that was taken before a restore is meant, no rule says.
            return newest.filter(|newest| !newest.safety).map(|newest| newest.id.as_str().into());
        }
        request.target().cloned()
    }

    /// The checkpoint that a request is about, where it is known which one that is.
    pub(crate) fn meant(&self, request: &Request) -> Option<&Checkpoint> {
        let (place, text) = (self.locate(request.dir()?), self.target_of(request)?);
        let found = self.find(&place, &text).ok().filter(|_| !self.is_doubtful(&place, &text));
        found.map(|(_, checkpoint)| checkpoint)
    }

    /// The projects of which a request may push something out such that only their lists tell what.
    pub fn may_push_out(&self, request: &Request) -> Vec<ByteString> {
        let stores = request.kind().effect == Effect::Stores;
        let is_unclear = |project: &ByteString| {
            self.is_full(project) && (request.restores() || stores && self.has_pins(project))
        };
        let all: Vec<ByteString> = match request.dir() {
            Some(dir) => self.canonical(dir).into_iter().collect(),
            None => self.histories().map(|(project, _)| project.clone()).collect(),
        };
        all.into_iter().filter(is_unclear).collect()
    }

    /// Whether an event asks for a checkpoint that nobody can deny.
    pub(crate) fn is_event(&self, event: &AgentEvent) -> bool {
        match event {
            AgentEvent::HighRisk { command } => crate::agent::HIGH_RISK.contains(&&command[..]),
            AgentEvent::Milestone { from, to } => {
                let before = self.agent.progress.max(*from);
                let is_passed =
                    |one: &u8| before < *one && (*one < *to || *one == 100 && *to == 100);
                MILESTONES.iter().any(is_passed)
            }
            AgentEvent::Card { card, from, to } => {
                to == "done" && from != "done" && !self.agent.cards.contains(card)
            }
            AgentEvent::TurnBoundary => true,
            AgentEvent::LongCall { seconds } => *seconds > crate::agent::LONG_CALL_SECONDS,
        }
    }

    /// Whether a checkpoint of a project was taken for the very same event.
    pub(crate) fn was_answered(&self, project: &ByteString, event: &AgentEvent) -> bool {
        self.agent.answered.contains(&(project.clone(), event.clone()))
    }

    /// Whether compensations append lines to the file at a path.
    pub(crate) fn is_log(&self, path: &[u8]) -> bool {
        self.logs().contains(&ByteString::from(path))
    }

    /// The files that compensations append lines to.
    pub(crate) fn logs(&self) -> BTreeSet<ByteString> {
        let all = self.agent.deeds.iter().filter_map(|deed| deed.compensation.as_ref());
        all.map(|one| one.log.clone()).collect()
    }

    /// The lines that were appended to such a file; none where something else became of it.
    pub(crate) fn appended(&self, log: &ByteString, seen: &Observation) -> Option<Vec<String>> {
        let text = |files: &crate::files::Files| match files.get(log) {
            None => Some(Vec::new()),
            Some(crate::files::Node::File { content, .. }) => Some(content.to_vec()),
            Some(_) => None,
        };
        let (before, after) = (text(&self.files)?, text(&seen.files)?);
        let added = after.strip_prefix(&before[..])?;
        let added = String::from_utf8_lossy(added);
        Some(added.lines().map(str::to_owned).collect())
    }
}

/// What the world learns of the agent.
impl World {
    /// Takes in what became of the agent by a request about `meant`, which is no more where it was.
    pub(super) fn learn_agent(&mut self, seen: &Observation, meant: Option<Carried>) {
        match (&seen.request, &seen.answer) {
            (Request::SetState { part, value }, Answer::Done) => {
                self.agent.parts.insert(*part, (Held::Is(value.clone()), Origin::Set));
                self.agent.answered.clear();
                self.agent.was_set.push((*part, value.clone(), self.has_parent()));
            }
            (Request::SetState { part, .. }, _) => self.forget_part(*part),
            (Request::GetState { part }, Answer::State(found)) => {
                let (held, origin) = self.part(*part);
                let is_right = held == Held::Is(found.clone());
                // What was never set has no value to compare others with.
                if held != Held::Unset {
                    let origin = if is_right { origin } else { Origin::Set };
                    self.agent.parts.insert(*part, (Held::Is(found.clone()), origin));
                }
            }
            (Request::External { action, compensation }, Answer::Done) => {
                self.learn_deed(action.clone(), compensation.as_ref());
            }
            (Request::Compensate, answer) => self.learn_compensated(seen, answer),
            (Request::Accept, _) => {
                for deed in &mut self.agent.deeds {
                    let is_meant = deed.left_behind == Known::Yes;
                    let now = if is_meant { Known::Yes } else { Known::Maybe };
                    deed.accepted = if deed.accepted == Known::Yes { Known::Yes } else { now };
                }
            }
            (Request::Spawn, _) => {
                self.agent.parents.push(self.slots.clone());
                self.slots.values_mut().for_each(|slot| *slot = unclear_if_used(*slot));
                self.agent.answered.clear();
            }
            (Request::Join, _) => self.learn_join(),
            (Request::NewTurn, _) => self.agent.answered.clear(),
            (Request::Reopen, _) => self.learn_reopen(),
            (Request::Clear, _) => {
                self.agent.deeds.iter_mut().for_each(|deed| {
                    deed.accepted = deed.accepted.max_maybe();
                });
                Part::ALL.into_iter().for_each(|part| self.forget_part(part));
            }
            (request, answer) if request.restores() => self.learn_rollback(request, answer, meant),
            _ => {}
        }
    }

    fn forget_part(&mut self, part: Part) {
        self.agent.parts.insert(part, (Held::Unknown, Origin::Set));
    }

    fn learn_deed(&mut self, action: Action, compensation: Option<&Compensation>) {
        let inside = |one: &Compensation| {
            let log = bytes::below(&self.absolute(b""), &one.log).map(ByteString::from)?;
            Some(Compensation { log, fails: one.fails })
        };
        self.agent.deeds.push(Deed {
            action,
            compensation: compensation.and_then(inside),
            is_registered: true,
            left_behind: Known::No,
            accepted: Known::No,
            has_run: false,
        });
    }

    /// What was run is what the files say.
    fn learn_compensated(&mut self, seen: &Observation, answer: &Answer) {
        let none = Compensated::default();
        let said = if let Answer::Compensated(said) = answer { said } else { &none };
        for log in self.logs() {
            for line in self.appended(&log, seen).unwrap_or_default() {
                let is_it = |deed: &&mut Deed| {
                    let there = deed.compensation.as_ref().is_some_and(|one| one.log == log);
                    there && !deed.has_run && deed.action.line() == line
                };
                let newest = self.agent.deeds.iter_mut().rev().find(is_it);
                newest.into_iter().for_each(|deed| deed.has_run = true);
            }
        }
        // What is said to have run is not asked for again, whether or not it did.
        let is_named = |deed: &&mut Deed| {
            said.compensated.contains(&deed.action) || said.failed.contains(&deed.action)
        };
        for deed in self.agent.deeds.iter_mut().filter(is_named) {
            deed.is_registered = false;
        }
    }

    /// Whose slot is used by what a sub-agent did no rule says.
    fn learn_join(&mut self) {
        let Some(parent) = self.agent.parents.pop() else { return };
        for (project, slot) in std::mem::replace(&mut self.slots, parent) {
            let own = self.slots.entry(project).or_insert(Slot::Unclear);
            if unclear_if_used(*own) != slot {
                *own = Slot::Unclear;
            }
        }
        self.agent.answered.clear();
    }

    /// Another process knows what is stored; whether that is all of this no rule says.
    fn learn_reopen(&mut self) {
        self.agent.parents.clear();
        self.agent.answered.clear();
        self.agent.deeds.iter_mut().for_each(|deed| deed.is_registered = false);
        for part in Part::ALL {
            if self.part(part).0 != Held::Unset {
                self.forget_part(part);
            }
        }
    }

    fn learn_rollback(&mut self, request: &Request, answer: &Answer, meant: Option<Carried>) {
        self.agent.answered.clear();
        let is_whole = !matches!(request, Request::RestoreFile { .. });
        let restored = match answer {
            Answer::Restored(said) if is_whole => Some(said),
            _ => None,
        };
        for part in self.parts().collect::<Vec<_>>() {
            let (before, _) = self.part(part);
            let recorded = meant.as_ref().and_then(|one| one.parts.get(&part)).cloned();
            let now = match (restored, recorded.unwrap_or_default()) {
                (None, _) if before == Held::Unset => continue,
                (None, _) => (before, Origin::Spared),
                // What the checkpoint does not have may stay, and what failed need not be back.
                (Some(_), Held::Unset) if before == Held::Unset => continue,
                (Some(said), held @ Held::Is(_)) if said.failed.is_empty() => {
                    (held, Origin::Restored(before))
                }
                (Some(_), _) => (Held::Unknown, Origin::Set),
            };
            self.agent.parts.insert(part, now);
        }
        if let Answer::Restored(_) = answer {
            let since = meant.and_then(|one| one.actions);
            let known = if since.is_some() && is_whole { Known::Yes } else { Known::Maybe };
            for deed in self.agent.deeds.iter_mut().skip(since.unwrap_or_default()) {
                deed.left_behind = if deed.left_behind == Known::Yes { Known::Yes } else { known };
            }
            // Whether what a rollback undid is still left behind once that is undone, no rule says; of one
            // to an unknown checkpoint nobody knows what it undid.
            let undone = if is_whole { since.unwrap_or(usize::MAX) } else { 0 };
            for deed in self.agent.deeds.iter_mut().take(undone) {
                deed.left_behind = deed.left_behind.min_maybe();
            }
        }
    }

    /// Takes in an event and what was done about it.
    pub(super) fn learn_event(
        &mut self,
        project: &ByteString,
        event: &AgentEvent,
        answer: &Answer,
    ) {
        let is_clear = self.is_event(event);
        let is_created =
            matches!(answer, Answer::Taken { outcome: CheckpointOutcome::Created { .. }, .. });
        // Whether what an event asks for counts for the turn no rule says.
        if !self.uses_slot(project) || *event == AgentEvent::TurnBoundary {
            self.slots.insert(project.clone(), Slot::Unclear);
        }
        let once = matches!(event, AgentEvent::Milestone { .. } | AgentEvent::Card { .. });
        if is_created && is_clear && once {
            self.agent.answered.insert((project.clone(), event.clone()));
        }
        match event {
            AgentEvent::Milestone { to, .. } => self.agent.progress = self.agent.progress.max(*to),
            AgentEvent::Card { card, .. } => drop(self.agent.cards.insert(card.clone())),
            _ => {}
        }
    }
}

impl Known {
    fn max_maybe(self) -> Known {
        if self == Known::No { Known::Maybe } else { self }
    }

    fn min_maybe(self) -> Known {
        if self == Known::Yes { Known::Maybe } else { self }
    }
}

fn unclear_if_used(slot: Slot) -> Slot {
    match slot {
        Slot::Taken | Slot::NothingToSave => Slot::Unclear,
        other => other,
    }
}
