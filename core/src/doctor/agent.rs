//! Whether what an agent has beside its files can be captured and restored, and whether a rollback of
//! it died. An agent that has nothing of the kind is not spoken of.

use super::{Check, Finding};
use crate::disk::{Disk, Kind};
use crate::path::shown;
use crate::state::{PartKind, readable_log, readable_part};
use crate::store::{lock, undo};
use std::path::Path;

/// Looks at the agent's folder, and at the notes of rollbacks in the store of `base`.
pub fn look(disk: &dyn Disk, base: &Path, folder: &Path) -> Option<Finding> {
    let is_there = disk.stat(folder).is_ok_and(|stat| stat.kind == Kind::Directory);
    if let Some(found) = interrupted(disk, base) {
        let undone = "`herma rollback` undoes it, and until then what is there may be half of each";
        let advice = match is_there {
            true => undone.to_owned(),
            // Who has no parts cannot bring them back.
            false => format!("make the agent's folder {folder:?} again: {undone}"),
        };
        return Some(Finding::trouble(Check::Agent, found, advice));
    }
    if !is_there {
        return None;
    }
    let parts = PartKind::ALL.iter().filter_map(|kind| readable_part(disk, *kind, folder).err());
    let damaged: Vec<String> = parts.chain(readable_log(disk, folder).err()).collect();
    if damaged.is_empty() {
        let found = format!("what is kept in {folder:?} can go into checkpoints");
        return Some(Finding::ok(Check::Agent, found));
    }
    let advice =
        "mend or remove it: until then no checkpoint holds it, and no rollback brings it back";
    Some(Finding::notice(Check::Agent, damaged.join("; "), advice))
}

/// What is said of the first rollback that died. One that goes on holds its project, and is none.
fn interrupted(disk: &dyn Disk, base: &Path) -> Option<String> {
    let store = base.join("store");
    // What cannot be read is said of the base.
    let lock = |hash: &String| store.join("locks").join(hash);
    let is_held = |hash: &String| lock::is_held(disk, &lock(hash)).unwrap_or(false);
    let died = undo::projects(disk, &store).ok()?.into_iter().find(|hash| !is_held(hash))?;
    match undo::read(disk, &store, &died) {
        Ok(undo) => {
            Some(format!("a rollback of {} was interrupted half-way", shown(&undo?.directory)))
        }
        Err(error) => Some(format!(
            "a rollback was interrupted, and how to undo it is lost: {}",
            error.cause()
        )),
    }
}
