//! Lists the checkpoints of a project, with the statistics of what each changed.

use super::diff::stored_bytes;
use super::{Manager, OpenProject, patch};
use crate::disk::{Disk, parallel};
use crate::error::Result;
use crate::report::{Listed, Stats, Unlisted};
use crate::restore::target;
use crate::store::commit::Checkpoint;
use crate::store::figures::{self, Figures};
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use crate::store::snapshot::{Difference, Item};
use crate::store::trees::Trees;
use crate::store::{Store, ref_recovery, snapshot};
use std::cmp::Reverse;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

impl Manager {
    /// The checkpoints of a project, newest first.
    ///
    /// # Errors
    /// A damaged or busy store.
    pub fn list(&self, dir: &Path) -> Result<Vec<Listed>> {
        let project = self.project(dir);
        let Some(store) = Store::open(self.disk.as_ref(), &self.base())? else {
            return Ok(Vec::new());
        };
        let open = OpenProject::new(&store, &project);
        let objects = &open.objects;
        let lock = || store.lock_project(&project.hash);
        if let Err(error) = ref_recovery::repair(&store, objects, &project.hash, lock) {
            // The list is returned nevertheless; the next operation tries again.
            tracing::debug!("the lost ref of {} was not recovered: {error}", project.hash);
        }
        let history = self.history(&open)?;
        let named = target::names(&history).into_iter().zip(history);
        let (names, history): (Vec<_>, Vec<_>) =
            named.filter(|(_, checkpoint)| !checkpoint.is_unlisted()).unzip();
        let envelopes = open.stored().envelopes(objects)?;
        let mut listed = Vec::with_capacity(history.len());
        let mut figures = KnownFigures::new(&open);
        let damages = history.iter().map(|checkpoint| figures.damage(checkpoint));
        let damages: Vec<Option<String>> = damages.collect::<Result<_>>()?;
        // rule: list/newest-first
        for (index, checkpoint) in history.iter().enumerate() {
            let before = history.get(index + 1);
            let are_intact = [index, index + 1].map(|index| damages.get(index) == Some(&None));
            listed.push(Listed {
                name: names[index],
                id: checkpoint.id.to_string(),
                // rule: list/time
                time: checkpoint.seconds,
                reason: checkpoint.reason.clone(),
                // rule: list/oldest-no-stats
                stats: match before {
                    Some(before) if are_intact == [true; 2] => {
                        figures.stats(before.tree, checkpoint.tree)?
                    }
                    _ => None,
                },
                damage: damages[index].clone(),
                label: envelopes.label(checkpoint)?,
                pinned: checkpoint.is_pinned,
            });
        }
        figures.keep(&open);
        Ok(listed)
    }

    /// How many checkpoints [`Manager::list`] returns, found without their statistics.
    ///
    /// # Errors
    /// A damaged or busy store.
    pub fn count(&self, dir: &Path) -> Result<usize> {
        let project = self.project(dir);
        let Some(store) = Store::open(self.disk.as_ref(), &self.base())? else { return Ok(0) };
        let history = self.history(&OpenProject::new(&store, &project))?;
        Ok(history.iter().filter(|checkpoint| !checkpoint.is_unlisted()).count())
    }

    /// The pre-restore checkpoints of a project outside the list, newest first.
    ///
    /// # Errors
    /// A damaged or busy store.
    // rule: restore/keeps-undo
    pub fn unlisted(&self, dir: &Path) -> Result<Vec<Unlisted>> {
        let project = self.project(dir);
        let Some(store) = Store::open(self.disk.as_ref(), &self.base())? else {
            return Ok(Vec::new());
        };
        let history = self.history(&OpenProject::new(&store, &project))?;
        let mut named: Vec<_> = target::names(&history).into_iter().zip(history).collect();
        named.retain(|(_, checkpoint)| checkpoint.is_unlisted());
        named.sort_by_key(|(_, checkpoint)| Reverse(checkpoint.rollback));
        let unlisted = |(name, Checkpoint { id, seconds: time, reason, .. })| Unlisted {
            name,
            id: id.to_string(),
            time,
            reason,
        };
        Ok(named.into_iter().map(unlisted).collect())
    }
}

