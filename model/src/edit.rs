//! What a person or an agent's tool does to files between requests.
//!
//! An edit is *made so*: whatever stands in its way gives way, so every edit is legal in every
//! state. The model turns it into plain [`Change`]s, and the runner carries out exactly those, so
//! that an edit has one meaning only.

use crate::bytes::ByteString;
use crate::files::{Content, Files, Node};
use serde::{Deserialize, Serialize};

/// One edit of the world's files; paths are relative to the world's root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Edit {
    /// Writes a file.
    Write {
        /// Where.
        path: ByteString,
        /// All of its bytes.
        #[serde(with = "crate::content")]
        content: ByteString,
        /// Whether its owner may execute it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        executable: bool,
    },
    /// Removes a file, or a directory with everything in it.
    Remove {
        /// What.
        path: ByteString,
    },
    /// Makes a directory.
    MakeDirectory {
        /// Where.
        path: ByteString,
    },
    /// Makes a symbolic link.
    Link {
        /// Where.
        path: ByteString,
        /// What it points at, as written.
        target: ByteString,
    },
    /// Makes a socket or fifo.
    MakeSpecial {
        /// Where.
        path: ByteString,
    },
    /// Takes away or gives back the owner's right to read a file; nothing for anything else.
    SetReadable {
        /// Which file.
        path: ByteString,
        /// The right.
        readable: bool,
    },
    /// Moves a file or directory; nothing when it is not there or would move into itself.
    Rename {
        /// From where.
        from: ByteString,
        /// To where.
        to: ByteString,
    },
}

/// One step on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Remove the path and everything below it.
    Remove(ByteString),
    /// Make this node here; the parent is there, the path is free.
    Make(ByteString, Node),
    /// Give the file at the path this right to be read.
    SetReadable(ByteString, bool),
    /// Move what stands at the first path to the second; the parent is there, the path is free.
    Rename(ByteString, ByteString),
}

impl Edit {
    /// Applies the edit to `files` and answers what that takes on a disk.
    pub fn apply(&self, files: &mut Files) -> Vec<Change> {
        let mut changes = Vec::new();
        match self {
            Edit::Write { path, content, executable } => {
                let content = Content::from(&content[..]);
                let node = Node::File { content, executable: *executable, readable: true };
                make(files, path, node, &mut changes);
            }
            Edit::Link { path, target } => {
                make(files, path, Node::Link { target: Content::from(&target[..]) }, &mut changes);
            }
            Edit::MakeSpecial { path } => make(files, path, Node::Special, &mut changes),
            Edit::MakeDirectory { path } => {
                if !files.is_directory(path) {
                    make(files, path, Node::Directory, &mut changes);
                }
            }
            Edit::Remove { path } => remove(files, path, &mut changes),
            Edit::SetReadable { path, readable: wanted } => {
                set_readable(files, path, *wanted, &mut changes);
            }
            Edit::Rename { from, to } => rename(files, from, to, &mut changes),
        }
        changes
    }
}

fn remove(files: &mut Files, path: &ByteString, changes: &mut Vec<Change>) {
    if files.obstacle(path).is_none() && files.get(path).is_some() {
        files.remove(path);
        changes.push(Change::Remove(path.clone()));
    }
}

fn clear_the_way(files: &mut Files, path: &ByteString, changes: &mut Vec<Change>) {
    if let Some((obstacle, _)) = files.obstacle(path) {
        let obstacle = ByteString::from(obstacle);
        remove(files, &obstacle, changes);
    }
    remove(files, path, changes);
    for ancestor in crate::bytes::ancestors(path) {
        if files.get(ancestor).is_none() {
            files.insert(ancestor, Node::Directory);
            changes.push(Change::Make(ByteString::from(ancestor), Node::Directory));
        }
    }
}

fn make(files: &mut Files, path: &ByteString, node: Node, changes: &mut Vec<Change>) {
    clear_the_way(files, path, changes);
    files.insert(path, node.clone());
    changes.push(Change::Make(path.clone(), node));
}

fn set_readable(files: &mut Files, path: &ByteString, wanted: bool, changes: &mut Vec<Change>) {
    if files.obstacle(path).is_some() {
        return;
    }
    if let Some(Node::File { content, executable, .. }) = files.get(path).cloned() {
        files.insert(path, Node::File { content, executable, readable: wanted });
        changes.push(Change::SetReadable(path.clone(), wanted));
    }
}

