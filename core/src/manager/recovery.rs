//! Undoing rollbacks of a whole agent that did not come to their end.
//!
//! What is wrong with one of them is said, and costs no other project anything: none has to wait for
//! what may never be mended.

use super::Manager;
use super::rollback::Wanted;
use super::whole::is_lost;
use crate::capture::Current;
use crate::disk::Sharing;
use crate::error::{Error, Result};
use crate::path::shown;
use crate::project::Project;
use crate::restore::{Restore, left_anything};
use crate::state::Take;
use crate::store::objects::Objects;
use crate::store::snapshot::Item;
use crate::store::undo::Undo;
use crate::store::{Store, lock, restoring, undo};
use git2::Oid;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// What came of bringing files back.
struct FilesBack {
    /// What is not as it was, for people.
    left: Vec<String>,
    /// Whether another attempt would do no more.
    is_final: bool,
}

/// What came of undoing rollbacks that died.
#[derive(Default)]
pub(super) struct Recovered {
    /// What is to be said of them.
    pub said: Vec<String>,
    /// The projects of which that was tried in vain.
    pub left: BTreeSet<String>,
}

impl FilesBack {
    fn never(why: String) -> Self {
        FilesBack { left: vec![why], is_final: true }
    }
}

impl Manager {
    /// Undoes the rollbacks that died, in whatever project, since all of them have the parts of the
    /// agent in common; returns what is to be said of each. The agent does it when it starts; it also
    /// happens before the next checkpoint or restore. One that goes on is passed over.
    ///
    /// # Errors
    /// A damaged or busy store; what is wrong with one of the projects is said instead.
    pub fn recover(&self) -> Result<Vec<String>> {
        self.recover_waiting(|_| false).map(|recovered| recovered.said)
    }

    /// As [`Manager::recover`], where rollbacks of these projects that go on are waited for.
    ///
    /// # Errors
    /// As [`Manager::recover`], and [`Error::Busy`] where one takes too long.
    // rule: agent/all-or-none
    // rule: maintenance/damage
    pub(super) fn recover_waiting(&self, is_needed: impl Fn(&str) -> bool) -> Result<Recovered> {
        let mut recovered = Recovered::default();
        // Who has no parts cannot bring them back; whoever has does it.
        if self.state.is_empty() {
            return Ok(recovered);
        }
        let disk = self.disk.as_ref();
        let Some(store) = Store::open(disk, &self.base())? else { return Ok(recovered) };
        let hashes = match undo::projects(disk, &store.path) {
            Err(error) if error.is_damage() => {
                let why = error.cause();
                let said = format!("whether a rollback was interrupted is not known: {why}");
                recovered.said.push(said);
                return Ok(recovered);
            }
            hashes => hashes?,
        };
        for hash in hashes {
            match self.undo_interrupted(&store, &hash, is_needed(&hash), &mut recovered) {
                Err(Error::Busy(_)) if !is_needed(&hash) => {}
                undone => undone?,
            }
        }
        Ok(recovered)
    }

    /// The same of one project; where it `is_needed` a rollback that goes on is waited for.
    fn undo_interrupted(
        &self,
        store: &Store<'_>,
        hash: &str,
        is_needed: bool,
        recovered: &mut Recovered,
    ) -> Result<()> {
        // A rollback that goes on holds both locks.
        let (_project, take): (_, Take) = match is_needed {
            true => (store.lock_project(hash)?, lock::take),
            false => (store.try_lock_project(hash)?, lock::take_briefly),
        };
        if !undo::is_noted(store.disk, &store.path, hash)? {
            return Ok(());
        }
        let _owner = self.state.own(store.disk, Sharing::Exclusive, take)?;
        match self.undo_noted(store, &store.objects(), hash) {
            Ok(undone) => recovered.said.extend(undone),
            Err(error) => recovered.said.push(format!(
                "a rollback was interrupted, and is not undone yet: {}",
                error.cause()
            )),
        }
        if undo::is_noted(store.disk, &store.path, hash)? {
            recovered.left.insert(hash.to_owned());
        }
        Ok(())
    }

