//! The lock protocol of a store. There are three locks, always taken in this order:
//!
//! 1. The lock of the store: shared to read the store or add to it, exclusive to clear it or collect
//!    space.
//! 2. The lock of a project: exclusive to change its history.
//! 3. The lock of the boundaries (see [`super::shallow`]): exclusive to change that list.
//!
//! The kernel releases the locks of a process that dies, so that no lock is stale. The wait for a held
//! lock is bounded.

use crate::disk::{Disk, LockGuard, Sharing};
use crate::error::{Context, Error, Result};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// The time between two attempts to take a busy lock.
const WAIT_STEP: Duration = Duration::from_millis(10);
/// After this many attempts a lock counts as busy: 5 seconds.
const WAIT_STEPS_MAX: usize = 500;
/// The same for a brief wait: 0.5 seconds. One attempt is not enough, since a child process holds the
/// locks of its parent between fork and exec.
const SHORT_STEPS_MAX: usize = 50;

/// Holds a lock until it is dropped.
pub struct Lock {
    _held: Box<dyn LockGuard>,
}

/// Takes the lock on `path`, waiting a bounded time.
pub fn take(disk: &dyn Disk, path: &Path, sharing: Sharing) -> Result<Lock> {
    take_within(disk, path, sharing, WAIT_STEPS_MAX)
}

/// Takes the lock on `path`, waiting briefly.
pub fn take_briefly(disk: &dyn Disk, path: &Path, sharing: Sharing) -> Result<Lock> {
    take_within(disk, path, sharing, SHORT_STEPS_MAX)
}

/// Whether another process holds the lock on `path` exclusively. To find out, the lock is taken shared
/// and released at once, so that no process waits; a missing lock file is not made.
///
/// # Errors
/// A lock that cannot be tried.
pub fn is_held(disk: &dyn Disk, path: &Path) -> Result<bool> {
    if disk.stat(path).is_err() {
        return Ok(false);
    }
    match take_briefly(disk, path, Sharing::Shared) {
        Ok(_) => Ok(false),
        Err(Error::Busy(_)) => Ok(true),
        Err(error) => Err(error),
    }
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
    let before = inode();
    let held = disk.try_lock(path, sharing).context("locking", path)?;
    // Clearing a store removes the lock files, and a lock on a removed file protects nothing.
    let is_current = before.is_none() || before == inode();
    Ok(held.filter(|_| is_current).map(|held| Lock { _held: held }))
}
