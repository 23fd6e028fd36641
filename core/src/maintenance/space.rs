//! Whether there is space for what freeing space writes: what stays of a pack is stored again before the
//! pack is removed. This is known before a checkpoint is dropped, or it could be dropped in vain.

use crate::error::{Context, Result};
use crate::maintenance::inventory::{Inventory, Stem};
use crate::maintenance::reach::Reach;
use crate::store::Store;
use std::io::{self, ErrorKind};

/// What becomes of a pack, in bytes.
struct Rewritten {
    stays: u64,
    goes: u64,
}

/// Bytes that are free where the store is.
fn free_bytes(store: &Store<'_>) -> u64 {
    store.disk.free_bytes(&store.path).unwrap_or_default()
}

/// Whether packs need not be looked at: however much stays of them, there is space for it.
pub fn is_ample(store: &Store<'_>, inventory: &Inventory) -> bool {
    let objects = inventory.packs.iter().flat_map(|pack| pack.objects.iter().flatten());
    let packs: u64 = objects.map(|(_, bytes)| *bytes).sum();
    packs == 0 || packs <= free_bytes(store)
}

/// Checks that all that `reach` does not reach could be removed.
///
/// # Errors
/// A full disk.
pub fn check(store: &Store<'_>, inventory: &Inventory, reach: &Reach<'_>) -> Result<()> {
    let loose = inventory.loose.iter().filter(|loose| !reach.has(loose.id));
    let mut free = loose.fold(free_bytes(store), |free, loose| free.saturating_add(loose.bytes));
    let packs = inventory.packs.iter().filter(|pack| !pack.is_kept);
    let mut packs: Vec<Rewritten> = packs.map(|pack| Rewritten::of(pack, reach)).collect();
    packs.retain(|pack| pack.goes > 0);
    packs.sort_unstable_by_key(|pack| pack.stays);
    for pack in packs {
        if pack.stays > free {
            let full = Err(io::Error::from(ErrorKind::StorageFull));
            let path = store.path.join("objects/pack");
            return full
                .context("nothing is dropped, since there is no space to pack again", &path);
        }
        free = free.saturating_add(pack.goes);
    }
    Ok(())
}

impl Rewritten {
    fn of(pack: &Stem, reach: &Reach<'_>) -> Self {
        let mut rewritten = Rewritten { stays: 0, goes: 0 };
        for (id, bytes) in pack.objects.iter().flatten() {
            match reach.has(*id) {
                true => rewritten.stays += bytes,
                false => rewritten.goes += bytes,
            }
        }
        rewritten
    }
}
