//! What a checkpoint holds: a map from project-relative path to entry, and how two such maps differ.

use crate::bytes::ByteString;
use crate::files::{Content, Node};
use std::collections::BTreeMap;

/// One captured path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A regular file.
    File {
        /// Its bytes.
        content: Content,
        /// Whether its owner may execute it.
        executable: bool,
    },
    /// A symbolic link.
    Link {
        /// The bytes it points at.
        target: Content,
    },
}

impl Entry {
    /// The bytes git would store for the entry.
    pub fn bytes(&self) -> &Content {
        match self {
            Entry::File { content, .. } => content,
            Entry::Link { target } => target,
        }
    }

    /// The node a restore makes of the entry.
    pub fn node(&self) -> Node {
        match self.clone() {
            Entry::File { content, executable } => {
                Node::File { content, executable, readable: true }
            }
            Entry::Link { target } => Node::Link { target },
        }
    }
}

/// All captured paths of a project at one time.
pub type Tree = BTreeMap<ByteString, Entry>;

/// How one path differs between two trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference<'a> {
    /// Only the newer tree has it.
    Added(&'a Entry),
    /// Only the older tree has it.
    Deleted(&'a Entry),
    /// Both have it, with other bytes, type or mode.
    Modified(&'a Entry, &'a Entry),
}

/// The paths in which `newer` differs from `older`.
pub fn differences<'a>(
    older: &'a Tree,
    newer: &'a Tree,
) -> BTreeMap<&'a ByteString, Difference<'a>> {
    let mut found = BTreeMap::new();
    for (path, old) in older {
        match newer.get(path) {
            None => found.insert(path, Difference::Deleted(old)),
            Some(new) if new != old => found.insert(path, Difference::Modified(old, new)),
            Some(_) => None,
        };
    }
    for (path, new) in newer {
        if !older.contains_key(path) {
            found.insert(path, Difference::Added(new));
        }
    }
    found
}
