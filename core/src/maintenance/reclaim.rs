//! Frees the space of objects that nothing needs, with the store locked exclusively.
//!
//! Nothing is removed before all reachable objects were found, and no object that is moved is removed
//! before its copy is durable. After a kill some garbage may be left, which git tolerates and the next
//! reclaim removes.

use crate::agent_state::Stored;
use crate::disk::{Disk, folder};
use crate::error::{Context, Error, Result};
use crate::history;
use crate::maintenance::inventory::{Inventory, PackFiles};
use crate::maintenance::reach::Reach;
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use crate::store::shallow::Boundaries;
use crate::store::{
    Store, git_lock, metadata, packed_refs, pre_restore, ref_recovery, refs, shallow, usage,
};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Removes the objects that nothing needs, and returns the bytes that were freed.
///
/// # Errors
/// A store that stays busy, or a history that cannot be read completely; then nothing was changed.
/// What cannot be removed is left, and the first such error is returned.
pub fn reclaim(disk: &dyn Disk, base: &Path) -> Result<u64> {
    let Some(store) = Store::open_alone(disk, base)? else {
        return Ok(0);
    };
    let _git = git_lock::take(disk, &store.path)?;
    let folder = store.path.join("objects");
    let before = folder::bytes(disk, &folder)?;
    let objects = store.objects();
    let inventory = Inventory::of(disk, &folder)?;
    let sizes = inventory.sizes();
    let boundaries = shallow::read(disk, &store.path)?;
    // Envelopes that remain on a full disk are removed by the next reclaim.
    unless_full(remove_envelopes(&store, &objects))?;
    // What is in a pack without a readable index is not lost for ever.
    let is_complete = inventory.packs.iter().all(|pack| pack.has_index && pack.objects.is_some());
    let (tips, lost) = tips(&store, &objects, &boundaries, is_complete)?;
    let mut reach = Reach::new(&objects, boundaries, &sizes).without(lost);
    for tip in tips {
        reach.add(tip)?;
    }
    sync_refs(&store)?;
    objects.close_packs();
    let mut reclaim = Reclaim { disk, reach: &reach, first_error: None };
    reclaim.run(&inventory, &mut store.objects())?;
    for leftover in leftovers(&store)? {
        reclaim.record_failure(folder::remove(disk, &leftover));
    }
    let first_error = reclaim.first_error;
    // Bookkeeping comes last, when the space for it is freed, and must not fail the reclaim.
    let retain = |boundaries: &mut Boundaries| boundaries.retain(|id| reach.has(*id));
    unless_full(shallow::change(disk, &store.path, retain))?;
    usage::restart(&store, reach.total())?;
    if first_error.is_none() {
        unless_full(reset_backlogs(&store))?;
    }
    match first_error {
        Some(error) => Err(error),
        None => Ok(before.saturating_sub(folder::bytes(disk, &folder)?)),
    }
}

/// Ignores the error of a full disk.
fn unless_full(result: Result<()>) -> Result<()> {
    match result {
        Err(error) if error.is_full_disk() => {
            tracing::debug!("the disk is full, and steps that need space are postponed: {error}");
            Ok(())
        }
        result => result,
    }
}

/// Files of processes that died, and locks of projects of which nothing is stored any more: while the
/// store is locked exclusively, no process writes such files or holds such locks.
fn leftovers(store: &Store<'_>) -> Result<Vec<PathBuf>> {
    let below = |folder: &str, is_leftover: &dyn Fn(&str) -> bool| -> Result<Vec<PathBuf>> {
        let folder = store.path.join(folder);
        let names = folder::text_names(store.disk, &folder)?;
        Ok(names.iter().filter(|name| is_leftover(name)).map(|name| folder.join(name)).collect())
    };
    let traces = ref_recovery::any_trace(store)?;
    let is_unused = |name: &str| refs::is_hash(name) && !traces.iter().any(|hash| hash == name);
    Ok([
        below("fresh", &|_| true)?,
        below("", &|name| name.starts_with(packed_refs::NEW))?,
        below("locks", &is_unused)?,
    ]
    .concat())
}

/// Records for every project that the space of all its evicted checkpoints is freed.
fn reset_backlogs(store: &Store<'_>) -> Result<()> {
    for hash in ref_recovery::any_trace(store)? {
        metadata::change(store.disk, &store.path, &hash, |metadata| metadata.waiting = 0)?;
    }
    Ok(())
}

/// The tips from which everything that must stay is reachable: all refs, histories whose ref was lost,
/// and the ancestors of damaged commits; and the damaged commits, except those whose parents are
/// unknown. That nothing is older than the first checkpoint of a project counts only if the store `is_complete`.
fn tips(
    store: &Store<'_>,
    objects: &Objects<'_>,
    boundaries: &Boundaries,
    is_complete: bool,
) -> Result<(Vec<Oid>, HashSet<Oid>)> {
    let mut tips = refs::everything(store.disk, &store.path)?;
    let mut lost = HashSet::new();
    for hash in ref_recovery::projects(store, objects)? {
        for checkpoint in history::newest_first(store, objects, &hash, usize::MAX)? {
            let is_first = || {
                let metadata = metadata::read(store.disk, &store.path, &hash);
                metadata.and_then(|metadata| metadata.first()) == Some(checkpoint.id)
            };
            let is_parent_known = || {
                checkpoint.parent.is_some()
                    || boundaries.contains(&checkpoint.id)
                    || is_complete && is_first()
            };
            if checkpoint.damage.is_some() && is_parent_known() {
                lost.insert(checkpoint.id);
            } else {
                tips.push(checkpoint.id);
            }
        }
    }
    Ok((tips, lost))
}

