//! Updates the world with the observation of a request.
//!
//! Every observation is recorded, allowed or not, so that the next one is compared with the real state.
//! What was not observed stays unknown.

use super::history::History;
use super::maintenance::Marker;
use super::{Carried, Checkpoint, Slot, World};
use crate::answer::{Answer, CheckpointOutcome, Listed, Protected, Remark, SweepOutcome, Taken};
use crate::bytes::{ByteString, join};
use crate::capture::Captured;
use crate::observation::{Base, Contents, Observation};
use crate::request::Request;
use std::sync::Arc;

impl World {
    /// Records the observation of one request.
    pub fn learn(&mut self, seen: &Observation) {
        let target = self.target_checkpoint(&seen.request);
        let target = target.map(|checkpoint| checkpoint.carried.clone());
        let is_complete = self.restores_all(&seen.request);
        self.learn_cost(seen);
        self.learn_attribution(seen);
        self.learn_answer(seen);
        self.learn_pressure(&seen.request);
        if let Some(stored) = seen.readable_histories() {
            self.settle_all(&stored.visible);
        }
        let project = seen.request.dir().and_then(|dir| self.canonical(dir));
        if let (Answer::Listed(listed), Some(project)) = (&seen.answer, project) {
            self.learn_list(&project, listed);
        }
        self.learn_damage(seen);
        let swept = matches!(seen.answer, Answer::Swept { outcome: SweepOutcome::Done, .. });
        self.maintenance.is_size_uncertain &= !swept;
        match &seen.answer {
            Answer::Restored(_) => self.maintenance.is_limit_left = true,
            Answer::Taken { outcome: CheckpointOutcome::Created { .. }, .. } => {
                self.maintenance.is_limit_left = false;
            }
            _ => {}
        }
        if let Some(contents) = &seen.contents {
            self.learn_contents(contents, self.size_bound(&seen.request) > 0);
        }
        if let Some(base) = &seen.base {
            // Where nothing was cleared, a missing checkpoint is reported at the end of the history.
            if seen.request == Request::Clear && !base.store_exists {
                for project in self.histories.keys().cloned().collect::<Vec<_>>() {
                    self.forget(&project);
                }
            }
            self.learn_base(base);
        }
        self.learn_agent(seen, target, is_complete);
        self.files.clone_from(&seen.files);
    }

    /// Records what the answer reports: the new checkpoint, and the state of the turn.
    ///
    /// Implements [`crate::rules::TURN_RESET`].
    pub(crate) fn learn_answer(&mut self, seen: &Observation) {
        let project = seen.request.dir().and_then(|dir| self.canonical(dir));
        if let Some(project) = &project {
            if self.files.is_directory(project) {
                self.known_directories.insert(project.clone());
            }
            self.maintenance.record_mention(project.clone(), self.seconds);
        }
        match (&seen.request, project) {
            (Request::NewTurn | Request::Reopen, _) => {
                self.slots.values_mut().for_each(|slot| *slot = Slot::Renewed);
                self.restored_in_turn.clear();
            }
            (Request::SetClock { seconds }, _) => self.seconds = *seconds,
            (Request::EnsureCheckpoint { reason, .. }, project) => {
                let project = project.unwrap_or_default();
                self.learn_slot(&project, &seen.answer);
                self.learn_taken(&project, &seen.answer, Some(reason));
            }
            (Request::Checkpoint { reason, .. }, Some(project)) => {
                self.learn_taken(&project, &seen.answer, Some(reason));
            }
            (Request::Label { label, .. }, Some(project)) => {
                self.learn_taken(&project, &seen.answer, None);
                self.learn_label(&project, &seen.answer, label);
            }
            (Request::Pin { .. }, Some(project)) => self.learn_pin(&project, seen, true),
            (Request::Unpin { .. }, Some(project)) => self.learn_pin(&project, seen, false),
            (Request::Event { event, .. }, project) => {
                let project = project.unwrap_or_default();
                self.learn_event(&project, event, &seen.answer);
                self.learn_taken(&project, &seen.answer, None);
            }
            (request, Some(project)) if request.restores() => {
                let ended = self.ended_rollback(&project, seen);
                self.learn_consumed(&project, seen);
                self.learn_safety(&project, seen);
                self.learn_rollback(&project, seen, ended);
            }
            (Request::BeforeTool { .. }, _) => {
                if let Answer::Protected(projects) = &seen.answer {
                    projects.iter().for_each(|protected| self.learn_protected(protected));
                }
            }
            (Request::Prune { .. } | Request::PruneAsConfigured, _) => {
                self.maintenance.pruned = Some(self.seconds)
            }
            (Request::Sweep, _) => {
                if let Answer::Swept { outcome: SweepOutcome::Done, .. } = seen.answer {
                    self.maintenance.marker = Marker::At(self.seconds);
                }
            }
            _ => {}
        }
    }

