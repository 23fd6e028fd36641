//! The refs of the store, as plain git reads them. The ref of a project, `refs/hermes/<hash>`, points
//! at its newest checkpoint.
//!
//! A ref is a small file, or after `git gc` a line of `packed-refs` ([`crate::store::packed_refs`]).

use crate::disk::atomic_write::replace_file;
use crate::disk::folder::{self, remove_file};
use crate::disk::{Disk, Kind};
use crate::error::{Context, Error, Result};
use crate::store::compatibility;
use crate::store::oid::Oid;
use crate::store::packed_refs;
use crate::store::pre_restore;
use crate::store::repository::{is_directory, make_private};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// The folder of the refs of all projects.
const PROJECTS: &str = "refs/hermes";
/// The folder of the pins of all projects.
pub const PINS: &str = "refs/pins";
/// The folder of the refs of the envelopes of all projects.
pub const ENVELOPES: &str = "refs/envelopes";

/// The ref of the project of that hash.
// rule: layout/store
pub fn of_project(hash: &str) -> String {
    format!("{PROJECTS}/{hash}")
}

/// The object that a ref points at, if the ref exists.
pub fn read(disk: &dyn Disk, store: &Path, name: &str) -> Result<Option<Oid>> {
    let path = store.join(name);
    match folder::read_file(disk, &path, 1_024)? {
        Some(content) => parse(&path, &content).map(Some),
        None => read_packed(disk, store, name),
    }
}

fn parse(path: &Path, content: &[u8]) -> Result<Oid> {
    let text = String::from_utf8_lossy(content);
    let id = Oid::parse(text.trim_end());
    id.ok_or_else(|| Error::unusable(path, "it does not contain an object id"))
}

fn read_packed(disk: &dyn Disk, store: &Path, name: &str) -> Result<Option<Oid>> {
    let text = packed_refs::text(disk, store)?;
    let line = text.lines().find_map(|line| line.strip_suffix(name)?.strip_suffix(' '));
    line.map(|digits| parse(&store.join("packed-refs"), digits.as_bytes())).transpose()
}

/// How long to wait for git's lock on a ref, in steps of 10 ms. Git holds it only briefly; a lock
/// that stays longer was left by a process that died.
const LOCK_STEPS_MAX: usize = 200;

/// Moves a ref of the project from `expected` to `tip`; busy if it is not at `expected`. The caller
/// holds the project's lock; git's lock, a file alongside the ref, keeps other tools out.
pub fn advance(
    disk: &dyn Disk,
    store: &Path,
    name: &str,
    expected: Option<Oid>,
    tip: Oid,
) -> Result<()> {
    let locked = lock_ref(disk, store, name, format!("{tip}\n").as_bytes())?;
    let moved = match read(disk, store, name) {
        Ok(current) if current == expected => return replace_ref(disk, store, name, &locked, tip),
        // For the caller a damaged ref is a lost ref, which is made again.
        Err(error) if expected.is_none() && error.is_damage() => {
            // A file cannot replace a folder; a folder that is not empty stays.
            let _ = disk.remove_directory(&locked.path);
            return replace_ref(disk, store, name, &locked, tip);
        }
        Ok(_) => Err(Error::Busy(locked.path)),
        Err(error) => Err(error),
    };
    // The ref is unchanged; a lock that stays is taken over by the next process.
    let _ = disk.remove_file(&locked.lock);
    moved
}

/// A ref whose lock is held: the paths of the ref and of git's lock on it.
struct LockedRef {
    path: PathBuf,
    lock: PathBuf,
}

/// Takes git's lock on a ref, with `content` in its file.
// rule: concurrent/serial
fn lock_ref(disk: &dyn Disk, store: &Path, name: &str, content: &[u8]) -> Result<LockedRef> {
    compatibility::check_ref_format(disk, store)?;
    let path = store.join(name);
    let lock = path.with_extension("lock");
    let take = || {
        make_folder(disk, store, folder_of(name))?;
        take_git_lock(disk, &lock, |lock| match content {
            // It replaces nothing, so that it need not survive a power loss.
            [] => disk.write_soon(lock, content, 0o600),
            _ => disk.write_new(lock, content, 0o600),
        })
    };
    take().or_else(|error| if has_no_folder(disk, store, name) { take() } else { Err(error) })?;
    Ok(LockedRef { path, lock })
}

/// Replaces a ref by the file of its lock, which holds the new id `tip`.
// rule: concurrent/serial: decides
// rule: crash/kill: the checkpoint exists once the ref is renamed
fn replace_ref(
    disk: &dyn Disk,
    store: &Path,
    name: &str,
    locked: &LockedRef,
    tip: Oid,
) -> Result<()> {
    let placed = replace_file(disk, &locked.lock, &locked.path);
    if placed.is_ok()
        || !has_no_folder(disk, store, name)
        || read_packed(disk, store, name)? != Some(tip)
    {
        return placed;
    }
    // The ref was in place when git packed it.
    let packed = store.join("packed-refs");
    disk.sync_file(&packed).context("waiting for", &packed)?;
    disk.sync_directory(store).context("waiting for", store)
}

