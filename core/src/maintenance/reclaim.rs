//! Frees the space of objects that nothing needs, with the store locked exclusively.
//!
//! Nothing is removed before everything that is reachable was found, and nothing that is moved is
//! removed before it is durable in its new place. After a kill some garbage may be left, which git
//! tolerates and the next reclaim removes.

use crate::disk::{Disk, folder};
use crate::error::{Context, Error, Result};
use crate::maintenance::inventory::{Inventory, Stem};
use crate::maintenance::reach::Reach;
use crate::store::envelopes::{self, Envelopes};
use crate::store::objects::Objects;
use crate::store::shallow::Boundaries;
use crate::store::{
    Store, git_lock, history, metadata, pins, ref_recovery, refs, rollbacks, shallow, usage,
};
use git2::Oid;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Removes the objects that nothing needs, and returns the bytes that were freed.
///
/// # Errors
/// A store that stays busy, or a history that cannot be read as a whole; then nothing was changed.
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
    // What is kept of them on a full disk the next reclaim removes.
    unless_full(drop_envelopes(&store, &objects))?;
    let (tips, lost) = tips(&store, &objects, &boundaries)?;
    let mut reach = Reach::new(&objects, boundaries, &sizes).without(lost);
    for tip in tips {
        reach.add(tip)?;
    }
    sync_refs(&store)?;
    let mut reclaim = Reclaim { disk, reach: &reach, first: None };
    reclaim.run(&inventory, &mut store.objects())?;
    for leftover in leftovers(&store)? {
        reclaim.note(folder::remove(disk, &leftover));
    }
    let first = reclaim.first;
    // Bookkeeping comes last, when the space for it is freed, and must not fail what is done.
    let retain = |boundaries: &mut Boundaries| boundaries.retain(|id| reach.has(*id));
    unless_full(shallow::change(disk, &store.path, retain))?;
    usage::restart(&store, reach.total())?;
    if first.is_none() {
        unless_full(nothing_waits(&store))?;
    }
    match first {
        Some(error) => Err(error),
        None => Ok(before.saturating_sub(folder::bytes(disk, &folder)?)),
    }
}

/// Passes over a full disk.
fn unless_full(done: Result<()>) -> Result<()> {
    match done {
        Err(error) if error.is_full_disk() => {
            tracing::debug!("the disk is full, and what needs space waits: {error}");
            Ok(())
        }
        done => done,
    }
}

/// What processes left that died, and locks of projects of which nothing is stored any more: while
/// the store is locked as a whole nobody writes there or holds those.
fn leftovers(store: &Store<'_>) -> Result<Vec<PathBuf>> {
    let below = |folder: &str, is_one: &dyn Fn(&str) -> bool| -> Result<Vec<PathBuf>> {
        let folder = store.path.join(folder);
        let names = folder::text_names(store.disk, &folder)?;
        Ok(names.iter().filter(|name| is_one(name)).map(|name| folder.join(name)).collect())
    };
    let traces = ref_recovery::any_trace(store)?;
    let has_gone = |name: &str| refs::is_hash(name) && !traces.iter().any(|hash| hash == name);
    Ok([
        below("fresh", &|_| true)?,
        below("", &|name| name.starts_with(refs::PACKED_NEW))?,
        below("locks", &has_gone)?,
    ]
    .concat())
}

/// Notes of every project that the space of all that it dropped is freed.
fn nothing_waits(store: &Store<'_>) -> Result<()> {
    for hash in ref_recovery::any_trace(store)? {
        metadata::change(store.disk, &store.path, &hash, |known| known.waiting = 0)?;
    }
    Ok(())
}

/// Everything that must stay is reachable from the first of these: all refs, histories whose ref
/// was lost, and what came before a damaged commit. The second are those damaged commits; one of
/// which it is not known what came before is not among them.
fn tips(
    store: &Store<'_>,
    objects: &Objects<'_>,
    boundaries: &Boundaries,
) -> Result<(Vec<Oid>, HashSet<Oid>)> {
    let mut tips = refs::everything(store.disk, &store.path)?;
    let mut lost = HashSet::new();
    for hash in ref_recovery::projects(store, objects)? {
        for checkpoint in history::newest_first(store, objects, &hash, usize::MAX)? {
            let known = checkpoint.parent.is_some() || boundaries.contains(&checkpoint.id);
            if checkpoint.damage.is_some() && known {
                lost.insert(checkpoint.id);
            } else {
                tips.push(checkpoint.id);
            }
        }
    }
    Ok((tips, lost))
}

