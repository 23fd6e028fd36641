//! Checks whether the state of an agent can be captured and restored, and whether a restore of it was
//! interrupted. There is no finding if the agent has no state.

use super::{Check, Finding};
use crate::agent_state::{Journal, State};
use crate::disk::{Disk, Kind};
use crate::path::shown;
use crate::store::lock;
use std::path::Path;

/// Checks the agent's folder, and the journals of restores in the store of `base`.
pub fn check(disk: &dyn Disk, base: &Path, folder: &Path) -> Option<Finding> {
    let is_there = disk.stat(folder).is_ok_and(|stat| stat.kind == Kind::Directory);
    if let Some(found) = interrupted(disk, base) {
        let undone = "run `herma rollback`, which undoes it; until then some files and parts of the \
                      agent's state are from before the rollback and some from after it";
        let advice = match is_there {
            true => undone.to_owned(),
            // Without the folder its parts cannot be restored.
            false => format!("create the agent's folder {folder:?} again, then {undone}"),
        };
        return Some(Check::Agent.trouble(found, advice));
    }
    if !is_there {
        return None;
    }
    let damaged = State::damaged_files(disk, folder);
    if damaged.is_empty() {
        let found = format!("the agent's state in {folder:?} can be captured");
        return Some(Check::Agent.ok(found));
    }
    let advice =
        "fix or remove the file: until then no checkpoint contains it, and no rollback restores it";
    Some(Check::Agent.notice(damaged.join("; "), advice))
}

/// Describes the first interrupted restore. A restore that still runs holds the lock of its project.
fn interrupted(disk: &dyn Disk, base: &Path) -> Option<String> {
    let store = base.join("store");
    // Locks that cannot be read are reported by the finding about the base.
    let lock_path = |hash: &str| store.join("locks").join(hash);
    let is_running = |hash: &str| lock::is_held(disk, &lock_path(hash)).unwrap_or(false);
    Some(match Journal::interrupted(disk, &store, is_running)? {
        Ok(journal) => format!("a rollback of {} was interrupted", shown(&journal.directory)),
        Err(error) => format!(
            "a rollback was interrupted and cannot be undone, because its journal is damaged: {}",
            error.cause()
        ),
    })
}