fn rename(files: &mut Files, from: &ByteString, to: &ByteString, changes: &mut Vec<Change>) {
    let into_itself = from == to || crate::bytes::below(from, to).is_some();
    let over_itself = crate::bytes::below(to, from).is_some();
    if into_itself || over_itself || files.obstacle(from).is_some() {
        return;
    }
    let Some(node) = files.get(from).cloned() else {
        return;
    };
    clear_the_way(files, to, changes);
    // Clearing the way may have taken the source with it, when an obstacle was its ancestor.
    if files.get(from).is_none() {
        return;
    }
    let moved: Vec<(ByteString, Node)> = files
        .below(from)
        .map(|(path, node)| (ByteString([to, &path[from.len()..]].concat()), node.clone()))
        .collect();
    files.remove(from);
    files.insert(to, node);
    for (path, node) in moved {
        files.insert(&path, node);
    }
    changes.push(Change::Rename(from.clone(), to.clone()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn file(content: &str) -> Node {
        let content = Content::from(content.as_bytes());
        Node::File { content, executable: false, readable: true }
    }

    fn write(path: &str, content: &str) -> Edit {
        Edit::Write { path: path.into(), content: content.into(), executable: false }
    }

    fn rename(from: &str, to: &str) -> Edit {
        Edit::Rename { from: from.into(), to: to.into() }
    }

    /// A world with `a/b/f`, `a/g` and `c`.
    fn files() -> Files {
        let mut files = Files::default();
        for (path, content) in [("a/b/f", "f"), ("a/g", "g"), ("c", "c")] {
            write(path, content).apply(&mut files);
        }
        files
    }

    fn paths(files: &Files) -> Vec<String> {
        files.iter().map(|(path, _)| path.to_string()).collect()
    }

    /// Applies the edit to [`files`] and gives the paths and the changes.
    fn applied(edit: &Edit) -> (Vec<String>, Vec<Change>) {
        let mut files = files();
        let changes = edit.apply(&mut files);
        (paths(&files), changes)
    }

    fn leaves_all(edit: &Edit) {
        let mut edited = files();
        assert_eq!(edit.apply(&mut edited), [], "{edit:?}");
        assert_eq!(edited, files(), "{edit:?}");
    }

    #[test]
    fn a_write_clears_its_way_and_makes_the_directories_it_needs() {
        let (after, changes) = applied(&write("c/d/e", "e"));
        assert_eq!(after, ["a", "a/b", "a/b/f", "a/g", "c", "c/d", "c/d/e"]);
        assert_eq!(
            changes,
            [
                Change::Remove("c".into()),
                Change::Make("c".into(), Node::Directory),
                Change::Make("c/d".into(), Node::Directory),
                Change::Make("c/d/e".into(), file("e")),
            ]
        );
        let (after, changes) = applied(&write("a/b", "b"));
        assert_eq!(after, ["a", "a/b", "a/g", "c"]);
        assert_eq!(changes, [Change::Remove("a/b".into()), Change::Make("a/b".into(), file("b"))]);
    }

    #[test]
    fn every_kind_of_node_is_made_as_asked() {
        let target = Content::from(&b"to"[..]);
        for (edit, node) in [
            (Edit::Link { path: "n".into(), target: "to".into() }, Node::Link { target }),
            (Edit::MakeSpecial { path: "n".into() }, Node::Special),
            (Edit::MakeDirectory { path: "n".into() }, Node::Directory),
        ] {
            let mut files = files();
            assert_eq!(edit.apply(&mut files), [Change::Make("n".into(), node.clone())]);
            assert_eq!(files.get(b"n"), Some(&node));
        }
        leaves_all(&Edit::MakeDirectory { path: "a/b".into() });
        let (after, _) = applied(&Edit::MakeDirectory { path: "c".into() });
        assert_eq!(after, ["a", "a/b", "a/b/f", "a/g", "c"]);
    }

    #[test]
    fn a_removal_takes_what_is_there_and_nothing_behind_an_obstacle() {
        let (after, changes) = applied(&Edit::Remove { path: "a/b".into() });
        assert_eq!(after, ["a", "a/g", "c"]);
        assert_eq!(changes, [Change::Remove("a/b".into())]);
        leaves_all(&Edit::Remove { path: "none".into() });
        leaves_all(&Edit::Remove { path: "c/below".into() });
    }

    #[test]
    fn only_a_file_loses_and_regains_the_right_to_be_read() {
        let mut files = files();
        for readable in [false, true] {
            let edit = Edit::SetReadable { path: "c".into(), readable };
            assert_eq!(edit.apply(&mut files), [Change::SetReadable("c".into(), readable)]);
            let content = Content::from(&b"c"[..]);
            let expected = Node::File { content, executable: false, readable };
            assert_eq!(files.get(b"c"), Some(&expected));
        }
        for path in ["a", "none", "c/below"] {
            leaves_all(&Edit::SetReadable { path: path.into(), readable: false });
        }
    }

    #[test]
    fn a_rename_moves_a_directory_with_all_of_it() {
        let mut files = files();
        let changes = rename("a/b", "c/d").apply(&mut files);
        assert_eq!(paths(&files), ["a", "a/g", "c", "c/d", "c/d/f"]);
        assert_eq!(files.get(b"c/d/f"), Some(&file("f")));
        assert_eq!(
            changes,
            [
                Change::Remove("c".into()),
                Change::Make("c".into(), Node::Directory),
                Change::Rename("a/b".into(), "c/d".into()),
            ]
        );
        let (after, _) = applied(&rename("a/g", "c"));
        assert_eq!(after, ["a", "a/b", "a/b/f", "c"]);
    }

    #[test]
    fn a_rename_into_or_over_itself_or_of_nothing_does_nothing() {
        for (from, to) in
            [("a", "a"), ("a", "a/x"), ("a/b", "a"), ("none", "c"), ("c/below", "a"), ("c", "c/d")]
        {
            leaves_all(&rename(from, to));
        }
    }
}