/// Drops the envelopes that are damaged, and those of checkpoints that are gone: the refs of them
/// would keep what they hold for ever.
fn drop_envelopes(store: &Store<'_>, objects: &Objects<'_>) -> Result<()> {
    for hash in ref_recovery::any_trace(store)? {
        let envelopes = Envelopes::of(store, objects, &hash)?;
        if !envelopes.is_empty() {
            envelopes.drop_damaged()?;
            envelopes.retain(&history::newest_first(store, objects, &hash, usize::MAX)?)?;
        }
    }
    Ok(())
}

/// Makes the refs and boundaries durable that decide which objects are removed.
fn sync_refs(store: &Store<'_>) -> Result<()> {
    let mut folders = ["", "refs", "refs/hermes"].map(str::to_owned).to_vec();
    for kind in rollbacks::FOLDERS.into_iter().chain([pins::FOLDER, envelopes::FOLDER]) {
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

/// One reclaim on its way.
struct Reclaim<'a> {
    disk: &'a dyn Disk,
    reach: &'a Reach<'a>,
    first: Option<Error>,
}

impl Reclaim<'_> {
    fn run(&mut self, inventory: &Inventory, objects: &mut Objects<'_>) -> Result<()> {
        let reach = self.reach;
        let unreached = |(id, _): &(Oid, u64)| !reach.has(*id);
        let is_garbage = |pack: &&Stem| {
            !pack.is_kept && pack.objects.as_ref().is_some_and(|all| all.iter().any(unreached))
        };
        let garbage: Vec<&Stem> = inventory.packs.iter().filter(is_garbage).collect();
        let unneeded = |id: Oid| !reach.has(id);
        if !garbage.is_empty() || inventory.loose.iter().any(|loose| unneeded(loose.id)) {
            // Git trusts these while they exist, and makes them again.
            for summary in &inventory.summaries {
                folder::remove(self.disk, summary)?;
            }
        }
        for leftover in &inventory.leftovers {
            self.note(folder::remove_file(self.disk, leftover));
        }
        for loose in inventory.loose.iter().filter(|loose| unneeded(loose.id)) {
            self.note(folder::remove_file(self.disk, &loose.path));
        }
        // Before any pack is made: one of the same objects is called the same.
        let unusable: Vec<&Stem> =
            inventory.packs.iter().filter(|pack| !pack.has_index && !pack.is_kept).collect();
        if !unusable.is_empty() {
            let result = self.remove_unless_needed(&unusable, objects);
            self.note(result);
        }
        // Objects that stay where they are need not be written again, if they are whole there.
        let mut elsewhere: HashSet<Oid> = inventory.loose.iter().map(|loose| loose.id).collect();
        for pack in inventory.packs.iter().filter(|pack| !is_garbage(pack)) {
            elsewhere.extend(pack.objects.iter().flatten().map(|(id, _)| *id));
        }
        let mut moved = HashSet::new();
        for pack in garbage {
            let result = self.move_out(pack, objects, &elsewhere, &mut moved);
            self.note(result);
        }
        Ok(())
    }

    /// Stores the reachable objects of a pack without the others and removes the pack.
    // rule: maintenance/damage
    fn move_out(
        &self,
        pack: &Stem,
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
            // What else stands for it may be damaged, and then this is the only copy. Few objects are
            // stored twice, so that few are read for this.
            if !elsewhere.contains(id) || !objects.is_whole_beside(*id, &file)? {
                moving.push(*id);
            }
        }
        objects.add_again(&file, &moving)?;
        moved.extend(moving);
        self.remove(pack)
    }

    /// Removes packs that have no index. One may hold the only copy of an object, so they stay while
    /// any that is needed is whole nowhere else.
    // rule: maintenance/damage
    fn remove_unless_needed(&self, packs: &[&Stem], objects: &Objects<'_>) -> Result<()> {
        for id in self.reach.all() {
            if !objects.is_whole(id)? {
                return Ok(());
            }
        }
        packs.iter().try_for_each(|pack| self.remove(pack))
    }

    /// The index goes first, so that none names a pack that is gone.
    fn remove(&self, pack: &Stem) -> Result<()> {
        pack.files.iter().try_for_each(|file| folder::remove_place(self.disk, file))
    }

    fn note(&mut self, done: Result<()>) {
        if let Err(error) = done {
            tracing::debug!("some space is not reclaimed: {error}");
            self.first.get_or_insert(error);
        }
    }
}
