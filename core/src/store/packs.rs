//! What the packs of a store hold by their indexes; libgit2 reads the objects in them.

use crate::disk::Disk;
use crate::disk::folder::{is_file_or_nothing, text_names};
use crate::error::Result;
use crate::store::pack_index;
use git2::Oid;
use std::collections::HashSet;
use std::path::Path;

/// Whether libgit2 can open every index of packs: for ever it waits for a fifo. Without it no pack is
/// read.
// rule: maintenance/damage
pub fn are_files(disk: &dyn Disk, folder: &Path) -> Result<bool> {
    let is_index = |name: &String| name.ends_with(".idx") || name == "multi-pack-index";
    for name in text_names(disk, folder)?.into_iter().filter(is_index) {
        let path = folder.join(name);
        if !is_file_or_nothing(disk, &path)? {
            log::debug!("no pack is read, since {} is no file", path.display());
            return Ok(false);
        }
    }
    Ok(true)
}

/// What a pack holds by its index.
pub struct Packed {
    ids: HashSet<Oid>,
    /// When the pack or its index was touched last, in seconds and nanoseconds.
    pub changed: (i64, i64),
}

impl Packed {
    /// Whether it holds that object.
    pub fn has(&self, id: Oid) -> bool {
        self.ids.contains(&id)
    }
}

/// The packs in a folder whose index can be read.
pub fn in_folder(disk: &dyn Disk, folder: &Path) -> Vec<Packed> {
    let names = text_names(disk, folder).unwrap_or_default();
    let indexes = names.iter().filter(|name| name.ends_with(".idx")).map(|name| folder.join(name));
    let packed = indexes.filter_map(|path| {
        let pack = disk.stat(&path.with_extension("pack")).ok()?;
        let (bytes, stat) = disk.read(&path, u64::MAX).ok()?;
        let ids = pack_index::parse(&bytes)?.into_iter().map(|(id, _)| id).collect();
        Some(Packed { ids, changed: stat.changed.max(pack.changed) })
    });
    packed.collect()
}
