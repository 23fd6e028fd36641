//! Takes a checkpoint: scope, lock, capture, commit, and then the limits of the store.

use super::carry::{Carried, Taking};
use super::open_project::OpenProject;
use super::owner::{OperationLocks, Purpose};
use super::{Manager, Occasion, Upkeep};
use crate::capture::index::{self, Index};
use crate::capture::{Blobs, Capture, Captured, Current};
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
use crate::store::pre_restore::PreRestoreRef;
use crate::store::snapshot;
use crate::store::{
    Store, attribution, commit, envelopes, metadata, pins, pre_restore, ref_recovery, refs,
    restoring, usage,
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
            let mut open = OpenProject::new(&store, project);
            let taking = Taking::new(occasion, &self.state, state.as_ref());
            // The agent may continue while files are read.
            drop(state);
            let (mut taken, current) = self.checkpoint_locked(&mut open, &taking)?;
            taken.notices.extend(undone);
            taken.notices.extend(self.end_interrupted(&open, &current));
            let is_new = matches!(taken.outcome, Outcome::Created { .. });
            let evicted = is_new.then(|| self.limit(&open).keep_newest());
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
        open: &mut OpenProject<'_>,
        taking: &Taking<'_>,
    ) -> Result<(Taken, Current)> {
        let OpenProject { store, project, .. } = *open;
        let previous_index = index::load(store, open.hash());
        let started = self.file_system_time(store, project)?;
        let mut captured = self
            .capture(store, project, &previous_index, Some(started))
            .run(Blobs::Keep(&mut open.objects))?;
        let tip = ref_recovery::newest_locked(store, &open.objects, open.hash())?;
        let newest = open.newest_readable(tip)?;
        let carried = self.carry(open, newest.as_ref(), taking)?;
        let draft = Draft { captured: &captured, carried: &carried, tip, newest: newest.as_ref() };
        let (outcome, newest) = self.commit(open, &draft, taking.occasion)?;
        if open.objects.written() > 0 {
            let _ = usage::add(store, open.objects.written());
        }
        if let Some(newest) = newest {
            // The checkpoint is stored by now. The metadata and the index are written again with the
            // next one, so that a failure to write them does not fail this one.
            let now = self.clock.seconds();
            let _ = metadata::touch(store.disk, &store.path, project, now, &newest);
            // Objects that were examined now need not be examined the next time.
            captured.index.remember(|id| open.objects.mark(id));
            if captured.index != previous_index || open.objects.has_looked() {
                let _ = index::save(store, open.hash(), &captured.index);
            }
        }
        let skipped = captured.left_out.iter().map(LeftOut::remark).collect();
        let notices = carried.notices;
        let evicted = Evicted::default();
        Ok((Taken { outcome, skipped, notices, evicted }, captured.current))
    }

    /// Decides whether a checkpoint is needed, and adds it to the history. Returns the newest checkpoint
    /// after that; `None` for an empty project without checkpoints.
    fn commit(
        &self,
        open: &mut OpenProject<'_>,
        draft: &Draft<'_>,
        occasion: &Occasion<'_>,
    ) -> Result<(Outcome, Option<Newest>)> {
        let snapshot = &draft.captured.current.snapshot;
        let is_labelled = occasion.label.is_some();
        // rule: capture/empty-first
        if draft.newest.is_none() && snapshot.is_empty() && !is_labelled {
            return Ok((Outcome::Unchanged, None));
        }
        // Whatever the configured limit, a checkpoint must be one that can be read again.
        // rule: scope/too-many-files
        if let Some(limit) = snapshot::exceeded(snapshot) {
            return Err(Error::TooManyFiles { dir: open.project.directory.clone(), limit });
        }
        let tree = snapshot::write(&mut open.objects, snapshot)?;
        // rule: capture/unchanged
        let is_same = !is_labelled && draft.carried.is_same;
        match draft.newest.filter(|newest| is_same && newest.tree == tree) {
            Some(newest) => {
                keep_newest(open, newest, draft.tip)?;
                let Checkpoint { id, seconds, parent, .. } = *newest;
                Ok((Outcome::Unchanged, Some(Newest { id, seconds, parent })))
            }
            None => {
                let newest = self.add(open, draft, tree, occasion)?;
                Ok((Outcome::Created { id: newest.id.to_string() }, Some(newest)))
            }
        }
    }

    /// Adds a checkpoint of that tree to the history.
    // rule: capture/created
    fn add(
        &self,
        open: &mut OpenProject<'_>,
        draft: &Draft<'_>,
        tree: Oid,
        occasion: &Occasion<'_>,
    ) -> Result<Newest> {
        let captured = draft.captured;
        let position = self.position(open, draft.newest, occasion.trigger)?;
        position.free_the_list(open)?;
        let now = self.clock.seconds();
        let OpenProject { store, objects, project } = open;
        let hash = &project.hash;
        let new = commit::NewCheckpoint {
            hash,
            tree,
            permissions: &captured.permissions,
            left_out: &captured.left_out,
            // rule: restore/left-out
            has_units: captured.current.units.values().any(Option::is_none),
            parent: position.parent,
            pre_restore_number: position.number,
            seconds: now,
            reason: occasion.reason,
        };
        let id = commit::write(objects, &new)?;
        let base = draft.newest.map(|newest| newest.id);
        let envelope = draft.carried.envelope(occasion, base, tree, now);
        let envelope = envelope.map(|envelope| envelopes::write(objects, &envelope)).transpose()?;
        // rule: capture/honest
        objects.flush()?;
        if let Some(envelope) = envelope {
            // Before the ref is advanced, so that no checkpoint exists without its envelope.
            envelopes::keep(store, hash, id, envelope)?;
        }
        attribution::mark(store, hash, id);
        refs::advance(store.disk, &store.path, &refs::of_project(hash), draft.tip, id)?;
        if occasion.label.is_some() {
            // rule: agent/pinned
            pins::add(store.disk, &store.path, hash, id)?;
        }
        Ok(Newest { id, seconds: now, parent: position.parent })
    }

    /// The position of the checkpoint after `newest`. Nothing is changed.
    // rule: restore/keeps-history
    fn position(
        &self,
        open: &OpenProject<'_>,
        newest: Option<&Checkpoint>,
        trigger: Trigger,
    ) -> Result<Position> {
        let Some(newest) = newest else { return Ok(Position::default()) };
        let parent = Some(newest.id);
        if trigger != Trigger::PreRollback {
            return Ok(Position { parent, ..Position::default() });
        }
        let most = self.most();
        let mut listed = self.history(open)?;
        let numbers = listed.iter().filter_map(|checkpoint| checkpoint.rollback);
        let number = Some(numbers.max().unwrap_or(0).saturating_add(1));
        listed.retain(|checkpoint| !checkpoint.pinned_only && !checkpoint.is_unlisted());
        if listed.len() < most || newest.rollback.is_none() {
            return Ok(Position { parent, number, moved: Vec::new() });
        }
        let base = listed.iter().find(|checkpoint| checkpoint.rollback.is_none());
        let parent = base.map(|base| base.id);
        let followed = listed.iter().take_while(|checkpoint| checkpoint.rollback.is_some());
        // A checkpoint with a ref of its own keeps it, also if the one it followed was evicted: with
        // two refs it would remain after its eviction.
        let in_history = |checkpoint: &&Checkpoint| {
            checkpoint.damage.is_none() && checkpoint.pre_restore_ref.is_none()
        };
        let moved = followed.filter(in_history);
        let moved =
            moved.map(|checkpoint| (checkpoint.rollback.unwrap_or(0), checkpoint.id)).collect();
        Ok(Position { parent, number, moved })
    }

    /// The limit on the checkpoints of a project, whose lock is held.
    pub(super) fn limit<'a>(&self, open: &'a OpenProject<'a>) -> Limit<'a> {
        let OpenProject { store, objects, .. } = open;
        let most = self.most();
        let now = self.clock.seconds();
        Limit { store, objects, hash: open.hash(), most, now }
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
    pub(super) fn current(&self, open: &OpenProject<'_>) -> Result<Current> {
        let unlimited = Config { max_files: usize::MAX, ..self.config.clone() };
        self.current_within(&unlimited, open)
    }

    /// As [`Manager::current`], with the bounds of a configuration.
    pub(super) fn current_within(
        &self,
        config: &Config,
        open: &OpenProject<'_>,
    ) -> Result<Current> {
        let OpenProject { store, objects, project } = open;
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

/// A checkpoint before it is known whether it is needed.
struct Draft<'a> {
    captured: &'a Captured,
    carried: &'a Carried,
    /// The ref of the history, as it was found.
    tip: Option<Oid>,
    /// The newest checkpoint that can be read.
    newest: Option<&'a Checkpoint>,
}

/// The position of a new checkpoint among those of its project.
#[derive(Default)]
struct Position {
    parent: Option<Oid>,
    /// Its number, if it is a pre-restore checkpoint.
    number: Option<u64>,
    /// The pre-restore checkpoints that leave a full history for it, with their numbers: each gets a ref of
    /// its own, so that it can be evicted alone.
    moved: Vec<(u64, Oid)>,
}

impl Position {
    /// Writes the refs of the checkpoints that leave the history.
    // rule: restore/keeps-history
    fn free_the_list(&self, open: &OpenProject<'_>) -> Result<()> {
        let OpenProject { store, .. } = open;
        for (number, id) in &self.moved {
            let own_ref = PreRestoreRef { number: *number, parent: self.parent, is_listed: true };
            pre_restore::add(store.disk, &store.path, open.hash(), own_ref, *id)?;
        }
        Ok(())
    }
}

/// Makes an unchanged checkpoint durable, and the newest of its history: a damaged checkpoint after it
/// would hide it and those before it.
// rule: maintenance/damage
fn keep_newest(open: &mut OpenProject<'_>, newest: &Checkpoint, tip: Option<Oid>) -> Result<()> {
    open.objects.flush()?;
    if tip != Some(newest.id) {
        let name = refs::of_project(open.hash());
        refs::advance(open.store.disk, &open.store.path, &name, tip, newest.id)?;
    }
    Ok(())
}
