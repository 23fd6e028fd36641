//! Events of the agent: which of them call for a checkpoint. Only clear cases are judged.

use super::checkpoint::without_capture;
use crate::agent::AgentEvent;
use crate::allowed::{Allowed, CheckpointKind};
use crate::excuse::Excuse;
use crate::rules;
use crate::world::{Slot, World};

impl World {
    /// Implements [`rules::AGENT_TRIGGERS`].
    pub(super) fn allows_event(&self, dir: &[u8], event: &AgentEvent) -> Allowed {
        use CheckpointKind::{Deduped, Disabled, NotDue, Unchanged};
        let project = self.canonical(dir).unwrap_or_default();
        let refusal = self.out_of_scope(&self.locate(dir));
        if !self.settings.enabled {
            let disabled = without_capture(project, Disabled, &rules::TURN_DISABLED, refusal);
            return disabled.or_as_well(&[NotDue, Deduped]);
        }
        if self.was_answered(&project, event) {
            let answered = without_capture(project, Deduped, &rules::AGENT_TRIGGERS, refusal);
            return answered.or_as_well(&[NotDue, Unchanged]);
        }
        // No rule says whether a used slot of the turn prevents the checkpoint of an event.
        let is_free = !self.uses_slot(&project) && self.slot(&project) != Some(Slot::Unclear);
        // A refused checkpoint needs no reason: the agent continues.
        let is_expected = self.is_event(event) && is_free;
        match is_expected.then(|| self.allows_new(project, refusal)) {
            Some(allowed @ Allowed::Checkpoint(_)) => allowed,
            _ => Allowed::Unknown(Excuse::NoRule),
        }
    }
}
