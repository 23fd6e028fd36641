//! The status of a store: what it contains, and the space that it takes. It covers all
//! projects.

use crate::disk::{Disk, folder};
use crate::error::Result;
use crate::history;
use crate::maintenance::evidence;
use crate::path::shown;
use crate::report::{Interrupted, ProjectStatus, Status};
use crate::store::base::{self, BaseEntry};
use crate::store::{Store, metadata, ref_recovery, restoring};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How often projects that keep changing are read.
const LOOKS_MAX: usize = 10;

/// Reads the status of the store below `base`.
pub fn of(disk: &dyn Disk, base: &Path, listed_max: usize) -> Result<Status> {
    let mut status = Status {
        base: base.to_owned().into(),
        total_bytes: folder::bytes(disk, base)?,
        store_bytes: folder::bytes(disk, &base.join("store"))?,
        legacy: Vec::new(),
        others: base::others(disk, base)?,
        projects: Vec::new(),
    };
    for name in base::named(disk, base, BaseEntry::Archive)? {
        let bytes = folder::bytes(disk, &base.join(&name))?;
        status.legacy.push((shown(name.as_bytes()), bytes));
    }
    let Some(store) = Store::open(disk, base)? else {
        return Ok(status);
    };
    status.projects = projects(&store, listed_max)?;
    // One project may change after it was read, and another before: a state that is read twice in a
    // row is the state of all projects at one moment.
    // rule: concurrent/serial
    for _ in 1..LOOKS_MAX {
        let again = projects(&store, listed_max)?;
        if again == status.projects {
            break;
        }
        status.projects = again;
    }
    status.projects.sort_by(|left, right| {
        right.last_touch.cmp(&left.last_touch).then_with(|| left.hash.cmp(&right.hash))
    });
    Ok(status)
}

/// Each project in the state when it is read.
fn projects(store: &Store<'_>, listed_max: usize) -> Result<Vec<ProjectStatus>> {
    let disk = store.disk;
    let objects = store.objects();
    let mut projects = Vec::new();
    for hash in ref_recovery::projects(store, &objects)? {
        let read = || metadata::read(disk, &store.path, &hash);
        let metadata = read().or_else(|| {
            // Its first checkpoint may be in progress: then the metadata exists once that is done.
            // rule: concurrent/serial
            store.wait_for_project(&hash).ok();
            read()
        });
        // A damaged history only hides the count of its own project.
        let history = history::newest_first(store, &objects, &hash, listed_max);
        let unlisted = history.as_ref().map_or(0, |history| {
            history.iter().filter(|checkpoint| checkpoint.is_unlisted()).count()
        });
        projects.push(ProjectStatus {
            checkpoints: history.ok().map(|history| history.len() - unlisted),
            unlisted,
            last_touch: metadata.as_ref().map(|metadata| metadata.last_touch as i64),
            state: evidence::of_project(disk, metadata.as_ref()),
            workdir: metadata.map(|metadata| metadata.directory().into()),
            interrupted: restoring::interrupted(disk, &store.path, &hash).map(Interrupted::from),
            hash,
        });
    }
    Ok(projects)
}
