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
    /// Writes other bytes into a file where it stands, and sets its time of modification back, as
    /// tools do that keep times; nothing for anything else. Its other names keep theirs.
    Rewrite {
        /// Which file.
        path: ByteString,
        /// All of its bytes.
        #[serde(with = "crate::content")]
        content: ByteString,
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
    /// Gives a file these permission bits; nothing for anything else. Its other names keep theirs.
    SetPermissions {
        /// Which file.
        path: ByteString,
        /// The bits, as three octal digits.
        #[serde(with = "crate::files::permissions::octal")]
        bits: u32,
    },
    /// Makes another name of a file; nothing when there is no file.
    HardLink {
        /// Where.
        path: ByteString,
        /// The name that it has.
        to: ByteString,
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
    /// Write these bytes into the file at the path, which keeps its time of modification.
    Rewrite(ByteString, Content),
    /// Give the file at the path this right to be read.
    SetReadable(ByteString, bool),
    /// Give the file at the path these permission bits.
    SetPermissions(ByteString, u32),
    /// Make the first path, which is free, another name of the file at the second.
    HardLink(ByteString, ByteString),
    /// Move what stands at the first path to the second; the parent is there, the path is free.
    Rename(ByteString, ByteString),
}

/// The paths of an edit, to read or to change as it is borrowed.
macro_rules! paths_of {
    ($edit:expr) => {
        match $edit {
            Edit::Rename { from, to } => vec![from, to],
            Edit::HardLink { path, to } => vec![path, to],
            Edit::Write { path, .. }
            | Edit::Rewrite { path, .. }
            | Edit::Remove { path }
            | Edit::MakeDirectory { path }
            | Edit::Link { path, .. }
            | Edit::MakeSpecial { path }
            | Edit::SetReadable { path, .. }
            | Edit::SetPermissions { path, .. } => vec![path],
        }
    };
}

impl Edit {
    /// The paths that it is about, but for what a symbolic link points at.
    pub fn paths(&self) -> Vec<&ByteString> {
        paths_of!(self)
    }

    /// The same, to change them.
    pub fn paths_mut(&mut self) -> Vec<&mut ByteString> {
        paths_of!(self)
    }

    /// Applies the edit to `files` and answers what that takes on a disk.
    pub fn apply(&self, files: &mut Files) -> Vec<Change> {
        let mut changes = Vec::new();
        match self {
            Edit::Write { path, content, executable } => {
                let content = Content::from(&content[..]);
                let node = Node::File { content, executable: *executable, readable: true };
                make(files, path, node, &mut changes);
            }
            Edit::Rewrite { path, content } => {
                rewrite(files, path, Content::from(&content[..]), &mut changes);
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
            Edit::SetPermissions { path, bits } => {
                if files.obstacle(path).is_none() && files.permissions(path).is_some() {
                    files.set_permissions(path, *bits);
                    changes.push(Change::SetPermissions(path.clone(), *bits));
                }
            }
            Edit::HardLink { path, to } => hard_link(files, path, to, &mut changes),
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

fn rewrite(files: &mut Files, path: &ByteString, new: Content, changes: &mut Vec<Change>) {
    if files.obstacle(path).is_some() {
        return;
    }
    if let (Some(bits), Some(Node::File { executable, readable, .. })) =
        (files.permissions(path), files.get(path).cloned())
    {
        files.insert(path, Node::File { content: new.clone(), executable, readable });
        files.set_permissions(path, bits);
        changes.push(Change::Rewrite(path.clone(), new));
    }
}

fn set_readable(files: &mut Files, path: &ByteString, wanted: bool, changes: &mut Vec<Change>) {
    if files.obstacle(path).is_some() {
        return;
    }
    if let Some(bits) = files.permissions(path) {
        files.set_permissions(path, if wanted { bits | 0o400 } else { bits & !0o444 });
        changes.push(Change::SetReadable(path.clone(), wanted));
    }
}

fn hard_link(files: &mut Files, path: &ByteString, to: &ByteString, changes: &mut Vec<Change>) {
    let is_file = |files: &Files| files.obstacle(to).is_none() && files.permissions(to).is_some();
    if path == to || !is_file(files) {
        return;
    }
    clear_the_way(files, path, changes);
    // Clearing the way may have taken the file with it.
    if let (Some(node), Some(bits)) = (files.get(to).cloned(), files.permissions(to)) {
        files.insert(path, node);
        files.set_permissions(path, bits);
        changes.push(Change::HardLink(path.clone(), to.clone()));
    }
}

fn rename(files: &mut Files, from: &ByteString, to: &ByteString, changes: &mut Vec<Change>) {
    let into_itself = from == to || crate::bytes::below(from, to).is_some();
    let over_itself = crate::bytes::below(to, from).is_some();
    if into_itself || over_itself || files.obstacle(from).is_some() {
        return;
    }
    if files.get(from).is_none() {
        return;
    }
    clear_the_way(files, to, changes);
    // Clearing the way may have taken the source with it, when an obstacle was its ancestor.
    let Some(node) = files.get(from).cloned() else {
        return;
    };
    let outermost = (to.clone(), node, files.permissions(from));
    let inner = files.below(from).map(|(path, node)| {
        let place = ByteString([to, &path[from.len()..]].concat());
        (place, node.clone(), files.permissions(path))
    });
    let moved: Vec<_> = std::iter::once(outermost).chain(inner).collect();
    files.remove(from);
    for (path, node, bits) in moved {
        files.insert(&path, node);
        if let Some(bits) = bits {
            files.set_permissions(&path, bits);
        }
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
    fn an_edit_is_about_each_path_that_it_names() {
        for (edit, paths) in [
            (write("a", ""), vec!["a"]),
            (rename("a", "b"), vec!["a", "b"]),
            (Edit::HardLink { path: "a".into(), to: "b".into() }, vec!["a", "b"]),
        ] {
            let named: Vec<_> = edit.paths().iter().map(|path| path.to_string()).collect();
            assert_eq!(named, paths);
        }
    }

    #[test]
    fn only_a_file_is_rewritten_and_its_permissions_stay() {
        let mut files = files();
        files.set_permissions(b"c", 0o750);
        let rewrite = |path: &str| Edit::Rewrite { path: path.into(), content: "new".into() };
        let content = Content::from(&b"new"[..]);
        let changes = rewrite("c").apply(&mut files);
        assert_eq!(changes, [Change::Rewrite("c".into(), content.clone())]);
        let expected = Node::File { content, executable: true, readable: true };
        assert_eq!((files.get(b"c"), files.permissions(b"c")), (Some(&expected), Some(0o750)));
        for path in ["a", "none", "c/below"] {
            leaves_all(&rewrite(path));
        }
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
    fn only_a_file_gets_other_permissions_and_takes_them_along() {
        let set = |path: &str| Edit::SetPermissions { path: path.into(), bits: 0o600 };
        let mut files = files();
        assert_eq!(set("a/g").apply(&mut files), [Change::SetPermissions("a/g".into(), 0o600)]);
        rename("a", "d").apply(&mut files);
        assert_eq!(files.permissions(b"d/g"), Some(0o600));
        rename("d/g", "e").apply(&mut files);
        assert_eq!(files.permissions(b"e"), Some(0o600));
        write("e", "again").apply(&mut files);
        assert_eq!(files.permissions(b"e"), Some(0o644));
        for path in ["a", "none", "c/below"] {
            leaves_all(&set(path));
        }
    }

    #[test]
    fn another_name_has_all_of_its_file_and_nothing_else_has_one() {
        let link = |path: &str, to: &str| Edit::HardLink { path: path.into(), to: to.into() };
        let mut files = files();
        files.set_permissions(b"c", 0o600);
        let changes = link("a/b", "c").apply(&mut files);
        let made = Change::HardLink("a/b".into(), "c".into());
        assert_eq!(changes, [Change::Remove("a/b".into()), made]);
        assert_eq!(files.get(b"a/b"), Some(&file("c")));
        assert_eq!(files.permissions(b"a/b"), Some(0o600));
        for (path, to) in [("c", "c"), ("c", "a"), ("c", "none"), ("c", "a/g/below")] {
            leaves_all(&link(path, to));
        }
        // What stood in the way was the file itself.
        let (after, changes) = applied(&link("a", "a/g"));
        assert_eq!((after, changes), (vec!["c".to_owned()], vec![Change::Remove("a".into())]));
        let (after, _) = applied(&link("c/d", "c"));
        assert_eq!(after, ["a", "a/b", "a/b/f", "a/g", "c"]);
    }

    #[test]
    fn permissions_are_written_as_three_octal_digits() {
        let edit = Edit::SetPermissions { path: "a".into(), bits: 0o40 };
        let text = serde_json::to_string(&edit).unwrap();
        assert_eq!(text, r#"{"set_permissions":{"path":"a","bits":"040"}}"#);
        assert_eq!(serde_json::from_str::<Edit>(&text).unwrap(), edit);
        for bits in ["", "8", "1000", "rw"] {
            let text = text.replace("040", bits);
            assert!(serde_json::from_str::<Edit>(&text).is_err(), "{bits}");
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
