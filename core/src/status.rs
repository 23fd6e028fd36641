//! What a store holds and costs, seen from outside any project.

use crate::commit;
use crate::disk::{Disk, Kind};
use crate::error::{Context, Result};
use crate::metadata;
use crate::path::shown;
use crate::refs;
use crate::report::{ProjectStatus, Status};
use crate::store::Store;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Looks at the store below `base`.
pub fn of(disk: &dyn Disk, base: &Path) -> Result<Status> {
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
        let tip = refs::read(disk, &store.path, &hash)?;
        let known = metadata::read(disk, &store.path, &hash);
        let live = known.as_ref().is_some_and(|known| {
            disk.stat(Path::new(&known.workdir)).is_ok_and(|stat| stat.kind == Kind::Directory)
        });
        status.projects.push(ProjectStatus {
            checkpoints: commit::history(&objects, tip, usize::MAX)?.len(),
            last_touch: known.as_ref().map(|known| known.last_touch as i64),
            workdir: known.map(|known| known.workdir),
            live,
            hash,
        });
    }
    status.projects.sort_by(|one, other| {
        other.last_touch.cmp(&one.last_touch).then_with(|| one.hash.cmp(&other.hash))
    });
    Ok(status)
}

/// Bytes of all files below `path`; 0 where there is none.
fn bytes_below(disk: &dyn Disk, path: &Path) -> Result<u64> {
    let mut bytes = 0;
    let mut pending = vec![path.to_owned()];
    while let Some(path) = pending.pop() {
        let stat = match disk.stat(&path) {
            // A file that another process just removed costs nothing.
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                continue;
            }
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
