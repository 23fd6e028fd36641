//! Takes a checkpoint: scope, lock, capture, commit, and then the limits of the store.

use super::carry::Taking;
use super::owner::{OperationLocks, Purpose};
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
    Store, attribution, commit, envelopes, history, metadata, pins, pre_restore, ref_recovery,
    refs, restoring, shallow, usage,
};
use git2::Oid;

impl Manager {
    pub(super) fn take(&self, project: &Project, occasion: &Occasion<'_>) -> Result<Taken> {
        let disk = self.disk.as_ref();
        occasion.label.map_or(Ok(()), pins::check_label)?;
        project.check_scope(disk, &self.environment)?;
        let (mut taken, reclaim) = {
            let OperationLocks { store, _project, state, undone } =
                self.lock_operation(project, Purpose::Take)?;
            let mut objects = store.objects();
            let taking = Taking::new(occasion, &self.state, state.as_ref());
            // The agent may continue while files are read.
            drop(state);
            let (mut taken, current) =
                self.checkpoint_locked(&store, &mut objects, project, &taking)?;
            taken.notices.extend(undone);
            taken.notices.extend(self.end_interrupted(&store, project, &current));
            let is_new = matches!(taken.outcome, Outcome::Created { .. });
            let limit = self.limit(&store, &objects, project);
            let evicted = is_new.then(|| limit.keep_newest());
            let reclaim = evicted.as_ref().map(|evicted| evicted.must_reclaim);
            taken.evicted = evicted.unwrap_or_default().into();
            (taken, reclaim)
        };
        taken.evicted.for_size = self.after_checkpoint(reclaim);
        Ok(taken)
    }

