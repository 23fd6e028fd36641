//! Keeps the store below its total size: evicts the oldest checkpoint of each project in turn, until
//! the reachable objects fit.

use crate::agent_state::Stored;
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::history;
use crate::maintenance::inventory::Inventory;
use crate::maintenance::limits;
use crate::maintenance::reach::Reach;
use crate::maintenance::reclaim::reclaim;
use crate::maintenance::space;
use crate::report::Pruned;
use crate::store::commit::Checkpoint;
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use crate::store::pre_restore;
use crate::store::shallow::{self, Boundaries};
use crate::store::{Store, metadata, ref_recovery};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The evictions so far.
#[derive(Debug, Default)]
pub struct Evictions {
    /// How many checkpoints of each project were evicted, by its hash.
    pub by_project: HashMap<String, usize>,
    /// Whether there is space to be freed.
    pub has_garbage: bool,
}

impl Evictions {
    /// How many checkpoints were evicted.
    pub fn count(&self) -> usize {
        self.by_project.values().sum()
    }
}

/// Evicts the oldest checkpoints until the rest takes no more than `max_total_bytes`. The newest of each
/// project stays, whatever its size. What other tools keep in the store besides checkpoints does not
/// count. After a failure it may be repeated with the `evictions` so far.
///
/// # Errors
/// A store or project that cannot be read, or a disk without space for what freeing space writes, before
/// any checkpoint is evicted; a store that stays busy while the space is freed.
pub fn keep_total(
    disk: &dyn Disk,
    base: &Path,
    max_total_bytes: u64,
    evictions: &mut Evictions,
) -> Result<()> {
    loop {
        let before = evictions.count();
        let Some(store) = Store::open(disk, base)? else { return Ok(()) };
        let is_packed = evict_oldest(&store, max_total_bytes, &mut evictions.by_project);
        // Reclaiming needs the store's exclusive lock.
        drop(store);
        evictions.has_garbage |= evictions.count() > before;
        let is_packed = is_packed?;
        if !evictions.has_garbage {
            return Ok(());
        }
        reclaim(disk, base)?;
        evictions.has_garbage = false;
        // Objects that remain of a git pack may have been small deltas of removed objects, and are
        // larger now that they are stored alone: the size is checked once more.
        if !is_packed {
            return Ok(());
        }
    }
}

/// The checkpoints of a project, and those of them that are to be evicted.
struct ProjectHistory {
    hash: String,
    /// Its directory, where that is known.
    directory: Option<PathBuf>,
    /// The remaining checkpoints, newest first, and never empty.
    history: Vec<Checkpoint>,
    /// The ids of all checkpoints before any was chosen.
    original: Vec<Oid>,
    /// Whether all checkpoints can be read, and no restore that died is to be undone with them; the
    /// consequences of damage are not to be decided here.
    is_intact: bool,
    /// The checkpoints that are to be evicted, oldest first.
    evicted: Vec<Oid>,
}

impl ProjectHistory {
    /// The key that orders projects by their oldest checkpoint, and then by directory.
    fn order_key(&self) -> (Option<i64>, &Option<PathBuf>, &str) {
        (self.history.last().map(|oldest| oldest.seconds), &self.directory, &self.hash)
    }

    /// Chooses the oldest checkpoint and returns it; `None` if none may be evicted.
    fn choose_oldest(&mut self) -> Option<Checkpoint> {
        // rule: limit/newest-stays
        // rule: agent/pinned
        let oldest = self.history.iter().rposition(|checkpoint| !checkpoint.is_pinned);
        let oldest = oldest.filter(|index| *index > 0 && self.is_intact)?;
        let oldest = self.history.remove(oldest);
        self.evicted.push(oldest.id);
        Some(oldest)
    }

