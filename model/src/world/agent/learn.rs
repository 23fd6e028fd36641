//! The updates of the agent: the effect of each request and its answer on the parts of the state, the
//! external actions and the events.

use super::{Carried, Certainty, ExternalAction, Origin, PartValue};
use crate::agent::{Action, AgentEvent, Compensation, Part};
use crate::answer::{Answer, CheckpointOutcome, Compensated};
use crate::bytes::{self, ByteString};
use crate::observation::Observation;
use crate::request::Request;
use crate::world::{Slot, World};

impl World {
    /// Records the effect of a request on the agent. `target` is what the request's target held, which
    /// may be evicted by now; `is_complete` says whether a restore is of a complete checkpoint.
    pub(in crate::world) fn learn_agent(
        &mut self,
        seen: &Observation,
        target: Option<Carried>,
        is_complete: bool,
    ) {
        match (&seen.request, &seen.answer) {
            (Request::SetState { part, value }, Answer::Done) => {
                self.agent.parts.insert(*part, (PartValue::Known(value.clone()), Origin::Set));
                self.agent.answered.clear();
                self.agent.set_values.push((*part, value.clone(), self.has_parent()));
            }
            (Request::SetState { part, .. }, _) => self.forget_part(*part),
            (Request::GetState { part }, Answer::State(found)) => {
                let (expected, origin) = self.part(*part);
                let is_right = expected == PartValue::Known(found.clone());
                // A part that was never set has no value for comparison.
                if expected != PartValue::Unset {
                    let origin = if is_right { origin } else { Origin::Set };
                    self.agent.parts.insert(*part, (PartValue::Known(found.clone()), origin));
                }
            }
            (Request::External { action, compensation }, Answer::Done) => {
                self.learn_external_action(action.clone(), compensation.as_ref());
            }
            (Request::Compensate, answer) => self.learn_compensated(seen, answer),
            (Request::Accept, _) => {
                for action in &mut self.agent.external_actions {
                    let is_left_behind = action.left_behind == Certainty::Yes;
                    let now = if is_left_behind { Certainty::Yes } else { Certainty::Maybe };
                    let was_accepted = action.accepted == Certainty::Yes;
                    action.accepted = if was_accepted { Certainty::Yes } else { now };
                }
            }
            (Request::Spawn, _) => {
                self.agent.parent_slots.push(self.slots.clone());
                self.slots.values_mut().for_each(|slot| *slot = unclear_if_used(*slot));
                self.agent.answered.clear();
            }
            (Request::Join, _) => self.learn_join(),
            (Request::NewTurn, _) => self.agent.answered.clear(),
            (Request::Reopen, _) => self.learn_reopen(),
            (Request::Clear, _) => {
                self.agent.external_actions.iter_mut().for_each(|action| {
                    action.accepted = action.accepted.at_least_maybe();
                });
                Part::ALL.into_iter().for_each(|part| self.forget_part(part));
            }
            (request, answer) if request.restores() => {
                self.learn_restore(answer, target, is_complete);
            }
            _ => {}
        }
    }

    fn forget_part(&mut self, part: Part) {
        self.agent.parts.insert(part, (PartValue::Unknown, Origin::Set));
    }

    fn learn_external_action(&mut self, action: Action, compensation: Option<&Compensation>) {
        let relative = |compensation: &Compensation| {
            let log = bytes::below(&self.absolute(b""), &compensation.log).map(ByteString::from)?;
            Some(Compensation { log, fails: compensation.fails })
        };
        self.agent.external_actions.push(ExternalAction {
            action,
            compensation: compensation.and_then(relative),
            is_registered: true,
            left_behind: Certainty::No,
            accepted: Certainty::No,
            has_run: false,
        });
    }

