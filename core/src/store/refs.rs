//! The refs of the store, as plain git reads them. That of a project, `refs/hermes/<hash>`, is its
//! newest checkpoint.
//!
//! A ref is a small file, or a line of `packed-refs` after a `git gc`. That file is only written to
//! remove a ref from it.

use crate::disk::atomic_write::{replace_file, write_new_named};
use crate::disk::folder::{self, remove_file};
use crate::disk::{Disk, Kind};
use crate::error::{Context, Error, Result};
use crate::store::repository::{is_directory, make_private};
use crate::store::{envelopes, pins, rollbacks};
use git2::Oid;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// More bytes than the refs of any store take.
const REFS_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Where the refs of all projects are.
const PROJECTS: &str = "refs/hermes";
/// How the file begins that takes the place of `packed-refs`.
pub const PACKED_NEW: &str = "packed-refs.new";

/// The ref of the project of that hash.
// rule: layout/store
pub fn of_project(hash: &str) -> String {
    format!("{PROJECTS}/{hash}")
}

/// Where a ref points, if it is there.
pub fn read(disk: &dyn Disk, store: &Path, name: &str) -> Result<Option<Oid>> {
    let path = store.join(name);
    match folder::read_file(disk, &path, 1_024)? {
        Some(content) => parse(&path, &content).map(Some),
        None => read_packed(disk, store, name),
    }
}

fn parse(path: &Path, content: &[u8]) -> Result<Oid> {
    let text = String::from_utf8_lossy(content);
    // A shorter one would be taken for an id that ends in zeros.
    let whole = Some(text.trim_end()).filter(|digits| digits.len() == 40);
    let id = whole.and_then(|digits| Oid::from_str(digits).ok());
    id.ok_or_else(|| Error::unusable(path, "it holds no object id"))
}

fn read_packed(disk: &dyn Disk, store: &Path, name: &str) -> Result<Option<Oid>> {
    let text = packed_refs(disk, store)?;
    let line = text.lines().find_map(|line| line.strip_suffix(name)?.strip_suffix(' '));
    line.map(|digits| parse(&store.join("packed-refs"), digits.as_bytes())).transpose()
}

/// How long git's lock on a ref is waited for, in steps of 10 ms. Git holds one only briefly; one
/// that stays was left by a process that died.
const LOCK_STEPS_MAX: usize = 200;

/// Moves a ref of the project from `seen` to `tip`; busy if it is not at `seen`. The caller holds
/// the project's lock; git's own, a file beside the ref, keeps other tools out.
pub fn advance(
    disk: &dyn Disk,
    store: &Path,
    name: &str,
    seen: Option<Oid>,
    tip: Oid,
) -> Result<()> {
    let (path, lock) = lock_ref(disk, store, name, format!("{tip}\n").as_bytes())?;
    let moved = match read(disk, store, name) {
        Ok(now) if now == seen => return place(disk, store, name, (&lock, &path), tip),
        // To the caller one that is damaged is lost, and to be made again.
        Err(error) if seen.is_none() && error.is_damage() => {
            // A file cannot take the place of a folder; one that is not empty stays.
            let _ = disk.remove_directory(&path);
            return place(disk, store, name, (&lock, &path), tip);
        }
        Ok(_) => Err(Error::Busy(path)),
        Err(error) => Err(error),
    };
    // The ref is unchanged; a lock that stays is taken over by the next process.
    let _ = disk.remove_file(&lock);
    moved
}

/// Takes git's lock on a ref; returns the paths of the ref and of the lock.
// rule: concurrent/serial
fn lock_ref(
    disk: &dyn Disk,
    store: &Path,
    name: &str,
    content: &[u8],
) -> Result<(PathBuf, PathBuf)> {
    let path = store.join(name);
    let lock = path.with_extension("lock");
    let take = || {
        make_folder(disk, store, folder_of(name))?;
        take_git_lock(disk, &lock, content)
    };
    take().or_else(|error| if is_gone(disk, store, name) { take() } else { Err(error) })?;
    Ok((path, lock))
}

/// Moves git's lock on a ref, which says where it points from now on, to the place of the ref.
// rule: concurrent/serial
fn place(
    disk: &dyn Disk,
    store: &Path,
    name: &str,
    (lock, path): (&Path, &Path),
    tip: Oid,
) -> Result<()> {
    let placed = replace_file(disk, lock, path);
    if placed.is_ok() || !is_gone(disk, store, name) || read_packed(disk, store, name)? != Some(tip)
    {
        return placed;
    }
    // It was there already when git packed it.
    let packed = store.join("packed-refs");
    disk.sync_file(&packed).context("waiting for", &packed)?;
    disk.sync_directory(store).context("waiting for", store)
}

