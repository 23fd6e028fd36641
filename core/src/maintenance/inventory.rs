//! The objects of a store as files: which there are, where, and the size of each.

use crate::disk::folder::text_names;
use crate::disk::{Disk, Kind};
use crate::error::{Context, Result};
use crate::store::pack::CHECKSUM_BYTES;
use crate::store::pack_index::PackIndex;
use git2::Oid;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// More bytes than the index of any pack takes.
const INDEX_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;

/// An object in a file of its own.
pub struct Loose {
    /// Its id.
    pub id: Oid,
    /// Its file.
    pub path: PathBuf,
    /// Bytes of the file.
    pub bytes: u64,
}

/// The files in the folder of packs that share a name.
pub struct Stem {
    /// Their paths, the index first, since git finds a pack by it.
    pub files: Vec<PathBuf>,
    /// Whether a `.keep` file says that the pack must stay.
    pub is_kept: bool,
    /// Whether there is an index.
    pub has_index: bool,
    /// The objects of the pack with their sizes in bytes; none where the index cannot be read.
    pub objects: Option<Vec<(Oid, u64)>>,
}

/// Everything in the folder of objects.
#[derive(Default)]
pub struct Inventory {
    /// Objects in files of their own.
    pub loose: Vec<Loose>,
    /// Packs.
    pub packs: Vec<Stem>,
    /// Temporary files of processes that died.
    pub leftovers: Vec<PathBuf>,
    /// Git's caches about all commits or packs, wrong as soon as one of those is removed.
    pub summaries: Vec<PathBuf>,
}

impl Inventory {
    /// Looks at the folder of objects.
    pub fn of(disk: &dyn Disk, objects: &Path) -> Result<Self> {
        let mut found = Inventory::default();
        for name in text_names(disk, objects)? {
            let path = objects.join(&name);
            match name.as_str() {
                "pack" => found.look_at_packs(disk, &path)?,
                "info" => {
                    let summaries = text_names(disk, &path)?;
                    let summaries =
                        summaries.iter().filter(|name| name.starts_with("commit-graph"));
                    found.summaries.extend(summaries.map(|name| path.join(name)));
                }
                _ if name.starts_with("tmp_obj_") => found.leftovers.push(path),
                _ if is_hexadecimal(&name, 2) => found.look_at_loose(disk, &path, &name)?,
                _ => {}
            }
        }
        Ok(found)
    }

    fn look_at_loose(&mut self, disk: &dyn Disk, folder: &Path, first: &str) -> Result<()> {
        for name in text_names(disk, folder)? {
            let path = folder.join(&name);
            if name.starts_with("tmp_obj_") {
                self.leftovers.push(path);
            } else if is_hexadecimal(&name, 38) {
                let stat = disk.stat(&path).context("looking at", &path)?;
                let id = Oid::from_str(&format!("{first}{name}"));
                if let Some(id) = id.ok().filter(|_| stat.kind == Kind::File) {
                    self.loose.push(Loose { id, path, bytes: stat.size });
                }
            }
        }
        Ok(())
    }

    fn look_at_packs(&mut self, disk: &dyn Disk, folder: &Path) -> Result<()> {
        let mut stems: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for name in text_names(disk, folder)? {
            if name.starts_with("multi-pack-index") {
                self.summaries.push(folder.join(name));
            } else if name.starts_with("tmp_") || name.starts_with(".tmp-") {
                self.leftovers.push(folder.join(name));
            } else if let Some((stem, extension)) = name.split_once('.')
                && stem.starts_with("pack-")
            {
                stems.entry(stem.to_owned()).or_default().insert(extension.to_owned());
            }
        }
        for (stem, extensions) in stems {
            let file = |extension: &str| folder.join(format!("{stem}.{extension}"));
            let has_index = extensions.contains("idx");
            let objects = if has_index { pack(disk, &file("idx"), &file("pack"))? } else { None };
            let is_kept = extensions.contains("keep");
            let others = extensions.iter().filter(|extension| *extension != "idx");
            let index = has_index.then(|| file("idx"));
            let files = index.into_iter().chain(others.map(|extension| file(extension))).collect();
            self.packs.push(Stem { files, is_kept, has_index, objects });
        }
        Ok(())
    }

    /// The size of each object on the disk, in bytes. One that is stored twice counts once.
    pub fn sizes(&self) -> HashMap<Oid, u64> {
        let packed = self.packs.iter().flat_map(|pack| pack.objects.iter().flatten().copied());
        packed.chain(self.loose.iter().map(|loose| (loose.id, loose.bytes))).collect()
    }
}

/// What a pack holds; an object ends where the next begins.
fn pack(disk: &dyn Disk, index: &Path, pack: &Path) -> Result<Option<Vec<(Oid, u64)>>> {
    let Ok(stat) = disk.stat(pack) else {
        return Ok(None);
    };
    let (bytes, _) = disk.read(index, INDEX_BYTES_MAX).context("reading", index)?;
    let Some(mut objects) = PackIndex::of(bytes).and_then(|index| index.entries()) else {
        tracing::debug!("{index:?} is no index that can be read; its pack is left alone");
        return Ok(None);
    };
    objects.sort_unstable_by_key(|(_, offset)| *offset);
    let mut end = stat.size.saturating_sub(CHECKSUM_BYTES);
    for (_, place) in objects.iter_mut().rev() {
        let offset = *place;
        *place = end.saturating_sub(offset);
        end = offset;
    }
    Ok(Some(objects))
}

fn is_hexadecimal(name: &str, length: usize) -> bool {
    name.len() == length && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}
