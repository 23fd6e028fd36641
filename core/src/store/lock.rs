//! The one lock protocol of a store.
//!
//! Whoever reads or adds to the store shares its lock; clearing holds it alone, and so does reclaiming.
//! Whoever moves the history of a project holds that project's lock alone, always after the store's;
//! whoever changes where histories end holds that list's lock last of all. The
//! kernel drops the locks of a process that dies, so none is ever stale; a live one is waited for
//! a bounded time.

use crate::disk::{Disk, LockGuard, Sharing};
use crate::error::{Context, Error, Result};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// How long one look at a busy lock is apart from the next.
const WAIT_STEP: Duration = Duration::from_millis(10);
/// After this many looks the lock counts as busy: 5 seconds.
const WAIT_STEPS_MAX: usize = 500;
/// The same for who has better things to do: 0.5 seconds. Not a single look, since the child of a
/// process holds its locks until it runs a program of its own.
const SHORT_STEPS_MAX: usize = 50;

/// Holds the store's lock and perhaps a project's until it is dropped.
pub struct Lock {
    _held: Box<dyn LockGuard>,
}

/// Takes the lock on `path`, waiting a bounded time.
pub fn take(disk: &dyn Disk, path: &Path, sharing: Sharing) -> Result<Lock> {
    take_within(disk, path, sharing, WAIT_STEPS_MAX)
}

/// Takes the lock on `path`, hardly waiting.
pub fn take_briefly(disk: &dyn Disk, path: &Path, sharing: Sharing) -> Result<Lock> {
    take_within(disk, path, sharing, SHORT_STEPS_MAX)
}

fn take_within(disk: &dyn Disk, path: &Path, sharing: Sharing, steps: usize) -> Result<Lock> {
    for step in 0..steps {
        if step > 0 {
            sleep(WAIT_STEP);
        }
        if let Some(lock) = attempt(disk, path, sharing)? {
            return Ok(lock);
        }
    }
    Err(Error::Busy(path.to_owned()))
}

fn attempt(disk: &dyn Disk, path: &Path, sharing: Sharing) -> Result<Option<Lock>> {
    let inode = || disk.stat(path).ok().map(|stat| stat.inode);
    let seen = inode();
    let held = disk.try_lock(path, sharing).context("locking", path)?;
    // A store that is cleared takes its locks along, which then hold nobody back.
    let stands = seen.is_none() || seen == inode();
    Ok(held.filter(|_| stands).map(|held| Lock { _held: held }))
}
