//! Units: files that are consistent only together, such as a database and its journal.
//!
//! One table lists the kinds of units, which are recognized by content. A caller passes the paths of a tree
//! and gets its units; other modules decide how units are captured and restored.

use crate::bytes::{ByteString, file_name, join, parent};
use crate::files::{Files, Node};
use crate::tree::{Entry, Tree};
use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
mod tests;

/// The content of a path of a tree, as far as it is needed to recognize units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathContent<'a> {
    /// A regular file that can be read.
    Bytes(&'a [u8]),
    /// A regular file that cannot be read.
    Unreadable,
    /// A symbolic link or a special file.
    NotRegular,
}

/// Every path of one tree, without its directories.
pub type Paths<'a> = BTreeMap<&'a [u8], PathContent<'a>>;

/// The role of a file in its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is captured and restored with the others.
    Member,
    /// It is derived from the members: never captured, never restored.
    Derived,
}

/// One kind of unit: a row of [`KINDS`].
pub struct UnitKind {
    /// Its name.
    pub name: &'static str,
    /// The anchors of all units in a tree.
    anchors: fn(&Paths<'_>) -> BTreeSet<ByteString>,
    /// The role of a path in the unit with that anchor.
    role: fn(&[u8], &[u8]) -> Option<Role>,
    /// Whether a tree holds enough of the unit to restore it.
    is_complete: fn(&Paths<'_>, &[u8]) -> bool,
}

/// Every kind of unit.
pub static KINDS: &[UnitKind] = &[
    UnitKind {
        name: "SQLite",
        anchors: sqlite_anchors,
        role: |anchor, path| match path.strip_prefix(anchor)? {
            b"" | b"-wal" | b"-journal" => Some(Role::Member),
            b"-shm" => Some(Role::Derived),
            _ => None,
        },
        is_complete: |paths, anchor| paths.contains_key(anchor),
    },
    UnitKind {
        name: "LevelDB",
        anchors: |paths| {
            let folders = paths.keys().filter(|path| file_name(path) == b"CURRENT");
            let folders = folders.map(|path| parent(path));
            folders.filter(|folder| has_manifest(paths, folder)).map(ByteString::from).collect()
        },
        role: |anchor, path| {
            let is_inside = parent(path) == anchor && path.len() > anchor.len();
            (is_inside && is_level_name(file_name(path))).then_some(Role::Member)
        },
        // It has a log from the first time that it is opened, which some stores leave out.
        is_complete: |paths, anchor| {
            let is_log =
                |path: &&[u8]| parent(path) == anchor && is_numbered(file_name(path), b"", b".log");
            has_manifest(paths, anchor) && paths.keys().any(is_log)
        },
    },
];

/// One unit: its kind, and the path that names it.
#[derive(Clone)]
pub struct Unit {
    kind: &'static UnitKind,
    /// The database file, or the folder that holds the members.
    pub anchor: ByteString,
}

impl Unit {
    /// The role of a path in this unit.
    pub fn role(&self, path: &[u8]) -> Option<Role> {
        (self.kind.role)(&self.anchor, path)
    }

    /// Whether a path is a member.
    pub fn has(&self, path: &[u8]) -> bool {
        self.role(path) == Some(Role::Member)
    }

    /// Whether a tree holds enough of this unit to restore it.
    pub fn is_complete(&self, paths: &Paths<'_>) -> bool {
        (self.kind.is_complete)(paths, &self.anchor)
    }
}

impl PartialEq for Unit {
    fn eq(&self, right: &Self) -> bool {
        self.kind.name == right.kind.name && self.anchor == right.anchor
    }
}

impl std::fmt::Debug for Unit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.kind.name, self.anchor)
    }
}

/// Every unit of a tree.
pub fn units(paths: &Paths<'_>) -> Vec<Unit> {
    let of_kind = |kind: &'static UnitKind| {
        (kind.anchors)(paths).into_iter().map(move |anchor| Unit { kind, anchor })
    };
    KINDS.iter().flat_map(of_kind).collect()
}

