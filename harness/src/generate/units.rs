//! Databases: units of small files that begin like those of SQLite and LevelDB, and files that only have such
//! names.
//!
//! Each fragment writes the files of one database, takes a checkpoint, writes other files and restores; other
//! generated operations mix with it.

use super::idiom::{checkpoint, once_in, restore, restore_file, write};
use super::names;
use crate::history::{DatabaseEnd, DatabaseWrite, Event, JournalMode, Operation, Target};
use herma_model::{ByteString, Edit, Request};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// One history of so many has such fragments.
const ONE_IN: u32 = 3;

/// The files of a kind of database: the path of each file, and its first bytes.
type DatabaseFiles = &'static [(&'static str, &'static [u8])];

const SQLITE: DatabaseFiles = &[
    ("app.db", b"SQLite format 3\0"),
    ("app.db-wal", b"\x37\x7f\x06\x82"),
    ("app.db-journal", b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"),
    ("app.db-shm", b"shm"),
];
const LEVEL: DatabaseFiles = &[
    ("level/CURRENT", b"MANIFEST-000001\n"),
    ("level/MANIFEST-000001", b"manifest"),
    ("level/000003.log", b"rows"),
    ("level/000005.ldb", b"rows"),
    ("level/LOG", b"text"),
    ("level/LOCK", b""),
];
/// Files named like those of a database, with other content.
const ALIKE: DatabaseFiles = &[
    ("notes", b"text"),
    ("notes-journal", b"text"),
    ("notes-wal", b"SQLite format 3\0"),
    ("level/000003.log", b"text"),
    ("level/000005.ldb", b"text"),
];

/// For each file the number of bytes after the first ones, or `None` if it does not exist.
type FileLengths = Vec<Option<usize>>;

/// Why one file of a database is not captured.
#[derive(Clone, Copy, Debug)]
enum Obstacle {
    Nothing,
    Ignored,
    Unreadable,
}

/// A few fragments, each with its position in the history.
pub fn fragments() -> BoxedStrategy<Vec<(Index, Vec<Operation>)>> {
    let fragments = vec((any::<Index>(), fragment()), 1..=2).boxed();
    once_in(ONE_IN, fragments)
}

/// Most databases are small files that only begin like one; some are written by SQLite.
fn fragment() -> BoxedStrategy<Vec<Operation>> {
    prop_oneof![5 => small(), 1 => real()].boxed()
}

fn real() -> BoxedStrategy<Vec<Operation>> {
    let written =
        || (select(&[JournalMode::Wal, JournalMode::Delete][..]), 1..40u32, database_end());
    (names::project(), written(), written(), obstacle(), obstacle())
        .prop_flat_map(|(project, first, second, before, after)| {
            let write = |(journal_mode, rows, end)| {
                let path = names::join(&project, &"app.db".into());
                Event::Database(DatabaseWrite { path, journal_mode, rows, end }).into()
            };
            let mut operations = vec![write(first)];
            operations.extend(edits_for_obstacle(&project, &project, SQLITE, before));
            operations.push(checkpoint(&project));
            operations.push(write(second));
            operations.extend(edits_for_obstacle(&project, &project, SQLITE, after));
            vec(final_requests(project.clone(), project, SQLITE), 1..=2).prop_map(move |requests| {
                operations.iter().cloned().chain(requests.into_iter().flatten()).collect()
            })
        })
        .boxed()
}

fn database_end() -> BoxedStrategy<DatabaseEnd> {
    prop_oneof![
        2 => Just(DatabaseEnd::Closed),
        2 => Just(DatabaseEnd::Killed),
        1 => Just(DatabaseEnd::Open),
    ]
    .boxed()
}

fn small() -> BoxedStrategy<Vec<Operation>> {
    let files = prop_oneof![4 => Just(SQLITE), 3 => Just(LEVEL), 1 => Just(ALIKE)];
    (names::project(), files, prop::bool::weighted(0.3))
        .prop_flat_map(|(project, files, is_deep)| {
            let folder =
                if is_deep { names::join(&project, &"data".into()) } else { project.clone() };
            let choices = (lengths(files), lengths(files), obstacle(), obstacle());
            let requests = vec(final_requests(project.clone(), folder.clone(), files), 1..=3);
            (Just((project, folder)), choices, requests).prop_map(
                move |((project, folder), choices, requests)| {
                    let (first, second, before, after) = choices;
                    let mut operations = write_files(&folder, files, &first, "one");
                    operations.extend(edits_for_obstacle(&project, &folder, files, before));
                    operations.push(checkpoint(&project));
                    operations.extend(write_files(&folder, files, &second, "two"));
                    operations.extend(edits_for_obstacle(&project, &folder, files, after));
                    operations.extend(requests.into_iter().flatten());
                    operations
                },
            )
        })
        .boxed()
}

/// Mostly the first file exists, without which the files are not a database.
fn lengths(files: DatabaseFiles) -> BoxedStrategy<FileLengths> {
    let file = |index: usize| {
        let chance = if index == 0 { 0.9 } else { 0.6 };
        prop::option::weighted(chance, 0..24usize).boxed()
    };
    (0..files.len()).map(file).collect::<Vec<_>>().boxed()
}

fn obstacle() -> BoxedStrategy<Obstacle> {
    prop_oneof![
        5 => Just(Obstacle::Nothing),
        1 => Just(Obstacle::Ignored),
        1 => Just(Obstacle::Unreadable),
    ]
    .boxed()
}

/// The edits after which the files have these lengths.
fn write_files(
    folder: &ByteString,
    files: DatabaseFiles,
    lengths: &FileLengths,
    generation: &str,
) -> Vec<Operation> {
    let edit = |((name, beginning), length): (&(&str, &[u8]), &Option<usize>)| {
        let path = names::join(folder, &(*name).into());
        let Some(length) = length else { return Edit::Remove { path }.into() };
        let is_exact = *name == "level/CURRENT";
        let rest = if is_exact { "" } else { generation };
        let filler_length = if is_exact { 0 } else { *length };
        let content = [*beginning, rest.as_bytes(), &vec![b'.'; filler_length][..]].concat();
        write(&path, &content.into(), false)
    };
    files.iter().zip(lengths).map(edit).collect()
}

/// The edits after which the second or third file is ignored or unreadable, or no file is.
fn edits_for_obstacle(
    project: &ByteString,
    folder: &ByteString,
    files: DatabaseFiles,
    obstacle: Obstacle,
) -> Vec<Operation> {
    let name = files[1].0;
    let ignore_file = names::join(project, &".gitignore".into());
    match obstacle {
        Obstacle::Nothing => vec![Edit::Remove { path: ignore_file }.into()],
        Obstacle::Ignored => {
            let pattern = match files[0].0 {
                "app.db" => "*.db-wal\n",
                _ => "0*.log\n",
            };
            vec![write(&ignore_file, &pattern.into(), false)]
        }
        Obstacle::Unreadable => {
            let path = names::join(folder, &name.into());
            vec![Edit::SetReadable { path, readable: false }.into()]
        }
    }
}

/// A diff with the checkpoint, or a restore of all files or of one file; some restores are undone.
fn final_requests(
    project: ByteString,
    folder: ByteString,
    files: DatabaseFiles,
) -> BoxedStrategy<Vec<Operation>> {
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let inner = folder.strip_prefix(&project[..]).unwrap_or_default();
    let inner = ByteString::from(inner.strip_prefix(b"/").unwrap_or_default());
    let restore_all = {
        let project = project.clone();
        prop::bool::weighted(0.4).prop_map(move |exact| vec![restore(&project, 1, exact)])
    };
    let undone = {
        let project = project.clone();
        Just(vec![restore(&project, 1, false), restore(&project, 1, true)])
    };
    let single_file = {
        let project = project.clone();
        select(names)
            .prop_map(move |name| vec![restore_file(&project, names::join(&inner, &name.into()))])
    };
    let diff = Just(vec![Request::Diff { dir: project, target: Target::Number(1) }.into()]);
    prop_oneof![4 => restore_all, 2 => undone, 2 => single_file, 1 => diff].boxed()
}
