//! Git's lock for packing a store and removing objects, `gc.pid`. `git gc` does nothing while this lock
//! is held, and this crate removes no object while `git gc` holds it. Otherwise each of the two could
//! remove a copy of an object because it relies on the copy that the other one removes.

use crate::disk::atomic_write::move_file;
use crate::disk::{Disk, Stat};
use crate::error::{Context, Error, Result};
use crate::store::refs::take_git_lock;
use rustix::process::{Pid, test_kill_process};
use rustix::system::uname;
use std::path::{Path, PathBuf};

/// After this many seconds git considers a lock abandoned.
const HELD_SECONDS_MAX: i64 = 12 * 60 * 60;
/// Size limit of the lock file in bytes: it holds a process id and the name of a machine.
const HOLDER_BYTES_MAX: u64 = 1_024;

/// Holds the lock until it is dropped; on a full disk, holds git's lock on the file of the lock instead.
/// The lock of a process that died is taken over by the next process.
pub struct GitLock<'a> {
    disk: &'a dyn Disk,
    path: PathBuf,
}

impl Drop for GitLock<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.disk.remove_file(&self.path) {
            tracing::debug!(
                "{:?} was not removed; the next process takes it over: {error}",
                self.path
            );
        }
    }
}

/// Takes the lock. The caller holds the store exclusively, so that no other process of this tool holds
/// `gc.pid`.
///
/// # Errors
/// [`Error::Busy`] while `git gc` holds it.
// rule: concurrent/keeps
pub fn take<'a>(disk: &'a dyn Disk, store: &Path) -> Result<GitLock<'a>> {
    let path = store.join("gc.pid");
    let fresh = store.join("gc.pid.lock");
    let machine = uname().nodename().to_string_lossy().into_owned();
    let text = format!("{} {machine}", std::process::id());
    // No process outlives a power loss, so that its lock need not.
    let take =
        |content: &[u8]| take_git_lock(disk, &fresh, |lock| disk.write_soon(lock, content, 0o600));
    let has_space = match take(text.as_bytes()) {
        // An empty file takes no space, and git takes no lock while it exists.
        Err(error) if error.is_full_disk() => take(b"").map(|()| false)?,
        taken => taken.map(|()| true)?,
    };
    let busy = is_held(disk, &path, &fresh, &machine);
    if !matches!(busy, Ok(false)) {
        let _ = disk.remove_file(&fresh);
        return busy.and(Err(Error::Busy(path)));
    }
    if !has_space {
        return Ok(GitLock { disk, path: fresh });
    }
    move_file(disk, &fresh, &path)?;
    Ok(GitLock { disk, path })
}

/// Whether the process that holds the lock may be alive; `fresh` was made just now.
fn is_held(disk: &dyn Disk, path: &Path, fresh: &Path, machine: &str) -> Result<bool> {
    let Ok((text, stat)) = disk.read(path, HOLDER_BYTES_MAX) else { return Ok(false) };
    let now = disk.stat(fresh).context("looking at", fresh)?.modified.0;
    Ok(may_be_alive(&text, &stat, now, machine))
}

/// Whether the process that took the lock has died; `None` if there is no lock file.
pub fn is_left_behind(disk: &dyn Disk, store: &Path, now: i64) -> Option<bool> {
    let (text, stat) = disk.read(&store.join("gc.pid"), HOLDER_BYTES_MAX).ok()?;
    Some(!may_be_alive(&text, &stat, now, &uname().nodename().to_string_lossy()))
}

/// Whether the process that wrote a lock file with that text and stat may be alive.
fn may_be_alive(text: &[u8], stat: &Stat, now: i64, machine: &str) -> bool {
    let text = String::from_utf8_lossy(text);
    let Some((process, holder_machine)) = text.trim().split_once(' ') else { return false };
    let process = process.parse().ok().and_then(Pid::from_raw);
    let Some(process) = process.filter(|_| is_young(stat, now)) else { return false };
    // A lock of this process was left by an attempt that failed.
    let is_own = process.as_raw_nonzero().get().unsigned_abs() == std::process::id();
    let is_alive = || !matches!(test_kill_process(process), Err(rustix::io::Errno::SRCH));
    holder_machine != machine || !is_own && is_alive()
}

/// Whether the time of a lock is near now. A time far in the future comes from a wrong clock; such a
/// lock counts as abandoned, too.
fn is_young(stat: &Stat, now: i64) -> bool {
    now.saturating_sub(stat.modified.0).saturating_abs() < HELD_SECONDS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;
    use std::fs;
    use std::process::Command;

    #[test]
    fn take_refuses_the_lock_of_a_live_process_and_takes_over_that_of_a_dead_one() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path();
        let path = folder.path().join("gc.pid");
        let machine = uname().nodename().to_string_lossy().into_owned();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        for (text, is_held) in [
            (format!("{} {machine}", child.id()), true),
            (format!("{} elsewhere", child.id()), true),
            (format!("{} {machine}", std::process::id()), false),
            (format!("no number {machine}"), false),
            (String::new(), false),
        ] {
            fs::write(&path, &text).unwrap();
            match take(&SystemDisk, store) {
                Ok(held) => {
                    let written = fs::read_to_string(&path).unwrap();
                    assert_eq!(written, format!("{} {machine}", std::process::id()));
                    drop(held);
                    assert!(!is_held && !path.exists(), "{text}");
                }
                Err(error) => assert!(is_held && error.code() == "busy", "{text}: {error}"),
            }
            assert!(!store.join("gc.pid.lock").exists());
        }
        fs::write(&path, format!("{} {machine}", child.id())).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        drop(take(&SystemDisk, store).unwrap());
        fs::write(&path, "1 elsewhere").unwrap();
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(13 * 3600);
        fs::File::open(&path).unwrap().set_modified(long_ago).unwrap();
        drop(take(&SystemDisk, store).unwrap());
    }
}
