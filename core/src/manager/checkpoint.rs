//! Takes a checkpoint: scope, lock, capture, commit, and then the limits of the store.

use super::Manager;
use super::captures::ProjectCapture;
use super::open_project::OpenProject;
use super::owner::OperationLocks;
use super::turn::{has_turn, record_turn};
use super::upkeep::Upkeep;
use crate::agent_state::{Carried, Occasion, Stored, Taking};
use crate::capture::Captured;
use crate::capture::index;
use crate::error::{Error, Result};
use crate::maintenance::limits::Limit;
use crate::policy::Trigger;
use crate::project::Project;
use crate::report::{Outcome, Taken};
use crate::store::commit::Checkpoint;
use crate::store::metadata::{Newest, SessionTurn};
use crate::store::oid::Oid;
use crate::store::pre_restore::PreRestoreRef;
use crate::store::snapshot;
use crate::store::{commit, figures, metadata, pre_restore, ref_recovery, refs, usage};

/// With fewer paths, a list reads few trees.
const LARGE_PATHS: usize = 256;
/// After a checkpoint that stored more bytes than this, trees are not recorded: the next one does it, once their
/// pack has its final times.
const FEW_BYTES: u64 = 256 * 1024;

impl Manager {
    pub(super) fn take(&self, project: &Project, occasion: &Occasion<'_>) -> Result<Taken> {
        self.take_in_turn(project, occasion, None)
    }

    /// As [`Manager::take`], at most once for a turn, also if requests for it come at the same time.
    pub(super) fn take_in_turn(
        &self,
        project: &Project,
        occasion: &Occasion<'_>,
        turn: Option<&SessionTurn>,
    ) -> Result<Taken> {
        occasion.check()?;
        project.check_scope(self.disk.as_ref(), &self.environment)?;
        let OperationLocks { store, project_lock, state, undone } = self.lock_to_take(project)?;
        if let Some(turn) = turn
            && has_turn(&store, project, turn)?
        {
            return Ok(Taken::without_checkpoint(Outcome::Deduped));
        }
        let mut open = OpenProject::new(&store, project);
        let taking = Taking::new(occasion, &self.state, state.as_ref());
        // The agent may continue while files are read.
        drop(state);
        let mut capture = self.capture_to_store(&mut open)?;
        let RecordedCapture { outcome, mut notices } =
            self.record_capture(&mut open, &mut capture, &taking)?;
        notices.extend(undone);
        notices.extend(self.end_interrupted(&open, &capture.captured.current));
        if let Some(turn) = turn {
            record_turn(&store, project, turn);
        }
        let is_new = matches!(outcome, Outcome::Created { .. });
        let evicted = is_new.then(|| self.limit(&open).keep_newest());
        // The upkeep takes the locks that it needs.
        drop(open);
        drop(project_lock);
        drop(store);
        let evicted = self.do_upkeep_after(evicted, Upkeep::after_checkpoint);
        Ok(Taken { outcome, skipped: capture.skipped(), notices, evicted })
    }

    /// Records a capture as a checkpoint, unless the newest one already holds it. The project's lock is
    /// held.
    pub(super) fn record_capture(
        &self,
        open: &mut OpenProject<'_>,
        capture: &mut ProjectCapture,
        taking: &Taking<'_>,
    ) -> Result<RecordedCapture> {
        let occasion = taking.occasion;
        let is_labelled = occasion.label.is_some();
        let tip = ref_recovery::newest_locked(open.store, &open.objects, open.hash())?;
        let newest = open.newest_readable(tip)?;
        let newest = newest.as_ref();
        let stored = open.stored();
        let carried = self.state.carry(stored, &mut open.objects, newest, taking)?;
        let too_many_pins = stored.too_many_pins(self.most(), is_labelled)?;
        let draft = Draft { captured: &capture.captured, carried: &carried, tip, newest };
        let tree = draft.write_tree(open, is_labelled)?;
        let decision = decide(newest, tree, !is_labelled && carried.is_same);
        let Committed { outcome, newest } = self.commit(open, &draft, decision, occasion)?;
        self.write_bookkeeping(open, capture, newest.as_ref());
        let is_large = capture.captured.current.snapshot.len() >= LARGE_PATHS;
        if let Some(tree) = tree.filter(|_| is_large)
            && (1..=FEW_BYTES).contains(&open.objects.written())
        {
            figures::record_trees(open.store, &open.objects, open.hash(), tree);
        }
        let is_tracked_unknown = capture.captured.is_tracked_unknown;
        let tracked_unknown = is_tracked_unknown.then(|| TRACKED_UNKNOWN.to_owned());
        let notices = carried.notices.into_iter().chain(too_many_pins).chain(tracked_unknown);
        let notices = notices.collect();
        Ok(RecordedCapture { outcome, notices })
    }

    /// Does what was decided about a checkpoint.
    fn commit(
        &self,
        open: &mut OpenProject<'_>,
        draft: &Draft<'_>,
        decision: CommitDecision<'_>,
        occasion: &Occasion<'_>,
    ) -> Result<Committed> {
        match decision {
            CommitDecision::Nothing => {
                Ok(Committed { outcome: Outcome::Unchanged { id: None }, newest: None })
            }
            CommitDecision::KeepNewest(newest) => {
                keep_newest(open, newest, draft.tip)?;
                let Checkpoint { id, seconds, parent, .. } = *newest;
                let outcome = Outcome::Unchanged { id: Some(id.to_string()) };
                Ok(Committed { outcome, newest: Some(Newest { id, seconds, parent }) })
            }
            CommitDecision::Add(tree) => {
                let newest = self.add(open, draft, tree, occasion)?;
                let outcome = Outcome::Created { id: newest.id.to_string() };
                Ok(Committed { outcome, newest: Some(newest) })
            }
        }
    }

