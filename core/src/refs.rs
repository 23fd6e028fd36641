//! Where the history of each project begins: `refs/hermes/<hash>`, as plain git reads it.
//!
//! A ref is its own small file; `git gc` may have moved it into `packed-refs`, which is read but
//! never written.

use crate::disk::Disk;
use crate::error::{Context, Error, Result};
use crate::fresh::replace_file;
use crate::store::make_private;
use git2::Oid;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// More bytes than the refs of any store take.
const REFS_BYTES_MAX: u64 = 64 * 1024 * 1024;

fn name_of(hash: &str) -> String {
    format!("refs/hermes/{hash}")
}

fn file_of(store: &Path, hash: &str) -> PathBuf {
    store.join(name_of(hash))
}

/// The newest checkpoint of the project, if it has any.
pub fn read(disk: &dyn Disk, store: &Path, hash: &str) -> Result<Option<Oid>> {
    let path = file_of(store, hash);
    match disk.read(&path, 1_024) {
        Ok((content, _)) => parse(&path, &content).map(Some),
        Err(error) if error.kind() == ErrorKind::NotFound => read_packed(disk, store, hash),
        Err(error) => Err(error).context("reading", &path),
    }
}

fn parse(path: &Path, content: &[u8]) -> Result<Oid> {
    let text = String::from_utf8_lossy(content);
    Oid::from_str(text.trim_end()).map_err(|_| Error::StoreUnusable {
        path: path.to_owned(),
        why: "it holds no object id".into(),
    })
}

fn read_packed(disk: &dyn Disk, store: &Path, hash: &str) -> Result<Option<Oid>> {
    let name = name_of(hash);
    let text = packed_refs(disk, store)?;
    let line = text.lines().find_map(|line| line.strip_suffix(&name)?.strip_suffix(' '));
    line.map(|digits| parse(&store.join("packed-refs"), digits.as_bytes())).transpose()
}

/// How long git's lock on a ref is waited for, in steps of 10 ms. Git holds one for the time of a
/// rename; one that stays was left by a process that died.
const LOCK_STEPS_MAX: usize = 200;

/// Moves the history of the project to `tip`, if it still is where the caller saw it. The caller
/// holds the project's lock; git's own, a file beside the ref, keeps other tools out.
pub fn advance(
    disk: &dyn Disk,
    store: &Path,
    hash: &str,
    seen: Option<Oid>,
    tip: Oid,
) -> Result<()> {
    let path = file_of(store, hash);
    let lock = path.with_extension("lock");
    make_private(disk, &store.join("refs"))?;
    make_private(disk, &store.join("refs/hermes"))?;
    take_git_lock(disk, &lock, format!("{tip}\n").as_bytes())?;
    let moved = match read(disk, store, hash) {
        Ok(now) if now == seen => return replace_file(disk, &lock, &path),
        Ok(_) => Err(Error::Busy(path)),
        Err(error) => Err(error),
    };
    // The ref is as it was; a lock that stays is taken over by the next one.
    let _ = disk.remove_file(&lock);
    moved
}

fn take_git_lock(disk: &dyn Disk, lock: &Path, content: &[u8]) -> Result<()> {
    for step in 0..=LOCK_STEPS_MAX {
        match disk.write_new(lock, content, 0o600) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if step + 1 == LOCK_STEPS_MAX {
                    disk.remove_file(lock).context("taking over", lock)?;
                }
                sleep(Duration::from_millis(10));
            }
            Err(error) => {
                // The half of a file is of no use to anyone; failing to remove it is no news.
                let _ = disk.remove_file(lock);
                return Err(error).context("writing", lock);
            }
            Ok(()) => return Ok(()),
        }
    }
    Err(Error::Busy(lock.to_owned()))
}

/// The hashes of all projects that have a history, sorted.
pub fn all(disk: &dyn Disk, store: &Path) -> Result<Vec<String>> {
    let folder = store.join("refs/hermes");
    let mut hashes: Vec<String> = match disk.list(&folder) {
        Ok(names) => names.into_iter().filter_map(|name| name.into_string().ok()).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).context("reading the directory", &folder),
    };
    let packed = packed_refs(disk, store)?;
    hashes.extend(
        packed
            .lines()
            .filter_map(|line| line.split_once(" refs/hermes/").map(|(_, hash)| hash.to_owned())),
    );
    hashes.retain(|hash| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
    hashes.sort_unstable();
    hashes.dedup();
    Ok(hashes)
}

fn packed_refs(disk: &dyn Disk, store: &Path) -> Result<String> {
    let path = store.join("packed-refs");
    match disk.read(&path, REFS_BYTES_MAX) {
        Ok((content, _)) => Ok(String::from_utf8_lossy(&content).into_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error).context("reading", &path),
    }
}
