//! Lists the objects of a store as files: their ids, paths and sizes.

use crate::disk::folder::text_names;
use crate::disk::{Disk, Kind};
use crate::error::{Context, Result};
use crate::store::oid::Oid;
use crate::store::pack::CHECKSUM_BYTES;
use crate::store::pack_index::{PACK_HEAD_BYTES, PackIndex};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// The largest index of a pack that is read, in bytes.
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

/// A pack: the files in the folder of packs that share a name.
pub struct PackFiles {
    /// Their paths, the index first, since git finds a pack by it.
    pub files: Vec<PathBuf>,
    /// Whether a `.keep` file says that the pack must stay.
    pub is_kept: bool,
    /// Whether there is an index.
    pub has_index: bool,
    /// All objects of the pack with their sizes in bytes; `None` if they cannot be determined.
    pub objects: Option<Vec<(Oid, u64)>>,
}

/// Everything in the folder of objects.
#[derive(Default)]
pub struct Inventory {
    /// Objects in files of their own.
    pub loose: Vec<Loose>,
    /// Packs.
    pub packs: Vec<PackFiles>,
    /// Temporary files of processes that died.
    pub leftovers: Vec<PathBuf>,
    /// Git's caches about all commits or packs, wrong as soon as one of those is removed.
    pub summaries: Vec<PathBuf>,
}

impl Inventory {
    /// Reads the folder of objects.
    pub fn of(disk: &dyn Disk, objects: &Path) -> Result<Self> {
        let mut found = Inventory::default();
        for name in text_names(disk, objects)? {
            let path = objects.join(&name);
            match name.as_str() {
                "pack" => found.add_packs(disk, &path)?,
                "info" => {
                    let summaries = text_names(disk, &path)?;
                    let summaries =
                        summaries.iter().filter(|name| name.starts_with("commit-graph"));
                    found.summaries.extend(summaries.map(|name| path.join(name)));
                }
                _ if name.starts_with("tmp_obj_") => found.leftovers.push(path),
                _ if is_hexadecimal(&name, 2) => found.add_loose(disk, &path, &name)?,
                _ => {}
            }
        }
        Ok(found)
    }

    fn add_loose(&mut self, disk: &dyn Disk, folder: &Path, first: &str) -> Result<()> {
        for name in text_names(disk, folder)? {
            let path = folder.join(&name);
            if name.starts_with("tmp_obj_") {
                self.leftovers.push(path);
            } else if is_hexadecimal(&name, 38) {
                let stat = disk.stat(&path).context("looking at", &path)?;
                let id = Oid::parse(&format!("{first}{name}"));
                if let Some(id) = id.filter(|_| stat.kind == Kind::File) {
                    self.loose.push(Loose { id, path, bytes: stat.size });
                }
            }
        }
        Ok(())
    }

    fn add_packs(&mut self, disk: &dyn Disk, folder: &Path) -> Result<()> {
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
            let objects =
                if has_index { pack_objects(disk, &file("idx"), &file("pack"))? } else { None };
            let is_kept = extensions.contains("keep");
            let other_extensions = extensions.iter().filter(|extension| *extension != "idx");
            let index = has_index.then(|| file("idx"));
            let files = index
                .into_iter()
                .chain(other_extensions.map(|extension| file(extension)))
                .collect();
            self.packs.push(PackFiles { files, is_kept, has_index, objects });
        }
        Ok(())
    }

    /// The size of each object on the disk, in bytes. An object that is stored twice counts once.
    pub fn sizes(&self) -> HashMap<Oid, u64> {
        let packed = self.packs.iter().flat_map(|pack| pack.objects.iter().flatten().copied());
        packed.chain(self.loose.iter().map(|loose| (loose.id, loose.bytes))).collect()
    }
}

