//! Rollbacks beside a process that writes a database all the time: no row is lost that a checkpoint
//! does not hold, and every database that anybody opens is sound.
//!
//! A few rounds by default; with more of them the figures are printed.

use super::world::{Databases, Rows, has_sqlite, level_db, paths};
use serde_json::Value;
use std::thread::sleep;
use std::time::Duration;

const HUNDRED: &str = "HERMA_DATABASE_ROUNDS=100 cargo test -p herma-tests --test workspace \
                       beside_a_writer -- --nocapture";

/// How many rounds of each kind.
fn rounds() -> u64 {
    let named = std::env::var("HERMA_DATABASE_ROUNDS").ok();
    named.and_then(|text| text.parse().ok()).unwrap_or_else(|| {
        println!("2 rounds of each kind; for 100: {HUNDRED}");
        2
    })
}

/// What became of the database in so many rollbacks.
#[derive(Debug, Default)]
struct Figures {
    restored: u64,
    in_use: u64,
    left_out: u64,
    changed: u64,
    same: u64,
    rows: Vec<[Option<u64>; 4]>,
}

impl Figures {
    fn count(&mut self, answer: &Value) {
        let why = answer["kept"].to_string();
        let count = match () {
            () if is_restored(answer) => &mut self.restored,
            () if why.contains("another process is using") => &mut self.in_use,
            () if why.contains("changed while the restore ran") => &mut self.changed,
            () if why != "[]" => &mut self.left_out,
            () => &mut self.same,
        };
        *count += 1;
    }
}

/// Whether the database was restored: LevelDB's LOG is no part of it, and comes back or stays by itself.
fn is_restored(answer: &Value) -> bool {
    let is_part = |path: &String| !path.contains("/LOG");
    let any = |list| paths(answer, list).iter().any(is_part);
    (any("restored") || any("removed")) && !any("kept")
}

/// One kind of database, and how the project treats it.
struct Kind {
    kind: &'static str,
    path: &'static str,
    mode: &'static str,
    configuration: &'static str,
    ignores: &'static str,
    /// So many bytes in each row that is there from the beginning.
    size: u64,
}

fn counted(all: &mut Databases, kind: &Kind) -> Rows {
    if kind.kind == "level" { all.keys(kind.path) } else { all.rows(kind.path) }
}

/// Rolls back beside a writer so often, and checks what is there each time.
fn roll_back(kind: &Kind) {
    const ROWS: u64 = 200;
    let mut figures = Figures::default();
    let mut all = Databases::new(kind.configuration);
    all.world.write(".gitignore", kind.ignores);
    match kind.kind {
        "level" => {
            all.does("level", kind.path);
            all.put(kind.path, 0, ROWS, kind.size);
        }
        _ => {
            all.open(kind.path, kind.mode);
            all.insert(kind.path, ROWS, kind.size);
        }
    }
    all.does("close", kind.path);
    let taken = all.world.herma(&["checkpoint", "--json"]).json();
    let id = taken["id"].as_str().unwrap().to_owned();
    let is_held = paths(&taken, "skipped").is_empty();
    for round in 0..rounds() {
        let writer = all.writer(kind.kind, kind.path, kind.mode);
        sleep(Duration::from_millis(round * 7 % 50));
        // What is committed by now.
        writer.stop();
        let before = counted(&mut all, kind);
        writer.go_on();
        let (answer, _) = all.rollback(&[&id]);
        drop(writer);
        figures.count(&answer);
        let after = counted(&mut all, kind);
        let is_back = is_restored(&answer);
        let said = format!("{} {}: {before:?} {after:?} {answer}", kind.kind, kind.mode);
        assert_eq!((&before.integrity[..], &after.integrity[..]), ("ok", "ok"), "{said}");
        assert!(after.rows >= if is_back { Some(ROWS) } else { before.rows }, "{said}");
        let mut undone = after.clone();
        if let Some(safety) = answer["safety"].as_str().filter(|_| is_back) {
            let (answer, exit) = all.rollback(&[safety, "--exact"]);
            undone = counted(&mut all, kind);
            assert_eq!((exit, &undone.integrity[..]), (Some(0), "ok"), "{said} {answer}");
            assert!(undone.rows >= before.rows, "{said} {undone:?}");
        }
        // Nobody uses it now.
        let (answer, exit) = all.rollback(&[&id, "--exact"]);
        let end = counted(&mut all, kind);
        assert_eq!(&end.integrity, "ok", "{said} {answer}");
        if is_held && exit == Some(0) {
            assert_eq!(end.rows, Some(ROWS), "{said} {answer}");
        } else {
            assert!(end.rows >= undone.rows, "{said} {answer}");
        }
        figures.rows.push([before.rows, after.rows, undone.rows, end.rows]);
    }
    if rounds() > 2 {
        let Figures { restored, in_use, left_out, changed, same, rows } = figures;
        let shown: Vec<_> = rows.iter().take(5).collect();
        println!(
            "{} {} {:?} {}B: restored {restored}, in use {in_use}, left out {left_out}, changed \
             {changed}, same {same}; integrity ok in all; rows before, after, undone, end: {shown:?}",
            kind.kind, kind.mode, kind.ignores, kind.size
        );
    }
}

const USUAL: &str = "checkpoints: { max_snapshots: 500 }\n";
const SMALL: &str = "checkpoints: { max_snapshots: 500, max_file_size_mb: 1 }\n";

fn roll_back_sqlite(mode: &'static str) {
    if !has_sqlite() {
        return;
    }
    for (configuration, ignores, size) in
        [(USUAL, "", 20), (USUAL, "*-wal\n*-journal\n", 20), (SMALL, "", 10_000)]
    {
        let (kind, path) = ("sqlite", "app.db");
        roll_back(&Kind { kind, path, mode, configuration, ignores, size });
    }
}

#[test]
fn rollbacks_beside_a_writer_of_sqlite_with_a_journal_that_is_deleted_lose_no_row() {
    roll_back_sqlite("delete");
}

#[test]
fn rollbacks_beside_a_writer_of_sqlite_with_a_journal_that_is_truncated_lose_no_row() {
    roll_back_sqlite("truncate");
}

#[test]
fn rollbacks_beside_a_writer_of_sqlite_with_a_journal_that_persists_lose_no_row() {
    roll_back_sqlite("persist");
}

#[test]
fn rollbacks_beside_a_writer_of_sqlite_with_a_wal_lose_no_row() {
    roll_back_sqlite("wal");
}

#[test]
fn rollbacks_beside_a_writer_of_level_db_lose_no_key() {
    let Some(_) = level_db() else { return };
    for (configuration, ignores, size) in
        [(USUAL, "", 20), (USUAL, "*.log\n", 20), (SMALL, "", 10_000)]
    {
        let (kind, path, mode) = ("level", "db", "");
        roll_back(&Kind { kind, path, mode, configuration, ignores, size });
    }
}
