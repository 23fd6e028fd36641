//! The one lock protocol of a store.
//!
//! Whoever reads or adds to the store shares its lock; reclaiming will hold it alone. Whoever
//! moves the history of a project holds that project's lock alone, always after the store's. The
//! kernel drops the locks of a process that dies, so none is ever stale; a live one is waited for
//! a bounded time.

use crate::disk::{Disk, Held, Sharing};
use crate::error::{Context, Error, Result};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// How long one look at a busy lock is apart from the next.
const WAIT_STEP: Duration = Duration::from_millis(10);
/// After this many looks the lock counts as busy: 5 seconds.
const WAIT_STEPS_MAX: usize = 500;

/// Holds the store's lock and perhaps a project's until it is dropped.
pub struct Lock {
    _held: Box<dyn Held>,
}

/// Takes the lock on `path`, waiting a bounded time.
pub fn take(disk: &dyn Disk, path: &Path, sharing: Sharing) -> Result<Lock> {
    for step in 0..WAIT_STEPS_MAX {
        if step > 0 {
            sleep(WAIT_STEP);
        }
        if let Some(lock) = attempt(disk, path, sharing)? {
            return Ok(lock);
        }
    }
    Err(Error::Busy(path.to_owned()))
}

/// Takes the lock on `path` without waiting.
pub fn take_now(disk: &dyn Disk, path: &Path, sharing: Sharing) -> Result<Lock> {
    attempt(disk, path, sharing)?.ok_or_else(|| Error::Busy(path.to_owned()))
}

fn attempt(disk: &dyn Disk, path: &Path, sharing: Sharing) -> Result<Option<Lock>> {
    let inode = || disk.stat(path).ok().map(|stat| stat.inode);
    let seen = inode();
    let held = disk.try_lock(path, sharing).context("locking", path)?;
    // A store that is cleared takes its locks along, which then hold nobody back.
    let stands = seen.is_none() || seen == inode();
    Ok(held.filter(|_| stands).map(|held| Lock { _held: held }))
}
