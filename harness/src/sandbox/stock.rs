//! Which objects a store holds and where: the names of loose objects and the names in the indexes of packs.

use crate::git_objects::ObjectId;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The objects of a store and where they are stored.
#[derive(Clone, Debug, Default)]
pub struct Stock {
    /// Loose objects.
    pub loose: BTreeSet<String>,
    /// The objects of each pack, by the pack's path without its ending.
    pub packs: BTreeMap<PathBuf, BTreeSet<String>>,
}

impl Stock {
    /// Reads a store, without looking at what the objects contain.
    ///
    /// # Errors
    /// The store does not exist, or the index of a pack is damaged.
    pub fn of(store: &Path) -> io::Result<Self> {
        let mut stock = Stock::default();
        for path in files(store)? {
            if let Some(id) = loose_id(&path) {
                stock.loose.insert(id);
            } else if path.extension().is_some_and(|extension| extension == "idx") {
                let damaged = || io::Error::other(format!("{} is damaged", path.display()));
                let ids = packed_ids(&fs::read(store.join(&path))?).ok_or_else(damaged)?;
                stock.packs.insert(path.with_extension(""), ids);
            }
        }
        Ok(stock)
    }
}

/// The ids in the index of a pack, version 2: a mark, for each first byte the number of ids up to it, and the
/// ids in their order. What follows is where each object is.
fn packed_ids(index: &[u8]) -> Option<BTreeSet<String>> {
    let (counts, rest) = index.strip_prefix(b"\xfftOc\0\0\0\x02")?.split_at_checked(256 * 4)?;
    let count = u32::from_be_bytes(*counts.last_chunk()?);
    let (ids, _) = rest.as_chunks();
    let ids = ids.get(..usize::try_from(count).ok()?)?;
    Some(ids.iter().map(|id| ObjectId::from(*id).to_string()).collect())
}

/// The id of the loose object at a path, if the path is of a loose object.
fn loose_id(path: &Path) -> Option<String> {
    let text = path.to_str()?.strip_prefix("objects/")?;
    let (folder, name) = text.split_once('/')?;
    let id = format!("{folder}{name}");
    let is_hexadecimal = id.bytes().all(|byte| byte.is_ascii_hexdigit());
    (folder.len() == 2 && id.len() == 40 && is_hexadecimal).then_some(id)
}

/// The paths of all regular files below a folder, sorted.
pub(crate) fn files(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            let kind = entry.file_type()?;
            if kind.is_dir() {
                pending.push(path);
            } else if kind.is_file() {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::git_alone;

    #[test]
    fn stock_of_a_store_lists_packed_objects_and_refuses_a_damaged_index() {
        let folder = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            let mut git = git_alone();
            let output = git.args(arguments).current_dir(folder.path()).output().unwrap();
            assert!(output.status.success(), "{output:?}");
        };
        git(&["init", "-q", "--bare", "."]);
        fs::write(folder.path().join("one"), "one").unwrap();
        git(&["hash-object", "-w", "one"]);
        let [loose] = &Stock::of(folder.path()).unwrap().loose.into_iter().collect::<Vec<_>>()[..]
        else {
            panic!("one object is stored")
        };
        git(&["update-ref", "refs/tags/one", loose]);
        git(&["repack", "-adq"]);
        let stock = Stock::of(folder.path()).unwrap();
        let packs: Vec<_> = stock.packs.iter().collect();
        let [(path, ids)] = packs[..] else { panic!("{packs:?}") };
        assert_eq!((ids, stock.loose.len()), (&BTreeSet::from([loose.clone()]), 0));
        let index = folder.path().join(path.with_extension("idx"));
        fs::remove_file(&index).unwrap();
        fs::write(&index, "no index").unwrap();
        Stock::of(folder.path()).unwrap_err();
    }
}