/// Whether there is no folder that the file of a ref could be in: git removes one that is empty, while
/// it packs refs.
fn is_gone(disk: &dyn Disk, store: &Path, name: &str) -> bool {
    matches!(folder::stat(disk, &store.join(folder_of(name))), Ok(None))
}

/// The folder that the file of a ref is in.
fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Takes git's lock on a file by making a file with `content` beside it. The caller renames that
/// onto the file, or removes it.
pub fn take_git_lock(disk: &dyn Disk, lock: &Path, content: &[u8]) -> Result<()> {
    // One that holds nothing takes the place of nothing: no power loss need leave it.
    let make = || match content {
        [] => disk.write_soon(lock, content, 0o600),
        _ => disk.write_new(lock, content, 0o600),
    };
    for step in 0..=LOCK_STEPS_MAX {
        match make() {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if step + 1 == LOCK_STEPS_MAX {
                    disk.remove_file(lock).context("taking over", lock)?;
                }
                sleep(Duration::from_millis(10));
            }
            // What stands there may be another's lock: it is not removed.
            written => return written.context("writing", lock),
        }
    }
    Err(Error::Busy(lock.to_owned()))
}

/// Removes a ref of the project, wherever git keeps it. The caller holds the project's lock.
pub fn remove(disk: &dyn Disk, store: &Path, name: &str) -> Result<()> {
    let (path, lock) = lock_ref(disk, store, name, b"")?;
    let removed = remove_unpacked(disk, store, |one| one == name, || remove_file(disk, &path));
    // A lock that stays is taken over by the next process.
    let _ = disk.remove_file(&lock);
    removed
}

/// Removes every ref below a folder of them, damaged ones too. The caller holds the project's lock.
pub fn remove_below(disk: &dyn Disk, store: &Path, folder: &str) -> Result<()> {
    let is_below = |one: &str| one.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    remove_unpacked(disk, store, is_below, || folder::remove(disk, &store.join(folder)))
}

/// Removes these refs from `packed-refs` and then their files, since without its file the packed ref
/// counts. Meanwhile git packs none, since its lock is held.
// rule: concurrent/serial
fn remove_unpacked(
    disk: &dyn Disk,
    store: &Path,
    is_one: impl Fn(&str) -> bool,
    remove_files: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let lock = store.join("packed-refs.lock");
    take_git_lock(disk, &lock, b"")?;
    let removed = unpack(disk, store, is_one).and_then(|()| remove_files());
    let _ = disk.remove_file(&lock);
    removed
}

/// Writes `packed-refs` without the lines of these refs.
fn unpack(disk: &dyn Disk, store: &Path, is_one: impl Fn(&str) -> bool) -> Result<()> {
    let path = store.join("packed-refs");
    let packed = folder::read_if_file(disk, &path, REFS_BYTES_MAX)?.unwrap_or_default();
    let rest = without(&packed, is_one);
    if rest.len() == packed.len() {
        return Ok(());
    }
    let fresh = write_new_named(disk, store, PACKED_NEW, &rest, 0o600)?;
    replace_file(disk, &fresh, &path)
}

/// The lines of `packed-refs` without those of these refs, and without the `^` line that may follow one.
fn without(packed: &[u8], is_one: impl Fn(&str) -> bool) -> Vec<u8> {
    let mut rest = Vec::with_capacity(packed.len());
    let mut dropped = false;
    for line in packed.split_inclusive(|byte| *byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        let name = text.trim_end_matches('\n').split_once(' ').map(|(_, name)| name);
        dropped = name.is_some_and(&is_one) || dropped && text.starts_with('^');
        if !dropped {
            rest.extend_from_slice(line);
        }
    }
    rest
}