    /// Writes the estimate of the size of the store, the metadata of the project and its index. The
    /// checkpoint is stored by now, and the next one writes them again, so that a failure to write them
    /// does not fail this one.
    fn write_bookkeeping(
        &self,
        open: &OpenProject<'_>,
        capture: &mut ProjectCapture,
        newest: Option<&Newest>,
    ) {
        let OpenProject { store, objects, project } = open;
        if objects.written() > 0 {
            let _ = usage::add(store, objects.written());
        }
        let Some(newest) = newest else { return };
        let _ = metadata::touch(store.disk, &store.path, project, self.clock.seconds(), newest);
        let ProjectCapture { captured, previous_index } = capture;
        // Objects that were examined now need not be examined the next time.
        captured.index.remember(objects);
        if captured.index != *previous_index || objects.has_looked() {
            let _ = index::save(store, open.hash(), &captured.index);
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
            include: &self.config.include,
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
        let envelope = envelope.map(|envelope| envelope.write(objects)).transpose()?;
        // The ref moves only after all objects are durable.
        // rule: capture/honest
        // rule: crash/power-loss: decides
        objects.flush()?;
        let stored = Stored::of(store, hash);
        stored.begin_checkpoint(id, envelope)?;
        refs::advance(store.disk, &store.path, &refs::of_project(hash), draft.tip, id)?;
        if occasion.label.is_some() {
            // rule: agent/pinned
            stored.pin(id)?;
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
}

/// Notice about an index of git that exists and cannot be read.
const TRACKED_UNKNOWN: &str = "What git tracks is not known, since its index cannot be read. The checkpoint holds \
                               nothing of folders such as build and node_modules. `git status` says more.";

/// The result of recording a capture.
pub(super) struct RecordedCapture {
    pub outcome: Outcome,
    /// Notices for the user.
    pub notices: Vec<String>,
}

/// The result of committing a draft.
struct Committed {
    outcome: Outcome,
    /// The newest checkpoint after that; `None` for an empty project without checkpoints.
    newest: Option<Newest>,
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

impl Draft<'_> {
    /// Adds the trees of the captured files to the objects and returns the root tree; `None` for an empty
    /// project without checkpoints.
    fn write_tree(&self, open: &mut OpenProject<'_>, is_labelled: bool) -> Result<Option<Oid>> {
        let snapshot = &self.captured.current.snapshot;
        // rule: capture/empty-first
        if self.newest.is_none() && snapshot.is_empty() && !is_labelled {
            return Ok(None);
        }
        // Whatever the configured limit, a checkpoint must be one that can be read again.
        // rule: scope/too-many-files
        if let Some(limit) = snapshot::exceeded(snapshot) {
            return Err(Error::TooManyFiles { dir: open.project.directory.clone(), limit });
        }
        snapshot::write(&mut open.objects, snapshot).map(Some)
    }
}

/// What is done so that a checkpoint holds the captured state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommitDecision<'a> {
    /// Nothing: there is no state to hold.
    Nothing,
    /// The newest checkpoint already holds it, and stays the newest.
    KeepNewest(&'a Checkpoint),
    /// A checkpoint of that tree is added.
    Add(Oid),
}

/// Decides what is done with a captured `tree`, compared with the newest checkpoint. The newest one may
/// only be kept if it `carries_same`: the same parts of the agent's state, while no label is requested.
// rule: capture/unchanged
fn decide(
    newest: Option<&Checkpoint>,
    tree: Option<Oid>,
    carries_same: bool,
) -> CommitDecision<'_> {
    let Some(tree) = tree else { return CommitDecision::Nothing };
    match newest.filter(|newest| carries_same && newest.tree == tree) {
        Some(newest) => CommitDecision::KeepNewest(newest),
        None => CommitDecision::Add(tree),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    // rule: capture/unchanged
    #[test]
    fn decide_keeps_the_newest_checkpoint_only_with_the_same_tree_and_parts() {
        let tree = |byte: u8| Oid([byte; 20]);
        let newest = Checkpoint {
            id: tree(9),
            tree: tree(1),
            parent: None,
            rollback: None,
            pre_restore_ref: None,
            is_pinned: false,
            pinned_only: false,
            seconds: 0,
            reason: String::new(),
            project: None,
            damage: None,
        };
        let decide = |tree, carries_same| decide(Some(&newest), Some(tree), carries_same);
        assert_eq!(super::decide(None, None, true), CommitDecision::Nothing);
        assert_eq!(super::decide(None, Some(tree(1)), true), CommitDecision::Add(tree(1)));
        assert_eq!(decide(tree(2), true), CommitDecision::Add(tree(2)));
        assert_eq!(decide(tree(1), false), CommitDecision::Add(tree(1)));
        assert_eq!(decide(tree(1), true), CommitDecision::KeepNewest(&newest));
    }
}
