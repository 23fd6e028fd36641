//! Whether the hooks that were set up are called: an agent that does not find or trust its hook says nothing.

use super::{Check, Finding};
use crate::agent::{EarlierFailure, HookLog, LastCall, Removal};
use crate::disk::Disk;
use crate::environment::Environment;
use crate::text::ago;

/// A failure is told for so long after calls that went well, and so is a removal.
const EARLIER_SECONDS_MAX: i64 = 7 * 24 * 60 * 60;

/// A finding for each agent that has a hook, for the last failure before its last call, and for what its prunes
/// removed.
pub fn check(disk: &dyn Disk, environment: &Environment, now: i64) -> Vec<Finding> {
    let log = HookLog::new(disk, environment);
    let is_recent = |time: i64| now.saturating_sub(time) < EARLIER_SECONDS_MAX;
    let earlier = |(agent, last): &(String, Option<LastCall>)| {
        // If the last call failed, too, that is what there is to do.
        let last = last.as_ref().filter(|last| last.failure.is_none())?;
        let EarlierFailure { time, failure, .. } = last.earlier.as_ref()?;
        let message =
            format!("the hook of {agent} took no checkpoint {}: {failure}", ago(*time, now));
        is_recent(*time).then(|| {
            Check::Hooks.notice(message, "nothing more to do: the calls since then went well")
        })
    };
    let removed = |(agent, _): &(String, Option<LastCall>)| {
        let mut removals = log.removals(agent);
        removals.retain(|removal| is_recent(removal.time));
        let advice = "to keep such checkpoints, pin them, or set delete_orphans, retention_days or \
                      max_total_size_mb in the configuration";
        let notice = |message| Check::Hooks.notice(message, advice);
        Removal::described(agent, &removals).into_iter().map(notice).collect::<Vec<_>>()
    };
    let finding = |(agent, last)| {
        match last {
        None => Check::Hooks.notice(format!("the hook of {agent} is set up, and no call of it was recorded yet"),
            "let the agent change a file; if this stays, restart it, and see whether it asks to trust its hooks",
        ),
        // The other findings tell whether checkpoints work now.
        Some(LastCall { time, failure: Some(failure), .. }) => Check::Hooks.notice(format!(
                "the hook of {agent}, called {}, took no checkpoint: {failure}",
                ago(time, now)
            ),
            "try `herma checkpoint` in the project: if that works, the next call of the hook does, too",
        ),
        Some(LastCall { time, reason, outside, .. }) => {
            let called = format!("the hook of {agent} was called {}, {reason}", ago(time, now));
            match outside {
                None => Check::Hooks.ok(called),
                Some(file) => Check::Hooks.notice(
                    format!("{called}; no checkpoint holds {file}: it is in no project"),
                    "to keep such a file, copy it into a project, or have the agent do so",
                ),
            }
        }
    }
    };
    let agents = log.agents();
    let earlier = agents.iter().filter_map(earlier).chain(agents.iter().flat_map(removed));
    let earlier: Vec<Finding> = earlier.collect();
    agents.into_iter().map(finding).chain(earlier).collect()
}
