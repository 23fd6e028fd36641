//! Taking a checkpoint: scope, lock, capture, commit, and what follows for the store.

use super::carry::Taking;
use super::owner::{Owned, Use};
use super::{Manager, Occasion, Upkeep};
use crate::capture::index::{self, Index};
use crate::capture::{Blobs, Capture, Current};
use crate::disk::Stat;
use crate::disk::atomic_write::write_fresh;
use crate::environment::Config;
use crate::error::{Context, Error, Result};
use crate::maintenance::limits::{self, Limit};
use crate::own_folders::OwnFolders;
use crate::policy::Trigger;
use crate::project::Project;
use crate::report::{Evicted, Outcome, Taken};
use crate::store::commit::Checkpoint;
use crate::store::left_out::LeftOut;
use crate::store::metadata::Newest;
use crate::store::objects::Objects;
use crate::store::snapshot;
use crate::store::{
    Store, commit, envelopes, hands, history, metadata, pins, ref_recovery, refs, restoring,
    rollbacks, shallow, usage,
};
use git2::Oid;

impl Manager {
    pub(super) fn take(&self, project: &Project, occasion: &Occasion<'_>) -> Result<Taken> {
        let disk = self.disk.as_ref();
        occasion.label.map_or(Ok(()), pins::check_label)?;
        project.check_scope(disk, &self.environment)?;
        let (mut taken, due) = {
            let Owned { store, _project, state, undone } = self.own(project, Use::Take)?;
            let mut objects = store.objects();
            let taking = Taking::new(occasion, &self.state, state.as_ref());
            // The agent goes on while files are read.
            drop(state);
            let (mut taken, current) =
                self.checkpoint_locked(&store, &mut objects, project, &taking)?;
            taken.notices.extend(undone);
            taken.notices.extend(self.end_interrupted(&store, project, &current));
            let is_new = matches!(taken.outcome, Outcome::Created { .. });
            let limit = self.limit(&store, &objects, project);
            let evicted = is_new.then(|| limit.keep_newest());
            let due = evicted.as_ref().map(|evicted| evicted.is_due);
            taken.evicted = evicted.unwrap_or_default().into();
            (taken, due)
        };
        taken.evicted.for_size = self.after_checkpoint(due);
        Ok(taken)
    }

