//! What a store holds and costs, seen from outside any project.

use crate::disk::{Disk, folder};
use crate::error::Result;
use crate::maintenance::evidence;
use crate::path::shown;
use crate::report::{Interrupted, ProjectStatus, Status};
use crate::store::base::{self, Entry};
use crate::store::{Store, history, metadata, ref_recovery, restoring};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Projects that keep changing are looked at this often.
const LOOKS_MAX: usize = 10;

/// Looks at the store below `base`.
pub fn of(disk: &dyn Disk, base: &Path, listed_max: usize) -> Result<Status> {
    let mut status = Status {
        base: base.to_owned(),
        total_bytes: folder::bytes(disk, base)?,
        store_bytes: folder::bytes(disk, &base.join("store"))?,
        legacy: Vec::new(),
        others: base::others(disk, base)?,
        projects: Vec::new(),
    };
    for name in base::named(disk, base, Entry::Archive)? {
        let bytes = folder::bytes(disk, &base.join(&name))?;
        status.legacy.push((shown(name.as_bytes()), bytes));
    }
    let Some(store) = Store::open(disk, base)? else {
        return Ok(status);
    };
    status.projects = projects(&store, listed_max)?;
    // One may change after it was looked at, and another before: what is seen twice in a row, all of
    // them were at the same moment.
    // rule: concurrent/serial
    for _ in 1..LOOKS_MAX {
        let again = projects(&store, listed_max)?;
        if again == status.projects {
            break;
        }
        status.projects = again;
    }
    status.projects.sort_by(|one, other| {
        other.last_touch.cmp(&one.last_touch).then_with(|| one.hash.cmp(&other.hash))
    });
    Ok(status)
}

/// Each project as it is when it is looked at.
fn projects(store: &Store<'_>, listed_max: usize) -> Result<Vec<ProjectStatus>> {
    let (disk, objects) = (store.disk, store.objects());
    let mut projects = Vec::new();
    for hash in ref_recovery::projects(store, &objects)? {
        let read = || metadata::read(disk, &store.path, &hash);
        let known = read().or_else(|| {
            // Its first checkpoint may just be taken: then they are there once that is done.
            // rule: concurrent/serial
            store.wait_for_project(&hash).ok();
            read()
        });
        // A damaged history only hides the count of its own project.
        let history = history::newest_first(store, &objects, &hash, listed_max);
        projects.push(ProjectStatus {
            checkpoints: history
                .ok()
                .map(|all| all.iter().filter(|one| !one.is_unlisted()).count()),
            last_touch: known.as_ref().map(|known| known.last_touch as i64),
            state: evidence::of_project(disk, known.as_ref()),
            workdir: known.map(|known| known.workdir),
            interrupted: restoring::interrupted(disk, &store.path, &hash).map(Interrupted::from),
            hash,
        });
    }
    Ok(projects)
}
