//! The content of a checkpoint: a map from project-relative path to entry, and how two such maps differ.

use crate::bytes::ByteString;
use crate::files::Node;
use crate::path_map::PathMap;
use std::collections::BTreeMap;

/// One captured path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entry {
    /// A regular file.
    File {
        /// Its bytes.
        content: ByteString,
        /// Whether its owner may execute it.
        executable: bool,
    },
    /// A symbolic link.
    Link {
        /// The bytes of its target.
        target: ByteString,
    },
}

impl Entry {
    /// The bytes git would store for the entry.
    pub fn bytes(&self) -> &ByteString {
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
pub type Tree = PathMap<Entry>;

/// How one path differs between two trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryDifference<'a> {
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
) -> BTreeMap<&'a ByteString, EntryDifference<'a>> {
    let how = |(older, newer)| match (older, newer) {
        (Some(old), Some(new)) => Some(EntryDifference::Modified(old, new)),
        (Some(old), None) => Some(EntryDifference::Deleted(old)),
        (None, new) => new.map(EntryDifference::Added),
    };
    let found = older.differences(newer).into_iter();
    found.filter_map(|found| Some((found.path, how((found.older, found.newer))?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &str, executable: bool) -> Entry {
        Entry::File { content: ByteString::from(content.as_bytes()), executable }
    }

    fn link(target: &str) -> Entry {
        Entry::Link { target: ByteString::from(target.as_bytes()) }
    }

    #[test]
    fn bytes_and_node_return_what_an_entry_was_captured_from() {
        assert_eq!(**link("to").bytes(), *b"to");
        assert_eq!(**file("a", true).bytes(), *b"a");
        let target = ByteString::from(&b"to"[..]);
        assert_eq!(link("to").node(), Node::Link { target });
        let content = ByteString::from(&b"a"[..]);
        assert_eq!(
            file("a", true).node(),
            Node::File { content, executable: true, readable: true }
        );
    }

    #[test]
    fn differences_reports_added_and_deleted_paths_and_other_bytes_types_and_modes() {
        let tree = |entries: &[(&str, Entry)]| {
            entries.iter().map(|(path, entry)| (ByteString::from(*path), entry.clone())).collect()
        };
        let old = file("a", false);
        let same = file("same", false);
        let older: Tree = tree(&[
            ("bytes", old.clone()),
            ("gone", old.clone()),
            ("mode", old.clone()),
            ("same", same.clone()),
            ("type", old.clone()),
        ]);
        let bytes = file("b", false);
        let mode = file("a", true);
        let kind = link("a");
        let newer: Tree = tree(&[
            ("bytes", bytes.clone()),
            ("mode", mode.clone()),
            ("new", same.clone()),
            ("same", same.clone()),
            ("type", kind.clone()),
        ]);
        let found = differences(&older, &newer);
        let expected = [
            ("bytes", EntryDifference::Modified(&old, &bytes)),
            ("gone", EntryDifference::Deleted(&old)),
            ("mode", EntryDifference::Modified(&old, &mode)),
            ("new", EntryDifference::Added(&same)),
            ("type", EntryDifference::Modified(&old, &kind)),
        ];
        let expected = expected.map(|(path, how)| (ByteString::from(path), how));
        assert!(found.into_iter().eq(expected.iter().map(|(path, how)| (path, *how))));
    }
}
