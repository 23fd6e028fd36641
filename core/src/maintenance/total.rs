//! Keeps the store below its total size: projects in turn lose their oldest checkpoint, until the
//! reachable objects fit.

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::maintenance::inventory::Inventory;
use crate::maintenance::limits;
use crate::maintenance::reach::Reach;
use crate::maintenance::reclaim::reclaim;
use crate::maintenance::space;
use crate::store::commit::Checkpoint;
use crate::store::objects::Objects;
use crate::store::rollbacks;
use crate::store::shallow::{self, Boundaries};
use crate::store::{Store, history, metadata, ref_recovery, undo};
use git2::Oid;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// What was dropped so far.
#[derive(Debug, Default)]
pub struct Lost {
    /// How many checkpoints each project lost, by its hash.
    pub by: HashMap<String, usize>,
    /// Whether there is space to be freed.
    pub is_garbage: bool,
}

impl Lost {
    /// How many checkpoints were dropped.
    pub fn count(&self) -> usize {
        self.by.values().sum()
    }
}

/// Drops the oldest checkpoints until the rest takes no more than `max_total_bytes`. The newest of each
/// project stays, whatever its size. What other tools keep in the store beside checkpoints does not count.
/// Where it fails it may be repeated with what was `lost` by then.
///
/// # Errors
/// A store or project that cannot be read, or a disk without space for what freeing space writes, before
/// anything is dropped; a store that stays busy while the space is freed.
pub fn keep_total(
    disk: &dyn Disk,
    base: &Path,
    max_total_bytes: u64,
    lost: &mut Lost,
) -> Result<()> {
    loop {
        let before = lost.count();
        let Some(store) = Store::open(disk, base)? else { return Ok(()) };
        let is_packed = drop_oldest(&store, max_total_bytes, &mut lost.by);
        // Reclaiming needs the store's lock for itself.
        drop(store);
        lost.is_garbage |= lost.count() > before;
        let is_packed = is_packed?;
        if !lost.is_garbage {
            return Ok(());
        }
        reclaim(disk, base)?;
        lost.is_garbage = false;
        // What stays of a pack of git's may have been a small difference to what went, and is larger
        // now that it stands alone: one more look tells.
        if !is_packed {
            return Ok(());
        }
    }
}

/// The visible checkpoints of a project.
struct Visible {
    hash: String,
    /// Its directory, where that is known.
    directory: Option<PathBuf>,
    /// Newest first, and never empty.
    history: Vec<Checkpoint>,
    /// The same before anything was chosen.
    all: Vec<Oid>,
    /// Whether all of it can be read, and no rollback died that is undone with it; what a damaged
    /// checkpoint costs is not to be decided here.
    is_whole: bool,
    /// Those that are to be dropped, oldest first.
    dropped: Vec<Oid>,
}

impl Visible {
    /// Orders projects by their oldest checkpoint, and then by directory.
    fn turn(&self) -> (Option<i64>, &Option<PathBuf>, &str) {
        (self.history.last().map(|oldest| oldest.seconds), &self.directory, &self.hash)
    }

    /// Chooses the oldest checkpoint and returns it; none where nothing may be dropped.
    fn drop_one(&mut self) -> Option<Checkpoint> {
        // rule: limit/newest-stays
        // rule: agent/pinned
        let oldest = self.history.iter().rposition(|one| !one.is_pinned);
        let oldest = oldest.filter(|index| *index > 0 && self.is_whole)?;
        let oldest = self.history.remove(oldest);
        self.dropped.push(oldest.id);
        Some(oldest)
    }

    /// Drops what was chosen, and returns how many those are: none where another process uses the
    /// project, or changed what was chosen from.
    fn drop_chosen(&self, store: &Store<'_>, objects: &Objects<'_>) -> Result<usize> {
        let _lock = match store.try_lock_project(&self.hash) {
            Err(Error::Busy(_)) => return Ok(0),
            lock => lock?,
        };
        // rule: agent/all-or-none
        if undo::is_noted(store.disk, &store.path, &self.hash)? {
            return Ok(0);
        }
        let now = history::newest_first(store, objects, &self.hash, usize::MAX)?;
        let now: Vec<Oid> = now.iter().map(|one| one.id).collect();
        if !now.ends_with(&self.all) {
            tracing::debug!("{} changed since it was looked at, and loses nothing", self.hash);
            return Ok(0);
        }
        limits::end_with(store, &self.hash, &self.history)?;
        self.drop_beside(store, &now)?;
        Ok(self.dropped.len())
    }

