//! The git object ids of a checkpoint's content, computed from the model's tree alone.
//!
//! Equal tree ids mean equal content, names, types and modes, so one comparison judges a complete
//! checkpoint, with no code of the core involved.

use herma_model::bytes::{ancestors, file_name, parent};
use herma_model::{ByteString, Entry, Object, Tree};
use sha1::{Digest, Sha1};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

/// A git object id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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

/// The ids of blobs, each computed once. A content is the same if it is in the same place in memory.
#[derive(Default)]
pub struct BlobIds(RefCell<HashMap<usize, (ByteString, ObjectId)>>);

impl BlobIds {
    /// The id of a blob with this content.
    fn of(&self, content: &ByteString) -> ObjectId {
        let mut known = self.0.borrow_mut();
        // The content is kept, so that nothing else can be in its place.
        let new = || (content.clone(), blob_id(content));
        known.entry(content.as_ptr().addr()).or_insert_with(new).1
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
pub fn tree_id(tree: &Tree, blobs: &BlobIds) -> ObjectId {
    visit_trees(tree, blobs, &mut |_| {})
}

/// The ids of all trees and blobs of these entries.
pub fn ids(tree: &Tree, blobs: &BlobIds) -> BTreeSet<ObjectId> {
    let mut ids: BTreeSet<ObjectId> = tree.values().map(|entry| blobs.of(entry.bytes())).collect();
    visit_trees(tree, blobs, &mut |id| {
        ids.insert(id);
    });
    ids
}

/// The git id of an object that the model knows by its content; `None` if the content is opaque.
pub fn name_of(object: &Object) -> Option<String> {
    match object {
        Object::Checkpoint(id) => Some(id.clone()),
        Object::Folder(tree) => Some(tree_id(tree, &BlobIds::default()).to_string()),
        Object::Content(bytes) => Some(blob_id(bytes).to_string()),
        Object::State(_) => None,
    }
}

fn visit_trees(tree: &Tree, blobs: &BlobIds, visit: &mut dyn FnMut(ObjectId)) -> ObjectId {
    // An entry of a directory: the sort key, the mode, the name and the id.
    type TreeEntry = (Vec<u8>, &'static str, Vec<u8>, ObjectId);
    let mut directories: BTreeMap<ByteString, Vec<TreeEntry>> = BTreeMap::new();
    directories.insert(ByteString::default(), Vec::new());
    for (path, entry) in tree {
        for ancestor in ancestors(path) {
            directories.entry(ByteString::from(ancestor)).or_default();
        }
        let name = file_name(path).to_vec();
        let entry_with_key = (name.clone(), mode(entry), name, blobs.of(entry.bytes()));
        directories.entry(ByteString::from(parent(path))).or_default().push(entry_with_key);
    }
    loop {
        // No directory below the last directory in path order is left.
        let (path, mut entries) = directories.pop_last().expect("the root is always there");
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
        visit(id);
        if path.is_empty() {
            return id;
        }
        let name = file_name(&path).to_vec();
        // Git sorts a directory as if its name ended in a slash.
        let entry_with_key = ([&name[..], b"/"].concat(), "40000", name, id);
        directories.entry(ByteString::from(parent(&path))).or_default().push(entry_with_key);
    }
}