    /// Records the automatic checkpoint of a project before a tool ran. No rule defines the wording of
    /// its reason.
    fn learn_protected(&mut self, protected: &Protected) {
        let Some(project) = self.canonical(&protected.project) else { return };
        if self.files.is_directory(&project) {
            self.known_directories.insert(project.clone());
        }
        self.maintenance.record_mention(project.clone(), self.seconds);
        let answer = match &protected.taken {
            Some(Taken { outcome, skipped }) => {
                Answer::Taken { outcome: outcome.clone(), skipped: skipped.clone() }
            }
            None => Answer::Done,
        };
        self.learn_slot(&project, &answer);
        self.learn_taken(&project, &answer, None);
    }

    /// Implements [`crate::rules::TURN_FAILURE_KEEPS_SLOT`] and
    /// [`crate::rules::TURN_NOTHING_USES_SLOT`].
    fn learn_slot(&mut self, project: &ByteString, answer: &Answer) {
        let slot = match answer {
            Answer::Taken { outcome: CheckpointOutcome::Created { .. }, .. } => Slot::Taken,
            Answer::Taken { outcome: CheckpointOutcome::Unchanged, .. } => Slot::NothingToSave,
            // A request that is declined without capturing leaves the slot as it was.
            Answer::Taken { .. } => return,
            _ if self.uses_slot(project) || !self.settings.enabled => return,
            _ => Slot::AttemptFailed,
        };
        self.slots.insert(project.clone(), slot);
    }

    fn learn_taken(&mut self, project: &ByteString, answer: &Answer, reason: Option<&String>) {
        let Answer::Taken { outcome, skipped } = answer else { return };
        match outcome {
            CheckpointOutcome::Created { id } => {
                let checkpoint = self.new_checkpoint(project, id, skipped, reason.cloned());
                let limit = self.settings.max_snapshots;
                let history = self.histories.entry(project.clone()).or_default();
                history.take(checkpoint, limit);
                self.maintenance.over_limit.remove(project);
            }
            CheckpointOutcome::Unchanged if !self.history(project).is_empty() => {
                self.maintenance.record_capture(project, self.seconds);
            }
            _ => {}
        }
    }

    /// Labels the new checkpoint, or the newest where none was taken.
    ///
    /// Implements [`crate::rules::AGENT_PINNED`].
    fn learn_label(&mut self, project: &ByteString, answer: &Answer, label: &str) {
        let Answer::Taken { outcome, .. } = answer else { return };
        let newest = self.history(project).last().map(|checkpoint| checkpoint.id.clone());
        let Some(newest) = newest else { return };
        if matches!(outcome, CheckpointOutcome::Created { .. } | CheckpointOutcome::Unchanged) {
            let limit = self.settings.max_snapshots;
            if let Some(history) = self.histories.get_mut(project) {
                history.label(&newest, label);
                history.pin(&newest, true, limit);
            }
        }
    }

    fn learn_pin(&mut self, project: &ByteString, seen: &Observation, pinned: bool) {
        let target = self.target_checkpoint(&seen.request);
        let Some(id) = target.map(|checkpoint| checkpoint.id.clone()) else { return };
        let limit = self.settings.max_snapshots;
        if let (Answer::Done, Some(history)) = (&seen.answer, self.histories.get_mut(project)) {
            history.pin(&id, pinned, limit);
        }
    }

