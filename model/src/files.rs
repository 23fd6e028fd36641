//! The files of the model's world: a map from path to node.
//!
//! Paths are bytes below one root, `/`-separated, without a leading slash. Every directory below
//! the root has a node of its own. The map is plain data; other modules decide how an edit or a
//! restore changes it. Copies are cheap.

pub(crate) mod permissions;

use crate::bytes::{self, ByteString};
use crate::path_map::{ChangedPath, PathMap};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Bound;

/// What exists at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A directory.
    Directory,
    /// A regular file.
    File {
        /// Its bytes.
        content: ByteString,
        /// Whether its owner may execute it.
        executable: bool,
        /// Whether its owner may read it.
        readable: bool,
    },
    /// A symbolic link.
    Link {
        /// The bytes of its target.
        target: ByteString,
    },
    /// A special file.
    Special(SpecialKind),
}

/// The kind of a special file; a device counts as a socket, since no history makes devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpecialKind {
    /// A socket, which cannot be opened.
    #[default]
    Socket,
    /// A fifo, which can be opened but then blocks until its other end is opened.
    Fifo,
}

impl SpecialKind {
    /// Whether it is omitted when serialized.
    pub(crate) fn is_default(&self) -> bool {
        *self == SpecialKind::default()
    }
}

/// All files of the world.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    nodes: PathMap<Node>,
    /// The permission bits of files and folders whose bits differ from the default for their node.
    explicit_permissions: PathMap<u32>,
}

impl Files {
    /// The node at `path`, without following links. The root is a directory.
    pub fn get(&self, path: &[u8]) -> Option<&Node> {
        if path.is_empty() {
            return Some(&Node::Directory);
        }
        self.nodes.get(path)
    }

    /// Whether a directory, and not a link to a directory, exists at `path`.
    pub fn is_directory(&self, path: &[u8]) -> bool {
        matches!(self.get(path), Some(Node::Directory))
    }

    /// Everything below `directory`, in the order of path bytes: a directory before its content.
    pub fn below<'a>(
        &'a self,
        directory: &[u8],
    ) -> impl Iterator<Item = (&'a ByteString, &'a Node)> + Clone + use<'a> {
        let (first, last) = if directory.is_empty() {
            (Bound::Unbounded, Bound::Unbounded)
        } else {
            let before = ByteString::from([directory, b"/"].concat());
            // '0' is the byte after '/', so this bound ends exactly after the directory.
            let after = ByteString::from([directory, b"0"].concat());
            (Bound::Excluded(before), Bound::Excluded(after))
        };
        self.nodes.range((first, last))
    }

    /// Every path and its node.
    pub fn iter(&self) -> impl Iterator<Item = (&ByteString, &Node)> {
        self.nodes.iter()
    }

    /// Puts `node` at `path`. The caller ensures that the parent is a directory.
    pub fn insert(&mut self, path: &[u8], node: Node) {
        debug_assert!(self.is_directory(bytes::parent(path)), "{}", path.escape_ascii());
        self.explicit_permissions.remove(path);
        self.nodes.insert(ByteString::from(path), node);
    }

    /// Removes `path` and everything below it.
    pub fn remove(&mut self, path: &[u8]) {
        let removed: Vec<ByteString> = self.below(path).map(|(path, _)| path.clone()).collect();
        for path in removed.into_iter().chain([ByteString::from(path)]) {
            self.nodes.remove(&path);
            self.explicit_permissions.remove(&path);
        }
    }

    /// Every path at which other files have another node, in order. Permissions are not compared.
    pub fn differences<'a>(&'a self, newer: &'a Files) -> Vec<ChangedPath<'a, Node>> {
        self.nodes.differences(&newer.nodes)
    }

    /// Every path at which other files have another node or other permissions.
    pub(crate) fn changed<'a>(&'a self, newer: &'a Files) -> BTreeSet<&'a ByteString> {
        let permissions = self.explicit_permissions.differences(&newer.explicit_permissions);
        let nodes = self.differences(newer).into_iter().map(|found| found.path);
        nodes.chain(permissions.into_iter().map(|found| found.path)).collect()
    }

    /// The outermost ancestor of `path` that exists and is not a directory.
    pub fn obstacle<'a>(&self, path: &'a [u8]) -> Option<(&'a [u8], &Node)> {
        bytes::ancestors(path)
            .filter_map(|ancestor| self.get(ancestor).map(|node| (ancestor, node)))
            .find(|(_, node)| **node != Node::Directory)
    }

    /// Makes every missing ancestor of `path` a directory.
    pub fn make_parents(&mut self, path: &[u8]) {
        for ancestor in bytes::ancestors(path) {
            if self.get(ancestor).is_none() {
                self.insert(ancestor, Node::Directory);
            }
        }
    }
}

impl FromIterator<(ByteString, Node)> for Files {
    fn from_iter<I: IntoIterator<Item = (ByteString, Node)>>(nodes: I) -> Self {
        Files { nodes: nodes.into_iter().collect(), explicit_permissions: PathMap::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn file() -> Node {
        Node::File { content: ByteString::from(&b"x"[..]), executable: false, readable: true }
    }

    /// The directories end in a slash.
    fn files(paths: &[&str]) -> Files {
        let mut files = Files::default();
        for path in paths {
            let (path, node) = match path.strip_suffix('/') {
                Some(directory) => (directory, Node::Directory),
                None => (*path, file()),
            };
            files.make_parents(path.as_bytes());
            files.insert(path.as_bytes(), node);
        }
        files
    }

    fn names<'a>(nodes: impl Iterator<Item = (&'a ByteString, &'a Node)>) -> Vec<String> {
        nodes.map(|(path, _)| path.to_string()).collect()
    }

    #[test]
    fn below_returns_the_content_of_a_directory_and_no_sibling() {
        let files = files(&["a!", "a/b/c", "a/x", "a0", "b"]);
        assert_eq!(names(files.below(b"a")), ["a/b", "a/b/c", "a/x"]);
        assert_eq!(names(files.below(b"")), names(files.iter()));
        assert_eq!(names(files.iter()), ["a", "a!", "a/b", "a/b/c", "a/x", "a0", "b"]);
        assert!(files.is_directory(b"") && files.is_directory(b"a/b"));
        assert!(!files.is_directory(b"a/x") && !files.is_directory(b"c"));
    }

    #[test]
    fn remove_deletes_a_directory_with_its_content() {
        let mut files = files(&["a!", "a/b/c", "a0"]);
        files.remove(b"a");
        assert_eq!(names(files.iter()), ["a!", "a0"]);
        files.remove(b"a0");
        assert_eq!(names(files.iter()), ["a!"]);
    }

    #[test]
    fn obstacle_returns_the_outermost_ancestor_that_is_not_a_directory() {
        let files = files(&["a/b", "c/"]);
        assert_eq!(files.obstacle(b"a/b/c/d"), Some((&b"a/b"[..], &file())));
        assert_eq!(files.obstacle(b"a/b"), None);
        assert_eq!(files.obstacle(b"c/d/e"), None);
    }
}
