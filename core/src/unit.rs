//! Units: files of one folder that are consistent only together, such as a database and its journal. A
//! checkpoint holds all of them or none, and a restore changes all of them or none.
//!
//! This module recognizes the kinds of units by file names and the first bytes of files alone. The
//! callers read, capture and restore the files. A new kind is a new row of [`KINDS`].

use crate::path::{join, name_of, shown};
use std::collections::BTreeSet;

/// The number of bytes at the beginning of a file that are enough to recognize every kind.
pub const HEAD_BYTES: u64 = 64;

/// The role of a file in its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The unit cannot be opened without it.
    Anchor,
    /// Holds a part of the unit's content.
    Member,
    /// Rebuilt from the members when a process opens the unit: never captured and never restored.
    Derived,
}

/// The range of bytes of a file that a process locks while it uses the unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedBytes {
    /// The name of the file.
    pub name: Vec<u8>,
    /// The offset of the first byte.
    pub start: u64,
    /// The number of bytes; 0 means up to the end of the file.
    pub length: u64,
}

/// Returns the first bytes of the regular file of that name in the folder, `None` if there is no such
/// file.
pub type Head<'a> = &'a mut dyn FnMut(&[u8]) -> Option<Vec<u8>>;

/// A kind of unit. Units of one kind in the same folder differ by their stem, a file name or empty.
struct Kind {
    /// The stem of the unit that a file name suggests.
    suggests: fn(&[u8]) -> Option<&[u8]>,
    /// Whether the unit of that stem exists.
    exists: fn(&[u8], Head<'_>) -> bool,
    /// The name of the file without which the unit cannot be opened.
    anchor: fn(&[u8]) -> &[u8],
    /// The role of a file (second argument) in the unit of that stem (first argument).
    role: fn(&[u8], &[u8]) -> Option<Role>,
    /// All file names that can have a role; `None` where they cannot be enumerated.
    names: fn(&[u8]) -> Option<Vec<Vec<u8>>>,
    /// Whether members of these names can be a complete unit.
    is_complete: fn(&[u8], &BTreeSet<&[u8]>) -> bool,
    /// The bytes that a process locks while it uses the unit.
    locked: fn(&[u8]) -> LockedBytes,
}

const KINDS: [Kind; 2] = [
    Kind {
        suggests: |name| SQLITE_ENDINGS.iter().find_map(|ending| name.strip_suffix(*ending)),
        exists: is_sqlite,
        anchor: |stem| stem,
        role: |stem, name| match name.strip_prefix(stem)? {
            b"" => Some(Role::Anchor),
            b"-wal" | b"-journal" => Some(Role::Member),
            b"-shm" => Some(Role::Derived),
            _ => None,
        },
        names: |stem| {
            let endings = std::iter::once(&b""[..]).chain(SQLITE_ENDINGS);
            Some(endings.map(|ending| [stem, ending].concat()).collect())
        },
        is_complete: |stem, names| names.contains(stem),
        // The lock bytes of SQLite: pending, reserved, and 510 shared ones.
        locked: |stem| LockedBytes { name: stem.to_vec(), start: 0x4000_0000, length: 512 },
    },
    Kind {
        suggests: |name| (name == CURRENT).then_some(b""),
        exists: |_, head| {
            let manifest = head(CURRENT).and_then(|text| manifest_in(&text).map(<[u8]>::to_vec));
            manifest.is_some_and(|manifest| head(&manifest).is_some())
        },
        anchor: |_| CURRENT,
        role: |_, name| match name {
            CURRENT => Some(Role::Anchor),
            _ => is_level_db_member(name).then_some(Role::Member),
        },
        names: |_| None,
        // LevelDB writes a journal when it first opens a database; some checkpoints leave out `*.log`.
        is_complete: |_, names| {
            names.contains(CURRENT) && names.iter().any(|name| is_numbered(name, b"", b".log"))
        },
        locked: |_| LockedBytes { name: b"LOCK".to_vec(), start: 0, length: 0 },
    },
];

const SQLITE_ENDINGS: [&[u8]; 3] = [b"-wal", b"-journal", b"-shm"];
const CURRENT: &[u8] = b"CURRENT";

fn is_sqlite(stem: &[u8], head: Head<'_>) -> bool {
    let mut begins = |ending: &[u8], openings: &[&[u8]]| {
        let head = head(&[stem, ending].concat());
        head.is_some_and(|head| openings.iter().any(|opening| head.starts_with(opening)))
    };
    begins(b"", &[b"SQLite format 3\0"])
        || begins(b"-wal", &[b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"])
        || begins(b"-journal", &[b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"])
}

/// The name of the manifest that a file CURRENT with this text points to.
fn manifest_in(text: &[u8]) -> Option<&[u8]> {
    text.strip_suffix(b"\n").filter(|name| is_numbered(name, b"MANIFEST-", b""))
}

fn is_level_db_member(name: &[u8]) -> bool {
    let endings: [&[u8]; 3] = [b".log", b".ldb", b".sst"];
    name == b"IDENTITY"
        || is_numbered(name, b"MANIFEST-", b"")
        || is_numbered(name, b"OPTIONS-", b"")
        || endings.iter().any(|ending| is_numbered(name, b"", ending))
}

fn is_numbered(name: &[u8], prefix: &[u8], suffix: &[u8]) -> bool {
    let number = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
    number.is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
}

/// A unit of a project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unit {
    /// The folder of its files, relative to the project.
    pub folder: Vec<u8>,
    kind: usize,
    stem: Vec<u8>,
}

impl Unit {
    /// The units of a folder. `names` are all file names that may suggest a unit; `head` reads files of the
    /// folder and is called only for units that a name suggests.
    pub fn of_folder<'a>(
        folder: &[u8],
        names: impl IntoIterator<Item = &'a [u8]>,
        head: Head<'_>,
    ) -> BTreeSet<Unit> {
        let mut suggested = BTreeSet::new();
        for name in names {
            suggested.extend(Unit::suggested_by(folder, name));
        }
        suggested.retain(|unit| (KINDS[unit.kind].exists)(&unit.stem, head));
        suggested
    }

    /// The units that a file name suggests.
    fn suggested_by(folder: &[u8], name: &[u8]) -> impl Iterator<Item = Unit> {
        let unit = |(kind, stem): (usize, &[u8])| Unit {
            folder: folder.to_vec(),
            kind,
            stem: stem.to_vec(),
        };
        let suggests = |(number, kind): (usize, &Kind)| Some((number, (kind.suggests)(name)?));
        KINDS.iter().enumerate().filter_map(suggests).map(unit)
    }

    /// The role in this unit of a file of that name in the unit's folder.
    pub fn role(&self, name: &[u8]) -> Option<Role> {
        (KINDS[self.kind].role)(&self.stem, name)
    }

    /// The role of the file at that path in this unit.
    pub fn role_of(&self, path: &[u8]) -> Option<Role> {
        let inside = match self.folder[..] {
            [] => Some(path),
            _ => path.strip_prefix(&self.folder[..]).and_then(|rest| rest.strip_prefix(b"/")),
        };
        inside.filter(|name| !name.contains(&b'/')).and_then(|name| self.role(name))
    }

    /// All file names that can have a role; `None` where only listing the folder finds them.
    pub fn names(&self) -> Option<Vec<Vec<u8>>> {
        (KINDS[self.kind].names)(&self.stem)
    }

    /// Whether members at these paths can be the complete unit.
    pub fn is_complete<'a>(&self, members: impl IntoIterator<Item = &'a [u8]>) -> bool {
        let names: BTreeSet<&[u8]> = members.into_iter().map(name_of).collect();
        (KINDS[self.kind].is_complete)(&self.stem, &names)
    }

    /// The path of the file without which the unit cannot be opened.
    pub fn anchor(&self) -> Vec<u8> {
        join(&self.folder, (KINDS[self.kind].anchor)(&self.stem))
    }

    /// The bytes that a process locks while it uses the unit.
    pub fn locked(&self) -> LockedBytes {
        (KINDS[self.kind].locked)(&self.stem)
    }

    /// The path that names the unit in messages: that of its main file, or of its folder, which is empty for
    /// the project's own folder.
    pub fn path(&self) -> Vec<u8> {
        if self.stem.is_empty() { self.folder.clone() } else { join(&self.folder, &self.stem) }
    }

    /// A sentence about a member: names the unit that it belongs to, and continues with `end`.
    pub fn part(&self, end: &str) -> String {
        match self.path()[..] {
            [] => format!("part of the database in the project's top folder, {end}"),
            ref path => format!("part of the database {}, {end}", shown(path)),
        }
    }
}

/// The end of a sentence about a unit that says what is wrong with one member.
pub fn whose(member: &[u8], problem: &str) -> String {
    format!("whose {} {problem}", shown(member))
}

/// Whether a file name suggests a unit. Where no name does, no file needs to be read.
pub fn suggests(name: &[u8]) -> bool {
    KINDS.iter().any(|kind| (kind.suggests)(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const WAL: &[u8] = b"\x37\x7f\x06\x82 and more";
    const JOURNAL: &[u8] = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7 and more";
    const MAIN: &[u8] = b"SQLite format 3\0 and more";

    /// The paths of the units among these files of a folder, and the names of the files that were read.
    fn found(files: &[(&str, &[u8])]) -> (Vec<String>, Vec<String>) {
        let files: BTreeMap<&[u8], &[u8]> =
            files.iter().map(|(name, text)| (name.as_bytes(), *text)).collect();
        let mut read = Vec::new();
        let mut head = |name: &[u8]| {
            let text = files.get(name).map(|text| text.to_vec());
            read.extend(text.is_some().then(|| String::from_utf8(name.to_vec()).unwrap()));
            text
        };
        let units = Unit::of_folder(b"d", files.keys().copied(), &mut head);
        (units.iter().map(|unit| String::from_utf8(unit.path()).unwrap()).collect(), read)
    }

    #[test]
    fn of_folder_recognizes_sqlite_by_content_where_a_name_suggests_it() {
        for files in [
            &[("a.db", MAIN), ("a.db-wal", b"")][..],
            &[("a.db", MAIN), ("a.db-shm", b"")],
            &[("a.db", b"other"), ("a.db-wal", WAL)],
            &[("a.db-journal", JOURNAL)],
            &[("a.db", b""), ("a.db-journal", JOURNAL)],
        ] {
            assert_eq!(found(files).0, ["d/a.db"], "{files:?}");
        }
        for files in [
            &[("a.db", MAIN)][..],
            &[("a.db", MAIN), ("b.db-wal", b"x"), ("a.db-old", WAL)],
            &[("notes", b"text"), ("notes-journal", b"more text")],
            &[("a.db", b"SQLite format 3"), ("a.db-journal", b"\0\0\0\0\0\0\0\0")],
        ] {
            assert!(found(files).0.is_empty(), "{files:?}");
        }
        assert!(found(&[("a.db", MAIN), ("b.db", MAIN), ("CURRENT.txt", b"")]).1.is_empty());
    }

    #[test]
    fn of_folder_recognizes_level_db_where_current_names_an_existing_manifest() {
        let current = ("CURRENT", &b"MANIFEST-000005\n"[..]);
        assert_eq!(found(&[current, ("MANIFEST-000005", b"x")]).0, ["d"]);
        for files in [
            &[current][..],
            &[current, ("MANIFEST-000004", b"x")],
            &[("CURRENT", b"MANIFEST-000005"), ("MANIFEST-000005", b"x")],
            &[("CURRENT", b"MANIFEST-\n"), ("MANIFEST-", b"x")],
            &[("CURRENT", b"the current one\n"), ("MANIFEST-000005", b"x")],
        ] {
            assert!(found(files).0.is_empty(), "{files:?}");
        }
    }

    #[test]
    fn role_of_is_none_for_files_outside_the_folder_of_the_unit() {
        let unit =
            |kind, stem: &str| Unit { folder: b"d".to_vec(), kind, stem: stem.as_bytes().to_vec() };
        let sqlite = unit(0, "a.db");
        let level = unit(1, "");
        for (unit, path, role) in [
            (&sqlite, "d/a.db", Some(Role::Anchor)),
            (&sqlite, "d/a.db-wal", Some(Role::Member)),
            (&sqlite, "d/a.db-journal", Some(Role::Member)),
            (&sqlite, "d/a.db-shm", Some(Role::Derived)),
            (&sqlite, "d/a.db-wal2", None),
            (&sqlite, "a.db", None),
            (&sqlite, "d/e/a.db", None),
            (&level, "d/CURRENT", Some(Role::Anchor)),
            (&level, "d/MANIFEST-000001", Some(Role::Member)),
            (&level, "d/000003.log", Some(Role::Member)),
            (&level, "d/000004.ldb", Some(Role::Member)),
            (&level, "d/000004.sst", Some(Role::Member)),
            (&level, "d/OPTIONS-000007", Some(Role::Member)),
            (&level, "d/IDENTITY", Some(Role::Member)),
            (&level, "d/LOG", None),
            (&level, "d/LOG.old", None),
            (&level, "d/LOCK", None),
            (&level, "d/server.log", None),
            (&level, "d/.log", None),
            (&level, "dd/000003.log", None),
        ] {
            assert_eq!(unit.role_of(path.as_bytes()), role, "{path}");
        }
    }

    #[test]
    fn is_complete_requires_the_anchor_and_for_level_db_a_journal() {
        let complete = |kind, stem: &str, names: &[&str]| {
            let unit = Unit { folder: Vec::new(), kind, stem: stem.as_bytes().to_vec() };
            unit.is_complete(names.iter().map(|name| name.as_bytes()))
        };
        assert!(complete(0, "a.db", &["a.db"]) && complete(0, "a.db", &["a.db", "a.db-wal"]));
        assert!(!complete(0, "a.db", &["a.db-wal"]) && !complete(0, "a.db", &["a.db-journal"]));
        assert!(complete(1, "", &["CURRENT", "MANIFEST-000001", "000003.log"]));
        assert!(!complete(1, "", &["CURRENT", "MANIFEST-000001", "000004.ldb"]));
        assert!(!complete(1, "", &["MANIFEST-000001", "000003.log"]));
    }
}