/// Removes the envelopes that are damaged, and those of checkpoints that are gone: their refs would
/// keep their content for ever.
fn remove_envelopes(store: &Store<'_>, objects: &Objects<'_>) -> Result<()> {
    for hash in ref_recovery::any_trace(store)? {
        let envelopes = Stored::of(store, &hash).envelopes(objects)?;
        if !envelopes.is_empty() {
            envelopes.drop_damaged()?;
            envelopes.retain(&history::newest_first(store, objects, &hash, usize::MAX)?)?;
        }
    }
    Ok(())
}

/// Makes the refs and boundaries durable, which decide which objects are removed.
fn sync_refs(store: &Store<'_>) -> Result<()> {
    let mut folders = ["", "refs", "refs/hermes"].map(str::to_owned).to_vec();
    for kind in pre_restore::FOLDERS.into_iter().chain([refs::PINS, refs::ENVELOPES]) {
        folders.extend(refs::folders(store.disk, &store.path, kind)?);
    }
    for folder in folders {
        let folder = store.path.join(folder);
        match store.disk.stat(&folder) {
            Ok(_) => store.disk.sync_directory(&folder).context("waiting for", &folder)?,
            Err(_) => continue,
        }
    }
    Ok(())
}

/// A reclaim in progress.
struct Reclaim<'a> {
    disk: &'a dyn Disk,
    reach: &'a Reach<'a>,
    first_error: Option<Error>,
}

impl Reclaim<'_> {
    fn run(&mut self, inventory: &Inventory, objects: &mut Objects<'_>) -> Result<()> {
        let reach = self.reach;
        let unreached = |(id, _): &(Oid, u64)| !reach.has(*id);
        let is_garbage = |pack: &&PackFiles| {
            !pack.is_kept
                && pack.objects.as_ref().is_some_and(|entries| entries.iter().any(unreached))
        };
        let garbage: Vec<&PackFiles> = inventory.packs.iter().filter(is_garbage).collect();
        let unneeded = |id: Oid| !reach.has(id);
        if !garbage.is_empty() || inventory.loose.iter().any(|loose| unneeded(loose.id)) {
            // Git relies on these while they exist, and creates them again.
            for summary in &inventory.summaries {
                folder::remove(self.disk, summary)?;
            }
        }
        for leftover in &inventory.leftovers {
            self.record_failure(folder::remove_file(self.disk, leftover));
        }
        for loose in inventory.loose.iter().filter(|loose| unneeded(loose.id)) {
            self.record_failure(folder::remove_file(self.disk, &loose.path));
        }
        // Before any pack is written: a pack of the same objects gets the same name.
        let unusable: Vec<&PackFiles> =
            inventory.packs.iter().filter(|pack| !pack.has_index && !pack.is_kept).collect();
        if !unusable.is_empty() {
            let result = self.remove_unless_needed(&unusable, objects);
            self.record_failure(result);
        }
        // Objects that stay where they are need not be written again, if they are intact there.
        let mut elsewhere: HashSet<Oid> = inventory.loose.iter().map(|loose| loose.id).collect();
        for pack in inventory.packs.iter().filter(|pack| !is_garbage(pack)) {
            elsewhere.extend(pack.objects.iter().flatten().map(|(id, _)| *id));
        }
        let mut moved = HashSet::new();
        for pack in garbage {
            let result = self.move_out(pack, objects, &elsewhere, &mut moved);
            self.record_failure(result);
        }
        Ok(())
    }

    /// Stores the reachable objects of a pack again, and removes the pack.
    // rule: maintenance/damage
    fn move_out(
        &self,
        pack: &PackFiles,
        objects: &mut Objects<'_>,
        elsewhere: &HashSet<Oid>,
        moved: &mut HashSet<Oid>,
    ) -> Result<()> {
        let Some(file) = pack.files.first().map(|file| file.with_extension("pack")) else {
            return Ok(());
        };
        let mut moving = Vec::new();
        for (id, _) in pack.objects.iter().flatten() {
            if !self.reach.has(*id) || moved.contains(id) {
                continue;
            }
            // The other copy may be damaged, and then this is the only one. Few objects are stored
            // twice, so that few are read for this.
            if !elsewhere.contains(id) || !objects.is_intact_outside(*id, &file)? {
                moving.push(*id);
            }
        }
        objects.add_again(&file, &moving)?;
        moved.extend(moving);
        self.remove(pack)
    }

    /// Removes packs that have no index. One may hold the only copy of an object, so they stay while
    /// any needed object is not intact elsewhere.
    // rule: maintenance/damage
    fn remove_unless_needed(&self, packs: &[&PackFiles], objects: &Objects<'_>) -> Result<()> {
        for id in self.reach.all() {
            if !objects.is_intact(id)? {
                return Ok(());
            }
        }
        packs.iter().try_for_each(|pack| self.remove(pack))
    }

    /// Removes a pack, its index first, so that no index names a pack that is gone.
    fn remove(&self, pack: &PackFiles) -> Result<()> {
        pack.files.iter().try_for_each(|file| folder::remove_path(self.disk, file))
    }

    fn record_failure(&mut self, result: Result<()>) {
        if let Err(error) = result {
            tracing::debug!("some space was not freed: {error}");
            self.first_error.get_or_insert(error);
        }
    }
}
