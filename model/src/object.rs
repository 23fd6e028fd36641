//! Objects: everything that a store keeps, and can lose, separately, such as the bytes of a file, a folder
//! or a checkpoint.
//!
//! In a store with the layout that the rule book defines, checkpoints with the same content share objects.
//! So this module identifies an object by its content; the name of an object in a store is not part of it.

use crate::bytes::{ByteString, ancestors, below};
use crate::tree::Tree;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One piece of a checkpoint, by its path in the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// The checkpoint itself: its time, its reason and its parent.
    Checkpoint,
    /// The index of the pack that holds the checkpoint, if it is in a pack.
    PackIndex,
    /// The entries of a folder; the path of the project's root is empty.
    Folder(ByteString),
    /// The bytes of a file, or the target of a link.
    File(ByteString),
}

/// One object, stored once however many checkpoints need it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    /// The checkpoint of that id, without its content.
    Checkpoint(String),
    /// A folder with exactly this content.
    Folder(Tree),
    /// The bytes of files and targets of links.
    Content(ByteString),
    /// The agent's state in the checkpoint of that id.
    State(String),
}

impl Object {
    /// The object of a piece of the checkpoint `id` with this tree; `None` if there is no such piece.
    pub fn of(piece: &Piece, id: &str, tree: &Tree) -> Option<Object> {
        match piece {
            Piece::Checkpoint | Piece::PackIndex => Some(Object::Checkpoint(id.to_owned())),
            // An empty folder need not be stored.
            Piece::Folder(path) => {
                Some(subtree(tree, path)).filter(|folder| !folder.is_empty()).map(Object::Folder)
            }
            Piece::File(path) => tree.get(path).map(|entry| Object::Content(entry.bytes().clone())),
        }
    }

    /// All objects that the checkpoint `id` with this tree needs.
    pub fn needed_by(id: &str, tree: &Tree) -> BTreeSet<Object> {
        let mut objects = contents_and_folders(tree);
        objects.insert(Object::Checkpoint(id.to_owned()));
        objects
    }

    /// The paths of the checkpoint `id` with this tree that cannot be restored without the object.
    pub fn paths_in(&self, id: &str, tree: &Tree) -> BTreeSet<ByteString> {
        let entries = tree.iter();
        match self {
            Object::Checkpoint(checkpoint_id) => {
                entries.filter(|_| checkpoint_id == id).map(|(path, _)| path.clone()).collect()
            }
            Object::Content(bytes) => {
                let needing = entries.filter(|(_, entry)| entry.bytes() == bytes);
                needing.map(|(path, _)| path.clone()).collect()
            }
            Object::State(_) => BTreeSet::new(),
            Object::Folder(content) => {
                let equal =
                    folders(tree).into_iter().filter(|path| subtree(tree, path) == *content);
                let equal: Vec<ByteString> = equal.collect();
                let is_inside =
                    |path: &&ByteString| equal.iter().any(|folder| below(folder, path).is_some());
                tree.keys().filter(is_inside).cloned().collect()
            }
        }
    }

    /// Whether the checkpoint `id` with this tree needs the object.
    pub fn is_needed_by(&self, id: &str, tree: &Tree) -> bool {
        match self {
            Object::Checkpoint(checkpoint_id) | Object::State(checkpoint_id) => checkpoint_id == id,
            _ => !self.paths_in(id, tree).is_empty(),
        }
    }
}

/// All objects that are needed to store a tree.
pub fn contents_and_folders(tree: &Tree) -> BTreeSet<Object> {
    let contents = tree.values().map(|entry| Object::Content(entry.bytes().clone()));
    let subtrees = folders(tree).into_iter().map(|path| subtree(tree, &path));
    let subtrees = subtrees.filter(|subtree| !subtree.is_empty()).map(Object::Folder);
    contents.chain(subtrees).collect()
}

/// Every folder of a tree, including its root.
fn folders(tree: &Tree) -> BTreeSet<ByteString> {
    let above = tree.keys().flat_map(|path| ancestors(path)).map(ByteString::from);
    above.chain([ByteString::default()]).collect()
}

/// The content of a folder of a tree, by paths relative to the folder.
fn subtree(tree: &Tree, folder: &[u8]) -> Tree {
    let relative = tree.iter().filter_map(|(path, entry)| {
        below(folder, path).map(|path| (ByteString::from(path), entry.clone()))
    });
    relative.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Entry;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let entry =
            |content: &str| Entry::File { content: content.as_bytes().into(), executable: false };
        files.iter().map(|(path, content)| ((*path).into(), entry(content))).collect()
    }

    fn paths(object: &Option<Object>, tree: &Tree) -> Vec<String> {
        let object = object.as_ref().unwrap();
        object.paths_in("id", tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn paths_in_returns_every_path_with_the_content_of_the_lost_object() {
        let tree = tree(&[("a", "1"), ("b/c", "1"), ("b/d", "2"), ("e/c", "1"), ("e/d", "2")]);
        let object = |piece| Object::of(&piece, "id", &tree);
        assert_eq!(paths(&object(Piece::File("a".into())), &tree), ["a", "b/c", "e/c"]);
        assert_eq!(paths(&object(Piece::Folder("e".into())), &tree), ["b/c", "b/d", "e/c", "e/d"]);
        assert_eq!(paths(&object(Piece::Folder("".into())), &tree).len(), 5);
        assert_eq!(paths(&object(Piece::Checkpoint), &tree).len(), 5);
        assert_eq!(object(Piece::PackIndex), object(Piece::Checkpoint));
        for piece in [Piece::File("b".into()), Piece::File("x".into()), Piece::Folder("a".into())] {
            assert_eq!(object(piece), None);
        }
    }

    #[test]
    fn needed_by_returns_a_checkpoint_its_folders_and_their_contents() {
        let held = tree(&[("a", "1"), ("b/c", "1")]);
        let other_tree = tree(&[("b/c", "2")]);
        // The checkpoint, two folders and one content.
        assert_eq!(Object::needed_by("id", &held).len(), 4);
        assert_eq!(Object::needed_by("id", &Tree::default()).len(), 1);
        for object in Object::needed_by("id", &held) {
            assert!(object.is_needed_by("id", &held) && !object.is_needed_by("other", &other_tree));
        }
        assert!(Object::Checkpoint("id".into()).is_needed_by("id", &Tree::default()));
    }
}
