//! The objects of a store as files: which there are, where, and the size of each.

use crate::disk::folder::text_names;
use crate::disk::{Disk, Kind};
use crate::error::{Context, Result};
use crate::store::pack::CHECKSUM_BYTES;
use crate::store::pack_index::{PACK_HEAD_BYTES, PackIndex};
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
    /// All objects of the pack with their sizes in bytes; none where nobody can say which they are.
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
    let listed = match PackIndex::of(bytes) {
        Some(index) if names_all(disk, &index, pack, stat.kind)? => index.entries(),
        _ => None,
    };
    let Some(mut objects) = listed else {
        tracing::debug!("{index:?} does not name all of its pack, which is left alone");
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

/// Whether an index names every object of the pack: what it left out would be taken for absent, and
/// go with the pack.
// rule: maintenance/damage
fn names_all(disk: &dyn Disk, index: &PackIndex, pack: &Path, kind: Kind) -> Result<bool> {
    // In what is no file there is nothing to lose.
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

    /// So many objects are stored as one pack.
    const STORED: usize = 70;

    /// A folder of objects with one pack, and the path of its index.
    fn one_pack() -> (tempfile::TempDir, PathBuf) {
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
    fn an_index_with_a_wrong_byte_does_not_say_what_its_pack_holds() {
        let (folder, index) = one_pack();
        assert_eq!(listed(folder.path()), Some(STORED));
        let whole = fs::read(&index).unwrap();
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            write(&index, &flipped);
            assert_eq!(listed(folder.path()), None, "byte {at}");
        }
        write(&index, &whole);
        assert_eq!(listed(folder.path()), Some(STORED));
    }

    #[test]
    fn an_index_that_names_more_or_fewer_objects_than_the_pack_has_does_not_say_which() {
        let (folder, index) = one_pack();
        let pack = index.with_extension("pack");
        let whole = fs::read(&pack).unwrap();
        for at in 0..PACK_HEAD_BYTES as usize {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            write(&pack, &flipped);
            assert_eq!(listed(folder.path()), None, "byte {at}");
        }
        for length in [0, PACK_HEAD_BYTES as usize - 1] {
            write(&pack, &whole[..length]);
            assert_eq!(listed(folder.path()), None, "cut to {length}");
        }
        write(&pack, &whole);
        assert_eq!(listed(folder.path()), Some(STORED));
    }
}
