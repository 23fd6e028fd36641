//! A part of the agent's state: whether it has the value that was set or restored.

use crate::agent::Part;
use crate::allowed::Allowed;
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::{Origin, PartValue, World};
use serde_json::Value;

impl World {
    pub(super) fn allows_state(&self, part: Part) -> Allowed {
        Allowed::State(match self.part(part).0 {
            PartValue::Known(value) => Some(value),
            PartValue::Unset | PartValue::Unknown => None,
        })
    }
}

/// Compares the reported value of a part with the expected one.
///
/// Implements [`rules::AGENT_PARTS`], [`rules::AGENT_ALL_OR_NONE`] and [`rules::AGENT_COMPOSES`].
pub(super) fn compare(world: &World, part: Part, expected: &Value, found: &Value) -> Checks {
    let mut checks = Checks::default();
    let (rule, symptom): (RuleRef, &str) = match world.part(part).1 {
        // A value that was never set is not another state, but the expected one kept badly.
        _ if !found.is_null() && !world.was_set(part, found, false) => {
            (&rules::AGENT_PARTS, "a value that was never set")
        }
        Origin::Set => (&rules::AGENT_PARTS, "not what was set"),
        Origin::LeftAlone => (&rules::AGENT_ALL_OR_NONE, "changed, and nothing was restored"),
        // The value from before was not restored; any other value of a sub-agent is the sub-agent's.
        Origin::Restored(before)
            if before != PartValue::Known(found.clone()) && world.was_set(part, found, true) =>
        {
            (&rules::AGENT_COMPOSES, "the value of a sub-agent")
        }
        Origin::Restored(_) => (&rules::AGENT_ALL_OR_NONE, "not restored"),
    };
    let by_subagent = *rule != rules::AGENT_COMPOSES && world.was_set_by_subagent(part);
    checks.held(&rules::AGENT_COMPOSES, u64::from(by_subagent && expected == found));
    checks.check(Judge::Answer, rule, expected == found, || {
        Mismatch::new(symptom, plain(expected), plain(found))
    });
    checks
}
