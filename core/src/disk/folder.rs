//! Operations on complete folders and optional files: size, time of the last change, and removal.
//!
//! No symbolic link is followed.

use crate::disk::{Disk, Kind, Stat, is_absence};
use crate::error::{Context, Result};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;

/// The names in a folder, sorted; empty if there is no folder.
pub fn names(disk: &dyn Disk, path: &Path) -> Result<Vec<OsString>> {
    match disk.list(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        names => names.context("reading the directory", path),
    }
}

/// The names in a folder that are UTF-8, as the names that git gives are.
pub fn text_names(disk: &dyn Disk, path: &Path) -> Result<Vec<String>> {
    let names = names(disk, path)?.into_iter();
    Ok(names.filter_map(|name| name.into_string().ok()).collect())
}

/// At most `limit` bytes of a file; `None` if there is no file.
pub fn read_file(disk: &dyn Disk, path: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
    match disk.read(path, limit) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        read => read.context("reading", path).map(|(content, _)| Some(content)),
    }
}

/// As [`read_file`], but anything that is not a regular file counts as missing.
// rule: maintenance/damage
pub fn read_if_file(disk: &dyn Disk, path: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
    if is_file_or_nothing(disk, path)? {
        return read_file(disk, path, limit);
    }
    tracing::debug!("{} is not a file", path.display());
    Ok(None)
}

/// Whether a regular file or nothing is at `path`.
pub fn is_file_or_nothing(disk: &dyn Disk, path: &Path) -> Result<bool> {
    Ok(stat(disk, path)?.is_none_or(|stat| stat.kind == Kind::File))
}

/// The stat of `path`; `None` if nothing is there.
pub fn stat(disk: &dyn Disk, path: &Path) -> Result<Option<Stat>> {
    match disk.stat(path) {
        Err(error) if is_absence(&error) => Ok(None),
        stat => stat.context("looking at", path).map(Some),
    }
}

/// The size of all files at and below `path` in bytes; 0 if nothing is there.
pub fn bytes(disk: &dyn Disk, path: &Path) -> Result<u64> {
    let mut bytes = 0;
    visit(disk, path, &mut |stat| {
        if stat.kind != Kind::Directory {
            bytes += stat.size;
        }
    })?;
    Ok(bytes)
}

/// When anything at or below `path` last changed, in seconds since the epoch; `None` if nothing is
/// there.
pub fn last_changed(disk: &dyn Disk, path: &Path) -> Result<Option<i64>> {
    let mut last = None;
    visit(disk, path, &mut |stat| last = last.max(Some(stat.modified.0)))?;
    Ok(last)
}

fn visit(disk: &dyn Disk, path: &Path, visitor: &mut dyn FnMut(&Stat)) -> Result<()> {
    let mut pending = vec![path.to_owned()];
    while let Some(path) = pending.pop() {
        // Another process may just have removed it.
        let Some(stat) = stat(disk, &path)? else { continue };
        visitor(&stat);
        if stat.kind == Kind::Directory {
            let names = match disk.list(&path) {
                Err(error) if is_absence(&error) => continue,
                names => names.context("reading the directory", &path)?,
            };
            pending.extend(names.into_iter().map(|name| path.join(name)));
        }
    }
    Ok(())
}

/// Removes `path` and everything below it, if it exists. What cannot be removed keeps nothing else: the first
/// error is returned once the rest is gone.
pub fn remove(disk: &dyn Disk, path: &Path) -> Result<()> {
    let Some(stat) = stat(disk, path)? else { return Ok(()) };
    if stat.kind != Kind::Directory {
        return remove_file(disk, path);
    }
    if stat.mode & 0o700 != 0o700 {
        // Nothing can be removed from a folder without these permissions.
        disk.permit_directory(path, 0o700).context("setting the mode of", path)?;
    }
    let names = disk.list(path).context("reading the directory", path)?;
    let removed: Vec<Result<()>> =
        names.into_iter().map(|name| remove(disk, &path.join(name))).collect();
    removed.into_iter().collect::<Result<()>>()?;
    ignore_absence(disk.remove_directory(path)).context("removing the directory", path)
}

/// Removes the file or link at `path`, if it exists.
pub fn remove_file(disk: &dyn Disk, path: &Path) -> Result<()> {
    ignore_absence(disk.remove_file(path)).context("removing", path)
}

/// Removes the file at the path of a file of this tool, if it exists, or an empty folder, which a
/// damaged disk may leave there. A folder with content is not removed.
pub fn remove_path(disk: &dyn Disk, path: &Path) -> Result<()> {
    let removed = remove_file(disk, path);
    if removed.is_err() && stat(disk, path)?.is_some_and(|stat| stat.kind == Kind::Directory) {
        return ignore_absence(disk.remove_directory(path)).context("removing the directory", path);
    }
    removed
}

/// Turns the error that a removed file does not exist into success.
fn ignore_absence(removed: std::io::Result<()>) -> std::io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
