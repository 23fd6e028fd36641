//! The git object ids of a checkpoint's content, computed from the model's tree alone.
//!
//! Equal tree ids mean equal content, names, types and modes, so one comparison judges a complete
//! checkpoint, with no code of the core involved.

use herma_model::bytes::{ancestors, below, join};
use herma_model::{ByteString, Entry, Object, Tree};
use sha1::{Digest, Sha1};
use std::cell::{Ref, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::ops::Bound;

/// A git object id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectId([u8; 20]);

impl From<[u8; 20]> for ObjectId {
    fn from(bytes: [u8; 20]) -> Self {
        ObjectId(bytes)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// The id of an object of this kind with these bytes.
pub fn object_id(kind: &str, bytes: &[u8]) -> ObjectId {
    let mut hash = Sha1::new();
    hash.update(format!("{kind} {}\0", bytes.len()));
    hash.update(bytes);
    ObjectId(hash.finalize().into())
}

/// The id of a blob with these bytes.
pub fn blob_id(bytes: &[u8]) -> ObjectId {
    object_id("blob", bytes)
}

/// The ids of blobs and of the last tree, each computed once. A content is the same if it is in the same place
/// in memory.
#[derive(Default)]
pub struct KnownIds {
    blobs: RefCell<HashMap<usize, (ByteString, ObjectId)>>,
    last: RefCell<KnownTree>,
}

/// A tree, and the ids of its folders.
#[derive(Default)]
struct KnownTree {
    tree: Tree,
    folders: BTreeMap<ByteString, ObjectId>,
}

impl KnownIds {
    /// The id of a blob with this content.
    fn of(&self, content: &ByteString) -> ObjectId {
        let mut known = self.blobs.borrow_mut();
        // The content is kept, so that nothing else can be in its place.
        let new = || (content.clone(), blob_id(content));
        known.entry(content.as_ptr().addr()).or_insert_with(new).1
    }

    /// The ids of the folders of a tree, by their paths. Those that differ from the last tree are computed.
    fn folders(&self, tree: &Tree) -> Ref<'_, BTreeMap<ByteString, ObjectId>> {
        let mut last = self.last.borrow_mut();
        for found in last.tree.clone().differences(tree) {
            last.folders.remove(&b""[..]);
            for folder in ancestors(found.path) {
                last.folders.remove(folder);
            }
        }
        last.tree = tree.clone();
        self.add_folder(&mut last, b"");
        drop(last);
        Ref::map(self.last.borrow(), |last| &last.folders)
    }

    /// The id of a folder, which is computed where it is not known.
    fn add_folder(&self, known: &mut KnownTree, folder: &[u8]) -> ObjectId {
        if let Some(id) = known.folders.get(folder) {
            return *id;
        }
        // The sort key, the mode, the name and the id of each entry.
        let mut entries: Vec<(Vec<u8>, &'static str, Vec<u8>, ObjectId)> = Vec::new();
        let mut next = join(folder, b"");
        loop {
            let found = known.tree.range::<[u8], _>((Bound::Included(&next[..]), Bound::Unbounded));
            let found = found.map(|(path, entry)| (path.clone(), entry.clone())).next();
            let Some((path, entry)) = found else { break };
            let Some(inside) = below(folder, &path) else { break };
            match inside.iter().position(|byte| *byte == b'/') {
                None => {
                    let id = self.of(entry.bytes());
                    entries.push((inside.to_vec(), mode(&entry), inside.to_vec(), id));
                    next = [&path, &b"\0"[..]].concat();
                }
                Some(end) => {
                    let name = &inside[..end];
                    let id = self.add_folder(known, &join(folder, name));
                    // Git sorts a directory as if its name ended in a slash.
                    entries.push(([name, b"/"].concat(), "40000", name.to_vec(), id));
                    // '0' is the byte after '/', so this is after everything in the folder.
                    next = [&join(folder, name)[..], b"0"].concat();
                }
            }
        }
        entries.sort();
        let mut bytes = Vec::new();
        for (_, mode, name, id) in entries {
            bytes.extend_from_slice(mode.as_bytes());
            bytes.push(b' ');
            bytes.extend_from_slice(&name);
            bytes.push(0);
            bytes.extend_from_slice(&id.0);
        }
        let id = object_id("tree", &bytes);
        known.folders.insert(ByteString::from(folder), id);
        id
    }
}

/// Git's mode for an entry, as `ls-tree` prints it.
pub fn mode(entry: &Entry) -> &'static str {
    match entry {
        Entry::File { executable: false, .. } => "100644",
        Entry::File { executable: true, .. } => "100755",
        Entry::Link { .. } => "120000",
    }
}

/// The id of the root tree that holds exactly these entries.
pub fn tree_id(tree: &Tree, known: &KnownIds) -> ObjectId {
    known.folders(tree)[&b""[..]]
}

/// The ids of all trees and blobs of these entries.
pub fn ids(tree: &Tree, known: &KnownIds) -> BTreeSet<ObjectId> {
    let blobs = tree.values().map(|entry| known.of(entry.bytes()));
    blobs.chain(known.folders(tree).values().copied()).collect()
}

/// The git id of an object that the model knows by its content; `None` if the content is opaque.
pub fn name_of(object: &Object) -> Option<String> {
    match object {
        Object::Checkpoint(id) => Some(id.clone()),
        Object::Folder(tree) => Some(tree_id(tree, &KnownIds::default()).to_string()),
        Object::Content(bytes) => Some(blob_id(bytes).to_string()),
        Object::State(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn tree(paths: &[&str]) -> Tree {
        let entry = |content: &str| Entry::File { content: content.into(), executable: false };
        paths.iter().map(|path| (ByteString::from(*path), entry(path))).collect()
    }

    #[test]
    fn ids_of_trees_after_other_trees_are_those_of_the_trees_alone() {
        let known = KnownIds::default();
        for paths in [
            &["a!", "a/b/c", "a/b/d", "a/x", "a0", "b"][..],
            &["a!", "a/b/c", "a/x", "a0", "b"],
            &["a!", "a/b", "a/x", "a0"],
            &["a", "a!", "a0", "b/c"],
            &[],
            &["a/b/c", "b/a/b/c"],
        ] {
            let tree = tree(paths);
            assert_eq!(tree_id(&tree, &known), tree_id(&tree, &KnownIds::default()), "{paths:?}");
            assert_eq!(ids(&tree, &known), ids(&tree, &KnownIds::default()), "{paths:?}");
        }
        let empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        assert_eq!(tree_id(&Tree::default(), &known).to_string(), empty);
    }
}
