//! What is stored by itself and can be lost by itself: the bytes of a file, a folder, a checkpoint.
//!
//! Two checkpoints that hold the same share what is stored of it, in a store as the rule book lays it
//! out. So an object is known here by what it holds; how it is called in a store is for others.

use crate::bytes::{ByteString, ancestors, below};
use crate::files::Content;
use crate::tree::Tree;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One piece of a checkpoint, by its place in that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// The checkpoint itself: its time, its reason, and what came before it.
    Checkpoint,
    /// That by which the checkpoint itself is found in a pack, if it is in one.
    PackIndex,
    /// Which names are in a folder, and what each is; that of the whole project has no name.
    Folder(ByteString),
    /// The bytes of a file, or what a link points at.
    File(ByteString),
}

/// One thing that is stored once, whoever needs it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    /// The checkpoint of that id, without what it holds.
    Checkpoint(String),
    /// A folder that holds exactly this.
    Folder(Tree),
    /// The bytes of files and targets of links.
    Content(Content),
    /// The agent's state in the checkpoint of that id.
    State(String),
}

impl Object {
    /// What stands for a piece of a checkpoint that holds this; none where there is no such piece.
    pub fn of(piece: &Piece, id: &str, tree: &Tree) -> Option<Object> {
        match piece {
            Piece::Checkpoint | Piece::PackIndex => Some(Object::Checkpoint(id.to_owned())),
            // A folder of nothing need not be stored.
            Piece::Folder(path) => {
                Some(inside(tree, path)).filter(|inside| !inside.is_empty()).map(Object::Folder)
            }
            Piece::File(path) => tree.get(path).map(|entry| Object::Content(entry.bytes().clone())),
        }
    }

    /// Everything that a checkpoint of that id needs, which holds this.
    pub fn all_of(id: &str, tree: &Tree) -> BTreeSet<Object> {
        let mut all = contents_and_folders(tree);
        all.insert(Object::Checkpoint(id.to_owned()));
        all
    }

    /// The paths of a checkpoint of that id that cannot be brought back without this.
    pub fn paths_in(&self, id: &str, tree: &Tree) -> BTreeSet<ByteString> {
        let all = tree.iter();
        match self {
            Object::Checkpoint(own) => {
                all.filter(|_| own == id).map(|(path, _)| path.clone()).collect()
            }
            Object::Content(bytes) => {
                let needs = all.filter(|(_, entry)| entry.bytes() == bytes);
                needs.map(|(path, _)| path.clone()).collect()
            }
            Object::State(_) => BTreeSet::new(),
            Object::Folder(held) => {
                let same = folders(tree).into_iter().filter(|path| inside(tree, path) == *held);
                let same: Vec<ByteString> = same.collect();
                let is_in =
                    |path: &&ByteString| same.iter().any(|folder| below(folder, path).is_some());
                tree.keys().filter(is_in).cloned().collect()
            }
        }
    }

    /// Whether a checkpoint of that id, which holds this, needs it.
    pub fn is_needed_by(&self, id: &str, tree: &Tree) -> bool {
        match self {
            Object::Checkpoint(own) | Object::State(own) => own == id,
            _ => !self.paths_in(id, tree).is_empty(),
        }
    }
}

/// Everything that is needed to hold this.
pub fn contents_and_folders(tree: &Tree) -> BTreeSet<Object> {
    let contents = tree.values().map(|entry| Object::Content(entry.bytes().clone()));
    let held = folders(tree).into_iter().map(|path| inside(tree, &path));
    let held = held.filter(|held| !held.is_empty()).map(Object::Folder);
    contents.chain(held).collect()
}

/// Every folder of a tree, the outermost among them.
fn folders(tree: &Tree) -> BTreeSet<ByteString> {
    let above = tree.keys().flat_map(|path| ancestors(path)).map(ByteString::from);
    above.chain([ByteString::default()]).collect()
}

/// What is in a folder of a tree, by the paths below it.
fn inside(tree: &Tree, folder: &[u8]) -> Tree {
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
    fn what_is_lost_costs_every_path_that_is_the_same() {
        let held = tree(&[("a", "1"), ("b/c", "1"), ("b/d", "2"), ("e/c", "1"), ("e/d", "2")]);
        let of = |piece| Object::of(&piece, "id", &held);
        assert_eq!(paths(&of(Piece::File("a".into())), &held), ["a", "b/c", "e/c"]);
        assert_eq!(paths(&of(Piece::Folder("e".into())), &held), ["b/c", "b/d", "e/c", "e/d"]);
        assert_eq!(paths(&of(Piece::Folder("".into())), &held).len(), 5);
        assert_eq!(paths(&of(Piece::Checkpoint), &held).len(), 5);
        assert_eq!(of(Piece::PackIndex), of(Piece::Checkpoint));
        for piece in [Piece::File("b".into()), Piece::File("x".into()), Piece::Folder("a".into())] {
            assert_eq!(of(piece), None);
        }
    }

    #[test]
    fn a_checkpoint_needs_itself_its_folders_and_their_contents() {
        let (held, other) = (tree(&[("a", "1"), ("b/c", "1")]), tree(&[("b/c", "2")]));
        // Itself, two folders and one content.
        assert_eq!(Object::all_of("id", &held).len(), 4);
        assert_eq!(Object::all_of("id", &Tree::new()).len(), 1);
        for object in Object::all_of("id", &held) {
            assert!(object.is_needed_by("id", &held) && !object.is_needed_by("other", &other));
        }
        assert!(Object::Checkpoint("id".into()).is_needed_by("id", &Tree::new()));
    }
}