/// Whether the folder for the file of a ref is missing: while git packs refs, it removes empty
/// folders.
fn has_no_folder(disk: &dyn Disk, store: &Path, name: &str) -> bool {
    matches!(folder::stat(disk, &store.join(folder_of(name))), Ok(None))
}

/// The folder that the file of a ref is in.
fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Takes git's lock on a file by making the lock file with `make`. The caller renames the lock file onto the
/// file, or removes it.
// rule: lock/stale
pub fn take_git_lock(
    disk: &dyn Disk,
    lock: &Path,
    make: impl Fn(&Path) -> io::Result<()>,
) -> Result<()> {
    for step in 0..=LOCK_STEPS_MAX {
        match make(lock) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if step + 1 == LOCK_STEPS_MAX {
                    disk.remove_file(lock).context("taking over", lock)?;
                }
                sleep(Duration::from_millis(10));
            }
            // The existing file may be the lock of another process: it is not removed.
            written => return written.context("writing", lock),
        }
    }
    Err(Error::Busy(lock.to_owned()))
}

/// Removes a ref of the project, its file and its line in `packed-refs`, durably. The caller holds the
/// project's lock.
// rule: crash/power-loss: what was evicted does not return
pub fn remove(disk: &dyn Disk, store: &Path, name: &str) -> Result<()> {
    remove_soon(disk, store, name)?;
    let folder = store.join(folder_of(name));
    disk.sync_directory(&folder).context("removing a ref from", &folder)
}

/// As [`remove`], but a power loss may bring the ref back.
pub fn remove_soon(disk: &dyn Disk, store: &Path, name: &str) -> Result<()> {
    let locked = lock_ref(disk, store, name, b"")?;
    let is_ref = |packed_name: &str| packed_name == name;
    let removed = remove_refs(disk, store, is_ref, || remove_file(disk, &locked.path));
    // A lock that stays is taken over by the next process.
    let _ = disk.remove_file(&locked.lock);
    removed
}

/// Removes every ref below a folder of refs, damaged ones too. The caller holds the project's lock.
pub fn remove_below(disk: &dyn Disk, store: &Path, folder: &str) -> Result<()> {
    let is_below = |name: &str| name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    remove_refs(disk, store, is_below, || folder::remove(disk, &store.join(folder)))
}

/// Removes the selected refs from `packed-refs` and then their files: a packed ref counts as soon as
/// its file is missing. Git's lock is held meanwhile, so that git packs no refs.
// rule: concurrent/serial
fn remove_refs(
    disk: &dyn Disk,
    store: &Path,
    is_selected: impl Fn(&str) -> bool,
    remove_files: impl FnOnce() -> Result<()>,
) -> Result<()> {
    compatibility::check_ref_format(disk, store)?;
    with_packed_lock(disk, store, || {
        packed_refs::rewrite(disk, store, |content| packed_refs::without(content, is_selected))?;
        remove_files()
    })
}

/// Removes the lines of `packed-refs` for which git refuses the file.
// rule: maintenance/heals
pub fn repair_packed(disk: &dyn Disk, store: &Path) -> Result<()> {
    let repair = || packed_refs::rewrite(disk, store, packed_refs::accepted);
    with_packed_lock(disk, store, repair)
}

/// Holds git's lock on `packed-refs` meanwhile.
fn with_packed_lock(
    disk: &dyn Disk,
    store: &Path,
    change: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let lock = store.join("packed-refs.lock");
    take_git_lock(disk, &lock, |lock| disk.write_soon(lock, b"", 0o600))?;
    let changed = change();
    let _ = disk.remove_file(&lock);
    changed
}

