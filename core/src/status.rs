//! What a store holds and costs, seen from outside any project.

use crate::commit;
use crate::disk::{Disk, Kind, is_absence};
use crate::error::{Context, Result};
use crate::metadata::{self, Metadata};
use crate::path::shown;
use crate::refs;
use crate::report::{ProjectState, ProjectStatus, Status};
use crate::store::Store;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Looks at the store below `base`.
pub fn of(disk: &dyn Disk, base: &Path, listed_max: usize) -> Result<Status> {
    let mut status = Status {
        base: base.to_owned(),
        total_bytes: bytes_below(disk, base)?,
        store_bytes: bytes_below(disk, &base.join("store"))?,
        legacy: Vec::new(),
        projects: Vec::new(),
    };
    if status.total_bytes > 0 {
        for name in disk.list(base).context("reading the directory", base)? {
            if name.as_bytes().starts_with(b"legacy-") {
                let bytes = bytes_below(disk, &base.join(&name))?;
                status.legacy.push((shown(name.as_bytes()), bytes));
            }
        }
    }
    let Some(store) = Store::open(disk, base)? else {
        return Ok(status);
    };
    let objects = store.objects()?;
    for hash in refs::all(disk, &store.path)? {
        let known = metadata::read(disk, &store.path, &hash);
        // A history that is damaged is its own project's trouble; the others are still shown.
        let history = refs::read(disk, &store.path, &hash)
            .and_then(|tip| commit::history(&objects, tip, listed_max));
        status.projects.push(ProjectStatus {
            checkpoints: history.ok().map(|history| history.len()),
            last_touch: known.as_ref().map(|known| known.last_touch as i64),
            state: known.as_ref().map_or(ProjectState::Unknown, |known| state(disk, known)),
            workdir: known.map(|known| known.workdir),
            hash,
        });
    }
    status.projects.sort_by(|one, other| {
        other.last_touch.cmp(&one.last_touch).then_with(|| one.hash.cmp(&other.hash))
    });
    Ok(status)
}

/// Only a directory whose parent is there is known to be gone; anything else may come back.
fn state(disk: &dyn Disk, known: &Metadata) -> ProjectState {
    let directory = known.directory();
    let there = |path: &Path| disk.stat(path).is_ok_and(|stat| stat.kind == Kind::Directory);
    match disk.stat(&directory) {
        Ok(stat) if stat.kind == Kind::Directory => ProjectState::Live,
        Err(error) if error.kind() != ErrorKind::NotFound => ProjectState::Unknown,
        _ if directory.parent().is_some_and(there) => ProjectState::Orphan,
        _ => ProjectState::Unknown,
    }
}

/// Bytes of all files below `path`; 0 where there is none.
fn bytes_below(disk: &dyn Disk, path: &Path) -> Result<u64> {
    let mut bytes = 0;
    let mut pending = vec![path.to_owned()];
    while let Some(path) = pending.pop() {
        let stat = match disk.stat(&path) {
            // A file that another process just removed costs nothing.
            Err(error) if is_absence(&error) => continue,
            stat => stat.context("looking at", &path)?,
        };
        if stat.kind == Kind::Directory {
            let names = disk.list(&path).context("reading the directory", &path)?;
            pending.extend(names.into_iter().map(|name| path.join(name)));
        } else {
            bytes += stat.size;
        }
    }
    Ok(bytes)
}
