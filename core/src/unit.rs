//! Units: files of one folder that are only right together, such as a database and its journal. A
//! checkpoint holds all of them or none, and a restore changes all of them or none.
//!
//! This is the table of their kinds, from names and the first bytes of files alone. Reading the files,
//! capturing and restoring them is up to the callers. The next kind is one row of [`KINDS`].

use crate::path::{join, name_of, shown};
use std::collections::BTreeSet;

/// No kind is recognized by more bytes than this.
pub const HEAD_BYTES: u64 = 64;

/// What a file is to its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The unit cannot be opened without it.
    Anchor,
    /// It is a part of what is stored in the unit.
    Member,
    /// Whoever opens the unit makes it anew from the members: it is never captured and never restored.
    Derived,
}

/// The bytes of a file that a process locks that uses the unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedBytes {
    /// The name of the file.
    pub name: Vec<u8>,
    /// The first of the bytes.
    pub start: u64,
    /// How many there are; 0 stands for all that follow.
    pub length: u64,
}

/// The first bytes of the regular file of that name in the folder, if there is such a file.
pub type Head<'a> = &'a mut dyn FnMut(&[u8]) -> Option<Vec<u8>>;

/// A kind of unit. In one folder, units of a kind differ by a stem, which is a name or empty.
struct Kind {
    /// The stem of the unit that a file of that name suggests.
    suggests: fn(&[u8]) -> Option<&[u8]>,
    /// Whether there is such a unit.
    is_there: fn(&[u8], Head<'_>) -> bool,
    /// The name of the file without which it cannot be opened.
    anchor: fn(&[u8]) -> &[u8],
    /// What a file of that name is to the unit of that stem.
    role: fn(&[u8], &[u8]) -> Option<Role>,
    /// All names that can have a role, where they are so few that each is looked for.
    names: fn(&[u8]) -> Option<Vec<Vec<u8>>>,
    /// Whether members of these names can be all that there was of a unit.
    is_complete: fn(&[u8], &BTreeSet<&[u8]>) -> bool,
    /// What a process locks that uses the unit.
    locked: fn(&[u8]) -> LockedBytes,
}

const KINDS: [Kind; 2] = [
    Kind {
        suggests: |name| SQLITE_ENDINGS.iter().find_map(|ending| name.strip_suffix(*ending)),
        is_there: is_sqlite,
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
        // The bytes of SQLite's own protocol: pending, reserved, and 510 shared ones.
        locked: |stem| LockedBytes { name: stem.to_vec(), start: 0x4000_0000, length: 512 },
    },
    Kind {
        suggests: |name| (name == CURRENT).then_some(b""),
        is_there: |_, head| {
            let manifest = head(CURRENT).and_then(|text| manifest_in(&text).map(<[u8]>::to_vec));
            manifest.is_some_and(|manifest| head(&manifest).is_some())
        },
        anchor: |_| CURRENT,
        role: |_, name| match name {
            CURRENT => Some(Role::Anchor),
            _ => is_of_level_db(name).then_some(Role::Member),
        },
        names: |_| None,
        // It has a journal from the first time that it is opened; some checkpoints leave out `*.log`.
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

/// The name of the manifest in the text of a file CURRENT.
fn manifest_in(text: &[u8]) -> Option<&[u8]> {
    text.strip_suffix(b"\n").filter(|name| is_numbered(name, b"MANIFEST-", b""))
}

fn is_of_level_db(name: &[u8]) -> bool {
    let endings: [&[u8]; 3] = [b".log", b".ldb", b".sst"];
    name == b"IDENTITY"
        || is_numbered(name, b"MANIFEST-", b"")
        || is_numbered(name, b"OPTIONS-", b"")
        || endings.iter().any(|ending| is_numbered(name, b"", ending))
}

fn is_numbered(name: &[u8], before: &[u8], after: &[u8]) -> bool {
    let number = name.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    number.is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
}

/// A unit of a project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unit {
    /// The folder that its files are in, relative to the project.
    pub folder: Vec<u8>,
    kind: usize,
    stem: Vec<u8>,
}

impl Unit {
    /// The units of a folder. `names` are all names that a unit may be suggested by, and `head` reads what
    /// is in the folder, so that nothing is read where no name suggests a unit.
    pub fn of_folder<'a>(
        folder: &[u8],
        names: impl IntoIterator<Item = &'a [u8]>,
        head: Head<'_>,
    ) -> BTreeSet<Unit> {
        let mut suggested = BTreeSet::new();
        for name in names {
            suggested.extend(Unit::suggested_by(folder, name));
        }
        suggested.retain(|unit| (KINDS[unit.kind].is_there)(&unit.stem, head));
        suggested
    }

    /// The units that a name suggests.
    fn suggested_by(folder: &[u8], name: &[u8]) -> impl Iterator<Item = Unit> {
        let unit = |(kind, stem): (usize, &[u8])| Unit {
            folder: folder.to_vec(),
            kind,
            stem: stem.to_vec(),
        };
        let suggests = |(number, kind): (usize, &Kind)| Some((number, (kind.suggests)(name)?));
        KINDS.iter().enumerate().filter_map(suggests).map(unit)
    }

    /// What a file of that name in the folder of this unit is to it.
    pub fn role(&self, name: &[u8]) -> Option<Role> {
        (KINDS[self.kind].role)(&self.stem, name)
    }

    /// What the file at that path is to this unit.
    pub fn role_of(&self, path: &[u8]) -> Option<Role> {
        let inside = match self.folder[..] {
            [] => Some(path),
            _ => path.strip_prefix(&self.folder[..]).and_then(|rest| rest.strip_prefix(b"/")),
        };
        inside.filter(|name| !name.contains(&b'/')).and_then(|name| self.role(name))
    }

    /// All names that can have a role, where each can be looked for; none where the folder must be read.
    pub fn names(&self) -> Option<Vec<Vec<u8>>> {
        (KINDS[self.kind].names)(&self.stem)
    }

    /// Whether these paths of members can be all that there was of it.
    pub fn is_complete<'a>(&self, members: impl IntoIterator<Item = &'a [u8]>) -> bool {
        let names: BTreeSet<&[u8]> = members.into_iter().map(name_of).collect();
        (KINDS[self.kind].is_complete)(&self.stem, &names)
    }