    /// Takes a checkpoint while the project's lock is held, and also returns the captured state.
    pub(super) fn checkpoint_locked(
        &self,
        store: &Store<'_>,
        objects: &mut Objects<'_>,
        project: &Project,
        taking: &Taking<'_>,
    ) -> Result<(Taken, Current)> {
        let occasion = taking.occasion;
        let previous_index = index::load(store, &project.hash);
        let started = self.file_system_time(store, project)?;
        let mut captured = self
            .capture(store, project, &previous_index, Some(started))
            .run(Blobs::Keep(objects))?;
        let tip = ref_recovery::newest_locked(store, objects, &project.hash)?;
        let newest = newest_readable(store, objects, &project.hash, tip)?;
        let carried = self.carry(store, objects, project, newest.as_ref(), taking)?;
        let (outcome, newest) = match newest {
            // rule: capture/empty-first
            None if captured.current.snapshot.is_empty() && occasion.label.is_none() => {
                (Outcome::Unchanged, None)
            }
            _ => {
                // Whatever the configured limit, a checkpoint must be one that can be read again.
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
                    // A damaged checkpoint after it would hide it and those before it.
                    // rule: maintenance/damage
                    if tip != Some(id) {
                        let name = refs::of_project(&project.hash);
                        refs::advance(store.disk, &store.path, &name, tip, id)?;
                    }
                    (Outcome::Unchanged, Some(Newest { id, seconds, parent }))
                } else {
                    let permissions = &captured.permissions;
                    let left_out = &captured.left_out[..];
                    // rule: restore/left-out
                    let has_units = captured.current.units.values().any(Option::is_none);
                    let holds = commit::Holds { tree, permissions, left_out, has_units };
                    let hash = &project.hash;
                    let now = self.clock.seconds();
                    // rule: capture/created
                    let newest = newest.as_ref();
                    let position =
                        self.next_position(store, objects, hash, newest, occasion.trigger)?;
                    let id = commit::write(objects, hash, &holds, position, now, occasion.reason)?;
                    let base = newest.map(|newest| newest.id);
                    let envelope = carried.envelope(occasion, base, tree, now);
                    let envelope = envelope
                        .map(|envelope| envelopes::write(objects, &envelope))
                        .transpose()?;
                    // rule: capture/honest
                    objects.flush()?;
                    if let Some(envelope) = envelope {
                        // Before the ref is advanced, so that no checkpoint exists without its envelope.
                        envelopes::keep(store, hash, id, envelope)?;
                    }
                    attribution::mark(store, &project.hash, id);
                    let name = refs::of_project(&project.hash);
                    refs::advance(store.disk, &store.path, &name, tip, id)?;
                    if occasion.label.is_some() {
                        // rule: agent/pinned
                        pins::add(store.disk, &store.path, hash, id)?;
                    }
                    let parent = position.0;
                    let newest = Newest { id, seconds: now, parent };
                    (Outcome::Created { id: id.to_string() }, Some(newest))
                }
            }
        };
        if objects.written() > 0 {
            let _ = usage::add(store, objects.written());
        }
        if let Some(newest) = newest {
            // The checkpoint is stored by now. The metadata and the index are written again with the
            // next one, so that a failure to write them does not fail this one.
            let _ =
                metadata::touch(store.disk, &store.path, project, self.clock.seconds(), &newest);
            // Objects that were examined now need not be examined the next time.
            captured.index.remember(|id| objects.mark(id));
            if captured.index != previous_index || objects.has_looked() {
                let _ = index::save(store, &project.hash, &captured.index);
            }
        }
        let skipped = captured.left_out.iter().map(LeftOut::remark).collect();
        let notices = carried.notices;
        let evicted = Evicted::default();
        Ok((Taken { outcome, skipped, notices, evicted }, captured.current))
    }

    /// The parent of the checkpoint after `newest`, and its number if it is a pre-restore checkpoint. If
    /// the list is full, the pre-restore checkpoints that it follows get refs of their own outside the
    /// history, where each can be evicted alone.
    // rule: restore/keeps-history
    fn next_position(
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
        let mut listed = history::newest_first(store, objects, hash, most)?;
        let numbers = listed.iter().filter_map(|checkpoint| checkpoint.rollback);
        let number = numbers.max().unwrap_or(0).saturating_add(1);
        listed.retain(|checkpoint| !checkpoint.pinned_only && !checkpoint.is_unlisted());
        if listed.len() < most || newest.rollback.is_none() {
            return Ok((Some(newest.id), Some(number)));
        }
        let base =
            listed.iter().find(|checkpoint| checkpoint.rollback.is_none()).map(|base| base.id);
        let followed = listed.iter().take_while(|checkpoint| checkpoint.rollback.is_some());
        // A checkpoint with a ref of its own keeps it, also if the one it followed was evicted: with
        // two refs it would remain after its eviction.
        let in_history = |checkpoint: &&Checkpoint| {
            checkpoint.damage.is_none() && checkpoint.pre_restore_ref.is_none()
        };
        for checkpoint in followed.filter(in_history) {
            let number = checkpoint.rollback.unwrap_or(0);
            let place = pre_restore::PreRestoreRef { number, parent: base, is_listed: true };
            pre_restore::add(store.disk, &store.path, hash, place, checkpoint.id)?;
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
        let most = self.most();
        let now = self.clock.seconds();
        Limit { store, objects, hash: &project.hash, most, now }
    }

    /// Limits the store after a checkpoint was added; `reclaim` is whether space is to be freed, `None` if
    /// no checkpoint was added. No lock is held. Returns how many checkpoints were evicted because the
    /// store was too large.
    pub(super) fn after_checkpoint(&self, reclaim: Option<bool>) -> usize {
        match &self.upkeep {
            Upkeep::AtOnce => self.keep_limits(reclaim),
            Upkeep::Later(postponed) => {
                if let Ok(mut postponed) = postponed.lock() {
                    *postponed = (*postponed).max(reclaim);
                }
                0
            }
        }
    }

    pub(super) fn keep_limits(&self, reclaim: Option<bool>) -> usize {
        let keep = |reclaim| {
            limits::after_checkpoint(self.disk.as_ref(), &self.base(), &self.config, reclaim)
        };
        reclaim.map_or(0, keep)
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

    /// Captures the present state of the project, however many files, without storing anything; empty
    /// if the project is gone.
    // rule: diff/leaves-store
    pub(super) fn current(
        &self,
        store: &Store<'_>,
        objects: &Objects<'_>,
        project: &Project,
    ) -> Result<Current> {
        let unlimited = Config { max_files: usize::MAX, ..self.config.clone() };
        self.current_within(&unlimited, store, objects, project)
    }

    /// As [`Manager::current`], with the bounds of a configuration.
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
                let index = index::load(store, &project.hash);
                let capture = self.capture(store, project, &index, None);
                let capture = Capture { config, ..capture };
                capture.run(Blobs::Name(objects)).map(|captured| captured.current)
            }
        }
    }

    /// The stat of a new file, whose time is that of the file system's clock, which may differ from
    /// the clock of the process.
    fn file_system_time(&self, store: &Store<'_>, project: &Project) -> Result<Stat> {
        let name = format!("clock-{}", project.hash);
        let path = write_fresh(store.disk, &store.path, &name, b"")?;
        let stat = store.disk.stat(&path).context("looking at", &path);
        store.disk.remove_file(&path).context("removing", &path)?;
        stat
    }
}

/// The newest checkpoint whose commit can be read. It becomes the parent of the next one, so that a
/// damaged commit does not remain in the history.
// rule: maintenance/damage
fn newest_readable(
    store: &Store<'_>,
    objects: &Objects<'_>,
    hash: &str,
    tip: Option<Oid>,
) -> Result<Option<Checkpoint>> {
    match tip.map(|tip| commit::read(objects, tip)).transpose() {
        Err(error) if error.is_damage() => {
            tracing::debug!("the newest checkpoint of {hash} is lost: {error}");
            let checkpoints = history::newest_first(store, objects, hash, usize::MAX)?;
            let is_readable =
                |checkpoint: &Checkpoint| checkpoint.damage.is_none() && !checkpoint.is_unlisted();
            Ok(checkpoints.into_iter().find(is_readable))
        }
        Ok(Some(newest)) if newest.rollback.is_some() => {
            // Its parent may have been evicted since.
            let is_end = shallow::read(store.disk, &store.path)?.contains(&newest.id);
            Ok(Some(Checkpoint { parent: newest.parent.filter(|_| !is_end), ..newest }))
        }
        newest => newest,
    }
}