    /// Takes a checkpoint while the project's lock is held, and returns what was there as well.
    pub(super) fn checkpoint_locked(
        &self,
        store: &Store<'_>,
        objects: &mut Objects<'_>,
        project: &Project,
        taking: &Taking<'_>,
    ) -> Result<(Taken, Current)> {
        let occasion = taking.occasion;
        let known = index::load(store, &project.hash);
        let started = self.file_system_time(store, project)?;
        let mut captured =
            self.capture(store, project, &known, Some(started)).run(Blobs::Keep(objects))?;
        let tip = ref_recovery::newest_locked(store, objects, &project.hash)?;
        let newest = newest_whole(store, objects, &project.hash, tip)?;
        let carried = self.carry(store, objects, project, newest.as_ref(), taking)?;
        let (outcome, newest) = match newest {
            // rule: capture/empty-first
            None if captured.current.snapshot.is_empty() && occasion.label.is_none() => {
                (Outcome::Unchanged, None)
            }
            _ => {
                // However many are allowed, what could not be read again is no checkpoint.
                // rule: scope/too-many-files
                if let Some(limit) = snapshot::exceeded(&captured.current.snapshot) {
                    return Err(Error::TooManyFiles { dir: project.directory.clone(), limit });
                }
                let tree = snapshot::write(objects, &captured.current.snapshot)?;
                // rule: capture/unchanged
                let is_same = occasion.label.is_none() && carried.is_same;
                if let Some(newest) =
                    newest.as_ref().filter(|newest| is_same && newest.tree == tree)
                {
                    objects.flush()?;
                    let Checkpoint { id, seconds, parent, .. } = *newest;
                    // A damaged one in front of it would hide it and what came before it.
                    // rule: maintenance/damage
                    if tip != Some(id) {
                        let name = refs::of_project(&project.hash);
                        refs::advance(store.disk, &store.path, &name, tip, id)?;
                    }
                    (Outcome::Unchanged, Some(Newest { id, seconds, parent }))
                } else {
                    let (permissions, left_out) = (&captured.permissions, &captured.left_out[..]);
                    // rule: restore/left-out
                    let has_units = captured.current.units.values().any(Option::is_none);
                    let holds = commit::Holds { tree, permissions, left_out, has_units };
                    let (hash, now) = (&project.hash, self.clock.seconds());
                    // rule: capture/created
                    let newest = newest.as_ref();
                    let place = self.next_place(store, objects, hash, newest, occasion.trigger)?;
                    let id = commit::write(objects, hash, &holds, place, now, occasion.reason)?;
                    let base = newest.map(|newest| newest.id);
                    let envelope = carried.envelope(occasion, (base, tree), now);
                    let envelope =
                        envelope.map(|one| envelopes::write(objects, &one)).transpose()?;
                    // rule: capture/honest
                    objects.flush()?;
                    if let Some(envelope) = envelope {
                        // Before the checkpoint is one, so that none stands without what it carries.
                        envelopes::keep(store, hash, id, envelope)?;
                    }
                    hands::mark(store, &project.hash, id);
                    let name = refs::of_project(&project.hash);
                    refs::advance(store.disk, &store.path, &name, tip, id)?;
                    if occasion.label.is_some() {
                        // rule: agent/pinned
                        pins::add(store.disk, &store.path, hash, id)?;
                    }
                    let parent = place.0;
                    let newest = Newest { id, seconds: now, parent };
                    (Outcome::Created { id: id.to_string() }, Some(newest))
                }
            }
        };
        if objects.written() > 0 {
            let _ = usage::add(store, objects.written());
        }
        if let Some(newest) = newest {
            // The checkpoint is stored by now. Both of these are written again with the next one,
            // so that failing to write them does not fail this one.
            let _ =
                metadata::touch(store.disk, &store.path, project, self.clock.seconds(), &newest);
            // What was looked at again need not be the next time.
            captured.index.remember(|id| objects.mark(id));
            if captured.index != known || objects.has_looked() {
                let _ = index::save(store, &project.hash, &captured.index);
            }
        }
        let skipped = captured.left_out.iter().map(LeftOut::remark).collect();
        let (notices, evicted) = (carried.notices, Evicted::default());
        Ok((Taken { outcome, skipped, notices, evicted }, captured.current))
    }

    /// The parent of the checkpoint that comes after `newest`, and its number if it is taken before
    /// a restore. Where there is no room for it, those of its kind that it follows go beside the
    /// history, where each can be dropped alone.
    // rule: restore/keeps-history
    fn next_place(
        &self,
        store: &Store<'_>,
        objects: &Objects<'_>,
        hash: &str,
        newest: Option<&Checkpoint>,
        trigger: Trigger,
    ) -> Result<(Option<Oid>, Option<u64>)> {
        let Some(newest) = newest else { return Ok((None, None)) };
        if trigger != Trigger::PreRollback {
            return Ok((Some(newest.id), None));
        }
        let most = self.most();
        let mut all = history::newest_first(store, objects, hash, most)?;
        let number = all.iter().filter_map(|one| one.rollback).max().unwrap_or(0).saturating_add(1);
        all.retain(|one| !one.is_aside && !one.is_unlisted());
        if all.len() < most || newest.rollback.is_none() {
            return Ok((Some(newest.id), Some(number)));
        }
        let base = all.iter().find(|one| one.rollback.is_none()).map(|base| base.id);
        let follow = all.iter().take_while(|one| one.rollback.is_some());
        // One that stands beside already keeps its place, also where what it followed was dropped:
        // with two places it would stay when it makes room.
        for one in follow.filter(|one| one.damage.is_none() && one.beside.is_none()) {
            let number = one.rollback.unwrap_or(0);
            let place = rollbacks::Place { number, parent: base, is_listed: true };
            rollbacks::add(store.disk, &store.path, hash, place, one.id)?;
        }
        Ok((base, Some(number)))
    }