    /// The oldest checkpoint that stands in the history and not beside it.
    fn end(&self) -> Option<Oid> {
        self.history.iter().rfind(|one| one.beside.is_none() && !one.is_aside).map(|end| end.id)
    }

    /// Those that stay whatever the store takes.
    fn lasting(&self) -> impl Iterator<Item = Oid> {
        let newest = self.history.first();
        let pinned = self.history.iter().skip(1).filter(|one| one.is_pinned);
        newest.into_iter().chain(pinned).map(|one| one.id)
    }

    /// Removes the refs of those that were dropped from beside the history, and of those that were not
    /// `listed` any more.
    fn drop_beside(&self, store: &Store<'_>, listed: &[Oid]) -> Result<()> {
        let stays = |id: Oid| listed.contains(&id) && !self.dropped.contains(&id);
        let beside = rollbacks::all(store.disk, &store.path, &self.hash)?.into_iter();
        for (place, _) in beside.filter(|(_, id)| !stays(*id)) {
            rollbacks::remove(store.disk, &store.path, &self.hash, place)?;
        }
        Ok(())
    }
}

/// Drops the oldest checkpoints of projects in turn until the rest fits, and adds to how many each has
/// lost before, by its hash. Returns whether any object is in a pack.
fn drop_oldest(store: &Store<'_>, cap: u64, lost_by: &mut HashMap<String, usize>) -> Result<bool> {
    let objects = store.objects();
    let inventory = Inventory::of(store.disk, &store.path.join("objects"))?;
    let sizes = inventory.sizes();
    let (mut projects, mut lost) = (Vec::new(), HashSet::new());
    for hash in ref_recovery::projects(store, &objects)? {
        let history = history::newest_first(store, &objects, &hash, usize::MAX)?;
        let is_whole = history.iter().all(|one| one.damage.is_none())
            && !undo::is_noted(store.disk, &store.path, &hash)?;
        lost.extend(history.iter().filter(|one| one.damage.is_some()).map(|one| one.id));
        if !history.is_empty() {
            let known = metadata::read(store.disk, &store.path, &hash);
            let directory = known.map(|known| known.directory());
            let all = history.iter().map(|one| one.id).collect();
            projects.push(Visible { hash, directory, history, all, is_whole, dropped: Vec::new() });
        }
    }
    let held = Cap { objects: &objects, sizes: &sizes, lost, cap };
    let boundaries = shallow::read(store.disk, &store.path)?;
    let (mut fitting, mut aside) = held.set_aside(projects, &boundaries)?;
    for project in &mut aside {
        while project.drop_one().is_some() {}
    }
    // Who has lost less than others is the next.
    fitting.sort_by_key(|project| lost_by.get(&project.hash).copied().unwrap_or_default());
    held.drop_in_rounds(&mut fitting, &boundaries)?;
    let is_dropped = |project: &Visible| !project.dropped.is_empty();
    if fitting.iter().chain(&aside).any(is_dropped) && !space::is_ample(store, &inventory) {
        let reach = held.left(fitting.iter().chain(&aside), &boundaries)?;
        space::check(store, &inventory, &reach)?;
    }
    let all = || fitting.iter().chain(&aside);
    let shared = |project: &&Visible| {
        let end = project.end();
        let is_end = |one: &&Visible| one.end() == end;
        let goes_on = |other: &&Visible| other.history.iter().any(|one| Some(one.id) == end);
        all().filter(|other| !is_end(other)).any(|other| goes_on(&other))
    };
    // One lock at a time, and only of who loses something: there may be more projects than a process
    // may have open files.
    let cut = all().filter(|project| is_dropped(project) && !shared(project));
    for project in cut {
        let dropped = project.drop_chosen(store, &objects)?;
        *lost_by.entry(project.hash.clone()).or_default() += dropped;
    }
    Ok(!inventory.packs.is_empty())
}