/// Whether a text has the form of the hash of a project.
pub fn is_hash(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The hashes of all projects that have a history, sorted.
pub fn all(disk: &dyn Disk, store: &Path) -> Result<Vec<String>> {
    let mut hashes = folder::text_names(disk, &store.join(PROJECTS))?;
    hashes.extend(packed_below(disk, store, PROJECTS)?);
    for kind in pre_restore::FOLDERS.into_iter().chain([PINS]) {
        hashes.extend(projects_below(disk, store, kind)?);
    }
    hashes.retain(|hash| is_hash(hash));
    hashes.sort_unstable();
    hashes.dedup();
    Ok(hashes)
}

/// The objects that the refs of the repository point at, packed or not, also those of other tools.
///
/// # Errors
/// A ref that cannot be read.
pub fn everything(disk: &dyn Disk, store: &Path) -> Result<Vec<Oid>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![store.join("HEAD"), store.join("refs")];
    while let Some(path) = pending.pop() {
        let stat = match disk.stat(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            stat => stat.context("looking at", &path)?,
        };
        if stat.kind == Kind::Directory {
            let names = folder::names(disk, &path)?;
            pending.extend(names.into_iter().map(|name| path.join(name)));
        } else if path.extension().is_none_or(|extension| extension != "lock") {
            let Some(content) = folder::read_file(disk, &path, 1_024)? else { continue };
            // A symbolic ref points at a ref that is read too.
            if !content.starts_with(b"ref:") {
                match parse(&path, &content) {
                    // Its checkpoint is lost, since nothing else names it.
                    Err(_) if pre_restore::has(store, &path) => {}
                    // The checkpoints of pins and envelopes can be found without them.
                    Err(_)
                        if [PINS, ENVELOPES]
                            .iter()
                            .any(|kind| path.starts_with(store.join(kind))) => {}
                    id => drop(found.insert(path, id?)),
                }
            }
        }
    }
    // After the files, since a ref that git packs meanwhile is then seen in one of the two.
    let packed = packed_refs::text(disk, store)?;
    for line in packed.lines().filter(|line| !line.starts_with(['#', '^'])) {
        let (digits, name) = line.split_once(' ').unwrap_or((line, ""));
        let id = parse(&store.join("packed-refs"), digits.as_bytes())?;
        // The file of a ref counts more than its packed line.
        found.entry(store.join(name)).or_insert(id);
    }
    Ok(found.into_values().collect())
}

/// The names of the refs in `packed-refs` below a folder of refs, relative to the folder.
pub fn packed_below(disk: &dyn Disk, store: &Path, folder: &str) -> Result<Vec<String>> {
    let packed = packed_refs::text(disk, store)?;
    let name = |line: &str| {
        let name = line.split_once(' ')?.1.strip_prefix(folder)?.strip_prefix('/')?;
        Some(name.to_owned())
    };
    Ok(packed.lines().filter_map(name).collect())
}

/// The names of the refs below a folder of refs, packed or not, relative to the folder.
pub fn names_below(disk: &dyn Disk, store: &Path, folder: &str) -> Result<Vec<String>> {
    let mut names = folder::text_names(disk, &store.join(folder))?;
    names.retain(|name| !name.ends_with(".lock"));
    names.extend(packed_below(disk, store, folder)?);
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// The hashes of the projects that have refs below the folder `kind`.
pub fn projects_below(disk: &dyn Disk, store: &Path, kind: &str) -> Result<Vec<String>> {
    let mut hashes = folder::text_names(disk, &store.join(kind))?;
    let packed = packed_below(disk, store, kind)?;
    hashes.extend(packed.iter().filter_map(|name| Some(name.split_once('/')?.0.to_owned())));
    hashes.retain(|hash| is_hash(hash));
    Ok(hashes)
}

/// The folder `kind` of refs, and the folders in it, one for each project.
pub fn folders(disk: &dyn Disk, store: &Path, kind: &str) -> Result<Vec<String>> {
    let hashes = folder::text_names(disk, &store.join(kind))?;
    let project_folders = hashes.iter().map(|hash| format!("{kind}/{hash}"));
    Ok(std::iter::once(kind.to_owned()).chain(project_folders).collect())
}

/// Makes a ref point at `id`, whether or not the ref exists or is damaged. The caller holds the
/// project's lock.
pub fn set(disk: &dyn Disk, store: &Path, name: &str, id: Oid) -> Result<()> {
    let current = match read(disk, store, name) {
        Err(error) if error.is_damage() => None,
        read => read?,
    };
    match current {
        Some(current) if current == id => Ok(()),
        current => advance(disk, store, name, current, id),
    }
}

/// Makes each ref below the folder `from` also a ref below the folder `to`. The caller holds the project's lock.
pub fn copy_below(disk: &dyn Disk, store: &Path, from: &str, to: &str) -> Result<()> {
    for name in names_below(disk, store, from)? {
        if let Some(id) = read(disk, store, &format!("{from}/{name}"))? {
            set(disk, store, &format!("{to}/{name}"), id)?;
        }
    }
    Ok(())
}

/// Makes a folder of refs durably: if a power loss removed the folder, its refs would be lost too.
fn make_folder(disk: &dyn Disk, store: &Path, folder: &str) -> Result<()> {
    if is_directory(disk, &store.join(folder))? {
        return Ok(());
    }
    for (end, _) in folder.match_indices('/').chain([(folder.len(), "")]) {
        let path = store.join(&folder[..end]);
        make_private(disk, &path)?;
        let parent = path.parent().unwrap_or(store);
        disk.sync_directory(parent).context("making a folder in", parent)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
