//! Databases in histories: small files that begin like those of SQLite and LevelDB, which belong
//! together, and files that only have such names.
//!
//! Each fragment writes the files of one database, takes a checkpoint, writes other ones and restores;
//! what is drawn besides mixes with it.

use super::idiom::{checkpoint, once_in, restore, write};
use super::names;
use crate::history::{DatabaseEnd, DatabaseWrite, Event, JournalMode, Operation, Target};
use herma_model::{ByteString, Edit, Request};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Of so many histories one has any of this.
const ONE_IN: u32 = 3;

/// A kind of database: where its files are, and how each of them begins.
type Kind = &'static [(&'static str, &'static [u8])];

const SQLITE: Kind = &[
    ("app.db", b"SQLite format 3\0"),
    ("app.db-wal", b"\x37\x7f\x06\x82"),
    ("app.db-journal", b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"),
    ("app.db-shm", b"shm"),
];
const LEVEL: Kind = &[
    ("level/CURRENT", b"MANIFEST-000001\n"),
    ("level/MANIFEST-000001", b"manifest"),
    ("level/000003.log", b"rows"),
    ("level/000005.ldb", b"rows"),
    ("level/LOG", b"text"),
    ("level/LOCK", b""),
];
/// Names that look like those of a database, and content that does not.
const ALIKE: Kind = &[
    ("notes", b"text"),
    ("notes-journal", b"text"),
    ("notes-wal", b"SQLite format 3\0"),
    ("level/000003.log", b"text"),
    ("level/000005.ldb", b"text"),
];

/// The files of one state: for each whether it is there, and how many bytes follow its beginning.
type State = Vec<Option<usize>>;

/// What stands in the way of capturing one file, if anything does.
#[derive(Clone, Copy, Debug)]
enum Cause {
    Nothing,
    Ignored,
    Unreadable,
}

/// A few fragments, each with the place in a history where it is to stand.
pub fn fragments() -> BoxedStrategy<Vec<(Index, Vec<Operation>)>> {
    let some = vec((any::<Index>(), fragment()), 1..=2).boxed();
    once_in(ONE_IN, some)
}

/// Most databases are a few bytes that begin like one; some are written with SQLite.
fn fragment() -> BoxedStrategy<Vec<Operation>> {
    prop_oneof![5 => small(), 1 => real()].boxed()
}

fn real() -> BoxedStrategy<Vec<Operation>> {
    let written = || (select(&[JournalMode::Wal, JournalMode::Delete][..]), 1..40u32, end());
    (names::project(), written(), written(), cause(), cause())
        .prop_flat_map(|(project, first, second, before, after)| {
            let write = |(journal_mode, rows, end)| {
                let path = names::join(&project, &"app.db".into());
                Event::Database(DatabaseWrite { path, journal_mode, rows, end }).into()
            };
            let mut operations = vec![write(first)];
            operations.extend(caused(&project, &project, SQLITE, before));
            operations.push(checkpoint(&project));
            operations.push(write(second));
            operations.extend(caused(&project, &project, SQLITE, after));
            vec(ending(project.clone(), project, SQLITE), 1..=2).prop_map(move |end| {
                operations.iter().cloned().chain(end.into_iter().flatten()).collect()
            })
        })
        .boxed()
}

fn end() -> BoxedStrategy<DatabaseEnd> {
    prop_oneof![
        2 => Just(DatabaseEnd::Closed),
        2 => Just(DatabaseEnd::Killed),
        1 => Just(DatabaseEnd::Open),
    ]
    .boxed()
}

fn small() -> BoxedStrategy<Vec<Operation>> {
    let kinds = prop_oneof![4 => Just(SQLITE), 3 => Just(LEVEL), 1 => Just(ALIKE)];
    (names::project(), kinds, prop::bool::weighted(0.3))
        .prop_flat_map(|(project, kind, is_deep)| {
            let folder =
                if is_deep { names::join(&project, &"data".into()) } else { project.clone() };
            let states = (state(kind), state(kind), cause(), cause());
            let end = vec(ending(project.clone(), folder.clone(), kind), 1..=3);
            (Just((project, folder)), states, end).prop_map(
                move |((project, folder), states, end)| {
                    let (first, second, before, after) = states;
                    let mut operations = at(&folder, kind, &first, "one");
                    operations.extend(caused(&project, &folder, kind, before));
                    operations.push(checkpoint(&project));
                    operations.extend(at(&folder, kind, &second, "two"));
                    operations.extend(caused(&project, &folder, kind, after));
                    operations.extend(end.into_iter().flatten());
                    operations
                },
            )
        })
        .boxed()
}

/// Mostly the first files of a kind are there, without which it is none.
fn state(kind: Kind) -> BoxedStrategy<State> {
    let file = |at: usize| {
        let chance = if at == 0 { 0.9 } else { 0.6 };
        prop::option::weighted(chance, 0..24usize).boxed()
    };
    (0..kind.len()).map(file).collect::<Vec<_>>().boxed()
}

fn cause() -> BoxedStrategy<Cause> {
    prop_oneof![5 => Just(Cause::Nothing), 1 => Just(Cause::Ignored), 1 => Just(Cause::Unreadable)]
        .boxed()
}

/// The edits after which these files are there and no others of the kind.
fn at(folder: &ByteString, kind: Kind, state: &State, generation: &str) -> Vec<Operation> {
    let edit = |((name, beginning), length): (&(&str, &[u8]), &Option<usize>)| {
        let path = names::join(folder, &(*name).into());
        let Some(length) = length else { return Edit::Remove { path }.into() };
        let is_exact = *name == "level/CURRENT";
        let rest = if is_exact { "" } else { generation };
        let fill = if is_exact { 0 } else { *length };
        let content = [*beginning, rest.as_bytes(), &vec![b'.'; fill][..]].concat();
        write(&path, &content.into(), false)
    };
    kind.iter().zip(state).map(edit).collect()
}

/// The second or third file of the kind is ignored or cannot be read, or no file is.
fn caused(project: &ByteString, folder: &ByteString, kind: Kind, cause: Cause) -> Vec<Operation> {
    let name = kind[1].0;
    let ignores = names::join(project, &".gitignore".into());
    match cause {
        Cause::Nothing => vec![Edit::Remove { path: ignores }.into()],
        Cause::Ignored => {
            let pattern = match kind[0].0 {
                "app.db" => "*.db-wal\n",
                _ => "0*.log\n",
            };
            vec![write(&ignores, &pattern.into(), false)]
        }
        Cause::Unreadable => {
            let path = names::join(folder, &name.into());
            vec![Edit::SetReadable { path, readable: false }.into()]
        }
    }
}

/// A look at the checkpoint, or a restore of all or of one file; some are taken back.
fn ending(project: ByteString, folder: ByteString, kind: Kind) -> BoxedStrategy<Vec<Operation>> {
    let names: Vec<&str> = kind.iter().map(|(name, _)| *name).collect();
    let inner = folder.strip_prefix(&project[..]).unwrap_or_default();
    let inner = ByteString::from(inner.strip_prefix(b"/").unwrap_or_default());
    let all = {
        let project = project.clone();
        prop::bool::weighted(0.4).prop_map(move |exact| vec![restore(&project, 1, exact)])
    };
    let back = {
        let project = project.clone();
        Just(vec![restore(&project, 1, false), restore(&project, 1, true)])
    };
    let alone = {
        let project = project.clone();
        select(names).prop_map(move |name| {
            let path = names::join(&inner, &name.into());
            let dir = project.clone();
            vec![Request::RestoreFile { dir, target: Target::Number(1), path }.into()]
        })
    };
    let look = Just(vec![Request::Diff { dir: project, target: Target::Number(1) }.into()]);
    prop_oneof![4 => all, 2 => back, 2 => alone, 1 => look].boxed()
}