    /// Records that a store with a consumed stack has neither the restored checkpoint nor those after it.
    ///
    /// Implements [`crate::rules::LIST_COMPLETE`].
    fn learn_consumed(&mut self, project: &ByteString, seen: &Observation) {
        let is_full =
            matches!(seen.request, Request::Restore { .. } | Request::RestoreLatest { .. });
        let is_consumed = is_full && matches!(seen.answer, Answer::Restored(_));
        let target = self.target_checkpoint(&seen.request);
        let target = target.filter(|_| is_consumed && self.has("restore.consumes"));
        let id = target.map(|checkpoint| checkpoint.id.clone());
        if let (Some(id), Some(history)) = (id, self.histories.get_mut(project)) {
            history.consume(&id);
        }
    }

    /// Records the pre-restore checkpoint, which holds the state before the restore.
    fn learn_safety(&mut self, project: &ByteString, seen: &Observation) {
        let Answer::Restored(restored) = &seen.answer else { return };
        if let Some(id) = &restored.safety {
            let found = seen.request.dir().zip(self.target_of(&seen.request));
            let found = found.and_then(|(dir, text)| self.find(&self.locate(dir), &text).ok());
            // Where one is damaged, the subject chooses whether any is evicted.
            let target = found.filter(|_| !self.is_partially_corrupted(project));
            let target = target.map(|(_, checkpoint)| checkpoint.id.clone());
            let taken = self.new_checkpoint(project, id, &[], None);
            // The answer to a restore does not report what its pre-restore checkpoint left out.
            let captured =
                taken.captured.filter(|captured| !self.may_lack_units(project, captured, seen));
            let checkpoint = Checkpoint { safety: true, captured, ..taken };
            let limit = self.settings.max_snapshots;
            self.pre_restore.take(project, checkpoint.clone());
            let history = self.histories.entry(project.clone()).or_default();
            history.take_safety(checkpoint, target.as_deref(), limit);
            self.restored_in_turn.insert(project.clone());
            return;
        }
        // An implementation that checks for changes to save records that the project was used.
        let looked = self.has("restore.safety") && !restored.forced_past;
        if looked && self.files.is_directory(project) && !self.history(project).is_empty() {
            self.maintenance.record_capture(project, self.seconds);
        }
    }

    /// Whether a pre-restore checkpoint may have left out units that were in use: its content cannot be
    /// read, and the restore did not change the units.
    fn may_lack_units(&self, project: &[u8], captured: &Captured, seen: &Observation) -> bool {
        let is_left_alone = |path: &ByteString| {
            let path = join(project, path);
            self.files.get(&path) == seen.files.get(&path)
        };
        let mut units = captured.units.iter().filter(|unit| unit.is_captured);
        !self.has("layout") && units.any(|unit| unit.members.keys().all(is_left_alone))
    }

    /// A new checkpoint of the current state, without the units that are reported as left out.
    fn new_checkpoint(
        &mut self,
        project: &ByteString,
        id: &str,
        skipped: &[Remark],
        reason: Option<String>,
    ) -> Checkpoint {
        self.maintenance.record_capture(project, self.seconds);
        let reported = skipped.iter().map(|remark| &remark.path).collect();
        let captured = Some(Arc::new(self.capture(project).without_units(&reported)));
        let time = self.seconds;
        let carried = self.carried_now();
        Checkpoint { id: id.to_owned(), captured, reason, time, safety: false, carried }
    }