    /// Evicts the chosen checkpoints, and returns how many those are: 0 if another process uses the
    /// project, or changed its history.
    fn evict_chosen(&self, store: &Store<'_>, objects: &Objects<'_>) -> Result<usize> {
        let _lock = match store.try_lock_project(&self.hash) {
            Err(Error::Busy(_)) => return Ok(0),
            lock => lock?,
        };
        // rule: agent/all-or-none
        if Stored::of(store, &self.hash).has_journal()? {
            return Ok(0);
        }
        let present = history::newest_first(store, objects, &self.hash, usize::MAX)?;
        let present: Vec<Oid> = present.iter().map(|checkpoint| checkpoint.id).collect();
        if !present.ends_with(&self.original) {
            tracing::debug!("{} changed meanwhile, and nothing of it is evicted", self.hash);
            return Ok(0);
        }
        limits::end_with(store, &self.hash, &self.history)?;
        self.remove_refs(store, &present)?;
        Ok(self.evicted.len())
    }

    /// The oldest checkpoint that the history leads to, without those that have refs of their own.
    fn end(&self) -> Option<Oid> {
        let in_history = |checkpoint: &&Checkpoint| {
            checkpoint.pre_restore_ref.is_none() && !checkpoint.pinned_only
        };
        self.history.iter().rfind(in_history).map(|end| end.id)
    }

    /// The checkpoints that are never evicted: the newest and the pinned ones.
    fn permanent(&self) -> impl Iterator<Item = Oid> {
        let newest = self.history.first();
        let pinned = self.history.iter().skip(1).filter(|checkpoint| checkpoint.is_pinned);
        newest.into_iter().chain(pinned).map(|checkpoint| checkpoint.id)
    }

    /// Removes the refs of evicted checkpoints outside the history, and of those that are no longer
    /// `listed`.
    fn remove_refs(&self, store: &Store<'_>, listed: &[Oid]) -> Result<()> {
        let stays = |id: Oid| listed.contains(&id) && !self.evicted.contains(&id);
        let refs = pre_restore::all(store.disk, &store.path, &self.hash)?.into_iter();
        for (place, _) in refs.filter(|(_, id)| !stays(*id)) {
            pre_restore::remove(store.disk, &store.path, &self.hash, place)?;
        }
        Ok(())
    }
}

/// What [`keep_total`] would do if the projects of the hashes `gone` were removed before: how many checkpoints it
/// would evict, and by how many bytes the rest exceeds the limit. It changes nothing.
///
/// # Errors
/// A store or project that cannot be read.
pub fn preview(store: &Store<'_>, max_bytes: u64, gone: &[String]) -> Result<Pruned> {
    let objects = store.objects();
    let sizes = Inventory::of(store.disk, &store.path.join("objects"))?.sizes();
    let mut projects = histories(store, &objects)?;
    projects.retain(|project| !gone.contains(&project.hash));
    let limit = SizeLimit { objects: &objects, sizes: &sizes, lost: lost(&projects), max_bytes };
    let boundaries = shallow::read(store.disk, &store.path)?;
    let projects = limit.choose(projects, &boundaries, &HashMap::new())?;
    let dropped = projects.iter().map(|project| project.evicted.len()).sum();
    let rest = limit.remaining(&projects, &boundaries)?.total();
    Ok(Pruned { dropped, over_bytes: rest.saturating_sub(max_bytes), ..Pruned::default() })
}

/// The histories of all projects that have checkpoints.
fn histories(store: &Store<'_>, objects: &Objects<'_>) -> Result<Vec<ProjectHistory>> {
    let mut projects = Vec::new();
    for hash in ref_recovery::projects(store, objects)? {
        let history = history::newest_first(store, objects, &hash, usize::MAX)?;
        if history.is_empty() {
            continue;
        }
        let is_intact = history.iter().all(|checkpoint| checkpoint.damage.is_none())
            && !Stored::of(store, &hash).has_journal()?;
        let metadata = metadata::read(store.disk, &store.path, &hash);
        let directory = metadata.map(|metadata| metadata.directory());
        let original = history.iter().map(|checkpoint| checkpoint.id).collect();
        let evicted = Vec::new();
        projects.push(ProjectHistory { hash, directory, history, original, is_intact, evicted });
    }
    Ok(projects)
}