/// Whether that is the hash of a project.
pub fn is_hash(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The hashes of all projects that have a history, sorted.
pub fn all(disk: &dyn Disk, store: &Path) -> Result<Vec<String>> {
    let mut hashes = folder::text_names(disk, &store.join(PROJECTS))?;
    hashes.extend(packed_below(disk, store, PROJECTS)?);
    for kind in rollbacks::FOLDERS.into_iter().chain([pins::FOLDER]) {
        hashes.extend(projects_below(disk, store, kind)?);
    }
    hashes.retain(|hash| is_hash(hash));
    hashes.sort_unstable();
    hashes.dedup();
    Ok(hashes)
}

/// What every ref of the repository points at, packed or not, also those of other tools.
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
            // A symbolic ref points at another that is read itself.
            if !content.starts_with(b"ref:") {
                match parse(&path, &content) {
                    // It costs the checkpoint that it was of, which nothing else names.
                    Err(_) if rollbacks::has(store, &path) => {}
                    // The checkpoints that these are about are in sight without them.
                    Err(_) if pins::has(store, &path) || envelopes::has(store, &path) => {}
                    id => drop(found.insert(path, id?)),
                }
            }
        }
    }
    // After the files, since one that git packs meanwhile is in one of the two places.
    let packed = packed_refs(disk, store)?;
    for line in packed.lines().filter(|line| !line.starts_with(['#', '^'])) {
        let (digits, name) = line.split_once(' ').unwrap_or((line, ""));
        let id = parse(&store.join("packed-refs"), digits.as_bytes())?;
        // One of which there is a file has been replaced.
        found.entry(store.join(name)).or_insert(id);
    }
    Ok(found.into_values().collect())
}

/// The names of the refs below a folder of them that are in `packed-refs`, relative to it.
pub fn packed_below(disk: &dyn Disk, store: &Path, folder: &str) -> Result<Vec<String>> {
    let packed = packed_refs(disk, store)?;
    let name = |line: &str| {
        let name = line.split_once(' ')?.1.strip_prefix(folder)?.strip_prefix('/')?;
        Some(name.to_owned())
    };
    Ok(packed.lines().filter_map(name).collect())
}

