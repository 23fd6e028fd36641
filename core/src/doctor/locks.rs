//! Locks of the store that somebody holds or left behind.
//!
//! Ours are dropped by the kernel with the process that held them, so that none of them is ever left
//! behind. Git's are files: whoever dies leaves them, and the next that wants them takes them over
//! after a while.

use super::{Check, Finding};
use crate::disk::{Disk, Kind};
use crate::store::{git_lock, lock};
use std::path::{Path, PathBuf};

/// Git holds the lock on a ref for less than this many seconds, even where the disk is slow.
const HELD_SECONDS_MAX: i64 = 60;

/// Looks at the locks of the store, and at whether the store can be had at all.
pub fn look(disk: &dyn Disk, base: &Path, now: i64) -> Finding {
    let store = base.join("store");
    if let Some(finding) = held(disk, &store.join("locks/store")) {
        return finding;
    }
    let mut left = files(disk, &store, now);
    match git_lock::is_left_behind(disk, &store, now) {
        Some(true) => left.push((store.join("gc.pid"), Kind::File)),
        Some(false) => {
            let found =
                format!("`git gc` holds {:?}, or another machine did", store.join("gc.pid"));
            let advice = "wait until it is done: no space is freed meanwhile, and checkpoints are \
                          taken all the same; one of another machine counts for 12 hours";
            return Finding::notice(Check::Locks, found, advice);
        }
        None => {}
    }
    // Nobody takes over what is no file.
    let stuck: Vec<_> = left.iter().filter(|(_, kind)| *kind == Kind::Directory).collect();
    if let Some((path, _)) = stuck.first() {
        let found = format!("{path:?} stands where git's lock would be, and is a directory");
        return Finding::trouble(Check::Locks, found, "move it away");
    }
    let Some((first, _)) = left.first() else {
        if disk.stat(&store).is_err() {
            return Finding::ok(Check::Locks, "there is no store yet that anybody could hold");
        }
        return Finding::ok(Check::Locks, "nobody holds the store, and no lock was left behind");
    };
    let others = match left.len() - 1 {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    let found = format!("{first:?}{others} was left by a process that died");
    let advice = "none is needed: who needs it waits 2 seconds and takes it over; plain git does not, \
                  so remove it if no git works on the store";
    Finding::notice(Check::Locks, found, advice)
}

/// Whether somebody holds the store alone, or it cannot even be asked for.
fn held(disk: &dyn Disk, path: &Path) -> Option<Finding> {
    match lock::is_held(disk, path) {
        Ok(false) => None,
        Ok(true) => {
            let found = format!("another process holds {path:?}");
            let advice = "try again: whoever clears the store or frees space holds it meanwhile";
            Some(Finding::notice(Check::Locks, found, advice))
        }
        Err(error) => {
            let otherwise = "make it yours to read and write";
            Some(Finding::refusal(Check::Locks, &error, otherwise))
        }
    }
}

/// Git's lock files that are older than git holds one, beside the files of the store and its refs.
fn files(disk: &dyn Disk, store: &Path, now: i64) -> Vec<(PathBuf, Kind)> {
    let refs = store.join("refs");
    let mut left = Vec::new();
    let mut pending = vec![store.to_owned()];
    while let Some(path) = pending.pop() {
        // A folder that cannot be read is said of the base.
        for (name, stat) in disk.entries(&path).unwrap_or_default() {
            let (path, Ok(stat)) = (path.join(name), stat) else { continue };
            let is_lock = path.extension().is_some_and(|extension| extension == "lock");
            if is_lock && now.saturating_sub(stat.modified.0) > HELD_SECONDS_MAX {
                left.push((path, stat.kind));
            } else if stat.kind == Kind::Directory && path.starts_with(&refs) {
                pending.push(path);
            }
        }
    }
    left.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    left
}