    /// The path of the file without which it cannot be opened.
    pub fn anchor(&self) -> Vec<u8> {
        join(&self.folder, (KINDS[self.kind].anchor)(&self.stem))
    }

    /// What a process locks that uses it.
    pub fn locked(&self) -> LockedBytes {
        (KINDS[self.kind].locked)(&self.stem)
    }

    /// How it is called: the path of the file it is named by, or of its folder; empty for the project's.
    pub fn path(&self) -> Vec<u8> {
        if self.stem.is_empty() { self.folder.clone() } else { join(&self.folder, &self.stem) }
    }

    /// What is said of a member: whose part it is, with the end of the sentence.
    pub fn part(&self, end: &str) -> String {
        match self.path()[..] {
            [] => format!("part of the database in the project's own folder, {end}"),
            ref path => format!("part of the database {}, {end}", shown(path)),
        }
    }
}

/// That something is the matter with a member, as the end of a sentence about its unit.
pub fn whose(member: &[u8], matter: &str) -> String {
    format!("whose {} {matter}", shown(member))
}

/// Whether a name suggests a unit. Nothing more is looked at where no name does.
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

    /// The paths of the units among these files of a folder, and which files were read.
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
    fn sqlite_is_recognized_by_content_and_only_where_a_name_suggests_it() {
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
    fn level_db_is_a_folder_whose_current_names_a_manifest_that_is_there() {
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
    fn a_role_is_that_of_a_file_in_the_folder_of_the_unit_alone() {
        let unit =
            |kind, stem: &str| Unit { folder: b"d".to_vec(), kind, stem: stem.as_bytes().to_vec() };
        let (sqlite, level) = (unit(0, "a.db"), unit(1, ""));
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
    fn a_database_without_the_file_it_is_named_by_or_without_any_journal_is_a_part() {
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