    /// Records which compensations ran, as the files show.
    fn learn_compensated(&mut self, seen: &Observation, answer: &Answer) {
        let none = Compensated::default();
        let reported = if let Answer::Compensated(reported) = answer { reported } else { &none };
        for log in self.compensation_logs() {
            for line in self.appended_lines(&log, seen).unwrap_or_default() {
                let has_line = |action: &&mut ExternalAction| {
                    let compensation = action.compensation.as_ref();
                    let has_log = compensation.is_some_and(|compensation| compensation.log == log);
                    has_log && !action.has_run && action.action.line() == line
                };
                let newest = self.agent.external_actions.iter_mut().rev().find(has_line);
                newest.into_iter().for_each(|action| action.has_run = true);
            }
        }
        // A compensation that is reported to have run is not expected again, whether or not it ran.
        let is_reported = |action: &&mut ExternalAction| {
            reported.compensated.contains(&action.action)
                || reported.failed.contains(&action.action)
        };
        for action in self.agent.external_actions.iter_mut().filter(is_reported) {
            action.is_registered = false;
        }
    }

    /// Restores the parent's slots. No rule says whose slot a sub-agent uses.
    fn learn_join(&mut self) {
        let Some(parent) = self.agent.parent_slots.pop() else { return };
        for (project, slot) in std::mem::replace(&mut self.slots, parent) {
            let parent_slot = self.slots.entry(project).or_insert(Slot::Unclear);
            if unclear_if_used(*parent_slot) != slot {
                *parent_slot = Slot::Unclear;
            }
        }
        self.agent.answered.clear();
    }

    /// Records a new process: it knows what is stored, and no rule says whether that includes the agent.
    fn learn_reopen(&mut self) {
        self.agent.parent_slots.clear();
        self.agent.answered.clear();
        self.agent.external_actions.iter_mut().for_each(|action| action.is_registered = false);
        for part in Part::ALL {
            if self.part(part).0 != PartValue::Unset {
                self.forget_part(part);
            }
        }
    }

    fn learn_restore(&mut self, answer: &Answer, target: Option<Carried>, is_complete: bool) {
        self.agent.answered.clear();
        let restored = match answer {
            Answer::Restored(restored) if is_complete => Some(restored),
            _ => None,
        };
        for part in self.parts().collect::<Vec<_>>() {
            let (before, _) = self.part(part);
            let recorded = target.as_ref().and_then(|carried| carried.parts.get(&part)).cloned();
            let now = match (restored, recorded.unwrap_or_default()) {
                (None, _) if before == PartValue::Unset => continue,
                (None, _) => (before, Origin::LeftAlone),
                // A part that the checkpoint lacks may stay, and a failed restore need not change it.
                (Some(_), PartValue::Unset) if before == PartValue::Unset => continue,
                (Some(restored), value @ PartValue::Known(_)) if restored.failed.is_empty() => {
                    (value, Origin::Restored(before))
                }
                (Some(_), _) => (PartValue::Unknown, Origin::Set),
            };
            self.agent.parts.insert(part, now);
        }
        if let Answer::Restored(_) = answer {
            let since = target.and_then(|carried| carried.actions);
            let is_known = since.is_some() && is_complete;
            let certainty = if is_known { Certainty::Yes } else { Certainty::Maybe };
            for action in self.agent.external_actions.iter_mut().skip(since.unwrap_or_default()) {
                let was_left_behind = action.left_behind == Certainty::Yes;
                action.left_behind = if was_left_behind { Certainty::Yes } else { certainty };
            }
            // No rule says whether an action is still left behind once the restore is undone; which
            // actions a restore of an unknown checkpoint undid is unknown.
            let undone = if is_complete { since.unwrap_or(usize::MAX) } else { 0 };
            for action in self.agent.external_actions.iter_mut().take(undone) {
                action.left_behind = action.left_behind.at_most_maybe();
            }
        }
    }

    /// Records an event and the answer to it.
    pub(in crate::world) fn learn_event(
        &mut self,
        project: &ByteString,
        event: &AgentEvent,
        answer: &Answer,
    ) {
        let is_clear = self.is_event(event);
        let is_created =
            matches!(answer, Answer::Taken { outcome: CheckpointOutcome::Created { .. }, .. });
        // No rule says whether the checkpoint of an event uses the slot of the turn.
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

impl Certainty {
    fn at_least_maybe(self) -> Certainty {
        if self == Certainty::No { Certainty::Maybe } else { self }
    }

    fn at_most_maybe(self) -> Certainty {
        if self == Certainty::Yes { Certainty::Maybe } else { self }
    }
}

fn unclear_if_used(slot: Slot) -> Slot {
    match slot {
        Slot::Taken | Slot::NothingToSave => Slot::Unclear,
        slot => slot,
    }
}