    /// Undoes what is noted of one project, whose lock is held, and that of the state.
    fn undo_noted(
        &self,
        store: &Store<'_>,
        objects: &Objects<'_>,
        hash: &str,
    ) -> Result<Option<String>> {
        let undo = match undo::read(store.disk, &store.path, hash) {
            Err(error) if error.is_damage() => {
                undo::end(store, hash)?;
                return Ok(Some(format!(
                    "a rollback was interrupted, and how to undo it is lost: {}",
                    error.cause()
                )));
            }
            read => read?,
        };
        let Some(undo) = undo else { return Ok(None) };
        let directory = PathBuf::from(OsStr::from_bytes(&undo.directory));
        let project = &Project { directory, hash: hash.to_owned() };
        let short = undo.target.get(..7).unwrap_or_default();
        Ok(Some(match self.take_back(store, objects, project, &undo)? {
            None => format!("a rollback to {short} was interrupted, and is undone"),
            Some(left) => {
                format!("a rollback to {short} was interrupted, and is undone but for this: {left}")
            }
        }))
    }

    /// Brings the parts and files back that a rollback changed; what somebody saved since stays.
    /// Returns what could not be undone, which the next attempt tries again where that may help.
    pub(super) fn take_back(
        &self,
        store: &Store<'_>,
        objects: &Objects<'_>,
        project: &Project,
        undo: &Undo,
    ) -> Result<Option<String>> {
        let mut left = Vec::new();
        for (name, text) in &undo.parts {
            if let Some(Err(why)) = self.state.part(name).map(|part| part.restore(text)) {
                left.push(format!("the agent's {name}: {why}"));
            }
        }
        let are_parts_back = left.is_empty() && !undo.parts.is_empty();
        let files = self.files_back(store, objects, project, undo);
        if files.as_ref().is_ok_and(|files| files.is_final) {
            undo::end(store, &project.hash)?;
        } else {
            // Another project may be rolled back before the next attempt, which must not undo that.
            let parts = if are_parts_back { BTreeMap::new() } else { undo.parts.clone() };
            let _ = undo::begin(store, &project.hash, &Undo { parts, ..undo.clone() });
        }
        left.extend(files?.left);
        Ok((!left.is_empty()).then(|| left.join("; ")))
    }

    /// The files of it. Where a checkpoint is damaged that they are told by, they stay as they are, and
    /// will not be better known later.
    // rule: maintenance/damage
    fn files_back(
        &self,
        store: &Store<'_>,
        objects: &Objects<'_>,
        project: &Project,
        undo: &Undo,
    ) -> Result<FilesBack> {
        let by_id = |id: &str| Wanted::by_id(objects, Oid::from_str(id).ok());
        let before = match by_id(undo.before.as_deref().unwrap_or_default()) {
            Err(error) if error.is_damage() => {
                let why = error.cause();
                return Ok(FilesBack::never(format!("how its files were is lost: {why}")));
            }
            before => before?,
        };
        let mut left = Vec::new();
        let target = match by_id(&undo.target) {
            Err(error) if error.is_damage() => {
                let why = error.cause();
                left.push(format!("what it changed or brought is lost, and stays: {why}"));
                Wanted::by_id(objects, None)?
            }
            target => target?,
        };
        let Current { snapshot, leftovers, units } = match self.current(store, objects, project) {
            // Nothing of it is there any more.
            Err(error @ Error::NotADirectory(_)) => return Ok(FilesBack::never(error.cause())),
            current => current?,
        };
        // Only what stands as the rollback left it, or as it was, may be written over.
        let is_written = |path: &Vec<u8>, item: &Item| {
            let was_there = before.snapshot.contains_key(path);
            (was_there || undo.creates.contains(path)) && target.snapshot.get(path) == Some(item)
        };
        let is_as_it_was = |path: &Vec<u8>, item: &Item| before.snapshot.get(path) == Some(item);
        let snapshot = snapshot
            .into_iter()
            .filter(|(path, item)| is_written(path, item) || is_as_it_was(path, item))
            .collect();
        let current = Current { snapshot, leftovers, units };
        // What is half done is taken back, whoever interrupts it.
        let interrupt = &AtomicBool::new(false);
        let restore =
            Restore { interrupt, ..self.restore_into((project, &current), objects, &before) };
        let is_tidy = restore.tidy();
        let report = restore.all(true);
        self.note_restore((store, objects), project, &restore, &report);
        let is_final = report.failed.iter().all(|one| is_lost(objects, &before, &one.path));
        let failed = report.failed.iter().chain(&report.kept);
        left.extend(failed.map(|one| format!("{}: {}", shown(&one.path), one.why)));
        if is_final && is_tidy && !left_anything(&report) {
            let _ = restoring::end(store, &project.hash);
        }
        Ok(FilesBack { left, is_final })
    }
}
