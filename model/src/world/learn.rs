//! The only place where the world changes by what a subject did.
//!
//! It is total: whatever was really seen is taken in, allowed or not, so that what comes next is
//! held against what is there. What nobody saw stays unknown.

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
    /// Takes in what was seen around one request.
    pub fn learn(&mut self, seen: &Observation) {
        let meant = self.meant(&seen.request).map(|one| one.carried.clone());
        self.learn_cost(seen);
        self.learn_hands(seen);
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
        self.maintenance.uncounted &= !swept;
        if let Some(contents) = &seen.contents {
            self.learn_contents(contents, self.size_bound(&seen.request) > 0);
        }
        if let Some(base) = &seen.base {
            // Where nothing was cleared, what should be stored and is not is for the end to say.
            if seen.request == Request::Clear && !base.store_stands {
                for project in self.histories.keys().cloned().collect::<Vec<_>>() {
                    self.forget(&project);
                }
            }
            self.learn_base(base);
        }
        self.learn_agent(seen, meant);
        self.files.clone_from(&seen.files);
    }

    /// Takes in what was done: which checkpoint was taken, and what became of the turn.
    ///
    /// Implements [`crate::rules::TURN_RESET`].
    pub(crate) fn learn_answer(&mut self, seen: &Observation) {
        let project = seen.request.dir().and_then(|dir| self.canonical(dir));
        if let Some(project) = &project {
            if self.files.is_directory(project) {
                self.known.insert(project.clone());
            }
            self.maintenance.mention(project.clone(), self.seconds);
        }
        match (&seen.request, project) {
            (Request::NewTurn | Request::Reopen, _) => {
                self.slots.values_mut().for_each(|slot| *slot = Slot::Renewed);
                self.rolled_back.clear();
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
            (request, Some(project)) if request.restores() => self.learn_safety(&project, seen),
            (Request::BeforeTool { .. }, _) => {
                if let Answer::Protected(all) = &seen.answer {
                    all.iter().for_each(|one| self.learn_protected(one));
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

    /// What was done before a tool ran is an automatic checkpoint of each project. No rule says how
    /// its reason is worded.
    fn learn_protected(&mut self, one: &Protected) {
        let Some(project) = self.canonical(&one.project) else { return };
        if self.files.is_directory(&project) {
            self.known.insert(project.clone());
        }
        self.maintenance.mention(project.clone(), self.seconds);
        let answer = match &one.taken {
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
            // Who declines without a look leaves the slot as it was.
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
                let checkpoint = self.taken(project, (id, skipped), reason.cloned());
                let limit = self.settings.max_snapshots;
                let history = self.histories.entry(project.clone()).or_default();
                history.take(checkpoint, limit);
                self.maintenance.over_limit.remove(project);
            }
            CheckpointOutcome::Unchanged if !self.history(project).is_empty() => {
                self.maintenance.touch(project, self.seconds);
            }
            _ => {}
        }
    }

    /// The label names the checkpoint that was taken, or the newest where none was.
    ///
    /// Implements [`crate::rules::AGENT_PINNED`].
    fn learn_label(&mut self, project: &ByteString, answer: &Answer, label: &str) {
        let Answer::Taken { outcome, .. } = answer else { return };
        let Some(newest) = self.history(project).last().map(|one| one.id.clone()) else { return };
        if matches!(outcome, CheckpointOutcome::Created { .. } | CheckpointOutcome::Unchanged) {
            let limit = self.settings.max_snapshots;
            if let Some(history) = self.histories.get_mut(project) {
                history.label(&newest, label);
                history.pin(&newest, true, limit);
            }
        }
    }

    fn learn_pin(&mut self, project: &ByteString, seen: &Observation, pinned: bool) {
        let Some(id) = self.meant(&seen.request).map(|one| one.id.clone()) else { return };
        let limit = self.settings.max_snapshots;
        if let (Answer::Done, Some(history)) = (&seen.answer, self.histories.get_mut(project)) {
            history.pin(&id, pinned, limit);
        }
    }

    /// The pre-rollback checkpoint holds what was there before the restore.
    fn learn_safety(&mut self, project: &ByteString, seen: &Observation) {
        let Answer::Restored(restored) = &seen.answer else { return };
        if let Some(id) = &restored.safety {
            let found = seen.request.dir().zip(self.target_of(&seen.request));
            let found = found.and_then(|(dir, text)| self.find(&self.locate(dir), &text).ok());
            // Where one is damaged, whether any makes room is for the subject to say.
            let target = found.filter(|_| !self.is_disturbed(project));
            let target = target.map(|(_, one)| one.id.clone());
            let taken = self.taken(project, (id, &[]), None);
            // The answer to a restore does not say what that left out.
            let captured = taken.captured.filter(|one| !self.may_lack_units(project, one, seen));
            let checkpoint = Checkpoint { safety: true, captured, ..taken };
            let limit = self.settings.max_snapshots;
            self.undos.take(project, checkpoint.clone());
            let history = self.histories.entry(project.clone()).or_default();
            history.take_safety(checkpoint, target.as_deref(), limit);
            self.rolled_back.insert(project.clone());
            return;
        }
        // Who looks whether there is anything to take notes that the project was used.
        let looked = self.has("restore.safety") && !restored.forced_past;
        if looked && self.files.is_directory(project) && !self.history(project).is_empty() {
            self.maintenance.touch(project, self.seconds);
        }
    }

    /// Whether a pre-rollback checkpoint may have left out units that were in use: nobody can read what
    /// it holds, and the restore left them alone.
    fn may_lack_units(&self, project: &[u8], captured: &Captured, seen: &Observation) -> bool {
        let is_left_alone = |path: &ByteString| {
            let path = join(project, path);
            self.files.get(&path) == seen.files.get(&path)
        };
        let mut units = captured.units.iter().filter(|unit| unit.is_captured);
        !self.has("layout") && units.any(|unit| unit.members.keys().all(is_left_alone))
    }

    /// A checkpoint of what is there now, but for the units that are said to be left out.
    fn taken(
        &mut self,
        project: &ByteString,
        (id, skipped): (&str, &[Remark]),
        reason: Option<String>,
    ) -> Checkpoint {
        self.maintenance.touch(project, self.seconds);
        let named = skipped.iter().map(|remark| &remark.path).collect();
        let captured = Some(Arc::new(self.capture(project).without_units(&named)));
        let (time, carried) = (self.seconds, self.carries());
        Checkpoint { id: id.to_owned(), captured, reason, time, safety: false, carried }
    }

    /// The checkpoints of a project are those that are listed. Of one that nobody saw taken only
    /// that it is there is known.
    pub(super) fn learn_list(&mut self, project: &ByteString, listed: &[Listed]) {
        self.settle(project, &listed.iter().map(|one| &one.id).collect::<Vec<_>>());
        let known = self.listed(project);
        if known.iter().rev().map(|one| &one.id).eq(listed.iter().map(|one| &one.id)) {
            return;
        }
        let all = self.history(project);
        let as_listed = |one: &Listed| {
            let known = all.iter().find(|known| known.id == one.id).cloned();
            known.unwrap_or_else(|| Checkpoint {
                id: one.id.clone(),
                captured: None,
                reason: Some(one.reason.clone()),
                time: one.time,
                safety: false,
                carried: Carried::default(),
            })
        };
        let visible: Vec<Checkpoint> = listed.iter().rev().map(as_listed).collect();
        // What is damaged may be seen again once it is whole.
        let disturbed = self.is_disturbed(project);
        let dropped = all[..if disturbed { all.len() } else { all.len() - known.len() }].iter();
        let gone = |one: &&Checkpoint| !visible.iter().any(|other| other.id == one.id);
        let missing: Vec<String> = known.iter().filter(gone).map(|one| one.id.clone()).collect();
        let history = History::of(dropped.filter(gone).cloned().collect(), visible.clone());
        if disturbed {
            self.hide(missing.into_iter());
        }
        self.histories.insert(project.clone(), history);
        self.histories.retain(|_, history| !history.all.is_empty());
    }

    /// What the store holds of each project is what is left of it.
    fn learn_contents(&mut self, contents: &Contents, bounded: bool) {
        self.settle_all(&contents.visible);
        for project in self.histories.keys().cloned().collect::<Vec<_>>() {
            let ids = contents.visible.get(&self.hash(&project));
            match ids.map(Vec::len) {
                // What nothing names is not seen, whether or not it is there.
                None | Some(0) if self.is_adrift(&project) => {}
                // It is named, and nothing of it can be read.
                Some(0) if self.is_disturbed(&project) => {}
                // Who could not remove all of it may find it again.
                None | Some(0) if self.maintenance.blocked.contains(&project) => {
                    self.set_adrift(project);
                }
                None | Some(0) => self.forget(&project),
                // Here not only the oldest may be missing; which, and why, is for the list to say.
                Some(_) if self.is_disturbed(&project) => {
                    let is_left = |one: &Checkpoint| ids.is_some_and(|ids| ids.contains(&one.id));
                    let all = self.history(&project).iter().cloned();
                    let (left, gone) = all.partition(is_left);
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
        self.undos.forget(project);
        self.hands.forget(project);
        self.maintenance.uses.remove(project);
        if !self.maintenance.blocked.contains(project) {
            self.maintenance.damaged.remove(project);
        }
        self.maintenance.healed.remove(project);
        self.forget_damage(project);
    }

    fn learn_base(&mut self, base: &Base) {
        let (now, maintenance) = (self.seconds, &mut self.maintenance);
        if !base.marker {
            maintenance.marker = Marker::Nothing;
            maintenance.pruned = None;
        }
        maintenance.archives.retain(|name, _| base.archives.contains(name));
        maintenance.strays.retain(|name| base.strays.contains(name));
        maintenance.lookalikes.retain(|name| base.lookalikes.contains(name));
        maintenance.repositories.retain(|name, repository| {
            let places = base.repositories.get(name).map_or(&[][..], Vec::as_slice);
            let place = places.iter().find(|place| place.whole).or(places.first());
            let Some(place) = place else { return false };
            if let Some(archive) = &place.archive {
                maintenance.archives.entry(archive.clone()).or_insert(now);
                repository.archive = Some(archive.clone());
            }
            true
        });
    }
}