/// The figures of a checkpoint are kept if so many bytes were read for them: below that, they are soon computed.
const KEPT_BYTES_MIN: u64 = 1024 * 1024;
/// To read a file takes as long as to compare so many bytes of it.
const FILE_BYTES: u64 = 8 * 1024;

/// The figures of a list.
struct KnownFigures<'a> {
    disk: &'a dyn Disk,
    objects: &'a Objects<'a>,
    trees: Trees<'a>,
    /// Those that were kept before.
    kept: Figures,
    /// Those of this list that are worth keeping.
    now: Figures,
}

impl<'a> KnownFigures<'a> {
    fn new(open: &'a OpenProject<'_>) -> Self {
        let objects = &open.objects;
        let kept = figures::load(open.store, open.hash());
        KnownFigures {
            disk: open.store.disk,
            objects,
            trees: Trees::new(objects).recalling(kept.packed.clone()),
            kept,
            now: Figures::default(),
        }
    }

    /// How a checkpoint is damaged, which must not affect other checkpoints.
    // rule: maintenance/damage
    fn damage(&self, checkpoint: &Checkpoint) -> Result<Option<String>> {
        if checkpoint.damage.is_none() && self.trees.is_sound(checkpoint.tree)? {
            return Ok(None);
        }
        let read = || snapshot::read(self.objects, checkpoint.id, checkpoint.tree);
        match checkpoint.intact().and_then(|_| read()) {
            Err(error) if error.is_damage() => Ok(Some(error.cause())),
            read => read.map(|_| None),
        }
    }

    /// The statistics of the changes between two intact trees; `None` if a changed file is damaged.
    // rule: list/stats
    fn stats(&mut self, old: Oid, new: Oid) -> Result<Option<Stats>> {
        if let Some(stats) = self.kept.stats.get(&(old, new)).copied() {
            self.now.stats.insert((old, new), stats);
            return Ok(Some(stats));
        }
        let read_bytes = AtomicU64::new(0);
        let stats = self.compute(old, new, &read_bytes)?;
        if let Some(stats) = stats.filter(|_| read_bytes.into_inner() >= KEPT_BYTES_MIN) {
            self.now.stats.insert((old, new), stats);
        }
        Ok(stats)
    }

    /// The statistics, computed; adds what was read for them to `read_bytes`.
    fn compute(&self, old: Oid, new: Oid, read_bytes: &AtomicU64) -> Result<Option<Stats>> {
        // A tree that is nested too deeply in another checkpoint counts as damaged here as well.
        if !(self.trees.is_sound(old)? && self.trees.is_sound(new)?) {
            return Ok(None);
        }
        let stored = stored_bytes(self.objects);
        let content = |path: &[u8], item: &Item| {
            let bytes = stored(path, item)?;
            let length = bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
            read_bytes.fetch_add(FILE_BYTES + length, Ordering::Relaxed);
            Ok(bytes)
        };
        let differences: Vec<_> = self.trees.differences(old, new)?.into_iter().collect();
        let entry = |(path, difference): &(Vec<u8>, Difference)| {
            patch::compare(path, difference, &content, &content).map(|compared| compared.entry)
        };
        let mut entries = Vec::with_capacity(differences.len());
        for group in parallel::groups(self.disk, &differences) {
            for entry in parallel::map(self.disk, group, entry) {
                match entry {
                    Err(error) if error.is_damage() => return Ok(None),
                    entry => entries.push(entry?),
                }
            }
        }
        Ok(Some(patch::total(entries.iter())))
    }

    /// Keeps the figures of this list, if they are not those that were kept.
    fn keep(mut self, open: &OpenProject<'_>) {
        if self.now.stats != self.kept.stats {
            self.now.packed = self.kept.packed;
            figures::save(open.store, open.hash(), &self.now);
        }
    }
}
