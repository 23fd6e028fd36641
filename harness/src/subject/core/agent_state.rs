//! The core's answers about the state of an agent: external actions, events, and sub-agents.

use super::CoreSubject;
use super::checkpoints::taken;
use super::convert::done;
use herma_core::Error;
use herma_model::Code;
use herma_model::agent::{Action, AgentEvent, Compensation, Part};
use herma_model::answer::{Answer, Changed, CheckpointOutcome};
use serde_json::Value;
use std::io;
use std::path::Path;

impl CoreSubject {
    pub(super) fn set_state(&self, part: Part, value: &Value) -> Answer {
        self.agent.set(part, value).map_or_else(state_error, done)
    }

    pub(super) fn state(&self, part: Part) -> Answer {
        self.agent.get(part).map_or_else(state_error, Answer::State)
    }

    pub(super) fn record_external(
        &mut self,
        action: &Action,
        compensation: Option<&Compensation>,
    ) -> Result<(), Error> {
        if self.agent.record(action, compensation)? {
            self.checkpoints.manager_mut()?.set_state(self.agent.state());
        }
        Ok(())
    }

    /// Lets a sub-agent take the place of the agent, which waits.
    pub(super) fn spawn(&mut self) -> Answer {
        let manager = self.new_manager(self.environment.clone());
        self.agent.spawn(std::mem::replace(&mut self.checkpoints, manager));
        Answer::Done
    }

    /// Returns to the agent that waits for this sub-agent, if any.
    pub(super) fn join(&mut self) -> Answer {
        if let Some(parent) = self.agent.join() {
            self.checkpoints = parent;
        }
        Answer::Done
    }

    pub(super) fn happens(&mut self, dir: &Path, event: &AgentEvent) -> Answer {
        let event = self.agent.event(event);
        match self.checkpoints.happens(dir, &event) {
            (_, Some(checkpoint)) => taken(checkpoint),
            // The reason that no checkpoint was taken is only for people.
            (_, None) => Answer::Taken { outcome: CheckpointOutcome::NotDue, skipped: Vec::new() },
        }
    }
}

/// The refusal when a part of the agent's state cannot be read or written.
fn state_error(error: io::Error) -> Answer {
    Answer::Refused { code: Code::Io, message: error.to_string(), changed: Changed::None }
}