/// Every unit among paths, of which the last counts if there are several of one name. Most paths are not
/// looked at twice: their names, and those of all others, show that they are in no unit.
pub fn units_among<'a>(
    paths: impl Iterator<Item = (&'a [u8], PathContent<'a>)> + Clone,
) -> Vec<Unit> {
    let databases: BTreeSet<&[u8]> = paths.clone().filter_map(|(path, _)| stem(path)).collect();
    let may_matter = |path: &[u8]| {
        stem(path).is_some() || databases.contains(path) || is_level_name(file_name(path))
    };
    units(&paths.filter(|(path, _)| may_matter(path)).collect())
}

/// The paths of a project of the world, relative to it.
pub fn paths_of_files<'a>(
    files: &'a Files,
    project: &'a [u8],
) -> impl Iterator<Item = (&'a [u8], PathContent<'a>)> + Clone {
    let relative = move |(full, node): (&'a ByteString, &'a Node)| {
        let content = match node {
            Node::Directory => return None,
            Node::File { content, readable: true, .. } => PathContent::Bytes(content),
            Node::File { .. } => PathContent::Unreadable,
            Node::Link { .. } | Node::Special(_) => PathContent::NotRegular,
        };
        Some((crate::bytes::below(project, full)?, content))
    };
    files.below(project).filter_map(relative)
}

/// The paths of a checkpoint.
pub fn paths_of_tree(tree: &Tree) -> impl Iterator<Item = (&[u8], PathContent<'_>)> + Clone {
    tree.iter().map(|(path, entry)| match entry {
        Entry::File { content, .. } => (&path[..], PathContent::Bytes(content)),
        Entry::Link { .. } => (&path[..], PathContent::NotRegular),
    })
}

/// The files that SQLite keeps alongside a database.
const SQLITE_SUFFIXES: [&[u8]; 3] = [b"-wal", b"-journal", b"-shm"];

/// The first bytes of the file with each suffix; the suffix of the database itself is empty.
const SQLITE_BEGINNINGS: [(&[u8], &[u8]); 4] = [
    (b"", b"SQLite format 3\0"),
    (b"-wal", &[0x37, 0x7f, 0x06, 0x82]),
    (b"-wal", &[0x37, 0x7f, 0x06, 0x83]),
    (b"-journal", &[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]),
];

/// The database that a file with one of these suffixes would belong to.
fn stem(path: &[u8]) -> Option<&[u8]> {
    SQLITE_SUFFIXES.iter().find_map(|end| path.strip_suffix(*end))
}

/// Checks content only where a file with one of the suffixes exists.
fn sqlite_anchors(paths: &Paths<'_>) -> BTreeSet<ByteString> {
    let candidates = paths.keys().filter_map(|path| stem(path)).map(ByteString::from);
    let is_recognized = |anchor: &ByteString| {
        let begins = |(suffix, beginning): &(&[u8], &[u8])| {
            let path = [anchor, *suffix].concat();
            matches!(paths.get(&path[..]), Some(PathContent::Bytes(bytes)) if bytes.starts_with(beginning))
        };
        let is_file = !matches!(paths.get(&anchor[..]), Some(PathContent::NotRegular));
        !file_name(anchor).is_empty() && is_file && SQLITE_BEGINNINGS.iter().any(begins)
    };
    candidates.filter(is_recognized).collect()
}

/// Whether a folder holds a `CURRENT` that names a manifest alongside.
fn has_manifest(paths: &Paths<'_>, folder: &[u8]) -> bool {
    let Some(PathContent::Bytes(current)) = paths.get(&join(folder, b"CURRENT")[..]) else {
        return false;
    };
    let Some(manifest) = current.strip_suffix(b"\n") else { return false };
    is_numbered(manifest, b"MANIFEST-", b"")
        && matches!(paths.get(&join(folder, manifest)[..]), Some(PathContent::Bytes(_)))
}

fn is_level_name(name: &[u8]) -> bool {
    [&b"CURRENT"[..], b"IDENTITY"].contains(&name)
        || is_numbered(name, b"MANIFEST-", b"")
        || is_numbered(name, b"OPTIONS-", b"")
        || [&b".log"[..], b".ldb", b".sst"].iter().any(|end| is_numbered(name, b"", end))
}

/// Whether a name is a decimal number between the prefix `before` and the suffix `after`.
fn is_numbered(name: &[u8], before: &[u8], after: &[u8]) -> bool {
    let number = name.strip_prefix(before).and_then(|name| name.strip_suffix(after));
    number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}