/// The names of the refs below a folder of them, packed or not, relative to it.
pub fn names_below(disk: &dyn Disk, store: &Path, folder: &str) -> Result<Vec<String>> {
    let mut names = folder::text_names(disk, &store.join(folder))?;
    names.retain(|name| !name.ends_with(".lock"));
    names.extend(packed_below(disk, store, folder)?);
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// The hashes of the projects that have refs below that of a kind.
pub fn projects_below(disk: &dyn Disk, store: &Path, kind: &str) -> Result<Vec<String>> {
    let mut hashes = folder::text_names(disk, &store.join(kind))?;
    let packed = packed_below(disk, store, kind)?;
    hashes.extend(packed.iter().filter_map(|name| Some(name.split_once('/')?.0.to_owned())));
    hashes.retain(|hash| is_hash(hash));
    Ok(hashes)
}

/// The folders of refs below that of a kind, one for each project, and that of the kind.
pub fn folders(disk: &dyn Disk, store: &Path, kind: &str) -> Result<Vec<String>> {
    let hashes = folder::text_names(disk, &store.join(kind))?;
    let own = hashes.iter().map(|hash| format!("{kind}/{hash}"));
    Ok(std::iter::once(kind.to_owned()).chain(own).collect())
}

/// Lets a ref point at something, whether it is there, damaged or not. The caller holds the project's
/// lock.
pub fn set(disk: &dyn Disk, store: &Path, name: &str, id: Oid) -> Result<()> {
    let seen = match read(disk, store, name) {
        Err(error) if error.is_damage() => None,
        seen => seen?,
    };
    match seen {
        Some(one) if one == id => Ok(()),
        seen => advance(disk, store, name, seen, id),
    }
}

/// Makes a folder of refs, durable: one that a power loss takes would take the refs with it.
fn make_folder(disk: &dyn Disk, store: &Path, folder: &str) -> Result<()> {
    if is_directory(disk, &store.join(folder))? {
        return Ok(());
    }
    for (at, _) in folder.match_indices('/').chain([(folder.len(), "")]) {
        let path = store.join(&folder[..at]);
        make_private(disk, &path)?;
        let parent = path.parent().unwrap_or(store);
        disk.sync_directory(parent).context("making a folder in", parent)?;
    }
    Ok(())
}

/// All that git keeps of refs in one file; what is no file holds none.
// rule: maintenance/damage
fn packed_refs(disk: &dyn Disk, store: &Path) -> Result<String> {
    let content = folder::read_if_file(disk, &store.join("packed-refs"), REFS_BYTES_MAX)?;
    Ok(String::from_utf8_lossy(&content.unwrap_or_default()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;
    use std::fs;

    const TIP: &str = "1111111111111111111111111111111111111111";

    #[test]
    fn a_ref_hides_the_packed_one_of_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path();
        let (old, new) = (TIP, "2222222222222222222222222222222222222222");
        let packed = format!("{old} refs/hermes/a\n{old} refs/hermes/b\n");
        fs::write(store.join("packed-refs"), packed).unwrap();
        fs::create_dir_all(store.join("refs/hermes")).unwrap();
        fs::write(store.join("refs/hermes/a"), format!("{new}\n")).unwrap();
        let found = everything(&SystemDisk, store).unwrap();
        assert_eq!(found.iter().map(Oid::to_string).collect::<Vec<_>>(), [new, old]);
    }

    #[test]
    fn a_removed_ref_is_gone_from_its_file_and_from_the_packed_ones() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path();
        let header = "# pack-refs with: peeled fully-peeled sorted \n";
        let (one, other) = ("0123456789abcdef", "fedcba9876543210");
        let line = |hash: &str| format!("{TIP} refs/hermes/{hash}\n");
        let packed = format!("{header}{}^{TIP}\n{}^{TIP}\n", line(one), line(other));
        fs::write(store.join("packed-refs"), packed).unwrap();
        fs::create_dir_all(store.join("refs/hermes")).unwrap();
        fs::write(store.join("refs/hermes").join(one), format!("{TIP}\n")).unwrap();
        for _ in 0..2 {
            remove(&SystemDisk, store, &of_project(one)).unwrap();
            assert_eq!(all(&SystemDisk, store).unwrap(), [other]);
            let rest = fs::read_to_string(store.join("packed-refs")).unwrap();
            assert_eq!(rest, format!("{header}{}^{TIP}\n", line(other)));
            assert_eq!(fs::read_dir(store).unwrap().count(), 2, "a lock stayed");
            assert_eq!(fs::read_dir(store.join("refs/hermes")).unwrap().count(), 0);
        }
        remove(&SystemDisk, store, &of_project(other)).unwrap();
        assert!(all(&SystemDisk, store).unwrap().is_empty());
        assert!(store.join("refs/hermes").is_dir(), "git takes a folder without refs for no store");
    }

    #[test]
    fn a_lock_that_nobody_gives_back_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let (store, hash) = (folder.path(), "0123456789abcdef");
        let name = &of_project(hash);
        fs::create_dir_all(store.join("refs/hermes")).unwrap();
        fs::write(store.join("refs/hermes").join(hash).with_extension("lock"), "").unwrap();
        let tip = Oid::from_str(TIP).unwrap();
        advance(&SystemDisk, store, name, None, tip).unwrap();
        assert_eq!(read(&SystemDisk, store, name).unwrap(), Some(tip));
    }

    #[test]
    fn a_ref_that_somebody_moved_is_left_to_them() {
        let folder = tempfile::tempdir().unwrap();
        let (store, name) = (folder.path(), &of_project("0123456789abcdef"));
        let tip = Oid::from_str(TIP).unwrap();
        fs::create_dir_all(store.join("refs/hermes")).unwrap();
        advance(&SystemDisk, store, name, None, tip).unwrap();
        let other = Oid::ZERO_SHA1;
        assert!(matches!(advance(&SystemDisk, store, name, None, other), Err(Error::Busy(_))));
        assert_eq!(read(&SystemDisk, store, name).unwrap(), Some(tip));
        assert_eq!(fs::read_dir(store.join("refs/hermes")).unwrap().count(), 1, "a lock stayed");
        advance(&SystemDisk, store, name, Some(tip), other).unwrap();
        assert_eq!(read(&SystemDisk, store, name).unwrap(), Some(other));
    }

    #[test]
    fn a_ref_stays_where_another_tool_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let (store, hash) = (folder.path(), "0123456789abcdef");
        let packed = format!("{TIP} refs/hermes/{hash}\n");
        fs::write(store.join("packed-refs"), &packed).unwrap();
        fs::write(store.join("packed-refs.lock"), "").unwrap();
        let unlock = || {
            sleep(Duration::from_millis(50));
            assert_eq!(fs::read_to_string(store.join("packed-refs")).unwrap(), packed);
            fs::remove_file(store.join("packed-refs.lock")).unwrap();
        };
        std::thread::scope(|scope| {
            scope.spawn(unlock);
            remove(&SystemDisk, store, &of_project(hash)).unwrap();
        });
        assert!(all(&SystemDisk, store).unwrap().is_empty());
    }
}
