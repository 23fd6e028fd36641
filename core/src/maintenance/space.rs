//! Checks that the disk has room for a collection. Freeing space needs space itself, because the remaining
//! objects of a pack are stored again before the pack is removed. The check comes before a checkpoint is
//! evicted: on a full disk the eviction might free nothing.

use crate::error::{Context, Result};
use crate::maintenance::inventory::{Inventory, PackFiles};
use crate::maintenance::reach::Reach;
use crate::store::Store;
use std::io::{self, ErrorKind};

/// The effect of rewriting a pack, in bytes.
struct Rewritten {
    kept: u64,
    freed: u64,
}

/// Bytes that are free where the store is.
fn free_bytes(store: &Store<'_>) -> u64 {
    store.disk.free_bytes(&store.path).unwrap_or_default()
}

/// Whether the packs need not be examined: however much of them remains, there is space for it.
pub fn is_ample(store: &Store<'_>, inventory: &Inventory) -> bool {
    let objects = inventory.packs.iter().flat_map(|pack| pack.objects.iter().flatten());
    let packs: u64 = objects.map(|(_, bytes)| *bytes).sum();
    packs == 0 || packs <= free_bytes(store)
}

/// Checks that everything that is not in `reach` could be removed.
///
/// # Errors
/// A full disk.
pub fn check(store: &Store<'_>, inventory: &Inventory, reach: &Reach<'_>) -> Result<()> {
    let loose = inventory.loose.iter().filter(|loose| !reach.has(loose.id));
    let mut free = loose.fold(free_bytes(store), |free, loose| free.saturating_add(loose.bytes));
    let packs = inventory.packs.iter().filter(|pack| !pack.is_kept);
    let mut packs: Vec<Rewritten> = packs.map(|pack| Rewritten::of(pack, reach)).collect();
    packs.retain(|pack| pack.freed > 0);
    packs.sort_unstable_by_key(|pack| pack.kept);
    for pack in packs {
        if pack.kept > free {
            let full = Err(io::Error::from(ErrorKind::StorageFull));
            let path = store.path.join("objects/pack");
            return full.context("repacking, before any checkpoint is evicted, in", &path);
        }
        free = free.saturating_add(pack.freed);
    }
    Ok(())
}

impl Rewritten {
    fn of(pack: &PackFiles, reach: &Reach<'_>) -> Self {
        let mut rewritten = Rewritten { kept: 0, freed: 0 };
        for (id, bytes) in pack.objects.iter().flatten() {
            match reach.has(*id) {
                true => rewritten.kept += bytes,
                false => rewritten.freed += bytes,
            }
        }
        rewritten
    }
}
