//! Edits: what a person or an agent's tool does to files between requests.
//!
//! An edit always succeeds: whatever is in its way is removed, so every edit is legal in every state.
//! The model translates it into plain [`Change`]s, and the runner carries out exactly those, so that
//! an edit has one meaning only.

use crate::bytes::ByteString;
use crate::files::{Files, Node, SpecialKind};
use serde::{Deserialize, Serialize};

/// The owner may read, write and enter a directory.
const OWNER: u32 = 0o700;

/// One edit of the world's files; paths are relative to the world's root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Edit {
    /// Writes a file.
    Write {
        /// The file.
        path: ByteString,
        /// All of its bytes.
        #[serde(with = "crate::content")]
        content: ByteString,
        /// Whether its owner may execute it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        executable: bool,
    },
    /// Overwrites a file in place and resets its modification time, as tools do that preserve times; no
    /// effect on anything else. Its other hard links keep the old content.
    Rewrite {
        /// The file.
        path: ByteString,
        /// All of its bytes.
        #[serde(with = "crate::content")]
        content: ByteString,
    },
    /// Removes a file, or a directory with everything in it.
    Remove {
        /// The file or directory.
        path: ByteString,
    },
    /// Writes small files into a directory, which is made if needed; the name and the content of each is its
    /// number, beginning with 1.
    Fill {
        /// The directory.
        path: ByteString,
        /// How many files.
        files: u32,
    },
    /// Makes a directory.
    MakeDirectory {
        /// The directory.
        path: ByteString,
    },
    /// Makes a symbolic link.
    Link {
        /// The link.
        path: ByteString,
        /// Its target, as written.
        target: ByteString,
    },
    /// Makes a socket or fifo.
    MakeSpecial {
        /// The socket or fifo.
        path: ByteString,
        /// Which of the two.
        #[serde(default, skip_serializing_if = "SpecialKind::is_default")]
        kind: SpecialKind,
    },
    /// Revokes or grants the owner's right to read a file; no effect on anything else.
    SetReadable {
        /// The file.
        path: ByteString,
        /// The right.
        readable: bool,
    },
    /// Sets the permission bits of a file; no effect on anything else. Its other hard links keep theirs.
    SetPermissions {
        /// The file.
        path: ByteString,
        /// The bits, as three octal digits.
        #[serde(with = "crate::files::permissions::octal")]
        bits: u32,
    },
    /// Sets the permission bits of a directory; no effect on anything else.
    SetFolderPermissions {
        /// The directory.
        path: ByteString,
        /// The bits, as three octal digits. The owner may read, write and enter: otherwise the result would
        /// depend on the user who runs the history.
        #[serde(with = "crate::files::permissions::octal")]
        bits: u32,
    },
    /// Revokes or grants the owner's right to list a directory; no effect on anything else.
    SetFolderReadable {
        /// The directory.
        path: ByteString,
        /// The right.
        readable: bool,
    },
    /// Makes a hard link to a file; no effect when there is no file.
    HardLink {
        /// The new name.
        path: ByteString,
        /// The existing file.
        to: ByteString,
    },
    /// Moves a file or directory; no effect when it does not exist or would move into itself.
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
    /// Make the node at the path; the parent exists, the path is free.
    Make(ByteString, Node),
    /// Write the bytes into the file at the path, which keeps its modification time.
    Rewrite(ByteString, ByteString),
    /// Set whether the owner may read the file at the path.
    SetReadable(ByteString, bool),
    /// Set the permission bits of the file or directory at the path.
    SetPermissions(ByteString, u32),
    /// Make a hard link at the first path, which is free, to the file at the second.
    HardLink(ByteString, ByteString),
    /// Move the first path to the second; its parent exists, the second path is free.
    Rename(ByteString, ByteString),
}

/// The paths of an edit, by shared or by mutable reference as the edit is borrowed.
macro_rules! paths_of {
    ($edit:expr) => {
        match $edit {
            Edit::Rename { from, to } => vec![from, to],
            Edit::HardLink { path, to } => vec![path, to],
            Edit::Write { path, .. }
            | Edit::Rewrite { path, .. }
            | Edit::Remove { path }
            | Edit::Fill { path, .. }
            | Edit::MakeDirectory { path }
            | Edit::Link { path, .. }
            | Edit::MakeSpecial { path, .. }
            | Edit::SetReadable { path, .. }
            | Edit::SetPermissions { path, .. }
            | Edit::SetFolderPermissions { path, .. }
            | Edit::SetFolderReadable { path, .. } => vec![path],
        }
    };
}

impl Edit {
    /// The paths of the edit, except the target of a symbolic link.
    pub fn paths(&self) -> Vec<&ByteString> {
        paths_of!(self)
    }

    /// The same paths, mutable.
    pub fn paths_mut(&mut self) -> Vec<&mut ByteString> {
        paths_of!(self)
    }