/// The objects of a pack with their sizes; an object ends where the next begins.
fn pack_objects(disk: &dyn Disk, index: &Path, pack: &Path) -> Result<Option<Vec<(Oid, u64)>>> {
    let Ok(stat) = disk.stat(pack) else {
        return Ok(None);
    };
    let (bytes, _) = disk.read(index, INDEX_BYTES_MAX).context("reading", index)?;
    let listed = match PackIndex::of(bytes) {
        Some(index) if names_all(disk, &index, pack, stat.kind)? => index.entries(),
        _ => None,
    };
    let Some(mut objects) = listed else {
        tracing::debug!("{index:?} does not list its complete pack, which is not changed");
        return Ok(None);
    };
    objects.sort_unstable_by_key(|(_, offset)| *offset);
    let mut end = stat.size.saturating_sub(CHECKSUM_BYTES);
    for (_, offset_or_size) in objects.iter_mut().rev() {
        let offset = *offset_or_size;
        *offset_or_size = end.saturating_sub(offset);
        end = offset;
    }
    Ok(Some(objects))
}

/// Whether an index names every object of the pack: objects that it leaves out would be taken for
/// absent, and be removed with the pack.
// rule: maintenance/damage
fn names_all(disk: &dyn Disk, index: &PackIndex, pack: &Path, kind: Kind) -> Result<bool> {
    // A path that is not a file has no objects to lose.
    if kind != Kind::File {
        return Ok(true);
    }
    let (head, _) = disk.read(pack, PACK_HEAD_BYTES).context("reading", pack)?;
    Ok(index.names_all_of(&head))
}

fn is_hexadecimal(name: &str, length: usize) -> bool {
    name.len() == length && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;
    use crate::store::object::Kind as ObjectKind;
    use crate::store::objects::Objects;
    use std::fs;

    /// The number of objects in the pack.
    const STORED: usize = 70;

    /// A folder of objects with one pack, and the path of its index.
    fn folder_with_pack() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("pack")).unwrap();
        let mut objects = Objects::new(&SystemDisk, folder.path().to_owned());
        for number in 0..STORED {
            objects.add(ObjectKind::Blob, format!("{number}").as_bytes()).unwrap();
        }
        objects.flush().unwrap();
        let names = text_names(&SystemDisk, &folder.path().join("pack")).unwrap();
        let index = names.iter().find(|name| name.ends_with(".idx")).unwrap();
        let index = folder.path().join("pack").join(index);
        (folder, index)
    }

    fn listed(folder: &Path) -> Option<usize> {
        let packs = Inventory::of(&SystemDisk, folder).unwrap().packs;
        assert_eq!(packs.len(), 1);
        packs[0].objects.as_ref().map(Vec::len)
    }

    fn write(path: &Path, bytes: &[u8]) {
        fs::remove_file(path).unwrap();
        fs::write(path, bytes).unwrap();
    }

    #[test]
    fn inventory_ignores_an_index_with_a_wrong_byte() {
        let (folder, index) = folder_with_pack();
        assert_eq!(listed(folder.path()), Some(STORED));
        let intact = fs::read(&index).unwrap();
        for at in 0..intact.len() {
            let mut flipped = intact.clone();
            flipped[at] ^= 1;
            write(&index, &flipped);
            assert_eq!(listed(folder.path()), None, "byte {at}");
        }
        write(&index, &intact);
        assert_eq!(listed(folder.path()), Some(STORED));
    }

    #[test]
    fn inventory_ignores_an_index_that_names_more_or_fewer_objects_than_the_pack() {
        let (folder, index) = folder_with_pack();
        let pack = index.with_extension("pack");
        let intact = fs::read(&pack).unwrap();
        for at in 0..PACK_HEAD_BYTES as usize {
            let mut flipped = intact.clone();
            flipped[at] ^= 1;
            write(&pack, &flipped);
            assert_eq!(listed(folder.path()), None, "byte {at}");
        }
        for length in [0, PACK_HEAD_BYTES as usize - 1] {
            write(&pack, &intact[..length]);
            assert_eq!(listed(folder.path()), None, "cut to {length}");
        }
        write(&pack, &intact);
        assert_eq!(listed(folder.path()), Some(STORED));
    }
}
