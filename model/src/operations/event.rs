//! Events of the agent: at which of them a checkpoint is due. Only what is clear is judged.

use super::checkpoint::settled;
use crate::agent::AgentEvent;
use crate::allowed::{Allowed, CheckpointKind};
use crate::rules;
use crate::world::{Slot, World};

impl World {
    /// Implements [`rules::AGENT_TRIGGERS`].
    pub(super) fn allows_event(&self, dir: &[u8], event: &AgentEvent) -> Allowed {
        use CheckpointKind::{Deduped, Disabled, NotDue, Unchanged};
        let project = self.canonical(dir).unwrap_or_default();
        let refusal = self.out_of_scope(&self.locate(dir));
        if !self.settings.enabled {
            let disabled = settled(project, Disabled, &rules::TURN_DISABLED, refusal);
            return disabled.or_as_well(&[NotDue, Deduped]);
        }
        if self.was_answered(&project, event) {
            let answered = settled(project, Deduped, &rules::AGENT_TRIGGERS, refusal);
            return answered.or_as_well(&[NotDue, Unchanged]);
        }
        // Whether the slot of the turn stands in the way of an event, no rule says.
        let is_free = !self.uses_slot(&project) && self.slot(&project) != Some(Slot::Unclear);
        // What cannot be taken need not be said for what reason: an agent goes on.
        let due = self.is_event(event) && is_free;
        match due.then(|| self.allows_new(project, refusal)) {
            Some(due @ Allowed::Checkpoint(_)) => due,
            _ => Allowed::Unknown,
        }
    }
}