/// The damaged commits of these projects.
fn lost(projects: &[ProjectHistory]) -> HashSet<Oid> {
    let checkpoints = projects.iter().flat_map(|project| &project.history);
    checkpoints.filter(|checkpoint| checkpoint.damage.is_some()).map(|lost| lost.id).collect()
}

/// Evicts the oldest checkpoints of projects in turn until the rest fits, and adds their numbers to
/// `evicted_by`, by the hash of the project. Returns whether any object is in a pack.
fn evict_oldest(
    store: &Store<'_>,
    max_bytes: u64,
    evicted_by: &mut HashMap<String, usize>,
) -> Result<bool> {
    let objects = store.objects();
    let inventory = Inventory::of(store.disk, &store.path.join("objects"))?;
    let sizes = inventory.sizes();
    let projects = histories(store, &objects)?;
    let limit = SizeLimit { objects: &objects, sizes: &sizes, lost: lost(&projects), max_bytes };
    let boundaries = shallow::read(store.disk, &store.path)?;
    let projects = limit.choose(projects, &boundaries, evicted_by)?;
    let has_evicted = |project: &&ProjectHistory| !project.evicted.is_empty();
    if projects.iter().any(|project| has_evicted(&project)) && !space::is_ample(store, &inventory) {
        space::check(store, &inventory, &limit.remaining(&projects, &boundaries)?)?;
    }
    let is_shared = |project: &&ProjectHistory| {
        let end = project.end();
        let has_same_end = |candidate: &&ProjectHistory| candidate.end() == end;
        let contains_end = |candidate: &&ProjectHistory| {
            candidate.history.iter().any(|checkpoint| Some(checkpoint.id) == end)
        };
        let mut others = projects.iter().filter(|candidate| !has_same_end(candidate));
        others.any(|candidate| contains_end(&candidate))
    };
    // One lock at a time, and only of projects that lose a checkpoint: there may be more projects than
    // a process may have open files.
    let cut = projects.iter().filter(|project| has_evicted(project) && !is_shared(project));
    for project in cut {
        let evicted = project.evict_chosen(store, &objects)?;
        *evicted_by.entry(project.hash.clone()).or_default() += evicted;
    }
    Ok(!inventory.packs.is_empty())
}

/// The limit, and what is needed to measure against it.
struct SizeLimit<'a> {
    objects: &'a Objects<'a>,
    sizes: &'a HashMap<Oid, u64>,
    /// Damaged commits.
    lost: HashSet<Oid>,
    max_bytes: u64,
}

