//! A part of the agent's state: whether it is what it was set to, or what a restore made it.

use crate::agent::Part;
use crate::allowed::Allowed;
use crate::plain::plain;
use crate::request::Request;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::{Held, Origin, World};
use serde_json::Value;

impl World {
    pub(super) fn allows_state(&self, part: Part) -> Allowed {
        Allowed::State(match self.part(part).0 {
            Held::Is(value) => Some(value),
            Held::Unset | Held::Unknown => None,
        })
    }
}

/// Compares what a part is said to be with what it must be.
///
/// Implements [`rules::AGENT_PARTS`], [`rules::AGENT_ALL_OR_NONE`] and [`rules::AGENT_COMPOSES`].
pub(super) fn compare(
    world: &World,
    request: &Request,
    due: Option<&Value>,
    found: &Value,
    checks: &mut Checks,
) {
    let (Request::GetState { part }, Some(due)) = (request, due) else { return };
    let (rule, symptom): (RuleRef, &str) = match world.part(*part).1 {
        // What nobody made it is no other state, but this one kept badly.
        _ if !found.is_null() && !world.was_set(*part, found, false) => {
            (&rules::AGENT_PARTS, "nobody set that")
        }
        Origin::Set => (&rules::AGENT_PARTS, "not what was set"),
        Origin::Spared => (&rules::AGENT_ALL_OR_NONE, "changed, and nothing was restored"),
        // What was there before is what was not restored; what a sub-agent made it is another's.
        Origin::Restored(before)
            if before != Held::Is(found.clone()) && world.was_set(*part, found, true) =>
        {
            (&rules::AGENT_COMPOSES, "what a sub-agent made it")
        }
        Origin::Restored(_) => (&rules::AGENT_ALL_OR_NONE, "not restored"),
    };
    let is_another = *rule != rules::AGENT_COMPOSES && world.is_another(*part);
    checks.held(&rules::AGENT_COMPOSES, u64::from(is_another && due == found));
    checks.check(Judge::Answer, rule, due == found, || {
        Mismatch::new(symptom, plain(due), plain(found))
    });
}
