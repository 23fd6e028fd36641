//! Tests which files are units, by name and content.

use super::*;
use pretty_assertions::assert_eq;

const DATABASE: &[u8] = b"SQLite format 3\0rest";
const WAL: &[u8] = b"\x37\x7f\x06\x82rest";
const JOURNAL: &[u8] = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7rest";

fn found(files: &[(&str, &[u8])]) -> Vec<String> {
    let paths: Paths<'_> = files
        .iter()
        .map(|(path, content)| (path.as_bytes(), PathContent::Bytes(content)))
        .collect();
    units(&paths).iter().map(|unit| format!("{unit:?}")).collect()
}

#[test]
fn units_recognizes_sqlite_by_the_content_of_any_member_if_a_sibling_exists() {
    for files in [
        &[("d/app.db", DATABASE), ("d/app.db-wal", b"")][..],
        &[("d/app.db", DATABASE), ("d/app.db-shm", b"")],
        &[("d/app.db", b""), ("d/app.db-wal", WAL)],
        &[("d/app.db-wal", b"\x37\x7f\x06\x83")],
        &[("d/app.db", b"x"), ("d/app.db-journal", JOURNAL)],
    ] {
        assert_eq!(found(files), ["SQLite d/app.db"], "{files:?}");
    }
    for files in [
        &[("notes", &b"text"[..]), ("notes-journal", b"text"), ("notes-wal", b"SQLite format 3\0")]
            [..],
        // Without a sibling it is an ordinary file.
        &[("app.db", DATABASE)],
        &[("app.db", DATABASE), ("d/app.db-wal", b"")],
        &[("app.db", DATABASE), ("app.db-wal2", b"")],
        &[("app.db", b"SQLite format 3"), ("app.db-wal", b"\x37\x7f\x06")],
        &[("d/-wal", WAL)],
    ] {
        assert_eq!(found(files), Vec::<String>::new(), "{files:?}");
    }
}

#[test]
fn units_skips_a_database_that_is_a_link() {
    let mut paths: Paths<'_> = BTreeMap::new();
    paths.insert(b"app.db", PathContent::NotRegular);
    paths.insert(b"app.db-wal", PathContent::Bytes(WAL));
    assert!(units(&paths).is_empty());
    paths.insert(b"app.db", PathContent::Unreadable);
    assert_eq!(units(&paths).len(), 1);
}

#[test]
fn units_recognizes_leveldb_where_current_names_a_manifest_in_the_folder() {
    let manifest = ("level/MANIFEST-000001", &b"x"[..]);
    assert_eq!(found(&[("level/CURRENT", b"MANIFEST-000001\n"), manifest]), ["LevelDB level"]);
    assert_eq!(found(&[("CURRENT", b"MANIFEST-1\n"), ("MANIFEST-1", b"x")]), ["LevelDB "]);
    for current in [&b"MANIFEST-000001"[..], b"MANIFEST-000002\n", b"MANIFEST-\n", b"../x\n", b""] {
        assert_eq!(found(&[("level/CURRENT", current), manifest]), Vec::<String>::new());
    }
}

#[test]
fn has_and_role_recognize_the_members_of_a_unit_by_name() {
    let unit = |index: usize, anchor: &str| Unit { kind: &KINDS[index], anchor: anchor.into() };
    let members = |unit: &Unit, names: &[&str]| -> Vec<String> {
        let has = |name: &&&str| unit.has(name.as_bytes());
        names.iter().filter(has).map(|name| (*name).to_owned()).collect()
    };
    let sqlite = unit(0, "d/a");
    let names = ["d/a", "d/a-wal", "d/a-journal", "d/a-shm", "d/a-walk", "a-wal"];
    assert_eq!(members(&sqlite, &names), names[..3]);
    assert_eq!(sqlite.role(b"d/a-shm"), Some(Role::Derived));
    let level = unit(1, "d");
    let names = [
        "d/CURRENT",
        "d/MANIFEST-000001",
        "d/000003.log",
        "d/5.ldb",
        "d/5.sst",
        "d/OPTIONS-7",
        "d/IDENTITY",
        "d/LOG",
        "d/LOG.old",
        "d/LOCK",
        "d/x.log",
        "d/.log",
        "d/e/CURRENT",
        "CURRENT",
        "d",
    ];
    assert_eq!(members(&level, &names), names[..7]);
    assert!(unit(1, "").has(b"CURRENT") && !unit(1, "").has(b"d/CURRENT"));
}

#[test]
fn is_complete_holds_for_a_tree_with_the_files_that_the_unit_opens_with() {
    let tree = |paths: &[(&str, &str)]| -> Tree {
        let entry =
            |content: &str| Entry::File { content: content.as_bytes().into(), executable: false };
        paths.iter().map(|(path, content)| ((*path).into(), entry(content))).collect()
    };
    let complete = |index: usize, anchor: &str, tree: &Tree| {
        Unit { kind: &KINDS[index], anchor: anchor.into() }
            .is_complete(&paths_of_tree(tree).collect())
    };
    assert!(complete(0, "a", &tree(&[("a", "x")])));
    assert!(!complete(0, "a", &tree(&[("a-wal", "x")])));
    let current = [("d/CURRENT", "MANIFEST-1\n"), ("d/MANIFEST-1", "x"), ("d/3.log", "x")];
    assert!(complete(1, "d", &tree(&current)) && !complete(1, "d", &tree(&current[..2])));
    assert!(!complete(1, "d", &tree(&[("d/1.ldb", "x")])));
}