    /// The limit on the checkpoints of a project, whose lock is held.
    pub(super) fn limit<'a>(
        &self,
        store: &'a Store<'a>,
        objects: &'a Objects<'a>,
        project: &'a Project,
    ) -> Limit<'a> {
        let (most, now) = (self.most(), self.clock.seconds());
        Limit { store, objects, hash: &project.hash, most, now }
    }

    /// A checkpoint was added, and whether space is to be freed for it. No lock is held. Returns how
    /// many checkpoints were evicted since the store was too large.
    pub(super) fn after_checkpoint(&self, due: Option<bool>) -> usize {
        match &self.upkeep {
            Upkeep::AtOnce => self.keep_limits(due),
            Upkeep::Later(owed) => {
                if let Ok(mut owed) = owed.lock() {
                    *owed = (*owed).max(due);
                }
                0
            }
        }
    }

    pub(super) fn keep_limits(&self, due: Option<bool>) -> usize {
        let keep =
            |due| limits::after_checkpoint(self.disk.as_ref(), &self.base(), &self.config, due);
        due.map_or(0, keep)
    }

    fn capture<'a>(
        &'a self,
        store: &Store<'_>,
        project: &'a Project,
        index: &'a Index,
        started: Option<Stat>,
    ) -> Capture<'a> {
        Capture {
            disk: self.disk.as_ref(),
            root: &project.directory,
            own: OwnFolders::of(self.disk.as_ref(), &self.environment),
            config: &self.config,
            interrupted: restoring::died(store, &project.hash).then_some(project.hash.as_str()),
            index,
            started,
        }
    }

    /// What is in the project now, however many files, without storing anything; empty where it is
    /// gone.
    // rule: diff/leaves-store
    pub(super) fn current(
        &self,
        store: &Store<'_>,
        objects: &Objects<'_>,
        project: &Project,
    ) -> Result<Current> {
        let boundless = Config { max_files: usize::MAX, ..self.config.clone() };
        self.current_within(&boundless, store, objects, project)
    }

    /// The same with the bounds of a configuration.
    pub(super) fn current_within(
        &self,
        config: &Config,
        store: &Store<'_>,
        objects: &Objects<'_>,
        project: &Project,
    ) -> Result<Current> {
        match project.check_directory(self.disk.as_ref()) {
            // rule: restore/deleted-project
            Err(Error::MissingDirectory(_)) => Ok(Current::default()),
            Err(error) => Err(error),
            Ok(()) => {
                let known = index::load(store, &project.hash);
                let capture = self.capture(store, project, &known, None);
                let capture = Capture { config, ..capture };
                capture.run(Blobs::Name(objects)).map(|captured| captured.current)
            }
        }
    }

    /// The stat of a file made now: its time is that of the file system's clock, which may differ
    /// from the clock of the process.
    fn file_system_time(&self, store: &Store<'_>, project: &Project) -> Result<Stat> {
        let name = format!("clock-{}", project.hash);
        let path = write_fresh(store.disk, &store.path, &name, b"")?;
        let stat = store.disk.stat(&path).context("looking at", &path);
        store.disk.remove_file(&path).context("removing", &path)?;
        stat
    }
}

/// The newest checkpoint whose commit can be read. The next one stands on that, so that a damaged
/// commit does not stay in the history.
// rule: maintenance/damage
fn newest_whole(
    store: &Store<'_>,
    objects: &Objects<'_>,
    hash: &str,
    tip: Option<Oid>,
) -> Result<Option<Checkpoint>> {
    match tip.map(|tip| commit::read(objects, tip)).transpose() {
        Err(error) if error.is_damage() => {
            tracing::debug!("the newest checkpoint of {hash} is lost: {error}");
            let all = history::newest_first(store, objects, hash, usize::MAX)?;
            let is_whole = |one: &Checkpoint| one.damage.is_none() && !one.is_unlisted();
            Ok(all.into_iter().find(is_whole))
        }
        Ok(Some(newest)) if newest.rollback.is_some() => {
            // What came before it may have been dropped since.
            let is_end = shallow::read(store.disk, &store.path)?.contains(&newest.id);
            Ok(Some(Checkpoint { parent: newest.parent.filter(|_| !is_end), ..newest }))
        }
        newest => newest,
    }
}
