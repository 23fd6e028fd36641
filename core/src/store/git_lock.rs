//! Git's own lock for packing a store and removing from it, `gc.pid`: `git gc` does nothing while it is
//! held, and nothing may be removed here while `git gc` holds it, since each would trust the copies
//! that the other removes.

use crate::disk::atomic_write::replace_file;
use crate::disk::{Disk, Stat};
use crate::error::{Context, Error, Result};
use crate::store::refs::take_git_lock;
use rustix::process::{Pid, test_kill_process};
use rustix::system::uname;
use std::path::{Path, PathBuf};

/// After so many seconds git takes the lock of any other process for left behind.
const HELD_SECONDS_MAX: i64 = 12 * 60 * 60;
/// More bytes than a process and the name of its machine take.
const HOLDER_BYTES_MAX: u64 = 1_024;

/// Holds the lock until it is dropped, or on a full disk git's lock on its file. That of a process that died
/// is taken over by the next.
pub struct GitLock<'a> {
    disk: &'a dyn Disk,
    path: PathBuf,
}

impl Drop for GitLock<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.disk.remove_file(&self.path) {
            tracing::debug!("{:?} stays until the next process takes it over: {error}", self.path);
        }
    }
}

/// Takes the lock. The caller holds the store alone, so that none of ours holds it.
///
/// # Errors
/// [`Error::Busy`] while `git gc` holds it.
// rule: concurrent/keeps
pub fn take<'a>(disk: &'a dyn Disk, store: &Path) -> Result<GitLock<'a>> {
    let (path, fresh) = (store.join("gc.pid"), store.join("gc.pid.lock"));
    let machine = uname().nodename().to_string_lossy().into_owned();
    let text = format!("{} {machine}", std::process::id());
    let has_space = match take_git_lock(disk, &fresh, text.as_bytes()) {
        // An empty file takes no space, and git takes no lock beside it either.
        Err(error) if error.is_full_disk() => take_git_lock(disk, &fresh, b"").map(|()| false)?,
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
    replace_file(disk, &fresh, &path)?;
    Ok(GitLock { disk, path })
}

/// Whether a process lives that may hold it; `fresh` was made just now.
fn is_held(disk: &dyn Disk, path: &Path, fresh: &Path, machine: &str) -> Result<bool> {
    let Ok(found) = disk.read(path, HOLDER_BYTES_MAX) else { return Ok(false) };
    let now = disk.stat(fresh).context("looking at", fresh)?.modified.0;
    Ok(may_live(&found, now, machine))
}

/// Whether the lock is there and whoever took it has died; none where it is not there.
pub fn is_left_behind(disk: &dyn Disk, store: &Path, now: i64) -> Option<bool> {
    let found = disk.read(&store.join("gc.pid"), HOLDER_BYTES_MAX).ok()?;
    Some(!may_live(&found, now, &uname().nodename().to_string_lossy()))
}

/// Whether a process lives that may have written that.
fn may_live((text, stat): &(Vec<u8>, Stat), now: i64, machine: &str) -> bool {
    let text = String::from_utf8_lossy(text);
    let Some((process, other)) = text.trim().split_once(' ') else { return false };
    let process = process.parse().ok().and_then(Pid::from_raw);
    let Some(process) = process.filter(|_| is_young(stat, now)) else { return false };
    // One of this process's own was left where it failed.
    let is_own = process.as_raw_nonzero().get().unsigned_abs() == std::process::id();
    let lives = || !matches!(test_kill_process(process), Err(rustix::io::Errno::SRCH));
    other != machine || !is_own && lives()
}

/// Whether a lock is of a time near now. One of a time to come was taken by a clock that is wrong, and is
/// not waited for until then.
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
    fn it_is_held_by_who_lives_and_taken_over_from_who_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let (store, path) = (folder.path(), folder.path().join("gc.pid"));
        let machine = uname().nodename().to_string_lossy().into_owned();
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        for (text, is_held) in [
            (format!("{} {machine}", other.id()), true),
            (format!("{} elsewhere", other.id()), true),
            (format!("{} {machine}", std::process::id()), false),
            (format!("no number {machine}"), false),
            (String::new(), false),
        ] {
            fs::write(&path, &text).unwrap();
            match take(&SystemDisk, store) {
                Ok(held) => {
                    let noted = fs::read_to_string(&path).unwrap();
                    assert_eq!(noted, format!("{} {machine}", std::process::id()));
                    drop(held);
                    assert!(!is_held && !path.exists(), "{text}");
                }
                Err(error) => assert!(is_held && error.code() == "busy", "{text}: {error}"),
            }
            assert!(!store.join("gc.pid.lock").exists());
        }
        fs::write(&path, format!("{} {machine}", other.id())).unwrap();
        other.kill().unwrap();
        other.wait().unwrap();
        drop(take(&SystemDisk, store).unwrap());
        fs::write(&path, "1 elsewhere").unwrap();
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(13 * 3600);
        fs::File::open(&path).unwrap().set_modified(long_ago).unwrap();
        drop(take(&SystemDisk, store).unwrap());
    }
}
