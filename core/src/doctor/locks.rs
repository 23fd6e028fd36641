//! Checks for locks of the store that a process holds or left behind.
//!
//! The kernel releases the locks of this tool when their process dies, so that they are never left
//! behind. Git's locks are files: a process that dies leaves them behind, and the next process that
//! needs them takes them over after a while.

use super::{Check, Finding};
use crate::disk::{Disk, Kind};
use crate::store::{git_lock, lock};
use std::path::{Path, PathBuf};

/// Git holds the lock on a ref for less than this many seconds, even where the disk is slow.
const HELD_SECONDS_MAX: i64 = 60;

/// Checks the locks of the store, and whether the store can be locked.
pub fn check(disk: &dyn Disk, base: &Path, now: i64) -> Finding {
    let store = base.join("store");
    if let Some(finding) = held(disk, &store.join("locks/store")) {
        return finding;
    }
    let mut abandoned = abandoned_files(disk, &store, now);
    match git_lock::is_left_behind(disk, &store, now) {
        Some(true) => abandoned.push((store.join("gc.pid"), Kind::File)),
        Some(false) => {
            let found =
                format!("`git gc` holds {:?}, possibly on another machine", store.join("gc.pid"));
            let advice = "wait until it is done: meanwhile checkpoints are taken, but no space is freed; \
                          the lock of another machine expires after 12 hours";
            return Check::Locks.notice(found, advice);
        }
        None => {}
    }
    // A lock that is not a file is never taken over.
    let stuck: Vec<_> = abandoned.iter().filter(|(_, kind)| *kind == Kind::Directory).collect();
    if let Some((path, _)) = stuck.first() {
        let found = format!("{path:?} is a directory where git creates a lock file");
        return Check::Locks.trouble(found, "move it away");
    }
    let Some((first, _)) = abandoned.first() else {
        if disk.stat(&store).is_err() {
            return Check::Locks.ok("there is no store yet");
        }
        return Check::Locks.ok("no process holds the store, and no lock was left behind");
    };
    let more = match abandoned.len() - 1 {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let found = format!("{first:?}{more} was left behind by a process that died");
    let advice = "nothing to do: the next herma that needs it takes it over after 2 seconds; plain git \
                  does not, so remove it if no git command is using the store";
    Check::Locks.notice(found, advice)
}

/// Reports a process that holds the store exclusively, or a lock that cannot be tried.
fn held(disk: &dyn Disk, path: &Path) -> Option<Finding> {
    match lock::is_held(disk, path) {
        Ok(false) => None,
        Ok(true) => {
            let found = format!("another process holds {path:?}");
            let advice =
                "try again: a process that clears the store or frees space holds it meanwhile";
            Some(Check::Locks.notice(found, advice))
        }
        Err(error) => {
            let default_advice = "give yourself permission to read and write it";
            Some(Check::Locks.refusal(&error, default_advice))
        }
    }
}

/// Git's lock files in the store and its refs that are older than git holds one.
fn abandoned_files(disk: &dyn Disk, store: &Path, now: i64) -> Vec<(PathBuf, Kind)> {
    let refs = store.join("refs");
    let mut abandoned = Vec::new();
    let mut pending = vec![store.to_owned()];
    while let Some(path) = pending.pop() {
        // A folder that cannot be read is reported by the finding about the base.
        for (name, stat) in disk.entries(&path).unwrap_or_default() {
            let path = path.join(name);
            let Ok(stat) = stat else { continue };
            let is_lock = path.extension().is_some_and(|extension| extension == "lock");
            if is_lock && now.saturating_sub(stat.modified.0) > HELD_SECONDS_MAX {
                abandoned.push((path, stat.kind));
            } else if stat.kind == Kind::Directory && path.starts_with(&refs) {
                pending.push(path);
            }
        }
    }
    abandoned.sort_unstable_by(|left, right| left.0.cmp(&right.0));
    abandoned
}