/// The limit, and what is needed to measure against it.
struct Cap<'a> {
    objects: &'a Objects<'a>,
    sizes: &'a HashMap<Oid, u64>,
    /// Damaged commits.
    lost: HashSet<Oid>,
    cap: u64,
}

impl Cap<'_> {
    fn reach(&self, boundaries: &Boundaries) -> Reach<'_> {
        Reach::new(self.objects, boundaries.clone(), self.sizes).without(self.lost.clone())
    }

    /// What is reachable once all that was chosen is dropped.
    fn left<'p>(
        &self,
        projects: impl Iterator<Item = &'p Visible>,
        boundaries: &Boundaries,
    ) -> Result<Reach<'_>> {
        let (mut boundaries, mut tips) = (boundaries.clone(), Vec::new());
        for project in projects {
            boundaries.extend(limits::ends(&project.history));
            tips.extend(project.history.iter().map(|one| one.id));
        }
        let mut reach = self.reach(&boundaries);
        tips.into_iter().try_for_each(|tip| reach.add(tip))?;
        Ok(reach)
    }

    /// Sets the projects with the largest newest checkpoints aside until those of the others fit,
    /// so that a project that can never fit does not cost the others their history.
    // rule: limit/no-more-than-needed
    fn set_aside(
        &self,
        projects: Vec<Visible>,
        boundaries: &Boundaries,
    ) -> Result<(Vec<Visible>, Vec<Visible>)> {
        let tips = projects.iter().flat_map(Visible::lasting);
        let boundaries = &boundaries.iter().copied().chain(tips).collect();
        let mut newest = self.reach(boundaries);
        let mut sized = Vec::new();
        for project in projects {
            let mut alone = self.reach(boundaries);
            for tip in project.lasting() {
                alone.add(tip)?;
                newest.add(tip)?;
            }
            sized.push((alone.total(), project));
        }
        sized.sort_by(|(bytes, one), (more, other)| {
            bytes.cmp(more).then_with(|| one.turn().cmp(&other.turn()))
        });
        let mut aside = Vec::new();
        while newest.total() > self.cap {
            let Some((_, largest)) = sized.pop() else {
                break;
            };
            largest.lasting().try_for_each(|tip| newest.remove(tip))?;
            aside.push(largest);
        }
        let mut fitting: Vec<Visible> = sized.into_iter().map(|(_, project)| project).collect();
        // The project with the oldest checkpoint loses one first, so that many small overruns are
        // shared between projects.
        fitting.sort_by(|one, other| one.turn().cmp(&other.turn()));
        Ok((fitting, aside))
    }

    // rule: limit/total-size
    fn drop_in_rounds(&self, projects: &mut [Visible], boundaries: &Boundaries) -> Result<()> {
        let mut reach = self.reach(boundaries);
        for project in projects.iter() {
            let mut is_reached = false;
            for checkpoint in &project.history {
                let stands_alone = checkpoint.beside.is_some() || checkpoint.is_aside;
                if stands_alone || checkpoint.is_pinned {
                    // Whatever becomes of what leads to it.
                    reach.add(checkpoint.id)?;
                }
                if stands_alone {
                    continue;
                }
                if !is_reached {
                    reach.add(checkpoint.id)?;
                }
                // A damaged one leads to none of those before it.
                is_reached = checkpoint.damage.is_none();
            }
        }
        let mut goes_on = true;
        while goes_on {
            goes_on = false;
            for project in projects.iter_mut() {
                // One that is not listed is no turn of its own.
                let mut is_turn = false;
                while !is_turn {
                    // rule: limit/no-more-than-needed
                    if reach.total() <= self.cap {
                        return Ok(());
                    }
                    let Some(dropped) = project.drop_one() else { break };
                    if dropped.beside.is_some() {
                        reach.remove(dropped.id)?;
                    }
                    // Whatever went on from it is an end now.
                    let after = project.history.iter().filter(|one| one.parent == Some(dropped.id));
                    after.map(|one| one.id).try_for_each(|end| reach.cut(end))?;
                    is_turn = !dropped.is_unlisted();
                    goes_on = true;
                }
            }
        }
        Ok(())
    }
}