impl SizeLimit<'_> {
    fn reach(&self, boundaries: &Boundaries) -> Reach<'_> {
        Reach::new(self.objects, boundaries.clone(), self.sizes).without(self.lost.clone())
    }

    /// Chooses in each project what is to be evicted. A project that has lost fewer checkpoints than others, by the
    /// numbers `evicted_by`, loses one first.
    fn choose(
        &self,
        projects: Vec<ProjectHistory>,
        boundaries: &Boundaries,
        evicted_by: &HashMap<String, usize>,
    ) -> Result<Vec<ProjectHistory>> {
        let (mut projects, mut oversized) = self.set_aside(projects, boundaries)?;
        for project in &mut oversized {
            while project.choose_oldest().is_some() {}
        }
        projects.sort_by_key(|project| evicted_by.get(&project.hash).copied().unwrap_or_default());
        self.choose_in_rounds(&mut projects, boundaries)?;
        projects.extend(oversized);
        Ok(projects)
    }

    /// The objects that are reachable once all chosen checkpoints are evicted.
    fn remaining(&self, projects: &[ProjectHistory], boundaries: &Boundaries) -> Result<Reach<'_>> {
        let mut boundaries = boundaries.clone();
        let mut tips = Vec::new();
        for project in projects {
            boundaries.extend(limits::ends(&project.history));
            tips.extend(project.history.iter().map(|checkpoint| checkpoint.id));
        }
        let mut reach = self.reach(&boundaries);
        tips.into_iter().try_for_each(|tip| reach.add(tip))?;
        Ok(reach)
    }

    /// Sets the projects with the largest permanent checkpoints aside until those of the others fit,
    /// so that a project that can never fit does not cost the others their history. Returns the fitting
    /// projects and those set aside.
    // rule: limit/no-more-than-needed
    fn set_aside(
        &self,
        projects: Vec<ProjectHistory>,
        boundaries: &Boundaries,
    ) -> Result<(Vec<ProjectHistory>, Vec<ProjectHistory>)> {
        let tips = projects.iter().flat_map(ProjectHistory::permanent);
        let boundaries = &boundaries.iter().copied().chain(tips).collect();
        let mut permanent = self.reach(boundaries);
        let mut sized = Vec::new();
        for project in projects {
            let mut alone = self.reach(boundaries);
            for tip in project.permanent() {
                alone.add(tip)?;
                permanent.add(tip)?;
            }
            sized.push((alone.total(), project));
        }
        sized.sort_by(|(left_bytes, left), (right_bytes, right)| {
            left_bytes.cmp(right_bytes).then_with(|| left.order_key().cmp(&right.order_key()))
        });
        let mut aside = Vec::new();
        while permanent.total() > self.max_bytes {
            let Some((_, largest)) = sized.pop() else {
                break;
            };
            largest.permanent().try_for_each(|tip| permanent.remove(tip))?;
            aside.push(largest);
        }
        let mut fitting: Vec<ProjectHistory> =
            sized.into_iter().map(|(_, project)| project).collect();
        // The project with the oldest checkpoint loses one first, so that many small overruns are
        // shared between projects.
        fitting.sort_by(|left, right| left.order_key().cmp(&right.order_key()));
        Ok((fitting, aside))
    }

    // rule: limit/total-size
    fn choose_in_rounds(
        &self,
        projects: &mut [ProjectHistory],
        boundaries: &Boundaries,
    ) -> Result<()> {
        let mut reach = self.reach(boundaries);
        for project in projects.iter() {
            let mut is_reached = false;
            for checkpoint in &project.history {
                let has_own_ref = checkpoint.pre_restore_ref.is_some() || checkpoint.pinned_only;
                if has_own_ref || checkpoint.is_pinned {
                    // It stays reachable when the checkpoints that lead to it are evicted.
                    reach.add(checkpoint.id)?;
                }
                if has_own_ref {
                    continue;
                }
                if !is_reached {
                    reach.add(checkpoint.id)?;
                }
                // A damaged checkpoint leads to none of those before it.
                is_reached = checkpoint.damage.is_none();
            }
        }
        let mut goes_on = true;
        while goes_on {
            goes_on = false;
            for project in projects.iter_mut() {
                // An unlisted checkpoint does not count as a turn of its own.
                let mut is_turn = false;
                while !is_turn {
                    // rule: limit/no-more-than-needed
                    if reach.total() <= self.max_bytes {
                        return Ok(());
                    }
                    let Some(chosen) = project.choose_oldest() else { break };
                    if chosen.pre_restore_ref.is_some() {
                        reach.remove(chosen.id)?;
                    }
                    // Its children are ends of the history now.
                    let is_child = |checkpoint: &&Checkpoint| checkpoint.parent == Some(chosen.id);
                    let children = project.history.iter().filter(is_child);
                    children.map(|child| child.id).try_for_each(|end| reach.cut(end))?;
                    is_turn = !chosen.is_unlisted();
                    goes_on = true;
                }
            }
        }
        Ok(())
    }
}