    /// Applies the edit to `files` and returns the changes to make on a disk.
    pub fn apply(&self, files: &mut Files) -> Vec<Change> {
        let mut changes = Vec::new();
        match self {
            Edit::Write { path, content, executable } => {
                let content = content.clone();
                let node = Node::File { content, executable: *executable, readable: true };
                make(files, path, node, &mut changes);
            }
            Edit::Rewrite { path, content } => {
                rewrite(files, path, content.clone(), &mut changes);
            }
            Edit::Link { path, target } => {
                make(files, path, Node::Link { target: target.clone() }, &mut changes);
            }
            Edit::MakeSpecial { path, kind } => {
                make(files, path, Node::Special(*kind), &mut changes);
            }
            Edit::Fill { path, files: count } => {
                for number in 1..=*count {
                    let content = ByteString::from(&*number.to_string());
                    let path = ByteString::from(crate::bytes::join(path, &content));
                    let node = Node::File { content, executable: false, readable: true };
                    make(files, &path, node, &mut changes);
                }
            }
            Edit::MakeDirectory { path } => {
                if !files.is_directory(path) {
                    make(files, path, Node::Directory, &mut changes);
                }
            }
            Edit::Remove { path } => remove(files, path, &mut changes),
            Edit::SetReadable { path, readable } => {
                set_readable(files, path, *readable, &mut changes);
            }
            Edit::SetPermissions { path, bits } => {
                if files.obstacle(path).is_none() && files.permissions(path).is_some() {
                    files.set_permissions(path, *bits);
                    changes.push(Change::SetPermissions(path.clone(), *bits));
                }
            }
            Edit::SetFolderPermissions { path, bits } => {
                set_folder_permissions(files, path, |_| *bits | OWNER, &mut changes);
            }
            Edit::SetFolderReadable { path, readable } => {
                let bits = |bits| if *readable { bits | 0o400 } else { bits & !0o444 };
                set_folder_permissions(files, path, bits, &mut changes);
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

fn remove_obstacles(files: &mut Files, path: &ByteString, changes: &mut Vec<Change>) {
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
    remove_obstacles(files, path, changes);
    files.insert(path, node.clone());
    changes.push(Change::Make(path.clone(), node));
}

fn rewrite(files: &mut Files, path: &ByteString, content: ByteString, changes: &mut Vec<Change>) {
    if files.obstacle(path).is_some() {
        return;
    }
    if let (Some(bits), Some(Node::File { executable, readable, .. })) =
        (files.permissions(path), files.get(path).cloned())
    {
        files.insert(path, Node::File { content: content.clone(), executable, readable });
        files.set_permissions(path, bits);
        changes.push(Change::Rewrite(path.clone(), content));
    }
}

fn set_readable(files: &mut Files, path: &ByteString, readable: bool, changes: &mut Vec<Change>) {
    if files.obstacle(path).is_some() {
        return;
    }
    if let Some(bits) = files.permissions(path) {
        files.set_permissions(path, if readable { bits | 0o400 } else { bits & !0o444 });
        changes.push(Change::SetReadable(path.clone(), readable));
    }
}

/// Gives a folder other permission bits, which `change` returns for its present bits.
fn set_folder_permissions(
    files: &mut Files,
    path: &ByteString,
    change: impl Fn(u32) -> u32,
    changes: &mut Vec<Change>,
) {
    let bits = files.folder_permissions(path).filter(|_| files.obstacle(path).is_none());
    if let Some(bits) = bits.filter(|_| !path.is_empty()).map(change) {
        files.set_folder_permissions(path, bits);
        changes.push(Change::SetPermissions(path.clone(), bits));
    }
}

fn hard_link(files: &mut Files, path: &ByteString, to: &ByteString, changes: &mut Vec<Change>) {
    let is_file = |files: &Files| files.obstacle(to).is_none() && files.permissions(to).is_some();
    if path == to || !is_file(files) {
        return;
    }
    remove_obstacles(files, path, changes);
    // Removing what was in the way may have removed the file, too.
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
    remove_obstacles(files, to, changes);
    // Removing what was in the way may have removed the source, too, when an obstacle was its ancestor.
    let Some(node) = files.get(from).cloned() else {
        return;
    };
    let bits = |path: &[u8]| files.permissions(path).or_else(|| files.folder_permissions(path));
    let outermost = (to.clone(), node, bits(from));
    let inner = files.below(from).map(|(path, node)| {
        let destination = ByteString::from([to, &path[from.len()..]].concat());
        (destination, node.clone(), bits(path))
    });
    let moved: Vec<_> = std::iter::once(outermost).chain(inner).collect();
    files.remove(from);
    for (path, node, bits) in moved {
        files.insert(&path, node);
        if let Some(bits) = bits {
            files.set_permissions(&path, bits);
            files.set_folder_permissions(&path, bits);
        }
    }
    changes.push(Change::Rename(from.clone(), to.clone()));
}

#[cfg(test)]
mod tests;