    /// Records that the checkpoints of a project are the listed ones. Where the capture of one was not
    /// observed, its content stays unknown.
    pub(super) fn learn_list(&mut self, project: &ByteString, listed: &[Listed]) {
        self.settle(project, &listed.iter().map(|entry| &entry.id).collect::<Vec<_>>());
        let expected = self.listed(project);
        let expected_ids = expected.iter().rev().map(|checkpoint| &checkpoint.id);
        if expected_ids.eq(listed.iter().map(|entry| &entry.id)) {
            return;
        }
        let history = self.history(project);
        let as_listed = |entry: &Listed| {
            let checkpoint = history.iter().find(|checkpoint| checkpoint.id == entry.id).cloned();
            checkpoint.unwrap_or_else(|| Checkpoint {
                id: entry.id.clone(),
                captured: None,
                reason: Some(entry.reason.clone()),
                time: entry.time,
                safety: entry.number == 0,
                carried: Carried::default(),
            })
        };
        let visible: Vec<Checkpoint> = listed.iter().rev().map(as_listed).collect();
        // A damaged checkpoint may be listed again once it is repaired.
        let is_corrupted = self.is_partially_corrupted(project);
        let evicted_count =
            if is_corrupted { history.len() } else { history.len() - expected.len() };
        let evicted = history[..evicted_count].iter();
        let is_gone =
            |checkpoint: &&Checkpoint| !visible.iter().any(|visible| visible.id == checkpoint.id);
        let missing = expected.iter().filter(is_gone);
        let missing: Vec<String> = missing.map(|checkpoint| checkpoint.id.clone()).collect();
        let history = History::of(evicted.filter(is_gone).cloned().collect(), visible.clone());
        if is_corrupted {
            self.hide(missing.into_iter());
        }
        self.histories.insert(project.clone(), history);
        self.histories.retain(|_, history| !history.checkpoints.is_empty());
    }

    /// Records that the checkpoints in the store are those that are left of each project.
    fn learn_contents(&mut self, contents: &Contents, bounded: bool) {
        self.settle_all(&contents.visible);
        for project in self.histories.keys().cloned().collect::<Vec<_>>() {
            let ids = contents.visible.get(&self.hash(&project));
            match ids.map(Vec::len) {
                // Without a ref the checkpoints are not visible, whether or not they exist.
                None | Some(0) if self.is_history_unknown(&project) => {}
                // There is a ref, and none of the checkpoints can be read.
                Some(0) if self.is_partially_corrupted(&project) => {}
                // A project that could not be removed completely may be found again.
                None | Some(0) if self.maintenance.blocked.contains(&project) => {
                    self.mark_history_unknown(project);
                }
                None | Some(0) => self.forget(&project),
                // Others than the oldest may be missing here; which and why, the list decides.
                Some(_) if self.is_partially_corrupted(&project) => {
                    let is_left = |checkpoint: &Checkpoint| {
                        ids.is_some_and(|ids| ids.contains(&checkpoint.id))
                    };
                    let history = self.history(&project).iter().cloned();
                    let (left, gone) = history.partition(is_left);
                    if bounded {
                        self.histories.insert(project, History::of(gone, left));
                    }
                }
                Some(left) if left < self.listed(&project).len() && self.has_pins(&project) => {
                    let ids = contents.visible[&self.hash(&project)].clone();
                    let history = self.histories.get_mut(&project);
                    history.into_iter().for_each(|history| history.retain(&ids));
                }
                Some(left) if left < self.listed(&project).len() => {
                    let left = self.listed(&project)[self.listed(&project).len() - left..].to_vec();
                    self.histories.insert(project, History::of(Vec::new(), left));
                }
                Some(_) => {}
            }
        }
    }

    fn forget(&mut self, project: &ByteString) {
        self.histories.remove(project);
        self.pre_restore.forget(project);
        self.rollbacks.forget(project);
        self.attribution.doubt_reports(project);
        self.maintenance.uses.remove(project);
        if !self.maintenance.blocked.contains(project) {
            self.maintenance.damaged.remove(project);
        }
        self.maintenance.healed.remove(project);
        self.forget_damage(project);
    }

    fn learn_base(&mut self, base: &Base) {
        let now = self.seconds;
        let maintenance = &mut self.maintenance;
        if !base.marker {
            maintenance.marker = Marker::Nothing;
            maintenance.pruned = None;
        }
        maintenance.strays.retain(|name| base.strays.contains(name));
        maintenance.lookalikes.retain(|name| base.lookalikes.contains(name));
        maintenance.forget_missing(base);
        for (name, repository) in &mut maintenance.repositories {
            let locations = &base.repositories[name];
            let location = locations.iter().find(|location| location.is_intact);
            let location = location.or(locations.first());
            if let Some(archive) = location.and_then(|location| location.archive.as_ref()) {
                maintenance.archives.entry(archive.clone()).or_insert(now);
                repository.archive = Some(archive.clone());
            }
        }
    }
}
