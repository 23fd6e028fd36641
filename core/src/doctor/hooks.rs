//! Whether the hooks that were set up are called: an agent that does not find or trust its hook says nothing.

use super::{Check, Finding};
use crate::agent::{HookLog, LastCall};
use crate::disk::Disk;
use crate::environment::Environment;
use crate::text::ago;

/// A finding for each agent that has a hook.
pub fn check(disk: &dyn Disk, environment: &Environment, now: i64) -> Vec<Finding> {
    let log = HookLog::new(disk, environment);
    let finding = |(agent, last)| match last {
        None => Finding::notice(
            Check::Hooks,
            format!("the hook of {agent} was set up and has not been called yet"),
            "let the agent change a file; if this stays, restart it, and see whether it asks to trust its hooks",
        ),
        Some(LastCall { time, failure: Some(failure), .. }) => Finding::trouble(
            Check::Hooks,
            format!(
                "the hook of {agent}, called {}, took no checkpoint: {failure}",
                ago(time, now)
            ),
            "try `herma checkpoint` in the project",
        ),
        Some(LastCall { time, reason, .. }) => {
            let called = format!("the hook of {agent} was called {}, {reason}", ago(time, now));
            Finding::ok(Check::Hooks, called)
        }
    };
    log.agents().into_iter().map(finding).collect()
}
