//! Stores the versions of large files as differences from each other, as git does when it packs: 20 versions of
//! a file take little more space than one of them.
//!
//! Git reads a delta only from the pack that its base object is in too, so only versions that are loose are
//! folded, those of one prune in packs of their own. The newest version stays complete, since it is read most
//! often and evicted last.

use crate::disk::{Disk, folder};
use crate::error::Result;
use crate::history;
use crate::maintenance::inventory::{Inventory, Loose};
use crate::store::object::IN_MEMORY_BYTES_MAX;
use crate::store::objects::{FileVersion, Objects};
use crate::store::oid::Oid;
use crate::store::trees::Trees;
use crate::store::{Store, git_lock, ref_recovery, usage};
use std::collections::HashMap;
use std::path::Path;

/// Smaller files, in compressed bytes, are not worth the time.
const LOOSE_BYTES_MIN: u64 = 64 * 1024;
/// At least every so many versions one stays complete: to read the others, fewer deltas than this are applied.
const CHAIN_MAX: usize = 32;

/// Folds the versions of large files, unless there is no space for it; nothing else uses the store meanwhile.
///
/// # Errors
/// A store that stays busy, or a disk that fails. Every object is still stored then.
pub fn fold(disk: &dyn Disk, base: &Path) -> Result<()> {
    let Some(store) = Store::open_alone(disk, base)? else { return Ok(()) };
    let _git = git_lock::take(disk, &store.path)?;
    let folder = store.path.join("objects");
    let inventory = Inventory::of(disk, &folder)?;
    let large = inventory.loose.iter().filter(|loose| loose.bytes >= LOOSE_BYTES_MIN);
    let large: HashMap<Oid, &Loose> = large.map(|loose| (loose.id, loose)).collect();
    if large.len() < 2 {
        return Ok(());
    }
    let mut objects = store.objects();
    let versions = Fold { store: &store, large: &large }.versions(&objects)?;
    let folded = match objects.fold(&versions) {
        Err(error) if error.is_full_disk() => return Ok(()),
        folded => folded?,
    };
    if folded.is_empty() {
        return Ok(());
    }
    for id in folded {
        folder::remove_file(disk, &large[&id].path)?;
    }
    usage::restart(&store, folder::bytes(disk, &folder)?)
}

/// A fold in progress.
struct Fold<'a> {
    store: &'a Store<'a>,
    /// The large files among the loose objects.
    large: &'a HashMap<Oid, &'a Loose>,
}

impl Fold<'_> {
    /// All versions of the files of which there are several, each after the version that it is based on.
    fn versions(&self, objects: &Objects<'_>) -> Result<Vec<FileVersion>> {
        let trees = Trees::new(objects);
        let mut chains = Chains::default();
        for hash in ref_recovery::projects(self.store, objects)? {
            let mut history = history::newest_first(self.store, objects, &hash, usize::MAX)?;
            history.retain(|checkpoint| checkpoint.damage.is_none());
            for pair in history.windows(2) {
                for difference in trees.differences(pair[1].tree, pair[0].tree)?.into_values() {
                    let versions = difference.new.zip(difference.old);
                    if let Some((new, old)) = versions
                        && self.is_foldable(objects, new.blob)?
                        && self.is_foldable(objects, old.blob)?
                    {
                        chains.add(new.blob, old.blob);
                    }
                }
            }
        }
        let bytes = |id: Oid| self.large[&id].bytes;
        let version = |(id, base)| FileVersion { id, bytes: bytes(id), base };
        Ok(chains.chains.into_iter().flatten().map(version).collect())
    }

    fn is_foldable(&self, objects: &Objects<'_>, id: Oid) -> Result<bool> {
        if !self.large.contains_key(&id) {
            return Ok(false);
        }
        match objects.header(id) {
            Err(error) if error.is_damage() => Ok(false),
            header => header.map(|(_, bytes)| bytes <= IN_MEMORY_BYTES_MAX),
        }
    }
}

/// The versions of each file, newest first, each with the one that it is based on.
#[derive(Default)]
struct Chains {
    chains: Vec<Vec<(Oid, Option<Oid>)>>,
    /// The index of the chain of a version.
    index_of: HashMap<Oid, usize>,
}

impl Chains {
    /// Adds two versions that follow each other, unless an earlier call added them: contents may come back.
    fn add(&mut self, new: Oid, old: Oid) {
        let index = *self.index_of.entry(new).or_insert_with(|| {
            self.chains.push(vec![(new, None)]);
            self.chains.len() - 1
        });
        self.index_of.entry(old).or_insert_with(|| {
            let chain = &mut self.chains[index];
            let is_complete = chain.len().is_multiple_of(CHAIN_MAX);
            chain.push((old, Some(new).filter(|_| !is_complete)));
            index
        });
    }
}
